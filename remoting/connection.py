"""One connection: the read loop, the requests that wait, and the peer that processors talk to.

The same on both ends: a server's connection answers requests and may ask its client something, a
client's connection asks and may be asked.
"""

import logging
from functools import partial
from typing import Final

import trio

from trimq.codec.codes import ResponseCode
from trimq.codec.command import JSON, ONEWAY_BIT, RemotingCommand
from trimq.codec.frame import FrameBuffer
from trimq.codec.headers.base import Header
from trimq.remoting.contract import ConnectionListener
from trimq.remoting.dispatch import Dispatcher
from trimq.remoting.errors import PeerGone
from trimq.remoting.exchange import Response
from trimq.remoting.gate import Gate
from trimq.remoting.limits import Limits
from trimq.remoting.outbox import Outbox
from trimq.remoting.parked import ParkedReplies
from trimq.remoting.peer import Body, Buffer, Peer
from trimq.remoting.poller import Poller
from trimq.remoting.turn import (
    Held,
    Reply,
    Turn,
    body_size,
    encode_replies,
    encode_request,
    take_turn,
)
from trimq.remoting.unfinished import SMALL, FrameWatch, Unfinished
from trimq.remoting.wire import SocketWire, Wire

log = logging.getLogger("trimq.remoting")

_BUSY: Final = "[OVERLOAD]system busy, start flow control for a while"


class Shared:
    """What all connections of one server, or of one client, have in common."""

    __slots__ = (
        "coding",
        "counters",
        "dispatcher",
        "extra_fields",
        "gate",
        "limits",
        "listener",
        "listener_name",
        "poller",
        "unfinished",
    )

    def __init__(
        self,
        dispatcher: Dispatcher,
        limits: Limits,
        gate: Gate | None = None,
        listener: ConnectionListener | None = None,
        coding: int = JSON,
    ) -> None:
        self.dispatcher = dispatcher
        self.limits = limits
        self.gate = gate
        self.listener = listener
        self.counters = dispatcher.counters
        self.unfinished = Unfinished(limits.unfinished_limit, self.counters)
        # In log lines: one process may listen as a broker and as a NameServer.
        self.listener_name = dispatcher.request_log.listener
        # The header coding of our own requests; a reply always has that of its request.
        self.coding = coding
        # Fields of every request of ours besides those of its header.
        self.extra_fields: dict[str, str] = {}
        # Reads the plain sockets of a server; without it each connection has a reading task.
        self.poller: Poller | None = None


class _Question:
    """A request of ours that waits for its answer."""

    __slots__ = ("answer", "done")

    def __init__(self) -> None:
        self.answer: RemotingCommand | None = None
        self.done = trio.Event()


