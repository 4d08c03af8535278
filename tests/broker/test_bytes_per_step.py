"""Copies of stored messages are written 256 KiB at a time, or one message; between them others have their turn."""

import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.broker.produce.conftest import block, header_of
from tests.processors.conftest import Broker
from trimq.base.clock import TrioClock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.record import Client
from trimq.broker.produce.puts.outcomes import Sent
from trimq.broker.steps import BYTES_PER_STEP
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import JSON, RemotingCommand, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.codec.headers.base import encode_header
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.codec.headers.transactions import EndTransactionRequestHeader
from trimq.codec.names import TRANS_HALF_TOPIC
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.receive_frames import take_turn
from trimq.remoting.testing import RecordingPeer
from trimq.store.messages.message import Dispatched

BODY = 100 * 1024
COUNT = 12
# One that is larger than a step is alone in its own.
LARGE = 600 * 1024
# Records of the broker's own that go with a copy: an op, say.
SMALL = 4096
SIZES = (*[BODY] * (COUNT - 2), LARGE, BODY)

# Every module of the broker that stages records, and what bounds it.
STAGERS = {
    "delivery/delays.py": "delays",
    "timers/copy_writer.py": "timers, timers due at once, timers that roll",
    "transactions/checking.py": "halves asked about, put back, given up",
    "transactions/ending.py": "commits",
    "produce/returns/send_back.py": "messages sent back",
    "transactions/recovery.py": "ops alone, at a start",
    "transactions/late_commits.py": "one commit of what was given up, alone",
    "transactions/resuming.py": "one half taken up again, alone",
    "produce/puts/staging.py": "what a request brings",
    "produce/sends/sending.py": "what a request brings",
    "produce/sends/batches.py": "what a request brings",
    "produce/returns/replying.py": "what a request brings",
    "produce/returns/recalling.py": "what a request brings",
    "produce/puts/receive_end.py": "what a receive has staged",
    "produce/puts/timer_copies.py": "the timers' way",
    "elastic/log.py": "short records of its own",
    "pop/checkpoints/notes.py": "short records of its own",
    "pop/revive/retry.py": "its own tests",
}


class Bench:
    """A broker on a mock clock, whose writes and steps are noted."""

    def __init__(self, root: Path) -> None:
        self.clock = TrioClock()
        config = BrokerConfig(transaction_check_interval=1000, transaction_check_max=2)
        self.broker = Broker(root, config, self.clock, file_reserved_time=1000)
        self.store = self.broker.store
        self.store.open()
        setattr(self.store, "load", self.store.load_blocking)  # noqa: B010
        self.broker.parts.load()
        self.peer = RecordingPeer()
        client = Client(self.peer, "c1", 0, 513, self.clock.steady_millis())
        self.broker.producers.register("PG", client)
        self.writes: list[list[int]] = []
        # Of the steps of tasks, how many bytes each has written.
        self.steps: dict[int, int] = {}
        self.step = 0
        self.store.add_listener(self._note)

    def _note(self, records: list[Dispatched]) -> None:
        self.writes.append([record.size for record in records])
        self.steps[self.step] = self.steps.get(self.step, 0) + sum(self.writes[-1])

    def before_task_step(self, _: trio.lowlevel.Task) -> None:
        self.step += 1

    def send(self, size: int, **properties: str) -> Sent:
        header = header_of(b="T", e=1, i=block(**properties), g=self.clock.millis())
        sent = self.broker.sending.send(header, b"x" * size, self.broker.peer, 513)
        assert isinstance(sent, Sent), sent.remark
        self.store.write_staged()
        return sent

    async def run(self, seconds: float, *names: str) -> None:
        """The broker's services of these names; from now on writes are noted."""
        self.writes.clear()
        self.steps.clear()
        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(self.broker.parts.services[name])
            await trio.sleep(seconds)
            nursery.cancel_scope.cancel()

    def take(self, commands: list[RemotingCommand]) -> None:
        """All in one receive; each turn is a step."""
        self.writes.clear()
        self.steps.clear()
        frames = FrameBuffer()
        frames.feed(b"".join(map(encode_command, commands)))
        dispatcher = Dispatcher(
            self.broker.parts.processors, end_of_receive=self.broker.parts.end_of_receive
        )
        more = True
        while more:
            self.step += 1
            turn = take_turn(frames, dispatcher, self.peer, 1 << 30)
            assert [reply.response.code for reply in turn.replies] == [0] * len(turn.replies)
            more = turn.more

    def check(self, *, asked_for: bool) -> None:
        large = [size for write in self.writes for size in write if size > SMALL]
        assert len(large) == COUNT
        for write in self.writes:
            sizes = [size for size in write if size > SMALL]
            # Whoever is asked for a copy knows how long it is when it is made.
            sure = sizes[:-1] if asked_for else sizes
            assert sum(sure) <= BYTES_PER_STEP or len(sizes) == 1, write
        assert max(self.steps.values()) <= LARGE + SMALL + asked_for * BYTES_PER_STEP
        # Several share a write all the same.
        assert len(self.writes) < COUNT


