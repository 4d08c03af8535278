"""queryMsgById: show messages by offset id or unique id, or send them once more.

Java: QueryMsgByIdSubCommand.
"""

from pathlib import Path
from typing import Final

import click

from trimq.admin.messages.sending import NewMessage
from trimq.codec.records import property_keys
from trimq.mqadmin.common.direct import consume_again, target_of
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run, admin_command, boolean_option, topic_option
from trimq.mqadmin.text.messages import MessageText, bodies_option, body_codec, sent_text

# The producer gives a message that is sent again a new id.
_OWN: Final = (property_keys.UNIQ_KEY, property_keys.WAIT)


@admin_command("queryMsgById")
@topic_option
@click.option("-i", "--msgId", "ids", required=True, help="Ids, separated by commas.")
@click.option("-g", "--consumerGroup", "group", help="With -d: deliver it again to a consumer.")
@click.option("-d", "--clientId", "client_id", help="The consumer's client id.")
@boolean_option("-s", "--sendMessage", "resend", help="Send the message once more.")
@click.option("-u", "--unitName", "unit", help="Accepted as by the official tool.")
@click.option("-f", "--bodyFormat", "charset", help="Print the body in this character set.")
@click.option("-c", "--cluster", help="Search this cluster only.")
@bodies_option
def command(
    run: Run,
    topic: str,
    ids: str,
    group: str | None,
    client_id: str | None,
    resend: bool | None,
    unit: str | None,
    charset: str | None,
    cluster: str | None,
    out: Path | None,
) -> None:
    codec = body_codec(charset)
    target = target_of(group, client_id)
    for message_id in filter(None, (part.strip() for part in ids.split(","))):
        try:
            message = run.admin.message_by_id(topic, message_id, cluster)
            if target is not None:
                consume_again(run, message, target)
                continue
        except FAILURES as error:
            run.problem(error)
            continue
        if resend:
            kept = {k: v for k, v in message.properties.items() if k not in _OWN}
            again = NewMessage(topic=message.topic, body=message.body, properties=kept)
            run.out.text(f"prepare resend msg. originalMsgId={message_id}")
            sent = run.admin.send(again)
            run.out.text(sent_text(sent))
            run.out.value(sent)
        elif resend is None:
            MessageText(run, message, out).by_id(codec)
