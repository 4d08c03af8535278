"""Hand-made frames, one case each: the real server and TriMQ must answer alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pytest

from compat_tests.driver import Outcome, new_run
from compat_tests.normalise import differences, forgive_java_exceptions, normalise
from compat_tests.server import Server
from compat_tests.wire.case import Case
from compat_tests.wire.cases.catalogue import all_cases
from compat_tests.wire.runner import play_all
from compat_tests.wire.stage import Place
from docs.differences import deliberate_cases

CASES: Final = all_cases()
DELIBERATE: Final = deliberate_cases()
SHOWN: Final = 20


@dataclass(frozen=True)
class Played:
    """What the selected cases saw on one server."""

    server: Server
    run: str
    seen: dict[str, dict[str, Any]]

    def outcome(self, name: str) -> Outcome:
        seen = self.seen[name]
        return Outcome(name, self.run, seen["outcome"], seen["error"])


def play(server: Server, cases: list[Case]) -> Played:
    run = new_run()
    place = Place(server.namesrv_addr, server.broker_addr, run)
    return Played(server, run, play_all(cases, place))


@pytest.fixture(scope="module")
def played(
    request: pytest.FixtureRequest, real: Server, ours: dict[str, Server]
) -> tuple[Played, list[Played]]:
    """Only the selected cases, on the real server and on each build of ours."""
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    selected = [p["wire"] for p in params if "wire" in p]
    return play(real, selected), [play(server, selected) for server in ours.values()]


@pytest.mark.parametrize("wire", CASES, ids=lambda case: case.name)
def test_same_answer(played: tuple[Played, list[Played]], wire: Case) -> None:
    real, ours = played
    for build in ours:
        check_same(real, build, wire)


def check_same(real: Played, ours: Played, wire: Case) -> None:
    theirs, mine = real.outcome(wire.name), ours.outcome(wire.name)
    assert theirs.error is None, f"on the real server: {theirs.error}"
    assert mine.error is None, f"on TriMQ: {mine.error}"
    found = list(
        differences(
            *forgive_java_exceptions(normalise(theirs, real.server), normalise(mine, ours.server))
        )
    )
    if wire.name in DELIBERATE and real.server is not ours.server:
        assert found, f"no deviation any more, take it from the list: {DELIBERATE[wire.name]}"
        return
    assert not found, "\n".join(found[:SHOWN])
