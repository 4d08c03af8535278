"""A client of the 5.x protocol in the hand of a test: Google's gRPC with the messages of the proxy."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import grpc

from tests.patience import until
from trimq.proxy.endpoint import SERVICE
from trimq.proxy.protos import definition_pb2 as protos
from trimq.proxy.protos import service_pb2 as calls

_OPTIONS: Final = [
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
    # Each has a connection of its own, as clients in processes of their own have.
    ("grpc.use_local_subchannel_pool", 1),
]


class Caller:
    """One client. Calls raise grpc.RpcError when nobody answers."""

    def __init__(self, address: str, client_id: str) -> None:
        self._channel = grpc.insecure_channel(address, options=_OPTIONS)
        self._fields = [
            ("x-mq-client-id", client_id),
            ("x-mq-language", "PYTHON"),
            ("x-mq-client-version", "5.1.0"),
            ("x-mq-protocol", "v2"),
        ]

    def ask(self, name: str, request: Any, answer: type[Any], seconds: float = 3) -> Any:
        """One question, one answer."""
        call = self._channel.unary_unary(
            SERVICE + name,
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        return call(request, metadata=self._fields, timeout=seconds)

    def receive(self, request: calls.ReceiveMessageRequest, seconds: float) -> list[protos.Message]:
        """Messages, none when none came."""
        call = self._channel.unary_stream(
            f"{SERVICE}ReceiveMessage",
            request_serializer=calls.ReceiveMessageRequest.SerializeToString,
            response_deserializer=calls.ReceiveMessageResponse.FromString,
        )
        answers = call(request, metadata=self._fields, timeout=seconds)
        return [answer.message for answer in answers if answer.WhichOneof("content") == "message"]

    def talk(self, commands: Iterator[calls.TelemetryCommand]) -> Any:
        """What the proxy says, until it ends."""
        call = self._channel.stream_stream(
            f"{SERVICE}Telemetry",
            request_serializer=calls.TelemetryCommand.SerializeToString,
            response_deserializer=calls.TelemetryCommand.FromString,
        )
        return call(commands, metadata=self._fields)

    def close(self) -> None:
        self._channel.close()


class Talk:
    """Tells the proxy who the client is, again whenever the stream has ended, and hands on what it asks."""

    def __init__(
        self,
        caller: Caller,
        settings: protos.Settings,
        asked: Callable[[calls.TelemetryCommand], None] = lambda command: None,
    ) -> None:
        self._caller = caller
        self._settings = settings
        self._asked = asked
        self._known = threading.Event()
        self._stopped = threading.Event()
        self._end = queue.Queue[None]()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def wait_known(self) -> None:
        """Until the proxy has answered to the settings."""
        until(self._known.is_set, "the proxy knows the client", 60)

    def stop(self) -> None:
        self._stopped.set()
        self._end.put(None)
        self._thread.join()

    def _commands(self) -> Iterator[calls.TelemetryCommand]:
        yield calls.TelemetryCommand(settings=self._settings)
        self._end.get()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                for command in self._caller.talk(self._commands()):
                    if command.WhichOneof("command") == "settings":
                        self._known.set()
                    else:
                        self._asked(command)
            except grpc.RpcError:
                # The proxy is away.
                self._known.clear()
            # The stream's own thread waits for what to say next.
            self._end.put(None)
            self._stopped.wait(0.1)
            self._end = queue.Queue[None]()
