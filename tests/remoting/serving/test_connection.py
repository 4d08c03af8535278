"""Both ends of a connection over memory streams, with virtual time."""

from collections import deque
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import ROCKETMQ, RemotingCommand, encode_command
from trimq.remoting.clients.client import Client
from trimq.remoting.contract import Awaited, Gate, HeldReplies, Later, PeerGone, Processor, Response
from trimq.remoting.errors import RemotingTimeout
from trimq.remoting.limits import Limits
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.request_log import RequestLog
from trimq.remoting.serving.server import Server
from trimq.remoting.testing import memory_wires

ADDR = "127.0.0.1:50000"


class Do(Processor[None]):
    """A processor made of a function."""

    def __init__(self, code, handle):
        self.codes = (code,)
        self.handle = handle


class DoLater(Do):
    def __init__(self, code, answer):
        super().__init__(code, lambda request: Later(request, answer))


class Listener:
    def __init__(self):
        self.open = []
        self.gone = []

    def opened(self, peer):
        self.open.append(peer)

    def closed(self, peer):
        assert peer.closed
        self.gone.append(peer)


def echo(request):
    return Response(body=request.body)


def forever(code=11):
    async def handle(_request):
        await trio.sleep_forever()

    return DoLater(code, handle)


@pytest.fixture
async def connected(nursery):
    """Start a server, give back a function that connects clients to it."""

    @asynccontextmanager
    async def connect(server, **options):
        near, far = memory_wires()
        nursery.start_soon(server.serve_wire, far, ADDR)
        async with Client.over(near, "127.0.0.1:10911", **options) as client:
            yield client

    return connect


async def test_request_and_answer(connected):
    async with connected(Server(Dispatcher([Do(10, echo)]))) as client:
        assert (await client.request(10, body=b"hello")).body == b"hello"
        assert (await client.request(99)).remark == " request type 99 not supported"


async def test_binary_headers(connected):
    async with connected(Server(Dispatcher([Do(10, echo)])), coding=ROCKETMQ) as client:
        answer = await client.request(10, body=b"hello")
        assert (answer.coding, answer.body) == (ROCKETMQ, b"hello")


async def test_a_slow_answer_does_not_hold_up_the_next_ones(connected, autojump_clock):
    async def slow(_request):
        await trio.sleep(15)
        return Response(body=b"slow")

    order = []
    async with (
        connected(Server(Dispatcher([Do(10, echo), DoLater(11, slow)]))) as client,
        trio.open_nursery() as nursery,
    ):

        async def ask(code):
            await client.request(code, timeout=30)
            order.append((code, trio.current_time()))

        began = trio.current_time()
        nursery.start_soon(ask, 11)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, 10)
    assert order == [(10, began), (11, began + 15)]


async def test_replies_wait_until_the_news_was_heard(connected, autojump_clock):
    async def heard():
        await trio.sleep(2)

    held_replies = HeldReplies(heard)

    def create(_request):
        held_replies.wanted = True
        return Response()

    began = trio.current_time()
    processors = [Do(10, echo), Do(11, create)]
    async with connected(Server(Dispatcher(processors, held_replies=held_replies))) as client:
        await client.request(10)
        assert trio.current_time() == began
        await client.request(11)
        assert trio.current_time() == began + 2
        await client.request(10)
        assert trio.current_time() == began + 2


async def test_a_late_failure_is_an_answer_too(connected, caplog):
    async def bad(_request):
        raise LookupError("lost")

    async with connected(Server(Dispatcher([DoLater(11, bad)]))) as client:
        answer = await client.request(11)
    assert (answer.code, answer.remark) == (1, "LookupError: lost")
    assert any(record.exc_info for record in caplog.records)


async def test_requests_that_wait_are_limited(connected):
    server = Server(Dispatcher([forever(), Do(10, echo)]), limits=Limits(waiting_limit=2))
    async with connected(server) as client, trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(client.request, 11)
        await trio.testing.wait_all_tasks_blocked()
        assert server.counters.waiting == 2
        answer = await client.request(11)
        assert answer.code == ResponseCode.SYSTEM_BUSY
        assert answer.remark.startswith("[OVERLOAD]")
        assert (await client.request(10)).code == 0
        nursery.cancel_scope.cancel()
    await trio.testing.wait_all_tasks_blocked()
    assert server.counters.waiting == 0


async def test_a_request_nobody_answers_times_out(connected, autojump_clock):
    async with connected(Server(Dispatcher([forever()]))) as client:
        began = trio.current_time()
        with pytest.raises(RemotingTimeout, match="request code 11 within 3 s"):
            await client.request(11)
        assert trio.current_time() - began == pytest.approx(3)


