"""Inputs for native code: whole ones, and the same with bytes changed, cut out, doubled."""

import random
from types import SimpleNamespace

from trimq.codec.entries.queue import pack
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.record import encode_record

V4, V6 = b"\x7f\0\0\x01\0\0\x2a\x9f", b"\xfe" * 20
BLOCKS = [
    b"",
    b"UNIQ_KEY\x01A1B2\x02KEYS\x01a b  c\x02TAGS\x01t\x02",
    b"KEYS\x01\xc3\xa9\x02WAIT\x01true\x02",
    b"TAGS\x01t",
    bytes(600),
]

HEADS = [
    b'{"code":310,"extFields":{"a":"P","i":"K\\u0001v\\u0002"},"flag":0,"language":"JAVA","opaque":7,'
    b'"serializeTypeCurrentRPC":"JSON","version":513}',
    '{"code": 0, "remark": "é\\n", "opaque": -1, "language": "GO"}'.encode(),
    b'{"extFields":null,"remark":null}',
]


def mutated(chance: random.Random, data: bytes) -> bytes:
    """The same with up to four accidents."""
    made = bytearray(data)
    for _ in range(chance.randrange(5)):
        at = chance.randrange(len(made) + 1)
        match chance.randrange(5):
            case 0:
                del made[at : at + chance.randrange(1, 9)]
            case 1:
                made[at:at] = made[: chance.randrange(9)]
            case 2:
                made[at : at + 4] = chance.choice([b"\xff" * 4, b"\x7f\xff\xff\xff", bytes(4)])
            case _ if at < len(made):
                made[at] = chance.randrange(256)
    return bytes(made)


def head(chance: random.Random) -> bytes:
    """The JSON header of a frame."""
    return mutated(chance, chance.choice(HEADS))


def send(chance: random.Random) -> SimpleNamespace:
    """A batch send whose body, hosts or numbers may be wrong."""
    items = [
        BatchItem(chance.randrange(9), chance.randbytes(chance.randrange(40)), block)
        for block in chance.choices(BLOCKS[:4], k=chance.randrange(6))
    ]
    return SimpleNamespace(
        body=mutated(chance, join_batch(items)),
        topic=chance.choice(["T", "Größe", "t" * 127, "t" * 128]),
        born_host=chance.choice([V4, V4, V6]),
        store_host=V4,
        queue_id=chance.choice([0, 7, 1 << 31]),
        sys_flag=chance.choice([0, 0, 0x10, 0x20]),
        born_timestamp=chance.choice([0, 1 << 40, 1 << 63]),
        reconsume_times=0,
    )


def entries(chance: random.Random) -> bytes:
    """A queue's entries, some of which may lie outside of the log."""
    count = chance.randrange(12)
    place = chance.randrange(50)
    made = []
    for _ in range(count):
        size = chance.randrange(91, 400)
        made.append(pack(place, size, 0))
        place += size + chance.choice([0, 0, 30])
    return mutated(chance, b"".join(made))


def block(chance: random.Random) -> bytes:
    return mutated(chance, chance.choice(BLOCKS))


def records(chance: random.Random) -> bytes:
    """Some consecutive records."""
    made = b""
    for _ in range(chance.randrange(1, 4)):
        properties = chance.choice(BLOCKS[:4])
        body = chance.randbytes(chance.randrange(30))
        made += encode_record(
            b"T", 1, 2, 3, len(made), 0, 5, V4, 1_700_000_000_000, V4, 0, 0, body, properties
        )
    return mutated(chance, made)


def numbered(chance: random.Random | None, properties: list[bytes]) -> tuple[bytes, bytes]:
    """Consecutive records with these properties, and a queue's entries of them; with accidents, given a chance.

    The first record lies at 0, or, given a chance, at 100.
    """
    made, entries, base = b"", b"", 0 if chance is None else 100
    for block in properties:
        place = base + len(made)
        v1 = encode_record(
            b"T", 1, 2, 3, place, 0, 5, V4, 1_700_000_000_000, V4, 0, 0, b"body", block
        )
        made += v1
        entries += pack(place, len(v1), 0)
    if chance is None:
        return made, entries
    return mutated(chance, made), entries if chance.randrange(2) else mutated(chance, entries)