@pytest.fixture
async def bench(tmp_path: Path) -> Any:
    made = Bench(tmp_path / "store")
    trio.lowlevel.add_instrument(made)  # type: ignore[arg-type]
    yield made
    trio.lowlevel.remove_instrument(made)  # type: ignore[arg-type]
    made.store.close()


async def _delays(bench: Bench) -> None:
    for size in SIZES:
        bench.send(size, DELAY="2")
    await bench.run(8, "deliver delayed messages")


def _in_a_slot(bench: Bench, seconds: int) -> None:
    due = str(bench.clock.millis() + seconds * 1000)
    for number, size in enumerate(SIZES):
        bench.send(size, TIMER_DELIVER_MS=due, UNIQ_KEY=f"U{number}")


TIMERS = ("put timer messages on the wheel", "deliver timer messages")


async def _timers(bench: Bench) -> None:
    _in_a_slot(bench, 3)
    await bench.run(6, *TIMERS)


async def _timers_due_at_once(bench: Bench) -> None:
    object.__setattr__(bench.broker.store_config, "timer_stop_enqueue", True)
    _in_a_slot(bench, 3)
    await trio.sleep(5)
    object.__setattr__(bench.broker.store_config, "timer_stop_enqueue", False)
    await bench.run(3, *TIMERS)


async def _timers_that_roll(bench: Bench) -> None:
    object.__setattr__(bench.broker.store_config, "timer_roll_window_slot", 30)
    _in_a_slot(bench, 50)
    await bench.run(35, *TIMERS)


def _halves(bench: Bench, **properties: str) -> None:
    for number, size in enumerate(SIZES):
        bench.send(size, TRAN_MSG="true", PGROUP="PG", UNIQ_KEY=f"U{number}", **properties)


async def _asked(bench: Bench) -> None:
    _halves(bench)
    await trio.sleep(7)
    await bench.run(1.5, "check half messages")


async def _put_back(bench: Bench) -> None:
    _halves(bench, CHECK_IMMUNITY_TIME_IN_SECONDS="100")
    await trio.sleep(7)
    await bench.run(1.5, "check half messages")


async def _given_up(bench: Bench) -> None:
    _halves(bench, TRANSACTION_CHECK_TIMES="2")
    await trio.sleep(7)
    await bench.run(1.5, "check half messages")


async def _commits(bench: Bench) -> None:
    _halves(bench)
    commands = []
    for offset in range(COUNT):
        entry = bench.store.queue_entry(TRANS_HALF_TOPIC, 0, offset)
        assert entry is not None
        header = EndTransactionRequestHeader(
            topic="T",
            producer_group="PG",
            tran_state_table_offset=offset,
            commit_log_offset=entry.physical_offset,
            commit_or_rollback=8,
            msg_id="",
        )
        commands.append(_command(RequestCode.END_TRANSACTION, offset, header))
    bench.take(commands)


async def _sent_back(bench: Bench) -> None:
    bench.broker.groups.find("CG")
    places = [bench.send(size) for size in SIZES]
    commands = []
    for number in range(len(places)):
        entry = bench.store.queue_entry("T", 1, number)
        assert entry is not None
        header = ConsumerSendMsgBackRequestHeader(
            offset=entry.physical_offset, group="CG", delay_level=3, max_reconsume_times=16
        )
        commands.append(_command(RequestCode.CONSUMER_SEND_MSG_BACK, number, header))
    bench.take(commands)


def _command(code: int, opaque: int, header: Any) -> RemotingCommand:
    return RemotingCommand(int(code), opaque, ext_fields=encode_header(header), coding=JSON)


CASES: dict[str, Callable[[Bench], Awaitable[None]]] = {
    "delays": _delays,
    "timers": _timers,
    "timers due at once": _timers_due_at_once,
    "timers that roll": _timers_that_roll,
    "asked": _asked,
    "put back": _put_back,
    "given up": _given_up,
    "commits": _commits,
    "sent back": _sent_back,
}


@pytest.mark.parametrize("case", CASES)
async def test_copies_are_written_in_short_steps(
    autojump_clock: Any, bench: Bench, case: str
) -> None:
    await CASES[case](bench)
    bench.check(asked_for=case in ("commits", "sent back"))


def test_everybody_who_stages_records_is_bounded_by_something() -> None:
    """One more module that stages has to say here what bounds it."""
    assert set(_stagers()) == set(STAGERS)


def _stagers() -> Iterator[str]:
    folder = Path(__file__).parents[2] / "broker"
    call = re.compile(
        r"(store|staging|rules|puts)\.(stage|stage_all|stage_batch|put|put_again|write_staged)\("
    )
    for path in sorted(folder.rglob("*.py")):
        if call.search(path.read_text()):
            yield str(path.relative_to(folder))
