"""GET_ROUTEINFO_BY_TOPIC: where a topic is served (ClientRequestProcessor, ZoneRouteRPCHook).

Clients ask every 30 s, all of them for the same few topics: an encoded answer is kept until something
that it was made of changes, and only for callers without a zone.
"""

from collections.abc import Callable
from typing import Final

from trimq.codec.bodies.route import BrokerData, TopicRouteData, encode_route
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.codec.java.texts import java_text
from trimq.codec.names import MASTER_ID, NAMESRV_SEE_FAQ
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.kv_config import ORDER_TOPIC_CONFIG, KVConfig
from trimq.namesrv.routes import RouteTable
from trimq.remoting.contract import Processor, RemotingError, Request, Response

# MQVersion.V4_9_4: from there on clients read JSON with quoted integer keys.
_READS_STANDARD_JSON: Final = 401
# Bytes of answers that are kept; at more, all of them are made anew.
_MOST_KEPT: Final = 8 << 20

# What answers are made of besides the question: changes of routes and of ordered topics, two settings.
_Stamp = tuple[int, int, bool, bool]


class GetRouteinfoByTopic(Processor[GetRouteInfoRequestHeader]):
    codes = (RequestCode.GET_ROUTEINFO_BY_TOPIC,)
    header = GetRouteInfoRequestHeader

    def __init__(
        self,
        routes: RouteTable,
        kv_config: KVConfig,
        config: NamesrvConfig,
        now_millis: Callable[[], int],
    ) -> None:
        self._routes = routes
        self._kv_config = kv_config
        self._config = config
        self._now = now_millis
        self._started_at = now_millis()
        # By topic, and whether integer keys are quoted.
        self._kept: dict[tuple[str, bool], bytes] = {}
        self._kept_bytes = 0
        self._kept_stamp: _Stamp | None = None

    def handle(self, request: Request[GetRouteInfoRequestHeader]) -> Response:
        if not self._ready():
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "name server not ready")
        quoted = request.version >= _READS_STANDARD_JSON
        quoted = quoted or request.header.accept_standard_json_only is True
        fields = request.ext_fields
        if "__ZONE_MODE" in fields and fields["__ZONE_MODE"].lower() == "true":
            zone = fields.get("__ZONE_NAME", "")
            if zone.strip():
                route = self._route(request.header.topic)
                _keep_zone(route, zone)
                # The hook encodes the filtered route again, always in FastJSON's own way.
                return Response(body=encode_route(route, quoted_keys=False))
        return Response(body=self._encoded(request.header.topic, quoted))

    def _encoded(self, topic: str | None, quoted: bool) -> bytes:
        """The whole route; RemotingError when there is none."""
        config = self._config
        stamp = (
            self._routes.changes,
            self._kv_config.changes,
            config.support_acting_master,
            config.order_message_enable,
        )
        if stamp != self._kept_stamp or self._kept_bytes > _MOST_KEPT:
            self._kept.clear()
            self._kept_bytes = 0
            self._kept_stamp = stamp
        found = None if topic is None else self._kept.get((topic, quoted))
        if found is None:
            found = encode_route(self._route(topic), quoted_keys=quoted)
            # Without a topic there is no route.
            self._kept[topic or "", quoted] = found
            self._kept_bytes += len(found)
        return found

    def _route(self, topic: str | None) -> TopicRouteData:
        route = None if topic is None else self._routes.route(topic)
        if topic is None or route is None:
            remark = f"No topic route info in name server for the topic: {java_text(topic)}{NAMESRV_SEE_FAQ}"
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, remark)
        if self._config.order_message_enable:
            route.order_topic_conf = self._kv_config.get(ORDER_TOPIC_CONFIG, topic)
        return route

    def _ready(self) -> bool:
        config = self._config
        if not config.need_wait_for_service:
            return True
        return self._now() - self._started_at >= config.wait_seconds_for_service * 1000


def _keep_zone(route: TopicRouteData, zone: str) -> None:
    """Only brokers in the caller's zone, and those without a master wherever they are."""
    kept = [group for group in route.broker_datas if _is_near(group, zone)]
    removed = [group for group in route.broker_datas if not _is_near(group, zone)]
    names = {group.broker_name for group in removed}
    route.broker_datas = kept
    route.queue_datas = [data for data in route.queue_datas if data.broker_name not in names]
    for group in removed:
        for address in group.broker_addrs.values():
            route.filter_server_table.pop(address, None)


def _is_near(group: BrokerData, zone: str) -> bool:
    if MASTER_ID not in group.broker_addrs:
        return True
    return group.zone_name is not None and group.zone_name.lower() == zone.lower()
