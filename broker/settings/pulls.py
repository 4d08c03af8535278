"""Pulls, and the offsets that consumers commit."""

from dataclasses import dataclass

from trimq.base.setting_fields import setting


@dataclass(frozen=True, kw_only=True)
class PullSettings:
    """How pulls are answered, and what is kept of offsets."""

    __slots__ = ()

    long_polling_enable: bool = setting(
        True, "Hold pulls that find nothing until a message lands.", live=True
    )
    short_polling_time_mills: int = setting(
        1000, "How long a pull is held when long polling is off.", at_least=0, live=True, long=True
    )
    lite_pull_message_enable: bool = setting(True, "Answer LITE_PULL_MESSAGE.", live=True)
    offset_check_in_slave: bool = setting(
        False,
        "A slave corrects offsets that are outside of a queue; otherwise their readers are sent to the master.",
        live=True,
    )
    slave_read_enable: bool = setting(
        False, "Send consumers that lag far behind to a slave.", live=True
    )
    enable_broadcast_offset_store: bool = setting(
        True,
        "Commit for GROUP@broadcast, every 5 s, where the members of a broadcasting group pull; the least of all.",
        live=True,
    )
    broadcast_offset_expire_second: int = setting(
        120,
        "Seconds after its last pull that a member that has left counts there.",
        at_least=0,
        live=True,
        long=True,
    )
    broadcast_offset_expire_max_second: int = setting(
        300,
        "Seconds after its last pull that a member that is online is forgotten there.",
        at_least=0,
        live=True,
        long=True,
    )
    use_server_side_reset_offset: bool = setting(
        True,
        "Keep offsets reset by an operator until the consumer has seen them."
        " In elastic topics that is done in any case.",
        live=True,
    )
    flush_consumer_offset_interval: int = setting(
        5000, "Milliseconds between two writes of the consumer offsets.", at_least=100
    )
    consumer_offset_update_version_step: int = setting(
        500, "Offset commits per new data version of the offsets.", at_least=1, live=True, long=True
    )
