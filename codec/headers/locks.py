"""Headers of locking queues for orderly consumption; the request itself is in the body."""

from trimq.codec.headers.base import RpcHeader


class LockBatchMqRequestHeader(RpcHeader, kw_only=True):
    """Asks for LOCK_BATCH_MQ."""


class UnlockBatchMqRequestHeader(RpcHeader, kw_only=True):
    """Asks for UNLOCK_BATCH_MQ."""
