"""Names of message properties that RocketMQ keeps to itself (MessageConst)."""

from typing import Final

KEYS: Final = "KEYS"
TAGS: Final = "TAGS"
WAIT: Final = "WAIT"
DELAY_LEVEL: Final = "DELAY"
PREPARED: Final = "TRAN_MSG"
PRODUCER_GROUP: Final = "PGROUP"
TRANSFER_FLAG: Final = "TRANSFER_FLAG"
RECONSUME_TIME: Final = "RECONSUME_TIME"
UNIQUE_KEY: Final = "UNIQ_KEY"
PRIORITY: Final = "_SYS_MSG_PRIORITY_"
CHECK_IMMUNITY: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
POP_CK: Final = "POP_CK"
FIRST_POP: Final = "1ST_POP_TIME"
MESSAGE_GROUP: Final = "__SHARDINGKEY"
LITE_TOPIC: Final = "__LITE_TOPIC"
DISPATCH: Final = "INNER_MULTI_DISPATCH"
DISPATCH_OFFSETS: Final = "INNER_MULTI_QUEUE_OFFSET"
TRACE_CONTEXT: Final = "TRACE_CONTEXT"
TIMER_DELAY_SEC: Final = "TIMER_DELAY_SEC"
TIMER_DELAY_MS: Final = "TIMER_DELAY_MS"
TIMER_DELIVER_MS: Final = "TIMER_DELIVER_MS"
BORN_HOST: Final = "__BORNHOST"
BORN_TIMESTAMP: Final = "BORN_TIMESTAMP"
DLQ_TOPIC: Final = "DLQ_ORIGIN_TOPIC"
DLQ_MESSAGE_ID: Final = "DLQ_ORIGIN_MESSAGE_ID"

# What an application may not set, and does not see (STRING_HASH_SET).
RESERVED: Final = frozenset(
    {
        "TRACE_ON",
        "MSG_REGION",
        KEYS,
        TAGS,
        WAIT,
        DELAY_LEVEL,
        "RETRY_TOPIC",
        "ORIGIN_GROUP",
        "REAL_TOPIC",
        "REAL_QID",
        PREPARED,
        PRODUCER_GROUP,
        "MIN_OFFSET",
        "MAX_OFFSET",
        "BUYER_ID",
        "ORIGIN_MESSAGE_ID",
        TRANSFER_FLAG,
        "CORRECTION_FLAG",
        "MQ2_FLAG",
        RECONSUME_TIME,
        UNIQUE_KEY,
        "MAX_RECONSUME_TIMES",
        "CONSUME_START_TIME",
        POP_CK,
        "POP_CK_OFFSET",
        FIRST_POP,
        "TRAN_PREPARED_QUEUE_OFFSET",
        "DUP_INFO",
        "EXTEND_UNIQ_INFO",
        "INSTANCE_ID",
        "CORRELATION_ID",
        "REPLY_TO_CLIENT",
        "TTL",
        "ARRIVE_TIME",
        "PUSH_REPLY_TIME",
        "CLUSTER",
        "MSG_TYPE",
        DISPATCH_OFFSETS,
        TIMER_DELAY_MS,
        TIMER_DELAY_SEC,
        TIMER_DELIVER_MS,
        "TIMER_ENQUEUE_MS",
        "TIMER_DEQUEUE_MS",
        "TIMER_ROLL_TIMES",
        "TIMER_OUT_MS",
        "TIMER_DEL_UNIQKEY",
        "TIMER_DELAY_LEVEL",
        BORN_HOST,
        BORN_TIMESTAMP,
        DLQ_TOPIC,
        DLQ_MESSAGE_ID,
        "__CRC32#",
        PRIORITY,
        LITE_TOPIC,
    }
)
