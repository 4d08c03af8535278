"""A whole server that is killed with -9 while transactions go on; afterwards the ledger has to be exact.

A producer sends half messages, ends some of them (some twice, some one-way), and answers what it is asked when it
knows. The server is killed at any moment: halves stored, ENDs written, put back, asked, given up. Nothing that was
answered is lost, nothing is delivered twice, nobody is asked about what was ended, no question counts twice.
"""

import random
import select
import socket
import time
from collections import Counter
from pathlib import Path
from typing import Final

from tests.conftest import Kills
from tests.patience import PATIENCE
from tests.requests import send_header_v2
from tests.trimq.serving.forge import Forge
from tests.trimq.serving.killed import OFTEN_CHECKPOINTED, Server, encode, pull_all
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import HeartbeatData, ProducerData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import SysFlag
from trimq.codec.frames.command import RESPONSE_BIT, RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.codec.headers.base import encode_header
from trimq.codec.headers.transactions import EndTransactionRequestHeader
from trimq.codec.names import TRANS_CHECK_MAX_TIME_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record, parse_record
from trimq.remoting.clients.blocking import BlockingClient

TOPIC: Final = "Paid"
GROUP: Final = "Payers"
# Halves that may be without an answer at a time.
PIPELINED: Final = 32
# How long a producer goes on after the last kill until everything is decided.
SETTINGS: Final = {
    **OFTEN_CHECKPOINTED,
    "mappedFileSizeCommitLog": 256 * 1024,
    "mappedFileSizeConsumeQueue": 20 * 500,
    "flushConsumerOffsetInterval": 300,
    "transactionTimeOut": 100,
    "transactionCheckInterval": 150,
}
COMMIT, ROLLBACK, UNKNOWN = int(SysFlag.COMMIT), int(SysFlag.ROLLBACK), 0


class Payment:
    """One half message: what its producer wants, and what it has seen."""

    def __init__(self, unique: str, verdict: int, by_itself: bool, unknown: int) -> None:
        self.unique = unique
        self.verdict = verdict
        self.by_itself = by_itself
        # How often it does not know yet when it is asked.
        self.unknown = unknown
        self.stored = False
        self.ended = False
        self.checks = 0


class Payer:
    """The producer: one connection after another, and the ledger of all of them."""

    def __init__(self, chance: random.Random, verdicts: tuple[int, ...]) -> None:
        self._chance = chance
        self._verdicts = verdicts
        self.payments: dict[str, Payment] = {}
        self.counts: Counter[str] = Counter()
        self.sending = True

    def connect(self, addr: str) -> None:
        host, _, port = addr.partition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setblocking(False)
        self._frames = FrameBuffer()
        self._opaque = 0
        self._unsent = b""
        # By opaque: a payment that is sent, or one that is ended.
        self._halves: dict[int, Payment] = {}
        self._ends: dict[int, Payment] = {}
        groups = [ProducerData(group_name=GROUP)]
        beat = encode_body(HeartbeatData(client_id="payer", producer_data_set=groups))
        self._unsent += encode_command(
            RemotingCommand(int(RequestCode.HEART_BEAT), 1_000_000, body=beat)
        )

    def run(self, until: float, enough: int = 1 << 30) -> None:
        """Pay until the moment, or until so many halves were answered in all."""
        while time.monotonic() < until and self.counts["halves"] < enough:
            while self.sending and len(self._halves) < PIPELINED and len(self._unsent) < 1 << 16:
                self._send()
            writing = [self._socket] if self._unsent else []
            readable, writable, _ = select.select([self._socket], writing, [], 0.05)
            if writable:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
            if readable:
                data = self._socket.recv(1 << 18)
                assert data, "the server closed the connection"
                self._frames.feed(data)
                while (frame := self._frames.next_frame()) is not None:
                    self._take(decode_command(frame))

    def close(self) -> None:
        self._socket.close()

    def _send(self) -> None:
        chance = self._chance
        number = len(self.payments)
        payment = Payment(
            f"U{number}",
            chance.choice(self._verdicts),
            chance.random() < 0.6,
            chance.choice((0, 0, 1)),
        )
        self.payments[payment.unique] = payment
        properties = {"TRAN_MSG": "true", "PGROUP": GROUP, "UNIQ_KEY": payment.unique}
        header = send_header_v2(
            TOPIC,
            producer_group=GROUP,
            default_topic_queue_nums=1,
            sys_flag=int(SysFlag.PREPARED),
            born_timestamp=int(time.time() * 1000),
            properties="".join(f"{key}\x01{value}\x02" for key, value in properties.items()),
        )
        self._opaque += 1
        self._halves[self._opaque] = payment
        body = payment.unique.encode() + b"|" + b"x" * chance.choice((0, 300, 2000))
        self._unsent += encode(RequestCode.SEND_MESSAGE_V2, self._opaque, header, body)

    def _take(self, command: RemotingCommand) -> None:
        if not command.flag & RESPONSE_BIT:
            assert command.code == RequestCode.CHECK_TRANSACTION_STATE
            self._asked(command)
        elif command.opaque in self._halves:
            payment = self._halves.pop(command.opaque)
            assert command.code == ResponseCode.SUCCESS, (command.code, command.remark)
            payment.stored = True
            self.counts["halves"] += 1
            if payment.by_itself and payment.verdict != UNKNOWN:
                fields = command.ext_fields or {}
                place = int(fields["queueOffset"]), int(fields["msgId"][-16:], 16)
                for _ in range(self._chance.choice((1, 1, 2))):
                    self._end(payment, place, payment.verdict, checked=False)
        elif command.opaque in self._ends:
            payment = self._ends.pop(command.opaque)
            assert command.code == ResponseCode.SUCCESS, (command.code, command.remark)
            payment.ended = True
            self.counts["ends"] += 1

    def _asked(self, command: RemotingCommand) -> None:
        half: Record = parse_record(bytes(command.body))
        properties = parse_properties(half.properties)
        payment = self.payments[properties["UNIQ_KEY"]]
        checks = int(properties["TRANSACTION_CHECK_TIMES"])
        assert checks > payment.checks, "a question counted twice"
        assert not payment.ended, "asked about what was ended"
        payment.checks = checks
        self.counts["questions"] += 1
        verdict = UNKNOWN if payment.unknown else payment.verdict
        payment.unknown = max(0, payment.unknown - 1)
        self._end(payment, (half.queue_offset, half.physical_offset), verdict, checked=True)

    def _end(self, payment: Payment, place: tuple[int, int], verdict: int, checked: bool) -> None:
        header = EndTransactionRequestHeader(
            producer_group=GROUP,
            tran_state_table_offset=place[0],
            commit_log_offset=place[1],
            commit_or_rollback=verdict,
            from_transaction_check=checked,
            msg_id=payment.unique,
        )
        self._opaque += 1
        oneway = verdict == UNKNOWN or self._chance.random() < 0.3
        if not oneway:
            self._ends[self._opaque] = payment
        command = RemotingCommand(
            int(RequestCode.END_TRANSACTION),
            self._opaque,
            2 if oneway else 0,
            None,
            encode_header(header),
        )
        self._unsent += encode_command(command)


