"""Rewriting: what stays, what an interruption leaves, and random histories against a model."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from hypothesis.strategies import binary, integers, lists, sampled_from, tuples

from tests.store.compaction.conftest import Folder, contents, fill
from trimq.store.compaction import queue as queue_module


def test_the_newest_of_each_key_stays(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(offset, f"k{offset % 3}", b"%d" % offset) for offset in range(40)])
    last_file = queue.pairs[-1].first
    assert folder.rewrite(queue)
    newest = {offset for offset in range(last_file - 3, last_file)}
    assert contents(queue).keys() == newest | set(range(last_file, 40))
    assert (queue.min_offset, queue.max_offset) == (min(newest), 40)
    assert contents(folder.open()) == contents(queue)
    # Nothing new has come.
    assert not folder.rewrite(queue)


def test_a_message_without_a_body_deletes_its_key(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(0, "a", b"x"), (1, "b", b"x"), (2, "a", b"")])
    fill(queue, [(offset, "other", b"x") for offset in range(3, 30)])
    folder.rewrite(queue)
    assert {0, 2}.isdisjoint(contents(queue))
    assert contents(queue)[1] == b"x"


def test_everything_may_go(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(offset, "a", b"") for offset in range(25)])
    last_file = queue.pairs[-1].first
    assert folder.rewrite(queue)
    assert contents(queue).keys() == set(range(last_file, 25))
    assert folder.open().min_offset == last_file
    fill(queue, [(25, "a", b"x")])
    assert contents(folder.open())[25] == b"x"


def test_later_rewritings_keep_what_earlier_ones_kept(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(0, "rare", b"rare"), *((at, "often", b"x") for at in range(1, 30))])
    folder.rewrite(queue)
    fill(queue, [(offset, "often", b"y") for offset in range(30, 60)])
    folder.rewrite(queue)
    found = contents(queue)
    assert found[0] == b"rare"
    assert len(found) < 30


def test_more_keys_than_it_looks_at_once(folder: Folder) -> None:
    queue = folder.open()
    fill(queue, [(offset, f"k{offset % 20}", b"x") for offset in range(80)])
    turns = 0
    while folder.rewrite(queue, most_keys=7):
        turns += 1
    assert turns > 1
    last_file = queue.pairs[-1].first
    before = [offset for offset in contents(queue) if offset < last_file]
    assert len({offset % 20 for offset in before}) == len(before) == 20


class Interrupted(BaseException):
    """The process ends here."""


def stop_at(
    monkeypatch: pytest.MonkeyPatch, step: int, names: Iterable[str], failure: BaseException
) -> None:
    """After so many calls of these functions each of them fails."""
    left = step
    for name in names:
        do = getattr(queue_module, name)

        def once(*args: object, do: Any = do) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                raise failure
            return do(*args)

        monkeypatch.setattr(queue_module, name, once)


@pytest.mark.parametrize("step", range(12))
def test_an_exchange_is_finished_at_the_next_start(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    queue = folder.open()
    fill(queue, [(offset, f"k{offset % 11}", b"%d" % offset) for offset in range(60)])
    last_file = queue.pairs[-1].first
    stop_at(monkeypatch, step, ("rename", "remove", "sync_directory", "discard"), Interrupted())
    with suppress(Interrupted):
        folder.rewrite(queue)
    monkeypatch.undo()
    again = folder.open()
    newest = set(range(last_file - 11, last_file))
    assert contents(again).keys() == newest | set(range(last_file, 60))
    assert all(name.isdigit() for names in folder.names() for name in names)


@pytest.mark.parametrize("step", range(6))
def test_an_exchange_that_fails_is_finished_by_the_next_rewriting(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """The disk fails, the process goes on."""
    queue = folder.open()
    fill(queue, [(offset, f"k{offset % 11}", b"%d" % offset) for offset in range(60)])
    last_file = queue.pairs[-1].first
    stop_at(monkeypatch, step, ("rename", "remove"), OSError(5, "the disk fails"))
    with suppress(OSError):
        folder.rewrite(queue)
    monkeypatch.undo()
    folder.rewrite(queue)
    newest = set(range(last_file - 11, last_file))
    assert contents(queue).keys() == newest | set(range(last_file, 60))
    assert contents(folder.open()) == contents(queue)


def test_what_was_not_finished_is_thrown_away(folder: Folder, tmp_path: Path) -> None:
    queue = folder.open()
    fill(queue, [(offset, "k", b"x") for offset in range(30)])
    for root in folder.folders:
        (root / "compacting").mkdir()
        (root / "compacting" / f"{0:020d}").write_bytes(b"half")
    assert contents(folder.open()) == contents(queue)
    assert all(name.isdigit() for names in folder.names() for name in names)


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._temporary = TemporaryDirectory()
        self.folder = Folder(Path(self._temporary.name))
        self.queue = self.folder.open()
        self.sent: list[tuple[str, bytes]] = []
        self.looked_at = -1

    @rule(messages=lists(tuples(sampled_from("abcdefgh"), binary(max_size=300)), max_size=20))
    def append(self, messages: list[tuple[str, bytes]]) -> None:
        begin = len(self.sent)
        fill(self.queue, [(begin + at, key, body) for at, (key, body) in enumerate(messages)])
        self.sent += messages

    @rule(most_keys=integers(1, 10))
    def rewrite(self, most_keys: int) -> None:
        self.folder.rewrite(self.queue, most_keys)

    @rule()
    def rewrite_to_the_end(self) -> None:
        while self.folder.rewrite(self.queue):
            pass
        looked_at = [one for one in contents(self.queue) if one <= self.folder.position]
        keys = [self.sent[offset][0] for offset in looked_at]
        assert len(keys) == len(set(keys)), "one of each key"

    @rule()
    def open_again(self) -> None:
        self.queue = self.folder.open()

    @rule()
    def open_again_without_the_position(self) -> None:
        self.queue = self.folder.open()
        self.folder.position = -1

    @invariant()
    def the_newest_are_there(self) -> None:
        found = contents(self.queue)
        for offset, body in found.items():
            assert self.sent[offset][1] == body
        newest = {key: offset for offset, (key, _) in enumerate(self.sent)}
        for offset in newest.values():
            if self.sent[offset][1]:
                assert offset in found
        self.looked_at = max(self.looked_at, self.folder.position)
        assert set(range(self.looked_at + 1, len(self.sent))) <= found.keys()

    def teardown(self) -> None:
        self._temporary.cleanup()


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
