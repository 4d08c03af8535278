"""A check of a directory put together from the real broker's bytes: batch queues, an extension."""

from __future__ import annotations

from pathlib import Path

from trimq.store.checking.check import StoreCheck
from trimq.store.inspecting.inspection import inspect
from trimq.store.inspecting.items import Item, Selection

GOLDEN = Path(__file__).parents[2] / "vectors" / "queues"
BATCH_FILE = 8 * 46
EXTENSION_FILE = 70


def put(path: Path, golden: str, size: int) -> None:
    """The golden files lack the zeros at their end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((GOLDEN / golden).read_bytes().ljust(size, b"\0"))


def assemble(root: Path) -> None:
    put(root / "commitlog" / f"{0:020d}", "commitlog.bin", 64 * 1024)
    put(root / "consumequeue" / "GoldenTopic" / "0" / f"{0:020d}", "queue.bin", 400)
    for number in range(2):
        batches = root / "batchconsumequeue" / "GoldenBatches" / "0"
        put(batches / f"{number * BATCH_FILE:020d}", f"batchqueue-{number}.bin", BATCH_FILE)
        units = root / "consumequeue_ext" / "GoldenTopic" / "0"
        put(units / f"{number * EXTENSION_FILE:020d}", f"extension-{number}.bin", EXTENSION_FILE)


def test_the_real_brokers_batch_queues_and_extensions_are_sound(tmp_path: Path) -> None:
    assemble(tmp_path)
    report = StoreCheck(tmp_path).run()
    assert list(report.findings.problems()) == []
    assert report.records == 15
    # The units vouch for the tags codes: without them nothing does.
    for path in (tmp_path / "consumequeue_ext" / "GoldenTopic" / "0").iterdir():
        path.write_bytes(bytes(EXTENSION_FILE))
    [problem] = StoreCheck(tmp_path).run().findings.problems()
    assert (problem.kind, problem.count) == ("wrong entry", 5)


def test_they_are_printed_with_their_numbers(tmp_path: Path) -> None:
    assemble(tmp_path)

    def numbers(folder: str) -> list[int]:
        found = inspect(tmp_path / folder, None, Selection())
        return [item.number for item in found if isinstance(item, Item)]

    assert numbers("batchconsumequeue/GoldenBatches/0") == list(range(10))
    assert numbers("consumequeue_ext/GoldenTopic/0") == [0, 20, 40, 70, 90]
    assert numbers("consumequeue/GoldenTopic") == [0, 1, 2, 3, 4]
