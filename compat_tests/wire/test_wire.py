"""Hand-made frames, one case each: the real server and TriMQ must answer alike.

What the real one answers is taken from compat_tests/records/wire while a case and everything that it is made of are
as they were when it was recorded; a tenth of all cases, another one every day, is played on it all the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from compat_tests.comparing.java_exceptions import forgive_java_exceptions, without_java_exceptions
from compat_tests.comparing.normalise import differences
from compat_tests.comparing.records import (
    NO_RECORD,
    Records,
    Seen,
    Subject,
    assert_still,
    settings_text,
    with_imports,
)
from compat_tests.comparing.selection import is_for_the_plain_build
from compat_tests.scenarios.driver import Outcome, new_run
from compat_tests.scenarios.stage import (
    COMPILED,
    ITSELF,
    PLAIN,
    REAL,
    SETTINGS,
    Group,
    Stage,
)
from compat_tests.servers.server import Server
from compat_tests.wire import asks
from compat_tests.wire.case import Case
from compat_tests.wire.cases.catalogue import cases_by_module, servers_by_module
from compat_tests.wire.link import Link
from compat_tests.wire.runner import play_all
from compat_tests.wire.stage import Place
from docs.differences import deliberate_cases

MODULES: Final = cases_by_module()
SERVERS: Final = servers_by_module()
MODULE_OF: Final = {case.name: module for module, cases in MODULES.items() for case in cases}
CASES: Final = [case for cases in MODULES.values() for case in cases]
DELIBERATE: Final = deliberate_cases()
SHOWN: Final = 20
WIRE: Final = Path(__file__).parent


@cache
def subject_of(module: str) -> Subject:
    """The cases of a module are recorded together."""
    path = Path(module)
    comparing = (
        WIRE.parent / "comparing" / f"{name}.py" for name in ("normalise", "java_exceptions")
    )
    decide = (path, WIRE / "runner.py", *comparing)
    settings = settings_text(SETTINGS[SERVERS[module]])
    return Subject(f"wire/{path.stem}", (settings,), with_imports(decide))


@dataclass
class Played:
    """What the selected cases have shown, by name of the case."""

    recorded: dict[str, Seen] = field(default_factory=dict)
    # By side, the real one and each build.
    live: dict[str, dict[str, Seen]] = field(default_factory=dict)


def begin_with_a_half(server: Server) -> None:
    """A case takes up the first record of the log: which of those that play at a time wrote that would be chance."""
    link = Link(server.broker_addr)
    half = asks.properties(UNIQ_KEY="First", TRAN_MSG="true", PGROUP="First")
    born = int(time.time() * 1000)
    topic, group = "BenchmarkTest", "First"
    fields = {"topic": topic, "producerGroup": group, "properties": half, "bornTimestamp": born}
    link.ask(asks.send(b"first", queueId=0, **fields))
    link.close()


def play(server: Server, cases: list[Case]) -> dict[str, Seen]:
    begin_with_a_half(server)
    run = new_run()
    place = Place(server.namesrv_addr, server.broker_addr, run)
    outcomes = {
        name: Outcome(name, run, seen["outcome"], seen["error"])
        for name, seen in play_all(cases, place).items()
    }
    return {name: Seen.of(outcome, server) for name, outcome in outcomes.items()}


def wants(
    side: str, group: Group, records: Records, recorded: dict[str, Seen]
) -> Callable[[Case], bool]:
    """Which cases are played on a side of the servers."""
    is_due = records.is_due
    if side == REAL:
        return lambda case: not records.only and (case.name not in recorded or is_due(case.name))
    if side == PLAIN and COMPILED in group.ours:
        return lambda case: is_due(case.name) or is_for_the_plain_build(case.name)
    return lambda case: True


def play_group(
    stage: Stage, group: Group, selected: list[Case], recorded: dict[str, Seen]
) -> dict[str, dict[str, Seen]]:
    """What these cases show, by side of the servers."""

    def play_on(side: str) -> dict[str, Seen]:
        wanted = wants(side, group, stage.records, recorded)
        chosen = [case for case in selected if wanted(case)]
        return play(group.side(side), chosen) if chosen else {}

    sides = [REAL, *(group.ours or [ITSELF])]
    # On one server they would see each other.
    with ThreadPoolExecutor(1 if ITSELF in sides else len(sides)) as pool:
        return dict(zip(sides, pool.map(play_on, sides), strict=True))


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest, stage: Stage) -> Played:
    """Only the selected cases, on all sides at a time: cases mostly wait."""
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    selected: list[Case] = [p["wire"] for p in params if "wire" in p]
    found = Played()
    for module in dict.fromkeys(MODULE_OF[case.name] for case in selected):
        found.recorded |= stage.records.find(subject_of(module))
    for servers in dict.fromkeys(SERVERS[MODULE_OF[case.name]] for case in selected):
        chosen = [case for case in selected if SERVERS[MODULE_OF[case.name]] == servers]
        for side, seen in play_group(stage, stage.group(servers), chosen, found.recorded).items():
            found.live.setdefault(side, {}).update(seen)
    found.live[REAL] = {name: as_compared(seen) for name, seen in found.live[REAL].items()}
    return found


@pytest.mark.parametrize("wire", CASES, ids=lambda case: case.name)
def test_same_answer(played: Played, stage: Stage, wire: Case) -> None:
    """A case that differs is played once more on all sides, alone, as scenarios are (`Stage.check`)."""
    recorded = played.recorded.get(wire.name)
    live = {side: seen[wire.name] for side, seen in played.live.items() if wire.name in seen}
    try:
        check(stage, wire, recorded, live)
    except AssertionError as crowded:
        stage.again.append((wire.name, str(crowded)))
        check(stage, wire, recorded, play_alone(stage, wire, live))


def play_alone(stage: Stage, wire: Case, sides: Iterable[str]) -> dict[str, Seen]:
    """What the case shows on the real server and on these sides when nothing else is played there."""
    group = stage.group(SERVERS[MODULE_OF[wire.name]])
    played = dict.fromkeys([*([] if stage.records.only else [REAL]), *sides])
    found = {side: play(group.side(side), [wire])[wire.name] for side in played}
    if REAL in found:
        found[REAL] = as_compared(found[REAL])
    return found


def as_compared(seen: Seen) -> Seen:
    return replace(seen, outcome=without_java_exceptions(seen.outcome))


def check(stage: Stage, wire: Case, recorded: Seen | None, seen: Mapping[str, Seen]) -> None:
    """AssertionError when the real server shows something else than its record, or a build of ours does."""
    subject, live = subject_of(MODULE_OF[wire.name]), seen.get(REAL)
    if live is not None:
        assert live.error is None, f"on the real server: {live.error}"
        if recorded is not None:
            assert_still(subject, recorded, live)
        stage.records.keep(subject, {wire.name: live})
    real = live or recorded
    assert real is not None, NO_RECORD.format(name=subject.name)
    for side in sorted(seen.keys() - {REAL}):
        newer = stage.records.newer(subject, wire.name) if side != ITSELF else None
        check_same(newer or real, seen[side], wire, side)


def check_same(real: Seen, ours: Seen, wire: Case, side: str) -> None:
    assert ours.error is None, f"on TriMQ: {ours.error}"
    found = list(differences(*forgive_java_exceptions(real.outcome, ours.outcome)))
    if wire.name in DELIBERATE and side != ITSELF:
        assert found, f"no deviation any more, take it from the list: {DELIBERATE[wire.name]}"
        return
    assert not found, f"{side}:\n" + "\n".join(found[:SHOWN])
