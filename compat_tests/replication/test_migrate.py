"""The script of docs/migrate.md, as it stands there, from a running RocketMQ to TriMQ."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from compat_tests.replication.pairs import LOG_FILE, NAME, SUCCESS, Pair
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.processes import HOST, free_port
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import Closed, Link, NoReply
from tests.patience import until

TOPIC = "Moving"
SEND, COMMIT, QUERY, ROUTE = 10, 15, 14, 105
WRITE = 2


def script() -> str:
    page = (ROOT / "docs" / "migrate.md").read_text()
    found = re.search(r"^```sh moving\n(.*?)^```", page, re.S | re.M)
    assert found is not None
    return found[1]


class Producer(threading.Thread):
    """Sends to the broker that the NameServer names while that may be written to; `times` are those of good answers."""

    def __init__(self, namesrv: str) -> None:
        super().__init__()
        self._namesrv = namesrv
        self._over = threading.Event()
        self.times: list[float] = []

    def run(self) -> None:
        while not self._over.wait(0.02):
            addr = self._writable()
            if addr is not None and _send(addr).code == SUCCESS:
                self.times.append(time.monotonic())

    def end(self) -> None:
        self._over.set()
        self.join()

    @property
    def pause(self) -> float:
        """The longest time without an answer, in seconds."""
        return max(after - before for before, after in pairwise(self.times))

    def _writable(self) -> str | None:
        route = _ask(self._namesrv, Frame(ROUTE, ext={"topic": TOPIC}))
        if route.code != SUCCESS:
            return None
        found = json.loads(route.body)
        if not any(queues["perm"] & WRITE for queues in found["queueDatas"]):
            return None
        addr: str | None = found["brokerDatas"][0]["brokerAddrs"].get("0")
        return addr


def test_from_rocketmq_to_trimq(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = Pair("real-ours", tmp_path / "pair")
    pair.master.start()
    pair.master.create(TOPIC, queues=1)
    for at in range(20):
        assert pair.master.send(TOPIC, b"m%d" % at).code == SUCCESS
    until(lambda: len(pair.master.bodies(TOPIC)) == 20, "its queue has all")
    commit = {"consumerGroup": "G", "topic": TOPIC, "queueId": 0, "commitOffset": 7}
    assert pair.master.ask(COMMIT, commit).code == SUCCESS
    new = f"{HOST}:{free_port()}"
    stop = tmp_path / "stop"
    done = tmp_path / "done"
    log = (tmp_path / "log").open("w")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        "NS": pair.namesrv.addr,
        "NAME": NAME,
        "OLD": pair.master.addr,
        "NEW": new,
        "STORE": str(tmp_path / "new"),
        "LOG_FILE": str(LOG_FILE),
        "ROUTES": "1",
    }
    # The old one is stopped by this test, when it is asked to.
    stop_old = f"stop_old() {{ touch {stop}; until [ -e {done} ]; do sleep 0.1; done; }}\n"
    text = f"set -euo pipefail\n{stop_old}{script()}\nwait $pid\n"
    moving = subprocess.Popen(
        ["bash", "-c", text], env=environment, stdout=log, stderr=log, start_new_session=True
    )
    producer = Producer(pair.namesrv.addr)
    producer.start()
    try:
        stopping = threading.Thread(target=_stop_when_asked, args=(pair, stop, done, moving))
        stopping.start()
        stopping.join(300)
        assert done.exists(), (tmp_path / "log").read_text()[-4000:]
        until(lambda: _send(new).code == SUCCESS, "the new master takes messages")
        query = {"consumerGroup": "G", "topic": TOPIC, "queueId": "0"}
        assert _ask(new, Frame(QUERY, ext=query)).ext["offset"] == "7"
        moved = time.monotonic()
        until(lambda: producer.times[-1] > moved, "the producer has found it")
        producer.end()
        assert _end(new) >= 21 + len(producer.times)
        with capsys.disabled():
            print(
                f"\none broker name, moved under load: nobody could send for {producer.pause:.1f} s"
            )
    finally:
        producer.end()
        os.killpg(moving.pid, signal.SIGKILL)
        moving.wait()
        log.close()
        pair.end()


def _stop_when_asked(pair: Pair, stop: Path, done: Path, moving: subprocess.Popen[bytes]) -> None:
    while not stop.exists():
        if moving.poll() is not None:
            return
        time.sleep(0.1)
    pair.master.stop()
    done.touch()


def _ask(addr: str, frame: Frame) -> Frame:
    link = Link(addr)
    try:
        return link.ask(frame)
    finally:
        link.close()


def _send(addr: str) -> Frame:
    fields = {
        "producerGroup": "P",
        "topic": TOPIC,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "0",
        "sysFlag": "0",
        "bornTimestamp": "1",
        "flag": "0",
        "reconsumeTimes": "0",
        "unitMode": "false",
        "batch": "false",
    }
    try:
        return _ask(addr, Frame(SEND, ext=fields, body=b"new"))
    except (OSError, Closed, NoReply):
        return Frame(-1)


def _end(addr: str) -> int:
    return int(_ask(addr, Frame(30, ext={"topic": TOPIC, "queueId": "0"})).ext["offset"])
