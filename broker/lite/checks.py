"""Who may pop lite topics: checks, codes and remarks of PopLiteMessageProcessor.preCheck, in its order."""

from typing import Final

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.identity import BrokerIdentity
from trimq.broker.pop.reading.checks import check_consumes
from trimq.broker.topics.table import Topics
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import Perm
from trimq.codec.headers.lite import PopLiteMessageRequestHeader
from trimq.codec.names import SEE_FAQ
from trimq.remoting.contract import Peer, RemotingError

_MOST: Final = 32
# PopLiteMessageRequestHeader.isTimeoutTooMuch: milliseconds.
_TOO_LATE: Final = 500


class LiteChecks:
    def __init__(
        self,
        config: BrokerConfig,
        identity: BrokerIdentity,
        topics: Topics,
        groups: SubscriptionGroups,
        clock: Clock,
    ) -> None:
        self._config = config
        self._identity = identity
        self._topics = topics
        self._groups = groups
        self.clock = clock

    def check(self, header: PopLiteMessageRequestHeader, peer: Peer) -> int:
        """RemotingError, or the time of the pop in ms since 1970."""
        now = self.clock.millis()
        if header.born_time == 0:
            header.born_time = now
        if now - self.clock.of_peer(header.born_time) - header.poll_time > _TOO_LATE:
            raise self._refused(ResponseCode.POLLING_TIMEOUT, "is timeout too much")
        if not Perm.readable(self._config.broker_permission):
            raise self._refused(ResponseCode.NO_PERMISSION, "is forbidden")
        if header.max_msg_num > _MOST:
            raise self._refused(ResponseCode.INVALID_PARAMETER, "'s num is greater than 32")
        self._check_topic(header.topic)
        self._check_group(header.consumer_group, header.topic, peer)
        return now

    def _refused(self, code: ResponseCode, what: str) -> RemotingError:
        space = "" if what.startswith("'") else " "
        return RemotingError(code, f"the broker[{self._identity.host}] pop message{space}{what}")

    def _check_topic(self, name: str) -> None:
        topic = self._topics.get(name)
        if topic is None:
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST,
                f"topic [{name}] not exist, apply first please! {SEE_FAQ}",
            )
        if not Perm.readable(topic.perm):
            raise RemotingError(
                ResponseCode.NO_PERMISSION, f"the topic [{name}] peeking message is forbidden"
            )
        if topic.attributes.get("message.type") != "LITE":
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER, f"the topic [{name}] message type not match"
            )

    def _check_group(self, name: str, topic: str, peer: Peer) -> None:
        group = self._groups.find(name, peer.remote_addr)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"subscription group [{name}] not exist, {SEE_FAQ}",
            )
        check_consumes(group, name)
        if group.attributes.get("lite.bind.topic") != topic:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER, f"subscription bind topic not match, {name}"
            )
