"""A power loss at any moment leaves a table that can be read, no older than its last sync."""

import random
from pathlib import Path

import pytest

from tests.store.power_loss import Recorder
from trimq.broker.tables.file import TableFile
from trimq.codec.errors import CodecError
from trimq.store.disk.config_file import ConfigFile

LIVES = 4


class Versions:
    """A table whose text tells its version, in more than one sector."""

    def __init__(self, directory: Path, number: int) -> None:
        self.number = number
        self.file = TableFile(directory / "config" / "table.json", lambda: iter([self.text()]))

    def text(self) -> bytes:
        return b"{%d}" % self.number * (self.number % 5 * 300 + 1)


def decode(data: bytes) -> int:
    number = int(data[1 : data.index(b"}")]) if b"}" in data[:12] and data[1:2].isdigit() else -1
    if number < 0 or data != Versions(Path(), number).text():
        raise CodecError("torn")
    return number


@pytest.mark.parametrize("part", range(4))
def test_a_table_survives_power_losses(memory_path: Path, times: int, part: int) -> None:
    for seed in range(part * 1000 * times, part * 1000 * times + 25 * times):
        chance = random.Random(seed)
        newest = synced = 0
        root = memory_path / f"{seed}"
        for life in range(LIVES):
            recorder = Recorder(root / f"{life}")
            with recorder.running() as recording:
                table = Versions(root / f"{life}", newest)
                found = table.file.load(decode)
                assert (found or 0) >= synced, f"seed {seed}"
                assert (found or 0) <= newest
                table.number = newest = found or 0
                for _ in range(chance.randint(1, 12)):
                    if chance.random() < 0.6:
                        table.number += 1
                        recording.mark(("written", table.number))
                        table.file.write()
                    else:
                        table.file.sync()
                        recording.mark(("synced", table.number))
            moment = chance.randint(0, len(recording.events))
            recording.crash(moment, chance, root / f"{life + 1}")
            for kind, number in recording.marks(moment):
                newest = max(newest, number)
                if kind == "synced":
                    synced = number


def test_a_config_file_survives_power_losses(memory_path: Path, times: int) -> None:
    for seed in range(50 * times):
        chance = random.Random(seed)
        root = memory_path / f"{seed}"
        recorder = Recorder(root)
        with recorder.running() as recording:
            for number in range(1, 5):
                recording.mark(number)
                ConfigFile(root / "config" / "one.json").save(Versions(root, number).text())
                recording.mark(-number)
        moment = chance.randint(0, len(recording.events))
        recording.crash(moment, chance, memory_path / f"{seed}-after")
        data = ConfigFile(memory_path / f"{seed}-after" / "config" / "one.json").load()
        marks = recording.marks(moment)
        found = 0 if data is None else decode(data)
        assert max([-mark for mark in marks if mark < 0], default=0) <= found
        assert found <= max(marks, default=0)
