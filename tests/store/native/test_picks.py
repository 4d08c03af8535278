"""What a filter wants of a queue's entries: C and Python pick the same, and keep what was said apart."""

import mmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.native import inputs
from trimq.codec.entries.queue import pack
from trimq.codec.records.properties import find_value
from trimq.store import native
from trimq.store.native import extents, picks

BOTH = [native, picks]
NAMES = (b"n\x01", b"third\x01")
ROOMY = dict.fromkeys(
    ("file_size", "memory", "memory_bytes", "memory_count", "disk_bytes", "disk_count"), 1 << 40
)
in_c = pytest.mark.skipif(
    not native.IN_C, reason="store/native/_picks.c is not compiled here (make compiled does it)"
)
values = st.sampled_from([b"", b"1", b"2", b"yes", b"x" * 30, b"x" * 61, b"\xff"])
blocks = st.lists(
    st.tuples(st.sampled_from([b"n", b"third", b"nn", b"", b"KEYS"]), values), max_size=5
).map(lambda pairs: b"".join(b"%s\x01%s\x02" % pair for pair in pairs))


@pytest.fixture(autouse=True)
def guarded():
    native.guard()


def modules():
    """Limits, Verdicts and pick_entries of C, if it is there, and of Python."""
    return [
        (native.Limits, native.Verdicts, native.pick_entries),
        (extents.Limits, picks.Verdicts, picks.pick_entries),
    ]


def is_odd(properties):
    """A filter that looks at the two properties and nothing else."""
    found = [find_value(properties, name) or b"" for name in NAMES]
    return sum(map(len, found)) % 2


def picked(module, data, entries, verdicts="own", ask=is_odd, before=(b"", 0), base=0, **limits):
    make_limits, make_verdicts, pick_entries = module
    table = make_verdicts(NAMES) if verdicts == "own" else verdicts
    written = base + len(data)
    return pick_entries(
        entries,
        make_limits(**ROOMY | limits),
        (0, written),
        (1 << 40, 1 << 40),
        (memoryview(data), base),
        before,
        table,
        ask,
    )


def outcome(function, *arguments, **more):
    try:
        return function(*arguments, **more)
    except Exception as error:
        return type(error)


@given(
    st.lists(blocks, max_size=12),
    st.randoms(use_true_random=False),
    st.integers(0, 12),
    st.integers(0, 4000),
    st.booleans(),
)
def test_both_pick_the_same(properties, chance, memory_count, memory_bytes, remembers):
    data, entries = inputs.numbered(chance, properties)
    limits = {"memory_count": memory_count, "memory_bytes": memory_bytes}
    found = [
        picked(module, data, entries, "own" if remembers else None, base=100, **limits)
        for module in modules()
    ]
    assert found[0] == found[1]
    packed, done, messages, total, last, end, _, spent = found[0]
    taken = extents.unpack_extents(packed)
    assert sum(size for _, size in taken) == total
    assert end == (sum(taken[-1]) if taken else 0)
    assert messages <= done <= len(properties)
    assert spent >= 0
    assert (last == -1) == (done == 0)


@pytest.mark.parametrize("module", modules())
def test_what_was_said_is_not_asked_again(module):
    properties = [b"KEYS\x01k%d\x02n\x01%d\x02" % (number, number % 3) for number in range(60)]
    data, entries = inputs.numbered(None, properties)
    asked = []
    table = module[1](NAMES)
    for _ in range(2):
        found = picked(module, data, entries, table, lambda block: asked.append(block) or 1)
        assert (found[1], found[2], found[6]) == (60, 60, picks.ALL)
    assert asked == properties[:3]
    table.close()
    picked(module, data, entries, table, lambda block: asked.append(block) or 1)
    assert len(asked) == 63


@pytest.mark.parametrize("module", modules())
@given(st.lists(blocks, max_size=60))
def test_a_verdict_is_one_about_the_same_values(module, properties):
    """Never that of other values, whichever the filter looks at, and none is for two missing ones."""
    data, entries = inputs.numbered(None, properties)
    table = module[1](NAMES)
    picked(module, data, entries, table)
    for block in properties:
        assert table.find(block) in (picks.UNKNOWN, is_odd(block))


@pytest.mark.parametrize("module", modules())
def test_only_so_many_are_kept(module):
    """However many values come; the last one is known."""
    table = module[1](NAMES)
    properties = [b"n\x01v%d\x02" % number for number in range(5000)]
    data, entries = inputs.numbered(None, properties)
    picked(module, data, entries, table)
    known = [block for block in properties if table.find(block) != picks.UNKNOWN]
    assert 0 < len(known) <= picks.MOST_KEPT
    assert table.find(properties[-1]) == is_odd(properties[-1])
    assert all(table.find(block) == is_odd(block) for block in known)


