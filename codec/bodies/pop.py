"""What POP keeps of the messages that it handed out, as records of the revive topic."""

from trimq.codec.bodies.base import Body


class PopCheckPoint(Body, kw_only=True):
    """A `ck` record: messages `so + distance` of a queue, and which of them are acknowledged.

    c group, t topic, q queue, so first offset, n count, d distances of the messages from it (absent:
    they lie in a row), bm bits of those that are acknowledged, pt time of the pop, it milliseconds
    until they come again.
    """

    t: str | None = None
    c: str | None = None
    q: int = 0
    so: int = 0
    n: int = 0
    d: list[int] | None = None
    bm: int = 0
    pt: int = 0
    it: int = 0

    def open_offsets(self) -> list[int]:
        """The offsets of the messages that nobody has acknowledged."""
        distances = self.d or range(self.n)
        return [self.so + far for bit, far in enumerate(distances) if not self.bm >> bit & 1]


class AckMsg(Body, kw_only=True):
    """An `ack` record, or with `aol` a `bAck`: the offsets ao or aol of one checkpoint."""

    t: str | None = None
    c: str | None = None
    q: int = 0
    so: int = 0
    ao: int = -1
    aol: list[int] | None = None
    pt: int = 0
