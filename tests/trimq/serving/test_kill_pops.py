"""A whole server under pops, acknowledgements and changed times, killed with -9 at any moment.

Every message that was answered is handed out; none again before its time, and none that was acknowledged in time.
"""

import random
import subprocess
import threading
import time
from base64 import b64encode
from collections import Counter
from pathlib import Path

import pytest

from tests.trimq.serving.killed import Server
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopMessageRequestHeader,
)
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.codec.names import pop_retry_topic
from trimq.codec.pop.handle import parse_handle
from trimq.codec.records.fields import size_at
from trimq.codec.records.properties import format_properties, parse_properties
from trimq.codec.records.record import Record, parse_record
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import PeerGone, RemotingError

ROUNDS = 3
TOPIC, GROUP, QUEUES = "Pops", "G", 2
INVISIBLE = 2500
SETTINGS = {
    "brokerName": "broker-a",
    "mappedFileSizeCommitLog": 512 * 1024,
    "reviveInterval": 200,
}
# An answer that came so long before the message's time counts.
IN_TIME = 300
# Nothing comes any more: all times are up, with what the broker waits for late acknowledgements.
QUIET = 7.0
PATIENCE = 90.0


def now_millis() -> int:
    return time.time_ns() // 1_000_000


class Ledger:
    """What was answered, by message."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.sent: set[str] = set()
        # Not before this time again; and whether never again.
        self._hidden: dict[str, int] = {}
        self._done: set[str] = set()
        self.wrong: list[str] = []
        self.counts: Counter[str] = Counter()

    def popped(self, key: str, pop_time: int, until: int) -> None:
        with self._lock:
            self.counts["popped"] += 1
            if key in self._done:
                self.wrong.append(f"{key} was acknowledged, and popped at {pop_time}")
            hidden = self._hidden.get(key, 0)
            if pop_time < hidden:
                self.wrong.append(f"{key} was hidden until {hidden}, and popped at {pop_time}")
            self.counts["again"] += key in self._hidden
            self._hidden[key] = until

    def hide_maybe(self, key: str) -> None:
        """A change that was asked for; without an answer either time counts."""
        with self._lock:
            self._hidden[key] = 0

    def hide(self, key: str, until: int) -> None:
        with self._lock:
            self._hidden[key] = until
            self.counts["changed"] += 1

    def acknowledged(self, keys: list[str]) -> None:
        with self._lock:
            self._done.update(keys)
            self.counts["acknowledged"] += len(keys)

    @property
    def missing(self) -> set[str]:
        return self.sent - set(self._hidden)


class Popped:
    """A message with its handle."""

    def __init__(self, record: Record, answer: RemotingCommand) -> None:
        fields = answer.ext_fields
        self.key = record.body.decode()
        self.queue_id = record.queue_id
        self.offset = record.queue_offset
        self.handle = parse_properties(record.properties).get("POP_CK", "")
        if not self.handle:
            starts = dict(
                (part.split(" ")[1], part.split(" ")[2])
                for part in fields["startOffsetInfo"].split(";")
                if part.startswith("0 ")
            )
            self.handle = (
                f"{starts[str(self.queue_id)]} {fields['popTime']} {fields['invisibleTime']}"
                f" {fields['reviveQid']} 0 broker-a {self.queue_id} {self.offset}"
            )
        known = parse_handle(self.handle)
        self.topic = TOPIC if known.retry == "0" else pop_retry_topic(TOPIC, GROUP)
        self.pop_time = known.pop_time
        self.due = known.due


class Client(threading.Thread):
    """Does one thing after the other until the server is gone."""

    def __init__(self, addr: str, name: str, seed: int, ledger: Ledger) -> None:
        super().__init__()
        self._client = BlockingClient(addr, timeout=60)
        self._name = name
        self._chance = random.Random(seed)
        self._ledger = ledger
        self.failed = ""

    def run(self) -> None:
        try:
            while True:
                self.step()
        except (PeerGone, RemotingError):
            pass
        except AssertionError as error:
            self.failed = repr(error)
        finally:
            self.close()

    def close(self) -> None:
        self._client.close()

    def step(self) -> None:
        raise NotImplementedError


class Producer(Client):
    sent = 0

    def step(self) -> None:
        key = f"{self._name}-{self.sent:05d}"
        self.sent += 1
        header = SendMessageRequestHeaderV2(
            producer_group="P",
            topic=TOPIC,
            default_topic="TBW102",
            default_topic_queue_nums=QUEUES,
            queue_id=self._chance.randrange(QUEUES),
            sys_flag=0,
            born_timestamp=1,
            flag=0,
            properties=format_properties({"UNIQ_KEY": key}).decode(),
        )
        answer = self._client.request(RequestCode.SEND_MESSAGE_V2, header, key.encode())
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
        self._ledger.sent.add(key)
        time.sleep(0.002)


class Consumer(Client):
    takes_all = False
    last = time.monotonic()

    def step(self) -> None:
        popped = self.pop()
        if popped:
            self.last = time.monotonic()
        self._chance.shuffle(popped)
        rest = popped
        while rest:
            act = self._chance.random()
            if self.takes_all or act < 0.4:
                self.ack(rest.pop())
            elif act < 0.5:
                self.change(rest.pop())
            elif act < 0.7:
                self.ack_together(rest)
                rest = []
            else:
                rest.pop()

    def pop(self) -> list[Popped]:
        header = PopMessageRequestHeader(
            consumer_group=GROUP,
            topic=TOPIC,
            queue_id=-1,
            max_msg_nums=self._chance.choice((1, 4, 16)),
            invisible_time=INVISIBLE,
            poll_time=500,
            born_time=now_millis(),
            init_mode=0,
            exp_type="TAG",
            exp="*",
        )
        answer = self._client.request(RequestCode.POP_MESSAGE, header)
        allowed = (ResponseCode.SUCCESS, ResponseCode.POLLING_TIMEOUT, ResponseCode.TOPIC_NOT_EXIST)
        assert answer.code in allowed, (answer.code, answer.remark)
        data, at, found = bytes(answer.body), 0, []
        while at < len(data):
            size = size_at(data[at : at + 4])
            one = Popped(parse_record(data[at : at + size]), answer)
            self._ledger.popped(one.key, one.pop_time, one.due)
            found.append(one)
            at += size
        return found

    def ack(self, one: Popped) -> None:
        header = AckMessageRequestHeader(
            consumer_group=GROUP,
            topic=one.topic,
            queue_id=one.queue_id,
            extra_info=one.handle,
            offset=one.offset,
        )
        answer = self._client.request(RequestCode.ACK_MESSAGE, header)
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
        self._note_acknowledged([one])

    def ack_together(self, some: list[Popped]) -> None:
        entries = []
        for one in some:
            known = parse_handle(one.handle)
            bit = one.offset - known.first
            entry = BatchAck(
                b=_bits(bit),
                c=GROUP,
                it=known.invisible,
                pt=known.pop_time,
                q=one.queue_id,
                r=known.retry,
                rq=known.revive_queue,
                so=known.first,
                t=TOPIC,
            )
            entries.append(entry)
        body = encode_body(BatchAckMessageRequestBody(acks=entries, broker_name="broker-a"))
        answer = self._client.request(RequestCode.BATCH_ACK_MESSAGE, None, body)
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
        self._note_acknowledged(some)

    def change(self, one: Popped) -> None:
        if now_millis() > one.due - IN_TIME:
            return
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group=GROUP,
            topic=one.topic,
            queue_id=one.queue_id,
            extra_info=one.handle,
            offset=one.offset,
            invisible_time=self._chance.choice((100, 1500, 4000)),
        )
        self._ledger.hide_maybe(one.key)
        answer = self._client.request(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header)
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
        fields = answer.ext_fields
        until = int(fields["popTime"]) + int(fields["invisibleTime"])
        if now_millis() < one.due - IN_TIME:
            self._ledger.hide(one.key, until)

    def _note_acknowledged(self, some: list[Popped]) -> None:
        now = now_millis()
        self._ledger.acknowledged([one.key for one in some if now < one.due - IN_TIME])


def _bits(bit: int) -> str:
    return b64encode((1 << bit).to_bytes(bit // 8 + 1, "little")).decode()


def started(folder: Path) -> Server:
    server = Server(folder / "store", folder / "server.log", SETTINGS)
    server.wait_ready()
    return server


def drain(server: Server, ledger: Ledger) -> None:
    """Take what there is until nothing has come for long."""
    consumer = Consumer(server.broker_addr, "last", 1, ledger)
    consumer.takes_all = True
    deadline = time.monotonic() + PATIENCE
    consumer.last = time.monotonic()
    try:
        while time.monotonic() - consumer.last < QUIET:
            assert time.monotonic() < deadline, "there is always more"
            consumer.step()
    finally:
        consumer.close()


def test_kill_9_under_pops(tmp_path: Path, times: int) -> None:
    seed = random.randrange(1 << 30) if times > 1 else 1
    chance = random.Random(seed)
    ledger = Ledger()
    log = tmp_path / "server.log"
    server: Server | None = None
    try:
        for number in range(ROUNDS * times):
            server = started(tmp_path)
            addr = server.broker_addr
            clients: list[Client] = [
                Producer(addr, f"{number:05d}", chance.randrange(1 << 30), ledger),
                Consumer(addr, "a", chance.randrange(1 << 30), ledger),
                Consumer(addr, "b", chance.randrange(1 << 30), ledger),
            ]
            for client in clients:
                client.start()
            with pytest.raises(subprocess.TimeoutExpired):
                server.process.wait(chance.choice((0.3, 1.0, 2.7, 3.9, 5.3)))
            server.kill()
            ledger.counts["kills"] += 1
            for client in clients:
                client.join()
                assert not client.failed, client.failed
            # Or so long that checkpoints and what acknowledges them are due when it starts again.
            if number % 3 == 1:
                time.sleep(INVISIBLE / 1000 + 3)
        server = started(tmp_path)
        drain(server, ledger)
        server.kill()
        assert not ledger.wrong, (len(ledger.wrong), ledger.wrong[:5])
        assert not ledger.missing, (len(ledger.missing), sorted(ledger.missing)[:5])
    except BaseException as error:
        error.add_note(f"seed {seed}; the server said:\n{log.read_text()[-3000:]}")
        if server is not None:
            server.kill()
        raise
    print(f"kill -9 under pops, seed {seed}:", len(ledger.sent), "sent,", dict(ledger.counts))
