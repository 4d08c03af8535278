"""Mutated batches, queue entries, properties and records through C and through Python: always the same outcome.

python -m tests.native.fuzz N [SEED]
"""

import random
import sys
import time

from tests.native import inputs
from trimq.codec import native as of_codec
from trimq.codec.native import batches, hashes, sends
from trimq.store import native as of_store
from trimq.store.native import extents


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
    text = data.decode("utf-8", "replace")
    same(of_codec.sent_properties, sends.sent_properties, text, b"X\x01y\x02", (b"WAIT",))


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


def main(count: int, seed: int) -> None:
    chance = random.Random(seed)
    of_store.guard()
    began = time.monotonic()
    for kind in (batch, entries, keys, properties, rows):
        for _ in range(count):
            kind(chance)
        print(
            f"{kind.__name__}: {count} inputs, {time.monotonic() - began:.0f} s so far", flush=True
        )


if __name__ == "__main__":
    if not of_store.IN_C or not of_codec.IN_C:
        sys.exit("our own C is not built here")
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
