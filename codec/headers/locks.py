"""Headers of locking queues for orderly consumption; what is asked stands in the body."""

from trimq.codec.headers.base import RpcHeader


class LockBatchMqRequestHeader(RpcHeader, kw_only=True):
    """Asks for LOCK_BATCH_MQ."""


class UnlockBatchMqRequestHeader(RpcHeader, kw_only=True):
    """Asks for UNLOCK_BATCH_MQ."""
