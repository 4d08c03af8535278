"""`packed` are rows of 19 native longs: the fields of `outline_records`, but places for the hosts."""

def outline(buffer: bytes, at: int, end: int, base: int, /) -> tuple[bytes, int]: ...
def select(
    packed: bytes,
    buffer: bytes,
    start: int,
    end: int,
    topics: frozenset[bytes] | None,
    queue_ids: frozenset[int] | None,
    /,
) -> bytes: ...
def sound(packed: bytes, buffer: bytes, unsure: int, /) -> bytes: ...
def flagged(packed: bytes, flags: int, /) -> bool: ...
