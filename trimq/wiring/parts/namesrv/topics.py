"""Lists of topics, and topics that are announced by others than brokers."""

from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.routes import RouteTable
from trimq.processors.namesrv.topics.delete_topic_in_namesrv import DeleteTopicInNamesrv
from trimq.processors.namesrv.topics.get_all_topic_list_from_nameserver import (
    GetAllTopicListFromNameserver,
)
from trimq.processors.namesrv.topics.get_has_unit_sub_topic_list import GetHasUnitSubTopicList
from trimq.processors.namesrv.topics.get_has_unit_sub_ununit_topic_list import (
    GetHasUnitSubUnunitTopicList,
)
from trimq.processors.namesrv.topics.get_system_topic_list_from_ns import GetSystemTopicListFromNs
from trimq.processors.namesrv.topics.get_topics_by_cluster import GetTopicsByCluster
from trimq.processors.namesrv.topics.get_unit_topic_list import GetUnitTopicList
from trimq.processors.namesrv.topics.register_topic_in_namesrv import RegisterTopicInNamesrv
from trimq.wiring.part import Part


def part(config: NamesrvConfig, routes: RouteTable) -> Part:
    return Part(
        name="topics",
        processors=[
            GetAllTopicListFromNameserver(routes.topics, config),
            GetSystemTopicListFromNs(routes),
            GetTopicsByCluster(routes, config),
            GetUnitTopicList(routes.topics, config),
            GetHasUnitSubTopicList(routes.topics, config),
            GetHasUnitSubUnunitTopicList(routes.topics, config),
            RegisterTopicInNamesrv(routes),
            DeleteTopicInNamesrv(routes),
        ],
    )
