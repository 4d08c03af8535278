"""Telling a group's members that somebody came or went (NOTIFY_CONSUMER_IDS_CHANGED): they share out the queues again.

With notifyConsumerIdsChangedEnable=false nobody is told, and with realTimeNotifyConsumerChange=false a service sends
what has come together. Large groups are always told by a service, once for all that came or went in a moment: a
thousand members that come back together would send each other a million notices.
"""

from collections.abc import Collection, Iterable
from typing import Final

from trimq.base.waits import Wakeup
from trimq.broker.config import BrokerConfig
from trimq.broker.steps import Steps, in_steps
from trimq.codec.codes import RequestCode
from trimq.codec.headers.clients import NotifyConsumerIdsChangedRequestHeader
from trimq.remoting.contract import Peer

_SMALL: Final = 10
_MOMENT_SECONDS: Final = 0.1


class MemberNotices:
    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        # By group: its members, as they are when they are told.
        self._waiting: dict[str, Collection[Peer]] = {}
        self._soon: dict[str, Collection[Peer]] = {}
        self._wake = Wakeup()

    def changed(self, group: str, members: Collection[Peer]) -> None:
        """These are the members now; those of the group later on are in the same collection."""
        if not self._config.notify_consumer_ids_changed_enable:
            return
        if not self._config.real_time_notify_consumer_change:
            self._waiting[group] = members
        elif len(members) <= _SMALL:
            for _ in send_notices(group, members):
                pass
        else:
            self._soon[group] = members
            self._wake.give()

    def send_waiting(self) -> Steps[None]:
        """With realTimeNotifyConsumerChange off, a service calls this every 15 s."""
        waiting, self._waiting = self._waiting, {}
        for group, members in waiting.items():
            yield from send_notices(group, members)

    async def run(self) -> None:
        """Tell large groups, until cancelled."""
        while True:
            await self._wake.wait(gather=_MOMENT_SECONDS)
            soon, self._soon = self._soon, {}
            for group, members in soon.items():
                await in_steps(send_notices(group, members))


def send_notices(group: str, members: Iterable[Peer]) -> Steps[None]:
    header = NotifyConsumerIdsChangedRequestHeader(consumer_group=group)
    for member in list(members):
        member.oneway(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header)
        yield
