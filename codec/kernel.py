"""What is done in C in a compiled build (codec/_kernel.c, codec/_records.c), and whether it is there.

Whoever uses it has a twin in Python for when it is not, and for what it leaves to the twin.
"""

try:
    from trimq.codec import _records as records
    from trimq.codec._kernel import (
        append_hashes,
        append_views,
        copy_slots,
        encode_batch,
        enter_keys,
        join,
        message_ids,
        take_entries,
    )

    IN_C = True
except ImportError:
    IN_C = False

__all__ = [
    "IN_C",
    "append_hashes",
    "append_views",
    "copy_slots",
    "encode_batch",
    "enter_keys",
    "join",
    "message_ids",
    "records",
    "take_entries",
]
