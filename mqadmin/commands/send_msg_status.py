"""sendMsgStatus: send test messages to the topic that a broker keeps under its own name.

Java: SendMsgStatusCommand. One more message goes ahead of those that are counted.
"""

import click

from trimq.admin.messages.sending import NewMessage
from trimq.mqadmin.common.round_trips import RoundTrips
from trimq.mqadmin.framework import Run, admin_command, number_option
from trimq.mqadmin.text.messages import sent_text

_TEXT = b"hello jodie"


@admin_command("sendMsgStatus")
@click.option("-b", "--brokerName", "broker_name", required=True, help="The broker's name.")
@number_option("-s", "--messageSize", "size", default=128, help="Bytes of a body.")
@number_option("-c", "--count", default=50, help="How many messages.")
def command(run: Run, broker_name: str, size: int, count: int) -> None:
    trips = RoundTrips(run)
    # The first one may create the topic; only then are its queues known for certain.
    run.admin.send(_message(broker_name, 16))
    places = run.admin.write_queues(broker_name)
    for number in range(count):
        sent = trips.send(_message(broker_name, size), places[number % len(places)])
        if sent is not None:
            millis = trips.times[-1]
            run.out.line(f"rt={millis}ms, SendResult={sent_text(sent)}")
            run.out.value({"millis": millis, "sent": sent})
    trips.complain()


def _message(topic: str, size: int) -> NewMessage:
    """Whole texts, at least as many bytes as asked for."""
    return NewMessage(topic=topic, body=_TEXT * -(-size // len(_TEXT)))
