"""Which parts `make test` has, by the names that the Makefile uses."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.run.part import ROOT, Group, Part

COMPILED: Final = ROOT / "build" / "compiled"
# Where most parts wait. With four the machine was never idle, but clients and Spark's workers were often too late.
LANES: Final = 3
# The longest comparisons take turns.
TURNS: Final = 4
# Hundreds of clients in one JVM: beside other scenarios they starve them, and these them.
CROWDED: Final = "many_connections"


def _compat(
    name: str,
    *where: str,
    but: Iterable[Part] = (),
    busy: bool = False,
    turn: int | None = None,
    named: str = "",
) -> Part:
    """Files and folders of compat_tests, without what is in other parts; of them the tests that are `named` (-k)."""
    left_out = [f"--ignore={file}" for part in but for file in part.files]
    only = ("-k", named) if named else ()
    words = ("-p", "no:randomly", *(f"compat_tests/{w}" for w in where), *left_out, *only)
    return Part(name, words, busy=busy, again=True, in_memory=True, turn=turn)


def _files(folder: str, *names: str) -> list[str]:
    return [f"{folder}/test_{name}.py" for name in names]


def _unit(name: str, folder: Path) -> list[Part]:
    """All unit tests; the part that mostly waits begins first."""
    store = ("tests/store", "tests/spark", "tests/codec")
    broker = ("tests/broker", "tests/processors", "tests/popping", "tests/hostile", "tests/field")
    rest = ("tests/", *(f"--ignore={word}" for word in (*store, *broker)))
    return [
        Part(name, rest, folder, again=True),
        Part(f"{name}-broker", broker, folder, busy=True, again=True),
        Part(f"{name}-store", store, folder, busy=True, again=True),
    ]


def _compat_parts() -> list[Part]:
    """The long ones first, and none so long that the others wait for it in the end.

    What costs most takes turns: `make test` plays a quarter of those parts today, and in four days all.
    """
    java = _compat("java", "scenarios/test_java.py", busy=True, turn=0, named=f"not {CROWDED}")
    order = _compat("order", "scenarios/test_order.py", turn=0)
    proxy = _compat("proxy", *_files("scenarios", "grpc", "grpc_go", "proxy_page"), turn=2)
    delayed = _compat(
        "clients-delayed", *_files("scenarios", "timers", "transactions", "restart"), turn=3
    )
    asking = _compat("clients-asking", *_files("scenarios", "filters", "reply", "trace"), turn=3)
    opened = _compat("store-opened", *_files("store", "interop", "index"), turn=0)
    aging = _compat("store-aging", *_files("store", "retention", "compaction", "timers"), turn=3)
    turns = _compat(
        "store-turns", *_files("store", "pops", "pop_kills", "transactions", "blocks"), turn=2
    )
    away = _compat("spark-away", *_files("spark", "streams", "outages", "losses", "kills"), turn=1)
    copies = _compat("replication-copies", *_files("replication", "copies", "sync_master"), turn=1)
    return [
        turns,
        aging,
        _compat("spark", "spark/", but=[away], turn=1),
        _compat("clients", "scenarios/", but=[java, order, proxy, delayed, asking]),
        _compat("mqadmin", "mqadmin/", turn=2),
        away,
        delayed,
        asking,
        _compat("wire", "wire/", busy=True),
        java,
        _compat("java-many", "scenarios/test_java.py", busy=True, turn=2, named=CROWDED),
        opened,
        proxy,
        _compat("replication", "replication/", but=[copies], turn=1),
        copies,
        _compat("store", "store/", but=[opened, aging, turns], turn=0),
        _compat("cluster", "cluster/", "old/"),
        _compat("elastic", "elastic/", turn=2),
        order,
        replace(_compat("installs", "installs/", busy=True), compiles_once=False),
        _compat("reports", "reports/"),
        _compat("filters", "filters/"),
    ]


_MAKE: Final = ("make", "--no-print-directory", "BUILT=yes")


def _is_compiled() -> bool:
    return any(COMPILED.glob("codec/**/*.so"))


def _compiled_parts() -> list[Part]:
    """None where nothing could be compiled."""
    return _unit("compiled", COMPILED) if _is_compiled() else []


def _compiled_briefly() -> list[Part]:
    """The tests of the packages with compiled modules; the others see nothing new there, and take most of the time."""
    packages = (
        "broker",
        "codec",
        "native",
        "popping",
        "processors",
        "remoting",
        "replication",
        "store",
    )
    words = [f"tests/{package}" for package in packages]
    return [Part("compiled", words, COMPILED, busy=True, again=True)] if _is_compiled() else []


def _first() -> Group:
    build = Part("build", ("make", "--no-print-directory", "build/compiled/.built"))
    bare = Part("unit-bare", (*_MAKE, "unit-bare"))
    lint = Part("lint", (*_MAKE, "lint"))
    return Group([lint, *_unit("unit", ROOT), build, bare], beside=LANES, busy=LANES)


def _second() -> Group:
    smoke = Part("bench-smoke", (*_MAKE, "bench-smoke"), busy=True)
    compat = [part for part in _compat_parts() if _is_played(part)]
    # In the middle: at the end they would have the machine to themselves, and they wait half of their time.
    middle = len(compat) // 2
    parts = [*compat[:middle], *_compiled_briefly(), *compat[middle:], smoke]
    return Group(parts, beside=LANES, busy=1)


def todays_turn() -> int | None:
    """Which turn of the live parts `make test` plays: TRIMQ_TURN (a number, or all, which is None), or the day's."""
    told = os.environ.get("TRIMQ_TURN", "")
    if told == "all":
        return None
    if not told:
        return datetime.date.today().toordinal() % TURNS
    if told not in map(str, range(TURNS)):
        raise SystemExit(f"TRIMQ_TURN={told}: it is 0 to {TURNS - 1}, or all")
    return int(told)


def _is_played(part: Part) -> bool:
    turn = todays_turn()
    return turn is None or part.turn is None or part.turn == turn


def not_played(names: Iterable[str]) -> list[str]:
    """The parts that are left to other days, for whoever runs these groups."""
    return [one.name for one in _compat_parts() if "second" in names and not _is_played(one)]


# By the names that the Makefile uses: what a group is may depend on what the one before it has made.
GROUPS: Final[Mapping[str, Callable[[], Group]]] = {
    "unit": lambda: Group(_unit("unit", ROOT)),
    "compiled": lambda: Group(_compiled_parts()),
    "compat": lambda: Group(_compat_parts(), beside=LANES, busy=1),
    "first": _first,
    "second": _second,
}
