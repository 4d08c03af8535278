"""The receives of one connection: what came is handled, and answered if nothing has to wait.

Every message crosses this. What has to wait, and whatever is unusual, is the connection's.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Callable
from typing import Final

from trimq.codec.frames.frame import FrameBuffer
from trimq.remoting.counters import RemotingCounters
from trimq.remoting.memory_budget import Share
from trimq.remoting.peer import Peer
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.durable_replies import ParkedReplies
from trimq.remoting.serving.receive_frames import Reply, Turn, begin_turn, encode_replies, take_turn
from trimq.remoting.serving.receive_round import ReceiveRound
from trimq.remoting.serving.shared import Shared
from trimq.remoting.wire.outbox import Outbox
from trimq.remoting.wire.streams import SocketWire
from trimq.remoting.wire.unfinished_frames import SMALL

_SMALL: Final[int] = SMALL


class Receiving:
    """`moved`: something came since this was last set to False. `over`: the connection reads no more; `held`: not now.

    `parked`: replies that wait until their records are durable, if any do. `room`: bytes of replies in a turn.
    """

    __slots__ = (
        "_counters",
        "_dispatcher",
        "_outbox",
        "_peer",
        "_room",
        "_share",
        "_shared",
        "_unfinished",
        "frames",
        "held",
        "moved",
        "over",
        "parked",
    )

    def __init__(self, peer: Peer, shared: Shared, outbox: Outbox, share: Share) -> None:
        self._peer = peer
        self._share = share
        self._shared = shared
        self._dispatcher: Dispatcher = shared.dispatcher
        self._counters: RemotingCounters = shared.counters
        self._outbox = outbox
        self._room: int = shared.limits.outbox_limit
        self.frames = FrameBuffer(shared.limits.frame_limit)
        self.parked: ParkedReplies | None = None
        # Bytes of an unfinished frame that count in the budget of all.
        self._unfinished: int = 0
        self.moved: bool = True
        self.over: bool = False
        self.held: bool = False

    def received(self, data: bytes) -> Turn:
        """Handle what came, and write what that staged."""
        self._feed(data)
        return self.take_turn()

    def begun(self, data: bytes, write_others: Callable[[Turn], None] | None) -> Turn:
        """Handle what came; the caller sees to the write, and calls `written` then. `write_others` as in begin_turn."""
        self._feed(data)
        turn = begin_turn(self.frames, self._dispatcher, self._peer, self._room, write_others)
        self._note_unfinished(turn)
        return turn

    def written(self, turn: Turn) -> None:
        """What it staged was written, or not."""
        if self.parked is not None:
            turn.term = self.parked.term

    def take_turn(self) -> Turn:
        """The frames that are there."""
        turn = take_turn(self.frames, self._dispatcher, self._peer, self._room)
        self.written(turn)
        self._note_unfinished(turn)
        return turn

    def _feed(self, data: bytes) -> None:
        self.moved = True
        self._counters.bytes_in += len(data)
        self.frames.feed(data)

    def _note_unfinished(self, turn: Turn) -> None:
        pending = self.frames.pending
        if (pending > _SMALL or self._unfinished) and not self._peer.closed:
            before, self._unfinished = self._unfinished, pending
            # A buffer that grows has an eighth more than is in it.
            self._share.add(pending + (pending >> 3) - before - (before >> 3))
            self._shared.unfinished.note(self._peer, pending, turn.frames > 0)

    def must_wait(self) -> bool:
        """Whether the replies have to wait."""
        held_replies = self._dispatcher.held_replies
        return held_replies is not None and held_replies.wanted

    def reply(self, turn: Turn) -> None:
        """Send the replies, but for those that are parked."""
        self._counters.frames_in += turn.frames
        if turn.replies:
            replies = turn.replies
            if self.parked is not None:
                replies = self.parked.park(replies, turn.term)
            self.send(replies)

    def send(self, replies: list[Reply]) -> None:
        """Send them now, or as soon as the peer takes them."""
        if replies:
            out = encode_replies(replies, self._dispatcher)
            self._counters.frames_out += len(replies)
            if out.size:
                self._outbox.put(out.buffers, out.size)
            if out.files is not None:
                for head, body in out.files:
                    self._outbox.put_files(head, body)


class PolledReceiving:
    """Called by the poller, which ends the round of those that were ready together.

    `see_to(turn, must_wait)`: the rest of a turn, or room in the outbox, is the connection's affair. `stop`: the
    connection ends; `fail`: with an error of our own.
    """

    __slots__ = ("_ended", "_fail", "_outbox", "_receiving", "_round", "_see_to", "_stop", "_wire")

    def __init__(
        self,
        receiving: Receiving,
        together: ReceiveRound,
        wire: SocketWire,
        outbox: Outbox,
        see_to: Callable[[Turn | None, bool], None],
        stop: Callable[[str], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._receiving = receiving
        self._round = together
        self._ended: Callable[[Turn], None] = self.ended
        self._wire = wire
        self._outbox = outbox
        self._see_to = see_to
        self._stop = stop
        self._fail = fail

    def ready(self) -> None:
        """There is something to read, or the end."""
        receiving = self._receiving
        try:
            if receiving.over or receiving.held or self._outbox.full:
                self._see_to(None, False)
                return
            data = self._wire.receive_now()
            if data is None:
                return
            if not data:
                self._stop("closed by the peer")
                return
            together = self._round
            write_others = together.write if together.is_open else None
            together.add(receiving.begun(data, write_others), self._ended)
        except OSError as error:
            self._stop(f"receive failed: {error}")
        except Exception as error:
            # A bug, but this connection's: it must not end the poller.
            self._fail(error)

    def ended(self, turn: Turn) -> None:
        """What was received is handled, and the round's write is over."""
        receiving = self._receiving
        try:
            receiving.written(turn)
            # Checked now: another waiting connection resets it.
            must_wait = receiving.must_wait()
            if must_wait or turn.more or turn.waiting or turn.answers or turn.broken is not None:
                self._see_to(turn, must_wait)
            else:
                receiving.reply(turn)
        except OSError as error:
            self._stop(f"receive failed: {error}")
        except Exception as error:
            # A bug, but this connection's: it must not end the poller.
            self._fail(error)
