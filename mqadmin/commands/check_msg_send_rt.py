"""checkMsgSendRT: how long sends to a topic take, queue after queue. Java: CheckMsgSendRTCommand."""

from typing import Final

from trimq.admin.messages.sending import NewMessage
from trimq.mqadmin.common.round_trips import RoundTrips, mean_text
from trimq.mqadmin.framework import Run, admin_command, number_option, topic_option
from trimq.mqadmin.text.java import java

_ROW: Final = "{:<32}  {:<4}  {:<20}    {}"


@admin_command("checkMsgSendRT")
@topic_option
@number_option("-a", "--amount", default=100, help="Messages.")
@number_option("-s", "--size", least=0, default=128, help="Bytes of each.")
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
