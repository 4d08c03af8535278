"""A broker whose messages get old and whose disk gets full: what both kinds are asked alike."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.processes import HOST
from compat_tests.servers.real import RealBroker
from compat_tests.servers.server import Options
from compat_tests.wire import asks, records
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import Link

LOG_FILE: Final = 1024 * 1024
QUEUE_FILE: Final = 20 * 100
BATCH_FILE: Final = 46 * 20
# Messages in every batch.
BATCH: Final = 3
DISK_MEGABYTES: Final = 300
# Both close a connection on which nothing was said for two minutes, and one side may wait that long for the other.
IDLE_SECONDS: Final = 60
BATCH_TOPICS: Final = ("Batches", "EarlyBatches")
MAX, MIN, VIEW = 30, 31, 33
DELETE_OLD, CLEAN_QUEUES, CLEAN_TOPICS = 329, 306, 316

Answer = dict[str, Any]


def settings() -> dict[str, str]:
    """Old is what was written an hour ago; only a request or a full disk deletes it."""
    return {
        "mappedFileSizeCommitLog": str(LOG_FILE),
        "mappedFileSizeConsumeQueue": str(QUEUE_FILE),
        "mapperFileSizeBatchConsumeQueue": str(BATCH_FILE),
        "fileReservedTime": "1",
        "deleteWhen": f"{(time.localtime().tm_hour + 12) % 24:02d}",
        "cleanResourceInterval": "500",
        "autoCreateTopicEnable": "false",
        "messageDelayLevel": "1h 2h 3h",
    }


class Disk:
    """A small file system for a store; `why_not` says why it is none of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.why_not = done.stderr.strip() if done.returncode else ""

    def close(self) -> None:
        if self.why_not:
            return
        subprocess.run(["umount", "-l", str(self.path)], check=True)


class Side:
    """One broker, with its store in `home`/store."""

    def __init__(self, home: Path, launch: Launcher | None) -> None:
        """`launch`: how the real one is started; None for ours."""
        options = Options(settings=settings())
        self.home = home
        self._links: list[Link] = []
        self._used = 0.0
        self.end = 0
        """Physical offset of the last message that was sent."""
        self.early = 0
        """That of one of the first."""
        self._broker: RealBroker | TrimqServer = (
            TrimqServer(home, options)
            if launch is None
            else RealBroker(launch, home, f"{HOST}:1", options)
        )
        self.store = home / "store"

    def start(self) -> None:
        self._broker.start()

    def _link(self) -> Link:
        """The connection, made when it is used: ours closes one that says nothing for ten seconds."""
        if time.monotonic() > self._used + IDLE_SECONDS:
            self.close()
        if not self._links:
            it = self._broker
            self._links.append(Link(it.addr if isinstance(it, RealBroker) else it.broker_addr))
        return self._links[0]

    def stop(self) -> None:
        self.close()
        self._broker.stop()

    def kill(self) -> None:
        self.close()
        self._broker.kill()

    def close(self) -> None:
        if self._links:
            self._links.pop().close()

    # --- asking

    def ask(self, frame: Frame) -> Answer:
        """What of an answer must be alike; messages are named by their bodies."""
        reply = self._link().ask(frame)
        self._used = time.monotonic()
        seen: Answer = {"code": reply.code, "remark": reply.remark, **reply.ext}
        if reply.body:
            seen["bodies"] = [record.body for record in records.read_records(reply.body)]
        return seen

    def create(self, topic: str, queues: int, **more: str) -> None:
        assert self.ask(asks.create_topic(topic, queues, **more))["code"] == 0

    def send(self, topic: str, queue_id: int, body: bytes) -> int:
        return self._sent(asks.send(body, topic=topic, queueId=queue_id, producerGroup="P"))

    def send_batch(self, topic: str, queue_id: int, body: bytes) -> int:
        """One record with BATCH messages, for a topic with batch queues."""
        batch = records.batch_body([(body, {})] * BATCH)
        whole = asks.properties(UNIQ_KEY="WHOLE")
        names = {"topic": topic, "producerGroup": "P", "properties": whole}
        return self._sent(asks.send_batch(batch, queueId=queue_id, **names))

    def _sent(self, frame: Frame) -> int:
        answer = self.ask(frame)
        assert answer["code"] == 0, answer
        self.end = int(answer["msgId"][16:], 16)
        return int(answer["queueOffset"])

    def offset(self, code: int, topic: str, queue_id: int) -> int:
        answer = self.ask(asks.queue_question(code, topic=topic, queueId=queue_id))
        return int(answer["offset"])

    def pull(self, topic: str, queue_id: int, offset: int, count: int = 1) -> Answer:
        return self.ask(
            asks.pull(
                consumerGroup="C",
                topic=topic,
                queueId=queue_id,
                queueOffset=offset,
                maxMsgNums=count,
            )
        )

    # --- files

    def log_files(self) -> list[str]:
        """Without the next one, which the real broker prepares early."""
        return [name for name in names(self.store / "commitlog") if int(name) <= self.end]

    def queue_files(self, topic: str, queue_id: int) -> list[str]:
        folder = "batchconsumequeue" if topic in BATCH_TOPICS else "consumequeue"
        return names(self.store / folder / topic / str(queue_id))

    def age(self, log_files: list[str]) -> None:
        """They were last written two hours ago, if they still exist."""
        moment = time.time() - 2 * 3600
        for name in log_files:
            with suppress(FileNotFoundError):
                os.utime(self.store / "commitlog" / name, (moment, moment))


def fill_disk(store: Path, percent: float) -> None:
    """Make the store's file system so full, whatever lies in it; at no moment emptier than that."""
    with (store / "ballast").open("ab") as ballast:
        disk = os.statvfs(store)
        missing = int(disk.f_blocks * percent / 100) - (disk.f_blocks - disk.f_bfree)
        size = ballast.tell() + missing * disk.f_frsize
        if missing > 0:
            os.posix_fallocate(ballast.fileno(), 0, size)
        else:
            ballast.truncate(max(size, 0))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
