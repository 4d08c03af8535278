"""A store of the newest tree opens in the release before, goes on there, and comes back; under load, stopped or killed.

Nothing is lost, every question has its answer of before, groups stand where they stood, and what was to be delivered
is delivered once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.comparing.normalise import differences
from compat_tests.releases.house import BEFORE, NEWEST, House
from compat_tests.releases.kinds import KINDS, Kind
from compat_tests.servers.versions import USUAL
from compat_tests.store.recorded import waiting
from compat_tests.store.recorded.asking import Asking, Entry, answer
from compat_tests.store.recorded.author import Author
from compat_tests.store.recorded.later import arrived
from compat_tests.store.recorded.record import load
from compat_tests.wire.stage import Stage

SHOWN = 10
OF_THE_LOAD = ("indexLastUpdatePhyoffset", "indexLastUpdateTimestamp")
# Longer than it takes to write the rest, to stop the server, and to start another.
DUE_SECONDS = 20

ends = pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])


@pytest.fixture
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path, request.param)
    yield house
    house.close()


def looked(author: Author, kind: Kind) -> list[Entry]:
    asking = Asking(author.stage)
    kind.ask(author, asking)
    return asking.entries


def as_ever(answered: dict[str, Any]) -> dict[str, Any]:
    """Without how far the index reaches, which the load moves."""
    ext = {key: text for key, text in answered.get("ext", {}).items() if key not in OF_THE_LOAD}
    return {**answered, "ext": ext}


def assert_as_before(stage: Stage, entries: list[Entry]) -> None:
    found = []
    for entry in entries:
        asked = f"{entry['code']} {entry['ext']}"
        now = answer(stage, entry)
        lines = differences(as_ever(entry["answer"]), as_ever(now))
        found += [f"{asked}: {line}" for line in lines]
    assert found == [], "\n".join([f"{len(found)} differences", *found[:SHOWN]])


@ends
@pytest.mark.parametrize(
    ("kind", "house"),
    [(kind, kind.settings) for kind in KINDS],
    indirect=["house"],
    ids=[kind.name for kind in KINDS],
)
def test_there_and_back(kind: Kind, house: House, kill: bool) -> None:
    author = Author(house.start(NEWEST))
    kind.write(author, house.server.namesrv_addr)
    entries = looked(author, kind)
    assert entries
    for turn, which in enumerate((BEFORE, NEWEST)):
        house.end(kill)
        author.stage = house.start(which)
        assert_as_before(author.stage, entries)
        kind.go_on(author, turn)
        entries = looked(author, kind)
    house.end(kill)
    assert_as_before(house.start(BEFORE), entries)
    house.end(kill=False)
    print(
        f"{kind.name}: {house.load.count()} messages and {house.load.told.consumed} reads beside it"
    )


@ends
@pytest.mark.parametrize(
    ("first", "second"), [(NEWEST, BEFORE), (BEFORE, NEWEST)], ids=["back", "up"]
)
@pytest.mark.parametrize("house", [{}], indirect=True, ids=["waiting"])
def test_what_waits_is_delivered_by_the_other(
    house: House, first: str, second: str, kill: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delays, timers, what was popped and not acknowledged, half messages that nobody has decided about."""
    monkeypatch.setattr(waiting, "DUE_SECONDS", DUE_SECONDS)
    levels = {"messageDelayLevel": f"1s {DUE_SECONDS}s 3650d"}
    house.set(waiting.WAITING | levels)
    author = Author(house.start(first))
    waiting.write_waiting(author)
    house.end(kill)
    stage = house.start(second)
    asking = Asking(stage)
    waiting.ask_waiting(author, asking)
    assert asking.entries[0]["answer"]["ext"] == {"offset": "1"}
    expected: list[Any] = load(f"{USUAL}/waiting")["arrivals"]
    came = arrived(stage, [(entry, len(entry["found"])) for entry in expected])
    found = list(differences([entry["found"] for entry in expected], came))
    assert found == [], "\n".join(found[:SHOWN])
