"""A popped message that cannot be read when it should come again, on a server that is killed with -9.

Its file on the disk is cut short meanwhile. It comes once, ten seconds after its time, when the file is whole again.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import until
from tests.popping.clients import GROUP, TOPIC, Consumer, now_millis, prepare
from tests.popping.journal import PLAIN, Journal, Popped, Reader
from tests.requests import send_header_v2
from tests.trimq.serving.forge import Forge
from tests.trimq.serving.killed import OFTEN_CHECKPOINTED, Server
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.clients.blocking import BlockingClient

FILE = 128 * 1024
SETTINGS = {**OFTEN_CHECKPOINTED, "mappedFileSizeCommitLog": FILE, "reviveInterval": 200}
# After its time: until it is tried for the first time, and until it is once more.
FIRST, SECOND = 2000, 12_000
# What a busy machine adds; less than there is between two tries.
LATE = 9000


class Unreadable:
    """A store whose first commit-log file holds one message of the topic, and the servers on it."""

    def __init__(self, folder: Path, forge: Forge) -> None:
        self.log = folder / "server.log"
        self.journal = Journal({GROUP: Reader(PLAIN, TOPIC)})
        self._folder = folder
        self._forge = forge
        self._server: Server | None = None

    @contextmanager
    def life(self) -> Iterator[str]:
        """A server that is killed at the end."""
        server = Server(self._folder / "store", self.log, SETTINGS, self._forge)
        try:
            server.wait_ready()
            yield server.broker_addr
        finally:
            server.kill()

    def pop(self, addr: str, until: int, enough: int) -> None:
        """Until then, or until so much has been handed out in all; what came again is acknowledged."""
        consumer = Consumer(addr, "c", 1, self.journal)
        try:
            while now_millis() < until and len(self.popped()) < enough:
                for one in consumer.pop():
                    if one.topic != TOPIC:
                        consumer.ack(one)
        finally:
            consumer.close()

    def popped(self) -> list[Popped]:
        return [event for event in self.journal.events if isinstance(event, Popped)]

    @property
    def first_file(self) -> Path:
        return self._folder / "store" / "commitlog" / f"{0:020d}"


def send(client: BlockingClient, topic: str, body: bytes) -> None:
    header = send_header_v2(topic, default_topic_queue_nums=1, properties="")
    answer = client.request(RequestCode.SEND_MESSAGE_V2, header, body)
    assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)


def test_a_message_whose_file_is_cut_short_comes_later_and_once(
    tmp_path: Path, forge: Forge
) -> None:
    store = Unreadable(tmp_path, forge)
    with store.life() as addr:
        prepare(addr)
        with BlockingClient(addr, timeout=60) as client:
            send(client, TOPIC, b"first")
            for _ in range(2 * FILE // 4096):
                send(client, "Other", bytes(4096))
            send(client, TOPIC, b"second")
        # The notes of POP lie behind.
        store.pop(addr, now_millis() + 5000, 2)
    ours = store.popped()
    assert [event.key for event in ours] == ["first", "second"]
    # Two pops may have got them.
    first_due, second_due = (event.until for event in ours)
    due = max(first_due, second_due)
    whole = store.first_file.read_bytes()
    with store.life() as addr:
        os.truncate(store.first_file, 0)
        store.pop(addr, due + FIRST + LATE, 3)
        # A thread writes the log, when it gets a core.
        until(lambda: "popped message cannot be read" in store.log.read_text(), "it says so")
    store.first_file.write_bytes(whole)
    with store.life():
        # It is on the wheel, or not yet.
        time.sleep(1)
    with store.life() as addr:
        store.pop(addr, due + SECOND + LATE, 4)
    with store.life() as addr:
        store.pop(addr, now_millis() + 2000, 5)
    again = store.popped()[2:]
    assert [(event.key, event.times) for event in again] == [("second", 1), ("first", 1)]
    second, first = (event.at for event in again)
    assert second_due + FIRST <= second < due + FIRST + LATE
    assert first_due + SECOND <= first < due + SECOND + LATE
