"""Taking a timer message back: a record that goes to its slot and names it (RecallMessageProcessor).

Whether the message still waits is not looked at: when the slot is taken out, the records that name
messages are read first, and the messages named are left out. The answer says only that this was stored.
"""

import logging
from typing import Final, NamedTuple

from trimq.base.clock import Clock
from trimq.broker.config import SLAVE, BrokerConfig
from trimq.broker.produce.puts.outcomes import Refused, Sender
from trimq.broker.produce.puts.rules import PutRefused, PutRules
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.topics.table import Topics
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm
from trimq.codec.headers.messages import RecallMessageRequestHeader
from trimq.codec.java.numbers import parse_long
from trimq.codec.names import RECALL_TAG, is_brokers_own
from trimq.codec.records.property_keys import (
    BORN_TIMESTAMP,
    PGROUP,
    TAGS,
    TIMER_DEL_UNIQKEY,
    TIMER_DELIVER_MS,
    TRACE_CONTEXT,
    UNIQ_KEY,
)
from trimq.codec.records.recall_handle import (
    BadHandle,
    RecallHandle,
    delete_key,
    parse_recall_handle,
)
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError

log = logging.getLogger("trimq.produce")

_BODY: Final = b"0"
_UNAVAILABLE: Final = "recall failed, broker service not available"


class Recalled(NamedTuple):
    """The recall is staged. `unique` is the target's UNIQ_KEY; `durable_at` as in `Sent`."""

    unique: str
    durable_at: int


class Recalling:
    """Decides about a recall in the original's order, and stages it."""

    def __init__(
        self,
        config: BrokerConfig,
        store_config: StoreConfig,
        topics: Topics,
        rules: PutRules,
        staging: Staging,
        clock: Clock,
    ) -> None:
        self._config = config
        self._store_config = store_config
        self._topics = topics
        self._rules = rules
        self._staging = staging
        self._clock = clock

    @property
    def region(self) -> str:
        """What every answer says."""
        return self._config.region_id

    def recall(self, header: RecallMessageRequestHeader, sender: Sender) -> Recalled | Refused:
        """CodecError: the real broker fails on a missing topic, and on some handles."""
        refused = self._unavailable()
        if refused is not None:
            return refused
        if header.topic is None:
            raise CodecError("RecallMessageRequestHeader needs the field 'topic'")
        if is_brokers_own(header.topic):
            return Refused(
                ResponseCode.NO_PERMISSION,
                f"Sending message to topic[{header.topic}] is forbidden.",
            )
        if self._topics.get(header.topic) is None:
            return Refused(
                ResponseCode.TOPIC_NOT_EXIST, f"recall failed, the topic[{header.topic}] not exist"
            )
        try:
            handle = parse_recall_handle(header.recall_handle or "")
        except BadHandle:
            return _illegal("recall handle is invalid")
        if header.topic != handle.topic:
            return _illegal("recall failed, topic not match")
        if self._staging.broker_name != handle.broker:
            return _illegal(_UNAVAILABLE)
        now = self._clock.millis()
        time = parse_long(handle.time_text)
        longest = self._store_config.timer_max_delay_sec * 1000
        if time is None or not 0 < time - now < longest:
            return _illegal("recall failed, timestamp invalid")
        return self._stage(header, handle, sender, now)

    def _unavailable(self) -> Refused | None:
        """What is wrong with this broker, whatever is recalled."""
        config = self._config
        if not config.recall_message_enable:
            return Refused(ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")
        if config.broker_role == SLAVE:
            return Refused(ResponseCode.SLAVE_NOT_AVAILABLE, _UNAVAILABLE)
        is_too_early = self._clock.millis() < config.start_accept_send_request_time_stamp
        is_writable = Perm.writable(config.broker_permission)
        if is_too_early or not (is_writable or config.allow_recall_when_broker_not_writeable):
            return Refused(ResponseCode.SERVICE_NOT_AVAILABLE, _UNAVAILABLE)
        return None

    def _stage(
        self,
        header: RecallMessageRequestHeader,
        handle: RecallHandle,
        sender: Sender,
        now: int,
    ) -> Recalled | Refused:
        with_topic = self._store_config.append_topic_for_timer_delete_key
        properties = {
            TAGS: RECALL_TAG,
            TIMER_DEL_UNIQKEY: delete_key(handle.topic, handle.unique, with_topic),
            UNIQ_KEY: handle.unique,
            TIMER_DELIVER_MS: handle.time_text,
            BORN_TIMESTAMP: str(now),
            TRACE_CONTEXT: "",
        }
        if header.producer_group is not None:
            properties[PGROUP] = header.producer_group
        message = self._staging.own_message(handle.topic, _BODY, sender, now)
        try:
            self._rules.apply(message, properties, None)
            staged = self._staging.stage(message, 0, handle.unique, self._staging.waits)
        except (PutRefused, StoreError) as error:
            log.warning("recall failed: topic=%s reason=%s", handle.topic, error)
            return Refused(ResponseCode.SYSTEM_ERROR, "recall failed, execute error")
        return Recalled(handle.unique, staged.durable_at)


def _illegal(remark: str) -> Refused:
    return Refused(ResponseCode.ILLEGAL_OPERATION, remark)
