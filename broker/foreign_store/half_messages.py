"""Half messages of a broker that keeps what became of them in RocksDB (transRocksDBEnable).

All others are read by `broker/transactions`, whoever wrote them.
"""

from trimq.broker.foreign_store.report import Found, Kind
from trimq.codec.names import ROCKSDB_TRANS_HALF_TOPIC
from trimq.store.message_store import MessageStore


def count(store: MessageStore) -> Found:
    halves = sum(
        store.max_offset(ROCKSDB_TRANS_HALF_TOPIC, queue_id)
        - store.min_offset(ROCKSDB_TRANS_HALF_TOPIC, queue_id)
        for queue_id in store.queues(ROCKSDB_TRANS_HALF_TOPIC)
    )
    return Found(halves, at_most=halves > 0)


HALVES = Kind(
    "half message whose transaction RocksDB knows about",
    "half messages whose transactions RocksDB knows about",
    count,
)
