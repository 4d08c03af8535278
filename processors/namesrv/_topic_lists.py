"""Lists of the topics that are of one kind, which a setting may refuse."""

from collections.abc import Callable

from trimq.codec.codes import ResponseCode
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.topic_queues import TopicQueues
from trimq.processors._steps import AnswerSteps, topic_list
from trimq.remoting.contract import RemotingError


def check_listing(config: NamesrvConfig) -> None:
    """RemotingError while lists are refused."""
    if not config.enable_topic_list:
        raise RemotingError(ResponseCode.SYSTEM_ERROR, "disable")


def topics_with(
    topics: TopicQueues, config: NamesrvConfig, wanted: Callable[[int], bool]
) -> AnswerSteps:
    """The topics whose system flag is wanted."""
    check_listing(config)
    names = yield from topics.topics_with(wanted)
    return (yield from topic_list(names))
