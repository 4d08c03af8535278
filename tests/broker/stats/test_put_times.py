"""How long puts take: buckets and percentiles as StoreStatsService has them."""

import pytest

from trimq.broker.stats.put_times import PutTimes


@pytest.mark.parametrize(
    ("millis", "bucket"),
    [
        (0, "[<=0ms]"),
        (1, "[0~10ms]"),
        (9, "[0~10ms]"),
        (10, "[10~50ms]"),
        (50, "[50~100ms]"),
        (100, "[100~200ms]"),
        (200, "[200~500ms]"),
        (500, "[500ms~1s]"),
        (1000, "[1~2s]"),
        (2000, "[2~3s]"),
        (3000, "[3~4s]"),
        (4999, "[4~5s]"),
        (5000, "[5~10s]"),
        (10_000, "[10s~]"),
        (2**40, "[10s~]"),
    ],
)
def test_each_put_is_in_its_bucket(millis: int, bucket: str) -> None:
    times = PutTimes()
    times.add(millis, 3)
    assert times.distribution() == "null"
    times.turn()
    counts = dict(one.split(":") for one in times.distribution().split())
    assert {name: count for name, count in counts.items() if count != "0"} == {bucket: "3"}
    assert len(counts) == 13
    times.turn()
    assert bucket + ":0 " in times.distribution()
    assert times.longest == millis


def test_percentiles_are_of_the_last_minute() -> None:
    times = PutTimes()
    assert times.percentile(0.99) == 0.0
    times.add(1, 50)
    times.add(22, 50)
    assert times.percentile(0.99) == 0.0
    times.turn()
    # Of 100, the 50th is the last of those up to 1 ms; 49 of 50 between 20 and 22.
    assert times.percentile(0.5) == 1.0
    assert times.percentile(0.99) == pytest.approx(20 + 2 * 49 / 50)
    times.turn()
    assert times.percentile(0.99) == 0.0
