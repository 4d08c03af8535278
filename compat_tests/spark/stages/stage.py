"""What the tests of the Spark sources share: one session, both servers, the same messages on each."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import lz4.frame
import zstandard

from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import Options, Server
from compat_tests.spark.stages.home import use_unpacked_home
from tests.patience import until
from tests.requests import send_header_v2
from trimq.admin import BlockingAdminClient, NewMessage
from trimq.admin.errors import NotFound
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import SysFlag
from trimq.remoting.clients.blocking import BlockingClient

R = TypeVar("R")

QUEUES: Final = 4
# Small heaps; the loopback only.
CONFIG: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}
COMMIT_LOG_FILE: Final = 1 << 22


@dataclass(frozen=True)
class Side:
    """A server and where its store is."""

    server: Server
    store: Path

    @property
    def namesrv(self) -> str:
        return self.server.namesrv_addr

    @contextmanager
    def admin(self) -> Iterator[BlockingAdminClient]:
        with BlockingAdminClient(self.namesrv) as admin:
            yield admin

    def create(self, topic: str, queues: int = QUEUES) -> None:
        """Make the topic, or give it so many queues."""
        with self.admin() as admin:
            config = TopicConfig(
                topic_name=topic, read_queue_nums=queues, write_queue_nums=queues, perm=6
            )
            admin.put_topic(self.server.broker_addr, topic=config)

            def there() -> bool:
                try:
                    route = admin.topic_route(topic)
                except NotFound:
                    return False
                return [one.read_queue_nums for one in route.queue_datas] == [queues]

            until(there)

    def send(self, topic: str, numbers: range, queues: int = QUEUES, size: int = 0) -> None:
        """Messages that say their number in body, key and a property; tags A, B and none."""
        with self.admin() as admin:
            for number in numbers:
                admin.send(
                    NewMessage(
                        topic=topic,
                        body=b"body %d " % number + b"x" * (size or number % 50),
                        tags=("A", "B", None)[number % 3],
                        keys=f"k{number} all",
                        properties={"number": str(number), "half": str(number % 2)},
                    ),
                    broker_name="broker-a",
                    queue_id=number % queues,
                )

    def send_packed(self, topic: str) -> dict[str, bytes]:
        """One message per kind of packing; what their bodies are, by key."""
        body = b"packed " * 500
        packed = {
            "plain": (0, body),
            "old-zlib": (SysFlag.COMPRESSED, zlib.compress(body)),
            "zlib": (SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZLIB, zlib.compress(body)),
            "lz4": (SysFlag.COMPRESSED | SysFlag.COMPRESSION_LZ4, lz4.frame.compress(body)),
            "zstd": (
                SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZSTD,
                zstandard.ZstdCompressor().compress(body),
            ),
        }
        with BlockingClient(self.server.broker_addr) as client:
            for key, (flag, data) in packed.items():
                header = send_header_v2(
                    topic,
                    default_topic_queue_nums=QUEUES,
                    sys_flag=flag,
                    born_timestamp=int(time.time() * 1000),
                    properties=f"KEYS\x01{key}\x02",
                    reconsume_times=0,
                    unit_mode=False,
                    batch=False,
                )
                answer = client.request(RequestCode.SEND_MESSAGE_V2, header, data)
                assert answer.code == ResponseCode.SUCCESS, answer.remark
        return dict.fromkeys(packed, body)

    def settle(self, topic: str, count: int) -> None:
        """Wait until the queues show so many messages."""
        with self.admin() as admin:
            until(lambda: _count(admin, topic) >= count)


def _count(admin: BlockingAdminClient, topic: str) -> int:
    return sum(one.max_offset for one in admin.topic_stats(topic).offsets.values())


def at_leisure(job: Callable[[], R]) -> R:
    """What the job returns; done again where the machine was too busy for Spark.

    Spark gives each Python that it starts in the driver 10 s to connect, and no setting changes that.
    """
    for _ in range(5):
        try:
            return job()
        except Exception as error:
            if not is_haste(error):
                raise
    return job()


def is_haste(error: Exception) -> bool:
    """Whether Spark did not wait for a Python that was starting."""
    return "Python worker failed to connect back" in str(error)


@contextmanager
def sides(launch: Launcher, folder: Path, **more: str) -> Iterator[dict[str, Side]]:
    """Both servers, with a commit log of several small files and SQL92.

    `more`: further settings of the brokers.
    """
    settings = {
        "mappedFileSizeCommitLog": str(COMMIT_LOG_FILE),
        "enablePropertyFilter": "true",
        **more,
    }
    real = RealServer(launch, folder / "real", Options(settings))
    trimq = TrimqServer(folder / "trimq", Options(settings))
    real.start()
    try:
        trimq.start()
        try:
            yield {
                "real": Side(real, real.broker.store),
                "trimq": Side(trimq, trimq.store),
            }
        finally:
            trimq.stop()
    finally:
        # It takes its time to stop in order, and nobody looks at its store any more.
        real.kill()


@contextmanager
def spark_session(master: str = "local[2]") -> Iterator[Any]:
    """A session of two threads; of `local[2,4]` tasks that fail run four times, as on a cluster."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    use_unpacked_home()
    from trimq.spark import session

    made = session(master, CONFIG)
    made.sparkContext.setLogLevel("OFF")
    try:
        yield made
    finally:
        made.stop()
