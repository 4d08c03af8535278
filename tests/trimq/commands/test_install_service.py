"""`trimq install-service`: what it writes and runs, and what it refuses."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from docs.units import UNITS as SHIPPED
from trimq.commands import install_service as command
from trimq.commands.cli import main
from trimq.commands.service_access import User, lies_in_a_home, lies_in_a_private_folder
from trimq.commands.service_units import Service, service_unit, socket_unit, word
from trimq.settings.endpoints import Endpoint

ROOT = Path(__file__).resolve().parents[3]
ANALYZE = shutil.which("systemd-analyze")
USER = getpass.getuser()


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["install-service", *words])


def lines(text: str, name: str) -> list[str]:
    """The values of a unit's directive."""
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


def test_the_units_of_the_repository_are_what_it_writes() -> None:
    """`make docs` writes them."""
    for name, text in SHIPPED.items():
        assert (ROOT / "deploy/systemd" / name).read_text() == text
    assert {path.name for path in (ROOT / "deploy/systemd").iterdir()} == set(SHIPPED)


def test_dry_run_shows_both_units(tmp_path: Path) -> None:
    done = run("--dry-run")
    assert done.exit_code == 0, done.stderr
    assert lines(done.stdout, "ExecStart") == [
        f"{' '.join(command._program())} server --store /var/lib/trimq"
    ]
    assert lines(done.stdout, "StateDirectory") == ["trimq"]
    assert lines(done.stdout, "DynamicUser") == ["yes"]
    ports = (9876, 10911, 10909, 10912)
    assert lines(done.stdout, "ListenStream") == [f"127.0.0.1:{port}" for port in ports]
    assert "# /etc/systemd/system/trimq.socket\n" in done.stdout


