"""queryCq: entries of a consume queue. Java: QueryConsumeQueueCommand."""

from typing import Final

import click

from trimq.admin.errors import NotFound
from trimq.admin.messages.pulling import Place
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import ConsumeQueueData
from trimq.codec.java import fastjson
from trimq.codec.names import MASTER_ID
from trimq.mqadmin.framework import Run, admin_command, chosen_addrs, number_option, topic_option
from trimq.mqadmin.text.java import java

_RULE: Final = "=" * 38


@admin_command("queryCq")
@topic_option
@click.option(
    "-q", "--queue", "queue_id", type=click.IntRange(min=0), required=True, help="The queue."
)
@click.option("-i", "--index", type=click.IntRange(min=0), required=True, help="The first entry.")
@number_option("-c", "--count", default=10, help="How many entries.")
@click.option("-b", "--broker", "broker_addr", metavar="HOST:PORT", help="Ask this broker.")
@click.option("-g", "--consumer", "group", help="Show what this group subscribes to, too.")
def command(
    run: Run,
    topic: str,
    queue_id: int,
    index: int,
    count: int,
    broker_addr: str | None,
    group: str | None,
) -> None:
    addr = (
        _first_master(run, topic)
        if broker_addr is None
        else chosen_addrs(run, broker_addr, None)[0]
    )
    place = Place(MessageQueue(topic=topic, queue_id=queue_id), addr)
    found = run.admin.consume_queue(place, index, count, group)
    run.out.value(found)
    if found.subscription_data is not None:
        text = fastjson.dumps(found.subscription_data, pretty_tabs=True).decode()
        run.out.line(f"Subscription data: \n{text}\n{_RULE}")
    if found.filter_data is not None:
        run.out.line(f"Filter data: \n{found.filter_data}\n{_RULE}")
    run.out.line(
        f"Queue data: \nmax: {found.max_queue_index}, min: {found.min_queue_index}\n{_RULE}"
    )
    for number, entry in enumerate(found.queue_data or (), index):
        run.out.line(f"idx: {number}\n{_entry_text(entry)}\n{_RULE}")


def _first_master(run: Run, topic: str) -> str:
    brokers = run.admin.topic_route(topic).broker_datas
    addr = brokers[0].broker_addrs.get(MASTER_ID) if brokers else None
    if addr is None:
        raise NotFound(f"topic {topic!r} has no master")
    return addr


def _entry_text(entry: ConsumeQueueData) -> str:
    """ConsumeQueueData.toString."""
    parts = {
        "physicOffset": entry.physic_offset,
        "physicSize": entry.physic_size,
        "tagsCode": entry.tags_code,
        "extendDataJson": f"'{java(entry.extend_data_json)}'",
        "bitMap": f"'{java(entry.bit_map)}'",
        "eval": java(entry.eval),
        "msg": f"'{java(entry.msg)}'",
    }
    return "ConsumeQueueData{" + ", ".join(f"{key}={value}" for key, value in parts.items()) + "}"
