"""Hand-made gRPC calls: the official proxy before the real broker, and ours before TriMQ, answer and ask alike.

What the official one does is taken from compat_tests/records/proxy while the cases are as they were when it was
recorded; a tenth of them, another one every day, is played on it all the same. With --live, or when all is
recorded anew, the two cross over as well: ours before the real broker, the official one before TriMQ.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests.comparing.records import (
    NO_RECORD,
    Seen,
    Subject,
    assert_still,
    settings_text,
    with_imports,
)
from compat_tests.proxy.case import Case
from compat_tests.proxy.cases.catalogue import CASES
from compat_tests.proxy.differences import (
    answered_otherwise,
    asked_otherwise,
    that_count,
    without_java,
)
from compat_tests.proxy.playing import play_all
from compat_tests.proxy.recorder import Recorder
from compat_tests.scenarios.driver import new_run
from compat_tests.scenarios.stage import ITSELF, PLAIN, REAL, SETTINGS, Stage
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.our_proxy import OurProxy
from compat_tests.servers.ours import builds
from compat_tests.servers.proxy import Proxy
from docs.differences import deliberate_calls
from trimq.codec.codes import RequestCode

SERVERS: Final = "proxy_calls"
MODULE_OF: Final = {case.name: module for module, cases in CASES.items() for case in cases}
ALL: Final = [case for cases in CASES.values() for case in cases]
DELIBERATE: Final = deliberate_calls()
SHOWN: Final = 20
FOLDER: Final = Path(__file__).parent
# Ours before the real broker, and the official proxy before ours.
CROSSED: Final = "ours-before-real"
OFFICIAL: Final = "official-before-ours"


@cache
def subject_of(module: str) -> Subject:
    """The cases of a module are recorded together."""
    names = (f"cases/{module}.py", "playing.py", "masks.py", "differences.py")
    about = (settings_text(SETTINGS[SERVERS]),)
    return Subject(f"proxy/{module}", about, with_imports(FOLDER / name for name in names))


@dataclass
class Played:
    """What the selected cases have shown, by name of the case; of the live ones by side."""

    recorded: dict[str, Seen] = field(default_factory=dict)
    live: dict[str, dict[str, Seen]] = field(default_factory=dict)


def play(stage: Stage, side: str, cases: list[Case]) -> dict[str, Seen]:
    """What these cases show on a side of the servers, with a proxy of its own."""
    group = stage.group(SERVERS)
    is_real = side in (REAL, ITSELF, CROSSED)
    server = group.real if is_real else group.ours.get(side) or group.ours[PLAIN]
    home = Path(tempfile.mkdtemp(prefix=f"{side}-", dir=stage.folder))
    recorder = Recorder(server.namesrv_addr, server.broker_addr)
    proxy: Proxy | OurProxy
    if side in (REAL, ITSELF, OFFICIAL):
        proxy = Proxy(home, recorder.namesrv_addr)
    else:
        proxy = OurProxy(home, recorder.namesrv_addr, builds().get(side, ROOT))
    try:
        proxy.start()
        found = play_all(cases, proxy.grpc, recorder, server.broker_addr, new_run())
    finally:
        proxy.stop()
        recorder.close()
    return {name: seen_of(outcome) for name, outcome in found.items()}


def seen_of(outcome: Any) -> Seen:
    error = outcome.get("error")
    if error is not None:
        return Seen(outcome, error)
    # Ours looks by the clock whether its NameServers and its cluster are there; no call asks so.
    asked = [one for one in outcome["asked"] if one["code"] != RequestCode.GET_BROKER_CLUSTER_INFO]
    return Seen({**without_java(outcome), "asked": that_count(asked)})


def sides_of(stage: Stage, case: Case, recorded: Mapping[str, Seen]) -> list[str]:
    records = stage.records
    is_due = records.is_due(f"proxy: {case.name}")
    sides = [*(stage.group(SERVERS).ours or [ITSELF])]
    if not records.only and (case.name not in recorded or is_due):
        sides.append(REAL)
    # Every case is due only when all is played live.
    if records.lives and ITSELF not in sides:
        sides += [CROSSED, OFFICIAL]
    return sides


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest, stage: Stage) -> Played:
    """Only the selected cases, on all sides at a time: cases mostly wait."""
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    selected: dict[str, Case] = {p["asked"].name: p["asked"] for p in params if "asked" in p}
    found = Played()
    for module in dict.fromkeys(MODULE_OF[name] for name in selected):
        found.recorded |= stage.records.find(subject_of(module))
    chosen: dict[str, list[Case]] = {}
    for case in selected.values():
        for side in sides_of(stage, case, found.recorded):
            chosen.setdefault(side, []).append(case)
    # The real one does not play twice at a time.
    with ThreadPoolExecutor(1 if ITSELF in chosen else 2) as pool:
        sides = pool.map(lambda side: play(stage, side, chosen[side]), chosen)
        found.live = dict(zip(chosen, sides, strict=True))
    return found


@pytest.mark.parametrize("asked", ALL, ids=lambda case: case.name)
def test_same_answers_and_requests(played: Played, stage: Stage, asked: Case) -> None:
    """A case that differs is played once more on all sides, alone, as wire cases are."""
    recorded = played.recorded.get(asked.name)
    live = {side: seen[asked.name] for side, seen in played.live.items() if asked.name in seen}
    try:
        check(stage, asked, recorded, live)
    except AssertionError as crowded:
        stage.again.append((asked.name, str(crowded)))
        check(stage, asked, recorded, play_alone(stage, asked, live))


def play_alone(stage: Stage, case: Case, sides: Iterable[str]) -> dict[str, Seen]:
    wanted = dict.fromkeys([*([] if stage.records.only else [REAL]), *sides])
    return {side: play(stage, side, [case])[case.name] for side in wanted}


def check(stage: Stage, case: Case, recorded: Seen | None, seen: Mapping[str, Seen]) -> None:
    """AssertionError when the official proxy shows something else than its record, or ours does."""
    subject, live = subject_of(MODULE_OF[case.name]), seen.get(REAL)
    if live is not None:
        assert live.error is None, f"on the official proxy: {live.error}"
        if recorded is not None:
            assert_still(subject, recorded, live)
        stage.records.keep(subject, {case.name: live})
    real = live or recorded
    assert real is not None, NO_RECORD.format(name=subject.name)
    for side in sorted(seen.keys() - {REAL}):
        assert seen[side].error is None, f"{side}: {seen[side].error}"
        check_same(real.outcome, seen[side].outcome, case.name, side)


def check_same(real: Any, ours: Any, name: str, side: str) -> None:
    answers, requests = answered_otherwise(real, ours), asked_otherwise(real, ours)
    if name in DELIBERATE and side != ITSELF:
        # It may be the broker that is different.
        crossed = side in (CROSSED, OFFICIAL)
        assert crossed or answers or requests, f"no deviation any more, off the list: {name}"
        return
    assert not answers, f"{side} answers:\n" + "\n".join(answers[:SHOWN])
    assert not requests, f"{side} asks:\n" + "\n".join(requests[:SHOWN])
