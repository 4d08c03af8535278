"""Whether the members of a consumer group want the same things, and what the group loses when they
do not.

A broker has one subscription per group and topic, and every heartbeat replaces it. TriMQ says what
each member wants and since when; the members of a real broker are asked one by one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trimq.admin.brokers.cluster import topic_route
from trimq.admin.connecting.link import Link, ask
from trimq.admin.errors import AdminError, NotFound
from trimq.admin.groups.groups import groups_of
from trimq.admin.groups.losses import Loss, losses_of_manner, losses_of_topic
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.clients import ConsumerConnectionAndMembers, MemberAccount, OverwriteCount
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.queue_tables import ConsumerRunningInfo, by_queue
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.clients import (
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    ListConnectionsAndMembersRequestHeader,
)
from trimq.remoting.errors import TransportError

SUBSCRIPTION = "topic"
MANNERS = ("consumeType", "messageModel", "consumeFromWhere")


@dataclass(slots=True, kw_only=True)
class GroupMember:
    """A member and what it says about itself; None where that is not known.

    `since` is when it began to say so and `started` when it started (milliseconds since 1970).
    `subscriptions` are by topic, `queues` those that it is reading.
    """

    client_id: str
    addr: str | None
    since: int | None = None
    started: int | None = None
    consume_type: str | None = None
    message_model: str | None = None
    consume_from_where: str | None = None
    subscriptions: dict[str, SubscriptionData] | None = None
    queues: list[MessageQueue] | None = None

    def manner(self, name: str) -> str | None:
        """Its consumeType, messageModel or consumeFromWhere."""
        said = (self.consume_type, self.message_model, self.consume_from_where)
        return said[MANNERS.index(name)]


@dataclass(slots=True, kw_only=True)
class Opinion:
    """What some of the members say; `expression` is None for those who do not want the topic.

    `type` is TAG, SQL92, or None where the dispute is not about a topic. `in_force`: the broker
    goes by it now.
    """

    expression: str | None
    type: str | None
    members: list[str]
    in_force: bool


@dataclass(slots=True, kw_only=True)
class Dispute:
    """What members differ on: `about` a "topic", or one of MANNERS.

    `since` is in milliseconds since 1970, None where the broker does not say. `in_force` is the
    broker's entry now, whoever said it; None: the topic has none.
    """

    about: str
    topic: str | None
    since: int | None
    in_force: str | None
    opinions: list[Opinion]
    losses: list[Loss]


@dataclass(slots=True, kw_only=True)
class GroupAgreement:
    """A group at one broker. `unasked` has a sentence for each member that could not be asked.

    `overwrites` are those that a TriMQ broker has seen, the latest last; None: the broker does not
    say.
    """

    group: str
    broker_addr: str
    members: list[GroupMember]
    disputes: list[Dispute] = field(default_factory=list)
    overwrites: list[OverwriteCount] | None = None
    unasked: dict[str, str] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Nothing is in dispute, as far as members could be asked."""
        return not self.disputes


async def group_agreement(link: Link, addr: str, group: str) -> GroupAgreement:
    """Whether the members that are connected to a broker agree; NotFound when there are none."""
    header = ListConnectionsAndMembersRequestHeader(consumer_group=group, with_members=True)
    code = RequestCode.GET_CONSUMER_CONNECTION_LIST
    accepted = (ResponseCode.SUCCESS, ResponseCode.CONSUMER_NOT_ONLINE)
    answer = await ask(link, addr, code, header, accepted=accepted)
    found = ConsumerConnectionAndMembers()
    if answer.code == ResponseCode.SUCCESS:
        found = decode_body(ConsumerConnectionAndMembers, answer.body)
    if not found.connection_set:
        raise NotFound(f"no consumer of group {group!r} is connected to {addr}")
    result = GroupAgreement(
        group=group, broker_addr=addr, members=_members(found), overwrites=found.overwrites
    )
    if len(result.members) < 2:
        return result
    if found.members is None or found.disputes:
        await _ask_members(link, result)
    begins = {(one.about, one.topic): one.since for one in found.disputes or []}
    await _judge(link, result, found, begins)
    return result


async def groups_online(link: Link, addr: str) -> list[str]:
    """The groups that have members at a broker, sorted; it is asked for each group that it knows."""
    code = RequestCode.GET_CONSUMER_CONNECTION_LIST
    accepted = (ResponseCode.SUCCESS, ResponseCode.CONSUMER_NOT_ONLINE)
    online = []
    for name in sorted(await groups_of(link, addr)):
        header = GetConsumerConnectionListRequestHeader(consumer_group=name)
        answer = await ask(link, addr, code, header, accepted=accepted)
        if answer.code == ResponseCode.SUCCESS:
            online.append(name)
    return online


def _members(found: ConsumerConnectionAndMembers) -> list[GroupMember]:
    """By client id: brokers list them in any order."""
    if found.members is not None:
        return sorted(map(_told, found.members), key=lambda one: one.client_id)
    known = {one.client_id or "": one for one in found.connection_set}
    return [
        GroupMember(client_id=name, addr=one.client_addr) for name, one in sorted(known.items())
    ]


