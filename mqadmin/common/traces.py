"""What clients record about their sends and consumptions in the trace topic (TraceDataEncoder).

One body holds many entries; each is a kind and fields that depend on it.
"""

from dataclasses import dataclass
from typing import Final

from trimq.admin.messages.message import Message

SENT: Final = "Pub"
CONSUMED: Final = "SubAfter"

_FIELDS: Final = "\x01"
_ENTRIES: Final = "\x02"
# Where each kind has what: message id, cost, success; clients older than 4.4 end before the last ones.
_SENT_ID, _SENT_COST, _SENT_TIME, _SENT_GROUP = 5, 10, 1, 3
_CONSUMED_ID, _CONSUMED_COST, _CONSUMED_OK = 2, 3, 4
_CONSUMED_TIME, _CONSUMED_GROUP = 7, 8


@dataclass(frozen=True, slots=True)
class Trace:
    """One send or consumption: `time` in milliseconds, `cost` too, `host` who wrote the trace."""

    kind: str
    group: str | None
    host: str
    time: int
    cost: int
    success: bool


def traces_of(message: Message, message_id: str) -> list[Trace]:
    """What a trace message says about one id. Entries that are cut off or are not traces are left out."""
    host = message.born_host.rpartition(":")[0]
    found = []
    for entry in message.body.decode("utf-8", "replace").split(_ENTRIES):
        fields = entry.split(_FIELDS)
        try:
            trace = _trace(fields, message_id, host)
        except (IndexError, ValueError):
            continue
        if trace is not None:
            found.append(trace)
    return found


def _trace(fields: list[str], message_id: str, host: str) -> Trace | None:
    if fields[0] == SENT and fields[_SENT_ID] == message_id:
        # With 13 fields the last one says whether it worked, with more it is the one after the
        # offset id.
        success = fields[12 if len(fields) == 13 else 13].lower() == "true"
        group = fields[_SENT_GROUP]
        return Trace(SENT, group, host, int(fields[_SENT_TIME]), int(fields[_SENT_COST]), success)
    if fields[0] == CONSUMED and fields[_CONSUMED_ID] == message_id:
        told = len(fields) > _CONSUMED_GROUP
        return Trace(
            CONSUMED,
            fields[_CONSUMED_GROUP] if told else None,
            host,
            int(fields[_CONSUMED_TIME]) if told else 0,
            int(fields[_CONSUMED_COST]),
            fields[_CONSUMED_OK].lower() == "true",
        )
    return None
