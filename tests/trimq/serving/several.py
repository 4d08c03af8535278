"""Several processes of TriMQ's, each forked by the forge: to be killed, and started again."""

from __future__ import annotations

from pathlib import Path

from tests.trimq.serving.forge import Forge, Forged
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.topics import CreateTopicRequestHeader
from trimq.remoting.clients.blocking import BlockingClient


class Several:
    """By names that a test gives them. `log`: what all of them say."""

    def __init__(self, log: Path, forge: Forge) -> None:
        self.log = log
        self._forge = forge
        self.running: dict[str, Forged] = {}

    def start(self, name: str, *words: str) -> None:
        """Ready when it returns."""
        with self.log.open("ab") as errors:
            process = self._forge.start(words, errors)
        self.running[name] = process
        line = process.stdout.readline().decode()
        assert line.startswith("TriMQ"), f"it did not start: {line!r}"

    def kill(self, name: str) -> None:
        """With -9; nothing of one that does not run."""
        process = self.running.pop(name, None)
        if process is not None:
            process.kill()
            process.wait()
            process.stdout.close()

    def close(self) -> None:
        for name in list(self.running):
            self.kill(name)


def create_topic(client: BlockingClient, topic: str, queues: int, kind: str | None = None) -> None:
    """`kind`: its message.type."""
    header = CreateTopicRequestHeader(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=queues,
        write_queue_nums=queues,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        attributes=None if kind is None else f"+message.type={kind}",
    )
    answer = client.request(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
    assert answer.code == ResponseCode.SUCCESS, answer.remark
