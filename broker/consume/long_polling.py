"""Which pulls that find nothing are held, for how long, and how many at a time (PullMessageProcessor).

A pull is held once, if it asks for that. With longPollingEnable it is woken by what lands in its queue (`arrivals`), or
when the time is up that it asked for; without, it looks again after shortPollingTimeMills. One that stands at a closed
gate of an elastic topic waits for that.

Hot: compiled by mypyc when a compiler is there.
"""

import trio

from trimq.broker.config import BrokerConfig
from trimq.broker.consume.arrivals import Arrivals
from trimq.broker.consume.elastic_pulls import ElasticPulls
from trimq.broker.consume.outcomes import Awaiting, store_topic
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import PullFlag
from trimq.codec.headers.fast import PullHeader
from trimq.remoting.errors import LimitReached
from trimq.store.message_store import MessageStore


def is_held(code: int, header: PullHeader) -> bool:
    """Whether a pull with this outcome waits, the first time."""
    return code == ResponseCode.PULL_NOT_FOUND and header.sys_flag & PullFlag.SUSPEND != 0


class LongPolling:
    """Holds pulls."""

    def __init__(
        self, config: BrokerConfig, store: MessageStore, arrivals: Arrivals, elastic: ElasticPulls
    ) -> None:
        self._config = config
        self._store = store
        self._arrivals = arrivals
        self._elastic = elastic

    async def hold(self, awaiting: Awaiting) -> None:
        """Until the queue is worth another look. LimitReached: as many as may (maxHeldPulls) are held already."""
        pull = awaiting.pull
        header = pull.header
        if not self._config.long_polling_enable:
            await trio.sleep(self._config.short_polling_time_mills / 1000)
            return
        seconds = self._seconds(header)
        if pull.gated:
            seconds = self._elastic.seconds(pull, seconds)
            if self._elastic.is_closed(pull):
                _check_held(await self._elastic.wait(pull, seconds))
                return
        topic, queue_id = store_topic(header), header.queue_id
        if self._store.max_offset(topic, queue_id) > max(awaiting.end, header.queue_offset):
            # It landed after the decision, and nobody was there to be woken.
            return
        _check_held(
            await self._arrivals.wait(
                topic,
                queue_id,
                header.queue_offset,
                pull.codes,
                seconds,
                pull.filter,
                pull.wakes,
            )
        )

    def _seconds(self, header: PullHeader) -> float:
        """As long as the client asks for, and no longer than maxSuspendSeconds."""
        if header.suspend_timeout_millis is None:
            raise CodecError("PullMessageRequestHeader needs the field 'suspendTimeoutMillis'")
        seconds = max(header.suspend_timeout_millis, 0) / 1000
        if self._config.max_suspend_seconds:
            seconds = min(seconds, self._config.max_suspend_seconds)
        return seconds


def _check_held(has_waited: bool) -> None:
    if not has_waited:
        raise LimitReached(
            ResponseCode.SYSTEM_BUSY,
            "[HELD_PULLS]broker busy, too many pulls are held (maxHeldPulls)",
            "maxHeldPulls",
        )
