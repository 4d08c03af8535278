"""Headers of transactions."""

from trimq.codec.headers.base import Header, Integer, Long, RpcHeader


class EndTransactionRequestHeader(RpcHeader, kw_only=True):
    """Asks for END_TRANSACTION.

    Whether both offsets are there matters once they are looked at, as with RocketMQ; its `msg_id` is only logged.
    """

    topic: str | None = None
    producer_group: str | None = None
    tran_state_table_offset: Long | None = None
    commit_log_offset: Long | None = None
    commit_or_rollback: Integer
    from_transaction_check: bool = False
    msg_id: str | None = None
    transaction_id: str | None = None


class CheckTransactionStateRequestHeader(RpcHeader, kw_only=True):
    """Asks for CHECK_TRANSACTION_STATE."""

    topic: str | None = None
    tran_state_table_offset: Long
    commit_log_offset: Long
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None


class ResumeCheckHalfMessageRequestHeader(Header, kw_only=True):
    """Asks for RESUME_CHECK_HALF_MESSAGE; `msg_id` is the offset message id of a half message."""

    topic: str | None = None
    msg_id: str | None = None
