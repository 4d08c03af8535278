"""The NameServer's own tables: key-value entries, write permissions, settings."""

from collections.abc import Mapping
from typing import Final

from trimq.admin.connecting.link import Link, ask, ask_name_server, ask_name_servers
from trimq.admin.errors import NotFound, Refused
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.namesrv import (
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
    DeleteKVConfigRequestHeader,
    GetKVConfigRequestHeader,
    GetKVConfigResponseHeader,
    PutKVConfigRequestHeader,
    WipeWritePermOfBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
)
from trimq.codec.java.properties import read_properties, write_properties

ORDER_TOPICS: Final = "ORDER_TOPIC_CONFIG"
"""The namespace of ordered topics (NamesrvUtil.NAMESPACE_ORDER_TOPIC_CONFIG)."""


async def put_kv(link: Link, namespace: str, key: str, value: str) -> None:
    """Set an entry on every NameServer."""
    header = PutKVConfigRequestHeader(namespace=namespace, key=key, value=value)
    async for _ in ask_name_servers(link, RequestCode.PUT_KV_CONFIG, header):
        pass


async def get_kv(link: Link, namespace: str, key: str) -> str:
    """An entry's value; NotFound when there is none."""
    header = GetKVConfigRequestHeader(namespace=namespace, key=key)
    try:
        answer = await ask_name_server(link, RequestCode.GET_KV_CONFIG, header)
    except Refused as refused:
        if refused.code == ResponseCode.QUERY_NOT_FOUND:
            raise NotFound(
                f"{refused.addr} has no entry {key!r} in namespace {namespace!r}"
            ) from None
        raise
    return decode_header(GetKVConfigResponseHeader, answer.ext_fields or {}).value or ""


async def delete_kv(link: Link, namespace: str, key: str) -> None:
    """Remove an entry from every NameServer; one that is not there is not an error."""
    header = DeleteKVConfigRequestHeader(namespace=namespace, key=key)
    async for _ in ask_name_servers(link, RequestCode.DELETE_KV_CONFIG, header):
        pass


async def set_broker_order(link: Link, topic: str, broker_name: str, queues: int) -> None:
    """Enter one broker's ordered queues beside those of the other brokers."""
    try:
        before = await get_kv(link, ORDER_TOPICS, topic)
    except NotFound:
        before = ""
    entries = {entry.partition(":")[0]: entry for entry in before.split(";") if entry}
    entries[broker_name] = f"{broker_name}:{queues}"
    await put_kv(link, ORDER_TOPICS, topic, ";".join(entries.values()))


async def wipe_write_perm(link: Link, name_server: str, broker_name: str) -> int:
    """Take the write permission from every topic of a broker; how many topics that were."""
    header = WipeWritePermOfBrokerRequestHeader(broker_name=broker_name)
    answer = await ask(link, name_server, RequestCode.WIPE_WRITE_PERM_OF_BROKER, header)
    fields = answer.ext_fields or {}
    return decode_header(WipeWritePermOfBrokerResponseHeader, fields).wipe_topic_count


async def add_write_perm(link: Link, name_server: str, broker_name: str) -> int:
    """Give the write permission to every topic of a broker; how many topics that were."""
    header = AddWritePermOfBrokerRequestHeader(broker_name=broker_name)
    answer = await ask(link, name_server, RequestCode.ADD_WRITE_PERM_OF_BROKER, header)
    fields = answer.ext_fields or {}
    return decode_header(AddWritePermOfBrokerResponseHeader, fields).add_topic_count


async def name_server_config(link: Link) -> dict[str, dict[str, str]]:
    """Every NameServer's settings, in the order in which it lists them."""
    return {
        addr: read_properties(answer.body.decode())
        async for addr, answer in ask_name_servers(link, RequestCode.GET_NAMESRV_CONFIG)
    }


async def update_name_server_config(
    link: Link, settings: Mapping[str, str]
) -> dict[str, str | None]:
    """Change settings of every NameServer; returns what each says of its success."""
    body = write_properties(settings).encode()
    return {
        addr: answer.remark or None
        async for addr, answer in ask_name_servers(
            link, RequestCode.UPDATE_NAMESRV_CONFIG, body=body
        )
    }
