"""The hand from Python: plain blocking calls, over HTTP as from any other language."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

from trimq.hand.operation import HandError

# Real time that an answer may take: what is due has half of it to get done, and a wait has its own limit.
_PATIENCE_SECONDS: Final = 60.0


class HandAway(HandError):
    """Nobody answers: the server has ended, or was not started with --hand."""


class HandClient:
    """Calls operations of one server. No connection is kept."""

    def __init__(self, address: str) -> None:
        """`address`: HOST:PORT, as the ready line says it."""
        self.address = address

    def call(self, path: str, **words: Any) -> Any:
        """The decoded answer. HandError with the server's own words; HandAway when it does not answer."""
        host, _, port = self.address.rpartition(":")
        limit = words.get("timeout")
        patience = _PATIENCE_SECONDS + (limit if isinstance(limit, (int, float)) else 0)
        connection = HTTPConnection(host.strip("[]"), int(port), timeout=patience)
        try:
            body = json.dumps({key: value for key, value in words.items() if value is not None})
            connection.request("POST", f"/{path}", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read() or b"null")
        except (OSError, HTTPException) as error:
            raise HandAway(f"no hand answers at {self.address}: {error}") from error
        finally:
            connection.close()
        if response.status != 200:
            raise HandError(str(answer.get("error", answer)))
        return answer
