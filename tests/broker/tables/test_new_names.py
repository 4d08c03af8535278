"""How many new names an address may bring."""

from typing import Any

import pytest

from trimq.broker.config import BrokerConfig
from trimq.broker.tables.new_names import NewNames
from trimq.remoting.contract import LimitReached


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0

    def millis(self) -> int:
        return self.now

    def steady_millis(self) -> int:
        return self.now


def admitted(names: NewNames, address: str, tries: int) -> int:
    """How many of so many new names an address may bring."""
    count = 0
    for _ in range(tries):
        try:
            names.admit(address)
        except LimitReached:
            continue
        count += 1
    return count


@pytest.fixture
def watch() -> Any:
    return Watch()


def test_ten_seconds_worth_at_once_then_so_many_a_second(watch: Any) -> None:
    names = NewNames(BrokerConfig(max_new_names_per_address=5), watch)
    assert admitted(names, "192.0.2.1:1", 100) == 50
    assert admitted(names, "192.0.2.2:1", 10) == 10
    watch.now = 2000
    assert admitted(names, "192.0.2.1:2", 100) == 10
    with pytest.raises(LimitReached, match="maxNewNamesPerAddress"):
        names.admit("192.0.2.1:3")


def test_this_machine_is_free_and_so_is_everybody_without_a_limit(watch: Any) -> None:
    names = NewNames(BrokerConfig(max_new_names_per_address=1), watch)
    assert admitted(names, "127.0.0.1:1", 100) == 100
    assert admitted(names, "[::1]:1", 100) == 100
    assert admitted(NewNames(BrokerConfig(max_new_names_per_address=0), watch), "192.0.2.1:1", 100)
