"""Bytes that lie in files, and leave from there: the kernel sends them, in a thread that may wait for the disk."""

# An open file, the position in it, and how many bytes.
FilePart = tuple[int, int, int]


class FileBody:
    """`size` bytes that are kept in files, as long as somebody has this or until `close`."""

    __slots__ = ("__weakref__", "size")

    def __init__(self, size: int) -> None:
        self.size = size

    def parts(self) -> list[bytes | bytearray | FilePart]:
        """All of them in order; the files stay open until `close`. Blocks, so it is for a worker thread.

        OSError, or what the owner of the files raises, when they cannot be read.
        """
        raise NotImplementedError

    def close(self) -> None:
        """On the event loop, when no thread has the parts any more; more than once does no harm."""
