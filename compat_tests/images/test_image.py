"""The image by itself: how large it is, how it starts and ends, whom it runs as, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from compat_tests.images.engine import HOME, TAG, USER, Container, Engine, docker, folder
from compat_tests.images.test_replaced import send_and_receive
from tests.patience import until
from trimq.admin import BlockingAdminClient, NewMessage

STORE = f"{HOME}/store"
# A message of the load, and how many of them: more than the memory of the container.
BODY = b"x" * 4000
MESSAGES = 60_000
SENDERS = 6
# Seconds until a container with little of everything is healthy.
SOON = 10.0


def test_it_is_small(image_size: str) -> None:
    found = re.search(r"([\d.]+) MB compressed", image_size)
    assert found is not None
    print(image_size)
    assert float(found[1]) < 80


def inspected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(docker("image", "inspect", TAG).stdout)[0]["Config"]
    return found


def test_what_it_says_of_itself(whole_engine: Engine) -> None:
    config = inspected()
    assert config["User"] == f"{USER}:{USER}"
    assert config["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert "container-health" in config["Healthcheck"]["Test"][-1]
    done = docker("run", "--rm", TAG, "cat", "/usr/share/trimq/sbom.cdx.json")
    listed = {one["purl"].partition("@")[0] for one in json.loads(done.stdout)["components"]}
    assert {"pkg:pypi/trimq", "pkg:pypi/trio", "pkg:deb/debian/libc6"} <= listed
    assert "pkg:deb/debian/apt" not in listed
    copyrights = docker("run", "--rm", TAG, "sh", "-c", "ls /usr/share/doc/*/copyright").stdout
    packages = {one.partition("@")[0].rpartition("/")[2] for one in listed if "pkg:deb" in one}
    found = {line.split("/")[4] for line in copyrights.splitlines()}
    assert "trimq" in found
    # Some packages of one source share a file.
    assert len(packages & found) > len(packages) * 0.8
    assert "(compiled)" in docker("run", "--rm", TAG, "trimq", "--version").stdout


def test_without_a_command_it_is_a_broker_and_a_name_server(engine: Engine) -> None:
    began = time.monotonic()
    server = engine.run("trimq", "--cpus", "1")
    address = server.address

    def sent() -> bool:
        send_and_receive(f"{address}:9876", "First")
        return True

    until(sent, excused=(Exception,), pause=0.01)
    took = time.monotonic() - began
    print(f"first message there and back {took:.2f} s after `docker run`")
    assert took < 10
    found = re.search(r"TriMQ ready: .* in (\d+) ms", server.log)
    assert found is not None
    print(found[0])
    until(partial(is_healthy, server))
    began = time.monotonic()
    assert server.stop() == 0
    print(f"stopped within {time.monotonic() - began:.2f} s")


def test_it_is_healthy_soon_with_a_tenth_of_a_core_and_128_mb(engine: Engine) -> None:
    """By what Docker says. The best of three: the machine may be busy with something else."""
    limits = ("--cpus", "0.1", "--memory", "128m", "--memory-swap", "128m")
    found = []
    while len(found) < 3 and min(found, default=SOON) >= SOON:
        server = engine.run("trimq", *limits)
        until(partial(is_healthy, server), pause=0.2)
        state = server.state
        began = datetime.fromisoformat(state["StartedAt"])
        found.append(
            (datetime.fromisoformat(state["Health"]["Log"][-1]["End"]) - began).total_seconds()
        )
        ready = re.search(r"TriMQ ready: .* in (\d+) ms", server.log)
        assert ready is not None
        print(f"{ready[0]}; healthy {found[-1]:.1f} s after the start")
    send_and_receive(f"{server.address}:9876")
    assert not server.state["OOMKilled"]
    assert server.stop() == 0
    assert min(found) < SOON


def is_healthy(server: Container) -> bool:
    """As Docker says."""
    return bool(server.state["Health"]["Status"] == "healthy")


def hears_sigterm(pid: int) -> bool:
    """Whether a process has blocked or wants to catch it."""
    status = Path(f"/proc/{pid}/status").read_text()
    masks = re.findall(r"^Sig(?:Blk|Cgt):\t([0-9a-f]+)$", status, re.MULTILINE)
    return any(int(mask, 16) >> (signal.SIGTERM - 1) & 1 for mask in masks)


def test_sigterm_while_it_starts(engine: Engine) -> None:
    """The kernel hands the first process of a container no signal that it has not asked for. Python asks within a
    tenth of a second; what comes before that, nobody can hear.
    """
    for pause in (0, 0.05, 0.1, 0.2, 0.4):
        server = engine.run("trimq")
        until(partial(hears_sigterm, int(server.state["Pid"])), pause=0.001)
        time.sleep(pause)
        began = time.monotonic()
        code = server.stop(20)
        assert code == 0, (pause, code, server.log)
        assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    "user",
    [f"{USER}:{USER}", "12345:0", "12345:12345"],
)
def test_users_and_a_read_only_root(engine: Engine, tmp_path: Path, user: str) -> None:
    """The group 0 may write where nothing is mounted; anybody may write what is mounted for him."""
    store = folder(tmp_path / "store", 0o700)
    uid = int(user.partition(":")[0])
    os.chown(store, uid, uid)
    server = engine.run(
        "trimq", "--read-only", "--user", user, "-v", f"{store}:{STORE}", "--cap-drop", "ALL"
    )
    server.wait_until_well()
    send_and_receive(f"{server.address}:9876")
    assert server.stop() == 0
    assert (store / "commitlog").stat().st_uid == uid


def test_the_group_0_may_write_where_nothing_is_mounted(engine: Engine) -> None:
    server = engine.run("trimq", "--user", "12345:0")
    server.wait_until_well()
    send_and_receive(f"{server.address}:9876")


@pytest.mark.parametrize(
    ("options", "command", "sentence"),
    [
        (("-v", "{theirs}:" + STORE), (), f"the store directory {STORE} cannot be written by this"),
        (("--read-only",), (), f"the store directory {STORE} cannot be"),
        (("-v", "{inside}:" + STORE), (), "Permission denied"),
        (
            ("-v", "{secret}:/conf/broker.conf"),
            ("sh", "mqbroker", "-n", "x:1", "-c", "/conf/broker.conf"),
            "cannot read /conf/broker.conf: Permission denied",
        ),
        (
            ("-v", "{secret}:/conf/broker.conf"),
            ("trimq", "server", "--config", "/conf/broker.conf"),
            "cannot read /conf/broker.conf: Permission denied",
        ),
    ],
    ids=["store", "read-only root", "files", "file of mqbroker", "file of trimq"],
)
def test_what_may_not_be_used_is_one_sentence(
    engine: Engine,
    tmp_path: Path,
    options: tuple[str, ...],
    command: tuple[str, ...],
    sentence: str,
) -> None:
    theirs = folder(tmp_path / "theirs", 0o755, 0)
    # A store that another user has left, in a folder that this one may write.
    inside = folder(tmp_path / "inside", 0o777, 0)
    folder(inside / "config", 0o755, 0)
    (inside / "config" / "topics.json").write_text("{}")
    (inside / "config" / "topics.json").chmod(0o600)
    secret = tmp_path / "broker.conf"
    secret.write_text("brokerName=broker-a\n")
    secret.chmod(0o600)
    places = {"theirs": theirs, "inside": inside, "secret": secret}
    given = [word.format(**places) for word in options]
    server = engine.run("trimq", *given, command=command)
    assert server.ended() in (1, 2)
    errors = [line for line in server.log.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, server.log
    assert sentence in errors[0]
    assert f"user id {USER}, group id" in errors[0]
    assert "Traceback" not in server.log


def send_many(namesrv: str) -> None:
    with BlockingAdminClient(namesrv) as admin:
        for _ in range(MESSAGES // SENDERS):
            admin.send(NewMessage(topic="Loaded", body=BODY))


def test_128_mb_are_enough_under_load(engine: Engine, tmp_path: Path) -> None:
    limits = ("--memory", "128m", "--memory-swap", "128m")
    server = engine.run("trimq", *limits, "-v", f"{folder(tmp_path / 'store')}:{STORE}")
    server.wait_until_well()
    namesrv = f"{server.address}:9876"
    began = time.monotonic()
    with ThreadPoolExecutor(SENDERS) as threads:
        for done in [threads.submit(send_many, namesrv) for _ in range(SENDERS)]:
            done.result()
    with BlockingAdminClient(namesrv) as admin:
        sent = admin.send(NewMessage(topic="Loaded", body=BODY))
        place = admin.place_of("Loaded", sent.queue.broker_name, sent.queue.queue_id)
        offset = read = 0
        while messages := (pulled := admin.pull(place, offset)).messages:
            offset = pulled.next_offset
            read += len(messages)
    took = time.monotonic() - began
    print(f"{MESSAGES} messages in {took:.0f} s, {read} of them read again")
    state = server.state
    assert state["Running"]
    assert not state["OOMKilled"]
    assert server.stop() == 0


def test_commands_that_start_nothing(engine: Engine) -> None:
    important = docker("run", "--rm", TAG, "sh", "mqbroker", "-n", "x:1", "-m")
    assert re.search(r"^[-\d]+ [:\d]+ INFO main - listenPort=10911$", important.stdout, re.M)
    example = docker(
        *("run", "--rm", TAG, "sh", "tools.sh", "org.apache.rocketmq.example.quickstart.Producer"),
        check=False,
    )
    assert (example.returncode, example.stdout) == (1, "")
    assert "mqadmin sendMessage" in example.stderr
    server = engine.run("broker", command=("sh", "mqnamesrv"))
    server.wait_until_well()
    assert server.execute("sh", "mqshutdown", "broker").returncode == 255
    assert server.execute("sh", "mqshutdown", "namesrv").returncode == 0
    assert server.ended() == 0
