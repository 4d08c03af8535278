"""A feature of a server as one value, and a server as a list of them.

The order of the list is the order of everything that has one: files are loaded, the store's
listeners called, ends of receives run and files closed in that order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar

from trimq.base.waits import Waits
from trimq.process.metrics import Sample
from trimq.process.supervision import Service
from trimq.remoting.contract import ConnectionListener, Peer, Processor
from trimq.store.appending.dispatch import Listener, WriteListener
from trimq.store.message_store import MessageStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one feature adds to a server; fields that it does not need are left out.

    ``name`` is also that of the folder below processors/ that has its processors.
    """

    name: str
    processors: Sequence[Processor[Any]] = ()
    # Answered at the main port; the VIP port says REQUEST_CODE_NOT_SUPPORTED.
    main_port_only: Sequence[Processor[Any]] = ()
    # Run until the server stops, by the names that logs and metrics show.
    services: Mapping[str, Service] = field(default_factory=dict)
    # Those that store messages of their own run while this broker is a master, those that follow one while it is not.
    master_services: Mapping[str, Service] = field(default_factory=dict)
    slave_services: Mapping[str, Service] = field(default_factory=dict)
    # Reads the files, once and before anything is served; blocks.
    load: Callable[[], None] | None = None
    # Before the log is cut, at this offset: what only the records that go can tell; blocks.
    before_cut: Callable[[int], None] | None = None
    # The log was cut, and no service runs: what was made of its records is made anew, as at a start; blocks.
    recover: Callable[[int], None] | None = None
    # Topics whose records decide something here: when the effect of one fails, `recover` runs while the loop waits.
    decides: Sequence[str] = ()
    # Called at each write to the commit log, before anybody sees what it brought.
    written: WriteListener | None = None
    # Gets the records of each write, when readers see them.
    stored: Listener | None = None
    connections: ConnectionListener | None = None
    # Runs after the requests of one receive, before their replies are sent.
    end_of_receive: Callable[[], None] | None = None
    # Settings have changed: for values derived from them.
    heed_settings: Callable[[], None] | None = None
    # Writes the files, when nothing is served any more; blocks.
    close: Callable[[], None] | None = None
    # Asked when the time is in the hand of a test. Of a time in ms since 1970: when something happens by the clock up
    # to then, at first; None if nothing does. One that is over says that it is under way.
    due: Callable[[int], int | None] | None = None
    samples: Callable[[], Iterable[Sample]] | None = None
    # Its requests that wait until something happens, by the kind that metrics show.
    waits: Mapping[str, Waits[Any]] = field(default_factory=dict)


class Parts:
    """The parts of one server together. ValueError for duplicate names."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = tuple(parts)
        _check_unique("part", [part.name for part in parts])
        _check_unique("service", [name for part in parts for name in _all_services(part)])
        self._connections = _given(part.connections for part in parts)
        self._end_of_receive = _given(part.end_of_receive for part in parts)

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    @property
    def processors(self) -> list[Processor[Any]]:
        """What the main port answers."""
        return [one for part in self for one in (*part.processors, *part.main_port_only)]

    @property
    def vip_processors(self) -> list[Processor[Any]]:
        """What the VIP port answers."""
        return [one for part in self for one in part.processors]

    def services_of(self, is_slave: bool) -> dict[str, Service]:
        """What runs while the broker has this role."""
        found: dict[str, Service] = {}
        for part in self:
            found |= part.services
            found |= part.slave_services if is_slave else part.master_services
        return found

    @property
    def services(self) -> dict[str, Service]:
        """What runs on a server that is no slave."""
        return self.services_of(is_slave=False)

    def listen_to(self, store: MessageStore) -> None:
        """Everybody who wants to know of messages is told by this store from now on."""
        for written in _given(part.written for part in self):
            store.add_write_listener(written)
        for stored in _given(part.stored for part in self):
            store.add_listener(stored)

    def load(self) -> None:
        """Read what the parts have in files; the first that cannot be read ends it. Blocks."""
        for load in _given(part.load for part in self):
            load()

    def before_cut(self, offset: int) -> None:
        """The log will be cut there. Services must not run from now on until `recover` is done. Blocks."""
        for prepare in _given(part.before_cut for part in self):
            prepare(offset)

    def recover(self, log_end: int) -> None:
        """The log was cut and ends there now. Services must not run meanwhile. Blocks. StoreError."""
        for recover in _given(part.recover for part in self):
            recover(log_end)

    def close(self) -> None:
        """Write what the parts have in files, even if one of them fails. Blocks."""
        with ExitStack() as last_first:
            for close in reversed(_given(part.close for part in self)):
                last_first.callback(close)

    def end_of_receive(self) -> None:
        """What one raises is for the replies of this receive, and the rest is left out."""
        for act in self._end_of_receive:
            act()

    def heed_settings(self) -> None:
        for heed in _given(part.heed_settings for part in self):
            heed()

    def due(self, until: int) -> dict[str, int]:
        """What happens by the clock up to then, in ms since 1970: when, of each part where something does."""
        asked = {part.name: part.due(until) for part in self if part.due is not None}
        return {name: at for name, at in asked.items() if at is not None and at <= until}

    def samples(self) -> Iterator[Sample]:
        """One scrape of /metrics."""
        for samples in _given(part.samples for part in self):
            yield from samples()
        for part in self:
            for kind, waits in part.waits.items():
                doc = "Requests that wait until something happens."
                yield Sample("trimq_waiting", doc, "gauge", waits.waiting, {"kind": kind})

    # --- as the listener of connections

    def opened(self, peer: Peer) -> None:
        for listener in self._connections:
            listener.opened(peer)

    def closed(self, peer: Peer) -> None:
        for listener in self._connections:
            listener.closed(peer)


def _given(values: Iterable[T | None]) -> list[T]:
    return [value for value in values if value is not None]


def _all_services(part: Part) -> list[str]:
    return [*part.services, *part.master_services, *part.slave_services]


def _check_unique(kind: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two parts have the {kind} {name!r}: rename one of them")
