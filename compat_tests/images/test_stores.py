"""A store that the real broker left is mounted into the image, as another user, and goes back to the real one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from compat_tests.images.engine import HOME, USER, Container, Engine, folder
from compat_tests.servers.containers import ContainerLauncher, launcher
from compat_tests.servers.server import COMMON_SETTINGS, write_broker_conf
from compat_tests.store.shared_directory import QUEUES, SETTINGS, TOPIC, Asked, Key, Real, keys
from tests.patience import until

# Several files of the log and of each queue.
MESSAGES: Final = 1200
MORE: Final = 300
BODY: Final = b"left behind" * 80
# Whose pulls have made it known.
GROUP: Final = "C"
QUERY_OFFSET, COMMIT_OFFSET, SUCCESS = 14, 15, 0
INNER_CONF: Final = f"{HOME}/conf/broker.conf"


class OfTheImage:
    """The image's broker over a store that is mounted; without a NameServer, as the real one is."""

    def __init__(self, engine: Engine, store: Path, conf: Path, user: int) -> None:
        self.store = store
        self._engine = engine
        self._options = (
            *("--user", f"{user}:{user}"),
            *("-v", f"{store}:{HOME}/store", "-v", f"{conf}:{INNER_CONF}"),
        )
        self._running: Container | None = None

    @property
    def addr(self) -> str:
        assert self._running is not None
        return f"{self._running.address}:10911"

    def start(self) -> None:
        command = ("sh", "mqbroker", "-n", "127.0.0.1:1", "-c", INNER_CONF)
        self._running = one = self._engine.run("broker", *self._options, command=command)
        until(lambda: "TriMQ ready" in one.log, lambda: one.log)

    def stop(self) -> None:
        assert self._running is not None
        assert self._running.stop() == 0, self._running.log

    def kill(self) -> None:
        if self._running is not None:
            self._engine.remove()
            self._running = None


@contextmanager
def started(broker: Asked, *, kill: bool = False) -> Iterator[Asked]:
    """It is stopped in order, or killed."""
    with ExitStack() as failed:
        failed.callback(broker.stop, kill=True)
        broker.start()
        yield broker
        if not kill:
            broker.stop()
            failed.pop_all()


def everything(broker: Asked) -> list[list[Key]]:
    return [keys(broker.pull(queue_id)) for queue_id in range(QUEUES)]


def send(broker: Asked, count: int) -> list[list[Key]]:
    """What is there then, by queue."""
    for number in range(count):
        broker.send(number % QUEUES, BODY[: 1 + number % len(BODY)], f"Tag{number % 3}")
    broker.settle()
    return everything(broker)


def commit(broker: Asked, offset: int) -> None:
    fields = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": 0, "commitOffset": offset}
    assert broker.ask(COMMIT_OFFSET, fields).code == SUCCESS


def committed(broker: Asked) -> int:
    return broker.offset(QUERY_OFFSET, 0, consumerGroup=GROUP)


@pytest.mark.parametrize(
    ("user", "kill"), [(USER, False), (12345, True)], ids=["stopped", "killed"]
)
def test_there_and_back(engine: Engine, tmp_path: Path, user: int, kill: bool) -> None:
    """The real broker, stopped or killed; the image's, stopped; the real one again."""
    launcher()
    home = folder(tmp_path / "broker")
    real = Real(home, SETTINGS, ContainerLauncher(user))
    for place in (home, *home.iterdir()):
        folder(place, 0o700, user)
    with started(real, kill=kill):
        written = send(real, MESSAGES)
        commit(real, 7)
        if kill:
            # It writes its tables every five seconds.
            saved = real.store / "config/consumerOffset.json"
            until(
                lambda: saved.exists() and f"{TOPIC}@{GROUP}" in saved.read_text(),
                "its table is written",
            )
    assert sum(map(len, written)) == MESSAGES
    files = [file for file in real.store.rglob("*") if file.is_file()]
    assert len(files) > 20
    assert {file.stat().st_uid for file in files} == {user}
    # The file that an operator has, but for the names of folders.
    conf = write_broker_conf(tmp_path / "broker.conf", {**COMMON_SETTINGS, **SETTINGS})
    ours = Asked(OfTheImage(engine, real.store, conf, user))
    with started(ours):
        assert everything(ours) == written
        assert committed(ours) == 7
        written = send(ours, MORE)
        commit(ours, 11)
    assert sum(map(len, written)) == MESSAGES + MORE
    assert {file.stat().st_uid for file in real.store.rglob("*")} == {user}
    with started(real):
        assert everything(real) == written
        assert committed(real) == 11
        assert sum(map(len, send(real, QUEUES))) == MESSAGES + MORE + QUEUES