def answering_later(seconds):
    async def handle(request):
        await trio.sleep(seconds)
        return Response(body=request.body + b", late")

    return DoLater(11, handle)


@pytest.mark.parametrize("patience", [1, 2])
async def test_an_answer_that_nobody_waits_for_is_somebody_elses(
    connected, autojump_clock, patience
):
    late = []
    async with connected(Server(Dispatcher([answering_later(5)]))) as client:
        with trio.move_on_after(patience), pytest.raises(RemotingTimeout):
            await client.request(11, body=b"a", timeout=1.5, late=late.append)
        await trio.sleep(5)
        assert [one.body for one in late] == [b"a, late"]
        # Whoever waits gets it alone.
        assert (await client.request(11, body=b"b", timeout=9, late=late.append)).body == b"b, late"
        await trio.sleep(5)
    assert len(late) == 1


async def test_an_answer_that_comes_together_with_the_end_of_patience(connected, autojump_clock):
    late, answered = [], []
    async with connected(Server(Dispatcher([answering_later(1)]))) as client:
        with trio.move_on_after(1):
            answered.append(await client.request(11, late=late.append))
        await trio.sleep(1)
    assert len(late) + len(answered) == 1


async def test_the_server_asks_its_client(connected, autojump_clock):
    async def ask_back(request):
        answer = await request.peer.ask(220, body=b"who?", timeout=5)
        return Response(body=answer.body)

    server = Server(Dispatcher([DoLater(11, ask_back)]))
    who = Do(220, lambda request: Response(body=request.body + b" me"))
    async with connected(server, processors=[who]) as client:
        assert (await client.request(11)).body == b"who? me"


async def test_a_question_to_a_silent_client_times_out(connected, autojump_clock):
    seen = []

    async def ask_back(request):
        with pytest.raises(trio.TooSlowError):
            await request.peer.ask(220, timeout=5)
        seen.append(trio.current_time())
        return Response()

    async def too_late(_request):
        await trio.sleep(6)
        return Response()

    server = Server(Dispatcher([DoLater(11, ask_back), Do(10, echo)]))
    async with connected(server, processors=[DoLater(220, too_late)]) as client:
        began = trio.current_time()
        assert (await client.request(11, timeout=10)).code == 0
        assert seen == [pytest.approx(began + 5)]
        # The answer that comes too late disturbs nobody.
        await trio.sleep(2)
        assert (await client.request(10)).code == 0


async def test_a_question_fails_when_the_client_leaves(connected):
    failures = []
    listener = Listener()
    server = Server(Dispatcher([Do(10, echo)]), listener=listener)

    async def ask(peer):
        try:
            await peer.ask(220)
        except PeerGone as error:
            failures.append(str(error))

    async with (
        trio.open_nursery() as nursery,
        connected(server, processors=[forever(220)]) as client,
    ):
        await client.request(10)
        nursery.start_soon(ask, listener.open[0])
        await trio.testing.wait_all_tasks_blocked()
    assert failures == [f"{ADDR} ended the connection without an answer: closed by the peer"]
    with pytest.raises(PeerGone):
        await listener.gone[0].ask(220)


async def test_notices_reach_the_client_and_nobody_answers_them(connected):
    notices = []
    listener = Listener()

    def noted(request):
        notices.append((request.code, request.body, request.oneway))
        return Response()

    server = Server(Dispatcher([Do(10, echo)]), listener=listener)
    async with connected(server, processors=[Do(40, noted)]) as client:
        await client.request(10)
        listener.open[0].oneway(40, body=b"changed")
        await trio.testing.wait_all_tasks_blocked()
    assert notices == [(40, b"changed", True)]
    assert server.counters.frames_in == 1
    listener.gone[0].oneway(40)  # dropped


async def test_connections_are_reported(connected, caplog):
    caplog.set_level("DEBUG", "trimq.remoting")
    listener = Listener()
    dispatcher = Dispatcher([Do(10, echo)], request_log=RequestLog("broker"))
    server = Server(dispatcher, listener=listener)
    async with connected(server) as client:
        await client.request(10)
        (peer,) = listener.open
        assert (peer.remote_addr, peer.packed_host) == (ADDR, b"\x7f\0\0\1\0\0\xc3\x50")
        assert server.connections == {peer}
        assert listener.gone == []
    await trio.testing.wait_all_tasks_blocked()
    assert listener.gone == [peer]
    assert server.connections == frozenset()
    assert (server.counters.connections, server.counters.opened) == (0, 1)
    lines = [r.getMessage() for r in caplog.records if f"peer={ADDR}" in r.getMessage()]
    opened, asked, closed = [line for line in lines if line.endswith("on=broker") or "id=1" in line]
    assert opened == f"connection opened: on=broker peer={ADDR} id=1"
    assert f"topic=None group=None peer={ADDR} answer=SUCCESS" in asked
    assert closed == f"connection closed: on=broker peer={ADDR} id=1 reason=closed by the peer"


