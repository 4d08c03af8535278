from mmap import mmap

def enter_keys(
    slots: memoryview,
    changed: bytearray,
    number: int,
    hashes: list[int],
    offsets: list[int],
    timestamps: list[int],
    begin: int,
    /,
) -> tuple[bytes, int]: ...
def slots_outside(slots: memoryview, limit: int, /) -> list[int]: ...
def copy_slots(slots: memoryview, runs: list[tuple[int, int]], target: mmap, /) -> None: ...
