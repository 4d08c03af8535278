"""Asking brokers which queues there are, and what became of those that are not where they were.

That a topic has no route says nothing about its messages: NameServers forget a broker with its
connection. A topic or queue counts as deleted when a broker that answers says that it does not have
it.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from trimq.admin.brokers.cluster import preferred_addr
from trimq.admin.errors import Refused
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.bodies.queue_tables import TopicStatsTable, by_queue
from trimq.codec.bodies.route import BrokerData, TopicRouteData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import Perm
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.topics import GetTopicStatsInfoRequestHeader
from trimq.codec.names import MASTER_ID
from trimq.remoting.errors import TransportError
from trimq.spark.options.positions import Offsets, QueueKey
from trimq.spark.planning.routes import Routes
from trimq.spark.planning.searching import ends
from trimq.spark.planning.server_requests import Question, ServerRequests
from trimq.spark.planning.views import View
from trimq.spark.queues import QueueEnds
from trimq.spark.reading.outages import is_outage

log: Final = logging.getLogger("trimq.spark")

# A topic on a broker.
_Place = tuple[str, str]
_DELETED: Final = "its broker does not have the topic any more"
# If no route says how many queues may be read: all that the broker has.
_ALL: Final = 1 << 31


class QueueDiscovery:
    """One look at brokers: asks each for its topics and sorts what it says into a view."""

    def __init__(
        self, server_requests: ServerRequests, routes: Mapping[str, TopicRouteData]
    ) -> None:
        self.view = View()
        self._server_requests = server_requests
        self._routes = routes
        self._answered: set[_Place] = set()
        self._deleted: set[_Place] = set()
        self._closed: set[_Place] = set()
        self._away: dict[str, str] = {}

    def ask(self) -> None:
        """Ask every broker of the routes for the queues of its topics."""
        places: dict[str, list[tuple[_Place, int]]] = defaultdict(list)
        slaves: set[str] = set()
        for topic, route in self._routes.items():
            brokers = {one.broker_name: one for one in route.broker_datas}
            for data in route.queue_datas:
                place = (topic, data.broker_name)
                broker = brokers.get(data.broker_name)
                addr = None if broker is None else preferred_addr(broker)
                if broker is None or addr is None:
                    self._is_away(data.broker_name, "has no address in the topic's route")
                elif not Perm.readable(data.perm):
                    self._closed.add(place)
                else:
                    master = broker.broker_addrs.get(MASTER_ID)
                    if master:
                        self.view.masters[place] = master
                    else:
                        slaves.add(addr)
                    places[addr].append((place, len(data.readable())))
        self._ask(places, slaves)

    def find(self, missing: Iterable[QueueKey], routes: Routes) -> None:
        """Learn what became of queues that no route led to."""
        by_place: dict[_Place, list[QueueKey]] = defaultdict(list)
        for key in missing:
            by_place[key[:2]].append(key)
        unasked = [place for place in by_place if self._unasked(place)]
        if unasked:
            self._ask_directly(unasked, routes.cluster(), routes.name_servers)
        for place, keys in by_place.items():
            topic, broker = place
            found = [key for key in keys if key not in self.view.bounds]
            if place in self._deleted:
                self.view.gone |= dict.fromkeys(found, _DELETED)
            elif place in self._answered:
                self.view.gone |= dict.fromkeys(found, "the queue does not exist any more")
                self.view.retired |= self._ends_of(found)
            else:
                self.view.waits |= set(found)
                if place in self._closed:
                    what = f"topic {topic!r} on broker {broker!r}"
                    self.view.away[what] = "may not be read now"

    def _ends_of(self, keys: list[QueueKey]) -> Offsets:
        """Where queues end that a topic no longer has: a broker goes on to know them until they are deleted.

        What it does not say is not known; then it counts as lost, as everything that is gone.
        """
        addrs = {key: self.view.masters.get(key[:2]) for key in keys}
        asked = {key: QueueEnds(0, 0, addr) for key, addr in addrs.items() if addr is not None}
        try:
            return ends(self._server_requests, asked, asked)
        except (Refused, TransportError) as error:
            log.info("ends of queues that are gone are not known: %s", error)
            return {}

    def deleted_from(self, topic: str) -> str:
        """The end of a sentence for a broker that should have the topic and says that it does not."""
        brokers = sorted(broker for name, broker in self._deleted if name == topic)
        return f"is not on broker {brokers[0]!r} any more" if brokers else ""

    def _unasked(self, place: _Place) -> bool:
        return (
            place not in self._answered
            and place not in self._deleted
            and place not in self._closed
            and place[1] not in self._away
        )

    def _ask_directly(self, places: Iterable[_Place], info: ClusterInfo, name_servers: str) -> None:
        asked: dict[str, list[tuple[_Place, int]]] = defaultdict(list)
        for place in places:
            broker: BrokerData | None = info.broker_addr_table.get(place[1])
            addr = None if broker is None else broker.broker_addrs.get(MASTER_ID)
            if addr is None:
                self._is_away(place[1], f"is not registered with {name_servers}")
            else:
                self.view.masters[place] = addr
                asked[addr].append((place, _ALL))
        self._ask(asked, set())

    def _ask(self, places: Mapping[str, list[tuple[_Place, int]]], slaves: set[str]) -> None:
        code = RequestCode.GET_TOPIC_STATS_INFO
        questions = {
            addr: [
                Question(code, GetTopicStatsInfoRequestHeader(topic=place[0])) for place, _ in some
            ]
            for addr, some in places.items()
        }
        for addr, answers in self._server_requests.ask_all(questions).items():
            some = places[addr]
            if isinstance(answers, TransportError):
                for place, _ in some:
                    self._is_away(place[1], f"is away: {answers}")
                continue
            for (place, queues), answer in zip(some, answers, strict=True):
                if answer.code == ResponseCode.SUCCESS:
                    self._take(place, queues, addr, addr in slaves, answer)
                elif answer.code == ResponseCode.TOPIC_NOT_EXIST:
                    self._deleted.add(place)
                else:
                    refused = Refused(addr, code, answer.code, answer.remark)
                    if not is_outage(refused):
                        raise refused
                    self._is_away(place[1], f"is busy: {refused}")

    def _take(
        self, place: _Place, queues: int, addr: str, slave: bool, answer: RemotingCommand
    ) -> None:
        self._answered.add(place)
        topic, broker = place
        for queue, at in by_queue(decode_body(TopicStatsTable, answer.body).offset_table).items():
            if queue.queue_id < queues:
                key = (topic, broker, queue.queue_id)
                self.view.bounds[key] = QueueEnds(at.min_offset, at.max_offset, addr, slave)

    def _is_away(self, broker: str, why: str) -> None:
        self._away[broker] = why
        self.view.away[f"broker {broker!r}"] = why
