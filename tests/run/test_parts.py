"""The parts of `make test`: nothing is left out, what fails is told, and nothing is left running."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.run import again, memory, parts, reads, report, table, tools
from tests.run.parts import GROUPS, ROOT, Group, Part

FILE = """
import time
import pytest

def test_good():
    pass

def test_other():
    if "{kind}" == "fails":
        raise AssertionError("this one fails")
    if "{kind}" == "skips":
        pytest.skip("there is no moon")
    if "{kind}" == "sleeps":
        time.sleep(600)
"""


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    monkeypatch.setattr(parts, "RESULTS", folder)
    # It stands there in a run of CI.
    monkeypatch.delenv(tools.VARIABLE, raising=False)
    return folder


def part(tmp_path: Path, kind: str) -> Part:
    folder = tmp_path / kind
    folder.mkdir()
    (folder / f"test_{kind}.py").write_text(FILE.format(kind=kind))
    return Part(kind, ("-p", "no:cacheprovider", f"./test_{kind}.py"), folder)


def outcomes_of(group: Group, results: Path) -> dict[str, report.Outcome]:
    found: list[report.Outcome] = []
    parts.run(group, results, found)
    return {one.name: one for one in found}


def test_parts_run_and_are_notified(tmp_path: Path, results: Path) -> None:
    kinds = ("passes", "fails", "skips")
    done = outcomes_of(Group([part(tmp_path, kind) for kind in kinds]), results)
    assert {name: one.code for name, one in done.items()} == {"passes": 0, "fails": 1, "skips": 0}
    text = report.text(list(done.values()))
    rows = {kind: re.search(rf"^{kind} .*$", text, re.MULTILINE) for kind in kinds}
    numbers = {kind: row[0].split()[3:6] for kind, row in rows.items() if row}
    assert numbers == {
        "passes": ["2", "0", "0"],
        "fails": ["1", "0", "1"],
        "skips": ["1", "1", "0"],
    }
    assert re.search(r"^ +1  there is no moon$", text, re.MULTILINE)
    assert "exit code 1" in text


def test_busy_parts_leave_a_core_to_those_that_wait() -> None:
    first, second, third = (Part(name, (), busy=True) for name in ("first", "second", "third"))
    idle = Part("idle", ())
    group = Group([], beside=4, busy=1)
    assert group.next([first, second, idle], []) is first
    assert group.next([second, idle], [first]) is idle
    assert group.next([second], [first, idle]) is None
    # Nothing else is left to do.
    assert group.next([second, third], [first]) is second
    assert group.next([third], [first, second]) is None
    assert group.next([idle], [idle] * 4) is None


def test_after_a_group_that_failed_no_other_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results: Path
) -> None:
    groups = {kind: Group([part(tmp_path, kind)]) for kind in ("fails", "passes")}
    monkeypatch.setattr(parts, "GROUPS", {kind: lambda g=g: g for kind, g in groups.items()})
    assert parts.main(["fails", "passes"]) == 1
    assert (results / "latest/fails.xml").exists()
    assert not (results / "latest/passes.xml").exists()


STARVED = """
from pathlib import Path

def test_starved():
    seen = Path("seen")
    again = seen.exists()
    seen.touch()
    assert again

def test_broken():
    assert "{kind}" != "broken"
