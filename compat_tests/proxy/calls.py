"""Calls by gRPC's own library: what came back, in order, and how the stream ended."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import grpc
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from trimq.proxy.protos import service_pb2 as calls

SERVICE: Final = "/apache.rocketmq.v2.MessagingService/"
# For what comes behind the last answer that is waited for.
SURPLUS_SECONDS: Final = 0.3
_STREAMS: Final = ("ReceiveMessage", "PullMessage")
_MOST: Final = 256 * 1024 * 1024

Metadata = Sequence[tuple[str, str]]
Json = Any


class Caller:
    """One connection to a proxy. Streams of Telemetry stay open until it is closed."""

    def __init__(self, address: str) -> None:
        limits = [
            ("grpc.max_send_message_length", _MOST),
            ("grpc.max_receive_message_length", _MOST),
        ]
        self._channel = grpc.insecure_channel(address, options=limits)
        grpc.channel_ready_future(self._channel).result(timeout=60)

    def close(self) -> None:
        self._channel.close()

    def call(
        self, name: str, requests: Sequence[Message], metadata: Metadata, timeout: float
    ) -> tuple[list[Message], Json]:
        """The answers, and [status, text] of gRPC; `open`: the stream did not end."""
        if name == "Telemetry":
            return self._talk(requests, metadata)
        (request,) = requests
        channel = self._channel
        kind = channel.unary_stream if name in _STREAMS else channel.unary_unary
        answer = _answer_type(name)
        method = kind(
            f"{SERVICE}{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        found: list[Message] = []
        try:
            answered = method(request, metadata=metadata, timeout=timeout)
            if isinstance(answered, Message):
                found.append(answered)
            else:
                found.extend(answered)
        except grpc.RpcError as error:
            return found, _status(error)
        return found, ["OK", ""]

    def _talk(self, requests: Sequence[Message], metadata: Metadata) -> tuple[list[Message], Json]:
        waiting: queue.Queue[Message | None] = queue.Queue()
        for request in requests:
            waiting.put(request)
        asked: Iterator[Message] = iter(waiting.get, None)
        stream = self._channel.stream_stream(
            f"{SERVICE}Telemetry",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=calls.TelemetryCommand.FromString,
        )(asked, metadata=metadata)
        found: list[Message] = []
        ended: list[Json] = []

        def read() -> None:
            try:
                for message in stream:
                    found.append(message)
                ended.append(["OK", ""])
            except grpc.RpcError as error:
                ended.append(_status(error))

        threading.Thread(target=read, daemon=True).start()
        wanted = sum(1 for one in requests if one.WhichOneof("command") == "settings")
        deadline = time.monotonic() + 10
        while not ended and len(found) < wanted and time.monotonic() < deadline:
            time.sleep(0.01)
        surplus = time.monotonic() + SURPLUS_SECONDS
        while not ended and time.monotonic() < surplus:
            time.sleep(0.01)
        return list(found), ended[0] if ended else "open"


def _status(error: Any) -> Json:
    return [error.code().name, error.details()]


def _answer_type(name: str) -> Any:
    return getattr(calls, f"{name}Response")


def request_of(name: str, fields: Json) -> Message:
    """ValueError or TypeError for fields that the message does not have."""
    kind = calls.TelemetryCommand if name == "Telemetry" else getattr(calls, f"{name}Request")
    made: Message = kind(**fields)
    return made


def as_json(message: Message) -> Json:
    """With the names of the protocol; bytes by base64, times and durations as text."""
    return MessageToDict(message, preserving_proto_field_name=True)
