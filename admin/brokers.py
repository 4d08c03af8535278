"""A broker's runtime values."""

from admin.link import Link, ask
from codec.bodies.base import decode_body
from codec.bodies.kv import KVTable
from codec.codes import RequestCode


async def broker_runtime(link: Link, addr: str) -> dict[str, str]:
    """What a broker measures and says about itself, by RocketMQ's names."""
    answer = await ask(link, addr, RequestCode.GET_BROKER_RUNTIME_INFO)
    return decode_body(KVTable, answer.body).table
