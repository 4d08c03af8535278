"""REGISTER_BROKER: a broker says where it is and which topics it serves."""

from functools import lru_cache
from typing import Final

from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.kv import KVTable
from trimq.codec.bodies.register import RegisterBrokerBody, decode_register
from trimq.codec.bodies.topics import (
    TopicConfigAndMappingSerializeWrapper,
    TopicConfigSerializeWrapper,
)
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import RegisterBrokerRequestHeader, RegisterBrokerResponseHeader
from trimq.codec.java.hashes import crc32_31
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.kv_config import ORDER_TOPIC_CONFIG, KVConfig
from trimq.namesrv.routes import RouteTable
from trimq.remoting.contract import Processor, RemotingError, Request, Response

# MQVersion.V3_0_11
_SENDS_REGISTER_BODY: Final = 37
# Brokers whose last body is kept decoded.
_BODIES: Final = 4


class RegisterBroker(Processor[RegisterBrokerRequestHeader]):
    """Every broker registers every 30 s, mostly with the same topics.

    10,000 of them take 15 ms to decode, in one piece, so the latest bodies are kept; nobody changes
    them.
    """

    codes = (RequestCode.REGISTER_BROKER,)
    shows_no_fields = True
    header = RegisterBrokerRequestHeader

    def __init__(self, routes: RouteTable, kv_config: KVConfig, config: NamesrvConfig) -> None:
        self._routes = routes
        self._kv_config = kv_config
        self._config = config
        self._decode = lru_cache(_BODIES)(decode_register)

    def handle(self, request: Request[RegisterBrokerRequestHeader]) -> Response:
        header = request.header
        if header.body_crc32 and header.body_crc32 != crc32_31(request.body):
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "crc32 not match")
        result = self._routes.register_broker(
            header, self._body(request), request.peer, request.ext_fields.get("__ZONE_NAME")
        )
        if result is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "register broker failed")
        reply = RegisterBrokerResponseHeader(
            ha_server_addr=result.ha_address, master_addr=result.master_address
        )
        return Response(header=reply, body=self._order_topics())

    def _order_topics(self) -> bytes:
        if not self._config.return_order_topic_config_to_broker:
            return b""
        table = self._kv_config.table(ORDER_TOPIC_CONFIG)
        return b"" if table is None else encode_body(KVTable(table=table))

    def _body(self, request: Request[RegisterBrokerRequestHeader]) -> RegisterBrokerBody:
        """Brokers before 3.0.11 send the topics alone; no body at all means an empty registration."""
        if not request.body:
            return RegisterBrokerBody()
        if request.version >= _SENDS_REGISTER_BODY:
            return self._decode(request.body, request.header.compressed, request.version)
        topics = decode_body(TopicConfigSerializeWrapper, request.body)
        return RegisterBrokerBody(
            topic_config_serialize_wrapper=TopicConfigAndMappingSerializeWrapper(
                data_version=topics.data_version, topic_config_table=topics.topic_config_table
            )
        )
