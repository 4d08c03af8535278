"""Counting the instructions of receives: what is counted, how that is read, and what is said of two trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from bench import hand, instructions
from bench.instructions import Uncounted, counted, of_parts, table
from bench.loads import receives
from bench.pages import report
from bench.servers.trees import Against

NAMES = list(receives.LOADS)


def test_each_load_lies_between_two_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(receives, "WARM_UP", 1)
    monkeypatch.setattr("gc.freeze", lambda: None)
    monkeypatch.setattr("os.getpriority", lambda *_: seen.append("mark"))
    for name, load in receives.LOADS.items():

        async def noted(one: receives.Receives, name: str = name, load: Any = load) -> None:
            seen.append(name)
            await load(one)

        monkeypatch.setitem(receives.LOADS, name, noted)
    with receives.opened(tmp_path) as one:
        trio.run(receives.count, one, 2)
    # One to warm up, and two that are counted.
    assert seen == [word for name in NAMES for word in (name, "mark", name, name, "mark")]


def _parts(folder: Path, totals: list[int]) -> None:
    for number, total in enumerate(totals, 1):
        (folder / f"out.{number}").write_text(f"version: 1\nsummary: {total}\n\ntotals: {total}\n")


def test_every_second_part_counts(tmp_path: Path) -> None:
    _parts(tmp_path, [9, 100, 9, 200])
    assert of_parts(tmp_path, ["send", "pull"], 10) == {"send": 10, "pull": 20}


def test_parts_that_are_not_there(tmp_path: Path) -> None:
    _parts(tmp_path, [9, 100, 9])
    with pytest.raises(Uncounted, match="3 parts for 2 loads"):
        of_parts(tmp_path, ["send", "pull"], 10)
    (tmp_path / "out.4").write_text("events: Ir\n")
    with pytest.raises(Uncounted, match="no total for pull"):
        of_parts(tmp_path, ["send", "pull"], 10)


def test_without_valgrind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Uncounted, match="valgrind is not installed"):
        counted(tmp_path, 1)


@pytest.mark.parametrize(
    ("held", "says"),
    [(502_000, "+0.40%"), (497_000, "-0.60%")],
)
def test_how_far_two_trees_are_apart(held: float, says: str) -> None:
    that = {"send": 100_000.0, "held": 500_000.0}
    found = table(that, {"send": 100_100.0, "held": held})
    assert "| one send | 100,000 | 100,100 | +0.10% |" in found
    assert says in found
    assert found.endswith("met." if says == "+0.40%" else "missed.")


def test_every_load_has_a_name_on_the_page() -> None:
    assert list(instructions._SHOWN) == NAMES


def test_the_page_names_the_command(tmp_path: Path) -> None:
    found = Against(tmp_path, "1111111111", "2222222222")
    words = ["--against", "/a/b", "--keep"]
    said = report.command_line(words, found, "python -m bench.instructions")
    assert said == "python -m bench.instructions --against 2222222222 --keep"


def test_how_long_a_hand_takes() -> None:
    found = hand.table({"restore": [float(one) for one in range(1, 11)]})
    assert "| restore | 6 | 10 |" in found
