"""The script of docs/migrate.md, as it stands there, from a running RocketMQ to TriMQ."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from compat_tests.replication.pairs import LOG_FILE, NAME, SUCCESS, Pair, eventually
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.processes import HOST, free_port
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import Link

TOPIC = "Moving"
SEND, COMMIT, QUERY = 10, 15, 14


def script() -> str:
    page = (ROOT / "docs" / "migrate.md").read_text()
    found = re.search(r"^```sh moving\n(.*?)^```", page, re.S | re.M)
    assert found is not None
    return found[1]


def test_from_rocketmq_to_trimq(tmp_path: Path) -> None:
    pair = Pair("real-ours", tmp_path / "pair")
    pair.master.start()
    pair.master.create(TOPIC, queues=1)
    for at in range(20):
        assert pair.master.send(TOPIC, b"m%d" % at).code == SUCCESS
    assert len(pair.master.bodies(TOPIC)) == 20
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
    try:
        stopping = threading.Thread(target=_stop_when_asked, args=(pair, stop, done, moving))
        stopping.start()
        stopping.join(120)
        assert done.exists(), (tmp_path / "log").read_text()[-4000:]
        eventually(lambda: _send(new).code == SUCCESS, "the new master takes messages")
        query = {"consumerGroup": "G", "topic": TOPIC, "queueId": "0"}
        assert _ask(new, Frame(QUERY, ext=query)).ext["offset"] == "7"
        assert _end(new) >= 21
    finally:
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
    except OSError:
        return Frame(-1)


def _end(addr: str) -> int:
    return int(_ask(addr, Frame(30, ext={"topic": TOPIC, "queueId": "0"})).ext["offset"])
