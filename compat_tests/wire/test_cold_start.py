"""A new group on messages that lie on the disk only: it begins with the first of them on both brokers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from compat_tests.comparing.records import Seen, Subject, settings_text, with_imports
from compat_tests.scenarios.stage import Stage
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import Options
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


def test_a_new_group_begins_with_the_first_message(stage: Stage, tmp_path: Path) -> None:
    options = Options(settings=SETTINGS)
    here = Path(__file__)
    asking = with_imports([here.with_name("asks.py"), here.with_name("link.py")])
    subject = Subject("wire/cold_start", (settings_text(SETTINGS),), (here, *asking))

    def play() -> Seen:
        real = RealServer(stage.launch, tmp_path / "real", options)
        return Seen(asked(real, real.broker.store))

    theirs = stage.records.outcome(subject, "a new group", play)
    ours = TrimqServer(tmp_path / "ours", options)
    mine = asked(ours, ours.store)
    assert mine == theirs.outcome
    assert [answer["offset"] for answer in mine] == ["0", "0"]
