"""Brokers themselves: runtime values, settings, cleaning up."""

from collections.abc import Mapping
from typing import Final

from admin.link import Link, ask
from admin.properties import read_properties, write_properties
from codec.bodies.base import decode_body
from codec.bodies.kv import KVTable
from codec.codes import RequestCode

CLEANINGS: Final = (
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,
    RequestCode.CLEAN_UNUSED_TOPIC,
    RequestCode.DELETE_EXPIRED_COMMITLOG,
)
"""What `clean_broker` can ask for."""


async def broker_runtime(link: Link, addr: str) -> dict[str, str]:
    """What a broker measures and says about itself, by RocketMQ's names."""
    answer = await ask(link, addr, RequestCode.GET_BROKER_RUNTIME_INFO)
    return decode_body(KVTable, answer.body).table


async def broker_config(link: Link, addr: str) -> dict[str, str]:
    """A broker's settings, in the order in which it lists them."""
    answer = await ask(link, addr, RequestCode.GET_BROKER_CONFIG)
    return read_properties(answer.body.decode())


async def update_broker_config(link: Link, addr: str, settings: Mapping[str, str]) -> None:
    """Change settings of a running broker."""
    body = write_properties(settings)
    await ask(link, addr, RequestCode.UPDATE_BROKER_CONFIG, body=body)


async def clean_broker(link: Link, addr: str, what: RequestCode) -> None:
    """One of CLEANINGS: delete files now that are expired, or queues that have no topic."""
    await ask(link, addr, what, factor=3)