async def test_closing_a_peer_ends_its_connection(connected):
    listener = Listener()
    server = Server(Dispatcher([Do(10, echo), forever()]), listener=listener)
    async with connected(server) as client, trio.open_nursery() as nursery:

        async def ask():
            with pytest.raises(PeerGone):
                await client.request(11)

        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        listener.open[0].close("expired")
    assert server.counters.waiting == 0


async def test_idle_connections_are_closed_and_busy_ones_are_not(
    connected, nursery, autojump_clock
):
    listener = Listener()
    server = Server(Dispatcher([Do(10, echo)]), listener=listener)
    nursery.start_soon(server.serve, [])
    async with connected(server) as idle, connected(server) as busy:
        await idle.request(10)
        for _ in range(5):
            await trio.sleep(30)
            await busy.request(10)
        assert idle.closed
        assert not busy.closed
        assert server.counters.closed_idle == 1
        await trio.sleep(110)
        assert not busy.closed
        await trio.sleep(21)
        assert busy.closed
        with pytest.raises(PeerGone):
            await busy.request(10)


async def test_a_reply_waits_until_its_record_is_durable(connected, autojump_clock):
    gate = Gate()
    server = Server(
        Dispatcher([Do(10, lambda r: Response(body=r.body, durable_at=int(r.body)))]),
        gates=(Awaited(gate, 5, 10),),
    )
    order = []
    async with connected(server) as client, trio.open_nursery() as nursery:

        async def send(at):
            answer = await client.request(10, body=b"%d" % at)
            order.append((at, answer.code))

        for at in (300, 100, 200):
            nursery.start_soon(send, at)
        await trio.testing.wait_all_tasks_blocked()
        assert order == []
        # The read loop went on meanwhile.
        assert (await client.request(10, body=b"0")).code == 0
        for at in (100, 250, 300):
            gate.advance(at)
            await trio.testing.wait_all_tasks_blocked()
    assert order == [(100, 0), (200, 0), (300, 0)]


async def test_a_reply_that_is_not_durable_in_time_says_so(connected, autojump_clock):
    gate = Gate()

    def handle(_request):
        return Response(ext_fields={"msgId": "M"}, durable_at=9, durable_timeout_code=12)

    server = Server(Dispatcher([Do(10, handle)]), gates=(Awaited(gate, 5, 10),))
    async with connected(server) as client:
        began = trio.current_time()
        answer = await client.request(10, timeout=10)
        assert trio.current_time() - began == pytest.approx(5)
        assert (answer.code, answer.ext_fields) == (12, {"msgId": "M"})
        # The next one, durable in time, is not taken for late.
        gate.advance(9)
        assert (await client.request(10)).code == 0


async def test_without_a_gate_everything_counts_as_durable(connected):
    server = Server(Dispatcher([Do(10, lambda _: Response(durable_at=9))]))
    async with connected(server) as client:
        assert (await client.request(10)).code == 0


async def test_parked_replies_count_in_the_outbox(connected, autojump_clock):
    served = []

    def handle(request):
        served.append(request.opaque)
        return Response(durable_at=1)

    gate = Gate()
    server = Server(
        Dispatcher([Do(10, handle)]),
        gates=(Awaited(gate, 5, 10),),
        limits=Limits(outbox_limit=4096),
    )
    async with connected(server) as client, trio.open_nursery() as nursery:

        async def send_all():
            for _ in range(100):
                nursery.start_soon(client.request, 10, None, b"", 4)
                await trio.testing.wait_all_tasks_blocked()

        await send_all()
        assert len(served) == 9
        gate.advance(1)
    assert len(served) == 100


async def test_broken_frames_close_only_their_connection(connected, nursery, caplog):
    server = Server(Dispatcher([Do(10, echo)]))
    near, far = memory_wires()
    async with connected(server) as good:
        await good.request(10)
        nursery.start_soon(server.serve_wire, far, "127.0.0.1:6666")
        request = encode_command(RemotingCommand(10, 1, body=b"before"))
        await near.send(deque([request + b"\x01\x00\x00\x01" + b"x" * 20]))
        # What was received before the broken frame is answered.
        assert b"before" in await near.receive()
        assert await near.receive() == b""
        assert (await good.request(10)).code == 0
    (line,) = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert line.startswith("protocol broken peer=127.0.0.1:6666 reason=")
    assert server.counters.protocol_errors == 1


