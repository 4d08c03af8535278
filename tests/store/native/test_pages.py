"""Views and copies of mapped files: only of what is there, and of pages that the disk gives."""

import faulthandler
import mmap
import signal
import subprocess
import sys
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.store import native
from trimq.store.log.page_guard import PageGuard
from trimq.store.native import pages

BOTH = [native, pages]
in_c = pytest.mark.skipif(
    not native.IN_C, reason="store/native/_pages.c is not compiled here (make compiled does it)"
)


@pytest.fixture
def guarded():
    native.guard()


def packed(*extents):
    return array("q", [number for extent in extents for number in extent]).tobytes()


@in_c
@pytest.mark.usefixtures("guarded")
@given(
    st.lists(st.tuples(st.integers(40, 135), st.integers(-1, 31)), max_size=9),
    st.integers(-1, 1),
)
def test_extents_joined(extents, off):
    """The bytes of all, or None when one lies outside or they are not as many as they should be."""
    whole = bytes(range(80))
    inside = all(50 <= offset <= offset + size <= 130 for offset, size in extents)
    expected = b"".join(whole[offset - 50 : offset - 50 + size] for offset, size in extents)
    joined = native.join(packed(*extents), memoryview(whole), 50, len(expected) + off)
    assert joined == (expected if inside and not off else None)


@in_c
@pytest.mark.usefixtures("guarded")
def test_what_the_disk_does_not_give_is_not_joined(tmp_path):
    """A page that cannot be read is a SIGBUS; so is one that is no longer in the file."""
    path = tmp_path / "file"
    path.write_bytes(bytes(8192))
    with path.open("r+b") as file:
        mapping = mmap.mmap(file.fileno(), 8192, prot=mmap.PROT_READ)
        file.truncate(4096)
    for _ in range(2):
        assert native.join(packed((0, 100)), memoryview(mapping), 0, 100) == bytes(100)
        gone = packed((0, 100), (5000, 100))
        assert native.join(gone, memoryview(mapping), 0, 200) is None


@in_c
@pytest.mark.parametrize("call", [native.join, native.append_views])
@pytest.mark.usefixtures("guarded")
def test_memory_that_is_gone_or_in_pieces_is_refused(call):
    gone = memoryview(bytes(80))
    gone.release()
    pieces = memoryview(bytes(80))[::2]
    for whole, error in ((gone, ValueError), (pieces, BufferError)):
        arguments = (
            (packed((0, 10)), whole, 0, 10)
            if call is native.join
            else ([], whole, 0, [(0, 10)], 0, 1)
        )
        with pytest.raises(error):
            call(*arguments)


PROGRAM = """
import faulthandler, mmap, sys
from array import array
from trimq.store import native
path, how = sys.argv[1:]
one = array("q", [0, 100]).tobytes()
file = open(path, "w+b")
file.truncate(8192)
mapping = mmap.mmap(file.fileno(), 8192)
file.truncate(0)
assert native.join(one, memoryview(mapping), 0, 100) is None, "before there is a guard nobody looks"
if how != "unguarded":
    assert native.guard() == 1
if how in ("replaced", "chained"):
    faulthandler.enable()
if how == "chained":
    assert native.guard() == 2
if how != "unguarded":
    assert native.guard() == 0 or how == "replaced"
if how in ("guarded", "chained"):
    assert native.join(one, memoryview(mapping), 0, 100) is None
print("alive", flush=True)
mapping[0]
"""


@in_c
@pytest.mark.parametrize("how", ["unguarded", "guarded", "chained"])
def test_elsewhere_a_bus_error_still_ends_the_process(tmp_path, how):
    """By import nothing is set; and faulthandler, enabled later, goes on to tell."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "file"), how],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == "alive\n", done.stderr
    assert done.returncode == -signal.SIGBUS, done.stderr
    assert ("Bus error" in done.stderr) == (how == "chained")


@in_c
def test_whoever_takes_the_signal_is_told_of_once_and_comes_second(caplog):
    was_enabled = faulthandler.is_enabled()
    faulthandler.disable()
    guard = PageGuard()
    guard.set()
    guard.check()
    assert not caplog.records
    faulthandler.enable()
    try:
        guard.check()
        guard.check()
        faulthandler.disable()
        faulthandler.enable()
        guard.check()
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert native.guard() == 0
    finally:
        if not was_enabled:
            faulthandler.disable()
        native.guard()


@pytest.mark.parametrize("module", BOTH)
@given(
    st.lists(st.tuples(st.integers(50, 99), st.integers(0, 31)), max_size=9),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_views_of_extents(module, extents, first, stop):
    whole = bytes(range(80))
    stop = min(stop, len(extents))
    found = []
    module.append_views(found, memoryview(whole), 50, extents, first, stop)
    expected = [whole[offset - 50 : offset - 50 + size] for offset, size in extents[first:stop]]
    assert [bytes(piece) for piece in found] == expected
    assert [len(piece) for piece in found] == [len(piece) for piece in expected]
    assert all(memoryview(piece).readonly for piece in found)


@pytest.mark.parametrize("module", BOTH)
def test_a_view_keeps_what_it_is_of(module):
    mapping = mmap.mmap(-1, 4096)
    mapping[:5] = b"bytes"
    whole = memoryview(mapping)
    views = []
    module.append_views(views, whole, 0, [(0, 5)], 0, 1)
    if module is native and native.IN_C:
        with pytest.raises(BufferError):
            whole.release()
    del whole
    with pytest.raises(BufferError):
        mapping.close()
    assert bytes(views[0]) == b"bytes"
    views.clear()
    mapping.close()


@pytest.mark.parametrize("module", BOTH)
def test_invalid_extents_are_refused(module):
    with pytest.raises(IndexError, match="fewer"):
        module.append_views([], memoryview(b"abc"), 0, [(0, 1)], 0, 2)
    for base, extent in ((0, (0, 4)), (1, (0, 1)), (0, (0, -1)), (0, (4, 0))):
        with pytest.raises(ValueError, match="outside"):
            module.append_views([], memoryview(b"abc"), base, [extent], 0, 1)
    with pytest.raises((TypeError, ValueError)):
        module.append_views([], memoryview(b"abc"), 0, [(0, 1, 2)], 0, 1)
