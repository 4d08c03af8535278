"""What codec/_kernel.c offers; it is there in a compiled build only."""

from mmap import mmap

def encode_batch(
    data: bytes,
    topic: bytes,
    queue_id: int,
    queue_offset: int,
    position: int,
    sys_flag: int,
    born_timestamp: int,
    born_host: bytes,
    store_timestamp: int,
    store_host: bytes,
    reconsume_times: int,
    longest_body: int,
    /,
) -> tuple[bytes, list[int], list[bytes]] | None: ...
def message_ids(start: str, position: int, sizes: list[int], /) -> str: ...
def take_entries(
    entries: bytes,
    low: int,
    written: int,
    file_size: int,
    memory: int,
    max_messages: int,
    max_bytes: int,
    memory_bytes: int,
    memory_count: int,
    disk_bytes: int,
    disk_count: int,
    /,
) -> tuple[bytes, int, int, int, int] | None: ...
def join(packed: bytes, whole: memoryview, base: int, size: int, /) -> bytes | None: ...

# What it appends has a length and a buffer, as a memoryview has, and nothing else.
def append_views(
    views: list[memoryview],
    whole: memoryview,
    base: int,
    extents: list[tuple[int, int]],
    first: int,
    behind: int,
    /,
) -> None: ...
def append_hashes(properties: bytes, start: int, tag_start: int, hashes: list[int], /) -> int: ...
def enter_keys(
    slots: memoryview,
    changed: bytearray,
    slot_count: int,
    shift: int,
    page_slots: int,
    number: int,
    hashes: list[int],
    offsets: list[int],
    timestamps: list[int],
    begin: int,
    /,
) -> tuple[bytes, int]: ...
def copy_slots(slots: memoryview, runs: list[tuple[int, int]], target: mmap, /) -> None: ...
