"""Messages as the official tool prints them (QueryMsgByIdSubCommand, MessageExt.toString)."""

import codecs
from pathlib import Path
from typing import Any, Final

import click

from trimq.admin.messages.finding import Track
from trimq.admin.messages.message import Message
from trimq.admin.messages.pulling import Place
from trimq.admin.messages.sending import Sent
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.java.moments import local_time
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.files.writing import TOOLS_FOLDER, is_plain_name, out_option, write_file
from trimq.mqadmin.framework import Run
from trimq.mqadmin.output import plain
from trimq.mqadmin.text.java import hash_order, java, joined, queue_hash, string_map

# Where the official tool puts bodies, one file per message.
BODIES: Final = TOOLS_FOLDER / "msgbodys"
# MessageDecoder.string2messageProperties makes a table of that size.
_PROPERTIES: Final = 128


bodies_option = out_option(str(BODIES))
"""Where the body of a message is left."""


class MessageText:
    """Prints one message in full, with what its groups did with it; its body goes to a file in `out`."""

    def __init__(self, run: Run, message: Message, out: Path | None) -> None:
        self._run = run
        self._message = message
        self._folder = out or BODIES

    def by_id(self, codec: str | None) -> None:
        """With its offset id; with its body if a codec is given."""
        message = self._message
        self._print("OffsetID:", java(message.offset_id or None))
        self._common(message.message_id)
        if codec is not None:
            self._print("Message Body:", message.body.decode(codec, "replace"))
        self._tracks("\n")

    def by_unique_key(self, number: int) -> None:
        """Without its offset id; `number` counts messages that share the unique id."""
        self._common(self._message.message_id + (f"_{number}" if number else ""))
        self._tracks("")

    def _print(self, name: str, value: object) -> None:
        self._run.out.line(f"{name:<20} {value}")

    def _common(self, file_name: str) -> None:
        message = self._message
        self._print("Topic:", message.topic)
        self._print("Tags:", f"[{java(message.tags)}]")
        self._print("Keys:", f"[{java(message.keys)}]")
        self._print("Queue ID:", message.queue_id)
        self._print("Queue Offset:", message.queue_offset)
        self._print("CommitLog Offset:", message.physical_offset)
        self._print("Reconsume Times:", message.reconsume_times)
        self._print("Born Timestamp:", local_time(message.born_timestamp))
        self._print("Store Timestamp:", local_time(message.store_timestamp))
        self._print("Born Host:", message.born_host)
        self._print("Store Host:", message.store_host)
        self._print("System Flag:", message.sys_flag)
        self._print("Properties:", java(string_map(message.properties, _PROPERTIES)))
        if not self._run.out.as_json:
            self._print("Message Body Path:", self._write_body(file_name))

    def _write_body(self, name: str) -> Path:
        """The name contains the unique id, which the producer chooses; it does not choose the offset id."""
        names = [one for one in (name, self._message.offset_id) if is_plain_name(one)]
        for one in names:
            try:
                return write_file(self._folder, one, self._message.body)
            except FileExistsError:
                continue
            except OSError as error:
                problem = f"the body cannot be written to {self._folder / one}: {error.strerror}"
                self._run.problem(problem)
                return self._folder / one
        file = self._folder / names[-1]
        self._run.problem(f"the body is not written: there is another file {file}")
        return file

    def _tracks(self, line_end: str) -> None:
        out = self._run.out
        tracks: list[Track] | None = None
        try:
            tracks = self._run.admin.message_tracks(self._message)
        except FAILURES as error:
            self._run.problem(f"it is not known what groups did with the message: {error}")
        out.value({**message_value(self._message), "tracks": tracks})
        if tracks is not None:
            out.text("\n\n" if tracks else "\n\nWARN: No Consumer")
            for track in tracks:
                out.text(_track_text(track) + line_end)


def message_value(message: Message) -> dict[str, Any]:
    """A message for JSON, with its unique id."""
    return {"messageId": message.message_id, **plain(message)}


def message_text(message: Message, *, as_stored: bool = False) -> str:
    """MessageExt.toString; of a stored one, what is read without its body and a client's additions."""
    parts = {
        "brokerName": message.broker_name,
        "queueId": message.queue_id,
        "storeSize": message.store_size,
        "queueOffset": message.queue_offset,
        "sysFlag": message.sys_flag,
        "bornTimestamp": message.born_timestamp,
        "bornHost": f"/{message.born_host}",
        "storeTimestamp": message.store_timestamp,
        "storeHost": f"/{message.store_host}",
        "msgId": message.offset_id or None,
        "commitLogOffset": message.physical_offset,
        "bodyCRC": message.body_crc,
        "reconsumeTimes": message.reconsume_times,
        "preparedTransactionOffset": message.prepared_transaction_offset,
        "toString()": _payload_text(message, as_stored),
    }
    return f"MessageExt [{joined(parts)}]"


def _payload_text(message: Message, as_stored: bool) -> str:
    """Message.toString. The body's bytes are signed, as Java's are."""
    signed = (byte - 256 if byte > 127 else byte for byte in message.body)
    body = None if as_stored else list(signed)
    is_half = not as_stored and _is_half(message)
    transaction = message.properties.get("UNIQ_KEY") if is_half else None
    parts = {
        "topic": f"'{message.topic}'",
        "flag": message.flag,
        "properties": java(string_map(message.properties, _PROPERTIES)),
        "body": body,
        "transactionId": f"'{java(transaction)}'",
    }
    return f"Message{{{joined(parts)}}}"


def _is_half(message: Message) -> bool:
    return message.properties.get("TRAN_MSG", "").lower() == "true"


def queue_text(queue: MessageQueue) -> str:
    """MessageQueue.toString."""
    parts = {"topic": queue.topic, "brokerName": queue.broker_name, "queueId": queue.queue_id}
    return f"MessageQueue [{joined(parts)}]"


def places_in_order(places: list[Place]) -> list[Place]:
    """As Java's two sets of queues, one filled from the other, list them."""

    def hash_of(place: Place) -> int:
        return queue_hash(place.queue)

    return hash_order(hash_order(places, hash_of), hash_of)


def sent_text(sent: Sent) -> str:
    """SendResult.toString."""
    parts = {
        "sendStatus": sent.status,
        "msgId": sent.message_id,
        "offsetMsgId": sent.offset_id,
        "messageQueue": queue_text(sent.queue),
        "queueOffset": sent.queue_offset,
        "recallHandle": sent.recall_handle,
    }
    return f"SendResult [{joined(parts)}]"


def _track_text(track: Track) -> str:
    parts = {
        "consumerGroup": track.group,
        "trackType": track.kind,
        "exceptionDesc": track.problem,
    }
    return f"MessageTrack [{joined(parts)}]"


def body_codec(charset: str | None) -> str | None:
    """The character set's name; a usage error when there is no such set."""
    if charset is None:
        return None
    try:
        return codecs.lookup(charset).name
    except LookupError:
        raise click.UsageError(f"there is no character set {charset!r}") from None
