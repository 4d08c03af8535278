"""What a collector of offsets asks."""

from collections import Counter
from typing import Any

import pytest

from trimq.codec.codes import RequestCode
from trimq.spark.offsets.snapshot.pace import PacedLink


def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[RequestCode]:
    """How often this process asks each question from here on."""
    counts: Counter[RequestCode] = Counter()
    plain = PacedLink.ask

    async def ask(self: PacedLink, addr: str, code: RequestCode, *more: Any) -> Any:
        counts[code] += 1
        return await plain(self, addr, code, *more)

    monkeypatch.setattr(PacedLink, "ask", ask)
    return counts
