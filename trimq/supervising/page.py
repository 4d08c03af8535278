"""One /metrics page of several brokers: theirs, each with a label ``broker``, and the supervisor's own figures; and
whether all of them are ready.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import trio

from trimq.process.probes import Verdict
from trimq.remoting.errors import reason_of
from trimq.settings.endpoints import Endpoint
from trimq.supervising.child import Child

if TYPE_CHECKING:
    from prometheus_client import Metric

log = logging.getLogger("trimq.supervisor")

_SECONDS: Final = 5
# How it shows that a broker does not answer.
_SILENCE: Final = (OSError, trio.TooSlowError, trio.BrokenResourceError)


class FamilyPage:
    """prometheus_client's collector interface; `refresh` asks the brokers before each answer."""

    def __init__(self, children: Sequence[Child]) -> None:
        self._children = children
        self._texts: dict[str, str] = {}

    async def refresh(self) -> None:
        """Ask all brokers at a time; one that does not answer is left out."""
        self._texts = {}
        async with trio.open_nursery() as nursery:
            for child in self._children:
                nursery.start_soon(self._ask, child)

    async def _ask(self, child: Child) -> None:
        if child.metrics_address is None:
            return
        try:
            _, body = await _fetched(child.metrics_address, "/metrics")
        except _SILENCE as error:
            log.warning("no metrics of a broker: name=%s reason=%s", child.member.name, error)
            return
        self._texts[child.member.name] = body

    async def ready(self) -> Verdict:
        """What each broker's own page says, all of them asked at a time."""
        why: dict[str, list[str]] = {child.member.name: [] for child in self._children}
        async with trio.open_nursery() as nursery:
            for child in self._children:
                nursery.start_soon(_ask_readiness, child, why[child.member.name])
        names = ", ".join(why)
        sentences = [f"{name}: {one}" for name, found in why.items() for one in found]
        return Verdict(f"all brokers are ready: {names}", sentences)

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        families: dict[str, Metric] = {}
        for name, text in sorted(self._texts.items()):
            _merge(families, name, text)
        yield from families.values()
        up = GaugeMetricFamily("trimq_broker_up", "1 for a broker that answers.", labels=["broker"])
        restarts = CounterMetricFamily(
            "trimq_broker_restarts",
            "Ends of a broker's process that it was not told to.",
            labels=["broker"],
        )
        for child in self._children:
            up.add_metric([child.member.name], float(child.member.name in self._texts))
            restarts.add_metric([child.member.name], child.restarts)
        yield up
        yield restarts


async def _ask_readiness(child: Child, why: list[str]) -> None:
    """Adds the sentences."""
    if child.metrics_address is None:
        why.append("it does not say where to ask")
        return
    try:
        status, text = await _fetched(child.metrics_address, "/readyz")
    except _SILENCE as error:
        why.append(f"it does not answer: {reason_of(error) or 'too slow'}")
        return
    if status != "200":
        why += text.splitlines() or ["it gives no answer"]


async def _fetched(address: str, path: str) -> tuple[str, str]:
    """The status and the body of a broker's page; raises one of _SILENCE."""
    endpoint = Endpoint.parse(address)
    with trio.fail_after(_SECONDS):
        stream = await trio.open_tcp_stream(endpoint.host, endpoint.port)
        async with stream:
            await stream.send_all(f"GET {path} HTTP/1.1\r\nHost: broker\r\n\r\n".encode())
            data = b"".join([part async for part in stream])
    head, _, body = data.partition(b"\r\n\r\n")
    _, _, status = head.partition(b" ")
    return status[:3].decode(), body.decode()


def _merge(families: "dict[str, Metric]", broker: str, text: str) -> None:
    from prometheus_client.core import Metric
    from prometheus_client.parser import text_string_to_metric_families

    found: Iterable[Metric] = text_string_to_metric_families(text)
    for family in found:
        own = families.get(family.name)
        if own is None:
            own = families[family.name] = Metric(family.name, family.documentation, family.type)
        for sample in family.samples:
            own.add_sample(sample.name, {"broker": broker, **sample.labels}, sample.value)
