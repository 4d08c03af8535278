"""What lies in the queues of one broker, whichever role it has; nothing is committed, and nothing noted."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from tests.history.calls import Entry, Place, digest_of
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.offsets import GetMaxOffsetRequestHeader, GetMinOffsetRequestHeader
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.codec.records.record import parse_record
from trimq.remoting.clients.blocking import BlockingClient

HAS_SUBSCRIPTION: Final = 4
# The group that reads everything at the end.
LAST_READERS: Final = "LastReaders"
_SIZE: Final = 32
_BETWEEN: Final = 0.05


def pull_header(group: str, place: Place, offset: int, size: int) -> PullMessageRequestHeader:
    """Does not wait for messages, commits nothing."""
    return PullMessageRequestHeader(
        consumer_group=group,
        topic=place.topic,
        queue_id=place.queue,
        queue_offset=offset,
        max_msg_nums=size,
        sys_flag=HAS_SUBSCRIPTION,
        commit_offset=0,
        suspend_timeout_millis=0,
        subscription="*",
        sub_version=0,
    )


def entries_of(answer: RemotingCommand | None, place: Place) -> list[Entry]:
    """The messages of a pull's answer, each parsed and its CRC checked; AssertionError if one is of another queue."""
    entries: list[Entry] = []
    if answer is None or answer.code != ResponseCode.SUCCESS:
        return entries
    data, at = bytes(answer.body), 0
    while at < len(data):
        record = parse_record(data, at)
        assert (record.topic, record.queue_id) == (place.topic, place.queue), record
        body = record.body
        entries.append(Entry(record.queue_offset, attempt_of(body), digest_of(body)))
        at += record.total_size
    return entries


def attempt_of(body: bytes) -> str:
    """Bodies begin with it; what is no attempt's shows as it is."""
    return body.partition(b"|")[0][:100].decode(errors="replace")


def end_of(client: BlockingClient, place: Place) -> int:
    """Behind the last message that may be read. AssertionError if the broker refuses to say."""
    header = GetMaxOffsetRequestHeader(topic=place.topic, queue_id=place.queue)
    return _offset(client.request(RequestCode.GET_MAX_OFFSET, header))


def begin_of(client: BlockingClient, place: Place) -> int:
    header = GetMinOffsetRequestHeader(topic=place.topic, queue_id=place.queue)
    return _offset(client.request(RequestCode.GET_MIN_OFFSET, header))


def ends(addr: str, places: Iterable[Place], timeout: float) -> dict[Place, int]:
    with BlockingClient(addr, timeout=timeout) as client:
        return {place: end_of(client, place) for place in places}


def read_queue(client: BlockingClient, place: Place, patience: float) -> list[Entry]:
    """From its first to its last message, as the broker hands them out: gaps stay gaps.

    AssertionError when it does not come to the end within `patience` seconds.
    """
    at, end = begin_of(client, place), end_of(client, place)
    entries: list[Entry] = []
    deadline = time.monotonic() + patience
    while at < end:
        answer = client.request(
            RequestCode.PULL_MESSAGE, pull_header(LAST_READERS, place, at, _SIZE)
        )
        found = entries_of(answer, place)
        entries += found
        follows = int((answer.ext_fields or {}).get("nextBeginOffset", at))
        is_stuck = not found and follows <= at
        at = found[-1].offset + 1 if found else max(at, follows)
        assert time.monotonic() < deadline, f"{client.addr} stays at {at} of {place}: {answer}"
        if is_stuck:
            time.sleep(_BETWEEN)
    return entries


def read_queues(
    addr: str, places: Iterable[Place], *, timeout: float = 5, patience: float = 60
) -> dict[Place, list[Entry]]:
    """Every queue to its end, from one broker; a slave must be allowed to be read (slaveReadEnable)."""
    with BlockingClient(addr, timeout=timeout) as client:
        return {place: read_queue(client, place, patience) for place in places}


def _offset(answer: RemotingCommand) -> int:
    assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
    return int((answer.ext_fields or {})["offset"])
