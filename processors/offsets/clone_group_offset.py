"""CLONE_GROUP_OFFSET: give a group another group's offsets in a topic."""

import logging

from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.topics.table import Topics
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.offsets import CloneGroupOffsetRequestHeader
from trimq.remoting.contract import Processor, RemotingError, Request, Response

log = logging.getLogger("trimq.admin")


class CloneGroupOffset(Processor[CloneGroupOffsetRequestHeader]):
    """Always succeeds, as AdminBrokerProcessor.cloneGroupOffset; the log says what it skips.

    Without a topic the real broker goes through the topics of the group and then copies none of
    them, so nothing is copied here either.
    """

    codes = (RequestCode.CLONE_GROUP_OFFSET,)
    header = CloneGroupOffsetRequestHeader

    def __init__(self, topics: Topics, consumers: Consumers, offsets: ConsumerOffsets) -> None:
        self._topics = topics
        self._consumers = consumers
        self._offsets = offsets

    def decode_header(self, ext_fields: dict[str, str]) -> CloneGroupOffsetRequestHeader:
        """A missing group counts as one named null, as in the real broker."""
        return super().decode_header({"srcGroup": "null", "destGroup": "null", **ext_fields})

    def handle(self, request: Request[CloneGroupOffsetRequestHeader]) -> Response:
        header = request.header
        topic = header.topic or ""
        if not topic.strip() or self._topics.get(topic) is None:
            log.warning(
                "offsets not copied, no such topic: group=%s topic=%s", header.src_group, topic
            )
        elif (
            not header.offline
            and "srcGroup" not in request.ext_fields
            and header.src_group == "null"
        ):
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, "the request names no group to copy from: set srcGroup"
            )
        elif not header.offline and self._does_not_subscribe(header.src_group, topic):
            log.warning(
                "offsets not copied, the topic is not subscribed: group=%s topic=%s",
                header.src_group,
                topic,
            )
        else:
            self._offsets.copy_group(header.src_group, header.dest_group, topic)
        return Response()

    def _does_not_subscribe(self, group: str, topic: str) -> bool:
        """Whether the group is online with subscriptions, but not to this topic."""
        found = self._consumers.find_subscription(group, topic)
        return found is None and self._consumers.subscription_count(group) > 0
