"""What tests need of a message that they do not look at."""

from typing import Any, Final

NUMBERS: Final[dict[str, Any]] = dict.fromkeys(
    (
        "queue_id",
        "queue_offset",
        "physical_offset",
        "store_size",
        "flag",
        "sys_flag",
        "body_crc",
        "reconsume_times",
        "prepared_transaction_offset",
        "born_timestamp",
        "store_timestamp",
    ),
    0,
)
