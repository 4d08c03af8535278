"""A NameServer without sockets, as the tests need it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import trio

from trimq.base.clock import Clock
from trimq.codec.bodies.register import RegisterBrokerBody
from trimq.codec.bodies.topics import (
    DataVersion,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
    TopicQueueMappingInfo,
)
from trimq.codec.headers.base import encode_header
from trimq.codec.headers.namesrv import RegisterBrokerRequestHeader
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.routes import Registered
from trimq.remoting.contract import Peer, Processor, Request, Response
from trimq.remoting.testing import answer
from trimq.wiring.namesrv import build_namesrv

T = TypeVar("T")
ADDRESS = "10.0.0.1:10911"


class Time(Clock):
    """Milliseconds that stand still until they are set."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def millis(self) -> int:
        return self.now

    def steady_millis(self) -> int:
        return self.now


class Parts:
    """The parts of a NameServer as it is built, and what they have in common."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.time = Time()
        self.config = NamesrvConfig(
            kv_config_path=folder / "kvConfig.json",
            config_store_path=folder / "namesrv.properties",
            **settings,
        )
        built = build_namesrv(self.config, self.time)
        self.kv, self.routes = built.kv_config, built.routes
        self._parts = built.parts
        self._peers = 0

    def processor(self, kind: type[T]) -> T:
        """The one of that class, which some part has."""
        (found,) = [one for one in self._parts.processors if type(one) is kind]
        return found

    def change(self, **values: Any) -> None:
        """What a change at run time does."""
        for name, value in values.items():
            object.__setattr__(self.config, name, value)

    def peer(self) -> Peer:
        self._peers += 1
        return Peer(f"10.9.9.9:{self._peers}", b"", self._peers)

    def register(
        self,
        topics: Iterable[TopicConfig] = (),
        *,
        peer: Peer | None = None,
        version: int = 1,
        state_version: int = 0,
        filter_servers: list[str] | None = None,
        mappings: dict[str, TopicQueueMappingInfo] | None = None,
        zone: str | None = None,
        **header: Any,
    ) -> Registered | None:
        """A registration of broker-a, id 0, in cluster c unless said otherwise."""
        wrapper = TopicConfigAndMappingSerializeWrapper(
            data_version=DataVersion(counter=version, state_version=state_version),
            topic_config_table={each.topic_name: each for each in topics},
            topic_queue_mapping_info_map=mappings or {},
        )
        body = RegisterBrokerBody(
            filter_server_list=filter_servers or [], topic_config_serialize_wrapper=wrapper
        )
        return self.routes.register_broker(
            register_header(**header), body, peer or self.peer(), zone
        )


def register_header(**changes: Any) -> RegisterBrokerRequestHeader:
    values: dict[str, Any] = {
        "broker_name": "broker-a",
        "broker_addr": ADDRESS,
        "cluster_name": "c",
        "ha_server_addr": "10.0.0.1:10912",
        "broker_id": 0,
        "enable_acting_master": False,
    }
    return RegisterBrokerRequestHeader(**{**values, **changes})


def topic(name: str, queues: int = 4, perm: int = 6, flag: int = 0) -> TopicConfig:
    return TopicConfig(
        topic_name=name,
        read_queue_nums=queues,
        write_queue_nums=queues,
        perm=perm,
        topic_sys_flag=flag,
    )


def topics(*names: str) -> list[TopicConfig]:
    return [topic(name) for name in names]


def ask(
    processor: Processor[Any],
    ext_fields: dict[str, str] | None = None,
    body: bytes = b"",
    *,
    version: int = 513,
    peer: Peer | None = None,
) -> Response:
    """What the dispatcher does with a request, up to the processor's answer or error."""
    fields = ext_fields or {}
    request = Request(
        code=processor.codes[0],
        header=processor.decode_header(fields),
        peer=peer or Peer("10.9.9.9:1", b"", 0),
        body=body,
        version=version,
        ext_fields=fields,
    )
    return trio.run(answer, processor, request)


def reply_fields(response: Response) -> dict[str, str]:
    return {} if response.header is None else encode_header(response.header)


def text(response: Response) -> str:
    assert isinstance(response.body, bytes)
    return response.body.decode()
