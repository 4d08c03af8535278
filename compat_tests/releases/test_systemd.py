"""trimq.service and trimq.socket under a real systemd: what `trimq install-service` promises (docs/systemd.md)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from compat_tests.releases.machine import Machine, build_wheel, machine, obstacle
from tests.patience import until

WHY_NOT = obstacle()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

SERVICE = "trimq.service"
PORTS = (9876, 10911, 10909, 10912, 9878)
WATCHDOG_SECONDS = 3
# A keep-alive each second, so that a test need not wait for half a minute.
QUICK = f"[Service]\nWatchdogSec={WATCHDOG_SECONDS}\n"
# Connects to all ports until a file appears, and prints how often it did and what failed.
CALLERS = """
import os, socket, sys, time
failed, count = [], 0
while not os.path.exists("/run/enough"):
    time.sleep(0.005)
    for port in map(int, sys.argv[1:]):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=60).close()
        except OSError as error:
            failed.append(f"{port}: {error}")
        count += 1
    if count == 5 * 20:
        open("/run/calling", "w").close()
print(count, failed)
"""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """With the service, as the command has installed it."""
    folder = tmp_path_factory.mktemp("systemd")
    (folder / "machine").mkdir()
    with machine(folder / "machine", build_wheel(folder)) as made:
        began = time.monotonic()
        said = made.done("trimq", "install-service", "--", "--metrics", "9878")
        assert "TriMQ runs" in said
        send(made, "first")
        seconds = time.monotonic() - began
        print(f"from the command to the first message: {seconds:.1f} s")
        made.write(f"/etc/systemd/system/{SERVICE}.d/quick.conf", QUICK)
        made.done("systemctl", "daemon-reload")
        made.done("systemctl", "restart", SERVICE)
        yield made


@pytest.fixture
def running(box: Machine) -> Machine:
    """Whatever the test before has done to it."""
    box.done("systemctl", "reset-failed")
    box.done("systemctl", "start", "trimq.socket", SERVICE)
    until(lambda: box.shown("ActiveState") == "active", "the service runs")
    return box


def send(box: Machine, body: str) -> None:
    assert "SEND_OK" in box.done("mqadmin", "sendMessage", "-t", "Systemd", "-p", body)


def is_sent(box: Machine, body: str) -> bool:
    return "SEND_OK" in box.run("mqadmin", "sendMessage", "-t", "Systemd", "-p", body).stdout


def bodies(box: Machine) -> list[str]:
    return box.done("mqadmin", "tail", "Systemd", "--since", "earliest", "--format", "%b").split()


def test_it_is_ready_when_systemd_says_so(running: Machine) -> None:
    assert running.shown("Type") == "notify"
    assert running.shown("SubState") == "running"
    assert running.shown("StatusText").startswith("TriMQ ready: namesrv=127.0.0.1:9876 broker=")
    send(running, "ready")
    assert {"first", "ready"} <= set(bodies(running))
    # A user that owns nothing else, and a store that nobody else may read.
    owner = running.done("stat", "-c", "%U %a", "/var/lib/private/trimq").split()
    assert owner[1] == "700"
    assert owner[0] != "root"
    assert running.run("trimq", "health").returncode == 0


def test_its_exposure_is_below_two(running: Machine) -> None:
    running.done("systemd-analyze", "security", "--threshold=20", "--no-pager", SERVICE)


def test_one_that_is_halted_is_started_again(running: Machine) -> None:
    send(running, "before-the-halt")
    before = int(running.shown("NRestarts"))
    pid = running.shown("MainPID")
    running.done("kill", "-STOP", pid)
    until(lambda: int(running.shown("NRestarts")) > before, "it is restarted", pause=0.5)
    until(lambda: running.shown("ActiveState") == "active", "it runs again", pause=0.5)
    assert running.shown("MainPID") != pid
    assert "most recent call first" in running.log()
    assert "before-the-halt" in bodies(running)


def test_one_that_is_killed_is_started_again(running: Machine) -> None:
    send(running, "before-the-kill")
    before = int(running.shown("NRestarts"))
    running.done("kill", "-KILL", running.shown("MainPID"))
    until(lambda: int(running.shown("NRestarts")) > before, "it is restarted", pause=0.2)
    until(lambda: running.shown("ActiveState") == "active", "it runs again", pause=0.2)
    assert "before-the-kill" in bodies(running)


def test_a_restart_refuses_nobody(running: Machine) -> None:
    running.write("/run/callers.py", CALLERS)
    running.done("rm", "-f", "/run/enough", "/run/calling", "/run/said")
    ports = " ".join(map(str, PORTS))
    unit = ["systemd-run", "--quiet", "--unit=callers", "--collect"]
    running.done(*unit, "sh", "-c", f"python3 /run/callers.py {ports} > /run/said 2>&1")
    until(lambda: running.run("test", "-e", "/run/calling").returncode == 0, "they call")
    for number in range(3):
        running.done("systemctl", "restart", SERVICE)
        send(running, f"after-restart-{number}")
    running.done("touch", "/run/enough")
    said = until(lambda: running.run("cat", "/run/said").stdout, "they have ended")
    count, _, failed = said.partition(" ")
    assert failed.strip() == "[]", said
    assert int(count) >= 100
    print(f"{count} connections during three restarts, none refused")


def test_a_stop_is_clean_and_a_client_starts_it(running: Machine) -> None:
    running.done("systemctl", "stop", SERVICE)
    assert running.shown("Result") == "success"
    assert running.shown("ExecMainStatus") == "0"
    assert running.run("test", "-e", "/var/lib/trimq/abort").returncode == 1
    # The ports are open still. The NameServer that wakes up answers a moment before it knows its broker.
    until(lambda: is_sent(running, "wakes-it"), "a message is taken", pause=0.5)
    assert running.shown("ActiveState") == "active"
    running.done("systemctl", "stop", "trimq.socket", SERVICE)
    assert running.run("mqadmin", "topicList", "--timeout", "3").returncode == 1
    assert running.shown("ActiveState") == "inactive"


def test_wrong_settings_are_not_tried_again(running: Machine) -> None:
    running.done("systemctl", "stop", "trimq.socket", SERVICE)
    before = running.shown("NRestarts")
    command = running.shown("ExecStart").partition("argv[]=")[2].partition(" ;")[0]
    path = f"/etc/systemd/system/{SERVICE}.d/wrong.conf"
    wrong = f"[Service]\nExecStart=\nExecStart={command} --set flushDiskType=NEVER\n"
    try:
        running.write(path, wrong)
        running.done("systemctl", "daemon-reload")
        assert running.run("systemctl", "start", SERVICE).returncode != 0
        assert running.shown("ExecMainStatus") == "2"
        assert running.shown("ActiveState") == "failed"
        assert running.shown("NRestarts") == before
        assert "must be one of ASYNC_FLUSH, SYNC_FLUSH" in running.log()
    finally:
        running.done("rm", path)
        running.done("systemctl", "daemon-reload")


def test_several_brokers_and_one_that_hangs(running: Machine) -> None:
    """The last one, as it were: another store, and other ports."""
    words = ("--store", "/var/lib/trimq-several", "--", "--brokers", "2")
    running.done("trimq", "install-service", *words)
    try:
        assert running.shown("WatchdogUSec") == f"{WATCHDOG_SECONDS}s"
        pids = running.done("pgrep", "-P", running.shown("MainPID")).split()
        assert len(pids) == 2
        running.done("kill", "-STOP", pids[0])
        until(lambda: "broker is back" in running.log(), "it comes back", pause=0.5)
        # The others have not been touched.
        assert running.shown("NRestarts") == "0"
        assert pids[1] in running.done("pgrep", "-P", running.shown("MainPID")).split()
        running.done("systemctl", "restart", SERVICE)
        assert running.shown("Result") == "success"
    finally:
        running.done("trimq", "install-service", "--", "--metrics", "9878")
