"""A new group on messages that lie on the disk only: it begins with the first of them on both brokers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from compat_tests.ours import TrimqServer
from compat_tests.real import Launcher, RealServer
from compat_tests.server import Options
from compat_tests.wire import asks
from compat_tests.wire.link import Link

QUERY_OFFSET = 14
SETTINGS = {"mappedFileSizeCommitLog": "65536", "mappedFileSizeConsumeQueue": "2000"}


def forget_pages(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDWR)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def asked(server: RealServer | TrimqServer, store: Path) -> list[dict[str, Any]]:
    """What a group that was never there is told, before and after a start with an empty page cache."""
    server.start()
    try:
        link = Link(server.broker_addr)
        assert link.ask(asks.create_topic("T", 1)).code == 0
        for _ in range(300):
            sent = asks.send(bytes(1000), topic="T", queueId=0, producerGroup="P")
            assert link.ask(sent).code == 0
        seen = [ask(link)]
        link.close()
        server.stop()
        forget_pages(store)
        server.start()
        link = Link(server.broker_addr)
        seen.append(ask(link))
        link.close()
        return seen
    finally:
        server.stop()


def ask(link: Link) -> dict[str, Any]:
    fields = {"consumerGroup": "New", "topic": "T", "queueId": 0}
    reply = link.ask(asks.ask(QUERY_OFFSET, fields))
    return {"code": reply.code, "remark": reply.remark, **reply.ext}


def test_a_new_group_begins_with_the_first_message(launch: Launcher, tmp_path: Path) -> None:
    options = Options(settings=SETTINGS)
    real = RealServer(launch, tmp_path / "real", options)
    theirs = asked(real, real.broker.store)
    ours = TrimqServer(tmp_path / "ours", options)
    mine = asked(ours, ours.store)
    assert mine == theirs
    assert [answer["offset"] for answer in theirs] == ["0", "0"]
