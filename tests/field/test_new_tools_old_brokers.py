"""New tools on old brokers (apache/rocketmq 5536, 1251, 270).

Tried: our mqadmin on a broker of 4.2.0. `resetOffset` failed, `updateTopic` took 10 s and `deleteTopic` 5 s, because
brokers before 4.9.1 are silent on what they do not know, and were asked for TriMQ's own request and for those of 5.x.
Right: no operation asks a server for what it leaves unanswered; what it cannot do is refused in a sentence.
"""

import inspect
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from tests.field.old_peers import BROKER, NAME_SERVER, SILENT_VERSIONS, VERSIONS, OldCluster
from trimq.admin.client import AdminClient
from trimq.admin.connecting.older import NOT_OF_4, OWN_SETTING
from trimq.admin.errors import AdminError, NotFound, Refused
from trimq.admin.groups.groups import ConsumeStats
from trimq.admin.groups.progress import Side, Target
from trimq.admin.messages.finding import MessageQuery
from trimq.admin.messages.message import Message
from trimq.admin.messages.pulling import Place
from trimq.admin.messages.sending import NewMessage
from trimq.admin.topics.remapping import Remapping
from trimq.admin.topics.topics import TopicStats
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.request_modes import SetMessageRequestModeRequestBody
from trimq.codec.bodies.static_topics import TopicConfigAndQueueMapping
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import OwnRequestCode, RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.namesrv import UnRegisterBrokerRequestHeader
from trimq.codec.versions import version_name, version_number
from trimq.remoting.errors import RemotingTimeout

QUEUE: Final = MessageQueue(broker_name="broker-a", queue_id=0, topic="T")
MESSAGE: Final = Message(
    "T",
    0,
    0,
    0,
    100,
    0,
    0,
    0,
    0,
    0,
    0,
    BROKER,
    0,
    BROKER,
    "7F00000100002A9F0000000000000000",
    {},
    b"",
)
STATIC: Final = {"broker-a": TopicConfigAndQueueMapping(topic_name="T")}
# Arguments by their names, and where a name is used for several things by name and type.
GIVEN: Final[dict[str, Any]] = {
    "topic": "T",
    "cluster": "C",
    "addr": BROKER,
    "group": "G",
    "source": "G",
    "target": "G2",
    "name_server": NAME_SERVER,
    "broker_name": "broker-a",
    "offset_id": "7F00000100002A9F0000000000000000",
    "message_id": "7F00000100002A9F0000000000000000",
    "queues": 1,
    "what": RequestCode.DELETE_EXPIRED_COMMITLOG,
    "settings": {"k": "v"},
    "header": UnRegisterBrokerRequestHeader(),
    "query": MessageQuery(topic="T", key="key"),
    "place": Place(QUEUE, BROKER),
    "configs": STATIC,
    "remapping": Remapping(1),
    "topics": [TopicConfig(topic_name="T")],
    "groups": [SubscriptionGroupConfig(group_name="G")],
    ("topics", Sequence[str]): ["T", "U"],
    ("groups", Sequence[str]): ["G", "H"],
    ("topic", TopicConfig): TopicConfig(topic_name="T"),
    ("group", SubscriptionGroupConfig): SubscriptionGroupConfig(group_name="G"),
    ("mode", SetMessageRequestModeRequestBody): SetMessageRequestModeRequestBody(),
    ("stats", ConsumeStats): ConsumeStats(),
    ("stats", TopicStats): TopicStats(),
    ("message", Message): MESSAGE,
    ("message", NewMessage): NewMessage(topic="T", body=b"x"),
    ("queue", MessageQueue): QUEUE,
    ("target", Target): Target(Side.LATEST),
}  # type: ignore[dict-item]
OPERATIONS: Final = sorted(
    name
    for name, one in vars(AdminClient).items()
    if inspect.iscoroutinefunction(one) and not name.startswith("_") and name != "ask"
)
OWN: Final = frozenset(map(int, OwnRequestCode))


def argument(parameter: inspect.Parameter) -> Any:
    name, kind = parameter.name, parameter.annotation
    if (name, kind) in GIVEN:
        return GIVEN[name, kind]
    if name in GIVEN:
        return GIVEN[name]
    return 0 if kind is int else "x"


def arguments(operation: Any) -> list[Any]:
    parameters = list(inspect.signature(operation).parameters.values())[1:]
    return [argument(one) for one in parameters if one.default is inspect.Parameter.empty]


