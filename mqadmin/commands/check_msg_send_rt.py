"""checkMsgSendRT: how long sends to a topic take, queue after queue. Java: CheckMsgSendRTCommand."""

from typing import Final

import click

from trimq.admin.messages.sending import NewMessage
from trimq.mqadmin.common.round_trips import RoundTrips, mean_text
from trimq.mqadmin.framework import Run, admin_command, topic_option
from trimq.mqadmin.text.java import java

_ROW: Final = "{:<32}  {:<4}  {:<20}    {}"


@admin_command("checkMsgSendRT")
@topic_option
@click.option(
    "-a", "--amount", type=click.IntRange(min=1), default=100, show_default=True, help="Messages."
)
@click.option(
    "-s",
    "--size",
    type=click.IntRange(min=0),
    default=128,
    show_default=True,
    help="Bytes of each.",
)
def command(run: Run, topic: str, amount: int, size: int) -> None:
    message = NewMessage(topic=topic, body=b"a" * size)
    places = run.admin.write_queues(topic)
    trips = RoundTrips(run)
    run.out.head(_ROW.format("#Broker Name", "#QID", "#Send Result", "#RT"))
    for number in range(amount):
        place = places[number % len(places)]
        success = trips.send(message, place) is not None
        queue, millis = place.queue, trips.times[-1]
        run.out.row(
            _ROW.format(queue.broker_name, queue.queue_id, java(success), millis),
            {"queue": queue, "success": success, "millis": millis},
        )
    run.out.row(f"Avg RT: {mean_text(trips.mean)}", {"meanMillis": trips.mean})
    trips.complain()
