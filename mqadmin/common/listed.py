"""Names separated by commas, and what is done to them: part by part, so that what fails leaves no part half told."""

from collections.abc import Callable, Iterator, Sequence

import click

from trimq.admin.connecting.lists import parts_of
from trimq.mqadmin.failures import FAILURES, Failed
from trimq.mqadmin.framework import Run

# What --help says of lists.
PACE = "Brokers delete ten a second of a list, unless their settings say otherwise."


def names_in(text: str) -> list[str]:
    """Names separated by commas, each once; a click.UsageError when there is none."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise click.UsageError(f"{text!r} names nothing")
    return names


def in_parts(run: Run, names: Sequence[str], act: Callable[[Sequence[str]], bool]) -> bool:
    """`act` deletes some of the names, and says whether that was done everywhere.

    Behind a part that fails no other one is begun, and what is left is said. Returns whether all is done.
    """
    left = [*names]
    try:
        for part in _watched(run, parts_of(names)):
            if not act(part):
                break
            del left[: len(part)]
    except (*FAILURES, KeyboardInterrupt):
        _say_left(run, left, len(names))
        raise
    if left:
        _say_left(run, left, len(names))
    return not left


def _watched(run: Run, parts: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    if len(parts) == 1:
        return iter(parts)
    return run.out.progress(parts, "deleting")


def _say_left(run: Run, left: Sequence[str], count: int) -> None:
    if count > 1:
        run.warn(
            f"not seen done: {','.join(left)}. Some of them may be gone, or go soon, as a broker ends what it has"
            " begun: the same command with these names does the rest"
        )


def refuse_system_topics(run: Run, names: Sequence[str], addrs: Sequence[str]) -> None:
    """Of several names: Failed, before anything is deleted, if one is a topic that a broker keeps for itself."""
    for addr in addrs if len(names) > 1 else ():
        kept = run.admin.system_topics(addr) & {*names}
        if kept:
            raise Failed(f"{addr} keeps {', '.join(sorted(kept))} for itself: nothing was deleted")
