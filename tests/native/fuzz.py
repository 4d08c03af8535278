"""Mutated batches, queue entries, properties and records through C and through Python: always the same outcome.

python -m tests.native.fuzz N [SEED]
"""

import random
import sys
import time

from tests.native import inputs
from trimq.codec import native as of_codec
from trimq.codec.frames import json_head
from trimq.codec.frames.heads import plain_head, plain_reply
from trimq.codec.native import batches, halves, hashes, sends
from trimq.codec.native import record_scan as record_scan_twin
from trimq.codec.records.properties import find_value
from trimq.store import native as of_store
from trimq.store.native import extents
from trimq.store.native import picks as twin


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error)


def same(ours, twin, *arguments) -> None:
    found, expected = outcome(ours, *arguments), outcome(twin, *arguments)
    if found != expected:
        raise AssertionError(f"{ours}: {found!r}, {twin}: {expected!r}, of {arguments!r}")


def batch(chance: random.Random) -> None:
    place = chance.choice([0, 1 << 40, (1 << 63) - 300, 1 << 63])
    send = inputs.send(chance)
    same(of_codec.encode_batch, batches.encode_batch, send, place, place, 1, 64)


def entries(chance: random.Random) -> None:
    rules = dict.fromkeys(("memory_bytes", "disk_bytes"), chance.randrange(2000))
    rules |= {"memory_count": chance.randrange(9), "disk_count": chance.randrange(9)}
    rules |= {"file_size": chance.choice([1, 500, 1 << 30]), "memory": chance.randrange(1000)}
    data = inputs.entries(chance)
    log = chance.randrange(-1, 300), chance.randrange(4000)
    wanted = chance.randrange(-1, 12), chance.randrange(4000)
    found = of_store.take_entries(data, of_store.Limits(**rules), *log, *wanted)
    expected = extents.take_entries(data, extents.Limits(**rules), *log, *wanted)
    if found != expected:
        raise AssertionError(f"{found!r}, not {expected!r}, of {data!r}, {rules}, {log}, {wanted}")
    if found is not None:
        whole = memoryview(bytes(5000))
        of_store.join(found[0], whole, chance.randrange(300), found[2])


def keys(chance: random.Random) -> None:
    blocks = [inputs.block(chance) for _ in range(chance.randrange(4))]
    starts = [chance.randrange(1 << 32) for _ in blocks]
    same(of_codec.key_hashes, hashes.key_hashes, blocks, starts, starts)


def properties(chance: random.Random) -> None:
    data = inputs.block(chance)
    same(of_codec.tag_hash, sends.tag_hash, data)
    name = chance.choice([b"TAGS\x01", b"KEYS\x01", b"WAIT\x01", b"t\x01"])
    same(of_codec.property_text, sends.property_text, data, name)
    names = tuple(chance.choices([b"TAGS\x01", b"KEYS\x01", b"WAIT\x01", b"t\x01"], k=3))
    same(of_codec.property_values, halves.property_values, data, names)
    text = data.decode("utf-8", "replace")
    for block in (data, text):
        lists = ((b"WAIT",), (b"DELAY",), (b"TAGS", b"KEYS", b"WAIT"))
        same(of_codec.ordinary_properties, halves.ordinary_properties, block, *lists)
    same(of_codec.sent_properties, sends.sent_properties, text, b"X\x01y\x02", (b"WAIT",))


def heads(chance: random.Random) -> None:
    """JSON headers: what C finds is what msgspec finds; the rest it leaves to it."""
    header = inputs.head(chance)
    found = plain_head(bytes(4) + header, 4 + len(header))
    expected = outcome(json_head.head_values, header)
    if found is not None and found != expected:
        raise AssertionError(f"{found!r}, not {expected!r}, of {header!r}")


