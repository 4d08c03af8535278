"""Which parts the tests have, by the names that the Makefile uses: what each plays, needs, and took once."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from compat_tests.servers.versions import module_version
from tests.run.part import ROOT, Group, Part

# Of the official Java client of the 5.x line.
CLIENT: Final = module_version("client")
COMPILED: Final = ROOT / "build" / "compiled"
# Where most parts wait. With four the machine was never idle, but clients and Spark's workers were often too late.
LANES: Final = 3
# The longest comparisons take turns where a change may touch everything (tests/run/plan.py).
TURNS: Final = 4
# Hundreds of clients in one JVM: beside other scenarios they starve them, and these them.
CROWDED: Final = "many_connections"
REAL: Final = ("JDK 17", "Maven")
REAL_AND_GO: Final = (*REAL, "Go")


def _live(
    name: str,
    where: str,
    tests: str = "",
    *,
    named: str = "",
    busy: bool = False,
    turn: int | None = None,
    tools: tuple[str, ...] = REAL,
    seconds: int = 0,
) -> Part:
    """Folders of compat_tests, but for what other parts name; or some tests of a folder. `named`: as by -k."""
    files = [f"compat_tests/{where}/test_{one}.py" for one in tests.split()]
    folders = [f"compat_tests/{one}/" for one in where.split()]
    only = ("-k", named) if named else ()
    return Part(
        name,
        ("-p", "no:randomly", *(files or folders), *only),
        busy=busy,
        again=True,
        # Containers have limits, and what lies in memory counts in them.
        in_memory=name != "images",
        # What is installed anew sees to it itself.
        compiles_once=name not in ("installs", "wheels"),
        turn=turn,
        tools=tools,
        seconds=seconds,
    )


# Where a real RocketMQ, its clients and tools, or Spark take part. The long ones first, and none so long that the
# others wait for it in the end. Seconds: beside two others, on two cores.
_LIVE: Final = (
    _live("installs", "installs", busy=True, tools=(), seconds=450),
    _live("wheels", "wheels", busy=True, turn=3, tools=("C compiler",), seconds=450),
    _live("store-turns", "store", "pops pop_kills transactions blocks", turn=2, seconds=420),
    _live("store-aging", "store", "retention compaction timers", turn=3, seconds=420),
    _live("spark", "spark", turn=1, seconds=400),
    _live("clients", "scenarios", tools=REAL_AND_GO, seconds=380),
    _live("releases", "releases", seconds=420),
    _live("mqadmin", "mqadmin", turn=2, seconds=360),
    _live("spark-away", "spark", "streams outages losses kills", turn=1, seconds=350),
    _live(
        "clients-delayed",
        *("scenarios", "timers transactions restart"),
        turn=3,
        tools=REAL_AND_GO,
        seconds=340,
    ),
    _live(
        "clients-asking",
        *("scenarios", "filters reply trace"),
        turn=3,
        tools=REAL_AND_GO,
        seconds=330,
    ),
    _live("images", "images", busy=True, tools=REAL_AND_GO, seconds=400),
    _live("wire", "wire", busy=True, seconds=300),
    _live("java", "scenarios", "java", named=f"not {CROWDED}", busy=True, turn=0, seconds=300),
    _live("java-many", "scenarios", "java", named=CROWDED, busy=True, turn=2, seconds=200),
    _live("store-opened", "store", "interop index", turn=0, seconds=280),
    _live("proxy", "scenarios", "grpc grpc_go proxy_page", turn=2, tools=REAL_AND_GO, seconds=280),
    _live("proxy-ours", "scenarios", "grpc_ours", turn=3, tools=REAL_AND_GO, seconds=270),
    _live("proxy-own", "proxy", tools=REAL_AND_GO, seconds=280),
    _live("replication", "replication", turn=1, seconds=260),
    _live("replication-copies", "replication", "copies sync_master", turn=1, seconds=260),
    _live("store", "store", turn=0, seconds=240),
    _live("cluster", "cluster old", seconds=200),
    _live("elastic", "elastic", turn=2, seconds=200),
    _live("proxy-calls", "proxy", "calls", seconds=190),
    _live("order", "scenarios", "order", turn=0, tools=REAL_AND_GO, seconds=180),
    _live("service", "releases", "systemd", tools=("root", "debootstrap"), seconds=150),
    _live("chart", "releases", "chart chart_runs chart_containers", tools=("Go",), seconds=150),
    _live("reports", "reports", seconds=120),
    # Without a tool, the stories that need it are left out.
    _live("hand", "hand", tools=(), seconds=180),
    _live("filters", "filters drift", seconds=80),
)


def live_parts() -> list[Part]:
    """Each file in one of them: what one names, those that play the whole folder leave out."""
    named = {file for part in _LIVE for file in part.files if file.endswith(".py")} | {*_OPENED}
    return [
        replace(part, words=(*part.words, *(f"--ignore={file}" for file in _below(part, named))))
        for part in _LIVE
    ]


def _below(part: Part, files: Iterable[str]) -> list[str]:
    folders = tuple(file for file in part.files if not file.endswith(".py"))
    return sorted(file for file in files if folders and file.startswith(folders))


# Unit tests that start processes, or networks of several: of the proof.
PROCESSES: Final = (
    "tests/trimq/replication",
    "tests/trimq/serving",
    "tests/trimq/supervising",
    "tests/trimq/hand/processes",
    "tests/history",
    "tests/net",
    "tests/trimq/test_snippets.py",
    "tests/trimq/settings/test_extremes.py",
    "tests/run/test_parts.py",
    "tests/run/test_runs_in_one_clone.py",
)
_STORE: Final = ("tests/store", "tests/codec")
_SPARK: Final = ("tests/spark",)
_BROKER: Final = (
    "tests/broker",
    "tests/processors",
    "tests/popping",
    "tests/hostile",
    "tests/field",
)
# With compiled modules: the others see nothing new on the compiled build, and take most of the time.
_COMPILED: Final = (
    "tests/codec",
    "tests/native",
    "tests/popping",
    "tests/processors",
    "tests/remoting",
    # It counts the steps of patterns by a matcher of its own.
    "--ignore=tests/codec/test_linear_expressions.py",
)
_COMPILED_TOO: Final = ("tests/broker", "tests/replication", "tests/store")


def _unit(name: str, folder: Path) -> list[Part]:
    """All unit tests that stay in their process."""
    left_out = [f"--ignore={word}" for word in (*_STORE, *_SPARK, *_BROKER, *PROCESSES)]
    return [
        Part(f"{name}-store", _STORE, folder, busy=True, again=True),
        Part(f"{name}-broker", _BROKER, folder, busy=True, again=True),
        Part(name, ("tests/", *left_out), folder, again=True),
        Part(f"{name}-spark", _SPARK, folder, again=True, tools=("Spark",)),
    ]


def _compiled(parts: Iterable[Part]) -> list[Part]:
    """Of `build/compiled`, where something could be compiled."""
    why_not = "" if any(COMPILED.glob("codec/**/*.so")) else "nothing is compiled in build/compiled"
    return [replace(part, why_not=why_not, tools=(*part.tools, "C compiler")) for part in parts]


# Without a compiler it is a plain copy. What tests make do with, and what users run.
_QUICK: Final = Part("build", (sys.executable, "building/tree.py", "--quick"))
_BUILD: Final = Part("build", (sys.executable, "building/tree.py"))
_MAKE: Final = ("make", "--no-print-directory")
_LINT: Final = Part("lint", (*_MAKE, "lint"))
# What the real one plays no part in: not of the proof.
_OPENED: Final = ("compat_tests/store/test_recorded.py",)
_RECORDED: Final = Part(
    "recorded",
    (
        *("-p", "no:randomly", "compat_tests/wire", "compat_tests/mqadmin/test_recorded.py"),
        *(*_OPENED, "--recorded"),
    ),
    busy=True,
    again=True,
    in_memory=True,
)
_CALLS: Final = Part(
    "recorded-calls",
    ("compat_tests/proxy/test_calls.py", "--recorded"),
    again=True,
    in_memory=True,
)
_SMOKE: Final = Part(
    "smoke",
    (
        *("-p", "no:randomly", "--live"),
        "compat_tests/scenarios/test_java.py::test_same_outcome[java-4.9.8-main-send_sync]",
        f"compat_tests/scenarios/test_java.py::test_same_outcome[java-{CLIENT}-main-send_sync]",
        "compat_tests/scenarios/test_go.py::test_same_outcome[go-2.1.2-main-send_sync]",
    ),
    again=True,
    in_memory=True,
    tools=REAL_AND_GO,
)


# Some unit tests without what not every system has (tests/bare takes it away), but for those that replace just that,
# or see Trio loaded.
_BARE: Final = Part(
    "unit-bare",
    (
        "tests/remoting",
        "tests/trimq/serving/test_server.py",
        "tests/trimq/serving/test_kill_server.py",
        "tests/trimq/commands/test_cli.py",
        "tests/store/disk/test_system.py",
        "tests/store/reading/test_reading.py",
        "tests/store/appending",
        "tests/store/opening/test_recovery.py",
        "tests/store/opening/test_refused_stores.py",
        "tests/store/opening/test_believed_checkpoint.py",
        "tests/store/opening/test_kill.py",
        "tests/store/checking/test_check.py",
        "-k",
        "not (no_trio or hot_cold_and_blocking or without_nowait or kill_changes_no_queue_file or one_write_for_all)",
    ),
    path="tests/bare",
)

# The newest Python of the machine, and the oldest, but for the one of `make test`.
_PYTHONS: Final = (
    *(sys.executable, "-m", "tests.run.pythons"),
    *("--oldest-and-newest", "--others", "--brief"),
)


def _first() -> Group:
    return Group([_QUICK, *_unit("unit", ROOT), _LINT], beside=LANES, busy=LANES)


def _second() -> Group:
    """On what the first ones have built."""
    compiled = _compiled([Part("compiled", _COMPILED, COMPILED, busy=True, again=True)])
    return Group([*compiled, _RECORDED, _CALLS, _SMOKE], beside=LANES, busy=2)


def _proof() -> Group:
    processes = Part("processes", PROCESSES, again=True, seconds=540)
    compiled, smoke = _compiled(
        [
            Part("compiled-store", _COMPILED_TOO, COMPILED, busy=True, again=True),
            Part("bench-smoke", (*_MAKE, "BUILT=yes", "bench-smoke"), busy=True, tools=("Go",)),
        ]
    )
    pythons = Part("pythons", _PYTHONS, busy=True, turn=3, compiles_once=False)
    live = live_parts()
    # In the middle: at the end they would have the machine to themselves, and they wait half of their time.
    middle = len(live) // 2
    return Group(
        [*live[:middle], processes, compiled, pythons, *live[middle:], _BARE, smoke],
        beside=LANES,
        busy=1,
    )


def todays_turn() -> int | None:
    """Whose turn it is, of the parts that take turns: TRIMQ_TURN (a number, or all: None), or the day's."""
    told = os.environ.get("TRIMQ_TURN", "")
    if told == "all":
        return None
    if not told:
        return datetime.date.today().toordinal() % TURNS
    if told not in map(str, range(TURNS)):
        raise SystemExit(f"TRIMQ_TURN={told}: it is 0 to {TURNS - 1}, or all")
    return int(told)


# What a group is may depend on what the one before it has made.
GROUPS: Final[Mapping[str, Callable[[], Group]]] = {
    "build": lambda: Group([_BUILD]),
    "quick": lambda: Group([_QUICK]),
    "unit": lambda: Group(_unit("unit", ROOT)),
    "unit-bare": lambda: Group([_BARE]),
    "compiled": lambda: Group(_compiled(_unit("compiled", COMPILED))),
    "first": _first,
    "second": _second,
    "proof": _proof,
}