class Ledger:
    """Servers over one store, killed again and again, and what the producer knows."""

    def __init__(
        self, folder: Path, forge: Forge, seed: int, verdicts: tuple[int, ...], most_checks: int
    ) -> None:
        self._folder = folder
        self._forge = forge
        self._chance = random.Random(seed)
        self._most_checks = most_checks
        self.payer = Payer(self._chance, verdicts)

    def kills(self, rounds: int) -> None:
        for _ in range(rounds):
            server = self._start()
            self.payer.connect(server.broker_addr)
            enough = self.payer.counts["halves"] + self._chance.choice((1, 20, 200, 600))
            self.payer.run(time.monotonic() + 30, enough)
            # Into rounds of questions, too; what is sent at full speed all the while is read back in the end.
            self.payer.sending = self._chance.random() < 0.3
            self.payer.run(time.monotonic() + self._chance.uniform(0, 0.4))
            self.payer.sending = True
            server.kill()
            self.payer.close()

    def _start(self) -> Server:
        settings = {**SETTINGS, "transactionCheckMax": self._most_checks}
        server = Server(self._folder / "store", self._folder / "server.log", settings, self._forge)
        server.wait_ready()
        return server

    def settle(self, topic: str, expected: set[str]) -> tuple[list[str], Server]:
        """Without a new half, until what is expected is in the topic; the keys of all that is there."""
        server = self._start()
        self.payer.connect(server.broker_addr)
        self.payer.sending = False
        deadline = time.monotonic() + PATIENCE
        while True:
            self.payer.run(time.monotonic() + 1)
            with BlockingClient(server.broker_addr, timeout=60) as client:
                found = [
                    record.body.decode().partition("|")[0]
                    for record in pull_all(client, (topic, 0))
                ]
            if expected <= set(found) or time.monotonic() > deadline:
                # Once more: something could still come that must not.
                self.payer.run(time.monotonic() + 0.5)
                with BlockingClient(server.broker_addr, timeout=60) as client:
                    return [
                        record.body.decode().partition("|")[0]
                        for record in pull_all(client, (topic, 0))
                    ], server


def noted(error: BaseException, folder: Path, seed: int) -> None:
    log = (folder / "server.log").read_text()
    error.add_note(f"seed {seed}; the server said:\n{log[-3000:]}")


def test_kill_9_under_transactions(tmp_path: Path, kills: Kills, forge: Forge) -> None:
    ledger = Ledger(tmp_path, forge, kills.seed, (COMMIT, COMMIT, ROLLBACK), most_checks=10_000)
    payer = ledger.payer
    try:
        ledger.kills(kills.count)
        promised = {
            one.unique for one in payer.payments.values() if one.stored and one.verdict == COMMIT
        }
        found, server = ledger.settle(TOPIC, promised)
        payer.close()
        server.kill()
        assert promised <= set(found), "lost"
        assert len(found) == len(set(found)), "delivered twice"
        assert all(payer.payments[unique].verdict == COMMIT for unique in found)
    except BaseException as error:
        noted(error, tmp_path, kills.seed)
        raise
    print(
        f"kill -9 under transactions, seed {kills.seed}:",
        dict(payer.counts),
        f"delivered {len(found)}",
    )


def test_kill_9_while_halves_are_given_up(tmp_path: Path, kills: Kills, forge: Forge) -> None:
    ledger = Ledger(tmp_path, forge, kills.seed, (UNKNOWN,), most_checks=2)
    payer = ledger.payer
    try:
        ledger.kills(kills.count)
        stored = {one.unique for one in payer.payments.values() if one.stored}
        found, server = ledger.settle(TRANS_CHECK_MAX_TIME_TOPIC, stored)
        with BlockingClient(server.broker_addr, timeout=60) as client:
            assert not pull_all(client, (TOPIC, 0))
        payer.close()
        server.kill()
        assert stored <= set(found), "lost"
        assert len(found) == len(set(found)), "given up twice"
        assert all(one.checks <= 2 for one in payer.payments.values())
    except BaseException as error:
        noted(error, tmp_path, kills.seed)
        raise
    print(f"kill -9, giving up, seed {kills.seed}:", dict(payer.counts))
