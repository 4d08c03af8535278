"""Declaring a setting once: name, type, default, limits, and everything else about it.

A setting is a field of a frozen dataclass, with its Declaration in the metadata; its RocketMQ key is
the field's name in camelCase unless the declaration names another. trimq/settings/parsing.py reads texts by
these declarations, trimq/settings/running.py changes values by them while a server runs, and
docs/settings.md is generated from them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

# The key of a field's metadata.
DECLARED: Final = "setting"


@dataclass(frozen=True, slots=True)
class Promise:
    """Which texts of a setting promise something: a test of them, and how a page says it."""

    holds: Callable[[str], bool]
    says: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Values that promise what TriMQ does not do yet, and what to do instead, as one sentence."""

    promise: Promise
    instead: str

    def of(self, key: str, text: str) -> str | None:
        """The sentence for this value; None for one that promises nothing."""
        text = text.strip()
        return f"{key}={text[:100]}: {self.instead}" if self.promise.holds(text) else None


# Whatever is not `true` is false, as Java reads it.
WHEN_TRUE: Final = Promise(lambda text: text.lower() == "true", "true")
WHEN_FALSE: Final = Promise(lambda text: text.lower() != "true", "false")
WHEN_GIVEN: Final = Promise(bool, "any")


def when_one_of(*promising: str) -> Promise:
    return Promise(lambda text: text in promising, ", ".join(promising))


def unless(*harmless: str) -> Promise:
    """Every value but these promises something; an empty one does not."""
    return Promise(lambda text: text not in ("", *harmless), f"all but {', '.join(harmless)}")


def when_above(most: int) -> Promise:
    """A greater number promises something; a text that is not a number promises nothing."""

    def holds(text: str) -> bool:
        digits = text.removeprefix("+")
        return digits.isascii() and digits.isdecimal() and int(digits[:20]) > most

    return Promise(holds, f"above {most}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a setting's field does not say by its name, type and default.

    Whole numbers are Java's `int` unless `long`; `at_least` and `at_most` narrow that.
    """

    doc: str
    key: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    choices: tuple[Any, ...] = ()
    # Makes a value from a text, for types other than bool, int, float, str, Path; ValueError says
    # what is wrong. `shown` is then the default's text.
    parse: Callable[[str], Any] | None = None
    shown: str | None = None
    long: bool = False
    # Read each time it is needed: a change at run time takes effect at once.
    live: bool = False
    # Names a file, a directory, an address or a protection: nobody can set it over the network.
    guarded: bool = False
    # What clients are told: a peer on the same host can have another one announced at once. What the server itself
    # uses, as a port that it listens on, stays.
    announced: bool = False
    # Never disclosed, and not logged.
    secret: bool = False
    # RocketMQ does not have it.
    own: bool = False
    refused: Refusal | None = None
    # RocketMQ's default as a text, where ours differs on purpose; `why` gives the reason.
    rocketmq_default: str | None = None
    why: str | None = None


def setting(default: Any, doc: str, **declared: Any) -> Any:
    """A field with its Declaration, whose attributes `declared` names."""
    return field(default=default, metadata={DECLARED: Declaration(doc=doc, **declared)})


def computed_setting(factory: Callable[[], Any], doc: str, **declared: Any) -> Any:
    """A field whose default is only known on the machine."""
    return field(default_factory=factory, metadata={DECLARED: Declaration(doc=doc, **declared)})


def limit(default: int, doc: str, **declared: Any) -> Any:
    """A limit on what peers can make a server keep; set by those who start it, not over the network."""
    return setting(default, f"{doc} 0: no limit.", at_least=0, guarded=True, own=True, **declared)
