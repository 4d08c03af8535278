"""A whole server under the checker's clients, with a kill -9 in the middle: nothing is found."""

from __future__ import annotations

from pathlib import Path

from tests.history.calls import Change
from tests.history.clients import Members
from tests.history.committed import Periods
from tests.history.running import Plan, Run, play
from tests.trimq.serving.killed import Server

SETTINGS = {
    "flushDiskType": "SYNC_FLUSH",
    "mappedFileSizeCommitLog": 128 * 1024,
    "flushConsumerOffsetInterval": 200,
    "flushConsumeQueueThoroughInterval": 700,
}
# The interval, and what a busy machine adds until the file is written.
PERIODS = Periods(save=4.2, sync=0)


def test_a_kill_9_in_the_middle(tmp_path: Path, times: int) -> None:
    servers = [_server(tmp_path)]
    members = Members("broker-a", servers[0].broker_addr)

    def kill(run: Run) -> None:
        with run.marked(Change.KILL, "broker-a"):
            servers[-1].kill()
            servers.append(_server(tmp_path))
            members.master = servers[-1].broker_addr

    plan = Plan(seconds=3 * times, between=0.002, periods=PERIODS)
    try:
        report = play([members], plan, tmp_path / "journal", [kill] * times)
    finally:
        servers[-1].kill()
    print(report)
    assert not report.findings, report
    assert report.counts["done sends"] > 20
    assert report.counts["pulled messages"] >= report.counts["messages at the end"]


def _server(folder: Path) -> Server:
    server = Server(folder / "store", folder / "server.log", SETTINGS)
    try:
        server.wait_ready()
    except BaseException:
        server.kill()
        raise
    return server
