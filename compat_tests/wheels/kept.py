"""Run by the Python of an environment that TriMQ was installed into: its server is killed, and nothing is lost.

    python -P kept.py STORE

Prints what was read, before the kill and after it, and what runs.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from trimq import compiled
from trimq.admin import BlockingAdminClient, NewMessage
from trimq.codec.bodies.locks import MessageQueue

TOPIC = "Kept"
COMMAND = Path(sys.executable).with_name("trimq")


class Server:
    """The installed `trimq server`, on free ports."""

    def __init__(self, store: str) -> None:
        words = ["server", "--namesrv-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"]
        began = time.monotonic()
        self._process = subprocess.Popen(
            [str(COMMAND), *words, "--store", store], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self.seconds = time.monotonic() - began
        if not line.startswith("TriMQ ready"):
            self.kill()
            sys.exit(f"it did not start: {line!r}")
        self.namesrv_addr = line.split("namesrv=")[1].split()[0]

    def kill(self) -> None:
        """With signal 9."""
        self._process.kill()
        self._process.wait()


def read(admin: BlockingAdminClient, queue: MessageQueue, offset: int) -> list[str]:
    place = admin.place_of(queue.topic, queue.broker_name, queue.queue_id)
    return [message.body.decode() for message in admin.pull(place, offset).messages]


def main(store: str) -> None:
    server = Server(store)
    try:
        with BlockingAdminClient(server.namesrv_addr) as admin:
            sent = admin.send(NewMessage(topic=TOPIC, body=b"kept"))
            before = read(admin, sent.queue, sent.queue_offset)
    finally:
        server.kill()
    again = Server(store)
    try:
        with BlockingAdminClient(again.namesrv_addr) as admin:
            after = read(admin, sent.queue, sent.queue_offset)
    finally:
        again.kill()
    told = {"before": before, "after": after, "build": compiled.description()}
    print(json.dumps({**told, "seconds": [server.seconds, again.seconds]}))


if __name__ == "__main__":
    main(sys.argv[1])
