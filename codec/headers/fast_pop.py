"""Native twins of the POP headers that cross with every message (PopMessage..., AckMessageRequestHeader).

The Structs in `pop` declare them. As with those in `fast`, a test checks that they are equal, and what a
broker does not read is left out.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.codec.headers.fields import (
    add_text,
    boolean_of,
    integer_of,
    lenient_integer,
    lenient_long,
    long_of,
    text_of,
)


class PopHeader:
    """POP_MESSAGE. Whatever number cannot be read counts as absent, and what is absent as 0."""

    __slots__ = (
        "attempt_id",
        "born_time",
        "consumer_group",
        "exp",
        "exp_type",
        "init_mode",
        "invisible_time",
        "max_msg_nums",
        "order",
        "poll_time",
        "queue_id",
        "topic",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - the fields of the header
        self,
        consumer_group: str,
        topic: str,
        queue_id: int,
        max_msg_nums: int,
        invisible_time: int,
        poll_time: int,
        born_time: int,
        init_mode: int,
        exp_type: str | None,
        exp: str | None,
        order: bool,
        attempt_id: str | None,
    ) -> None:
        self.consumer_group = consumer_group
        self.topic = topic
        self.queue_id = queue_id
        self.max_msg_nums = max_msg_nums
        self.invisible_time = invisible_time
        self.poll_time = poll_time
        self.born_time = born_time
        self.init_mode = init_mode
        self.exp_type = exp_type
        self.exp = exp
        self.order = order
        self.attempt_id = attempt_id


class AckHeader:
    """ACK_MESSAGE."""

    __slots__ = ("consumer_group", "extra_info", "lite_topic", "offset", "queue_id", "topic")

    def __init__(
        self,
        consumer_group: str,
        topic: str,
        queue_id: int,
        extra_info: str,
        offset: int,
        lite_topic: str | None,
    ) -> None:
        self.consumer_group = consumer_group
        self.topic = topic
        self.queue_id = queue_id
        self.extra_info = extra_info
        self.offset = offset
        self.lite_topic = lite_topic


def decode_pop(ext: dict[str, str]) -> PopHeader:
    name = "PopMessageRequestHeader"
    return PopHeader(
        text_of(ext, "consumerGroup", name),
        text_of(ext, "topic", name),
        lenient_integer(ext, "queueId") or 0,
        lenient_integer(ext, "maxMsgNums") or 0,
        lenient_long(ext, "invisibleTime") or 0,
        lenient_long(ext, "pollTime") or 0,
        lenient_long(ext, "bornTime") or 0,
        lenient_integer(ext, "initMode") or 0,
        ext.get("expType"),
        ext.get("exp"),
        boolean_of(ext, "order") or False,
        ext.get("attemptId"),
    )


def decode_ack(ext: dict[str, str]) -> AckHeader:
    name = "AckMessageRequestHeader"
    return AckHeader(
        text_of(ext, "consumerGroup", name),
        text_of(ext, "topic", name),
        integer_of(ext, "queueId", name),
        text_of(ext, "extraInfo", name),
        long_of(ext, "offset", name),
        ext.get("liteTopic"),
    )


def encode_pop_response(
    pop_time: int,
    invisible_time: int,
    revive_qid: int,
    rest_num: int,
    start_offset_info: str | None = None,
    msg_offset_info: str | None = None,
    order_count_info: str | None = None,
) -> dict[str, str]:
    """PopMessageResponseHeader as ext fields."""
    fields = {
        "popTime": str(pop_time),
        "invisibleTime": str(invisible_time),
        "reviveQid": str(revive_qid),
        "restNum": str(rest_num),
    }
    add_text(fields, "startOffsetInfo", start_offset_info)
    add_text(fields, "msgOffsetInfo", msg_offset_info)
    add_text(fields, "orderCountInfo", order_count_info)
    return fields
