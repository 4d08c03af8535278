import json

from construct import Array

from trimq.codec.entries.checkpoint import CHECKPOINT_SIZE
from trimq.codec.java.hashes import string_hash
from trimq.codec.layouts.checkpoint import CHECKPOINT
from trimq.codec.layouts.ha import (
    EPOCH,
    MASTER_HANDSHAKE,
    MASTER_HEAD,
    MASTER_TRANSFER,
    SLAVE_HANDSHAKE,
    SLAVE_REPORT,
    SWITCH_REPORT,
    SWITCH_TRANSFER,
    pack_head,
    pack_report,
    unpack_head,
    unpack_report,
)
from trimq.codec.layouts.index import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT
from trimq.codec.layouts.timer import TIMER_CHECKPOINT, TIMER_RECORD, TIMER_SLOT
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import parse_record


def test_a_real_checkpoint(vectors):
    data = (vectors / "checkpoint.bin").read_bytes()
    checkpoint = CHECKPOINT.parse(data)
    assert len(data) == CHECKPOINT_SIZE
    assert CHECKPOINT.build(checkpoint) == data
    assert checkpoint.physic_msg_timestamp > 1_600_000_000_000


def test_a_real_index_finds_its_messages(vectors):
    index = json.loads((vectors / "index.json").read_text())
    header = INDEX_HEADER.parse(bytes.fromhex(index["header"]))
    assert INDEX_HEADER.build(header).hex() == index["header"]
    data = bytes.fromhex(index["entries"])
    entries = Array(len(data) // INDEX_ENTRY.sizeof(), INDEX_ENTRY).parse(data)
    assert len(entries) == header.count
    assert header.used_slots == len(index["slots"])
    record = parse_record((vectors / "commitlog-head.bin").read_bytes())
    key = f"{record.topic}#{parse_properties(record.properties)['UNIQ_KEY']}"
    key_hash = abs(string_hash(key))
    at = index["slots"][str(key_hash % index["slot_count"])]
    found = []
    while at:
        if entries[at].key_hash == key_hash:
            found.append(entries[at].physical_offset)
        at = entries[at].previous_entry
    assert record.physical_offset in found


def test_sizes():
    sizes = {
        INDEX_HEADER: 40,
        INDEX_SLOT: 4,
        INDEX_ENTRY: 20,
        SLAVE_REPORT: 8,
        SLAVE_HANDSHAKE: 16,
        EPOCH: 12,
        SWITCH_REPORT: 12,
        TIMER_SLOT: 32,
        TIMER_RECORD: 52,
        TIMER_CHECKPOINT: 56,
    }
    assert {layout: layout.sizeof() for layout in sizes} == sizes


def test_replication_frames():
    assert MASTER_TRANSFER.build({"offset": 5, "body": b"ab"}) == bytes(7) + b"\5\0\0\0\2ab"
    assert len(MASTER_TRANSFER.build({"offset": 5, "body": b""})) == 12
    handshake = {
        "state": 1,
        "body_size": 24,
        "max_offset": 9,
        "last_epoch": 2,
        "epochs": [{"epoch": 1, "start_offset": 0}, {"epoch": 2, "start_offset": 7}],
    }
    built = MASTER_HANDSHAKE.build(handshake)
    assert len(built) == 20 + 24
    assert [epoch.start_offset for epoch in MASTER_HANDSHAKE.parse(built).epochs] == [0, 7]
    transfer = {
        "state": 2,
        "body_size": 3,
        "offset": 1,
        "epoch": 2,
        "epoch_start_offset": 3,
        "confirm_offset": 4,
        "body": b"abc",
    }
    assert len(SWITCH_TRANSFER.build(transfer)) == 36 + 3
    assert SWITCH_TRANSFER.parse(SWITCH_TRANSFER.build(transfer)).body == b"abc"


def test_the_quick_forms_of_the_stream_are_the_same_layouts() -> None:
    for offset, size in ((0, 0), (-1, -2), (2**40 + 3, 2**20)):
        assert pack_report(offset) == SLAVE_REPORT.build({"max_offset": offset})
        assert unpack_report(b"xy" + pack_report(offset), 2) == offset
        head = MASTER_HEAD.build({"offset": offset, "size": size})
        assert pack_head(offset, size) == head
        assert unpack_head(bytearray(head)) == (offset, size)
