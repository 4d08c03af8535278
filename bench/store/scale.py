"""How much a run does: enough for figures that hold, or just enough to see that it works."""

from __future__ import annotations

from dataclasses import dataclass

from bench.loads.settling import Pace


@dataclass(frozen=True, slots=True)
class Scale:
    """`gib` are store sizes, in units of `unit` bytes so that a smoke test has small ones."""

    disk_mib: int
    append_seconds: float
    append_bytes: int
    lengths: tuple[int, ...]
    topics: tuple[int, ...]
    sizes: tuple[int, ...]
    unit: int
    seeks: int
    cold_seeks: int
    appends: int
    real_loads: int
    real_seconds: int
    pace: Pace


FULL = Scale(
    disk_mib=1024,
    append_seconds=2,
    append_bytes=256 << 20,
    lengths=(50_000, 500_000, 5_000_000, 50_000_000),
    topics=(1, 10, 100, 1000, 10_000),
    sizes=(1, 5, 20),
    unit=1 << 30,
    seeks=3000,
    cold_seeks=200,
    appends=40_000,
    real_loads=3,
    real_seconds=8,
    pace=Pace(),
)
SMOKE = Scale(
    disk_mib=16,
    append_seconds=0.05,
    append_bytes=8 << 20,
    lengths=(1000, 10_000),
    topics=(1, 20),
    sizes=(1, 4),
    unit=1 << 22,
    seeks=200,
    cold_seeks=20,
    appends=1600,
    real_loads=1,
    real_seconds=2,
    pace=Pace(0.3, 0.3),
)
