"""Brokers themselves: runtime values, settings, cleaning up."""

from collections.abc import Mapping
from typing import Final

from trimq.admin.connecting.link import Link, ask
from trimq.admin.connecting.older import OWN_SETTING
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.kv import KVTable
from trimq.codec.bodies.progress import BrokerStatsData
from trimq.codec.bodies.queue_tables import BrokerConsumeStatsTable
from trimq.codec.bodies.replication import HARuntimeInfo
from trimq.codec.codes import RequestCode
from trimq.codec.headers.brokers import (
    AddBrokerRequestHeader,
    RemoveBrokerRequestHeader,
    SetCommitlogReadModeRequestHeader,
    SwitchTimerEngineRequestHeader,
)
from trimq.codec.headers.groups import GetConsumeStatsInBrokerHeader
from trimq.codec.headers.messages import ViewBrokerStatsDataRequestHeader
from trimq.codec.headers.replication import ResetMasterFlushOffsetHeader
from trimq.codec.java.properties import read_properties, write_properties

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
    settings = read_properties(answer.body.decode())
    link.peers.ours[addr] = OWN_SETTING in settings
    return settings


async def is_trimq(link: Link, addr: str) -> bool:
    """Whether a broker is TriMQ's: others are not asked for what only TriMQ's have. It is asked once."""
    if addr not in link.peers.ours:
        await broker_config(link, addr)
    return link.peers.ours[addr]


async def update_broker_config(link: Link, addr: str, settings: Mapping[str, str]) -> str | None:
    """Change settings of a running broker.

    Returns what it says about its success: TriMQ names what takes effect only at the next start.
    """
    body = write_properties(settings).encode()
    return (await ask(link, addr, RequestCode.UPDATE_BROKER_CONFIG, body=body)).remark or None


async def clean_broker(link: Link, addr: str, what: RequestCode) -> None:
    """One of CLEANINGS: delete now files that are expired, or queues that have no topic."""
    await ask(link, addr, what, factor=3)


async def broker_consume_stats(
    link: Link, addr: str, ordered_only: bool = False, patience: float = 10
) -> BrokerConsumeStatsTable:
    """How far every group of a broker is behind, topic by topic; with `ordered_only` in ordered ones.

    Waits `patience` times as long as for other answers: the broker has much to add up.
    """
    header = GetConsumeStatsInBrokerHeader(is_order=ordered_only)
    code = RequestCode.GET_BROKER_CONSUME_STATS
    answer = await ask(link, addr, code, header, factor=patience)
    return decode_body(BrokerConsumeStatsTable, answer.body)


async def broker_counter(link: Link, addr: str, name: str, key: str) -> BrokerStatsData:
    """One of a broker's counters (BrokerStatsManager) of the last minute, hour and day.

    `key` is a topic, `topic@group` or a cluster, as the counter's name asks; Refused when nothing was
    counted for it.
    """
    header = ViewBrokerStatsDataRequestHeader(stats_name=name, stats_key=key)
    answer = await ask(link, addr, RequestCode.VIEW_BROKER_STATS_DATA, header)
    return decode_body(BrokerStatsData, answer.body)


async def ha_status(link: Link, addr: str) -> HARuntimeInfo:
    """How far a broker's slaves have got, or, if it is a slave, how far it has got itself."""
    answer = await ask(link, addr, RequestCode.GET_BROKER_HA_STATUS)
    return decode_body(HARuntimeInfo, answer.body)


async def set_read_ahead(link: Link, addr: str, mode: int) -> str:
    """How a broker's commit log is read ahead: 0 as usual, 1 not at all. Returns the broker's own words."""
    header = SetCommitlogReadModeRequestHeader(mode=str(mode))
    answer = await ask(link, addr, RequestCode.SET_COMMITLOG_READ_MODE, header)
    return answer.remark or ""


async def switch_timer_engine(link: Link, addr: str, engine: str) -> None:
    """Let a broker keep timer messages in files (`F`) or in RocksDB (`R`); Refused if it cannot."""
    header = SwitchTimerEngineRequestHeader(engine_type=engine)
    await ask(link, addr, RequestCode.SWITCH_TIMER_ENGINE, header)


async def reset_master_flush_offset(link: Link, addr: str, offset: int) -> None:
    """Tell a slave how far its master has flushed; a master accepts it and does nothing."""
    header = ResetMasterFlushOffsetHeader(master_flush_offset=offset)
    await ask(link, addr, RequestCode.RESET_MASTER_FLUSH_OFFSET, header)


async def add_broker(link: Link, addr: str, config_path: str) -> None:
    """Let a BrokerContainer start a broker with a config file of its machine.

    Refused by everything except a BrokerContainer: by TriMQ and by plain brokers.
    """
    header = AddBrokerRequestHeader(config_path=config_path)
    await ask(link, addr, RequestCode.ADD_BROKER, header, factor=4)


async def remove_broker(
    link: Link, addr: str, cluster: str, broker_name: str, broker_id: int
) -> None:
    """Let a BrokerContainer stop one of its brokers; Refused as `add_broker` is."""
    header = RemoveBrokerRequestHeader(
        broker_name=broker_name, broker_cluster_name=cluster, broker_id=broker_id
    )
    await ask(link, addr, RequestCode.REMOVE_BROKER, header, factor=4)