def _told(said: MemberAccount) -> GroupMember:
    wanted = said.subscriptions
    return GroupMember(
        client_id=said.client_id,
        addr=said.client_addr,
        since=said.since,
        consume_type=said.consume_type,
        message_model=said.message_model,
        consume_from_where=said.consume_from_where,
        subscriptions=None if wanted is None else {one.topic: one for one in wanted},
    )


async def _ask_members(link: Link, result: GroupAgreement) -> None:
    """Add what the members say about themselves; those that do not answer are noted."""
    for member in result.members:
        header = GetConsumerRunningInfoRequestHeader(
            consumer_group=result.group, client_id=member.client_id, jstack_enable=False
        )
        code = RequestCode.GET_CONSUMER_RUNNING_INFO
        try:
            # The broker gives the client 10 seconds.
            answer = await ask(link, result.broker_addr, code, header, factor=3)
            _add(member, decode_body(ConsumerRunningInfo, answer.body))
        except (AdminError, TransportError, CodecError) as error:
            result.unasked[member.client_id] = str(error)


def _add(member: GroupMember, info: ConsumerRunningInfo) -> None:
    """What a broker has already said stands: a client may know more than it has told the broker."""
    member.queues = sorted(by_queue(info.mq_table) | by_queue(info.mq_pop_table), key=_place)
    said = {key: str(value) for key, value in info.properties.items()}
    started = said.get("PROP_CONSUMER_START_TIMESTAMP", "")
    member.started = int(started) if started.isdecimal() else None
    if member.subscriptions is not None or member.consume_type is not None:
        return
    member.subscriptions = {one.topic: one for one in info.subscription_set}
    member.consume_type = said.get("PROP_CONSUME_TYPE")
    member.message_model = said.get("messageModel")
    member.consume_from_where = said.get("consumeFromWhere")


async def _judge(
    link: Link,
    result: GroupAgreement,
    found: ConsumerConnectionAndMembers,
    begins: Mapping[tuple[str, str | None], int],
) -> None:
    in_force = (found.consume_type, found.message_model, found.consume_from_where)
    for name, entry in zip(MANNERS, in_force, strict=True):
        by_opinion: dict[str, list[str]] = {}
        for member in result.members:
            if (said := member.manner(name)) is not None:
                by_opinion.setdefault(said, []).append(member.client_id)
        if len(by_opinion) > 1:
            dispute = Dispute(
                about=name,
                topic=None,
                since=begins.get((name, None)),
                in_force=entry,
                opinions=[
                    Opinion(expression=said, type=None, members=names, in_force=said == entry)
                    for said, names in by_opinion.items()
                ],
                losses=losses_of_manner(name, by_opinion),
            )
            result.disputes.append(dispute)
    speakers = [one for one in result.members if one.subscriptions is not None]
    for topic in sorted({topic for one in speakers for topic in one.subscriptions or ()}):
        opinions = _opinions_of_topic(topic, speakers, found.subscription_table.get(topic))
        if len(opinions) > 1:
            await _add_topic(link, result, topic, opinions, found, begins)


def _opinions_of_topic(
    topic: str, speakers: Sequence[GroupMember], entry: SubscriptionData | None
) -> list[Opinion]:
    wish_in_force = None if entry is None else entry.wish
    found: dict[tuple[str, str] | None, Opinion] = {}
    for member in speakers:
        said = (member.subscriptions or {}).get(topic)
        wish = None if said is None else said.wish
        if wish not in found:
            found[wish] = Opinion(
                expression=None if said is None else said.sub_string or "*",
                type=None if wish is None else wish[0],
                members=[],
                in_force=wish == wish_in_force,
            )
        found[wish].members.append(member.client_id)
    return list(found.values())


async def _add_topic(
    link: Link,
    result: GroupAgreement,
    topic: str,
    opinions: list[Opinion],
    found: ConsumerConnectionAndMembers,
    begins: Mapping[tuple[str, str | None], int],
) -> None:
    entry = found.subscription_table.get(topic)
    wishes = {
        one.client_id: one.subscriptions.get(topic)
        for one in result.members
        if one.subscriptions is not None
    }
    queues = await _queues_at(link, topic, result.broker_addr)
    readable = set(queues)
    held = {
        one.client_id: None
        if one.queues is None
        else [queue for queue in one.queues if queue in readable]
        for one in result.members
    }
    broadcasting = all(one.message_model == "BROADCASTING" for one in result.members)
    dispute = Dispute(
        about=SUBSCRIPTION,
        topic=topic,
        since=begins.get((SUBSCRIPTION, topic)),
        in_force=None if entry is None else entry.sub_string or "*",
        opinions=opinions,
        losses=losses_of_topic(entry, wishes, held, None if broadcasting else queues),
    )
    result.disputes.append(dispute)


async def _queues_at(link: Link, topic: str, addr: str) -> list[MessageQueue]:
    """The queues of a topic that can be read at a broker; none if the topic does not exist yet."""
    try:
        route = await topic_route(link, topic)
    except NotFound:
        return []
    names = {one.broker_name for one in route.broker_datas if addr in one.broker_addrs.values()}
    return [
        MessageQueue(broker_name=data.broker_name, queue_id=number, topic=topic)
        for data in route.queue_datas
        if data.broker_name in names
        for number in data.readable()
    ]


def _place(queue: MessageQueue) -> tuple[str, str, int]:
    return queue.topic, queue.broker_name, queue.queue_id
