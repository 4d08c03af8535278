"""The history: files that are merged, moved and deleted while others look, and what a crash leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from trimq.spark.errors import SparkSourceError
from trimq.spark.offsets.history import compacting, history
from trimq.spark.offsets.history.compacting import DAY, FAN, tend
from trimq.spark.offsets.history.history import History, append, look, names, spread
from trimq.spark.offsets.snapshot.table import SCHEMA, joined, part

# 2026-09-21, midnight UTC.
MIDNIGHT = 1_789_948_800_000
MINUTE = 60_000


def snapshot(taken: int, committed: int = 0) -> pa.Table:
    """Two queues, a group in one of them."""
    queue = {"cluster": "c", "brokerName": "b", "topic": ["T", "U"], "queueId": 0}
    ends = {"minOffset": 0, "maxOffset": [10, 20]}
    group = {"cluster": "c", "brokerName": "b", "topic": ["T"], "queueId": 0, "minOffset": 0}
    group |= {"consumerGroup": "G", "maxOffset": 10, "committed": committed}
    return joined([part(taken, taken, {**queue, **ends}), part(taken, taken + 1, group)])


def fill(folder: Path, times: list[int]) -> list[int]:
    for taken in times:
        append(folder, snapshot(taken, taken % 10))
    return sorted(times)


def legacy(folder: Path, times: list[int]) -> None:
    """As former versions wrote it: all files at the top."""
    folder.mkdir(exist_ok=True)
    for taken in times:
        pq.write_table(snapshot(taken, taken % 10), folder / f"offsets-{taken}.parquet")


def whole(found: History) -> list[tuple[int, str, str | None, int | None]]:
    """Every row that a reader gets, sorted."""
    rows = found.read(found.taken, ("takenAt", "topic", "consumerGroup", "committed")).to_pylist()
    times = (round(row["takenAt"].timestamp() * 1000) for row in rows)
    return sorted(
        (taken, row["topic"], row["consumerGroup"] or "", row["committed"])
        for taken, row in zip(times, rows, strict=True)
    )


def expected(times: list[int]) -> list[tuple[int, str, str, int | None]]:
    return sorted(
        row
        for taken in times
        for row in ((taken, "T", "", None), (taken, "U", "", None), (taken, "T", "G", taken % 10))
    )


def visible(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in names(folder).values())


def test_a_snapshot_is_a_file_in_its_day(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "h"
    fill(folder, [MIDNIGHT - 1, MIDNIGHT])
    assert visible(folder) == [
        f"day=2026-09-20/offsets-{MIDNIGHT - 1}.parquet",
        f"day=2026-09-21/offsets-{MIDNIGHT}.parquet",
    ]
    found = look(folder)
    assert found.taken == [MIDNIGHT - 1, MIDNIGHT]
    assert found.snapshot(MIDNIGHT).schema.equals(SCHEMA)
    assert whole(found) == expected(found.taken)
    assert look(tmp_path / "nothing").taken == []
    (folder / "day=2026-09-21" / ".offsets-1.parquet.7").write_bytes(b"half")
    assert look(folder).taken == found.taken


def test_points_are_spread(tmp_path: Path) -> None:
    assert spread([1, 2, 3, 4], 1) == [4]
    assert spread([1, 2, 3, 4], 2) == [2, 4]
    assert spread([1, 2], 2) == [1, 2]


def test_small_files_become_one(tmp_path: Path) -> None:
    times = fill(tmp_path, [MIDNIGHT + MINUTE * number for number in range(FAN - 1)])
    tend(tmp_path, times[-1], None)
    assert len(visible(tmp_path)) == FAN - 1
    times += fill(tmp_path, [MIDNIGHT + MINUTE * FAN])
    before = look(tmp_path)
    tend(tmp_path, times[-1], None)
    assert visible(tmp_path) == [
        f"day=2026-09-21/offsets-{times[0]}-{times[-1]}-{FAN}.parquet",
    ]
    # A reader that planned with the small files still gets them, once each.
    for found in (before, look(tmp_path)):
        assert whole(found) == expected(times)
    # Spark, which knows nothing of us, finds the same.
    plain = pq.read_table(tmp_path / "day=2026-09-21")
    assert plain.num_rows == 3 * FAN


def test_levels_and_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Days, tended as they pass: few files at any time, one a day in the end."""
    monkeypatch.setattr(compacting, "FAN", 4)
    times: list[int] = []
    most = 0
    for number in range(75):
        times += fill(tmp_path, [MIDNIGHT + 48 * MINUTE * number])
        tend(tmp_path, times[-1], None)
        most = max(most, len(visible(tmp_path)))
    # 30 a day: three levels.
    assert most <= 3 * 3 + 2
    assert look(tmp_path).taken == times
    assert [path for path in visible(tmp_path) if "-22/" not in path and "-23/" not in path] == [
        f"day=2026-09-21/offsets-{times[0]}-{times[29]}-30.parquet"
    ]
    assert len({path.split("/")[0] for path in visible(tmp_path)}) == 3
    assert whole(look(tmp_path)) == expected(times)


