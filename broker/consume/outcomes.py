"""What becomes of a pull, and which code says so: values that know nothing about responses.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.broker.consume.static_pulls import PartPull
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.fast import PullHeader
from trimq.codec.names import lite_queue
from trimq.remoting.peer import Peer, ReplyBody
from trimq.store.messages.filter import MessageFilter
from trimq.store.reading.pulls import ReadResult, ReadStatus, Scan

_CODES: dict[ReadStatus, ResponseCode] = {
    ReadStatus.FOUND: ResponseCode.SUCCESS,
    ReadStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    ReadStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    ReadStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    ReadStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    ReadStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    ReadStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
}


class ForbiddenType:
    """Why a pull has no permission (ForbiddenType)."""

    BROKER: Final = 1
    GROUP: Final = 2
    TOPIC: Final = 3
    BROADCASTING: Final = 4
    SUBSCRIPTION: Final = 5


class Refused:
    """A pull that is refused. `forbidden`: a ForbiddenType with NO_PERMISSION, 0 with other codes."""

    __slots__ = ("code", "forbidden", "remark")

    def __init__(self, code: int, remark: str, forbidden: int = 0) -> None:
        self.code: int = code
        self.remark: str = remark
        self.forbidden: int = forbidden


class Pull:
    """A pull: what was asked by whom, what decides it, and finally its answer.

    `lite`: asked as LITE_PULL_MESSAGE. `forwarded`: another broker has already found the part of a
    static topic's queue.
    """

    __slots__ = (
        "asked",
        "body",
        "code",
        "codes",
        "fields",
        "filter",
        "forwarded",
        "gated",
        "group",
        "header",
        "lite",
        "openings",
        "part",
        "peer",
        "remark",
        "topic",
        "unread",
        "until",
        "wakes",
    )

    # Set by the checks that come first.
    topic: TopicConfig
    group: SubscriptionGroupConfig

    def __init__(self, asked: PullHeader, peer: Peer, lite: bool, forwarded: bool) -> None:
        self.asked: PullHeader = asked
        self.peer: Peer = peer
        self.lite: bool = lite
        self.forwarded: bool = forwarded
        # Of one of this broker's queues; `part` is set if the client meant a static topic's.
        self.header: PullHeader = asked
        self.part: PartPull | None = None
        # Tag hashes; None is every tag.
        self.codes: frozenset[int] | None = None
        # What else it wants of messages; or an expression that has to be read first.
        self.filter: MessageFilter | None = None
        self.unread: str | None = None
        # How often pulls were woken when this one looked, but by messages.
        self.wakes: int = 0
        # Of an elastic topic: its group reads in order, and where this read ends.
        self.gated: bool = False
        self.openings: int = 0
        self.until: int | None = None
        # The answer: a ResponseCode, PullMessageResponseHeader's fields, records.
        self.code: int = 0
        self.remark: str | None = None
        self.fields: dict[str, str] | None = None
        self.body: ReplyBody = b""


class Awaiting:
    """Nothing found: the pull needs a message. `end`: where the queue ended at that time."""

    __slots__ = ("end", "pull")

    def __init__(self, pull: Pull, end: int) -> None:
        self.pull: Pull = pull
        self.end: int = end


class Unread:
    """Nothing decided: the pull's own expression has to be read first."""

    __slots__ = ("is_first", "pull", "text")

    def __init__(self, pull: Pull, text: str, is_first: bool) -> None:
        self.pull: Pull = pull
        self.text: str = text
        self.is_first: bool = is_first


class Sifting:
    """Everything decided but which messages the pull's filter wants: more of them have to be looked at."""

    __slots__ = ("is_first", "may_hold", "pull", "scan")

    def __init__(self, pull: Pull, scan: Scan, may_hold: bool, is_first: bool) -> None:
        self.pull: Pull = pull
        self.scan: Scan = scan
        self.may_hold: bool = may_hold
        self.is_first: bool = is_first


class Cold:
    """The answer lacks its body, which has to be read from the disk."""

    __slots__ = ("found", "pull")

    def __init__(self, pull: Pull, found: ReadResult) -> None:
        self.pull: Pull = pull
        self.found: ReadResult = found


class Compacted:
    """Nothing decided: the topic keeps the newest message of each key, in files that a thread reads."""

    __slots__ = ("is_first", "may_hold", "pull")

    def __init__(self, pull: Pull, may_hold: bool, is_first: bool) -> None:
        self.pull: Pull = pull
        self.may_hold: bool = may_hold
        self.is_first: bool = is_first


class Elsewhere:
    """Another broker has the part."""

    __slots__ = ("part", "pull")

    def __init__(self, pull: Pull, part: PartPull) -> None:
        self.pull: Pull = pull
        self.part: PartPull = part


def pull_code(status: ReadStatus, asked_offset: int) -> ResponseCode:
    """What a queue's state means to the client (composeResponseHeader)."""
    code = _CODES.get(status)
    if code is not None:
        return code
    # An empty queue: only offset 0 is right there.
    return ResponseCode.PULL_OFFSET_MOVED if asked_offset else ResponseCode.PULL_NOT_FOUND


def store_topic(header: PullHeader) -> str:
    """Lite topics are light queues of their parent (LiteUtil.toLmqName)."""
    lite_topic = header.lite_topic
    if lite_topic and not lite_topic.isspace():
        return lite_queue(header.topic, lite_topic)
    return header.topic
