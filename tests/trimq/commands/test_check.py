"""`trimq check` as a shell runs it: report, exit codes, one sentence for what is not a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trimq.commands.cli import main
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["check", *map(str, arguments)])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    times = iter(range(1_000_000, 2_000_000))
    made = MessageStore(StoreConfig(root=tmp_path / "s"), lambda: next(times))
    made.open()
    for number in range(20):
        made.put(Message("T", number % 2, b"body"))
    made.close()
    return tmp_path / "s"


def test_a_sound_store(store):
    done = run(store)
    assert done.exit_code == 0
    assert f"{store}: closed, full check" in done.stdout
    assert "20 records" in done.stdout
    assert "recovery: the next start would scan 1 record from" in done.stdout
    assert "read again: 96 B, because of consume queues 96 B from 1824 on" in done.stdout
    assert done.stdout.splitlines()[-1] == "sound"
    assert done.stderr == ""


def test_one_record_is_not_plural(store):
    done = run(store, "--quick")
    assert f"{store}: closed, quick check\n" in done.stdout
    assert ": 1 record, 0.0 MB" in done.stdout


def test_problems_are_exit_code_1(store):
    queue = store / "consumequeue" / "T" / "1" / f"{0:020d}"
    data = bytearray(queue.read_bytes())
    data[60:80] = bytes(20)
    queue.write_bytes(data)
    done = run(store)
    assert done.exit_code == 1
    assert "PROBLEM: missing entry\n  T 1 offset 3, record at" in done.stdout
    assert done.stdout.splitlines()[-1] == "not sound: 1 problem"
    done = run(store, "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert not report["sound"]
    assert report["problems"][0]["kind"] == "missing entry"
    assert report["recovery"]["records"] == 1
    assert report["rereads"][0] == {"who": "consume queues", "position": 1824, "bytes": 96}
    assert report["state"] == "closed"


def test_what_is_not_a_store_is_exit_code_2(tmp_path):
    for path, sentence in ((tmp_path / "x", "is not a folder"), (tmp_path, "is not a store")):
        done = run(path)
        assert done.exit_code == 2
        assert sentence in done.stderr
        assert done.stdout == ""


def test_a_file_that_goes_away_meanwhile_is_one_sentence(store, monkeypatch):
    monkeypatch.setattr(
        "trimq.store.checking.check.without_unused",
        lambda files: [(file.path.unlink(), file)[1] for file in files],
    )
    done = run(store)
    assert done.exit_code == 2
    assert "was removed meanwhile" in done.stderr


def test_help_has_examples_and_exit_codes():
    done = run("--help")
    assert "trimq check data --quick" in done.stdout
    assert "Exit code: 0 when the store is sound" in done.stdout
