"""Prometheus ``/metrics`` on a port of its own, off by default, with ``/healthz`` and ``/readyz`` beside it.

A small HTTP server on the Trio loop, where broker state may be touched. Strangers can do little
with it: a request is limited in size and time, few are answered at once, and none delays the
shutdown.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import trio

from trimq.process.http import read_request, send_answer
from trimq.process.loop_turns import measured_turns
from trimq.process.probes import Probe, Probes, wants_json
from trimq.settings.endpoints import AddressError, Endpoint
from trimq.settings.listening import listen
from trimq.settings.passed_sockets import METRICS, PassedSockets

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

log = logging.getLogger("trimq.server")

CONNECTIONS: Final = 16
_ACCEPT_AGAIN_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure: ``kind`` is "counter" or "gauge"; counters are named without ``_total``."""

    name: str
    doc: str
    kind: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)


Snapshot = Callable[[], Iterable[Sample]]
Refresh = Callable[[], Awaitable[None]]


class Collecting(Protocol):
    """What prometheus_client wants of a collector."""

    def collect(self) -> "Iterator[Metric]": ...


class SampleCollector:
    """prometheus_client's collector interface over a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> "Iterator[Metric]":
        return iter(_families(list(self._snapshot())))


def _families(samples: list[Sample]) -> "list[Metric]":
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    families: dict[str, Any] = {}
    for sample in samples:
        family = families.get(sample.name)
        if family is None:
            kind = CounterMetricFamily if sample.kind == "counter" else GaugeMetricFamily
            family = families[sample.name] = kind(
                sample.name, sample.doc, labels=list(sample.labels)
            )
        family.add_metric(list(sample.labels.values()), sample.value)
    return list(families.values())


@dataclass(frozen=True, slots=True)
class _Page:
    registry: "CollectorRegistry"
    refresh: Refresh | None
    probes: Probes


@asynccontextmanager
async def metrics_server(
    endpoint: Endpoint,
    collector: "Collecting",
    refresh: Refresh | None = None,
    ready: Probe | None = None,
    passed: PassedSockets | None = None,
) -> AsyncIterator[Endpoint]:
    """Serve ``/metrics`` until the block ends; yields the address that is listened on.

    `refresh` is awaited before each answer. `ready` is what ``/readyz`` says.
    """
    # Loaded only when asked for: a start without metrics does not pay for it.
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    try:
        sock = listen(endpoint, METRICS, passed, "--metrics")
    except AddressError as error:
        raise AddressError(f"cannot serve metrics on {endpoint}: {error}") from error
    with trio.socket.from_stdlib_socket(sock) as listening, measured_turns() as turns:
        page = _Page(registry, refresh, Probes(turns, ready))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_accept, listening, page)
            yield Endpoint(endpoint.host, sock.getsockname()[1])
            nursery.cancel_scope.cancel()


async def _accept(listening: trio.socket.SocketType, page: "_Page") -> None:
    """Until cancelled: above the bound, newcomers wait in the kernel's queue."""
    room = trio.Semaphore(CONNECTIONS)
    async with trio.open_nursery() as nursery:
        while True:
            await room.acquire()
            try:
                sock, _ = await listening.accept()
            except OSError as error:
                room.release()
                log.error("metrics: accept failed, trying again: reason=%s", error)
                await trio.sleep(_ACCEPT_AGAIN_SECONDS)
            else:
                nursery.start_soon(_serve, sock, page, room)


async def _serve(sock: trio.socket.SocketType, page: "_Page", room: trio.Semaphore) -> None:
    try:
        with sock:
            await _answer(trio.SocketStream(sock), page)
    except (OSError, trio.BrokenResourceError) as error:
        log.debug("metrics: connection failed: reason=%s", error)
    except Exception:
        # A bug, but one scrape's.
        log.exception("metrics: scrape failed")
    finally:
        room.release()


async def _answer(stream: trio.SocketStream, page: "_Page") -> None:
    """One request on a connection; a client that takes too long gets nothing."""
    request = await read_request(stream)
    if request is None:
        return
    accept = request.headers.get("accept", "")
    status, kind, body = await _content(page, request.method, request.target, accept)
    await send_answer(stream, request.method, status, kind, body)


async def _content(page: "_Page", method: str, target: str, accept: str) -> tuple[str, str, bytes]:
    """The status, the content type and the body."""
    from prometheus_client.exposition import choose_encoder

    if method not in ("GET", "HEAD"):
        return "405 Method Not Allowed", "text/plain", b""
    path, _, query = target.partition("?")
    if path in ("/metrics", "/"):
        encode, kind = choose_encoder(accept)
        if page.refresh is not None:
            await page.refresh()
        return "200 OK", kind, encode(page.registry)
    verdict = await page.probes.verdict(path)
    if verdict is None:
        return "404 Not Found", "text/plain", b""
    if wants_json(query, accept):
        return verdict.status, "application/json", verdict.json().encode()
    return verdict.status, "text/plain; charset=utf-8", verdict.text().encode()
