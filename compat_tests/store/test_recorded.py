"""Stores that the real broker wrote, opened by ours: every answer is the real one's, as recorded.

`recorded/` has them written and the real broker asked, and says how that is done anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Final

import pytest
import zstandard

from compat_tests.comparing.normalise import differences
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.server import Options
from compat_tests.servers.versions import USUAL, VERSIONS
from compat_tests.store.recorded.asking import Entry, answer, stage_of
from compat_tests.store.recorded.catalogue import RECIPES
from compat_tests.store.recorded.deltas import restored, shortened
from compat_tests.store.recorded.kinds import BATCHES
from compat_tests.store.recorded.later import arrived
from compat_tests.store.recorded.packing import filled, pack, unpack
from compat_tests.store.recorded.record import RECORDED, load
from compat_tests.wire.stage import Stage
from trimq.settings import parsing
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreDamaged
from trimq.store.message_store import MessageStore
from trimq.testing import running_server

STORES: Final = [f"{version}/{recipe.file}" for version in VERSIONS for recipe in RECIPES]
SHOWN: Final = 10
# Whatever holds messages, and where they are.
MESSAGES: Final = ("commitlog", "consumequeue", "consumequeue_ext", "batchconsumequeue")
# Folders of a machine, in files of bytes or text.
FOLDERS: Final = (b"/tmp/", b"/home/", b"/root/", b"/var/", b"/dev/", str(ROOT).encode())


class Recorded:
    """One of the stores, unpacked, and what the real broker says about it."""

    def __init__(self, name: str, home: Path) -> None:
        self.name = name
        self.says = load(name)
        self.root = home / "store"
        unpack((RECORDED / f"{name}.zst").read_bytes(), self.root)

    @contextmanager
    def served(self) -> Iterator[Stage]:
        """A broker of ours runs over it, with the real one's settings."""
        settings = Options(self.says["settings"]).merged()
        with (
            running_server(self.root, settings) as ours,
            stage_of(ours.broker_addr) as stage,
        ):
            yield stage


@pytest.fixture
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Recorded:
    return Recorded(getattr(request, "param", f"{USUAL}/{RECIPES[0].file}"), tmp_path)


every_store = pytest.mark.parametrize("recorded", STORES, indirect=True)


def wrong(stage: Stage, entries: list[Entry]) -> list[str]:
    """Where ours answers otherwise than the real one did."""
    found = []
    for entry in entries:
        asked = f"{entry['code']} {entry['ext']}"
        found += [f"{asked}: {line}" for line in differences(entry["answer"], answer(stage, entry))]
    return found


def differing_arrivals(stage: Stage, entries: list[Entry]) -> list[str]:
    came = arrived(stage, [(entry, len(entry["found"])) for entry in entries])
    return list(differences([entry["found"] for entry in entries], came))


Images = dict[str, list[tuple[int, bytes]]]


def images(root: Path, *folders: str) -> Images:
    """What is in the files, by name; files that are empty yet count as well as no file."""
    return {
        path.relative_to(root).as_posix(): found
        for folder in folders
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and (found := filled(path))
    }


def overwritten(before: Images, root: Path) -> list[str]:
    """The files in which something else stands where something stood."""
    found = []
    for name, extents in before.items():
        with (root / name).open("rb") as file:
            for at, part in extents:
                file.seek(at)
                if file.read(len(part)) != part:
                    found.append(f"{name} from {at} on")
    return found


@every_store
def test_ours_answers_as_the_real_one(recorded: Recorded) -> None:
    """And goes on at the same places, and delivers what was left to be delivered."""
    before = images(recorded.root, *MESSAGES)
    with recorded.served() as stage:
        for part in ("answers", "appended"):
            assert_none(part, wrong(stage, recorded.says[part]))
        assert_none("arrivals", differing_arrivals(stage, recorded.says["arrivals"]))
    assert overwritten(before, recorded.root) == []


def assert_none(part: str, found: list[str]) -> None:
    assert found == [], "\n".join([f"{len(found)} differences in {part}", *found[:SHOWN]])


