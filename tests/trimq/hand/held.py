"""A server in this process that is in the hand of a test, and what is asked of the hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from trimq.hand.hand import Hand
from trimq.serving.server import RunningServer, open_server
from trimq.settings.options import ServerOptions


@asynccontextmanager
async def held(
    store: Path, settings: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[Hand, RunningServer]]:
    hand = Hand()
    options = ServerOptions(
        store=store, listen="127.0.0.1:0", namesrv_listen="127.0.0.1:0", settings=settings or {}
    )
    async with open_server(options, hand=hand) as server:
        yield hand, server


async def asked(hand: Hand, path: str, **words: Any) -> Any:
    """The answer as whoever asks over HTTP decodes it. HandError."""
    operation = hand.operations[path]
    answer = await operation.do(msgspec.convert(words, operation.words))
    return msgspec.json.decode(msgspec.json.encode(answer))
