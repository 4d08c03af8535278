"""What a broker may have to do beside its sends. Each disturbance is prepared by calling it and begins with its block.

The block gets a function that says whether the disturbance still goes on.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from bench.loads import loadgen
from bench.run import Run
from bench.servers.subjects import Subject, store_of
from tests.requests import topic_header
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import Header
from trimq.remoting.clients.blocking import BlockingClient

Busy = Callable[[], bool]
# No measurement lasts longer than that.
LIMIT_SECONDS: Final = 120

BACKLOG: Final = "TailBacklog"
BACKLOG_QUEUES: Final = 4
BODY: Final = 64 * 1024
# 5.2 GB in 80 files; a broker reads the last three when it starts.
MESSAGES: Final = 80_000
LOG_FILE: Final = 64 << 20
# The broker looks for old files a minute after its start for the first time.
FIRST_LOOK_SECONDS: Final = 62
YOUNG_FILES: Final = 4
OFFSET_QUEUES: Final = 8
GROUPS: Final = 125_000
GROUPS_A_REQUEST: Final = 25_000
COMMITS_A_SECOND: Final = 500
HELD: Final = 500


def settings() -> dict[str, str]:
    """Small files, of which old ones go one after the other, when a request asks for it."""
    return {
        "mappedFileSizeCommitLog": str(LOG_FILE),
        "fileReservedTime": "1",
        "deleteWhen": f"{(time.localtime().tm_hour + 12) % 24:02d}",
        "cleanResourceInterval": "1000",
        "deleteCommitLogFilesInterval": "200",
        # TriMQ's own limit is less than the groups of one disturbance.
        "maxGroups": str(2 * GROUPS),
    }


class Disturbances:
    """Those of one started server."""

    def __init__(self, server: Subject, run: Run) -> None:
        self._server = server
        # What persists every five seconds has to come in.
        self._seconds = max(run.seconds * 3, 8)
        self._messages = MESSAGES // (10 if run.smoke else 1)
        self._groups = GROUPS // (10 if run.smoke else 1)
        self._started = time.monotonic()
        self.noted: dict[str, float] = {}
        """Figures about the disturbances themselves."""

    def fill(self) -> None:
        """The backlog."""
        loadgen.run(
            "send",
            self._server.broker_addr,
            topic=BACKLOG,
            queues=BACKLOG_QUEUES,
            connections=BACKLOG_QUEUES,
            window=4,
            size=BODY,
            count=self._messages,
        )
        # The real broker's consume queues follow a moment later.
        time.sleep(2)

    def started_anew(self) -> None:
        self._started = time.monotonic()

    @contextmanager
    def nothing(self) -> Iterator[Busy]:
        yield self._for_a_while()

    def _for_a_while(self) -> Busy:
        end = time.monotonic() + self._seconds
        return lambda: time.monotonic() < end

    # --- a consumer of old messages

    @contextmanager
    def cold_reader(self) -> Iterator[Busy]:
        with loadgen.running(
            "pull",
            self._server.broker_addr,
            topic=BACKLOG,
            queues=BACKLOG_QUEUES,
            connections=BACKLOG_QUEUES,
            batch=32,
            once=True,
        ) as reader:
            yield lambda: reader.poll() is None
            whole = reader.poll() is not None
            found = loadgen.finish(reader)
        if whole and found.messages != self._messages:
            raise RuntimeError(f"{found.messages} of {self._messages} messages were read")
        self.noted["cold reader, MB/s"] = found.megabytes_a_second

    # --- retention

    def retention(self) -> AbstractContextManager[Busy]:
        """Makes all files old but the last ones."""
        files = sorted((store_of(self._server) / "commitlog").iterdir())[:-YOUNG_FILES]
        moment = time.time() - 2 * 3600
        for path in files:
            os.utime(path, (moment, moment))
        time.sleep(max(self._started + FIRST_LOOK_SECONDS - time.monotonic(), 0))
        return self._retention(files)

    @contextmanager
    def _retention(self, files: list[Path]) -> Iterator[Busy]:
        with BlockingClient(self._server.broker_addr) as client:
            _ask(client, RequestCode.DELETE_EXPIRED_COMMITLOG)
            yield files[-1].exists
        deleted = sum(not path.exists() for path in files)
        if not deleted:
            raise RuntimeError("no file was deleted")
        self.noted["files deleted meanwhile"] = deleted

    # --- offsets

    def offsets(self) -> AbstractContextManager[Busy]:
        """Commits an offset of every queue of every group."""
        topic = "TailOffsets"
        flags: dict[str, object] = {
            "topic": topic,
            "queues": OFFSET_QUEUES,
            "group": "tail",
            "groups": self._groups,
        }
        with BlockingClient(self._server.broker_addr, timeout=60) as client:
            create_topic(client, topic, OFFSET_QUEUES)
            create_groups(client, "tail", self._groups)
        loadgen.run("commit", self._server.broker_addr, connections=4, window=64, **flags)
        return self._offsets(flags)

    @contextmanager
    def _offsets(self, flags: dict[str, object]) -> Iterator[Busy]:
        file = store_of(self._server) / "config" / "consumerOffset.json"
        lasts = self._for_a_while()
        written = {file.stat().st_mtime_ns}

        def busy() -> bool:
            # It is missing for an instant while it is replaced.
            with suppress(FileNotFoundError):
                written.add(file.stat().st_mtime_ns)
            return lasts()

        # Some change all the time, or nothing would have to be written.
        more: dict[str, object] = {"rate": COMMITS_A_SECOND, "from": 1, "seconds": LIMIT_SECONDS}
        with loadgen.running("commit", self._server.broker_addr, **flags, **more) as committer:
            yield busy
            loadgen.finish(committer)
        if len(written) == 1:
            raise RuntimeError(f"{file} was not written meanwhile")
        self.noted["writes of consumerOffset.json meanwhile"] = len(written) - 1
        self.noted["consumerOffset.json, MB"] = file.stat().st_size / 1e6

    # --- held pulls

    def held_pulls(self) -> AbstractContextManager[Busy]:
        """Creates the empty topic that they wait for."""
        with BlockingClient(self._server.broker_addr, timeout=60) as client:
            create_topic(client, "TailHeld", 8)
        return self._held_pulls()

    @contextmanager
    def _held_pulls(self) -> Iterator[Busy]:
        with loadgen.running(
            "hold",
            self._server.broker_addr,
            topic="TailHeld",
            queues=8,
            connections=HELD,
            seconds=LIMIT_SECONDS,
        ) as holding:
            assert holding.stdout is not None
            if "ready" not in holding.stdout.readline():
                loadgen.result(holding)
            yield self._for_a_while()
            loadgen.finish(holding)


def create_topic(client: BlockingClient, topic: str, queues: int) -> None:
    _ask(client, RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header(topic, queues))


def create_groups(client: BlockingClient, prefix: str, count: int) -> None:
    """As loadgen names them: a number behind the prefix."""
    for first in range(0, count, GROUPS_A_REQUEST):
        numbers = range(first, min(first + GROUPS_A_REQUEST, count))
        body = {"groupConfigList": [{"groupName": f"{prefix}-{number}"} for number in numbers]}
        code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
        _ask(client, code, body=json.dumps(body).encode())


def _ask(
    client: BlockingClient, code: RequestCode, header: Header | None = None, body: bytes = b""
) -> None:
    answer = client.request(code, header, body)
    if answer.code != ResponseCode.SUCCESS:
        raise RuntimeError(f"{code.name} was answered {answer.code}: {answer.remark}")