async def test_an_exception_of_the_caller_passes_unwrapped(connected):
    with pytest.raises(KeyError):
        async with connected(Server(Dispatcher([]))):
            raise KeyError("mine")


async def test_a_listener_that_breaks_costs_only_its_connection(connected, caplog):
    class Broken(Listener):
        def closed(self, peer):
            raise RuntimeError("a bug")

    server = Server(Dispatcher([Do(10, echo)]), listener=Broken())
    async with connected(server) as client:
        await client.request(10)
        async with connected(server):
            pass
        await trio.testing.wait_all_tasks_blocked()
        assert server.counters.connections == 1
        assert (await client.request(10)).code == 0
    assert "connection failed" in caplog.text


async def test_bytes_and_frames_are_counted_as_they_pass(connected):
    server = Server(Dispatcher([Do(10, echo)]))
    async with connected(server) as client:
        await client.request(10, body=b"x" * 1000)
        counters = server.counters
        assert (counters.frames_in, counters.frames_out, counters.connections) == (1, 1, 1)
        assert 1000 < counters.bytes_in < 1300
        assert 1000 < counters.bytes_out < 1300


async def test_a_reply_that_waits_for_disk_and_slaves_needs_both(connected, autojump_clock):
    disk, slaves = Gate(), Gate()
    gates = (Awaited(disk, 5, 10), Awaited(slaves, 3, 12))
    server = Server(Dispatcher([Do(10, lambda _: Response(durable_at=9))]), gates=gates)

    async with connected(server) as client:

        async def ask(disk_after, slaves_after):
            """Code and seconds, with each gate opened after so many; None: not at all."""
            for gate in (disk, slaves):
                gate.offset = 0
            began = trio.current_time()
            async with trio.open_nursery() as nursery:
                for gate, seconds in ((disk, disk_after), (slaves, slaves_after)):
                    if seconds is not None:
                        nursery.start_soon(_open_later, gate, seconds)
                code = (await client.request(10, timeout=10)).code
                took = trio.current_time() - began
            return code, pytest.approx(took, abs=0.11)

        assert await ask(1, 2) == (0, 2)
        assert await ask(2, 1) == (0, 2)
        assert await ask(1, None) == (12, 3)
        assert await ask(None, 1) == (10, 5)
        # The slaves' code is the one that counts.
        assert await ask(None, None) == (12, 5)
        assert await ask(4, None) == (12, 4)


async def _open_later(gate, seconds):
    await trio.sleep(seconds)
    gate.advance(9)


async def test_a_term_that_ends_lets_nobody_pass(connected, autojump_clock):
    """Not even those whose slaves have it already, and whatever is heard of the old term later."""
    disk, slaves = Gate(), Gate()
    gates = (Awaited(disk, 5, 10), Awaited(slaves, 3, 12))
    handle = lambda r: Response(ext_fields={"msgId": "M"}, durable_at=int(r.body))  # noqa: E731
    server = Server(Dispatcher([Do(10, handle)]), gates=gates)
    answers = {}
    async with connected(server) as client, trio.open_nursery() as nursery:

        async def send(at):
            answer = await client.request(10, body=b"%d" % at)
            answers[at] = (answer.code, answer.ext_fields)

        for at in (100, 200):
            nursery.start_soon(send, at)
        await trio.testing.wait_all_tasks_blocked()
        slaves.advance(100)
        slaves.end_term(50)
        await trio.testing.wait_all_tasks_blocked()
        assert answers == {100: (12, {"msgId": "M"}), 200: (12, {"msgId": "M"})}
        # The same offsets again: a late acknowledgement is not theirs.
        disk.advance(300)
        slaves.advance(300, term=0)
        nursery.start_soon(send, 101)
        await trio.testing.wait_all_tasks_blocked()
        assert 101 not in answers
        slaves.advance(101, term=1)
        await trio.testing.wait_all_tasks_blocked()
        assert answers[101][0] == 0


async def test_a_reply_that_is_held_back_while_its_term_ends(connected, autojump_clock):
    """Its record was written in the old term, and it comes to the gate in the new one."""
    slaves, held = Gate(), trio.Event()

    async def answer(_request):
        return Response(durable_at=9)

    held_replies = HeldReplies(held.wait)
    held_replies.also(held.wait, lambda: True)
    dispatcher = Dispatcher([Do(10, lambda r: Later(r, answer))], held_replies=held_replies)
    server = Server(dispatcher, gates=(Awaited(slaves, 3, 12),))
    codes = []
    async with connected(server) as client, trio.open_nursery() as nursery:

        async def send():
            codes.append((await client.request(10)).code)

        nursery.start_soon(send)
        await trio.testing.wait_all_tasks_blocked()
        slaves.end_term(9)
        held.set()
    assert codes == [12]