def test_a_folder_of_a_former_version(tmp_path: Path) -> None:
    times = [MIDNIGHT - 2, MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + 1]
    legacy(tmp_path, times)
    before = look(tmp_path)
    assert whole(before) == expected(times)
    tend(tmp_path, MIDNIGHT + DAY * 3, None)
    assert visible(tmp_path) == [
        f"day=2026-09-20/offsets-{times[0]}-{times[1]}-2.parquet",
        f"day=2026-09-21/offsets-{times[2]}-{times[3]}-2.parquet",
    ]
    assert whole(look(tmp_path)) == expected(times)


def test_large_files_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = fill(tmp_path, [MIDNIGHT + number for number in range(4)])
    size = max(path.stat().st_size for path in names(tmp_path).values())
    monkeypatch.setattr(compacting, "MOST_BYTES", 2 * size)
    for _ in range(2):
        tend(tmp_path, MIDNIGHT + 3 * DAY, None)
        assert len(visible(tmp_path)) == 2
    assert whole(look(tmp_path)) == expected(times)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("step", range(12))
def test_a_crash_at_any_step_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Everything that changes a name is a step; the process ends in front of one of them."""
    times = [MIDNIGHT + number for number in range(4)]
    legacy(tmp_path, times[:2])
    fill(tmp_path, times[2:])
    left = [step]
    seen: list[int] = []

    def counted(plain: Callable[..., object]) -> Callable[..., object]:
        def change(*given: object, **more: object) -> object:
            if not left[0]:
                raise Killed
            left[0] -= 1
            made = plain(*given, **more)
            # Readers see each snapshot once after every step, too.
            seen.append(len(whole(look(tmp_path))))
            return made

        return change

    with monkeypatch.context() as patched:
        for name in ("rename", "replace"):
            patched.setattr(Path, name, counted(getattr(Path, name)))
        try:
            tend(tmp_path, MIDNIGHT + 3 * DAY, None)
        except Killed:
            pass
        else:
            # Two files moved, one made, four hidden.
            assert step >= 7
    assert set(seen) <= {3 * len(times)}
    assert whole(look(tmp_path)) == expected(times)
    tend(tmp_path, MIDNIGHT + 3 * DAY, None)
    assert whole(look(tmp_path)) == expected(times)
    assert len(visible(tmp_path)) == 1


def test_a_listing_that_missed_the_swap_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = fill(tmp_path, [MIDNIGHT + number for number in range(3)])
    plain, looks = history.names, []

    def half(folder: Path) -> dict[str, Path]:
        """The first look sees neither the files that are hidden already nor the one in their place."""
        found = plain(folder)
        looks.append(1)
        if len(looks) == 1:
            tend(tmp_path, MIDNIGHT + 3 * DAY, None)
            return {}
        return found

    monkeypatch.setattr(history, "names", half)
    assert whole(look(tmp_path)) == expected(times)


def test_a_file_that_is_merged_between_two_steps_of_a_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = fill(tmp_path, [MIDNIGHT + number for number in range(3)])
    tend(tmp_path, MIDNIGHT + 3 * DAY, None)
    found, plain, swaps = look(tmp_path), history.ds.dataset, []

    def late(path: Path, **more: object) -> object:
        """Others merge the file with one that came late, after its columns were read."""
        if not swaps:
            swaps.append(path)
            append(tmp_path, snapshot(MIDNIGHT + 3))
            tend(tmp_path, MIDNIGHT + 3 * DAY, None)
        return plain(path, **more)

    monkeypatch.setattr(history.ds, "dataset", late)
    assert whole(found) == expected(times)
    assert not swaps[0].exists()


def test_what_was_replaced_is_deleted_when_nobody_comes_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = fill(tmp_path, [MIDNIGHT, MIDNIGHT + 1])
    before = look(tmp_path)
    stale = tmp_path / "day=2026-09-21" / ".offsets-5.parquet.77"
    stale.write_bytes(b"half")
    tend(tmp_path, MIDNIGHT + 3 * DAY, None)
    assert len(list(stale.parent.glob(".offsets-*"))) == 3
    monkeypatch.setattr(compacting, "GRACE", -5.0)
    tend(tmp_path, MIDNIGHT + 3 * DAY, None)
    assert list(stale.parent.glob(".offsets-*")) == []
    assert whole(look(tmp_path)) == expected(times)
    with pytest.raises(FileNotFoundError):
        whole(before)


def test_what_is_older_than_wanted_goes(tmp_path: Path) -> None:
    times = fill(tmp_path, [MIDNIGHT - 2 * DAY, MIDNIGHT - DAY, MIDNIGHT, MIDNIGHT + 5])
    legacy(tmp_path, [MIDNIGHT - 9 * DAY])
    tend(tmp_path, times[-1], DAY)
    assert look(tmp_path).taken == times[2:]
    assert [path.name for path in sorted(tmp_path.glob("day=*"))] == [
        "day=2026-09-20",
        "day=2026-09-21",
    ]


def test_one_process_at_a_time(tmp_path: Path) -> None:
    fill(tmp_path, [MIDNIGHT, MIDNIGHT + 1])
    with compacting._alone(tmp_path) as alone:
        assert alone
        tend(tmp_path, MIDNIGHT + 3 * DAY, None)
        assert len(visible(tmp_path)) == 2
    tend(tmp_path, MIDNIGHT + 3 * DAY, None)
    assert len(visible(tmp_path)) == 1


def test_a_file_that_comes_late_counts(tmp_path: Path) -> None:
    """Its time is between those of files that are merged already."""
    times = fill(tmp_path, [MIDNIGHT, MIDNIGHT + 2])
    tend(tmp_path, MIDNIGHT + 3 * DAY, None)
    times += fill(tmp_path, [MIDNIGHT + 1])
    assert whole(look(tmp_path)) == expected(times)
    tend(tmp_path, MIDNIGHT + 3 * DAY, None)
    assert len(visible(tmp_path)) == 1
    assert whole(look(tmp_path)) == expected(times)


def test_damage_is_reported_before_anything_is_replaced(tmp_path: Path) -> None:
    fill(tmp_path, [MIDNIGHT, MIDNIGHT + 1])
    (damaged,) = tmp_path.rglob(f"offsets-{MIDNIGHT + 1}.parquet")
    data = bytearray(damaged.read_bytes())
    data[4:200] = bytes(196)
    damaged.write_bytes(data)
    with pytest.raises(SparkSourceError, match=r"offsets-\d+1\.parquet is damaged: remove it"):
        tend(tmp_path, MIDNIGHT + 3 * DAY, None)
    assert len(visible(tmp_path)) == 2
    damaged.unlink()
    assert whole(look(tmp_path)) == expected([MIDNIGHT])


def test_merged_files_that_are_not_ours(tmp_path: Path) -> None:
    pq.write_table(snapshot(MIDNIGHT), tmp_path / f"offsets-{MIDNIGHT}-{MIDNIGHT + 5}-2.parquet")
    with pytest.raises(SparkSourceError, match="does not say which snapshots it has"):
        look(tmp_path)


def test_the_history_backwards(tmp_path: Path) -> None:
    times = fill(tmp_path, [MIDNIGHT + number for number in range(8)])
    tend(tmp_path, MIDNIGHT + 3 * DAY, None)
    times += fill(tmp_path, [MIDNIGHT + DAY, MIDNIGHT + DAY + 1])
    tables = list(look(tmp_path).backwards(("takenAt",), pc.field("takenAt").is_valid()))
    found = [{value.timestamp() * 1000 for value in one["takenAt"].to_pylist()} for one in tables]
    assert found == [set(times[8:]), set(times[:8])]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        append(tmp_path / "file", snapshot(MIDNIGHT))
