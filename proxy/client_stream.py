"""A client's stream for settings and questions: many may send, one message after the other."""

from __future__ import annotations

from collections.abc import Callable

import trio

from trimq.proxy.grpc.methods import Gone, Message, Out


class ClientStream:
    """`on_broken` is called when only a part of a message may have left: what followed would be read as its rest."""

    def __init__(self, out: Out, on_broken: Callable[[], object]) -> None:
        self._out = out
        self._on_broken = on_broken
        self._turn = trio.Lock()
        self._is_broken = False

    async def send(self, message: Message) -> None:
        """Gone when it never will. Who is cancelled breaks it."""
        async with self._turn:
            if self._is_broken:
                raise Gone
            try:
                await self._out.send(message)
            except BaseException:
                self._is_broken = True
                self._on_broken()
                raise
