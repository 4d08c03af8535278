"""What a scan over the commit log needs of each record, several at a time. `_record_scan.c` is its twin."""

from trimq.codec.native.sends import tag_hash
from trimq.codec.records.record import skim_record

# Size, queue id, queue offset, sysFlag, store timestamp, topic, properties, the hash of the tag.
Row = tuple[int, int, int, int, int, bytes, bytes, int | None]


def skim_records(window: bytes, at: int, offset: int, most: int, /) -> list[Row]:
    """Rows of up to so many records from that byte on, the first of which names the offset.

    The walk ends before the first that is not whole and undamaged, is elsewhere, or has a zero byte among its
    properties: whether that one counts, the caller decides.
    """
    rows: list[Row] = []
    while len(rows) < most and at >= 0 and offset >= 0:
        skimmed = skim_record(window, at)
        if skimmed is None or skimmed[3] != offset or 0 in skimmed[7]:
            break
        size, queue_id, queue_offset, _, sys_flag, time, topic, properties = skimmed
        hashed = tag_hash(properties)
        rows.append((size, queue_id, queue_offset, sys_flag, time, topic, properties, hashed))
        at += size
        offset += size
    return rows
