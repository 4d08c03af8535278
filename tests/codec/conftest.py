"""Bytes recorded from the real server, as parameters of tests."""

import json
from pathlib import Path

import pytest

VECTORS = Path(__file__).parent.parent / "vectors"


def _named_bytes(file: str) -> list[tuple[str, bytes]]:
    entries = json.loads((VECTORS / file).read_text())
    return [(entry["name"], bytes.fromhex(entry["hex"])) for entry in entries]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`golden_frame` and `golden_record` run a test over everything the real server wrote."""
    for fixture, file in (("golden_frame", "frames.json"), ("golden_record", "records.json")):
        if fixture in metafunc.fixturenames:
            found = _named_bytes(file)
            metafunc.parametrize(fixture, [data for _, data in found], ids=[n for n, _ in found])


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of bytes recorded from the real server."""
    return VECTORS
