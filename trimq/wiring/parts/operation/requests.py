"""What is counted about requests and connections."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from trimq.codec.codes import OwnRequestCode, RequestCode
from trimq.process.metrics import Sample
from trimq.remoting.counters import RemotingCounters
from trimq.wiring.part import Part

_NAMES = {int(code): code.name for code in (*RequestCode, *OwnRequestCode)}


@dataclass(frozen=True, slots=True)
class RequestCounters:
    """``answered`` by request code and response code; ``remoting`` for both ports together."""

    remoting: RemotingCounters = field(default_factory=RemotingCounters)
    answered: Counter[tuple[int, int]] = field(default_factory=Counter)

    def count(self, request_code: int, response_code: int) -> None:
        self.answered[request_code, response_code] += 1

    def samples(self) -> Iterator[Sample]:
        """Label values come from closed sets, never from clients."""
        for (request, response), count in self.answered.items():
            labels = {"request": _NAMES.get(request, "unknown"), "code": str(response)}
            yield Sample("trimq_requests", "Answered requests.", "counter", count, labels)
        yield from _connections(self.remoting)


def part(counters: RequestCounters) -> Part:
    return Part(name="requests", samples=counters.samples)


def _connections(counters: RemotingCounters) -> Iterator[Sample]:
    yield Sample("trimq_connections", "Open connections.", "gauge", counters.connections)
    yield Sample("trimq_connections_opened", "Connections so far.", "counter", counters.opened)
    yield Sample("trimq_received_bytes", "Bytes received.", "counter", counters.bytes_in)
    yield Sample("trimq_sent_bytes", "Bytes sent.", "counter", counters.bytes_out)
    yield Sample("trimq_frames_received", "Frames received.", "counter", counters.frames_in)
    yield Sample("trimq_frames_sent", "Frames sent.", "counter", counters.frames_out)
    yield Sample("trimq_protocol_errors", "Broken frames.", "counter", counters.protocol_errors)
    yield Sample("trimq_request_errors", "Failed requests.", "counter", counters.errors)
    for key, count in counters.limits.items():
        labels = {"limit": key}
        yield Sample(
            "trimq_limit_refusals", "Refused because of a limit.", "counter", count, labels
        )
    yield Sample(
        "trimq_held_requests",
        "Requests that are waiting, such as held pulls.",
        "gauge",
        counters.waiting,
    )
