"""What costs most per message, in C if that was built, otherwise in Python, under the same names.

Callers need not know which it is. The columns of Spark have no twin of their own here:
trimq.spark.records says which of its modules does it.
"""

try:
    from trimq.codec.native._batches import encode_batch, message_ids
    from trimq.codec.native._halves import ordinary_properties, property_values
    from trimq.codec.native._hashes import key_hashes
    from trimq.codec.native._record_scan import skim_records
    from trimq.codec.native._sends import (
        encode_record,
        message_id,
        property_text,
        sent_properties,
        tag_hash,
    )

    IN_C = True
except ImportError:
    from trimq.codec.native.batches import encode_batch, message_ids
    from trimq.codec.native.halves import ordinary_properties, property_values
    from trimq.codec.native.hashes import key_hashes
    from trimq.codec.native.record_scan import skim_records
    from trimq.codec.native.sends import (
        encode_record,
        message_id,
        property_text,
        sent_properties,
        tag_hash,
    )

    IN_C = False

__all__ = [
    "IN_C",
    "encode_batch",
    "encode_record",
    "key_hashes",
    "message_id",
    "message_ids",
    "ordinary_properties",
    "property_text",
    "property_values",
    "sent_properties",
    "skim_records",
    "tag_hash",
]
