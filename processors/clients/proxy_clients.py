"""PROXY_CLIENTS: a proxy says who its clients are, every 20 seconds and on change (TriMQ's own).

Their groups get their %RETRY% topics here, as by a heartbeat: tools find a group's brokers by the route of that topic.
"""

from trimq.broker.groups.clients.behind_proxies import BehindProxies
from trimq.broker.groups.consumers.heartbeat_checks import GroupTopics
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.heartbeat import ConsumerData
from trimq.codec.bodies.proxied import ProxiedClients
from trimq.codec.codes import OwnRequestCode
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import Peer, Request, Response


class ProxyClients(SteppedProcessor[None]):
    codes = (OwnRequestCode.PROXY_CLIENTS,)

    def __init__(self, admission: GroupTopics, proxies: BehindProxies) -> None:
        self._admission = admission
        self._proxies = proxies

    def steps(self, request: Request[None]) -> AnswerSteps:
        # Read before it is anybody's turn: the body is not kept.
        return self._steps(request.peer, decode_request(ProxiedClients, request.body))

    def _steps(self, peer: Peer, said: ProxiedClients) -> AnswerSteps:
        self._proxies.check(peer, said)
        news = {one.group: one for one in said.clients if not self._proxies.of(one.group)}
        for one in news.values():
            self._admission.admit(
                ConsumerData(
                    group_name=one.group,
                    consume_type=one.consume_type,
                    subscription_data_set=one.subscriptions,
                ),
                peer,
            )
            yield 0
        self._proxies.say(peer, said)
        return Response()
