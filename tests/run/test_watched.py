"""The table of subjects: no file of the product is forgotten, no part is misspelt, and it says what tests say."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.run import reads, watched
from tests.run.part import ROOT, Part
from tests.run.table import live_parts
from tests.run.watched import EVERYWHERE, SUBJECTS, lies_in, subjects_of

PARTS = live_parts()
# They look at what belongs to no subject.
PLAIN = {"java-many", "store-opened"}
SUFFIXES = {".py", ".pyi", ".c", ".h"}


def product() -> Iterator[str]:
    """All sources that are installed or that build."""
    linked = [path.resolve() for path in (ROOT / "trimq").iterdir() if path.is_symlink()]
    for folder in (*linked, ROOT / "trimq", ROOT / "building"):
        for path in folder.rglob("*"):
            if path.suffix in SUFFIXES and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT).as_posix()
    yield from (path.name for path in ROOT.glob("*.py"))


def unknown(files: Iterator[str]) -> list[str]:
    """What nobody has decided about."""
    return [
        file
        for file in files
        if not subjects_of(file) and not any(lies_in(file, place) for place in EVERYWHERE)
    ]


def test_every_source_belongs_to_a_subject_or_to_all() -> None:
    found = list(product())
    assert len(found) > 500
    assert unknown(iter(found)) == []
    # A package that is new, and a module beside others.
    new = [
        "broker/newcomer/__init__.py",
        "broker/newcomer.py",
        "store/newcomer.py",
        "new/__init__.py",
    ]
    assert unknown(iter(new)) == new


def test_what_is_named_is_there() -> None:
    claims = [claim for one in SUBJECTS.values() for claim in one.claims]
    assert len(claims) == len(set(claims))
    for place in (*claims, *EVERYWHERE):
        assert (ROOT / place).exists(), place
        assert not place.endswith("/")
    assert len(EVERYWHERE) == len(set(EVERYWHERE))
    names = {part.name for part in PARTS}
    for name, one in SUBJECTS.items():
        assert set(one.parts) <= names, name
        assert 0 < len(set(one.parts)) == len(one.parts) < len(names), name


def test_no_file_belongs_to_two_subjects() -> None:
    twice = {file: subjects_of(file) for file in product() if len(subjects_of(file)) > 1}
    assert twice == {}


def test_every_part_watches_something() -> None:
    watching = {name for one in SUBJECTS.values() for name in one.parts}
    assert {part.name for part in PARTS} - watching == PLAIN


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_watches_the_subjects_that_its_tests_import(part: Part) -> None:
    """Not only their imports: what the broker does in that subject concerns them."""
    for file in sorted(reads.own_tests(part)):
        for module in reads.source(file).imports:
            for name in subjects_of(module):
                assert part.name in SUBJECTS[name].parts, f"{file} imports {module}: {name}"


def named_after(file: str) -> set[str]:
    """Subjects whose name stands in the path of a test, be it as a plural."""
    words = set(re.split(r"[/_.]", file))
    return {name for name in SUBJECTS if words & {name, f"{name}s", name.removesuffix("s")}}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_watches_what_its_tests_are_named_after(part: Part) -> None:
    for file in reads.own_tests(part):
        for name in named_after(file):
            assert part.name in SUBJECTS[name].parts, f"{file}: {name}"


def test_names_of_tests_are_understood() -> None:
    assert named_after("compat_tests/store/test_pop_kills.py") == {"pop"}
    assert named_after("compat_tests/spark/test_batch.py") == {"spark"}
    assert named_after("compat_tests/store/test_check.py") == set()


def test_a_claim_is_a_whole_name() -> None:
    assert lies_in("broker/pop/acknowledgements.py", "broker/pop")
    assert lies_in("LICENSE", "LICENSE")
    assert not lies_in("broker/popular.py", "broker/pop")
    assert watched.watchers_of("broker/popular.py") is None
