"""Which two trees --against takes, and what takes part then."""

from __future__ import annotations

import subprocess

import pytest

from bench.pages import report
from bench.servers import subjects, trees
from bench.servers.subjects import KINDS, OTHER, OURS, REAL


@pytest.fixture
def checkout(tmp_path):
    """Makes folders that look like checkouts, compiled ones by default."""

    def make(name, module="build/compiled/codec/frame.so"):
        root = tmp_path / name
        (root / "trimq").mkdir(parents=True)
        if module:
            (root / module).parent.mkdir(parents=True)
            (root / module).touch()
        return root

    return make


def test_the_compiled_copy_of_the_other_tree_is_measured(checkout):
    this, other = checkout("this"), checkout("other")
    found = trees.against(other, this)
    assert found.other == other / "build" / "compiled"
    assert subjects.make(OTHER, other / "home", other=found.other).tree == found.other


def test_where_the_codec_keeps_its_modules_is_its_own_affair(checkout):
    this, other = checkout("this"), checkout("other", "build/compiled/codec/wire/frame.so")
    assert trees.against(other, this).other == other / "build" / "compiled"


def test_commits_are_named(checkout):
    this, other = checkout("this"), checkout("other")
    git = ["git", "-C", str(other), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert trees.against(other, this).other_commit == head.stdout[:10]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("nowhere", "nowhere is no checkout of TriMQ"),
        ("this", "this is this tree: --against takes another checkout"),
        ("plain", "nothing is compiled in .*plain: run 'make tree' there"),
    ],
)
def test_what_cannot_be_compared_is_reported(checkout, tmp_path, other, said):
    this = checkout("this")
    checkout("plain", module=None)
    with pytest.raises(trees.NotThere, match=said):
        trees.against(tmp_path / other, this)


def test_this_tree_has_to_be_compiled_too(checkout):
    with pytest.raises(trees.NotThere, match=r"nothing is compiled in .*this"):
        trees.against(checkout("other"), checkout("this", module=None))


@pytest.mark.parametrize(
    ("two_trees", "real", "pure", "kinds"),
    [
        (False, False, True, KINDS),
        (False, False, False, KINDS[:2]),
        (True, False, True, (OTHER, OURS)),
        (True, True, True, (REAL, OTHER, OURS)),
    ],
)
def test_who_takes_part(two_trees, real, pure, kinds):
    assert trees.kinds(two_trees, real, pure) == kinds


@pytest.mark.parametrize("words", [["--against", "/a/b", "ceiling"], ["--against=/a/b", "ceiling"]])
def test_pages_name_the_other_tree_by_its_commit(words, tmp_path):
    found = trees.Against(tmp_path, "1111111111", "2222222222")
    assert report.command_line(words, found) == "python -m bench --against 2222222222 ceiling"
    assert report.command_line(["ceiling"]) == "python -m bench ceiling"
