"""What elasticTopic advise says of two looks at a topic."""

from trimq.codec.bodies.elastic_admin import ElasticLoad, ElasticQueue, ElasticView
from trimq.mqadmin.common.elastic_text import advice


def seen(*ends: int, partitions: int = 250, loads: dict[int, int] | None = None) -> ElasticView:
    """Queues that end there; `loads`: partitions of queue 1 -> messages that they got."""
    queues = [
        ElasticQueue(queue=queue, partitions=partitions, min_offset=0, max_offset=end)
        for queue, end in enumerate(ends)
    ]
    got = [
        ElasticLoad(partition=partition, queue=1, messages=count)
        for partition, count in (loads or {}).items()
    ]
    return ElasticView(topic="Orders", partitions=1000, version=0, queues=queues, loads=got)


def test_a_hot_queue_is_to_be_split() -> None:
    (one,) = advice(seen(0, 0, 0, 0), seen(100, 1000, 100, 100), 10)
    assert (one.action, one.queue, one.rate, one.mean) == ("split", 1, 100.0, 32.5)
    assert one.text.startswith("split -i 1:")


def test_one_partition_cannot_be_split() -> None:
    (one,) = advice(seen(0, 0, 0, 0), seen(100, 1000, 100, 100, partitions=1), 10)
    assert one.action == "none"


def test_a_calm_last_queue_is_to_be_merged() -> None:
    (one,) = advice(seen(0, 0, 0, 0), seen(1000, 10, 1000, 10), 10)
    assert (one.action, one.queue) == ("merge", 3)
    assert one.text.startswith("merge --to 1:")


def test_nothing_to_do() -> None:
    assert advice(seen(0, 0), seen(0, 0), 10)[0].text == "nothing to do: no message came"
    assert "about the same" in advice(seen(0, 0), seen(100, 90), 10)[0].text


def test_a_partition_with_most_of_a_queue_goes_alone() -> None:
    before, after = {5: 700, 9: 50}, {5: 1300, 9: 150, 13: 300}
    (one,) = advice(seen(0, 0, 0, 0, loads=before), seen(100, 1000, 100, 100, loads=after), 10)
    assert (one.action, one.queue) == ("split", 1)
    assert one.text.startswith("split -i 1 --partition 5:")
    assert "60.0 of them of partition 5" in one.text


def test_one_key_cannot_be_helped() -> None:
    (one,) = advice(seen(0, 0, 0, 0), seen(100, 1000, 100, 100, loads={5: 950, 9: 50}), 10)
    assert (one.action, one.queue) == ("none", 1)
    assert "95.0 of them of partition 5" in one.text


def test_even_partitions_are_split_in_halves() -> None:
    (one,) = advice(seen(0, 0, 0, 0), seen(100, 1000, 100, 100, loads={5: 400, 9: 450}), 10)
    assert one.text.startswith("split -i 1: it gets 100.0 messages a second")
