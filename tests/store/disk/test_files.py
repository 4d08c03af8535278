"""Small files of the store, against bytes of the real broker where there are some."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from trimq.codec.entries.checkpoint import CHECKPOINT_SIZE, Checkpoint
from trimq.codec.entries.queue import parse_all
from trimq.store.disk.config_file import ConfigFile
from trimq.store.disk.files import OpenFiles, drop_bytes
from trimq.store.messages.tags import TagCodes
from trimq.store.upkeep.checkpoint_file import load_checkpoint, save_checkpoint

VECTORS = Path(__file__).parents[2] / "vectors"


def test_checkpoint_of_the_real_broker(tmp_path):
    golden = (VECTORS / "checkpoint.bin").read_bytes()
    path = tmp_path / "checkpoint"
    path.write_bytes(golden)
    checkpoint = load_checkpoint(path)
    assert checkpoint.record_timestamp > 1_000_000_000_000
    path.unlink()
    save_checkpoint(path, checkpoint)
    assert path.read_bytes() == golden.ljust(CHECKPOINT_SIZE, b"\0")


def test_checkpoint_fields_are_in_order(tmp_path):
    path = tmp_path / "checkpoint"
    save_checkpoint(path, Checkpoint(1, 2, 3, 4, 5, 6))
    data = path.read_bytes()
    assert len(data) == 4096
    assert struct.unpack_from(">7q", data) == (1, 2, 3, 4, 5, 6, 0)


@pytest.mark.parametrize("content", [None, b"", b"\0" * 47])
def test_a_missing_or_short_checkpoint_says_nothing(tmp_path, content):
    path = tmp_path / "checkpoint"
    if content is not None:
        path.write_bytes(content)
    assert load_checkpoint(path).queue_physical_offset == 0


def test_config_file_keeps_its_previous_version(tmp_path):
    file = ConfigFile(tmp_path / "config" / "topics.json")
    assert file.load() is None
    file.save(b"1")
    assert (file.load(), file.backup.exists()) == (b"1", False)
    file.save(b"2")
    file.save(b"2")
    assert (file.load(), file.load_backup()) == (b"2", b"1")
    assert sorted(os.listdir(tmp_path / "config")) == ["topics.json", "topics.json.bak"]
    file.path.write_bytes(b"")
    assert file.load() == b"1"
    file.path.unlink()
    assert file.load() == b"1"
    file.save(b"3")
    assert (file.load(), file.load_backup()) == (b"3", b"1")


def test_open_files_closes_the_longest_unused(tmp_path):
    paths = [str(tmp_path / name) for name in "abc"]
    for path in paths:
        Path(path).write_bytes(path.encode())
    files = OpenFiles(2)
    first = files.get(paths[0])
    files.get(paths[1])
    assert files.get(paths[0]) == first
    files.get(paths[2])
    assert len(files) == 2
    assert os.pread(files.get(paths[1]), 99, 0) == paths[1].encode()
    with pytest.raises(FileNotFoundError):
        files.get(str(tmp_path / "none"))
    files.forget(paths[1])
    files.close()
    assert len(files) == 0


@pytest.mark.parametrize("count", range(8))
def test_dropping_written_bytes(count):
    chunks = [b"ab", b"", b"cde", b"f", b"g"]
    assert b"".join(drop_bytes(list(chunks), count)) == b"abcdefg"[count:]


def test_consume_queue_entries_of_the_real_broker():
    """Its delay entries hold the deliver time, the others the hash of the tag."""
    delayed = [e for e in parse_all((VECTORS / "consumequeue-delay.bin").read_bytes()) if e[1]]
    assert all(tags_code > 1_000_000_000_000 for _, _, tags_code in delayed)
    plain = [e for e in parse_all((VECTORS / "consumequeue.bin").read_bytes()) if e[1]]
    codes = TagCodes(())
    known = {codes.code("T", b"TAGS\x01%s\x02" % tag, 0) for tag in (b"TagA", b"TagB", b"TagC")}
    assert {tags_code for _, _, tags_code in plain} & known


def test_tags_code():
    codes = TagCodes((1000, 5000))
    assert codes.code("T", b"", 9) == 0
    assert codes.code("T", b"TAGS\x01TagA\x02", 9) == 2598919
    assert codes.code("T", b"TAGS\x01\xe4\xb8\xad\xe6\x96\x87\x02", 9) == 646394
    assert codes.code("SCHEDULE_TOPIC_XXXX", b"DELAY\x012\x02", 9) == 5009
    assert codes.code("SCHEDULE_TOPIC_XXXX", b"DELAY\x010\x02TAGS\x01TagA\x02", 9) == 2598919
    assert codes.code("SCHEDULE_TOPIC_XXXX", b"DELAY\x01x\x02", 9) == 0
