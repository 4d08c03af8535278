"""What the requests about elastic topics have in common: plans, and refusals that say what to do."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from trimq.broker.elastic.model import Move, PlanError
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.elastic_admin import ElasticPlan
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError, Response


@contextmanager
def refusing() -> Iterator[None]:
    """What cannot be planned is refused with the plan's own words."""
    try:
        yield
    except PlanError as error:
        raise RemotingError(ResponseCode.INVALID_PARAMETER, str(error)) from error


def planned(moves: Sequence[Move]) -> Response:
    """The changes that are to come, or that were given up."""
    return Response(body=encode_body(ElasticPlan(moves=[dict(move.targets) for move in moves])))
