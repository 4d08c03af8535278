"""The commands as a shell runs them: ready line, exit codes, sentences instead of tracebacks."""

import logging
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from trimq.base.user_ids import user_ids
from trimq.commands.cli import main
from trimq.serving.failures import explained
from trimq.store.errors import StoreDamaged, StoreError

TRIMQ = [sys.executable, "-m", "trimq"]
READY = re.compile(
    r"TriMQ ready: namesrv=(127\.0\.0\.1:\d+) broker=(127\.0\.0\.1:\d+) store=(\S+) in (\d+) ms\n"
)
# For a page and for a clean end, beside much else.
PATIENCE = 60
FREE = ["--listen", "127.0.0.1:0", "--namesrv-listen", "127.0.0.1:0"]


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """The command sets up the log of the whole process: not for the tests that come later."""
    root = logging.getLogger("trimq")
    before = root.level, root.propagate, root.handlers[:]
    yield
    root.level, root.propagate, root.handlers[:] = before
    root.setLevel(before[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_prints_one_line_and_a_signal_is_a_clean_end(
    tmp_path: Path, number: signal.Signals
) -> None:
    command = [*TRIMQ, "server", *FREE, "--store", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        found = READY.fullmatch(it.stdout.readline())
        assert found is not None
        assert found[3] == str(tmp_path)
        it.send_signal(number)
        out, errors = it.communicate(timeout=PATIENCE)
    assert (it.returncode, out) == (0, ""), errors
    assert "Traceback" not in errors
    assert not (tmp_path / "abort").exists()


def test_namesrv_prints_its_address(tmp_path: Path) -> None:
    command = [*TRIMQ, "namesrv", "--listen", "127.0.0.1:0"]
    command += ["--set", f"kvConfigPath={tmp_path / 'kv.json'}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        assert re.fullmatch(
            r"TriMQ ready: namesrv=127\.0\.0\.1:\d+ in \d+ ms\n", it.stdout.readline()
        )
        it.terminate()
        _, errors = it.communicate(timeout=PATIENCE)
    assert it.returncode == 0, errors


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--set", "flushDiskType=NEVER"], 2, "must be one of ASYNC_FLUSH, SYNC_FLUSH"),
        (["--listen", "nowhere"], 2, "--listen: 'nowhere' is not an address: write HOST:PORT"),
        (["--namesrv-listen", "nowhere"], 2, "--namesrv-listen: 'nowhere' is not"),
        (["--advertise", "nowhere"], 2, "--advertise: 'nowhere' is not"),
        (["--advertise", "a:1", "--advertise-file", "f"], 2, "both say what clients are told"),
        (
            ["--brokers", "2", "--advertise-file", "f"],
            2,
            "with --brokers each broker needs its own",
        ),
        (["--metrics", "nowhere"], 2, "--metrics: 'nowhere' is not"),
        (["--brokers", "2", "--metrics", "nowhere"], 2, "--metrics: 'nowhere' is not"),
        (["--set", "metricsListen=nowhere"], 2, "metricsListen: 'nowhere' is not"),
        (["--config", "/does/not/exist.conf"], 2, "cannot read /does/not/exist.conf"),
        (["--set", "oops"], 2, "write key=value"),
        (["--set", "brokerIP1=no ip"], 2, "must be an IP address"),
        (["--set", "brokerRole=SLAVE"], 2, "a slave needs a number above 0"),
        (["--listen", "127.0.0.1:1"], 2, "needs its port - 2"),
        (["--store", "/dev/null/x"], 2, "cannot be used"),
        (["--namesrv", "127.0.0.1:1"], 2, "leave one of them out"),
        (["--set", "tls.server.certPath=x.pem"], 2, "needs tls.server.keyPath"),
        (["--unknown-flag"], 2, "No such option"),
    ],
)
def test_wrong_input_is_one_sentence_and_an_exit_code(
    tmp_path: Path, arguments: list[str], code: int, sentence: str
) -> None:
    done = CliRunner().invoke(main, ["server", *FREE, "--store", str(tmp_path), *arguments])
    assert done.exit_code == code
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_unknown_setting_is_a_warning_and_metrics_are_served(tmp_path: Path) -> None:
    command = [*TRIMQ, "server", *FREE, "--store", str(tmp_path), "--log-format", "json"]
    command += ["--set", "brokrName=x", "--metrics", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        assert it.stderr is not None
        assert READY.fullmatch(it.stdout.readline())
        log = ""
        while "metrics served" not in log:
            log += it.stderr.readline()
        address = re.search(r'"metrics served", "address": "([\d.:]+)"', log)
        assert address is not None
        with urllib.request.urlopen(f"http://{address[1]}/metrics", timeout=PATIENCE) as response:
            page = response.read().decode()
        it.terminate()
        it.communicate(timeout=PATIENCE)
    assert "did you mean 'brokerName'?" in log
    assert "trimq_topics " in page
    helps = [line.split(" ", 3)[3] for line in page.splitlines() if line.startswith("# HELP")]
    assert len(helps) == len(set(helps))
    # Not only from the first look for old files on.
    used = re.search(r'trimq_disk_used{path="commitlog"} (\S+)', page)
    assert used is not None
    assert float(used[1]) > 0
    assert "trimq_connections_opened_total " in page


def test_help_has_examples() -> None:
    done = CliRunner().invoke(main, ["server", "--help"])
    assert done.exit_code == 0
    assert "--advertise 192.0.2.7:10911" in done.stdout


@pytest.mark.parametrize(
    "name", ["trimq", "trimq.remoting.clients.blocking", "trimq.codec.records.record"]
)
def test_importing_what_needs_no_loop_loads_no_trio(name: str) -> None:
    code = f"import sys, {name}; sys.exit('trio' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_error_of_a_damaged_store_says_what_to_do() -> None:
    group = ExceptionGroup("", [StoreDamaged(Path("s/commitlog/0"), 218, "no whole record here")])
    (sentence,) = explained(group) or []
    assert "s/commitlog/0 is damaged at byte 218" in sentence
    assert "'trimq check STORE'" in sentence


def test_a_file_of_another_user_says_who_has_asked_for_it() -> None:
    refused = PermissionError(13, "Permission denied", "s/config/topics.json")
    store = StoreError("the disk failed while opening s")
    store.__cause__ = refused
    sentences = explained(ExceptionGroup("", [refused, store])) or []
    assert sentences == [
        f"[Errno 13] Permission denied: 's/config/topics.json' ({user_ids()})",
        f"the disk failed while opening s ({user_ids()})",
    ]


@pytest.mark.parametrize("words", [["offsets", "report", "--help"], ["offsets", "report"]])
def test_the_offset_report_says_what_is_not_installed(words: list[str]) -> None:
    code = "import sys; sys.modules['pyarrow'] = None; from trimq.commands.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "needs pyarrow, which is not installed: pip install" in done.stderr
    assert "Traceback" not in done.stderr