def replies(chance: random.Random) -> None:
    """JSON headers of replies, with numbers and lengths that fit, just, and not."""
    limits = [edge + near for edge in (0, 1 << 31, 1 << 63) for near in (-1, 0, 1)]
    numbers = [chance.choice(limits) * chance.choice((-1, 1)) for _ in range(4)]
    # With what JSON escapes, and letters of two and four bytes.
    texts = [
        "".join(chance.choices('ab /"\\\n\x00\x7fä\U0001f600', (60,) * 4 + (1,) * 7, k=3))
        for _ in "123456"
    ]
    fields: dict[str, str] | None = None
    if chance.randrange(8):
        fields = dict(zip(texts[::2], texts[1::2], strict=True)) if chance.randrange(4) else {}
    if fields is not None and not chance.randrange(5000):
        fields["long"] = "v" * chance.randrange((1 << 24) - 300, 1 << 24)
    length = chance.choice([0, 1, (1 << 31) - 1, *limits])
    found = outcome(plain_reply, *numbers, fields, length)
    expected = outcome(json_head.plain_reply, *numbers, fields, length)
    if found is not None and found != expected:
        raise AssertionError(f"{found!r}, not {expected!r}, of {numbers}, {fields}, {length}")


def rows(chance: random.Random) -> None:
    """Rows and columns of records; without pyarrow only that nothing is read outside."""
    from trimq.codec.native import _columns, _rows

    data = inputs.records(chance)
    packed, stopped = _rows.outline(data, 0, len(data), chance.choice([-1, 0]))
    assert 0 <= stopped <= len(data)
    buffer = data if chance.randrange(4) else data[:-1]
    for call in (
        lambda: _rows.sound(packed, buffer, 0),
        lambda: _rows.select(packed, buffer, 0, 1 << 62, frozenset((b"T",)), None),
        lambda: _columns.cut(packed, buffer, True),
        lambda: _columns.property(packed, buffer, b"KEYS"),
        lambda: _columns.properties(packed, buffer),
        lambda: _columns.offset_ids(packed, buffer),
        lambda: _columns.hosts(packed, buffer, True),
    ):
        outcome(call)


def picks(chance: random.Random) -> None:
    """What a filter takes, with what it has said kept, and not."""
    # Without it nothing is picked in C.
    of_store.guard()
    properties = [inputs.block(chance) for _ in range(chance.randrange(9))]
    data, entries = inputs.numbered(chance, properties)
    size = dict.fromkeys(("memory_bytes", "disk_bytes"), chance.randrange(3000))
    rules = size | {"memory_count": chance.randrange(9), "disk_count": chance.randrange(9)}
    rules |= {"file_size": chance.choice([500, 1 << 30]), "memory": chance.randrange(1000)}
    first = chance.randrange(50)
    before = extents.pack_extents([(0, first)] * chance.randrange(2)), chance.randrange(3)
    wanted = chance.randrange(-1, 12), chance.randrange(4000)
    piece = memoryview(data)[first:], 100 + first
    found = []
    for limits, verdicts, pick in (
        (of_store.Limits, of_store.Verdicts, of_store.pick_entries),
        (extents.Limits, twin.Verdicts, twin.pick_entries),
    ):
        table = verdicts((b"TAGS\x01", b"KEYS\x01")) if size["memory_bytes"] % 3 else None
        log = 100, 100 + len(data)
        more = log, wanted, piece, before, table, _is_short
        found.append(outcome(pick, entries, limits(**rules), *more))
    if found[0] != found[1]:
        raise AssertionError(f"{found[0]!r}, not {found[1]!r}, of {entries!r}, {data!r}, {rules}")


def _is_short(properties: bytes) -> int:
    """A filter that looks at two properties."""
    values = [find_value(properties, name) or b"" for name in (b"TAGS\x01", b"KEYS\x01")]
    return len(values[0]) % 2 + (len(values[1]) % 5 == 4)


def record_scan(chance: random.Random) -> None:
    """What a scan needs of records."""
    data = inputs.records(chance)
    at, offset = chance.choice([(0, 0), (0, 0), (-1, -1), (1, 1), (len(data), 0)])
    same(
        of_codec.skim_records, record_scan_twin.skim_records, data, at, offset, chance.randrange(4)
    )


KINDS = (batch, entries, keys, properties, heads, replies, rows, picks, record_scan)


def main(count: int, seed: int) -> None:
    chance = random.Random(seed)
    of_store.guard()
    began = time.monotonic()
    for kind in KINDS:
        for _ in range(count):
            kind(chance)
        print(
            f"{kind.__name__}: {count} inputs, {time.monotonic() - began:.0f} s so far", flush=True
        )


if __name__ == "__main__":
    if not of_store.IN_C or not of_codec.IN_C:
        sys.exit("our own C is not built here")
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
