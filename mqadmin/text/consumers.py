"""What a consumer says about itself, as text; and what is wrong in a group (ConsumerRunningInfo)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.queue_tables import ConsumerRunningInfo, ProcessQueueInfo, by_queue
from trimq.codec.java.moments import compact_time
from trimq.mqadmin.text.java import java, properties_order
from trimq.mqadmin.text.messages import queue_text

_QUEUE: Final = "{:<64}  {:<32}  {:<4}  {:<20}"
_SHORT_QUEUE: Final = "{:<32}  {:<32}  {:<4}  {:<20}"
_PACE: Final = "{:<64}  {:>14} {:>14} {:>14} {:>14} {:>18} {:>25}"
_SHORT_PACE: Final = "{:<32}  {:>14.2f} {:>14.2f} {:>14.2f} {:>14.2f} {:>18.2f} {:>25}"
_QUEUE_TITLES: Final = ("#Topic", "#Broker Name", "#QID")
_PACE_TITLES: Final = (
    "#Topic",
    "#Pull RT",
    "#Pull TPS",
    "#Consume RT",
    "#ConsumeOK TPS",
    "#ConsumeFailed TPS",
    "#ConsumeFailedMsgsInHour",
)
# Clients that just started may not know of each other's subscriptions yet.
_SETTLED: Final = 2 * 60 * 1000
# A consumer that holds messages but has finished none for this long may be stuck.
_STUCK: Final = 60 * 1000


def running_text(info: ConsumerRunningInfo) -> str:
    """ConsumerRunningInfo.formatString."""
    return "".join(line + "\n" for line in _lines(info)) + (
        "" if info.jstack is None else f"\n\n#Consumer jstack#\n{info.jstack}"
    )


def _lines(info: ConsumerRunningInfo) -> Iterator[str]:
    yield "#Consumer Properties#"
    for key in properties_order(info.properties):
        yield f"{key:<40}: {java(info.properties[key])}"
    yield "\n\n#Consumer Subscription#"
    for number, one in enumerate(_subscriptions(info), 1):
        words = f"{number:03d} Topic: {one.topic:<40} ClassFilter: {java(one.class_filter_mode):<8}"
        yield f"{words} SubExpression: {java(one.sub_string)}"
    yield "\n\n#Consumer Offset#"
    yield _QUEUE.format(*_QUEUE_TITLES, "#Consumer Offset")
    for queue, held in in_order(info.mq_table):
        yield _SHORT_QUEUE.format(*_where(queue), held.commit_offset)
    yield "\n\n#Consumer MQ Detail#"
    yield _QUEUE.format(*_QUEUE_TITLES, "#ProcessQueueInfo")
    for queue, held in in_order(info.mq_table):
        yield _QUEUE.format(*_where(queue), _held_text(held)).rstrip(" ")
    yield "\n\n#Consumer Pop Detail#"
    yield _SHORT_QUEUE.format(*_QUEUE_TITLES, "#ProcessQueueInfo")
    for queue, popped in in_order(info.mq_pop_table):
        text = f"waitAckCount:{popped.wait_ack_count}, droped:{java(popped.droped)}"
        text = f"PopProcessQueueInfo [{text}, lastPopTimestamp:{popped.last_pop_timestamp}]"
        yield _SHORT_QUEUE.format(*_where(queue), text).rstrip(" ")
    yield "\n\n#Consumer RT&TPS#"
    yield _PACE.format(*_PACE_TITLES)
    for topic, pace in sorted(info.status_table.items()):
        rates = (pace.pull_rt, pace.pull_tps, pace.consume_rt, pace.consume_ok_tps)
        yield _SHORT_PACE.format(topic, *rates, pace.consume_failed_tps, pace.consume_failed_msgs)
    if info.user_consumer_info is not None:
        yield "\n\n#User Consume Info#"
        for key, value in sorted(info.user_consumer_info.items()):
            yield f"{key:<40}: {value}"


def _held_text(held: ProcessQueueInfo) -> str:
    """ProcessQueueInfo.toString."""
    parts = {
        "commitOffset": held.commit_offset,
        "cachedMsgMinOffset": held.cached_msg_min_offset,
        "cachedMsgMaxOffset": held.cached_msg_max_offset,
        "cachedMsgCount": held.cached_msg_count,
        "cachedMsgSizeInMiB": held.cached_msg_size_in_mib,
        "transactionMsgMinOffset": held.transaction_msg_min_offset,
        "transactionMsgMaxOffset": held.transaction_msg_max_offset,
        "transactionMsgCount": held.transaction_msg_count,
        "locked": held.locked,
        "tryUnlockTimes": held.try_unlock_times,
        "lastLockTimestamp": compact_time(held.last_lock_timestamp),
        "droped": held.droped,
        "lastPullTimestamp": compact_time(held.last_pull_timestamp),
        "lastConsumeTimestamp": compact_time(held.last_consume_timestamp),
    }
    return f"ProcessQueueInfo [{', '.join(f'{key}={java(value)}' for key, value in parts.items())}]"


def same_subscriptions(infos: Mapping[str, ConsumerRunningInfo], now: int) -> bool:
    """Whether all members want the same topics and tags, as far as can be told yet
    (ConsumerRunningInfo.analyzeSubscription).
    """
    ordered = [infos[client] for client in sorted(infos)]
    started = int(ordered[0].properties.get("PROP_CONSUMER_START_TIMESTAMP", now))
    if not is_push(ordered[0]) or now - started <= _SETTLED:
        return True
    wanted = [[(one.topic, one.sub_string) for one in _subscriptions(info)] for info in ordered]
    return all(one == wanted[0] for one in wanted)


def stuck_queues(client_id: str, info: ConsumerRunningInfo, now: int) -> list[str]:
    """A sentence for each queue that a push consumer cannot lock, unlock or consume
    (ConsumerRunningInfo.analyzeProcessQueue).
    """
    if not is_push(info):
        return []
    in_order_only = str(info.properties.get("PROP_CONSUMEORDERLY")).lower() == "true"
    found = []
    for queue, held in in_order(info.mq_table):
        who = f"{client_id} {queue_text(queue)}"
        idle = now - held.last_consume_timestamp
        if in_order_only and not held.locked:
            waiting = now - held.last_lock_timestamp
            found.append(f"{who} can't lock for a while, {waiting}ms")
        elif in_order_only and held.droped and held.try_unlock_times > 0:
            found.append(f"{who} unlock {held.try_unlock_times} times, still failed")
        elif not in_order_only and idle > _STUCK and held.cached_msg_count > 0:
            found.append(f"{who} can't consume for a while, maybe blocked, {idle}ms")
    return found


def is_push(info: ConsumerRunningInfo) -> bool:
    return bool(info.properties.get("PROP_CONSUME_TYPE") == "CONSUME_PASSIVELY")


def _subscriptions(info: ConsumerRunningInfo) -> list[SubscriptionData]:
    return sorted(info.subscription_set, key=lambda one: f"{one.topic}@{one.sub_string}")


def in_order(table: Mapping[str, Any]) -> list[tuple[MessageQueue, Any]]:
    """Queues as MessageQueue.compareTo sorts them."""
    return sorted(by_queue(dict(table)).items(), key=lambda item: _where(item[0]))


def _where(queue: MessageQueue) -> tuple[str, str, int]:
    return queue.topic, queue.broker_name, queue.queue_id
