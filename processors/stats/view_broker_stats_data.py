"""VIEW_BROKER_STATS_DATA: one counter of the last minute, hour and day."""

from trimq.broker.stats.broker_stats import BrokerStats, Figure
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.progress import BrokerStatsData, BrokerStatsItem
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.messages import ViewBrokerStatsDataRequestHeader
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class ViewBrokerStatsData(Processor[ViewBrokerStatsDataRequestHeader]):
    """BrokerStatsData. Keys are a topic, `topic@group` or the cluster, as the counter's name asks."""

    codes = (RequestCode.VIEW_BROKER_STATS_DATA,)
    header = ViewBrokerStatsDataRequestHeader

    def __init__(self, stats: BrokerStats) -> None:
        self._stats = stats

    def decode_header(self, ext_fields: dict[str, str]) -> ViewBrokerStatsDataRequestHeader:
        """A missing name is written as null, as in the real broker's answer."""
        return super().decode_header({"statsName": "null", "statsKey": "null", **ext_fields})

    def handle(self, request: Request[ViewBrokerStatsDataRequestHeader]) -> Response:
        name, key = request.header.stats_name, request.header.stats_key
        figures = self._stats.figures(name, key)
        if figures is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"The stats <{name}> <{key}> not exist")
        minute, hour, day = map(_item, figures)
        body = BrokerStatsData(stats_day=day, stats_hour=hour, stats_minute=minute)
        return Response(body=encode_body(body))


def _item(figure: Figure) -> BrokerStatsItem:
    return BrokerStatsItem(avgpt=figure.average, sum=figure.sum, tps=figure.tps)
