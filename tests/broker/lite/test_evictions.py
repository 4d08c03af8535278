"""What another client of an exclusive group has taken from a client, and until when that counts."""

from tests.broker.lite.test_registry import ONE, TWO, made
from trimq.broker.lite.evictions import Evictions
from trimq.broker.steps import at_once

_TOLD = ("taken over", "a", ONE)


def test_a_client_that_lost_a_lite_topic_has_to_leave_it_out_first() -> None:
    subscriptions, heard, _ = made(G="exclusive")
    at_once(subscriptions.add("a", "G", "T", [ONE, TWO]))
    at_once(subscriptions.add("b", "G", "T", [ONE]))
    assert subscriptions.is_evicted("a", "G", ONE)
    assert not subscriptions.is_evicted("a", "G", TWO)
    assert not subscriptions.is_evicted("b", "G", ONE)
    # It has not heard of it: it is told once more, each time.
    for times in (2, 3):
        at_once(subscriptions.replace("a", "G", "T", [ONE, TWO]))
        assert heard.all.count(_TOLD) == times
        assert subscriptions.is_evicted("a", "G", ONE)
    at_once(subscriptions.replace("a", "G", "T", [TWO]))
    assert not subscriptions.is_evicted("a", "G", ONE)
    at_once(subscriptions.replace("a", "G", "T", [ONE, TWO]))
    assert heard.all.count(_TOLD) == 3


def test_a_client_may_take_it_back() -> None:
    subscriptions, _, _ = made(G="exclusive")
    for client_id in ("a", "b", "a"):
        at_once(subscriptions.add(client_id, "G", "T", [ONE]))
    assert not subscriptions.is_evicted("a", "G", ONE)
    assert subscriptions.is_evicted("b", "G", ONE)


def test_whoever_takes_over_from_itself_has_lost_nothing() -> None:
    subscriptions, _, _ = made(G="exclusive")
    for _ in range(2):
        at_once(subscriptions.add("a", "G", "T", [ONE]))
    assert not subscriptions.is_evicted("a", "G", ONE)


def test_a_client_that_leaves_has_lost_nothing() -> None:
    """Also one that has no subscription any more, as there."""
    subscriptions, _, _ = made(G="exclusive")
    at_once(subscriptions.add("a", "G", "T", [ONE]))
    at_once(subscriptions.add("b", "G", "T", [ONE]))
    assert subscriptions.find("a") is None
    at_once(subscriptions.remove_client("a"))
    assert not subscriptions.is_evicted("a", "G", ONE)


def test_it_counts_while_the_group_is_exclusive() -> None:
    groups = {"G": "exclusive"}
    subscriptions, _, _ = made(**groups)
    at_once(subscriptions.add("a", "G", "T", [ONE]))
    at_once(subscriptions.add("b", "G", "T", [ONE]))
    subscriptions._metadata.groups["G"] = ""  # type: ignore[attr-defined]
    assert not subscriptions.is_evicted("a", "G", ONE)


def test_a_client_that_does_not_come_back_is_forgotten() -> None:
    subscriptions, _, clock = made(G="exclusive")
    at_once(subscriptions.add("a", "G", "T", [ONE]))
    at_once(subscriptions.add("stays", "G", "T", [TWO, "%LMQ%$T$three"]))
    at_once(subscriptions.add("b", "G", "T", [ONE, TWO]))
    clock.now += 180_000
    for client_id in ("stays", "b"):
        at_once(subscriptions.remove(client_id, "G", "T", []))
    at_once(subscriptions.remove_silent())
    assert len(subscriptions._evictions) == 2
    clock.now += 1
    at_once(subscriptions.remove_silent())
    assert not subscriptions.is_evicted("a", "G", ONE)
    assert subscriptions.is_evicted("stays", "G", TWO)


def test_nothing_is_kept_of_clients_that_lost_nothing() -> None:
    evictions = Evictions()
    evictions.add("a", ONE, 1)
    evictions.add("b", ONE, 1)
    evictions.add("b", TWO, 1)
    evictions.remove("a", ONE)
    evictions.remove("a", ONE)
    evictions.keep_only("b", {TWO})
    assert (len(evictions), ("b", TWO) in evictions) == (1, True)
    evictions.keep_only("b", ())
    evictions.keep_only("c", ())
    assert not evictions._clients
