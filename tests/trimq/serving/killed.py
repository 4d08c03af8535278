"""A server in a process of its own, to be killed, and what is in its queues afterwards."""

import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.requests import pull_header
from tests.trimq.serving.forge import Forge, Forged
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand, encode_command
from trimq.codec.headers.base import Header, encode_header
from trimq.codec.headers.offsets import GetMaxOffsetRequestHeader
from trimq.codec.records.record import Record, parse_record
from trimq.remoting.clients.blocking import BlockingClient

# What was written since the last checkpoint is scanned at start. With RocketMQ's minute between two of them, a server
# that is killed every second scans all that there is, each time.
OFTEN_CHECKPOINTED: Final = {
    "flushIntervalConsumeQueue": 100,
    "flushConsumeQueueThoroughInterval": 300,
}
Place = tuple[str, int]


class Server:
    """`trimq server` with some settings."""

    def __init__(
        self,
        store: Path,
        log: Path,
        settings: Mapping[str, object],
        forge: Forge | None = None,
        clock: Path | None = None,
    ) -> None:
        """`forge`: what forks it, if it shall be ready in a fraction of the time. `clock`: the file that sets it."""
        arguments = ["server", "--listen", "127.0.0.1:0", "--namesrv-listen", "127.0.0.1:0"]
        arguments += ["--store", str(store)]
        for key, value in settings.items():
            arguments += ["--set", f"{key}={value}"]
        module = "trimq"
        if clock is not None:
            module = "tests.trimq.clock.set_server"
            arguments = [str(clock), str(store), *(f"{key}={it}" for key, it in settings.items())]
        self.process: subprocess.Popen[bytes] | Forged
        with log.open("ab") as errors:
            if forge is not None:
                self.process = forge.start(arguments, errors)
            else:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", module, *arguments],
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=Path(__file__).parents[3],
                )
        self.broker_addr = ""

    def wait_ready(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        assert line.startswith("TriMQ ready"), f"it did not start: {line!r}"
        self.broker_addr = line.split("broker=")[1].split()[0]

    def live(self, seconds: float) -> None:
        """Let it: it says nothing more, and does not end by itself."""
        assert not select.select([self.process.stdout], [], [], seconds)[0], "it is gone"

    def kill(self) -> None:
        """Also of one that is gone already."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def encode(code: int, opaque: int, header: Header, body: bytes) -> bytes:
    return encode_command(RemotingCommand(int(code), opaque, 0, None, encode_header(header), body))


def pull(client: BlockingClient, place: Place, offset: int) -> RemotingCommand:
    header = pull_header("Readers", place[0], offset, queue_id=place[1], most=1000)
    return client.request(RequestCode.PULL_MESSAGE, header)


def pull_all(client: BlockingClient, place: Place) -> list[Record]:
    """Every message of the queue, each parsed and its CRC checked."""
    header = GetMaxOffsetRequestHeader(topic=place[0], queue_id=place[1])
    answer = client.request(RequestCode.GET_MAX_OFFSET, header)
    end = int((answer.ext_fields or {}).get("offset", 0))
    records: list[Record] = []
    while len(records) < end:
        answer = pull(client, place, len(records))
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
        at = 0
        data = bytes(answer.body)
        while at < len(data):
            record = parse_record(data, at)
            assert (record.topic, record.queue_id) == place
            assert record.queue_offset == len(records)
            records.append(record)
            at += record.total_size
    return records
