"""Who reads which lite topics, and what follows from a change."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.broker.lite.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.lite.registry import (
    WITHOUT_TYPE,
    LiteSubscriptions,
    NotForWildcards,
    OptionWithoutType,
    QuotaExceeded,
)
from trimq.broker.lite.subscribers import Subscriber, Subscribers
from trimq.broker.steps import at_once

ONE, TWO = "%LMQ%$T$one", "%LMQ%$T$two"


class Metadata:
    """What the attributes of groups say."""

    def __init__(self, **groups: str) -> None:
        self.groups = groups

    def is_wildcard(self, group: str) -> bool:
        return self.groups.get(group) == "wildcard"

    def is_exclusive(self, group: str) -> bool:
        return self.groups.get(group, "").startswith("exclusive")

    def begins_anew_for_another(self, group: str) -> bool:
        return self.groups.get(group) == "exclusive, anew"

    def begins_anew_when_left(self, group: str) -> bool:
        return self.groups.get(group) == "anew"


class Heard:
    """A listener."""

    def __init__(self) -> None:
        self.all: list[tuple[Any, ...]] = []

    def joined(self, subscriber: Subscriber, queue: str) -> None:
        self.all.append(("joined", subscriber.client_id, queue))

    def taken_over(self, subscriber: Subscriber, queue: str) -> None:
        self.all.append(("taken over", subscriber.client_id, queue))

    def begins_at(self, subscriber: Subscriber, queue: str, option: str | None, value: int) -> None:
        self.all.append(("begins", subscriber.client_id, queue, option, value))

    def left(self, subscriber: Subscriber) -> None:
        self.all.append(("left", subscriber.client_id))


def made(most: int = 100, **groups: str) -> tuple[LiteSubscriptions, Heard, Clock]:
    metadata: Any = Metadata(**groups)
    clock: Any = Clock()
    config = BrokerConfig(max_lite_subscription_count=most)
    subscriptions, heard = LiteSubscriptions(config, metadata, clock), Heard()
    subscriptions.add_listener(heard)
    return subscriptions, heard, clock


def by_group(readers: Mapping[str, Subscribers]) -> dict[str, list[Subscriber]]:
    return {group: list(clients) for group, clients in readers.items()}


def test_a_client_adds_and_removes() -> None:
    subscriptions, heard, _ = made()
    at_once(subscriptions.add("c", "G", "T", [ONE, TWO]))
    at_once(subscriptions.add("c", "G", "T", [ONE]))
    assert subscriptions.count == 2
    assert list(subscriptions.readers(ONE, "G")) == [Subscriber("c", "G")]
    at_once(subscriptions.remove("c", "G", "T", [ONE]))
    assert (subscriptions.count, list(subscriptions.readers(ONE, "G"))) == (1, [])
    assert heard.all == [("joined", "c", ONE), ("joined", "c", TWO)]


def test_a_whole_set_replaces_what_was_there() -> None:
    subscriptions, heard, _ = made()
    at_once(subscriptions.replace("c", "G", "T", [ONE]))
    at_once(subscriptions.replace("c", "G", "T", [TWO]))
    found = subscriptions.find("c")
    assert found is not None
    assert (list(found.queues), subscriptions.count) == ([TWO], 1)
    at_once(subscriptions.remove_client("c"))
    assert (subscriptions.find("c"), subscriptions.count) == (None, 0)
    assert heard.all[-1] == ("left", "c")


def test_an_exclusive_reader_takes_over() -> None:
    subscriptions, heard, _ = made(G="exclusive, anew")
    at_once(subscriptions.add("a", "G", "T", [ONE]))
    at_once(subscriptions.add("other", "H", "T", [ONE]))
    at_once(subscriptions.add("b", "G", "T", [ONE]))
    assert list(subscriptions.readers(ONE, "G")) == [Subscriber("b", "G")]
    assert list(subscriptions.readers(ONE, "H")) == [Subscriber("other", "H")]
    assert heard.all[2:] == [
        ("taken over", "a", ONE),
        ("begins", "a", ONE, "POLICY", 1),
        ("joined", "b", ONE),
    ]
    assert subscriptions.find("a") is None


def test_an_exclusive_reader_takes_over_from_itself() -> None:
    subscriptions, heard, clock = made(G="exclusive")
    for _ in range(2):
        at_once(subscriptions.add("a", "G", "T", [ONE]))
    assert heard.all == [("joined", "a", ONE), ("taken over", "a", ONE), ("joined", "a", ONE)]
    found = subscriptions.find("a")
    assert found is not None
    assert (list(found.queues), found.unseen, subscriptions.count) == ([ONE], True, 1)
    # It can still fall silent.
    clock.now += 200_000
    at_once(subscriptions.remove_silent())
    assert (list(subscriptions.readers(ONE, "G")), subscriptions.count) == ([], 0)


def test_what_a_client_takes_over_from_itself_is_not_shown() -> None:
    """All the same it goes on reading it."""
    subscriptions, _, _ = made(G="exclusive")
    at_once(subscriptions.add("a", "G", "T", [ONE, TWO]))
    found = subscriptions.find("a")
    assert found is not None
    at_once(subscriptions.add("a", "G", "T", [ONE]))
    assert (found.shown(), found.unseen) == ([TWO], False)
    at_once(subscriptions.add("a", "G", "T", [TWO]))
    assert (found.shown(), found.unseen) == ([], True)
    assert list(subscriptions.readers(ONE, "G")) == [Subscriber("a", "G")]
    # What comes in the same request is lost with it, but not what comes later.
    at_once(subscriptions.add("a", "G", "T", [ONE, "%LMQ%$T$three"]))
    assert (found.shown(), found.unseen) == ([], True)
    at_once(subscriptions.add("a", "G", "T", ["%LMQ%$T$four"]))
    assert (found.shown(), found.unseen) == (["%LMQ%$T$four"], False)
    assert subscriptions.count == 4
    # Another client takes over the only one that is shown.
    at_once(subscriptions.add("b", "G", "T", ["%LMQ%$T$four"]))
    assert (found.shown(), found.unseen, list(found.queues)) == (
        [],
        True,
        [TWO, ONE, "%LMQ%$T$three"],
    )
    at_once(subscriptions.replace("a", "G", "T", [ONE]))
    assert (found.shown(), found.unseen, subscriptions.count) == ([ONE], False, 2)


def test_a_beginning_without_a_kind_makes_no_reader() -> None:
    subscriptions, heard, _ = made()
    with pytest.raises(OptionWithoutType):
        at_once(subscriptions.add("a", "G", "T", [ONE, TWO], WITHOUT_TYPE, 1))
    found = subscriptions.find("a")
    assert found is not None
    assert (found.shown(), subscriptions.count, heard.all) == ([ONE], 0, [])
    assert list(subscriptions.readers(ONE, "G")) == []
    at_once(subscriptions.remove_client("a"))
    assert subscriptions.count == 0


def test_nothing_stays_of_a_deleted_group() -> None:
    subscriptions, heard, _ = made(W="wildcard")
    at_once(subscriptions.add("a", "G", "T", [ONE, TWO]))
    at_once(subscriptions.add("b", "H", "T", [ONE]))
    at_once(subscriptions.replace("c", "W", "T", []))
    for group in ("G", "W"):
        at_once(subscriptions.forget_group(group))
    assert heard.all[-2:] == [("left", "a"), ("left", "c")]
    assert by_group(subscriptions.all_readers(ONE)) == {"H": [Subscriber("b", "H")]}
    assert (subscriptions.find("a"), subscriptions.find("c"), subscriptions.count) == (
        None,
        None,
        1,
    )
    assert not subscriptions._wildcards


def test_a_group_may_begin_anew_when_it_was_left() -> None:
    subscriptions, heard, _ = made(G="anew")
    at_once(subscriptions.add("a", "G", "T", [ONE], "OFFSET", 7))
    at_once(subscriptions.remove("a", "G", "T", [ONE]))
    assert [one for one in heard.all if one[0] == "begins"] == [
        ("begins", "a", ONE, "OFFSET", 7),
        ("begins", "a", ONE, "POLICY", 1),
    ]


def test_a_wildcard_group_reads_all_and_cannot_choose() -> None:
    subscriptions, _, _ = made(W="wildcard")
    at_once(subscriptions.replace("a", "W", "T", []))
    at_once(subscriptions.add("b", "G", "T", [ONE]))
    reader = Subscriber("a", "W")
    assert by_group(subscriptions.all_readers(ONE)) == {"G": [Subscriber("b", "G")], "W": [reader]}
    assert list(subscriptions.readers(TWO, "W")) == [reader]
    with pytest.raises(NotForWildcards):
        at_once(subscriptions.add("a", "W", "T", [ONE]))
    at_once(subscriptions.remove_client("a"))
    assert by_group(subscriptions.all_readers(TWO)) == {}


def test_there_is_a_most() -> None:
    subscriptions, _, _ = made(most=1)
    at_once(subscriptions.add("a", "G", "T", [ONE]))
    with pytest.raises(QuotaExceeded, match="lite subscription quota exceeded 1"):
        at_once(subscriptions.add("b", "G", "T", [ONE]))


def test_silent_clients_are_forgotten() -> None:
    subscriptions, heard, clock = made()
    at_once(subscriptions.add("a", "G", "T", [ONE]))
    clock.now += 180_000
    at_once(subscriptions.add("b", "G", "T", [ONE]))
    at_once(subscriptions.remove_silent())
    assert subscriptions.count == 2
    clock.now += 1
    at_once(subscriptions.remove_silent())
    assert (subscriptions.clients_of("G"), heard.all[-1]) == (["b"], ("left", "a"))


def test_a_deleted_queue_has_no_readers() -> None:
    subscriptions, _, _ = made()
    at_once(subscriptions.add("a", "G", "T", [ONE, TWO]))
    at_once(subscriptions.remove_queue(ONE))
    found = subscriptions.find("a")
    assert found is not None
    assert (list(found.queues), subscriptions.count) == ([TWO], 1)