@pytest.mark.parametrize("module", modules())
def test_long_values_are_asked_about_each_time(module):
    table = module[1](NAMES)
    for length, is_kept in ((60, True), (61, False), (30_000, False)):
        block = b"n\x01" + b"v" * length + b"\x02"
        data, entries = inputs.numbered(None, [block])
        assert picked(module, data, entries, table)[1] == 1
        assert (table.find(block) != picks.UNKNOWN) == is_kept


@pytest.mark.parametrize("module", modules())
def test_it_goes_on_behind_what_was_found(module):
    data, entries = inputs.numbered(None, [b"n\x01v\x02"] * 6)
    first = picked(module, data, entries[:60])
    packed, done, messages, total, *_ = first
    assert (done, messages) == (3, 3)
    rest = picked(module, data, entries[60:], before=(packed, messages))
    whole = picked(module, data, entries)
    assert rest[0] == whole[0]
    assert rest[2:6] == whole[2:6]
    full = picked(module, data, entries[60:], before=(packed, messages), memory_count=4)
    assert (full[1], full[2], full[6]) == (1, 4, picks.FULL)
    assert total > 0


@pytest.mark.parametrize("module", modules())
def test_why_it_ends(module):
    data, entries = inputs.numbered(None, [b"n\x01v\x02"] * 6)
    size = len(data) // 6
    broken = bytearray(data)
    broken[3 * size + 84 : 3 * size + 88] = b"\xff" * 4
    assert picked(module, bytes(broken), entries)[1::5] == (3, picks.UNUSUAL)
    gone = entries[:60] + pack(10 * size, size, 0) + entries[60:]
    assert picked(module, data, gone)[1::5] == (3, picks.UNUSUAL)
    answers = iter([1, 0, 2])
    later = picked(module, data, entries, None, lambda block: next(answers))
    assert later[1:3] == (2, 1)
    assert later[6] == picks.PUT_OFF
    limits, table, pick_entries = module
    piece = memoryview(data)[size : 4 * size - 1]
    for first, expected in ((1, (2, picks.BEYOND)), (0, (0, picks.BEYOND))):
        found = pick_entries(
            entries[20 * first :],
            limits(**ROOMY),
            (0, len(data)),
            (32, 1 << 20),
            (piece, size),
            (b"", 0),
            table(NAMES),
            is_odd,
        )
        assert found[1::5] == expected


@pytest.mark.parametrize("module", modules())
def test_a_call_is_short(module):
    """However long properties are; the caller goes on, or pauses."""
    block = b"n\x01v\x02" + b"x\x01y\x02" * 5000
    data, entries = inputs.numbered(None, [block] * 9)
    found = picked(module, data, entries)
    assert found[1] == picks.MOST_SPENT // len(block) + 1
    assert found[6:] == (picks.BEYOND, found[1] * len(block))


@pytest.mark.parametrize("module", modules())
def test_what_is_no_answer_ends_it(module):
    data, entries = inputs.numbered(None, [b"n\x01v\x02"])

    def fails(block):
        raise KeyError(block)

    with pytest.raises(KeyError):
        picked(module, data, entries, ask=fails)
    for wrong in (3, -1):
        with pytest.raises(ValueError, match="no verdict"):
            picked(module, data, entries, ask=lambda block, wrong=wrong: wrong)
    with pytest.raises(ValueError, match="not in a log"):
        picked(module, data, entries, before=(extents.pack_extents([(-1, 5)]), 1))
    for names in ((b"",), (b"n\x01",) * 9):
        with pytest.raises(ValueError, match="up to 8 names"):
            module[1](names)


@in_c
def test_arguments_of_other_kinds_are_refused_in_c():
    data, entries = inputs.numbered(None, [b"n\x01v\x02"])
    module = modules()[0]
    for wrong in (
        {"verdicts": object()},
        {"verdicts": picks.Verdicts(NAMES)},
        {"before": ("", 0)},
        {"ask": None},
    ):
        assert outcome(picked, module, data, entries, **wrong) is TypeError
    pieces = memoryview(data)[::2]
    gone = memoryview(data)
    gone.release()
    for piece, error in ((pieces, BufferError), (gone, ValueError)):
        with pytest.raises(error):
            native.pick_entries(
                entries,
                native.Limits(**ROOMY),
                (0, len(data)),
                (32, 100),
                (piece, 0),
                (b"", 0),
                None,
                is_odd,
            )


@in_c
def test_a_page_that_the_disk_does_not_give_ends_it(tmp_path):
    """A bus error is no end of the process: nothing is picked, and the caller looks at records one by one."""
    data, entries = inputs.numbered(None, [b"n\x01v\x02KEYS\x01" + b"k" * 500 + b"\x02"] * 40)
    path = tmp_path / "file"
    path.write_bytes(data)
    with path.open("r+b") as file:
        mapping = mmap.mmap(file.fileno(), len(data), prot=mmap.PROT_READ)
        file.truncate(8192)
    module = modules()[0]
    for _ in range(2):
        assert picked(module, memoryview(mapping), entries) is None
    assert picked(module, memoryview(mapping), entries[:200])[1] == 10