def test_addresses_are_those_of_the_file_and_of_the_words(tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("listenPort=20911\nnamesrvAddr=ns1:9876;ns2:9876\nhaListenPort=30000\n")
    words = ("--", "--listen", "[::]:10911", "--advertise", "b:1", "--metrics", "9878")
    done = run("--dry-run", "--conf", str(conf), *words)
    assert done.exit_code == 0, done.stderr
    found = lines(done.stdout, "ListenStream")
    assert found == ["[::]:10911", "[::]:10909", "[::]:30000", "127.0.0.1:9878"]
    (started,) = lines(done.stdout, "ExecStart")
    assert started.endswith(f"--config {conf} --listen [::]:10911 --advertise b:1 --metrics 9878")


def test_a_port_for_slaves_that_is_closed_is_not_kept_open() -> None:
    done = run("--dry-run", "--", "--set", "haEnable=false")
    assert "127.0.0.1:10912" not in lines(done.stdout, "ListenStream")


def test_several_brokers_open_their_ports_themselves() -> None:
    done = run("--dry-run", "--", "--brokers", "3", "--metrics", "9878")
    assert lines(done.stdout, "ListenStream") == ["127.0.0.1:9876", "127.0.0.1:9878"]
    done = run("--dry-run", "--", "--brokers", "3", "--namesrv", "ns:9876")
    assert "trimq.socket" not in done.stdout


def test_a_store_elsewhere_belongs_to_a_user(tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathRootDir=/data/trimq\nstorePathCommitLog={tmp_path}/log\n")
    done = run("--dry-run", "--no-socket", "--user", USER, "--conf", str(conf))
    assert done.exit_code == 0, done.stderr
    assert lines(done.stdout, "User") == [USER]
    assert lines(done.stdout, "DynamicUser") == lines(done.stdout, "StateDirectory") == []
    # Settings that change at run time go into the file.
    folders = ["/data/trimq", f"{tmp_path}/log", str(tmp_path)]
    assert lines(done.stdout, "ReadWritePaths") == folders
    assert "trimq.socket" not in done.stdout
    assert f"note: /data/trimq is not there, or cannot be written by the user {USER}" in done.stderr
    assert f"note: {tmp_path}/log cannot be seen by a service" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--store", "/data"],
            "/data is not below /var/lib: name the user to whom it belongs by --user",
        ),
        (["--user", "no-such-user-here"], "useradd --system"),
        (["--conf", "/does/not/exist.conf"], "cannot read /does/not/exist.conf"),
        (["--", "--listen", "nowhere"], "--listen: 'nowhere' is not an address"),
        (["--", "--listen", "127.0.0.1:0"], "port 0 is another one at each start"),
        (["--", "--store", "/x"], "give --store before the --"),
        (["--", "--config", "/x"], "give --conf before the --"),
        (["--", "--no-such-option"], "No such option"),
        (["--", "--set", "flushDiskType=NEVER"], "must be one of ASYNC_FLUSH, SYNC_FLUSH"),
        (["--", "--set", "oops"], "write key=value"),
    ],
)
def test_wrong_words_are_one_sentence(words: list[str], sentence: str) -> None:
    done = run("--dry-run", *words)
    assert sentence in done.stderr
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One that systemd runs, and where everything can be read; what systemctl was asked."""
    asked: list[str] = []

    def systemctl(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(" ".join(words[1:]))
        failed = "start trimq.service" in asked[-1] and "fails" in asked
        return subprocess.CompletedProcess(
            words, int(failed), "", "Job failed.\n" if failed else ""
        )

    (tmp_path / "units").mkdir()
    monkeypatch.setattr(command, "UNITS", tmp_path / "units")
    monkeypatch.setattr(command, "RUNNING", tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(command, "_obstacles", lambda *_: [])
    monkeypatch.setattr(command.subprocess, "run", systemctl)
    return asked


def test_it_writes_enables_and_starts(machine: list[str], tmp_path: Path) -> None:
    done = run()
    assert done.exit_code == 0, done.stderr
    assert {path.name for path in (tmp_path / "units").iterdir()} == {
        "trimq.service",
        "trimq.socket",
    }
    assert machine == [
        "daemon-reload",
        "enable trimq.service trimq.socket",
        "stop trimq.socket trimq.service",
        "start trimq.socket",
        "start trimq.service",
    ]
    assert "TriMQ runs: systemctl status trimq.service" in done.stdout
    machine.clear()
    done = run("--no-socket", "--no-start")
    assert machine == ["disable --now trimq.socket", "daemon-reload", "enable trimq.service"]
    assert [path.name for path in (tmp_path / "units").iterdir()] == ["trimq.service"]
    assert "not started: systemctl start trimq.service" in done.stdout


def test_a_service_that_does_not_start_is_said(machine: list[str]) -> None:
    machine.append("fails")
    done = run()
    assert done.exit_code == 1
    assert "systemctl start trimq.service failed: Job failed. 'journalctl -u" in done.stderr


def test_without_systemd_or_root(
    machine: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    done = run()
    assert (done.exit_code, "needs root: sudo " in done.stderr) == (1, True)
    monkeypatch.setattr(command, "RUNNING", tmp_path / "absent")
    done = run()
    assert (done.exit_code, "systemd does not run this machine" in done.stderr) == (1, True)
    assert machine == []


def test_what_the_user_cannot_read_is_said(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o700)
    conf = secret / "broker.conf"
    conf.write_text("")
    (said,) = (
        one
        for one in command._obstacles(User(), [secret], conf, [])
        if one.startswith(f"{conf} cannot be read")
    )
    assert f"a user of its own (DynamicUser=yes): chmod a+r '{conf}'" in said


@pytest.mark.parametrize(
    ("uid", "groups", "mode", "reads", "writes"),
    [
        (-1, (), 0o755, True, False),
        (-1, (), 0o750, False, False),
        (-1, (), 0o744, False, False),
        (-1, (7,), 0o775, True, True),
        (5, (), 0o700, True, True),
        (5, (), 0o500, True, False),
        # The owner's own bits count, whatever others may.
        (5, (), 0o077, False, False),
        (6, (7,), 0o770, True, True),
        (6, (7,), 0o747, False, False),
        (0, (), 0o000, True, True),
    ],
)
def test_who_may_what(
    uid: int,
    groups: tuple[int, ...],
    mode: int,
    reads: bool,
    writes: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A folder of the user 5 and the group 7, in the root."""
    folder = os.stat_result((stat.S_IFDIR | mode, 1, 1, 2, 5, 7, 0, 0, 0, 0))
    root = os.stat_result((stat.S_IFDIR | 0o755, 1, 1, 2, 0, 0, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda path, **_: root if str(path) == "/" else folder)
    user = User("somebody", uid, groups)
    assert (user.may_read(Path("/folder")), user.may_write(Path("/folder"))) == (reads, writes)


def test_nobody_may_what_is_not_there(tmp_path: Path) -> None:
    assert not User().may_read(tmp_path / "absent")
    assert not User("somebody", 1000).may_write(tmp_path / "absent")


def test_folders_that_a_service_sees_otherwise(tmp_path: Path) -> None:
    assert lies_in_a_home(Path("/home/me/.venv/bin/python"))
    assert not lies_in_a_home(Path("/opt/trimq"))
    assert lies_in_a_private_folder(Path("/tmp/x"))
    assert not lies_in_a_private_folder(Path("/var/lib/x"))
    (tmp_path / "link").symlink_to("/home/me")
    assert lies_in_a_home(tmp_path / "link" / "store")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("/opt/trimq/bin/trimq", "/opt/trimq/bin/trimq"),
        ("ns1:9876;ns2:9876", '"ns1:9876;ns2:9876"'),
        ("100%", "100%%"),
        ("a$b", "a$$b"),
        ('say "so" \\', '"say \\"so\\" \\\\"'),
        ("", '""'),
        ("größe", '"größe"'),
    ],
)
def test_words_of_a_unit(text: str, written: str) -> None:
    assert word(text) == written


UNITS = {
    "usual": Service(command=["/opt/trimq/bin/trimq", "server"]),
    "home": Service(
        command=["/bin/true"], user="nobody", store=Path("/home/me/a b"), sees_homes=True
    ),
}


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("name", UNITS)
def test_its_exposure_is_below_two(name: str, tmp_path: Path) -> None:
    """In tenths, as the tool wants the threshold."""
    unit = tmp_path / "trimq.service"
    unit.write_text(service_unit(UNITS[name]))
    words = ["security", "--offline=yes", "--threshold=20", "--no-pager", str(unit)]
    done = subprocess.run([str(ANALYZE), *words], capture_output=True, text=True, check=False)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze knows no --offline")
    assert done.returncode == 0, done.stdout[-200:]
    found = re.search(r"Overall exposure level for trimq.service: (\d\.\d)", done.stdout)
    assert found is not None
    assert float(found[1]) < 2.0


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
def test_systemd_reads_all_of_it(tmp_path: Path) -> None:
    program = Service(command=[sys.executable, "server", "--set", 'a="b" 100%'])
    (tmp_path / "trimq.service").write_text(service_unit(program))
    (tmp_path / "trimq.socket").write_text(socket_unit([Endpoint("::", 1), Endpoint("", 2)]))
    words = ["verify", "--man=no", str(tmp_path / "trimq.service"), str(tmp_path / "trimq.socket")]
    done = subprocess.run([str(ANALYZE), *words], capture_output=True, text=True, check=False)
    about_ours = [
        line for line in done.stderr.splitlines() if str(tmp_path) in line or "trimq" in line
    ]
    assert about_ours == []
