"""RocketMQ 5's own clients behind our proxy: they see what they have seen behind the official one.

Our proxy stands before TriMQ, and, when all is played live, before the real broker as well. What it is compared with is
recorded by test_grpc.py and test_grpc_go.py.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pytest

from compat_tests.comparing.records import NO_RECORD, Records, Seen
from compat_tests.scenarios import test_grpc, test_grpc_go
from compat_tests.scenarios.batches import Case
from compat_tests.scenarios.driver import play
from compat_tests.scenarios.recorded import subject
from compat_tests.scenarios.stage import REAL, SETTINGS, Stage, assert_same

OFFICIAL: Final = [*test_grpc.CASES, *test_grpc_go.CASES]
# By the driver's name.
BEHIND_OURS: Final = {
    test_grpc.CLIENT.name: replace(test_grpc.CLIENT, whose=("--ours",)),
    test_grpc_go.CLIENT.name: replace(test_grpc_go.CLIENT, whose=("--ours",)),
}


@dataclass
class Behind:
    """What drivers have seen behind our proxy, by driver, batch and side: each batch is played once, on all sides."""

    stage: Stage
    selected: list[Case]
    seen: dict[tuple[str, str], dict[str, dict[str, Seen]]] = field(default_factory=dict)
    # Also where everything is recorded anew, what was recorded counts.
    records: Records = field(default_factory=lambda: Records(live=False, writing=False))

    @property
    def sides(self) -> list[str]:
        return [*self.stage.group("proxy").ours, *([REAL] if self.stage.records.lives else [])]

    def official(self, case: Case) -> Seen:
        named = subject(case.driver, case.batch, SETTINGS[case.batch.servers])
        recorded = self.records.find(named).get(case.scenario)
        assert recorded is not None, NO_RECORD.format(name=named.name)
        return recorded

    def of(self, case: Case, side: str) -> Seen:
        key = case.driver.name, case.batch.name
        if key not in self.seen:
            names = [
                one.scenario for one in self.selected if (one.driver.name, one.batch.name) == key
            ]
            with ThreadPoolExecutor(len(self.sides)) as pool:
                played = pool.map(lambda side: self.play(case, side, names), self.sides)
                self.seen[key] = dict(zip(self.sides, played, strict=True))
        return self.seen[key][side][case.scenario]

    def play(self, case: Case, side: str, names: list[str]) -> dict[str, Seen]:
        server = self.stage.group(case.batch.servers).side(side)
        folder = Path(tempfile.mkdtemp(prefix="behind-ours-", dir=self.stage.folder))
        played = play(
            BEHIND_OURS[case.driver.name],
            server,
            names,
            folder,
            how=case.batch.how,
            timeout=case.batch.limit,
        )
        return {name: Seen.of(outcome, server) for name, outcome in played.items()}


@pytest.fixture(scope="module")
def behind(request: pytest.FixtureRequest, stage: Stage) -> Behind:
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    return Behind(stage, [p["official"] for p in params if "official" in p])


@pytest.mark.parametrize("official", OFFICIAL, ids=str)
def test_same_outcome_behind_ours(behind: Behind, official: Case) -> None:
    """One that differs is played once more, alone, as in `Stage.check`."""
    if not behind.stage.group("proxy").ours:
        pytest.skip("the real server is compared with itself: nothing of ours takes part")
    expected = behind.official(official)
    for side in behind.sides:
        try:
            assert_same(expected, behind.of(official, side))
        except AssertionError as crowded:
            behind.stage.again.append((f"{official} behind ours", f"{side}: {crowded}"))
            alone = behind.play(official, side, [official.scenario])
            assert_same(expected, alone[official.scenario])
