"""A hundred thousand of everything that clients can have many of: made, used, gone. Nothing may hold the loop for long.

What counts is the longest step of TriMQ's loop in each phase, and while its tables are written after it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import trio

from bench.pages.figures import Figures
from bench.pages.verdicts import of_promise
from bench.parts.pending import longest_step_at
from bench.run import Run
from bench.servers.subjects import OURS, REAL
from compat_tests.servers.processes import HOST, free_port
from tests.requests import heartbeat
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupList
from trimq.codec.bodies.lite import LiteSubscriptionCtlRequestBody, LiteSubscriptionDTO
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import Header, decode_header
from trimq.codec.headers.groups import DeleteSubscriptionGroupRequestHeader
from trimq.codec.headers.lite import (
    GetParentTopicInfoRequestHeader,
    LiteSubscriptionCtlRequestHeader,
    PopLiteMessageRequestHeader,
)
from trimq.codec.headers.offsets import (
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)
from trimq.codec.headers.pop import PopMessageRequestHeader
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.codec.headers.topics import DeleteTopicRequestHeader
from trimq.remoting.clients.client import Client
from trimq.remoting.errors import PeerGone

COUNT: Final = 100_000
SMOKE: Final = 300
STEP_MILLIS: Final = 20
# Tables are written every five seconds, silent clients looked for every ten.
SETTLE_SECONDS: Final = 11
_AT_ONCE: Final = 64
_PATIENCE_SECONDS: Final = 900
_TOPIC: Final = "BenchMany"
_GROUP: Final = "many"
_NAMES_A_REQUEST: Final = 1000
_LIGHT_A_MESSAGE: Final = 50
_QUEUES: Final = 16_000
_HIDDEN_MILLIS: Final = 30_000
_DUE_SECONDS: Final = 60
# A client may be silent for two minutes, and is missed ten seconds later.
_SILENT_SECONDS: Final = 140
# Of those that there are: their table is written anew again and again, which takes seconds each time.
_DELETED_GROUPS: Final = 2000
_EVERYTHING: Final = str(100 * COUNT)

SETTINGS: Final = {
    "enableLmq": "true",
    "enableMultiDispatch": "true",
    "maxLmqConsumeQueueNum": _EVERYTHING,
    "maxLiteSubscriptionCount": _EVERYTHING,
    "maxTopics": _EVERYTHING,
    "maxGroups": _EVERYTHING,
    "maxConnectionGroups": _EVERYTHING,
    "maxConnectionSubscriptions": _EVERYTHING,
    "maxForeignOffsets": _EVERYTHING,
    # So that lite topics expire while somebody waits for it.
    "minLiteTTl": "1000",
    "liteTtlCheckInterval": "1000",
}


@dataclass(frozen=True, slots=True)
class _World:
    """A broker that is asked, and how much of everything there shall be."""

    addr: str
    client: Client
    count: int
    is_smoke: bool

    async def ask(self, code: int, header: Header | None, body: bytes = b"") -> bytes:
        """RuntimeError for whatever is no success; an empty pop is one."""
        answer = await self.client.request(code, header, body, timeout=_PATIENCE_SECONDS)
        if answer.code not in (ResponseCode.SUCCESS, ResponseCode.POLLING_TIMEOUT):
            raise RuntimeError(f"{RequestCode(code).name}: {answer.code} {answer.remark}")
        return bytes(answer.body)

    async def all(self, asks: Iterator[Callable[[], Awaitable[object]]]) -> None:
        """All of them, so many at a time."""

        async def some() -> None:
            for ask in asks:
                await ask()

        async with trio.open_nursery() as nursery:
            for _ in range(_AT_ONCE):
                nursery.start_soon(some)

    async def each(self, code: int, headers: Iterable[Header], body: bytes = b"") -> None:
        await self.all(partial(self.ask, code, header, body) for header in headers)

    async def send(self, headers: Iterable[Header]) -> None:
        await self.each(RequestCode.SEND_MESSAGE_V2, headers, b"x")

    async def topic(self, name: str, queues: int = 1, **attributes: str) -> None:
        config = TopicConfig(
            topic_name=name,
            read_queue_nums=queues,
            write_queue_nums=queues,
            attributes={f"+{key.replace('_', '.')}": value for key, value in attributes.items()},
        )
        body = b'{"topicConfigList":[%b]}' % encode_body(config)
        await self.ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, None, body)

    async def group(self, name: str, **attributes: str) -> None:
        config = SubscriptionGroupConfig(
            group_name=name,
            attributes={f"+{key.replace('_', '.')}": value for key, value in attributes.items()},
        )
        await self.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, encode_body(config))

    async def groups(self, names: list[str]) -> None:
        for first in range(0, len(names), _NAMES_A_REQUEST):
            some = [
                SubscriptionGroupConfig(group_name=name)
                for name in names[first : first + _NAMES_A_REQUEST]
            ]
            body = encode_body(SubscriptionGroupList(group_config_list=some))
            await self.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, None, body)

    async def delete_topic(self, name: str) -> None:
        """However long that takes: a connection on which nothing is said ends after two minutes."""
        header = DeleteTopicRequestHeader(topic=name)
        while True:
            try:
                async with Client.connect(self.addr) as client:
                    answer = await client.request(
                        RequestCode.DELETE_TOPIC_IN_BROKER, header, timeout=_PATIENCE_SECONDS
                    )
            except PeerGone:
                continue
            if answer.code != ResponseCode.SUCCESS:
                raise RuntimeError(f"{name} was not deleted: {answer.remark}")
            return

    @property
    def numbers(self) -> range:
        return range(self.count)


Phase = tuple[str, Callable[[_World], Awaitable[None]]]


def measure(run: Run) -> str:
    """The table, and which steps are longer than they may be. Only TriMQ tells of its steps."""
    for kind in run.kinds:
        if kind == REAL:
            continue
        for row, phases in ROWS.items():
            if run.wants(row):
                _measure(run, kind, row, phases)
    verdicts = "\n".join(f"- {line}" for line in judged(run.figures))
    return (
        f"{COUNT:,} of each; the longest step of the loop while they are made, used or gone and "
        f"{SETTLE_SECONDS} s longer, when tables are written, and how long it took clients.\n\n"
        f"{run.figures.table()}\n\nTriMQ:\n\n{verdicts}"
    )


def _measure(run: Run, kind: str, row: str, phases: Sequence[Phase]) -> None:
    print(f"  {kind}: {row}", flush=True)
    port = free_port()
    settings = {**SETTINGS, "metricsListen": f"{HOST}:{port}"}
    metrics = f"http://{HOST}:{port}/metrics"
    with run.started(kind, "many", settings) as server:
        for name, play in phases:
            if run.smoke and name in WAITED_FOR:
                continue
            longest_step_at(metrics)
            began = time.monotonic()
            trio.run(_play, server.broker_addr, run.smoke, play)
            took = time.monotonic() - began
            time.sleep(0.1 if run.smoke else SETTLE_SECONDS)
            step = longest_step_at(metrics) * 1000
            print(f"    {name}: longest step {step:.1f} ms, {took:.1f} s", flush=True)
            run.figures.add(f"{row}, {name}: longest step, ms", kind, step)
            run.figures.add(f"{row}, {name}: s", kind, took)


async def _play(addr: str, is_smoke: bool, play: Callable[[_World], Awaitable[None]]) -> None:
    async with Client.connect(addr) as client:
        await play(_World(addr, client, SMOKE if is_smoke else COUNT, is_smoke))


def judged(figures: Figures, kind: str = OURS) -> list[str]:
    """Every step that was measured, and whether it is short enough."""
    return [
        of_promise(name.removesuffix(", ms"), figures.median(name, kind), STEP_MILLIS, "ms")
        for name in figures.names
        if name.endswith(", ms")
    ]


# --- lite topics


async def _lite_parent(world: _World, lifetime: str) -> None:
    await world.topic(_TOPIC, message_type="LITE", lite_topic_expiration=lifetime)
    await world.group(_GROUP, lite_bind_topic=_TOPIC)
    headers = (_sent(_TOPIC, {"__LITE_TOPIC": f"n{number}"}) for number in world.numbers)
    await world.send(headers)


async def _make_lite(world: _World) -> None:
    await _lite_parent(world, "-1")


async def _make_mortal(world: _World) -> None:
    await _lite_parent(world, "1")


async def _subscribe(world: _World) -> None:
    names: list[str | None] = [f"n{number}" for number in world.numbers]
    for first in range(0, len(names), _NAMES_A_REQUEST):
        wanted = LiteSubscriptionDTO(
            action="PARTIAL_ADD",
            client_id="c",
            group=_GROUP,
            topic=_TOPIC,
            lite_topic_set=names[first : first + _NAMES_A_REQUEST],
        )
        body = encode_body(LiteSubscriptionCtlRequestBody(subscription_set=[wanted]))
        await world.ask(RequestCode.LITE_SUBSCRIPTION_CTL, LiteSubscriptionCtlRequestHeader(), body)


async def _pop_lite(world: _World) -> None:
    """All are blocked then, until long after the end."""
    left = world.count
    while left > 0:
        header = PopLiteMessageRequestHeader(
            client_id="c",
            consumer_group=_GROUP,
            topic=_TOPIC,
            max_msg_num=32,
            invisible_time=3_600_000,
            poll_time=10_000,
        )
        answer = await world.client.request(
            RequestCode.POP_LITE_MESSAGE, header, timeout=_PATIENCE_SECONDS
        )
        counts = answer.ext_fields.get("orderCountInfo", "")
        if not counts:
            raise RuntimeError(f"{left} lite topics were not popped: {answer.remark}")
        left -= len(counts.split(";"))


async def _delete_topic(world: _World) -> None:
    await world.delete_topic(_TOPIC)


async def _await_expiry(world: _World) -> None:
    while True:
        body = await world.ask(
            RequestCode.GET_PARENT_TOPIC_INFO, GetParentTopicInfoRequestHeader(topic=_TOPIC)
        )
        if b'"liteTopicCount":0' in body:
            return
        await trio.sleep(1)


# --- light queues


async def _make_light(world: _World) -> None:
    await world.topic(_TOPIC)
    names = [_light(number) for number in world.numbers]
    headers = (
        _sent(_TOPIC, {"INNER_MULTI_DISPATCH": ",".join(names[first : first + _LIGHT_A_MESSAGE])})
        for first in range(0, len(names), _LIGHT_A_MESSAGE)
    )
    await world.send(headers)


async def _delete_light(world: _World) -> None:
    headers = (DeleteTopicRequestHeader(topic=_light(number)) for number in world.numbers)
    await world.each(RequestCode.DELETE_TOPIC_IN_BROKER, headers)


def _light(number: int) -> str:
    return f"%LMQ%n{number}"


# --- groups and subscriptions


async def _join(world: _World) -> None:
    await _join_for(world, 0)


async def _join_and_wait(world: _World) -> None:
    """Nobody hears of these clients again."""
    await _join_for(world, _SILENT_SECONDS)


async def _join_for(world: _World, seconds: float) -> None:
    """A thousand groups on a connection, as many as one may be in."""
    names = [f"g{number}" for number in world.numbers]
    async with AsyncExitStack() as stack:
        for first in range(0, len(names), _NAMES_A_REQUEST):
            client = await stack.enter_async_context(Client.connect(world.addr))
            body = heartbeat(names[first : first + _NAMES_A_REQUEST], topics=[_TOPIC])
            await replace(world, client=client).ask(RequestCode.HEART_BEAT, None, body)
        await trio.sleep(seconds)


async def _delete_groups(world: _World) -> None:
    headers = (
        DeleteSubscriptionGroupRequestHeader(group_name=f"g{number}", clean_offset=True)
        for number in world.numbers[:_DELETED_GROUPS]
    )
    await world.each(RequestCode.DELETE_SUBSCRIPTIONGROUP, headers)


async def _subscribe_topics(world: _World) -> None:
    topics = [f"t{number}" for number in world.numbers]
    for number, first in enumerate(range(0, len(topics), _NAMES_A_REQUEST)):
        body = heartbeat([f"s{number}"], topics=topics[first : first + _NAMES_A_REQUEST])
        await world.ask(RequestCode.HEART_BEAT, None, body)


# --- offsets


async def _commit_groups(world: _World) -> None:
    await world.topic(_TOPIC)
    await world.groups([f"g{number}" for number in world.numbers])
    headers = (_committed(f"g{number}", _TOPIC) for number in world.numbers)
    await world.each(RequestCode.UPDATE_CONSUMER_OFFSET, headers)


async def _commit_topics(world: _World) -> None:
    """Light queues are topics that nobody has to create."""
    await world.group(_GROUP)
    headers = (_committed(_GROUP, _light(number)) for number in world.numbers)
    await world.each(RequestCode.UPDATE_CONSUMER_OFFSET, headers)


async def _delete_group(world: _World) -> None:
    header = DeleteSubscriptionGroupRequestHeader(group_name=_GROUP, clean_offset=True)
    await world.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, header)


def _committed(group: str, topic: str) -> Header:
    return UpdateConsumerOffsetRequestHeader(
        consumer_group=group, topic=topic, queue_id=0, commit_offset=1
    )


# --- timers


async def _make_timers(world: _World) -> None:
    """All in one slot, and waited for: they come within seconds."""
    seconds = 3 if world.is_smoke else _DUE_SECONDS
    due = (time.time_ns() // 1_000_000_000 + seconds) * 1000
    await world.topic(_TOPIC)
    headers = (_sent(_TOPIC, {"TIMER_DELIVER_MS": str(due)}) for _ in world.numbers)
    await world.send(headers)


async def _await_timers(world: _World) -> None:
    with trio.fail_after(_PATIENCE_SECONDS):
        while True:
            if await _end(world) >= world.count:
                return
            await trio.sleep(0.1)


async def _end(world: _World) -> int:
    header = GetMaxOffsetRequestHeader(topic=_TOPIC, queue_id=0)
    answer = await world.client.request(RequestCode.GET_MAX_OFFSET, header, timeout=60)
    return decode_header(GetMaxOffsetResponseHeader, answer.ext_fields).offset


# --- orderly blocks


async def _pop_orderly(world: _World) -> None:
    queues = min(_QUEUES, world.count)
    await world.topic(_TOPIC, queues)
    await world.send(_sent(_TOPIC, {}, queue) for queue in range(queues))
    groups = -(-world.count // queues)
    for group in range(groups):
        await world.each(
            RequestCode.POP_MESSAGE,
            (_popped(f"o{group}", queue) for queue in range(queues)),
        )


async def _await_openings(world: _World) -> None:
    await trio.sleep(_HIDDEN_MILLIS / 1000)


def _popped(group: str, queue: int) -> Header:
    return PopMessageRequestHeader(
        consumer_group=group,
        topic=_TOPIC,
        queue_id=queue,
        max_msg_nums=1,
        invisible_time=_HIDDEN_MILLIS,
        init_mode=0,
        exp_type="TAG",
        exp="*",
        order=True,
        born_time=time.time_ns() // 1_000_000,
    )


def _sent(topic: str, properties: dict[str, str], queue: int = 0) -> Header:
    return SendMessageRequestHeaderV2(
        producer_group="bench",
        topic=topic,
        default_topic="TBW102",
        default_topic_queue_nums=1,
        queue_id=queue,
        sys_flag=0,
        born_timestamp=time.time_ns() // 1_000_000,
        flag=0,
        properties="".join(f"{key}\1{value}\2" for key, value in properties.items()),
    )


# Phases in which nothing happens but time, too much of it for a smoke run.
WAITED_FOR: Final = ("gone by themselves", "silent, and forgotten", "open again")
ROWS: Final[dict[str, tuple[Phase, ...]]] = {
    "lite topics": (
        ("made", _make_lite),
        ("subscribed", _subscribe),
        ("popped", _pop_lite),
        ("deleted with their parent", _delete_topic),
    ),
    "lite topics that expire": (
        ("made", _make_mortal),
        ("subscribed", _subscribe),
        ("popped", _pop_lite),
        ("gone by themselves", _await_expiry),
    ),
    "light queues": (("made", _make_light), ("deleted one by one", _delete_light)),
    "groups of a client": (
        ("joined, and left with the connection", _join),
        ("silent, and forgotten", _join_and_wait),
        ("some deleted one by one", _delete_groups),
    ),
    "subscriptions of a client": (("made, and gone with the connection", _subscribe_topics),),
    "offsets of a topic": (("committed", _commit_groups), ("deleted with it", _delete_topic)),
    "offsets of a group": (("committed", _commit_topics), ("deleted with it", _delete_group)),
    "timer messages of a slot": (("made", _make_timers), ("delivered", _await_timers)),
    "orderly blocks": (
        ("popped", _pop_orderly),
        ("open again", _await_openings),
        ("deleted with their topic", _delete_topic),
    ),
}
