"""Sending messages."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from trimq.broker.elastic.maps import ElasticMaps
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.produce.puts.rules import PutRefused, PutRules, PutStatus
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.produce.returns.recalling import Recalling
from trimq.broker.produce.returns.reply_pushes import ReplyPushes
from trimq.broker.produce.returns.replying import Replying
from trimq.broker.produce.returns.send_back import SendingBack
from trimq.broker.produce.sends.admission import Admission
from trimq.broker.produce.sends.dead_letters import RetrySends
from trimq.broker.produce.sends.properties import SendProperties
from trimq.broker.produce.sends.sending import Sending
from trimq.broker.produce.sends.unique_ids import UniqueIds
from trimq.broker.stats.traffic import Traffic
from trimq.broker.timers.interface import Timers
from trimq.broker.timers.schedule_rule import TimerRule
from trimq.broker.topics.table import Topics
from trimq.processors._reply_answers import ReplyAnswers
from trimq.processors._send_replies import SendReplies
from trimq.processors.produce.consumer_send_msg_back import ConsumerSendMsgBack
from trimq.processors.produce.recall_message import RecallMessage
from trimq.processors.produce.refuse_sends import RefuseSends
from trimq.processors.produce.send_batch_message import SendBatchMessage
from trimq.processors.produce.send_message import SendMessage
from trimq.processors.produce.send_message_v2 import SendMessageV2
from trimq.processors.produce.send_reply_message import SendReplyMessage
from trimq.processors.produce.send_reply_message_v2 import SendReplyMessageV2
from trimq.remoting.contract import Processor
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.consumers.clients import Clients
from trimq.wiring.parts.messaging.topics import TopicTables


@dataclass(frozen=True, slots=True)
class Sends:
    """The operations of sending, for every protocol that lets clients send, and what they take into account."""

    sending: Sending
    back: SendingBack
    replying: Replying
    recalling: Recalling
    # For others who store what clients have sent.
    rules: PutRules
    staging: Staging
    heed_settings: Callable[[], None]


def sends(
    context: Context,
    topics: TopicTables,
    groups: SubscriptionGroups,
    clients: Clients,
    traffic: Traffic,
    timers: Timers | None,
    maps: ElasticMaps,
) -> Sends:
    config, identity, store, table = context.config, context.identity, context.store, topics.table
    admission = Admission(config, identity, table, context.clock)
    properties = SendProperties(config, UniqueIds(identity.packed_store_host[:-4]), context.clock)
    timer_rule = TimerRule(context.plan.store, context.clock, timers)
    check_light = partial(_check_light, table, store)
    rules = PutRules(context.plan.store.delay_levels, store.check_writable, timer_rule, check_light)
    staging = Staging(store, context.plan.store, identity, context.plan.replies_wait)
    retries = RetrySends(table, groups, clients.locks)
    pushes = ReplyPushes(clients.producers, identity, context.clock)

    def heed_settings() -> None:
        admission.reread()
        properties.reread()

    return Sends(
        Sending(admission, properties, retries, rules, staging, topics.static.by_topic, maps),
        SendingBack(admission, table, groups, rules, staging, traffic),
        Replying(config, admission, properties, rules, staging, pushes),
        Recalling(config, context.plan.store, table, rules, staging, context.clock),
        rules,
        staging,
        heed_settings,
    )


def part(context: Context, made: Sends) -> Part:
    replies = SendReplies(made.sending)
    answers = ReplyAnswers(made.replying)
    sends: list[Processor[Any]] = [
        SendMessage(replies),
        SendMessageV2(replies),
        SendBatchMessage(replies),
        ConsumerSendMsgBack(made.back),
    ]
    if context.plan.is_slave:
        sends = [RefuseSends()]
    return Part(
        name="produce",
        processors=[
            *sends,
            RecallMessage(made.recalling),
            SendReplyMessage(answers),
            SendReplyMessageV2(answers),
        ],
        heed_settings=made.heed_settings,
    )


def _check_light(topics: Topics, store: MessageStore, message: Message) -> None:
    """Nothing comes into lite topics that are being deleted: that would have no end."""
    if message.topic in topics.leaving:
        raise PutRefused(PutStatus.TOPIC_LEAVES, f"{message.topic} is being deleted")
    store.check_light(message)
