def guard() -> int: ...
def join(packed: bytes, whole: memoryview, base: int, size: int, /) -> bytes | None: ...
def append_views(
    views: list[memoryview],
    whole: memoryview,
    base: int,
    extents: list[tuple[int, int]],
    first: int,
    stop: int,
    /,
) -> None: ...
