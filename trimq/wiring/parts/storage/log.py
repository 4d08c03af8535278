"""The commit log: written at the end of each receive, flushed later or on demand."""

from collections.abc import Iterator
from functools import partial

from trimq.broker.produce.puts.receive_end import write_receive
from trimq.broker.services import background as services
from trimq.process.metrics import Sample
from trimq.process.supervision import Service
from trimq.remoting.contract import Gate
from trimq.store.message_store import MessageStore
from trimq.wiring.context import Context
from trimq.wiring.part import Part


def part(context: Context, gate: Gate) -> Part:
    config, store = context.plan.store, context.store
    flush: Service = partial(services.flush_by_interval, store, gate, config)
    written = None
    if config.flush_disk_type == "SYNC_FLUSH":
        on_demand = services.FlushOnDemand(store, gate)
        flush, written = on_demand.run, on_demand.written
    return Part(
        name="log",
        services={
            "flush": flush,
            "write derived files": partial(services.write_derived, store, config),
        },
        written=written,
        end_of_receive=partial(write_receive, store, config),
        heed_settings=store.heed_settings,
        samples=partial(_samples, store),
    )


def _samples(store: MessageStore) -> Iterator[Sample]:
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
    begin = max(store.min_physical_offset, 0)
    yield Sample("trimq_commit_log_begin", "First byte not deleted.", "gauge", begin)
    points = store.recovery_points
    for debt in points.debts():
        yield Sample(
            "trimq_recovery_bytes",
            "What a start after a kill would read again now, by who needs it.",
            "gauge",
            debt.size,
            {"who": debt.point.name},
        )
    for name, doc, column in (
        ("bytes", "What this start has read again, by who needed it.", "size"),
        ("seconds", "How long that took.", "seconds"),
    ):
        for who, reread in points.rereads:
            value = getattr(reread, column)
            yield Sample(f"trimq_start_reread_{name}", doc, "gauge", value, {"who": who})
