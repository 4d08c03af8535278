"""Java's enums in JSON bodies: their names, in Java's order, because a number is the position in it."""

from typing import Final, Literal

ConsumeType = Literal["CONSUME_ACTIVELY", "CONSUME_PASSIVELY", "CONSUME_POP"]
MessageModel = Literal["BROADCASTING", "CLUSTERING", "LITE_SELECTIVE"]
ConsumeFromWhere = Literal[
    "CONSUME_FROM_LAST_OFFSET",
    "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
    "CONSUME_FROM_MIN_OFFSET",
    "CONSUME_FROM_MAX_OFFSET",
    "CONSUME_FROM_FIRST_OFFSET",
    "CONSUME_FROM_TIMESTAMP",
]
TopicFilterType = Literal["SINGLE_TAG", "MULTI_TAG"]
GroupRetryPolicyType = Literal["EXPONENTIAL", "CUSTOMIZED"]
MessageRequestMode = Literal["PULL", "POP"]
LiteSubscriptionAction = Literal["PARTIAL_ADD", "PARTIAL_REMOVE", "COMPLETE_ADD", "COMPLETE_REMOVE"]
OffsetOptionType = Literal["POLICY", "OFFSET", "TAIL_N", "TIMESTAMP"]
# The outcome of a message that a client was given directly (CMResult).
ConsumeResult = Literal[
    "CR_SUCCESS",
    "CR_LATER",
    "CR_ROLLBACK",
    "CR_COMMIT",
    "CR_THROW_EXCEPTION",
    "CR_RETURN_NULL",
]

TOPIC_FILTER_TYPES: Final[dict[str, TopicFilterType]] = {
    "SINGLE_TAG": "SINGLE_TAG",
    "MULTI_TAG": "MULTI_TAG",
}
