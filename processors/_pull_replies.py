"""The outcome of a pull on the wire.

Hot: compiled by mypyc when a compiler is there.
"""

from functools import partial
from typing import Any

from trimq.broker.consume.outcomes import Pull, Refused
from trimq.broker.consume.pulling import Pulling, Waiting
from trimq.broker.topics.static_queues import is_forwarded
from trimq.codec.headers.fast import PullHeader
from trimq.remoting.exchange import Later, Request, Response


def answer_pull(pulling: Pulling, request: Request[PullHeader], lite: bool) -> Response | Later:
    """The answer, or a continuation that does not keep the request's body."""
    fields = request.ext_fields
    forwarded = "lo" in fields and is_forwarded(fields)
    outcome = pulling.pull(request.header, request.peer, lite, forwarded)
    if isinstance(outcome, (Pull, Refused)):
        return _reply(outcome)
    return Later(request, partial(_finish, pulling, outcome), False)


async def _finish(pulling: Pulling, waiting: Waiting, request: Request[Any]) -> Response:
    return _reply(await pulling.finish(waiting))


def _reply(outcome: Pull | Refused) -> Response:
    if isinstance(outcome, Pull):
        return Response(outcome.code, outcome.remark, None, outcome.fields, outcome.body)
    fields = {"forbiddenType": str(outcome.forbidden)} if outcome.forbidden else None
    return Response(outcome.code, outcome.remark, None, fields)
