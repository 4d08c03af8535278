"""Half messages, and the questions to their producers."""

from dataclasses import dataclass

from trimq.base.setting_fields import setting


@dataclass(frozen=True, kw_only=True)
class TransactionSettings:
    """When a producer is asked, and how often."""

    __slots__ = ()

    reject_transaction_message: bool = setting(
        False, "Half messages of transactions are refused.", live=True
    )
    transaction_time_out: int = setting(
        6000,
        "Milliseconds since its first send before a half message's producer is asked; "
        "CHECK_IMMUNITY_TIME_IN_SECONDS of a message replaces it, but an END is awaited no shorter.",
        at_least=0,
        live=True,
        long=True,
    )
    transaction_check_interval: int = setting(
        30000,
        "Milliseconds between two rounds of questions about half messages.",
        at_least=1,
        live=True,
        long=True,
    )
    transaction_check_max: int = setting(
        15,
        "A half message that was asked about this often goes to TRANS_CHECK_MAX_TIME_TOPIC.",
        live=True,
    )
    transaction_metric_flush_interval: int = setting(
        10000,
        "Milliseconds between two writes of config/transactionMetrics.",
        at_least=1,
        live=True,
        long=True,
    )
