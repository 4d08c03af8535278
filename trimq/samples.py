"""What /metrics says of a broker."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trimq.codec.codes import RequestCode
from trimq.logs import dropped_lines
from trimq.loop_steps import LoopSteps
from trimq.metrics import Sample
from trimq.supervision import Supervisor

if TYPE_CHECKING:
    from trimq.wiring.broker import Broker

_NAMES = {int(code): code.name for code in RequestCode}


@dataclass(frozen=True, slots=True)
class ProcessState:
    """What broker and NameServer of one process share."""

    supervisor: Supervisor = field(default_factory=Supervisor)
    steps: LoopSteps = field(default_factory=LoopSteps)


class RequestCounters:
    """Answered requests by request code and response code."""

    __slots__ = ("answered",)

    def __init__(self) -> None:
        self.answered: Counter[tuple[int, int]] = Counter()

    def count(self, request_code: int, response_code: int) -> None:
        self.answered[request_code, response_code] += 1


def broker_samples(broker: "Broker") -> Iterator[Sample]:
    """One figure after the other; label values come from closed sets, never from clients."""
    yield from _requests(broker)
    yield from _remoting(broker)
    yield from _state(broker)


def process_samples(process: ProcessState) -> Iterator[Sample]:
    """What holds for the whole process; reading it begins a new measurement of the longest step."""
    steps = process.steps
    yield Sample("trimq_loop_steps", "Steps of the event loop.", "counter", steps.steps)
    yield Sample(
        "trimq_loop_long_steps",
        "Steps of the event loop above 20 ms.",
        "counter",
        steps.long_steps,
    )
    yield Sample(
        "trimq_loop_longest_step_seconds",
        "Longest step of the event loop since the last scrape.",
        "gauge",
        steps.take_longest(),
    )
    yield Sample(
        "trimq_log_lines_dropped",
        "Log lines lost because nobody reads standard error.",
        "counter",
        dropped_lines(),
    )
    for service, count in process.supervisor.failures.items():
        yield Sample(
            "trimq_service_failures",
            "Failures of background services; each was started anew.",
            "counter",
            count,
            {"service": service},
        )


def _requests(broker: "Broker") -> Iterator[Sample]:
    for (request, response), count in broker.requests.answered.items():
        labels = {"request": _NAMES.get(request, "unknown"), "code": str(response)}
        yield Sample("trimq_requests", "Answered requests.", "counter", count, labels)


def _remoting(broker: "Broker") -> Iterator[Sample]:
    counters = broker.main.counters
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
        yield Sample("trimq_limit_refusals", "Refused for a limit.", "counter", count, labels)
    yield Sample(
        "trimq_held_requests", "Requests that wait, such as held pulls.", "gauge", counters.held
    )


def _state(broker: "Broker") -> Iterator[Sample]:
    state, store = broker.state, broker.state.store
    yield Sample("trimq_topics", "Topics.", "gauge", len(state.topics))
    yield Sample("trimq_subscription_groups", "Groups with settings.", "gauge", len(state.groups))
    yield Sample(
        "trimq_consumer_groups", "Consumer groups online.", "gauge", len(state.consumers.groups())
    )
    yield Sample(
        "trimq_producer_groups", "Producer groups online.", "gauge", len(state.producers.groups())
    )
    yield Sample(
        "trimq_subscription_disagreements",
        "Times that members of a group began to subscribe differently.",
        "counter",
        state.consumers.disagreements,
    )
    yield Sample(
        "trimq_disagreeing_groups",
        "Groups online whose members subscribe differently now.",
        "gauge",
        state.consumers.groups_in_dispute,
    )
    written = store.max_physical_offset
    yield Sample(
        "trimq_commit_log_end", "Where the commit log ends: bytes ever written.", "gauge", written
    )
    unflushed = written - store.flushed_offset
    yield Sample(
        "trimq_commit_log_unflushed",
        "Bytes of the commit log not yet flushed to the disk.",
        "gauge",
        unflushed,
    )
    yield from _retention(broker)


def _retention(broker: "Broker") -> Iterator[Sample]:
    store = broker.state.store
    begin = store.min_physical_offset
    yield Sample("trimq_commit_log_begin", "First byte not deleted.", "gauge", max(begin, 0))
    use = store.cleaning.use
    for path, share in (("commitlog", use.commit_log), ("consumequeue", use.consume_queue)):
        help_text = "Used part of the disk at the last look, 0 to 1."
        yield Sample("trimq_disk_used", help_text, "gauge", max(share, 0), {"path": path})
    full = int(store.cleaning.disk_full)
    yield Sample("trimq_disk_full", "1 while messages are refused for it.", "gauge", full)
    for kind, count in (
        ("commitlog", store.cleaning.deleted_files),
        ("consumequeue", store.trimming.deleted_files),
    ):
        yield Sample("trimq_deleted_files", "Old files deleted.", "counter", count, {"kind": kind})
