"""The kinds of queues there are, by the `queue.type` of their topics (CQType)."""

from __future__ import annotations

from typing import Final

from trimq.store.config import StoreConfig
from trimq.store.disk.files import OpenFiles
from trimq.store.queues.batch_queue import BatchConsumeQueueKind
from trimq.store.queues.plain.extended_queue import BitMaps, ExtendedConsumeQueueKind
from trimq.store.queues.queue import QueueKind

# Of a topic that says nothing.
PLAIN: Final = "SimpleCQ"


def kinds_of(config: StoreConfig, open_files: OpenFiles) -> dict[str, QueueKind]:
    kinds: list[QueueKind] = [
        ExtendedConsumeQueueKind(
            [str(config.consume_queue), str(config.consume_queue_ext)],
            config.mapped_file_size_consume_queue,
            open_files,
            config.mapped_file_size_consume_queue_ext,
            config.enable_consume_queue_ext,
        ),
        BatchConsumeQueueKind(
            str(config.batch_consume_queue),
            config.mapper_file_size_batch_consume_queue,
            open_files,
        ),
    ]
    return {kind.name: kind for kind in kinds}


def bit_maps_of(kinds: dict[str, QueueKind]) -> BitMaps:
    """What gives the units of plain queues their bit maps."""
    plain = kinds[PLAIN]
    assert isinstance(plain, ExtendedConsumeQueueKind)
    return plain.bit_maps
