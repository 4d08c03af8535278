"""Who counts as having a message, and who does not."""

from __future__ import annotations

from trimq.replication.config import ReplicationConfig
from trimq.replication.slaves import SlaveLink, Slaves


def slaves(end: int = 1000, **settings: int) -> Slaves:
    return Slaves(ReplicationConfig(**settings), lambda: end)  # type: ignore[arg-type]


def joined(made: Slaves, *acked: int) -> list[SlaveLink]:
    links = []
    for at, offset in enumerate(acked):
        link = SlaveLink(f"10.0.0.{at}:1")
        made.joined(link)
        made.reported(link, offset)
        links.append(link)
    return links


def test_as_many_as_are_asked_for_must_have_it() -> None:
    made = slaves(in_sync_replicas=3)
    first, second = joined(made, 500, 300)
    assert made.copied.offset == 300
    made.reported(second, 400)
    assert made.copied.offset == 400
    made.reported(second, 900)
    assert made.copied.offset == 500
    made.reported(first, 950)
    assert made.copied.offset == 900


def test_too_few_let_nothing_pass() -> None:
    made = slaves(in_sync_replicas=3)
    joined(made, 500)
    assert made.copied.offset == 0


def test_what_is_beyond_the_end_counts_for_nothing() -> None:
    made = slaves(end=100, in_sync_replicas=2)
    joined(made, 5000)
    assert made.copied.offset == 100
    made = slaves(end=100, in_sync_replicas=2)
    link = SlaveLink("10.0.0.1:1")
    link.astray = True
    made.joined(link)
    made.reported(link, 50)
    assert made.copied.offset == 0
    assert made.in_sync() == 1


def test_who_is_gone_has_it_all_the_same_but_nothing_new() -> None:
    made = slaves(in_sync_replicas=2)
    (link,) = joined(made, 500)
    made.left(link)
    assert (made.copied.offset, len(made)) == (500, 0)
    made.look()
    assert made.copied.offset == 500


def test_in_sync_is_within_the_gap() -> None:
    made = slaves(end=1000, ha_max_gap_not_in_sync=100)
    near, far = joined(made, 901, 900)
    silent = SlaveLink("10.0.0.9:1")
    made.joined(silent)
    assert (made.is_in_sync(near), made.is_in_sync(far), made.is_in_sync(silent)) == (
        True,
        False,
        False,
    )
    assert made.in_sync() == 2


def test_slaves_of_a_term_that_is_over_count_for_nothing() -> None:
    made = slaves(in_sync_replicas=2)
    (link,) = joined(made, 500)
    made.end_term(100)
    made.reported(link, 900)
    made.look()
    assert (made.copied.offset, made.in_sync()) == (100, 1)
    joined(made, 300)
    assert (made.copied.offset, made.in_sync()) == (300, 2)
