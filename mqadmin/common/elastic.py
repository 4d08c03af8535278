"""Whether a broker has a topic as an elastic one: what changes an ordinary topic's queues must leave it alone."""

import socket
from collections.abc import Sequence

from trimq.codec.bodies.elastic_admin import ElasticView
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import Run
from trimq.remoting.errors import TransportError


def queues_in_use(view: ElasticView) -> int:
    """Without those at the end that only have messages from before."""
    return sum(one.partitions > 0 for one in view.queues)


def is_same_place(one: str, other: str) -> bool:
    """Whether two texts are one address: a host has a name, and numbers."""
    (host, _, port), (other_host, _, other_port) = one.rpartition(":"), other.rpartition(":")
    return one == other or (port == other_port and bool(_numbers(host) & _numbers(other_host)))


def _numbers(host: str) -> set[str]:
    bare = host.strip("[]")
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(bare, None)}
    except OSError:
        return {bare}


def _view_if_there(run: Run, addr: str, topic: str) -> ElasticView | None:
    """None, too, for a broker that is away: changing it fails, and is reported, for itself."""
    try:
        return run.admin.find_elastic_view(addr, topic)
    except TransportError:
        return None


def check_update(
    run: Run, topic: str, addrs: Sequence[str], *, drain: bool, order: bool, numbers: int | None
) -> bool:
    """Whether `updateTopic` is about an elastic topic; Failed for what would cost it its order.

    Numbers of queues do nothing there, which the official tool's "success" does not say.
    """
    views = {addr: _view_if_there(run, addr, topic) for addr in addrs}
    for addr, view in views.items():
        if view is None:
            continue
        if len(addrs) > 1:
            raise Failed(
                f"{topic!r} is elastic on {addr}, and no other broker may have it: use -b {addr}"
            )
        if drain:
            raise Failed(
                f"{topic!r} is elastic: mqadmin elasticTopic scale -t {topic} -q N removes queues once they are read"
            )
        if order:
            raise Failed(
                f"{topic!r} is elastic, and ordered without -o true: that would give producers another list of queues"
            )
        if numbers:
            run.warn(
                f"{addr}: {topic!r} is elastic and keeps its {queues_in_use(view)} queues;"
                f" mqadmin elasticTopic scale -t {topic} -q N changes them"
            )
        return True
    return False
