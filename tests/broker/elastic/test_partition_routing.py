"""Whatever is put into a topic that clients may send to passes `place` first."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.broker.elastic.conftest import TOPIC, ElasticBroker
from tests.broker.produce.conftest import Producing, block
from trimq.broker.elastic.model import new_topic
from trimq.broker.produce.puts.outcomes import Sent
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.records.batch import BatchItem, join_batch

ROOT = Path(__file__).parents[3]
FOLDERS = ("broker", "processors", "replication", "trimq/wiring")
PUTS = {"stage", "stage_all", "stage_batch", "put", "put_again"}
# Functions that put and place nothing, with the reason.
PLACED_NOWHERE = {
    "broker/produce/puts/staging.py:Staging.stage": "its callers have placed",
    "broker/produce/puts/staging.py:Staging.stage_batch": "its callers have placed",
    "broker/produce/sends/batches.py:BatchSending._keep_whole": "topics of type BatchCQ are never elastic",
    "broker/produce/returns/recalling.py:Recalling._stage": "the topic of timers",
    "broker/produce/returns/replying.py:Replying._put": "the topic of replies",
    "broker/produce/sends/sending.py:Sending._send_half": "the topic of halves",
    "broker/produce/returns/send_back.py:SendingBack._put": "retry and dead-letter topics",
    "broker/transactions/ending.py:Ending.stage_op": "the topic of ops",
    "broker/transactions/checking.py:Checking._stage": "halves, and those given up",
    "broker/transactions/resuming.py:Resuming._stage": "the topic of halves",
    "broker/pop/revive/retry.py:ReviveRetry._stage": "retry topics",
    "broker/pop/checkpoints/notes.py:Notes._stage": "the topic of checkpoints",
    "broker/pop/checkpoints/notes.py:Notes.change": "the topic of checkpoints",
    "broker/elastic/log.py:ElasticLog._put": "the topic of maps",
}


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for outer in tree.body:
        if isinstance(outer, ast.ClassDef):
            for inner in outer.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{outer.name}.{inner.name}", inner
        elif isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            yield outer.name, outer


def _called(function: ast.AST) -> Iterator[tuple[str, str]]:
    """What is called on what."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, ast.unparse(node.func.value).rpartition(".")[2]


def _putting() -> dict[str, bool]:
    """Functions that put something, and whether they place."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name, function in _functions(ast.parse(path.read_text())):
                calls = set(_called(function))
                if any(
                    what in PUTS and on.strip("_") in ("store", "staging") for what, on in calls
                ):
                    where = f"{path.relative_to(ROOT)}:{name}"
                    found[where] = any(what == "place" for what, _ in calls)
    return found


def test_every_put_places_or_has_a_reason() -> None:
    putting = _putting()
    assert {where for where, places in putting.items() if not places} == PLACED_NOWHERE.keys()
    assert {where for where, places in putting.items() if places} == {
        "broker/produce/sends/sending.py:Sending._send_one",
        "broker/produce/sends/sending.py:Sending._send_with_care",
        "broker/produce/sends/batches.py:BatchSending.send",
        "broker/produce/puts/timer_copies.py:TimerPuts.stage",
        "broker/delivery/delays.py:DelayService._stage",
        "broker/transactions/ending.py:Ending._commit",
    }


def _sent(elastic: ElasticBroker, partition: int, **what: object) -> Sent:
    return Producing(elastic.broker).sent(TOPIC, e=partition, **what)


def test_a_send_is_told_the_physical_queue(elastic: ElasticBroker) -> None:
    assert [_sent(elastic, lp).queue_id for lp in (6, 7)] == [0, 1]
    second = _sent(elastic, 4)
    assert (second.queue_id, second.queue_offset) == (0, 1)
    assert [record.queue_id for record in elastic.broker.records(TOPIC, 0)] == [0, 0]


def test_a_send_with_care_too(elastic: ElasticBroker) -> None:
    # A property that needs a decision, and then none.
    sent = _sent(elastic, 7, i=block(DELAY="0"))
    assert (sent.queue_id, sent.queue_offset) == (1, 0)


def test_no_partition_beyond_the_last(elastic: ElasticBroker) -> None:
    refused = Producing(elastic.broker).refused(TOPIC, e=8)
    assert "queueId[8] is illegal" in refused.remark


def test_a_batch_goes_to_its_partitions_queue(elastic: ElasticBroker) -> None:
    body = join_batch([BatchItem(0, b"1", b""), BatchItem(0, b"2", b"")])
    sent = _sent(elastic, 5, body=body, m="true")
    assert sent.queue_id == 1
    assert len(elastic.broker.records(TOPIC, 1)) == 2


def test_a_delayed_message_keeps_its_partition(elastic: ElasticBroker) -> None:
    _sent(elastic, 6, i=block(DELAY="1"))
    (record,) = elastic.broker.records("SCHEDULE_TOPIC_XXXX", 0)
    assert b"REAL_QID\x016\x02" in record.properties


def test_an_ordinary_topic_is_put_where_it_is_sent(elastic: ElasticBroker) -> None:
    elastic.topics.create_if_absent(
        TopicConfig(topic_name="Other", read_queue_nums=4, write_queue_nums=4)
    )
    producing = Producing(elastic.broker)
    assert producing.sent("Other", e=3).queue_id == 3
    elastic.maps.create("Other", new_topic(4, 1000))
    assert producing.sent("Other", e=999).queue_id == 3
    elastic.maps.forget_topic("Other")
    assert "illegal" in producing.refused("Other", e=999).remark
