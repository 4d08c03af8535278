"""Whether a fault can ever hit: what a test has misspelt, or asks of the wrong server, is said at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from trimq.hand.faults.facts import Side, says_groups, says_topics
from trimq.hand.faults.requests import codes_of
from trimq.hand.faults.rules import Match
from trimq.hand.operation import HandError
from trimq.remoting.contract import Processor

_CALLED: Final[dict[Side, str]] = {"broker": "the broker", "namesrv": "the NameServer"}
_OTHER: Final[dict[Side, Side]] = {"broker": "namesrv", "namesrv": "broker"}


class Asked:
    """What the servers of this process are asked. A broker is opened often, and faults are rare."""

    def __init__(self) -> None:
        self._processors: dict[Side, list[Processor[Any]]] = {}

    def attach(self, side: Side, processors: Iterable[Processor[Any]]) -> None:
        """The broker is the last one to be attached."""
        self._processors[side] = list(processors)

    def check(self, said: str | Sequence[str], match: Match) -> None:
        """`said`: which requests, as the test has named them. HandError for what never hits."""
        for name in ("topic", "group", "client"):
            if getattr(match, name) == "":
                raise HandError(f"the {name} is empty: leave it out for any")
        if "broker" not in self._processors:
            # There is nobody to look at.
            return
        if match.side not in self._processors:
            raise HandError("this server has no NameServer of its own: ask that one's hand")
        for name in [said] if isinstance(said, str) else said:
            codes = codes_of(name)
            fitting = {
                int(code): processor
                for processor in self._processors[match.side]
                for code in processor.codes
                if codes is None or code in codes
            }
            if not fitting:
                raise HandError(self._unserved(name, codes, match.side))
            _check_words(name, fitting, match)

    def _unserved(self, name: str, codes: frozenset[int] | None, side: Side) -> str:
        other = _OTHER[side]
        hint = "no client sends them here, or this server refuses them anyway"
        known = {code for processor in self._processors.get(other, ()) for code in processor.codes}
        if codes is None or codes & known:
            hint = f"{_CALLED[other]} is, say side={other}"
        return f"{_CALLED[side]} is never asked {name}: {hint}"


def _check_words(name: str, fitting: dict[int, Processor[Any]], match: Match) -> None:
    """HandError where none of these requests says what is to be compared."""
    for word, wanted, says in (
        ("topic", match.topic, says_topics),
        ("group", match.group, says_groups),
    ):
        if wanted is None:
            continue
        if not any(says(code, _fields(processor)) for code, processor in fitting.items()):
            raise HandError(
                f"no {word} stands in {name} for {_CALLED[match.side]}, so that fault would never hit: leave"
                f" {word}={wanted} out, or name other requests"
            )


def _fields(processor: Processor[Any]) -> frozenset[str]:
    header = processor.header
    if header is None:
        return frozenset()
    return frozenset(one.encode_name for one in msgspec.structs.fields(header))
