"""Telemetry: a client says what it is, is told its settings, and answers questions (ClientActivity)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from trimq.proxy.checks import check_group, check_topic
from trimq.proxy.clients import Client, Clients
from trimq.proxy.endpoint import check_caller
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.methods import Out
from trimq.proxy.grpc.statuses import GrpcError, GrpcStatus
from trimq.proxy.protos.definition_pb2 import Code, Settings
from trimq.proxy.protos.service_pb2 import TelemetryCommand
from trimq.proxy.settings import SettingsMerger
from trimq.proxy.statuses import OK, ProxyError, status_of


class Telemetry:
    def __init__(self, clients: Clients, merger: SettingsMerger) -> None:
        self._clients = clients
        self._merger = merger

    async def __call__(self, caller: Caller, commands: AsyncIterator[Any], out: Out) -> None:
        client: Client | None = None
        try:
            async for command in commands:
                try:
                    check_caller(caller)
                except ProxyError as error:
                    await out.send(TelemetryCommand(status=status_of(error)))
                    return
                if command.WhichOneof("command") == "settings":
                    client = await self._settings(caller, command.settings, out)
        except ProxyError as error:
            is_theirs = Code.BAD_REQUEST <= error.code < Code.INTERNAL_ERROR
            raise GrpcError(
                GrpcStatus.INVALID_ARGUMENT if is_theirs else GrpcStatus.INTERNAL,
                f"process client telemetryCommand failed. {error.text}",
            ) from error
        finally:
            if client is not None and client.stream is out:
                client.stream = None

    async def _settings(self, caller: Caller, settings: Settings, out: Out) -> Client:
        kind = settings.WhichOneof("pub_sub")
        if kind == "publishing":
            for topic in settings.publishing.topics:
                check_topic(topic)
        elif kind == "subscription":
            check_group(settings.subscription.group)
        else:
            raise GrpcError(
                GrpcStatus.INVALID_ARGUMENT,
                "there is no publishing or subscription data in settings",
            )
        client = self._clients.heard_of(caller.client_id, caller.remote_addr)
        client.language = caller.field("x-mq-language")
        client.version = caller.field("x-mq-client-version")
        client.settings = self._merger.kept(settings)
        client.stream = out
        merged = await self._merger.merged(client.settings)
        await out.send(TelemetryCommand(status=OK, settings=merged))
        return client
