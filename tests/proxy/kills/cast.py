"""Who plays while servers are killed: producers, consumers, and what each has seen."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import grpc

from tests.proxy.kills.caller import Caller, Talk
from trimq.proxy.protos import definition_pb2 as protos
from trimq.proxy.protos import service_pb2 as calls

NORMAL: Final = "Normal"
ORDERED: Final = "Ordered"
HALVES: Final = "Halves"
TOPICS: Final = {NORMAL: "NORMAL", ORDERED: "FIFO", HALVES: "TRANSACTION"}
# Topic: the group that reads it.
GROUPS: Final = {NORMAL: "Readers", ORDERED: "Followers", HALVES: "Deciders"}
MESSAGE_GROUPS: Final = 4
# The shortest that a consumer may ask for.
INVISIBLE_SECONDS: Final = 10
OK: Final = protos.Code.OK


@dataclass
class Journal:
    """Numbers by topic: of an ordered message `group:number`. All is said by several threads.

    `sent`: answered with OK. `committed`, `rolled_back`: what their producer has decided, whoever heard of it.
    `deliveries`: in the order of their coming.
    """

    sent: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    committed: set[str] = field(default_factory=set)
    rolled_back: set[str] = field(default_factory=set)
    deliveries: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    asked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def wanted(self, topic: str) -> set[str]:
        """What has to come."""
        if topic == HALVES:
            return self.sent[topic] & self.committed
        return self.sent[topic]

    def missing(self) -> dict[str, set[str]]:
        """What has not come yet."""
        with self.lock:
            return {
                topic: left
                for topic in TOPICS
                if (left := self.wanted(topic) - set(self.deliveries[topic]))
            }


class Cast:
    """All of them, each in a thread of its own."""

    def __init__(self, address: str, journal: Journal, seed: int) -> None:
        self._address = address
        self._journal = journal
        self._random = random.Random(seed)
        self._sending = threading.Event()
        self._playing = threading.Event()
        self._sending.set()
        self._playing.set()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for play in (self._send_normal, self._send_ordered, self._send_halves):
            self._start(play)
        for topic in TOPICS:
            # One of them asks for renewal, as push consumers do.
            for renews in (False, True):
                self._start(lambda topic=topic, renews=renews: self._consume(topic, renews))

    def stop_sending(self) -> None:
        self._sending.clear()

    def stop(self) -> None:
        self.stop_sending()
        self._playing.clear()
        for thread in self._threads:
            thread.join()

    def _start(self, play: Callable[[], None]) -> None:
        thread = threading.Thread(target=play)
        self._threads.append(thread)
        thread.start()

    def _client(self, name: str) -> Caller:
        return Caller(self._address, f"{name}@{self._random.randrange(1 << 40)}")

    def _send(self, caller: Caller, message: protos.Message) -> calls.SendResultEntry | None:
        """What was said of a send that went well."""
        request = calls.SendMessageRequest(messages=[message])
        try:
            answer = caller.ask("SendMessage", request, calls.SendMessageResponse)
        except grpc.RpcError:
            time.sleep(0.02)
            return None
        if answer.status.code != OK:
            time.sleep(0.02)
            return None
        entry: calls.SendResultEntry = answer.entries[0]
        return entry

    def _send_normal(self) -> None:
        caller, number = self._client("normal"), 0
        while self._sending.is_set():
            number += 1
            if self._send(caller, message_of(NORMAL, str(number))) is not None:
                with self._journal.lock:
                    self._journal.sent[NORMAL].add(str(number))
            time.sleep(0.005)
        caller.close()

    def _send_ordered(self) -> None:
        """Each until it is answered: what is sent twice is the same number, in its place."""
        caller, numbers = self._client("ordered"), [0] * MESSAGE_GROUPS
        while self._sending.is_set():
            for group in range(MESSAGE_GROUPS):
                text = f"{group}:{numbers[group]:06}"
                message = message_of(ORDERED, text)
                message.system_properties.message_group = f"group-{group}"
                while self._sending.is_set():
                    if self._send(caller, message) is not None:
                        with self._journal.lock:
                            self._journal.sent[ORDERED].add(text)
                        numbers[group] += 1
                        break
            time.sleep(0.01)
        caller.close()

    def _send_halves(self) -> None:
        """Every third is left to the question; of the others some are rolled back."""
        caller, number = self._client("halves"), 0
        settings = protos.Settings(client_type=protos.ClientType.PRODUCER)
        settings.publishing.topics.add(name=HALVES)
        talk = Talk(caller, settings, lambda command: self._decide(caller, command))
        talk.wait_known()
        while self._sending.is_set():
            number += 1
            text = str(number)
            with self._journal.lock:
                decided = self._journal.rolled_back if number % 5 == 0 else self._journal.committed
                decided.add(text)
            entry = self._send(caller, message_of(HALVES, text))
            if entry is not None:
                with self._journal.lock:
                    self._journal.sent[HALVES].add(text)
                if number % 3:
                    self._end(caller, text, entry.message_id, entry.transaction_id, False)
            time.sleep(0.02)
        # Questions come until all is decided.
        while self._playing.is_set():
            time.sleep(0.1)
        talk.stop()
        caller.close()

    def _decide(self, caller: Caller, command: calls.TelemetryCommand) -> None:
        if command.WhichOneof("command") != "recover_orphaned_transaction_command":
            return
        asked = command.recover_orphaned_transaction_command
        with self._journal.lock:
            self._journal.asked += 1
        text = asked.message.body.decode()
        message_id = asked.message.system_properties.message_id
        self._end(caller, text, message_id, asked.transaction_id, True)

    def _end(
        self, caller: Caller, text: str, message_id: str, transaction_id: str, asked: bool
    ) -> None:
        request = calls.EndTransactionRequest(
            topic=protos.Resource(name=HALVES),
            message_id=message_id,
            transaction_id=transaction_id,
            resolution=protos.TransactionResolution.ROLLBACK
            if text in self._journal.rolled_back
            else protos.TransactionResolution.COMMIT,
            source=protos.TransactionSource.SOURCE_SERVER_CHECK
            if asked
            else protos.TransactionSource.SOURCE_CLIENT,
        )
        try:
            caller.ask("EndTransaction", request, calls.EndTransactionResponse)
        except grpc.RpcError:
            # The broker will ask.
            return

    def _consume(self, topic: str, renews: bool) -> None:
        caller = self._client(f"consumer-{topic}")
        settings = protos.Settings(
            client_type=protos.ClientType.PUSH_CONSUMER
            if renews
            else protos.ClientType.SIMPLE_CONSUMER
        )
        settings.request_timeout.FromSeconds(3)
        group = GROUPS[topic]
        settings.subscription.group.name = group
        settings.subscription.subscriptions.add(topic=protos.Resource(name=topic))
        talk = Talk(caller, settings)
        talk.wait_known()
        request = calls.ReceiveMessageRequest(
            group=protos.Resource(name=group),
            message_queue=protos.MessageQueue(topic=protos.Resource(name=topic), id=-1),
            batch_size=16,
            auto_renew=renews,
        )
        request.invisible_duration.FromSeconds(INVISIBLE_SECONDS)
        request.long_polling_timeout.FromSeconds(5)
        while self._playing.is_set():
            self._receive(caller, talk, request, topic)
        talk.stop()
        caller.close()

    def _receive(
        self, caller: Caller, talk: Talk, request: calls.ReceiveMessageRequest, topic: str
    ) -> None:
        try:
            messages = caller.receive(request, 9)
        except grpc.RpcError:
            time.sleep(0.05)
            return
        if not messages:
            time.sleep(0.02)
        for message in messages:
            with self._journal.lock:
                self._journal.deliveries[topic].append(message.body.decode())
            self._ack(caller, message, topic)

    def _ack(self, caller: Caller, message: protos.Message, topic: str) -> None:
        request = calls.AckMessageRequest(
            group=protos.Resource(name=GROUPS[topic]), topic=protos.Resource(name=topic)
        )
        system = message.system_properties
        request.entries.add(message_id=system.message_id, receipt_handle=system.receipt_handle)
        try:
            caller.ask("AckMessage", request, calls.AckMessageResponse)
        except grpc.RpcError:
            # It comes again.
            return


def message_of(topic: str, text: str) -> protos.Message:
    """A message whose body says which it is."""
    message = protos.Message(topic=protos.Resource(name=topic), body=text.encode())
    system = message.system_properties
    system.message_id = f"{topic}-{text}"
    kind = {NORMAL: "NORMAL", ORDERED: "FIFO", HALVES: "TRANSACTION"}[topic]
    system.message_type = protos.MessageType.Value(kind)  # type: ignore[assignment]
    system.born_timestamp.GetCurrentTime()
    return message
