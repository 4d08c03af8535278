"""`trimq inspect` as a shell runs it: what is printed, exit codes, one sentence for wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import lz4.frame as lz4_frame
import pytest
from click.testing import CliRunner, Result

from trimq.codec.flags import SysFlag
from trimq.codec.records.record import parse_record
from trimq.commands.cli import main
from trimq.commands.inspected import body_text, flag_words, shown_body
from trimq.commands.popped import moment, note_lines

VECTORS = Path(__file__).parents[2] / "vectors"
LOG = VECTORS / "commitlog-head.bin"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


def test_records_for_people():
    done = run(LOG, "--type", "commitlog", "--limit", 1)
    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert lines[0] == f"# {LOG}"
    assert lines[1] == "0  GoldenTopic queue 0 offset 0, 281 bytes"
    assert lines[3].startswith("    stored 2026-11-21 11:47:57.058Z by 127.0.0.2:")
    assert "KEYS=key1 key2" in done.stdout
    assert "    body 5 bytes: hello" in lines
    assert lines[-1].endswith("1 shown, more follow: --limit N (0 for all), or --from 281")


def test_records_for_programs():
    done = run(LOG, "--type", "commitlog", "--json", "--key", "key2", "--body", "hex")
    record, end = [json.loads(line) for line in done.stdout.splitlines()]
    assert record["kind"] == "record"
    assert record["body"] == b"hello".hex()
    assert record["properties"]["KEYS"] == "key1 key2"
    assert record["physical_offset"] == record["number"] == 0
    assert (end["kind"], end["reason"]) == ("end", "end of file")
    assert "body" not in json.loads(
        run(LOG, "--type", "commitlog", "--json", "--body", "none").stdout.splitlines()[0]
    )


def test_every_kind_can_be_printed(tmp_path):
    cases = [
        (VECTORS / "consumequeue.bin", "consumequeue", "0  record 0, 281 bytes, tags code"),
        (VECTORS / "checkpoint.bin", "checkpoint", "physic_msg_timestamp: 17952"),
        (VECTORS / "config" / "topics.json", "config", '"GoldenTopic"'),
    ]
    for path, kind, text in cases:
        done = run(path, "--type", kind)
        assert done.exit_code == 0
        assert text in done.stdout
        for line in run(path, "--type", kind, "--json").stdout.splitlines():
            json.loads(line)


def test_damage_is_exit_code_1(tmp_path):
    data = bytearray(LOG.read_bytes())
    first = parse_record(data).total_size
    data[first + 4] ^= 1
    path = tmp_path / "torn"
    path.write_bytes(data)
    done = run(path, "--type", "commitlog")
    assert done.exit_code == 1
    assert f"end at byte {first}: DAMAGE: no record begins here" in done.stdout
    data = bytearray(LOG.read_bytes())
    data[data.index(b"hello")] ^= 1
    path.write_bytes(data)
    done = run(path, "--type", "commitlog", "--limit", 1)
    assert done.exit_code == 1
    assert "DAMAGE: the body does not match its CRC" in done.stdout


def test_nothing_to_print_is_exit_code_2():
    done = run(LOG, "--type", "commitlog", "--topic", "NoSuchTopic")
    assert done.exit_code == 2
    assert "nothing to print" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["/does/not/exist"], "no such file or folder"),
        (
            [LOG],
            "its name does not say what kind of store file it is; give --type: commitlog, consumequeue,",
        ),
        ([LOG, "--type", "nonsense"], "is not one of"),
        ([LOG, "--type", "commitlog", "--offset", "x"], "write 17 or 17..42"),
        ([LOG, "--type", "commitlog", "--offset", "9..3"], "ends before it begins"),
        ([LOG, "--type", "checkpoint", "--queue", "1"], "--queue means nothing for a checkpoint"),
        (["/dev/null/x", "--type", "commitlog"], "no such file"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(arguments, sentence):
    done = run(*arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_help_has_examples_and_says_what_numbers_count():
    done = run("--help")
    assert "trimq inspect data/commitlog --key order-4711 --json" in done.stdout
    assert "--from and --to count in physical offsets" in done.stdout


def test_bodies_and_times_and_flags_in_words():
    assert body_text("grüße".encode(), "preview") == "grüße"
    assert body_text(b"\0\1", "preview") == "0x0001"
    assert body_text(b"a" * 100, "preview") == "a" * 64 + "..."
    # The cut goes through a character.
    assert body_text(("a" * 63 + "é").encode() + b"b", "preview") == "a" * 63 + "..."
    assert body_text(b"\xff", "text") == "\ufffd"
    assert moment(0) == "1970-01-01 00:00:00.000Z"
    assert moment(1 << 62) == str(1 << 62)
    assert flag_words(0x2 | 0x8 | 0x200 | 1) == ["commit", "zstd-compressed", "multi tags"]


def test_compressed_bodies_are_shown_as_they_were_sent():
    lz4 = {"body": lz4_frame.compress(b"hello"), "sys_flag": SysFlag.COMPRESSED | 0x100}
    assert shown_body(lz4, "preview") == shown_body(lz4, "text") == "hello"
    assert shown_body(lz4, "hex") == lz4["body"].hex()
    # Only the flag says so.
    assert shown_body({"body": b"hello", "sys_flag": 0}, "text") == "hello"
    assert shown_body({"body": b"hello", "sys_flag": SysFlag.COMPRESSED}, "text") == "hello"


HANDLE = "100 1700000000000 60000 3 0 broker-a 1 101"


def test_a_handle_in_words():
    done = run("--handle", HANDLE)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "handle of broker broker-a, queue 1 offset 101",
        "    popped 2023-11-14 22:13:20.000Z, hidden for 60 s: until 2023-11-14 22:14:20.000Z",
        "    from the topic itself",
        "    its checkpoint begins at 100 and comes to queue 3 of the revive topic",
    ]
    ordered = run("--handle", "100 1700000000000 60000 999 1 broker-a 0 100").stdout
    assert "popped in order: no checkpoint" in ordered
    assert "from %RETRY%group_topic" in ordered
    found = json.loads(run("--handle", HANDLE, "--json").stdout)
    assert (found["first_offset"], found["hidden_until"], found["queue_id"]) == (
        100,
        1700000060000,
        "1",
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--handle", "x"), "a handle (extraInfo) has 6 fields or more, not 1"),
        (("--handle", "0 x 60000 3 0 broker-a"), "the pop time in a handle"),
        (("--handle", HANDLE, LOG), "a handle is read by itself"),
        ((), "name a file or a folder of the store"),
    ],
)
def test_handles_that_cannot_be_read(words, said):
    done = run(*words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_notes_of_pop_in_words():
    note = {
        "kind": "checkpoint",
        "group": "G",
        "topic": "T",
        "queue_id": 1,
        "first_offset": 5,
        "offsets": [5, 7],
        "acknowledged": [7],
        "popped": 1700000000000,
        "hidden_until": 1700000060000,
        "suspended": True,
        "written_anew": None,
    }
    assert note_lines(note) == [
        "POP checkpoint: group G, T queue 1, messages 5, 7",
        "popped 2023-11-14 22:13:20.000Z, hidden until 2023-11-14 22:14:20.000Z, acknowledged: 7, "
        "suspended: coming again does not count as an attempt",
    ]