@every_store
def test_opening_and_closing_changes_no_file(recorded: Recorded) -> None:
    before = images(recorded.root, *MESSAGES, "index")
    # What lies in the folders says which kind a queue is of.
    open_and_close(recorded, recorded.root, {})
    after = images(recorded.root, *MESSAGES, "index")
    if recorded.says["killed"]:
        # The index is not believed, and made anew: files of it are called after the moment.
        before, after = unnamed(before), unnamed(after)
    assert after.keys() == before.keys()
    assert [name for name in before if after[name] != before[name]] == []


@every_store
def test_what_is_made_from_the_log_has_the_real_brokers_bytes(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Queues of all kinds and their extensions, and the index."""
    theirs = unnamed(images(recorded.root, *MESSAGES, "index"))
    alone = tmp_path / "alone"
    alone.mkdir()
    (recorded.root / "commitlog").rename(alone / "commitlog")
    open_and_close(recorded, alone, {BATCHES: "BatchCQ"})
    ours = unnamed(images(alone, *MESSAGES, "index"))
    assert ours.keys() == theirs.keys()
    assert [name for name in theirs if ours[name] != theirs[name]] == []


def open_and_close(recorded: Recorded, root: Path, queue_types: dict[str, str]) -> None:
    config = parsing.build(StoreConfig, recorded.says["settings"], root=root)
    store = MessageStore(config, lambda: int(time.time() * 1000))
    store.open(queue_types)
    store.close()


def unnamed(files: Images) -> Images:
    """The files of the index with their numbers for names."""
    index = sorted(name for name in files if name.startswith("index/"))
    return {f"index {index.index(name)}" if name in index else name: files[name] for name in files}


def flip(log: Path, text: bytes) -> None:
    """The first letter of a text in the log."""
    at = next(start + part.index(text) for start, part in filled(log) if text in part)
    with log.open("r+b") as file:
        file.seek(at)
        file.write(text[:1].swapcase())


def test_a_damaged_body_is_refused(recorded: Recorded) -> None:
    flip(recorded.root / "commitlog" / f"{0:020d}", b"body of 8 ")
    # What it vouches for would be believed.
    (recorded.root / "checkpoint").unlink()
    with pytest.raises(StoreDamaged, match="is damaged at byte"), recorded.served():
        pass


def test_a_wrong_record_is_noticed(recorded: Recorded) -> None:
    """One byte of one message's properties, which have no checksum, is another one; and one answer is."""
    flip(recorded.root / "commitlog" / f"{0:020d}", b"shop\1Z\xc3\xbcrich \xe2\x84\x968 ")
    answers = recorded.says["answers"]
    with recorded.served() as stage:
        found = wrong(stage, answers)
        assert found
        assert all("shop" in line.lower() for line in found), found
        (first,) = [
            entry
            for entry in answers
            if entry["ext"].get("topic") == "Audit"
            and entry["reader"] == "messages"
            and entry["answer"]["code"] == 0
        ]
        assert wrong(stage, [first]) == []
        first["answer"]["body"][0]["body"] = "another one"
        assert any("another one" in line for line in wrong(stage, [first]))


def test_every_recipe_has_its_record() -> None:
    """A recipe that was changed is recorded anew; of what is written only the settings can be seen here."""
    assert {f"{file.parent.name}/{file.stem}" for file in RECORDED.glob("*/*")} == set(STORES)
    for version, recipe in product(VERSIONS, RECIPES):
        says = load(f"{version}/{recipe.file}")
        assert (says["settings"], says["killed"]) == (recipe.settings, recipe.kill)
        came = [len(entry["found"]) for entry in says["arrivals"]]
        assert came == [count for _, count in recipe.arrivals]


@every_store
def test_a_record_is_kept_as_it_was(recorded: Recorded) -> None:
    packed = (RECORDED / f"{recorded.name}.zst").read_bytes()
    read = zstandard.ZstdDecompressor().decompress
    assert read(pack(recorded.root)) == read(packed)
    assert restored(shortened(recorded.says)) == recorded.says


@pytest.mark.parametrize("name", STORES)
def test_records_name_no_machine(name: str) -> None:
    store = zstandard.ZstdDecompressor().decompress((RECORDED / f"{name}.zst").read_bytes())
    for data in (store, (RECORDED / f"{name}.json").read_bytes()):
        assert [folder for folder in FOLDERS if folder in data] == []
