"""What POP records about the messages that it handed out, as records of the revive topic."""

from trimq.codec.bodies.base import Body, Int8, Int32, Int64


class PopCheckPoint(Body, kw_only=True):
    """A `ck` record: messages `so + distance` of a queue, and which of them are acknowledged.

    c group, t topic, q queue, so first offset, n count, d distances of the messages from it
    (absent: they are consecutive), bm bits of those that are acknowledged, pt time of the pop, it
    milliseconds until they come again.
    """

    bm: Int32 = 0
    c: str | None = None
    d: list[Int32] | None = None
    it: Int64 = 0
    n: Int8 = 0
    pt: Int64 = 0
    q: Int32 = 0
    so: Int64 = 0
    t: str | None = None

    def open_offsets(self) -> list[int]:
        """The offsets of the messages that nobody has acknowledged."""
        distances = self.d or range(self.n)
        return [self.so + far for bit, far in enumerate(distances) if not self.bm >> bit & 1]


class AckMsg(Body, kw_only=True):
    """An `ack` record, or with `aol` a `bAck`: the offsets ao or aol of one checkpoint."""

    ao: Int64 = -1
    aol: list[Int64] | None = None
    c: str | None = None
    pt: Int64 = 0
    q: Int32 = 0
    so: Int64 = 0
    t: str | None = None