"""


def compared(tmp_path: Path, kind: str, repeated: bool = True) -> Part:
    """A part with a test that passes the second time, and one that does so when it is not `broken`."""
    folder = tmp_path / kind
    folder.mkdir()
    (folder / f"test_{kind}.py").write_text(STARVED.format(kind=kind))
    (folder / "pytest.ini").write_text("[pytest]\n")
    words = ("-p", "no:cacheprovider", f"./test_{kind}.py")
    return Part(kind, words, folder, again=repeated, in_memory=True)


@pytest.mark.parametrize(
    ("kind", "repeated", "code", "count"),
    [("starved", True, 0, 1), ("broken", True, 1, 2), ("unit", False, 1, 0)],
)
def test_what_failed_beside_others_is_played_again_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    results: Path,
    capfd: pytest.CaptureFixture[str],
    kind: str,
    repeated: bool,
    code: int,
    count: int,
) -> None:
    one = compared(tmp_path, kind, repeated)
    monkeypatch.setattr(parts, "GROUPS", {kind: lambda: Group([one])})
    assert parts.main([kind]) == code
    said = capfd.readouterr().out
    # The first failure stays in the output.
    assert f"failed in {kind}: test_{kind}.py::test_starved" in said
    assert (f"passed  test_{kind}.py::test_starved" in said) == repeated
    assert (f"FAILED  test_{kind}.py::test_broken" in said) == (kind == "broken")
    assert f"played again, alone: {count}" in said
    listed = (results / "latest" / parts.AGAIN).read_text().splitlines()
    assert listed == ([f"test_{kind}.py::test_starved"] if repeated else [])


def test_many_failures_are_not_played_again(tmp_path: Path) -> None:
    cases = "".join(
        f'<testcase classname="a" name="t{n}" time="1"><failure>no</failure></testcase>'
        for n in range(4)
    )
    xml = tmp_path / "a.xml"
    xml.write_text(f"<testsuites>{cases}</testsuites>")
    assert again.chosen([report.Outcome("a", 1, 1.0, 1.0, xml)], {"a"}) == {}
    xml.write_text(f"<testsuites>{cases.replace('t3', 't2')}</testsuites>")
    assert again.chosen([report.Outcome("a", 1, 1.0, 1.0, xml)], {"a"}) == {
        "a": ("a.py::t0", "a.py::t1", "a.py::t2")
    }
    # Interrupted, or an error of pytest's own.
    assert again.chosen([report.Outcome("a", 2, 1.0, 1.0, xml)], {"a"}) == {}


def is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc").exists(), reason="it looks at processes as Linux shows them")
def test_ctrl_c_ends_what_was_started(tmp_path: Path) -> None:
    sleeper = part(tmp_path, "sleeps")
    source = (
        "import os, sys; from pathlib import Path; from tests.run import parts\n"
        f"part = parts.Part('sleeps', {sleeper.words!r}, Path({str(sleeper.folder)!r}))\n"
        "for number in (2, 15): parts.signal.signal(number, parts.interrupted)\n"
        "begin = parts.Running.__init__\n"
        "def told(self, part, results): begin(self, part, results); print(self.pid, flush=True)\n"
        "parts.Running.__init__ = told\n"
        f"parts.run(parts.Group([part]), Path({str(tmp_path)!r}), [])\n"
    )
    command = [sys.executable, "-c", source]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as runner:
        assert runner.stdout is not None
        pid = int(runner.stdout.readline())
        log = tmp_path / "sleeps.txt"
        deadline = time.monotonic() + 60
        while "collected" not in log.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        runner.send_signal(signal.SIGINT)
        runner.wait(60)
    assert runner.returncode != 0
    assert not is_running(pid)
    assert os.getpgid(0) != pid


def test_all_tests_are_in_parts() -> None:
    """Whoever adds a folder to compat_tests adds it to a part."""
    live = table.live_parts()
    named = {Path(file).parts[1] for one in live for file in one.files}
    folders = {path.parent.name for path in (ROOT / "compat_tests").glob("*/test_*.py")}
    assert folders == named
    everything = {
        str(path.relative_to(ROOT)) for path in (ROOT / "compat_tests").rglob("test_*.py")
    }
    (recorded,) = (one for one in GROUPS["second"]().parts if one.name == "recorded")
    played = [file for one in live for file in reads.all_tests(one)]
    # What plays in make test alone, since the real one has no part in it.
    played += reads.all_tests(recorded) - set(played)
    # Where several parts share a file, each names other tests of it.
    assert set(played) == everything
    assert len(played) == len(everything) + 1


def test_each_unit_test_is_in_one_part() -> None:
    """Those that start processes are of the proof."""
    processes = next(one for one in GROUPS["proof"]().parts if one.name == "processes")
    played = [file for one in (*GROUPS["unit"]().parts, processes) for file in reads.all_tests(one)]
    everything = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert set(played) == everything
    assert len(played) == len(everything)


def test_stores_are_in_memory_where_that_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results: Path
) -> None:
    monkeypatch.setattr(memory, "SHARED", tmp_path / "shared")
    assert memory.folder("any") is None
    memory.SHARED.mkdir()
    monkeypatch.setattr(memory, "NEEDED", 1 << 60)
    assert memory.folder("any") is None
    monkeypatch.setattr(memory, "NEEDED", 1)
    left = memory.SHARED / f"{memory.PREFIX}{2**30}"
    left.mkdir()
    others = memory.SHARED / f"{memory.PREFIX}1"
    others.mkdir()
    good, bad = compared(tmp_path, "good"), compared(tmp_path, "bad")
    for one, ends in ((good, "True"), (bad, "False")):
        (one.folder / f"test_{one.name}.py").write_text(
            f"def test_it(tmp_path):\n    (tmp_path / 'store').touch()\n    assert {ends}\n"
        )
    done = outcomes_of(Group([good, bad]), results)
    assert {name: one.code for name, one in done.items()} == {"good": 0, "bad": 1}
    own = memory.SHARED / f"{memory.PREFIX}{os.getpid()}"
    if sys.platform == "linux":
        # Its stores are there to be looked at.
        assert (own / "bad/test_it0/store").exists()
        assert not (own / "good").exists()
    memory.clear_after_others()
    assert not left.exists()
    assert others.exists()
    assert own.exists() == (sys.platform == "linux")


def test_a_part_that_lacks_a_tool_is_left_and_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    results: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    lacking = tools.Tool("moon", lambda: False, "wait for it")
    monkeypatch.setattr(tools, "TOOLS", {"moon": lacking})
    passing, failing = part(tmp_path, "passes"), part(tmp_path, "fails")
    group = Group(
        [
            passing,
            replace(failing, tools=("moon",)),
            replace(failing, name="other", why_not="not today"),
        ]
    )
    monkeypatch.setattr(parts, "GROUPS", {"both": lambda: group})
    assert parts.main(["both"]) == 0
    said = capfd.readouterr().out
    assert re.search(r"^ +fails +no moon here: wait for it$", said, re.MULTILINE)
    assert re.search(r"^ +other +not today$", said, re.MULTILINE)
    monkeypatch.setenv(tools.VARIABLE, "all")
    with pytest.raises(SystemExit):
        parts.main(["both"])
    assert "moon is missing: wait for it" in capfd.readouterr().err
    monkeypatch.setenv(tools.VARIABLE, "sun")
    with pytest.raises(SystemExit, match="TRIMQ_REQUIRE=sun: it is 'all', or of moon"):
        parts.main(["both"])


def test_each_tool_that_is_here_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A JDK is one of the right age; and nothing is found on a path without programs."""
    for name, says, is_here in (
        ("new", "javac 21.0.1", True),
        ("right", "javac 17.0.2", True),
        ("old", "javac 1.8.0_292", False),
        ("broken", "no", False),
    ):
        folder = tmp_path / name
        folder.mkdir()
        for program in ("java", "javac", "go", "mvn", "cc", "ip", "tc", "nft"):
            (folder / program).write_text(f"#!/bin/sh\necho {says}\n")
            (folder / program).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.delenv("CC", raising=False)
        assert tools.TOOLS["JDK 17"].is_here() == is_here
        assert not tools.missing(["Go", "Maven", "networks"])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TRIMQ_CACHE", str(tmp_path))
    names = ("JDK 17", "Maven", "Go", "C compiler", "networks")
    assert [tool.name for tool in tools.missing(names)] == list(names)