async def test_no_operation_asks_an_old_server_for_what_it_leaves_unanswered() -> None:
    assert len(OPERATIONS) > 80
    for version in SILENT_VERSIONS:
        for name in OPERATIONS:
            link = OldCluster(version)
            operation = getattr(AdminClient, name)
            with suppress(AdminError, CodecError):
                await operation(link, *arguments(operation))
            assert link.silences == [], (version, name)


@pytest.mark.parametrize("version", VERSIONS)
async def test_own_requests_go_to_our_brokers_only(version: str) -> None:
    for name in OPERATIONS:
        link = OldCluster(version)
        operation = getattr(AdminClient, name)
        with suppress(AdminError, CodecError):
            await operation(link, *arguments(operation))
        assert OWN.isdisjoint(code for _, code in link.asked), name


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_the_trial_found(version: str) -> None:
    link: Any = OldCluster(version)
    admin = AdminClient
    assert await admin.find_elastic_view(link, BROKER, "T") is None
    assert await admin.resets_by_itself(link, BROKER, "T") is False
    # Who these brokers are is asked once.
    assert link.asked.count((BROKER, RequestCode.GET_BROKER_CONFIG)) == 2
    with pytest.raises(Refused, match=f"{BROKER} does not know ELASTIC_CREATE"):
        await admin.elastic_create(link, BROKER, "T", 4)
    if version.startswith("4"):
        assert (await admin.topic_config(link, BROKER, "T")).read_queue_nums == 16
        with pytest.raises(NotFound, match="does not have topic 'U'"):
            await admin.topic_config(link, BROKER, "U")
        assert await admin.group_topics(link, BROKER, "G") == ["T"]
        assert not await admin.has_offsets(link, BROKER, "H", "T")
        assert (await admin.remainder(link, BROKER)).waiting == {}
        with pytest.raises(Refused, match=f"{BROKER} does not know GET_BROKER_HA_STATUS"):
            await admin.ha_status(link, BROKER)


async def test_our_own_broker_is_asked() -> None:
    link: Any = OldCluster("5.1.4", settings=f"{OWN_SETTING}=1\n".encode())
    assert await AdminClient.find_elastic_view(link, BROKER, "T") is None
    assert link.asked[-1] == (BROKER, OwnRequestCode.ELASTIC_SHOW)


async def test_the_silence_of_a_server_that_hangs_is_no_refusal() -> None:
    """Of a new one, and of an old one that knows the request."""
    link: Any = OldCluster("5.1.4")
    link.broker.silent = frozenset([RequestCode.GET_TOPIC_CONFIG])
    with pytest.raises(RemotingTimeout):
        await AdminClient.topic_config(link, BROKER, "T")
    link = OldCluster("4.2.0")
    link.broker.silent |= {RequestCode.GET_BROKER_CONFIG}
    with pytest.raises(RemotingTimeout):
        await AdminClient.find_elastic_view(link, BROKER, "T")


async def test_in_between_a_silence_is_a_refusal_and_is_not_met_twice() -> None:
    """Between the versions on record some know a request and some do not."""
    link: Any = OldCluster("4.5.2")
    link.broker.version = version_number("V4_8_0")
    for _ in range(2):
        with pytest.raises(Refused, match="does not know GET_ALL_PRODUCER_INFO"):
            await AdminClient.producers(link, BROKER)
    assert link.silences == [RequestCode.GET_ALL_PRODUCER_INFO]
    # Another version answers there: it is another server.
    link.broker.version = version_number("V4_9_7")
    link.broker.silent = frozenset()
    link.broker.answers[RequestCode.GET_ALL_PRODUCER_INFO] = 0
    await AdminClient.broker_config(link, BROKER)
    await AdminClient.producers(link, BROKER)


def test_the_requests_that_old_servers_do_not_know() -> None:
    """All that operations ask for, and no other, by what two old versions have shown."""
    asked = set()
    for file in (Path(__file__).parents[2] / "admin").rglob("*.py"):
        if file.name != "older.py":
            names = re.findall(r"\bRequestCode\.([A-Z][A-Z0-9_]+)", file.read_text())
            asked |= {RequestCode[name] for name in names}
    for version in SILENT_VERSIONS:
        cluster = OldCluster(version)
        unanswered = {
            code
            for code in asked
            if all(code in server.silent for server in cluster.servers.values())
        }
        assert unanswered == NOT_OF_4


def test_versions_on_record() -> None:
    for version in VERSIONS:
        for server in OldCluster(version).servers.values():
            assert version_name(server.version).startswith(f"V{version.replace('.', '_')}")
