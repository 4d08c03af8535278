"""Half messages whose transaction has not ended (TransactionalMessageServiceImpl.check).

A half's queue offset stands in the body of an op message once its transaction was committed or
rolled back. Two positions of one group say up to where halves are settled, and ops used up.
"""

from trimq.broker.pending.taken_over import MOST_READ, Found, Kind, TakenOver
from trimq.broker.topic_names import (
    ROCKSDB_TRANS_HALF_TOPIC,
    TRANS_GROUP,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)


def count(taken: TakenOver) -> Found:
    store = taken.store
    open_ = unread = 0
    for queue_id in store.queues(TRANS_HALF_TOPIC):
        begin = taken.committed(TRANS_HALF_TOPIC, TRANS_GROUP, queue_id)
        end = store.max_offset(TRANS_HALF_TOPIC, queue_id)
        if begin >= end:
            continue
        ops = taken.committed(TRANS_OP_HALF_TOPIC, TRANS_GROUP, queue_id)
        ended: set[int] = set()
        for op in taken.records(TRANS_OP_HALF_TOPIC, queue_id, ops, MOST_READ):
            ended.update(int(word) for word in op.body.split(b",") if word.isdigit())
        open_ += end - begin - sum(begin <= offset < end for offset in ended)
        unread += max(0, store.max_offset(TRANS_OP_HALF_TOPIC, queue_id) - ops - MOST_READ)
    # What has become of those stands in a RocksDB.
    others = sum(
        store.max_offset(ROCKSDB_TRANS_HALF_TOPIC, queue_id)
        - store.min_offset(ROCKSDB_TRANS_HALF_TOPIC, queue_id)
        for queue_id in store.queues(ROCKSDB_TRANS_HALF_TOPIC)
    )
    return Found(open_ + others, at_most=unread + others > 0 and open_ + others > 0)


HALVES = Kind(
    "half message of a transaction that has not ended",
    "half messages of transactions that have not ended",
    count,
)
