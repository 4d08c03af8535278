"""What broker and NameServer of one process share, and what /metrics says about it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from trimq.logs.setup import dropped_lines
from trimq.process.loop_steps import LoopSteps
from trimq.process.metrics import Sample
from trimq.process.supervision import Supervisor
from trimq.remoting.resources import Resources
from trimq.settings.passed_sockets import PassedSockets


@dataclass(frozen=True, slots=True)
class ProcessState:
    """One supervisor keeps all services going; all servers run in one loop, and divide its resources."""

    supervisor: Supervisor = field(default_factory=Supervisor)
    steps: LoopSteps = field(default_factory=LoopSteps)
    resources: Resources = field(default_factory=Resources)
    # Those that it was given at its start, and nobody has taken yet.
    passed: PassedSockets = field(default_factory=PassedSockets)

    def samples(self) -> Iterator[Sample]:
        """One scrape; it begins a new measurement of the longest step."""
        steps = self.steps
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
        resources = self.resources
        yield Sample(
            "trimq_network_memory_bytes",
            "Memory kept for connections: unfinished frames, waiting requests, answers on their way.",
            "gauge",
            resources.memory.total,
        )
        yield Sample(
            "trimq_long_work_waiting",
            "Long answers that are being made, in steps.",
            "gauge",
            resources.steps.waiting,
        )
        yield Sample(
            "trimq_long_work_steps",
            "Steps of long answers.",
            "counter",
            resources.steps.steps,
        )
        yield Sample(
            "trimq_log_lines_dropped",
            "Log lines lost because nobody reads standard error.",
            "counter",
            dropped_lines(),
        )
        for service, count in self.supervisor.failures.items():
            yield Sample(
                "trimq_service_failures",
                "Failures of background services; each was restarted.",
                "counter",
                count,
                {"service": service},
            )
