"""The queue of a message group: as Guava chooses, so that a real proxy beside ours chooses the same."""

import json
from pathlib import Path

import pytest

from trimq.codec.java.hashes import string_hash
from trimq.proxy.guava import consistent_hash

VECTOR = Path(__file__).parents[1] / "vectors" / "consistent_hash.json"
ROWS = json.loads(VECTOR.read_text())


def _text(name: str) -> str:
    """JSON writes what is beyond 16 bits as two halves; what it means is one character."""
    return name.encode("utf-16", "surrogatepass").decode("utf-16")


@pytest.mark.parametrize(("name", "chosen"), ROWS)
def test_as_guava_chooses(name: str | int, chosen: list[list[int]]) -> None:
    value = string_hash(_text(name)) if isinstance(name, str) else name
    assert [[count, consistent_hash(value, count)] for count, _ in chosen] == chosen


def test_negative_hashes_are_among_them() -> None:
    numbers = [name for name, _ in ROWS if isinstance(name, int)]
    assert sum(number < 0 for number in numbers) > 40
    assert min(numbers) == -(1 << 31)
