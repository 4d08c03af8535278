"""Telemetry: a client says what it is, is told its settings, and answers questions (ClientActivity)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import trio

from trimq.proxy.checks import check_group, check_topic
from trimq.proxy.client_stream import ClientStream
from trimq.proxy.clients import Client, Clients
from trimq.proxy.endpoint import check_caller, refused
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.methods import Gone, Out
from trimq.proxy.grpc.statuses import GrpcError, GrpcStatus
from trimq.proxy.protos.definition_pb2 import Code, Settings
from trimq.proxy.protos.service_pb2 import TelemetryCommand
from trimq.proxy.questions.asking import Asking
from trimq.proxy.registration import Registration
from trimq.proxy.settings import SettingsMerger
from trimq.proxy.statuses import OK, ProxyError, status_of


class Telemetry:
    def __init__(
        self,
        clients: Clients,
        merger: SettingsMerger,
        registration: Registration,
        asking: Asking,
    ) -> None:
        self._clients = clients
        self._merger = merger
        self._registration = registration
        self._asking = asking

    async def __call__(self, caller: Caller, commands: AsyncIterator[Any], out: Out) -> None:
        with trio.CancelScope() as talking:
            await self._talk(caller, commands, ClientStream(out, talking.cancel))
        if talking.cancelled_caught:
            raise GrpcError(GrpcStatus.UNAVAILABLE, "what is sent is not read")

    async def _talk(self, caller: Caller, commands: AsyncIterator[Any], out: ClientStream) -> None:
        client: Client | None = None
        is_torn_off = False
        try:
            async for command in commands:
                try:
                    check_caller(caller)
                except ProxyError as error:
                    status = status_of(error)
                    refused("Telemetry", caller, status)
                    await out.send(TelemetryCommand(status=status))
                    return
                kind = command.WhichOneof("command")
                if kind == "settings":
                    client = await self._settings(caller, command.settings, out)
                elif kind in {"thread_stack_trace", "verify_message_result"}:
                    self._asking.answered(getattr(command, kind).nonce, command)
        except GrpcError as failure:
            refused("Telemetry", caller, failure)
            raise
        except ProxyError as error:
            refused("Telemetry", caller, status_of(error))
            is_theirs = Code.BAD_REQUEST <= error.code < Code.INTERNAL_ERROR
            raise GrpcError(
                GrpcStatus.INVALID_ARGUMENT if is_theirs else GrpcStatus.INTERNAL,
                f"process client telemetryCommand failed. {error.text}",
            ) from error
        except (trio.Cancelled, Gone):
            is_torn_off = True
            raise
        finally:
            if client is not None:
                self._clients.stream_ended(client, out, is_torn_off)

    async def _settings(self, caller: Caller, settings: Settings, out: ClientStream) -> Client:
        kind = settings.WhichOneof("pub_sub")
        if kind == "publishing":
            for topic in settings.publishing.topics:
                check_topic(topic)
        elif kind == "subscription":
            group = check_group(settings.subscription.group)
            await self._registration.check(
                group, settings.client_type, settings.subscription.subscriptions
            )
        else:
            raise GrpcError(
                GrpcStatus.INVALID_ARGUMENT,
                "there is no publishing or subscription data in settings",
            )
        client = self._clients.heard_of(caller.client_id, caller.remote_addr)
        client.language = caller.field("x-mq-language")
        client.version = caller.field("x-mq-client-version")
        client.stream = out
        self._clients.set_settings(client, self._merger.kept(settings))
        merged = await self._merger.merged(settings if client.settings is None else client.settings)
        await out.send(TelemetryCommand(status=OK, settings=merged))
        return client
