"""Telling a group's members that somebody came or went (NOTIFY_CONSUMER_IDS_CHANGED): they share out the queues again.

With notifyConsumerIdsChangedEnable=false nobody is told, and with realTimeNotifyConsumerChange=false a service sends
what has come together.
"""

from collections.abc import Iterable, Sequence

from trimq.broker.config import BrokerConfig
from trimq.codec.codes import RequestCode
from trimq.codec.headers.clients import NotifyConsumerIdsChangedRequestHeader
from trimq.remoting.contract import Peer


class MemberNotices:
    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        # By group: its members at the last change.
        self._waiting: dict[str, list[Peer]] = {}

    def changed(self, group: str, members: Iterable[Peer]) -> None:
        """These are the members now."""
        if not self._config.notify_consumer_ids_changed_enable:
            return
        told = list(members)
        if self._config.real_time_notify_consumer_change:
            send_notices(group, told)
        else:
            self._waiting[group] = told

    def send_waiting(self) -> None:
        """With realTimeNotifyConsumerChange off, a service calls this every 15 s."""
        waiting, self._waiting = self._waiting, {}
        for group, members in waiting.items():
            send_notices(group, members)


def send_notices(group: str, members: Sequence[Peer]) -> None:
    header = NotifyConsumerIdsChangedRequestHeader(consumer_group=group)
    for member in members:
        member.oneway(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header)
