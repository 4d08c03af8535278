"""What POP notes and handles say, in words."""

from datetime import UTC, datetime
from typing import Any, Final

from trimq.codec.names import pop_retry_topic, pop_retry_topic_v2
from trimq.codec.pop.handle import Handle, parse_handle

_KINDS: Final = {
    "0": "the topic itself",
    "1": pop_retry_topic("topic", "group"),
    "2": pop_retry_topic_v2("topic", "group"),
}
# Queue and offset of the message, behind the fields that every handle has.
_PLACE: Final = slice(6, 8)


def moment(millis: int) -> str:
    """A timestamp in UTC, or the bare number when it cannot be one."""
    try:
        when = datetime.fromtimestamp(millis / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(millis)
    return f"{when:%Y-%m-%d %H:%M:%S}.{millis % 1000:03d}Z"


def note_lines(note: dict[str, Any]) -> list[str]:
    """Two lines about a checkpoint or an acknowledgement."""
    whose = f"group {note['group']}, {note['topic']} queue {note['queue_id']}"
    offsets = ", ".join(map(str, note["offsets"]))
    if note["kind"] == "acknowledgement":
        return [
            f"POP acknowledgement: {whose}, messages {offsets}",
            f"of the checkpoint that begins at {note['first_offset']}, popped {moment(note['popped'])}",
        ]
    more = (
        [f"acknowledged: {', '.join(map(str, note['acknowledged']))}"]
        if note["acknowledged"]
        else []
    )
    more += ["suspended: coming again does not count as an attempt"] if note["suspended"] else []
    more += [f"rewritten {note['written_anew']} times"] if note["written_anew"] else []
    return [
        f"POP checkpoint: {whose}, messages {offsets}",
        ", ".join(
            [
                f"popped {moment(note['popped'])}, hidden until {moment(note['hidden_until'])}",
                *more,
            ]
        ),
    ]


def handle_fields(text: str) -> dict[str, Any]:
    """A handle (POP_CK, extraInfo) by its fields. CodecError with what is wrong."""
    handle = parse_handle(text)
    found: dict[str, Any] = {
        "kind": "handle",
        "first_offset": handle.first,
        "popped": handle.pop_time,
        "hidden_for": handle.invisible,
        "hidden_until": handle.due,
        "revive_queue": handle.revive_queue,
        "in_order": handle.is_orderly,
        "topic_kind": handle.retry,
        "broker": handle.broker_name,
    }
    found.update(zip(("queue_id", "offset"), text.split(" ")[_PLACE], strict=False))
    return found


def handle_lines(text: str) -> str:
    """The same for people. CodecError with what is wrong."""
    handle, place = parse_handle(text), text.split(" ")[_PLACE]
    lines = [
        f"handle of broker {handle.broker_name}"
        + (f", queue {place[0]} offset {place[1]}" if len(place) > 1 else ""),
        f"popped {moment(handle.pop_time)}, hidden for {handle.invisible / 1000:g} s: until {moment(handle.due)}",
        f"from {_KINDS.get(handle.retry, f'an unknown kind of topic ({handle.retry})')}",
        _checkpoint_of(handle),
    ]
    return "\n    ".join(lines)


def _checkpoint_of(handle: Handle) -> str:
    if handle.is_orderly:
        return "popped in order: no checkpoint, the queue is blocked for the group (consumerOrderInfo.json)"
    return f"its checkpoint begins at {handle.first} and comes to queue {handle.revive_queue} of the revive topic"
