"""One connection: the read loop, the requests that wait, and the peer that processors talk to.

The same on both ends: a server's connection answers requests and may ask its client something, a
client's connection asks and may be asked.

| state   | reads                         | sends                  | left by                                      |
|---------|-------------------------------|------------------------|----------------------------------------------|
| serving | frames, one receive at a time | whatever is ready      | a full outbox, a holdback -> paused; `_stop` |
| paused  | nothing                       | whatever is ready      | room in it, replies released -> serving; `_stop` |
| leaving | nothing                       | what is in the outbox  | all sent, or `drain_seconds` are up -> gone  |
| gone    | nothing                       | nothing                | -                                            |

`_stop` comes from the peer's end, a broken protocol, `finish`, and `close`, which empties the outbox first. It
cancels the requests that wait: they are not answered. A connection counts as `closed`, for processors and
listeners too, from the moment that it is leaving.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import trio

from trimq.base.step_queue import Steps
from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import ONEWAY_BIT, RemotingCommand
from trimq.codec.headers.base import Header
from trimq.remoting.errors import PeerGone
from trimq.remoting.exchange import Response
from trimq.remoting.peer import Body, Peer
from trimq.remoting.serving.durable_replies import ParkedReplies
from trimq.remoting.serving.long_work import LongWork
from trimq.remoting.serving.outgoing_requests import OutgoingRequests
from trimq.remoting.serving.receive_frames import (
    Reply,
    Turn,
    WaitingRequest,
    body_size,
    encode_request,
)
from trimq.remoting.serving.receiving import PolledReceiving, Receiving
from trimq.remoting.serving.shared import Shared
from trimq.remoting.wire.outbox import Outbox
from trimq.remoting.wire.poller import Poller
from trimq.remoting.wire.streams import SocketWire, Wire
from trimq.remoting.wire.unfinished_frames import FrameWatch

log = logging.getLogger("trimq.remoting")

T = TypeVar("T")
_BUSY: Final = "[OVERLOAD]system busy, start flow control for a while"


class Connection(Peer):
    """Serves one wire until either end closes it."""

    __slots__ = (
        "_idle_since",
        "_long",
        "_outbox",
        "_parked",
        "_questions",
        "_reason",
        "_receiving",
        "_serving",
        "_share",
        "_shared",
        "_waiting",
        "_waiting_count",
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
        self.takes_files = wire.takes_views and shared.lane is not None
        resources = shared.resources
        self._share = resources.memory.share(self, shared.counters)
        self._outbox = Outbox(
            wire, limits.outbox_limit, shared.counters, self._stop, shared.lane, self._share
        )
        self._receiving = Receiving(self, shared, self._outbox, self._share)
        self._long = LongWork(resources.steps, self._outbox, self._receiving, self._share)
        self._parked: ParkedReplies | None = None
        if shared.gates:
            self._parked = ParkedReplies(shared.gates, self._outbox, self._receiving.send)
            self._receiving.parked = self._parked
        self._serving = trio.CancelScope()
        self._waiting: trio.Nursery | None = None
        self._waiting_count = 0
        self._questions = OutgoingRequests()
        self._reason = ""
        self._watch = FrameWatch()
        self._idle_since = trio.current_time()

    async def run(self) -> None:
        """Serve until the peer leaves, `close` or `finish` is called, or the protocol is broken."""
        shared = self._shared
        shared.counters.connections += 1
        self._share.add(self._wire.kept)
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
                self._forget()
                shared.counters.connections -= 1
                await self._wire.aclose()

    def _forget(self) -> None:
        """What it has received is let go at once: the connection itself lives until the collector finds it."""
        self._share.end()
        self._receiving.frames.clear()

    def finish(self, reason: str) -> None:
        """Stop reading, send the replies, then close: the orderly end."""
        self._stop(reason)

    async def room(self) -> None:
        await self._outbox.room()

    async def in_turn(self, steps: Steps[T]) -> T:
        return await self._long.run(steps, self._look_for_its_end)

    def _look_for_its_end(self) -> None:
        """Nothing else tells of it while it is not read."""
        if self._wire.is_gone():
            self._stop("closed by the peer")

    def close(self, reason: str) -> None:
        self._forget()
        self._outbox.close()
        self._stop(reason)

    @property
    def is_leaving(self) -> bool:
        """It reads no more, and is about to be gone."""
        return self._receiving.over

    def sweep(self, now: float) -> bool:
        """Called every few seconds; whether this connection has been idle for too long."""
        if self._receiving.moved or self._outbox.moved:
            self._receiving.moved = self._outbox.moved = False
            self._idle_since = now
        return now - self._idle_since >= self._shared.limits.idle_seconds

    def owes_too_long(self, now: float) -> bool:
        """Called every few seconds; whether a frame that has begun should have ended long ago."""
        frames = self._receiving.frames
        # While we do not read, the peer is not to blame.
        reads = not (self._outbox.full or self._receiving.held)
        needed = frames.needed if frames.pending and reads else 0
        return self._watch.is_late(frames.frames, needed, now, self._shared.limits.frame_seconds)

    def oneway(self, code: int, header: Header | None = None, body: Body = b"") -> None:
        if self.closed:
            return
        if self._outbox.full:
            self._shared.counters.dropped_pushes += 1
            log.debug("notice dropped code=%d peer=%s: it does not read", code, self.remote_addr)
            return
        self._request(
            RemotingCommand(code, self._questions.next_opaque(), ONEWAY_BIT), header, body
        )

    def add_to_requests(self, fields: dict[str, str]) -> None:
        """Fields of every request of ours from now on, in addition to those of its header."""
        self._shared.extra_fields = fields

    async def ask(
        self,
        code: int,
        header: Header | None = None,
        body: Body = b"",
        timeout: float = 3,
        late: Callable[[RemotingCommand], None] | None = None,
    ) -> RemotingCommand:
        """`late` gets the answer when whoever asked has left before it came."""
        opaque = self._questions.next_opaque()
        # `fail_after` without its generators: a proxy asks with each call.
        with trio.CancelScope(deadline=trio.current_time() + timeout) as patience:
            await self._outbox.room()
            if self.closed:
                raise PeerGone(f"{self.remote_addr} is gone: {self._reason}")
            question = self._questions.expect(opaque)
            try:
                self._request(RemotingCommand(code, opaque), header, body)
                await question.done.wait()
            except trio.Cancelled:
                if late is not None:
                    self._questions.leave(opaque, late)
                raise
            finally:
                if question.late is None:
                    self._questions.forget(opaque)
        if patience.cancelled_caught:
            raise trio.TooSlowError
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
            receiving = self._receiving
            while not receiving.over:
                await self._room_to_read()
                data = await wire.receive()
                if data:
                    turn = receiving.received(data)
                    await self._finish(turn, receiving.must_wait())
                else:
                    self._stop("closed by the peer")
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._stop(f"receive failed: {error}")

    async def _be_polled(self, wire: SocketWire, poller: Poller) -> None:
        """Another read loop: the poller calls for every receive, and no task has to wake."""
        fd = wire.fileno()
        see_to = partial(self._see_to, poller, fd)
        polled = PolledReceiving(
            self._receiving,
            self._shared.round,
            wire,
            self._outbox,
            see_to,
            self._stop,
            self._fail_soon,
        )
        poller.add(fd, polled.ready)
        try:
            await trio.sleep_forever()
        finally:
            poller.remove(fd)

    def _see_to(self, poller: Poller, fd: int, turn: Turn | None, must_wait: bool) -> None:
        """What the poller leaves to the connection. Work that has to wait gets a task, and reading pauses."""
        if self._receiving.over and turn is None:
            # The end of a stream would be reported until its task has closed it.
            poller.pause(fd)
        elif turn is not None and not turn.more and not must_wait:
            self._end_turn(turn)
        else:
            assert self._waiting is not None
            poller.pause(fd)
            self._waiting.start_soon(self._catch_up, turn, must_wait, poller, fd)

    def _fail_soon(self, error: Exception) -> None:
        assert self._waiting is not None
        self._waiting.start_soon(_fail, error)

    async def _catch_up(self, turn: Turn | None, must_wait: bool, poller: Poller, fd: int) -> None:
        if turn is not None:
            await self._finish(turn, must_wait)
        await self._room_to_read()
        poller.resume(fd)

    async def _room_to_read(self) -> None:
        """Wait while too much is on its way out, or too much long work is asked for."""
        await self._outbox.room()
        await self._long.room()

    async def _finish(self, turn: Turn, must_wait: bool) -> None:
        """Send the replies, and take the remaining turns."""
        held_replies = self._shared.dispatcher.held_replies
        while True:
            if must_wait and held_replies is not None:
                await held_replies.passed()
            self._end_turn(turn)
            if not turn.more:
                return
            # A large receive is served in pieces: the other connections want their turn too.
            await trio.lowlevel.checkpoint()
            await self._room_to_read()
            turn = self._receiving.take_turn()
            must_wait = self._receiving.must_wait()

    def _end_turn(self, turn: Turn) -> None:
        self._receiving.reply(turn)
        for command in turn.answers:
            self._answered(command)
        for waiting in turn.waiting:
            self._let_wait(waiting)
        if turn.broken is not None:
            self._shared.counters.protocol_errors += 1
            log.warning("protocol broken peer=%s reason=%s", self.remote_addr, turn.broken)
            self._stop("protocol broken")

    def _let_wait(self, waiting: WaitingRequest) -> None:
        counters = self._shared.counters
        limit = self._shared.limit_of_waiting(self._waiting_count, waiting.size)
        if limit is not None:
            counters.limits[limit] += 1
            request = waiting.later.request
            if not request.oneway:
                busy = Response(ResponseCode.SYSTEM_BUSY, f"{_BUSY} ({limit})")
                self._receiving.send([Reply(request.opaque, waiting.coding, busy)])
            return
        assert self._waiting is not None
        self._waiting_count += 1
        counters.waiting += 1
        counters.waiting_bytes += waiting.size
        self._share.add(waiting.size)
        self._waiting.start_soon(self._answer_later, waiting)

    async def _answer_later(self, waiting: WaitingRequest) -> None:
        request = waiting.later.request
        try:
            # Not even started while the peer does not read: its answer would only pile up here.
            await self._outbox.room()
            response = await self._shared.dispatcher.finish(waiting.later)
            term = 0 if self._parked is None else self._parked.term
            held_replies = self._shared.dispatcher.held_replies
            if held_replies is not None and held_replies.is_behind():
                await held_replies.passed()
        finally:
            self._waiting_count -= 1
            self._shared.counters.waiting -= 1
            self._shared.counters.waiting_bytes -= waiting.size
            self._share.add(-waiting.size)
        if request.oneway or response.no_reply:
            return
        replies = [Reply(request.opaque, waiting.coding, response)]
        self._receiving.send(replies if self._parked is None else self._parked.park(replies, term))

    def _request(self, command: RemotingCommand, header: Header | None, body: Body) -> None:
        command.coding = self._shared.coding
        command.ext_fields = dict(self._shared.extra_fields)
        out = encode_request(command, header, body)
        self._shared.counters.frames_out += 1
        self._outbox.put(out, sum(map(body_size, out)))

    def _answered(self, command: RemotingCommand) -> None:
        if not self._questions.answered(command):
            log.debug("answer to no request opaque=%d peer=%s", command.opaque, self.remote_addr)

    def _stop(self, reason: str) -> None:
        """End the read loop and the requests that wait; the first reason counts."""
        self._reason = self._reason or reason
        self._receiving.over = True
        self._serving.cancel()

    def _leave(self) -> None:
        """From here on everybody else sees the peer as gone."""
        if self.closed:
            return
        self.closed = True
        self._shared.unfinished.note(self, 0, True)
        self._questions.give_up()
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
    """Raise it in the connection's own task."""
    raise error
