"""A consumer's reply to a request: taken to the requester, and stored (ReplyMessageProcessor).

In two steps, since the requester is asked to take it in between: `admit` decides in the read loop, `finish` pushes,
stores whatever came of that, and says both in one outcome. A reply is no send: it gets no UNIQ_KEY and no CLUSTER,
and what the header's flags say of its body is told to the requester only, not to readers of the topic.
"""

import logging

from trimq.broker.config import BrokerConfig
from trimq.broker.produce.puts.outcomes import Sender
from trimq.broker.produce.puts.rules import PutRefused, PutRules
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.produce.puts.wait_stored import wait_stored
from trimq.broker.produce.returns.reply_pushes import ReplyPushes
from trimq.broker.produce.sends.admission import Admission, random_queue
from trimq.broker.produce.sends.properties import SendProperties
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.flags import SysFlag
from trimq.codec.headers.fast import SendHeader
from trimq.codec.records.properties import format_properties, parse_properties
from trimq.store.errors import StoreError
from trimq.store.messages.message import Message

log = logging.getLogger("trimq.produce")

_HOST_FLAGS = int(SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6)


class Reply:
    """An admitted reply: what came, and the message that will be stored.

    `queue_id` is what the replier is told, whatever queue the message ends in.
    """

    __slots__ = ("body", "config", "header", "message", "properties", "queue_id", "replier")

    def __init__(
        self,
        header: SendHeader,
        body: bytes,
        replier: Sender,
        config: TopicConfig,
        properties: dict[str, str],
        message: Message,
    ) -> None:
        self.header = header
        self.body = body
        self.replier = replier
        self.config = config
        self.properties = properties
        self.message = message
        self.queue_id = message.queue_id


class Replied:
    """What the replier is told.

    `not_pushed`: why the requester has not got it; None when it has. `message_id` is None when the reply was
    neither pushed nor stored, "0" when it was pushed but not stored. `durable_at` as in `Sent`.
    """

    __slots__ = ("durable_at", "message_id", "not_pushed", "queue_id", "queue_offset")

    def __init__(self, queue_id: int) -> None:
        self.not_pushed: str | None = None
        self.message_id: str | None = None
        self.queue_id = queue_id
        self.queue_offset = 0
        self.durable_at = -1


class Replying:
    def __init__(
        self,
        config: BrokerConfig,
        admission: Admission,
        properties: SendProperties,
        rules: PutRules,
        staging: Staging,
        pushes: ReplyPushes,
    ) -> None:
        self._config = config
        self._admission = admission
        self._properties = properties
        self._rules = rules
        self._staging = staging
        self._pushes = pushes

    @property
    def told(self) -> dict[str, str]:
        """What every answer to a replier says about this broker; must not be changed."""
        return self._properties.reply_fields

    def admit(self, header: SendHeader, body: bytes, replier: Sender) -> Reply:
        """RemotingError with the real broker's code and remark; the topic may have been created."""
        config = self._admission.admit(header, replier)
        queue_id = header.queue_id
        if queue_id < 0:
            queue_id = random_queue(config)
        properties = parse_properties(header.properties or "")
        properties.update(self._properties.reply_fields)
        message = self._staging.message(header, body, replier, config, queue_id)
        message.sys_flag &= _HOST_FLAGS
        # Without the time of the push, which is for the requester.
        message.properties = format_properties(properties)
        return Reply(header, body, replier, config, properties, message)

    async def finish(self, reply: Reply) -> Replied:
        """CodecError when a property that decides how it is stored cannot be understood."""
        replied = Replied(reply.queue_id)
        try:
            replied.not_pushed = await self._pushes.push(
                reply.header, reply.properties, reply.body, reply.replier
            )
            if replied.not_pushed is None:
                replied.message_id = "0"
        finally:
            # Stored in any case, also when the replier's connection ends while the requester is asked.
            if self._config.store_reply_message_enable:
                self._put(reply, replied)
        return replied

    def _put(self, reply: Reply, replied: Replied) -> None:
        message, staging = reply.message, self._staging
        properties_sent = message.properties
        try:
            self._rules.apply(message, reply.properties, reply.config.attributes)
            if message.topic == reply.header.topic:
                message.properties = properties_sent
            appended = staging.store.put(message)
        except (PutRefused, StoreError) as error:
            log.warning("reply not stored: topic=%s reason=%s", message.topic, error)
            return
        replied.message_id = staging.id_of(appended)
        replied.queue_offset = appended.queue_offset
        if staging.waits and wait_stored(reply.properties):
            replied.durable_at = appended.end
