"""Messages of answers: compressed ones, and those that share a record."""

import zlib

import pytest

from trimq.admin.messages.message import read_log, read_messages, unwrapped
from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.properties import format_properties
from trimq.codec.records.record import encode_record

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
ZLIB = int(SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZLIB)
WRAPPED = int(SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP)


def record(body: bytes, sys_flag: int) -> bytes:
    properties = format_properties({"UNIQ_KEY": "U", "INNER_NUM": "2"})
    times_and_hosts = (1_600_000_000_000, HOST, 1_600_000_000_001, HOST)
    return encode_record(b"T", 3, 5, 7, 100, sys_flag, *times_and_hosts, 2, 0, body, properties)


def test_a_compressed_body_is_unpacked_and_its_flag_gone() -> None:
    data = record(zlib.compress(b"hello"), ZLIB | SysFlag.MULTI_TAGS)
    (message,) = read_messages(data)
    assert message.body == b"hello"
    assert message.sys_flag == SysFlag.COMPRESSION_ZLIB | SysFlag.MULTI_TAGS
    (stored,) = read_log(data)
    assert stored.sys_flag == ZLIB | SysFlag.MULTI_TAGS


@pytest.mark.parametrize("packing", [0, ZLIB])
def test_messages_that_share_a_record(packing: int) -> None:
    items = [
        BatchItem(number, b"m%d" % number, b"UNIQ_KEY\x01U%d\x02" % number) for number in (0, 1)
    ]
    body = join_batch(items)
    data = record(zlib.compress(body) if packing else body, packing | WRAPPED)
    (whole,) = read_messages(data)
    first, second = unwrapped(whole)
    assert (first.body, first.message_id, first.queue_offset, first.flag) == (b"m0", "U0", 7, 0)
    assert (second.body, second.message_id, second.queue_offset, second.flag) == (b"m1", "U1", 8, 1)
    assert second.properties == {"UNIQ_KEY": "U1"}
    assert (second.offset_id, second.store_size, second.body_crc) == ("", 0, 0)
    assert (second.queue_id, second.physical_offset, second.topic) == (3, 100, "T")


def test_one_that_is_alone_and_one_that_is_no_batch() -> None:
    (alone,) = read_messages(record(b"hello", int(SysFlag.INNER_BATCH)))
    assert unwrapped(alone) == [alone]
    (broken,) = read_messages(record(b"hello", WRAPPED))
    with pytest.raises(CodecError):
        unwrapped(broken)
