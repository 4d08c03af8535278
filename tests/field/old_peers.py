"""Old servers that play from `tests/vectors/old_servers.json`: they answer what the real ones answered, and are
silent where those were. `python -m compat_tests.old.record` makes the record anew."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import trio

from trimq.admin.connecting.older import Peers
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.bodies.route import BrokerData, QueueData, TopicRouteData
from trimq.codec.codes import AnyRequestCode, RequestCode, ResponseCode
from trimq.codec.frames.command import (
    RESPONSE_BIT,
    RemotingCommand,
    decode_command,
    encode_command,
)
from trimq.codec.frames.frame import FRAME_LIMIT, FrameBuffer
from trimq.codec.headers.base import Header, encode_header
from trimq.remoting.errors import RemotingTimeout

_RECORD: Final = json.loads(
    (Path(__file__).parents[1] / "vectors" / "old_servers.json").read_text()
)
VERSIONS: Final = tuple(_RECORD)
SILENT_VERSIONS: Final = ("4.2.0", "4.5.2")
"""Those whose brokers, too, say nothing to what they do not know."""


class OldServer:
    """What one server of one version does with a request. `kind`: broker or namesrv."""

    def __init__(self, version: str, kind: str) -> None:
        self.version: int = _RECORD[version][kind]["version"]
        self.answers = {int(code): to for code, to in _RECORD[version][kind]["answers"].items()}
        self.silent = frozenset(_RECORD[version][kind]["silent"])
        self.bodies: dict[int, bytes] = {}
        self.headers: dict[int, dict[str, str]] = {}

    def reply(self, command: RemotingCommand) -> RemotingCommand | None:
        """None: silence."""
        if command.code in self.silent:
            return None
        code = self.answers[command.code]
        if command.code in self.bodies:
            code = ResponseCode.SUCCESS
        body = self.bodies.get(command.code, b"")
        fields = self.headers.get(command.code)
        return RemotingCommand(
            code, command.opaque, RESPONSE_BIT, None, fields, body, version=self.version
        )


class OldNameServer(OldServer):
    """Over real connections: `heard` are the codes of all requests, `fields` those of the last one of each code."""

    def __init__(self, version: str, kind: str = "namesrv") -> None:
        super().__init__(version, kind)
        self.addr = ""
        self.heard: list[int] = []
        self.fields: dict[int, Mapping[str, str]] = {}
        # What it says of the members of every broker name.
        self.members: dict[int, str] = {}
        # Whose routes it has.
        self.topics: set[str] = set()

    def reply(self, command: RemotingCommand) -> RemotingCommand | None:
        self.heard.append(command.code)
        self.fields[command.code] = command.ext_fields
        reply = super().reply(command)
        if reply is not None and command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            topic = command.ext_fields["topic"]
            if topic not in self.topics:
                reply.code = ResponseCode.TOPIC_NOT_EXIST
            else:
                data = BrokerData(cluster="c", broker_name="broker-a", broker_addrs=self.members)
                reply.body = encode_body(TopicRouteData(broker_datas=[data]))
        return reply

    async def talk(self, stream: trio.SocketStream) -> None:
        frames = FrameBuffer(FRAME_LIMIT)
        async with stream:
            async for data in stream:
                frames.feed(data)
                while (frame := frames.next_frame()) is not None:
                    reply = self.reply(decode_command(frame))
                    if reply is not None:
                        await stream.send_all(encode_command(reply))


@asynccontextmanager
async def old_name_server(
    version: str, kind: type[OldNameServer] = OldNameServer
) -> AsyncIterator[OldNameServer]:
    """Until the block ends."""
    found = kind(version)
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, found.talk, 0, host="127.0.0.1")
        (listener,) = await nursery.start(serve)
        found.addr = f"127.0.0.1:{listener.socket.getsockname()[1]}"
        yield found
        nursery.cancel_scope.cancel()


NAME_SERVER: Final = "127.0.0.1:9876"
BROKER: Final = "127.0.0.1:10911"


class OldCluster:
    """A NameServer and a broker of one version, as the administration's operations ask them (a Link)."""

    def __init__(self, version: str, settings: bytes = b"brokerName=broker-a\n") -> None:
        self.name_servers = (NAME_SERVER,)
        self.peers = Peers()
        self.asked: list[tuple[str, int]] = []
        self.silences: list[int] = []
        self.servers = {
            NAME_SERVER: OldServer(version, "namesrv"),
            BROKER: OldServer(version, "broker"),
        }
        data = BrokerData(cluster="C", broker_name="broker-a", broker_addrs={0: BROKER})
        queues = QueueData(broker_name="broker-a", perm=6, read_queue_nums=1, write_queue_nums=1)
        route = TopicRouteData(broker_datas=[data], queue_datas=[queues])
        cluster = ClusterInfo(
            broker_addr_table={"broker-a": data}, cluster_addr_table={"C": ["broker-a"]}
        )
        self.servers[NAME_SERVER].bodies = {
            RequestCode.GET_ROUTEINFO_BY_TOPIC: encode_body(route),
            RequestCode.GET_BROKER_CLUSTER_INFO: encode_body(cluster),
        }
        self.broker.bodies = {
            RequestCode.GET_BROKER_CONFIG: settings,
            RequestCode.GET_TOPIC_STATS_INFO: b'{"offsetTable":{}}',
            RequestCode.GET_ALL_TOPIC_CONFIG: b'{"topicConfigTable":{"T":{"topicName":"T"}}}',
            RequestCode.GET_ALL_CONSUMER_OFFSET: b'{"offsetTable":{"T@G":{0:7},"U@H":{0:1}}}',
        }

    @property
    def broker(self) -> OldServer:
        return self.servers[BROKER]

    async def ask(
        self, addr: str, code: AnyRequestCode, header: Header | None, body: bytes, factor: float
    ) -> RemotingCommand:
        fields = {} if header is None else encode_header(header)
        self.asked.append((addr, int(code)))
        reply = self.servers[addr].reply(
            RemotingCommand(int(code), 1, ext_fields=fields, body=body)
        )
        if reply is None:
            self.silences.append(int(code))
            raise RemotingTimeout(f"{addr} did not answer request code {int(code)} within 5 s")
        reply.ext_fields = {"offset": "0", "value": "v", "wipeTopicCount": "1"}
        reply.body = reply.body or b"{}"
        return reply

    def now(self) -> int:
        return 1_700_000_000_000
