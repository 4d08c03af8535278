"""Servers that are older, or not ours: what they do not know is not asked of them.

RocketMQ's brokers before 4.9.1 and its NameServers before 5.0 leave a request unanswered that they do not know. So
the version that the head of every answer carries is looked at first; with an old server a silence means the same as a
refusal. Which requests those are, tests/field/test_new_tools_old_brokers.py holds against what real servers have shown.
"""

from typing import Final

from trimq.codec.codes import AnyRequestCode, RequestCode
from trimq.codec.versions import version_number

# Asked by operations here, and not answered by servers of 4.2.0 and 4.5.2.
NOT_OF_4: Final = frozenset(
    {
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
        RequestCode.GET_TIMER_METRICS,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
        RequestCode.GET_ALL_PRODUCER_INFO,
        RequestCode.DELETE_EXPIRED_COMMITLOG,
        RequestCode.QUERY_TOPICS_BY_CONSUMER,
        RequestCode.GET_TOPIC_CONFIG,
        RequestCode.SET_MESSAGE_REQUEST_MODE,
        RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,
        RequestCode.ADD_BROKER,
        RequestCode.REMOVE_BROKER,
        RequestCode.GET_BROKER_HA_STATUS,
        RequestCode.RESET_MASTER_FLUSH_OFFSET,
        RequestCode.SET_COMMITLOG_READ_MODE,
        RequestCode.SWITCH_TIMER_ENGINE,
        RequestCode.GET_BROKER_LITE_INFO,
        RequestCode.GET_PARENT_TOPIC_INFO,
        RequestCode.GET_LITE_TOPIC_INFO,
        RequestCode.GET_LITE_CLIENT_INFO,
        RequestCode.GET_LITE_GROUP_INFO,
        RequestCode.TRIGGER_LITE_DISPATCH,
        RequestCode.DELETE_TOPIC_IN_BROKER_LIST,
        RequestCode.DELETE_SUBSCRIPTION_GROUP_LIST,
    }
)

_OF_NAME_SERVERS: Final = frozenset({RequestCode.ADD_WRITE_PERM_OF_BROKER})
# Up to the first of these no server knows them; from the second on all answer, if only that they do not.
_UNKNOWING: Final = version_number("V4_5_2")
_OUTSPOKEN: Final = version_number("V5_0_0")

# A setting that every broker of TriMQ lists, and RocketMQ does not have.
OWN_SETTING: Final = "maxHeldPulls"


class Peers:
    """What a client has found out about the servers that it asks, by their addresses."""

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}
        self._silent: set[tuple[str, int]] = set()
        self.ours: dict[str, bool] = {}

    def answered(self, addr: str, version: int) -> None:
        """`version`: of the answer's head. With another one, it is another server."""
        if self._versions.get(addr) != version:
            self._versions[addr] = version
            self._silent = {one for one in self._silent if one[0] != addr}
            self.ours.pop(addr, None)

    def silent(self, addr: str, code: AnyRequestCode) -> bool:
        """Of a request that got no answer: whether the server is one that does not know it, and says nothing."""
        is_old = self._versions.get(addr, _OUTSPOKEN) < _OUTSPOKEN
        if is_old and code in NOT_OF_4:
            self._silent.add((addr, code))
            return True
        return False

    def first_question(self, addr: str, code: AnyRequestCode) -> RequestCode | None:
        """What to ask before this, so that the version is known; every server answers it, somehow."""
        if code not in NOT_OF_4 or addr in self._versions:
            return None
        if code in _OF_NAME_SERVERS:
            return RequestCode.GET_NAMESRV_CONFIG
        return RequestCode.GET_BROKER_RUNTIME_INFO

    def is_unknown(self, addr: str, code: AnyRequestCode) -> bool:
        """Whether the server would not answer."""
        if code not in NOT_OF_4:
            return False
        is_before = self._versions.get(addr, _OUTSPOKEN) <= _UNKNOWING
        return is_before or (addr, code) in self._silent
