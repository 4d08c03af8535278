"""Bytes of mapped files. `_pages.c` is its twin, and more: only in C is it safe to read such bytes.

Reading a page that the disk cannot deliver raises a signal, SIGBUS, which ends the process. In C
the signal ends the copy instead, once `guard` has been called; Python cannot do that, and so never
reads them.
"""


def guard() -> int:
    """Ensure that a page that cannot be read ends a copy and not the process.

    0: it was already so, or there is nothing to guard, as here; 1: it was not so before; 2:
    somebody had taken the signal since. The previous handler still gets signals that are not ours.
    """
    return 0


def join(packed: bytes, whole: memoryview, base: int, size: int, /) -> bytes | None:
    """The bytes of packed extents, `size` in all, one after another, from `whole`, which begins at
    `base`.

    None: they lie outside, do not add up to that size, the disk cannot deliver them, or there is no
    guard.
    """
    return None


def append_views(
    views: list[memoryview],
    whole: memoryview,
    base: int,
    extents: list[tuple[int, int]],
    first: int,
    stop: int,
    /,
) -> None:
    """Append what `whole`, which begins at `base`, has of the extents from `first` up to `stop`.

    What is appended has a length and a buffer, as a memoryview has; in C it has nothing else. While there
    is one, `whole` cannot be released. IndexError, ValueError: there are no such extents.
    """
    if first < 0 or stop > len(extents) or base < 0:
        raise IndexError("append_views: there are fewer extents")
    length = len(whole)
    for at in range(first, stop):
        offset, size = extents[at]
        offset -= base
        if offset < 0 or size < 0 or offset + size > length:
            raise ValueError("append_views: an extent lies outside")
        views.append(whole[offset : offset + size])
