"""Prometheus ``/metrics`` on a port of its own, off by default.

The HTTP server runs in a thread and asks the Trio thread for one snapshot per scrape: broker state is
touched from the Trio thread only.
"""

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import trio

from trimq.endpoints import AddressError, Endpoint

if TYPE_CHECKING:
    from prometheus_client import Metric


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure: ``kind`` is "counter" or "gauge"; counters are named without ``_total``."""

    name: str
    doc: str
    kind: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)


Snapshot = Callable[[], Iterable[Sample]]


class _Collector:
    """prometheus_client's collector interface over snapshots taken on the Trio thread."""

    def __init__(self, snapshot: Snapshot, token: trio.lowlevel.TrioToken) -> None:
        self._snapshot = snapshot
        self._token = token

    def collect(self) -> "Iterator[Metric]":
        samples = trio.from_thread.run_sync(self._take, trio_token=self._token)
        return iter(_families(samples))

    def _take(self) -> list[Sample]:
        return list(self._snapshot())


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


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Scrapes are no events worth a log line."""


@asynccontextmanager
async def metrics_server(endpoint: Endpoint, snapshot: Snapshot) -> AsyncIterator[Endpoint]:
    """Serve ``/metrics`` until the block ends; yields the address that is listened on."""
    # Loaded only when asked for: a start without metrics does not pay for it.
    from prometheus_client import CollectorRegistry, make_wsgi_app

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(snapshot, trio.lowlevel.current_trio_token()))
    try:
        server = make_server(
            endpoint.host,
            endpoint.port,
            make_wsgi_app(registry),
            server_class=WSGIServer,
            handler_class=_Quiet,
        )
    except OSError as error:
        raise AddressError(f"cannot serve metrics on {endpoint}: {error.strerror}") from error
    thread = threading.Thread(target=server.serve_forever, name="trimq-metrics", daemon=True)
    thread.start()
    try:
        yield Endpoint(endpoint.host, server.server_port)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(server.shutdown)
        server.server_close()