class Connection(Peer):
    """Serves one wire until either end closes it."""

    __slots__ = (
        "_frames",
        "_held",
        "_idle_since",
        "_moved",
        "_opaque",
        "_outbox",
        "_parked",
        "_questions",
        "_reason",
        "_serving",
        "_shared",
        "_unfinished",
        "_waiting",
        "_watch",
        "_wire",
    )

    def __init__(self, wire: Wire, shared: Shared, remote_addr: str, packed_host: bytes) -> None:
        shared.counters.opened += 1
        super().__init__(remote_addr, packed_host, shared.counters.opened)
        self.takes_views = wire.takes_views
        limits = shared.limits
        self._wire = wire
        self._shared = shared
        self._frames = FrameBuffer(limits.frame_limit)
        self._outbox = Outbox(wire, limits.outbox_limit, shared.counters, self._stop)
        self._parked: ParkedReplies | None = None
        if shared.gate is not None:
            self._parked = ParkedReplies(
                shared.gate, limits.durable_seconds, self._outbox, self._send
            )
        self._serving = trio.CancelScope()
        self._waiting: trio.Nursery | None = None
        self._held = 0
        self._questions: dict[int, _Question] = {}
        self._opaque = 0
        self._reason = ""
        self._watch = FrameWatch()
        # Bytes of an unfinished frame that count in the budget of all.
        self._unfinished = 0
        self._moved = True
        self._idle_since = trio.current_time()

    async def run(self) -> None:
        """Serve until the peer leaves, `close` or `finish` is called, or the protocol is broken."""
        shared = self._shared
        shared.counters.connections += 1
        log.debug(
            "connection opened: on=%s peer=%s id=%d",
            shared.listener_name,
            self.remote_addr,
            self.id,
        )
        try:
            if shared.listener is not None:
                shared.listener.opened(self)
            async with trio.open_nursery() as senders:
                self._outbox.open(senders)
                if self._parked is not None:
                    self._parked.open(senders)
                with self._serving:
                    async with trio.open_nursery() as waiting:
                        self._waiting = waiting
                        await self._serve()
                self._leave()
                with trio.move_on_after(shared.limits.drain_seconds):
                    await self._outbox.below(0)
                senders.cancel_scope.cancel()
        finally:
            try:
                self._leave()
            finally:
                self._outbox.close()
                if self._parked is not None:
                    self._parked.close()
                shared.counters.connections -= 1
                await self._wire.aclose()

    def finish(self, reason: str) -> None:
        """Read no more, get the replies out, then close: the orderly end."""
        self._stop(reason)

    async def room(self) -> None:
        await self._outbox.room()

    def close(self, reason: str) -> None:
        self._outbox.close()
        self._stop(reason)

    def sweep(self, now: float) -> bool:
        """Called every few seconds; whether this connection has been idle for too long."""
        if self._moved or self._outbox.moved:
            self._moved = self._outbox.moved = False
            self._idle_since = now
        return now - self._idle_since >= self._shared.limits.idle_seconds

    def owes_too_long(self, now: float) -> bool:
        """Called every few seconds; whether a frame that has begun should have ended long ago."""
        frames = self._frames
        # While we do not read, it is not the peer's doing.
        needed = frames.needed if frames.pending and not self._outbox.full else 0
        return self._watch.is_late(frames.frames, needed, now, self._shared.limits.frame_seconds)

    def oneway(self, code: int, header: Header | None = None, body: Body = b"") -> None:
        if self.closed:
            return
        if self._outbox.full:
            self._shared.counters.dropped_pushes += 1
            log.debug("notice dropped code=%d peer=%s: it does not read", code, self.remote_addr)
            return
        self._request(RemotingCommand(code, self._next_opaque(), ONEWAY_BIT), header, body)

    def add_to_requests(self, fields: dict[str, str]) -> None:
        """Fields of every request of ours from now on, besides those of its header."""
        self._shared.extra_fields = fields

    async def ask(
        self,
        code: int,
        header: Header | None = None,
        body: Body = b"",
        timeout: float = 3,  # noqa: ASYNC109
    ) -> RemotingCommand:
        question = _Question()
        opaque = self._next_opaque()
        with trio.fail_after(timeout):
            await self._outbox.room()
            if self.closed:
                raise PeerGone(f"{self.remote_addr} is gone: {self._reason}")
            self._questions[opaque] = question
            try:
                self._request(RemotingCommand(code, opaque), header, body)
                await question.done.wait()
            finally:
                self._questions.pop(opaque, None)
        if question.answer is None:
            raise PeerGone(
                f"{self.remote_addr} ended the connection without an answer: {self._reason}"
            )
        return question.answer

    async def _serve(self) -> None:
        """The read loop, until `_stop`."""
        wire = self._wire
        try:
            if self._shared.poller is not None and isinstance(wire, SocketWire):
                await self._be_polled(wire, self._shared.poller)
            while not self._serving.cancel_called:
                await self._outbox.room()
                turn = self._received(await wire.receive())
                if turn is not None:
                    await self._finish(turn, self._must_wait())
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._stop(f"receive failed: {error}")

    async def _be_polled(self, wire: SocketWire, poller: Poller) -> None:
        """Another read loop: the poller calls for every receive, and no task has to wake."""
        fd = wire.fileno()
        poller.add(fd, partial(self._ready, wire, poller))
        try:
            await trio.sleep_forever()
        finally:
            poller.remove(fd)

    def _ready(self, wire: SocketWire, poller: Poller) -> None:
        """There is something to read, or the end. What has to wait gets a task, and reading pauses."""
        if self._serving.cancel_called:
            # The end of a stream would be reported until its task has closed it.
            poller.pause(wire.fileno())
            return
        assert self._waiting is not None
        try:
            turn: Turn | None = None
            must_wait = False
            if not self._outbox.full:
                data = wire.receive_now()
                turn = None if data is None else self._received(data)
                if turn is None:
                    return
                # Looked at now: another connection that waits too takes the wish back.
                must_wait = self._must_wait()
                if not turn.more and not must_wait:
                    self._end_turn(turn)
                    return
            poller.pause(wire.fileno())
            self._waiting.start_soon(self._catch_up, turn, must_wait, poller, wire.fileno())
        except OSError as error:
            self._stop(f"receive failed: {error}")
        except Exception as error:
            # A bug, but this connection's: it must not end the poller.
            self._waiting.start_soon(_fail, error)

    async def _catch_up(self, turn: Turn | None, must_wait: bool, poller: Poller, fd: int) -> None:
        if turn is not None:
            await self._finish(turn, must_wait)
        await self._outbox.room()
        poller.resume(fd)

    def _received(self, data: bytes) -> Turn | None:
        """Handle what came; None at the end."""
        if not data:
            self._stop("closed by the peer")
            return None
        self._moved = True
        self._shared.counters.bytes_in += len(data)
        self._frames.feed(data)
        return self._take_turn()

    def _take_turn(self) -> Turn:
        shared = self._shared
        turn = take_turn(self._frames, shared.dispatcher, self, shared.limits.outbox_limit)
        pending = self._frames.pending
        if (pending > SMALL or self._unfinished) and not self.closed:
            self._unfinished = pending
            shared.unfinished.note(self, pending, turn.frames > 0)
        return turn

    def _must_wait(self) -> bool:
        """Whether the replies may not leave yet."""
        holdback = self._shared.dispatcher.holdback
        return holdback is not None and holdback.wanted

    async def _finish(self, turn: Turn, must_wait: bool) -> None:
        """Send the replies, and take the turns that are left."""
        holdback = self._shared.dispatcher.holdback
        while True:
            if must_wait and holdback is not None:
                await holdback.passed()
            self._end_turn(turn)
            if not turn.more:
                return
            # A large receive is served in pieces: the other connections want their turn too.
            await trio.lowlevel.checkpoint()
            await self._outbox.room()
            turn = self._take_turn()
            must_wait = self._must_wait()

    def _end_turn(self, turn: Turn) -> None:
        self._shared.counters.frames_in += turn.frames
        if turn.replies:
            replies = turn.replies
            if self._parked is not None:
                replies = self._parked.park(replies)
            self._send(replies)
        for command in turn.answers:
            self._answered(command)
        for held in turn.held:
            self._hold(held)
        if turn.broken is not None:
            self._shared.counters.protocol_errors += 1
            log.warning("protocol broken peer=%s reason=%s", self.remote_addr, turn.broken)
            self._stop("protocol broken")

    def _hold(self, held: Held) -> None:
        counters = self._shared.counters
        limit = self._held_limit(held.size)
        if limit is not None:
            counters.limits[limit] += 1
            if not held.request.oneway:
                busy = Response(ResponseCode.SYSTEM_BUSY, f"{_BUSY} ({limit})")
                self._send([Reply(held.request.opaque, held.coding, busy)])
            return
        assert self._waiting is not None
        self._held += 1
        counters.held += 1
        counters.held_bytes += held.size
        self._waiting.start_soon(self._answer_later, held)

    def _held_limit(self, size: int) -> str | None:
        """The setting that forbids holding one more request of that size, if one does."""
        limits = self._shared.limits
        if limits.held_limit and self._held >= limits.held_limit:
            return "maxHeldRequestsPerConnection"
        most = limits.held_bytes_limit
        if most and self._shared.counters.held_bytes + size > most:
            return "maxHeldRequestBytes"
        return None

    async def _answer_later(self, held: Held) -> None:
        request = held.request
        try:
            # Not even started while the peer does not read: its answer would only pile up here.
            await self._outbox.room()
            response = await self._shared.dispatcher.finish(request)
            holdback = self._shared.dispatcher.holdback
            if holdback is not None and holdback.is_behind():
                await holdback.passed()
        finally:
            self._held -= 1
            self._shared.counters.held -= 1
            self._shared.counters.held_bytes -= held.size
        if request.oneway or response.no_reply:
            return
        replies = [Reply(request.opaque, held.coding, response)]
        self._send(replies if self._parked is None else self._parked.park(replies))

    def _send(self, replies: list[Reply]) -> None:
        if replies:
            out: list[Buffer] = []
            size = encode_replies(replies, self._shared.dispatcher, out)
            self._shared.counters.frames_out += len(replies)
            self._outbox.put(out, size)

    def _request(self, command: RemotingCommand, header: Header | None, body: Body) -> None:
        command.coding = self._shared.coding
        command.ext_fields = dict(self._shared.extra_fields)
        out = encode_request(command, header, body)
        self._shared.counters.frames_out += 1
        self._outbox.put(out, sum(map(body_size, out)))

    def _answered(self, command: RemotingCommand) -> None:
        question = self._questions.get(command.opaque)
        if question is None:
            log.debug("answer to nothing opaque=%d peer=%s", command.opaque, self.remote_addr)
            return
        question.answer = command
        question.done.set()

    def _next_opaque(self) -> int:
        self._opaque = self._opaque % 0x7FFFFFFF + 1
        return self._opaque

    def _stop(self, reason: str) -> None:
        """End the read loop and the requests that wait; the first reason counts."""
        self._reason = self._reason or reason
        self._serving.cancel()

    def _leave(self) -> None:
        """From here on the peer is gone for everybody else."""
        if self.closed:
            return
        self.closed = True
        self._shared.unfinished.note(self, 0, True)
        for question in self._questions.values():
            question.done.set()
        log.debug(
            "connection closed: on=%s peer=%s id=%d reason=%s",
            self._shared.listener_name,
            self.remote_addr,
            self.id,
            self._reason or "cancelled",
        )
        if self._shared.listener is not None:
            self._shared.listener.closed(self)


async def _fail(error: Exception) -> None:
    """Raise it where the connection's own task sees it."""
    raise error
