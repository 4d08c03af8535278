"""``/healthz`` and ``/readyz`` beside ``/metrics``: for those who restart what hangs, and send nobody where nothing is
ready.

Both are answered by the event loop. So one that hangs gives no answer at all, and whoever asks must take that for "not
healthy"; afterwards ``/healthz`` says for a second how long it stood still.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from trimq.process.loop_turns import LoopTurns

HANGING_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`why`: a sentence for each thing that is wrong. `said`: what there is to say when nothing is."""

    said: str
    why: Sequence[str] = ()
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.why

    @property
    def status(self) -> str:
        return "200 OK" if self.ok else "503 Service Unavailable"

    def text(self) -> str:
        """A sentence a line."""
        return "\n".join(self.why or [f"ok: {self.said}"]) + "\n"

    def json(self) -> str:
        """One object; members may be added."""
        value = {"ok": self.ok, "why": list(self.why), **self.figures}
        return json.dumps(value, ensure_ascii=False) + "\n"


Probe = Callable[[], Awaitable[Verdict]]


def loop_verdict(turns: LoopTurns) -> Verdict:
    """Whether the loop turned all the time in the last second, as far as it can say of itself."""
    longest = turns.longest()
    figures = {"longest_turn_seconds": round(longest.seconds, 6)}
    if longest.seconds <= HANGING_SECONDS:
        said = f"the longest turn of the event loop in the last second took {longest.seconds:.3f} s"
        return Verdict(said, figures=figures)
    until = f"until {longest.ago:.1f} s ago: nobody was answered meanwhile"
    return Verdict(
        "", [f"the event loop stood still for {longest.seconds:.1f} s, {until}"], figures
    )


class Probes:
    """The pages by their paths."""

    def __init__(self, turns: LoopTurns, ready: Probe | None = None) -> None:
        self._turns = turns
        self._ready = ready

    async def verdict(self, path: str) -> Verdict | None:
        """None: there is no such page."""
        if path == "/healthz":
            return loop_verdict(self._turns)
        if path == "/readyz" and self._ready is not None:
            return await self._ready()
        return None


def wants_json(query: str, accept: str) -> bool:
    """`?json`, or a client that names JSON among what it takes."""
    return "json" in query.split("&") or "application/json" in accept.lower()
