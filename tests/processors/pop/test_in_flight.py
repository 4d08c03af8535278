"""How many messages of a group are popped and not acknowledged: the figure, and what it forgets."""

from pathlib import Path
from typing import Any

import pytest

from trimq.process.metrics import Sample


def in_flight(broker: Any) -> dict[tuple[str, str], float]:
    (samples,) = [part.samples for part in broker.parts if part.name == "pop"]
    found: list[Sample] = list(samples())
    return {
        (one.labels["group"], one.labels["topic"]): one.value
        for one in found
        if one.name == "trimq_pop_in_flight"
    }


def test_pops_and_acknowledgements_are_counted(pops: Any) -> None:
    pops.put(b"a", b"b", b"c")
    popped = pops.pop()
    assert in_flight(pops.broker) == {}
    pops.write()
    assert in_flight(pops.broker) == {("G", "T"): 3}
    pops.ack(popped, 0)
    pops.write()
    assert in_flight(pops.broker) == {("G", "T"): 2}
    for offset in (1, 2):
        pops.ack(popped, offset)
    pops.write()
    assert in_flight(pops.broker) == {}


def test_a_write_that_fails_counts_nothing(pops: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pops.put(b"a")
    pops.pop()
    pops.fail_to_write(monkeypatch)
    pops.pop()
    pops.write()
    assert in_flight(pops.broker) == {("G", "T"): 1}


async def test_a_changed_time_leaves_a_message_in_flight(pops: Any) -> None:
    pops.put(b"a", b"b")
    popped = pops.pop()
    pops.write()
    pops.change(popped, 0, 30_000)
    pops.write()
    assert in_flight(pops.broker) == {("G", "T"): 2}
    assert pops.reviving.latency() == 0


def test_a_deleted_group_has_none(pops: Any) -> None:
    pops.put(b"a")
    pops.pop()
    pops.write()
    pops.broker.groups.delete("G")
    assert in_flight(pops.broker) == {}


def test_each_checkpoint_and_acknowledgement_is_a_record(pops: Any) -> None:
    pops.put(b"a", b"b")
    popped = pops.pop()
    pops.write()
    ends = [pops.broker.store.max_offset("rmq_sys_wheel_timer", 0)]
    for number in range(2):
        assert pops.ack(popped, number).code == 0
        pops.write()
        ends.append(pops.broker.store.max_offset("rmq_sys_wheel_timer", 0))
    assert ends == [1, 2, 3]


def test_the_page_names_every_figure(pops: Any) -> None:
    pops.put(b"a", b"b")
    pops.ack(pops.pop(), 0)
    pops.write()
    (samples,) = [part.samples for part in pops.broker.parts if part.name == "pop"]
    found: list[Sample] = list(samples())
    page = (Path(__file__).parents[3] / "docs" / "pop.md").read_text(encoding="utf-8")
    for one in found:
        assert f"`{one.name}{'_total' * (one.kind == 'counter')}`" in page
    theirs = {
        (one.name, *one.labels.values()): one.value
        for one in found
        if one.name.startswith("rocketmq_")
    }
    assert theirs == {
        ("rocketmq_consumer_inflight_messages", "G", "T"): 1,
        ("rocketmq_pop_revive_in_message", "CK"): 1,
        ("rocketmq_pop_revive_in_message", "ACK"): 1,
        ("rocketmq_pop_revive_retry_messages",): 0,
        ("rocketmq_pop_revive_lag",): 0,
        ("rocketmq_pop_revive_latency",): 0,
    }
