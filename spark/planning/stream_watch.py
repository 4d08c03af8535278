"""How a stream watches its servers: what exists at each trigger, and what is away since when.

A trigger never waits here for long: while something is away and there is nothing else to read, it
ends after a pause with nothing new, so that a query can be stopped at any time. What is away is
logged when that begins and when it is over, and ends the query after outageTimeoutMs.
"""

from __future__ import annotations

import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from trimq.admin.errors import Refused
from trimq.remoting.errors import TransportError
from trimq.spark.options.positions import QueueKey
from trimq.spark.options.values import ReadOptions
from trimq.spark.planning.cluster import Cluster
from trimq.spark.planning.resolving import assigned, named
from trimq.spark.planning.views import View
from trimq.spark.reading.outages import Patience, deleted, is_outage, patiently

R = TypeVar("R")

log: Final = logging.getLogger("trimq.spark")

NONE: Final[Mapping[QueueKey, int]] = {}
# Seconds by which other brokers' new messages are delayed meanwhile.
_LONGEST_REST: Final = 1.0


class Watch:
    """Asks for one query, which keeps it from trigger to trigger."""

    def __init__(self, options: ReadOptions, sleep: Callable[[float], None] = time.sleep) -> None:
        self._options = options
        self._sleep = sleep
        self.cluster = Cluster(options.connection)
        self._patience = Patience("looking for new messages", options.connection.patience)
        self._told: set[QueueKey] = set()
        self._pause = 0.0

    def first(self, decide: Callable[[View], R]) -> R:
        """What is decided on everything there is; waits for an outage as while a read is planned.

        Not longer: a misspelt name looks like a topic whose broker is away.
        """
        limit = self._options.connection.patience_of_planning
        known = named(self._options)
        what = "planning the query"
        return patiently(what, limit, lambda: decide(self._look(known).complete()))

    def complete(self, known: Mapping[QueueKey, int] = NONE) -> View:
        """Everything there is, with all known queues and how far they are read; waits for an outage to pass."""
        wanted = self._wanted(known)
        limit = self._options.connection.patience
        what = "looking for what there is"
        view = patiently(what, limit, lambda: self._look(wanted).complete())
        self._tell(view, known)
        return view

    def batch(self, keys: Iterable[QueueKey], decide: Callable[[View], R]) -> R:
        """What is decided on these queues; waits for those that are away.

        That is the same whatever failOnDataLoss says: nothing is lost because a broker is away.
        """
        wanted = set(keys)

        def look() -> R:
            # Other brokers of the same topics do not concern this batch.
            view = self.cluster.look((), wanted)
            if view.waits:
                raise view.outage()
            return decide(view)

        return patiently("planning a batch", self._options.connection.patience, look)

    def now(self, known: Mapping[QueueKey, int]) -> View:
        """What there is now, with all known queues and how far they are read.

        SparkSourceError when something is away for too long.
        """
        wanted = self._wanted(known)
        try:
            view = self._look(wanted)
            error: Exception | None = view.outage() if view.away else None
        except (Refused, TransportError) as failed:
            if not is_outage(failed):
                raise
            view = View(waits=set(wanted), away={"servers": str(failed)})
            error = failed
        if error is None:
            self._patience.fine()
            self._pause = 0.0
        else:
            self._pause = self._patience.failed(error)
        self._tell(view, known)
        return view

    def rest(self) -> None:
        """Before a trigger ends with nothing new: a pause while something is away."""
        if self._pause:
            self._sleep(min(self._pause, _LONGEST_REST))

    def close(self) -> None:
        """End every connection."""
        self.cluster.close()

    def _look(self, known: Iterable[QueueKey]) -> View:
        options = self._options
        view = self.cluster.look(self.cluster.topics(options), known, options.topics)
        view.bounds = assigned(options.queues, view.bounds)
        return view

    def _wanted(self, known: Iterable[QueueKey]) -> set[QueueKey]:
        """Those that the options still include: a query may continue with other topics than it began with."""
        options = self._options
        if options.queues is not None:
            return set(options.queues.intersection(known))
        if options.pattern is None:
            return {key for key in known if key[0] in options.topics}
        pattern = re.compile(options.pattern)
        return {key for key in known if pattern.fullmatch(key[0])}

    def _tell(self, view: View, known: Mapping[QueueKey, int]) -> None:
        """A loss, reported once for each deleted queue; one that comes back may be deleted again.

        A queue that was read to its end before its topic was made narrower is no loss.
        """
        self._told -= view.bounds.keys()
        told: dict[str, list[QueueKey]] = defaultdict(list)
        for key in sorted(view.gone.keys() - self._told):
            topic, broker, queue = key
            end, read = view.retired.get(key), known.get(key)
            if end is not None and end == read:
                log.info(
                    "topic %r, broker %r, queue %d: read to its end, and gone", topic, broker, queue
                )
                self._told.add(key)
                continue
            why = view.gone[key]
            if end is not None and read is not None and read < end:
                why += f", and {end - read} messages of it have not been read"
            told[f"topic {topic!r}, broker {broker!r}, {{}}: {why}"].append(key)
        for text, keys in told.items():
            queues = ", ".join(str(queue) for _, _, queue in keys[:8])
            more = f" and {len(keys) - 8} more" if len(keys) > 8 else ""
            self._told |= set(keys)
            what = f"queue{'s' if len(keys) > 1 else ''} {queues}{more}"
            deleted(text.format(what), self._options.pulls.fail_on_data_loss)
