"""The store as it was before: `store/snapshot`, `store/restore`, `store/reset`.

Each closes the broker in order, changes its files, and opens a broker again on the same ports (trimq/hand/renewing.py).
So all that a broker knows is that of its files then: topics, groups, offsets, messages, timers, half messages, and what
was popped; and nothing of before is left, such as connected consumers, locks, held pulls and figures. The server's
clock goes on, and what a NameServer was told by others than this broker stays.

Producers go on at once. A consumer that pulls knows by itself how far it was, and does not look again at offsets that
it has had: whoever wants it to see what is sent after a restore or a reset stops it before, and starts it after.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any, Final

import trio

from trimq.hand.looks import files
from trimq.hand.looks.answers import Renewed
from trimq.hand.looks.names import nearest
from trimq.hand.operation import HandError, Nothing, Operation, Words

if TYPE_CHECKING:
    from trimq.hand.hand import Hand

SNAPSHOTS: Final = "snapshots"
# What does not belong to the store's state.
_STAYS: Final = (SNAPSHOTS, "lock", "abort")
# A name with a comma is none that can be asked for.
_GONE: Final = ",gone-"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class SnapshotWords(Words):
    name: str | None = None


class RestoreWords(Words):
    name: str


def operations(hand: Hand) -> list[Operation[Any]]:
    return [
        Operation(
            "store/snapshot",
            SnapshotWords,
            partial(_snapshot, hand),
            "Keep the store as it is now, by a name that is answered; one of the same name is replaced. The broker"
            " starts anew: clients connect again by themselves.",
        ),
        Operation(
            "store/restore",
            RestoreWords,
            partial(_restore, hand),
            "The store is as it was at a snapshot: topics, groups, offsets, messages, timers, half messages, what was"
            " popped. The clock is not set back. The broker starts anew: stop consumers before, as each knows by itself"
            " how far it was.",
        ),
        Operation(
            "store/reset",
            Nothing,
            partial(_reset, hand),
            "Nothing is left but snapshots: a store as on the first day, no fault, and the machine's time. The broker"
            " starts anew: stop consumers before, as each knows by itself how far it was.",
        ),
    ]


async def _snapshot(hand: Hand, words: SnapshotWords) -> Renewed:
    root = _root(hand)
    name = _free(root) if words.name is None else words.name
    if not _NAME.fullmatch(name):
        raise HandError(f"a snapshot is named by letters, digits, _, - and dots, not {name!r}")
    gone = _gone(root)
    done = await _renewed(hand, name, partial(_take, root, root / SNAPSHOTS / name, gone))
    trio.lowlevel.spawn_system_task(_delete, gone)
    return done


async def _restore(hand: Hand, words: RestoreWords) -> Renewed:
    root = _root(hand)
    known = _names(root)
    if words.name not in known:
        raise HandError(f"there is no snapshot {words.name}: {nearest(words.name, known)}")
    gone = _gone(root)
    change = partial(files.bring_back, root / SNAPSHOTS / words.name, root, gone, _STAYS)
    done = await _renewed(hand, words.name, change)
    trio.lowlevel.spawn_system_task(_delete, gone)
    return done


async def _reset(hand: Hand, _: Nothing) -> Renewed:
    root = _root(hand)
    gone = _gone(root)

    def forget() -> None:
        hand.clock.begin_anew()
        for one in hand.on_reset:
            one()

    await hand.faults.clear(Nothing())
    done = await _renewed(hand, "", partial(files.move_away, root, gone, _STAYS), forget)
    trio.lowlevel.spawn_system_task(_delete, gone)
    return done


async def _renewed(
    hand: Hand, name: str, change: Callable[[], None], then: Callable[[], None] = lambda: None
) -> Renewed:
    if hand.renew is None:
        raise HandError("the broker has not started yet: try again when it is ready")
    if hand.faults.disk_fault is not None:
        raise HandError("the disk fails, and nothing can be put on it: faults/mend_disk first")
    began = perf_counter()
    try:
        await hand.renew(change, then)
    except OSError as error:
        raise HandError(f"the store's files could not be changed: {error}") from error
    return Renewed(name=name, took_millis=round((perf_counter() - began) * 1000, 1))


async def _delete(gone: Path) -> None:
    await trio.to_thread.run_sync(files.delete, gone)


def _root(hand: Hand) -> Path:
    """The folder of all that is stored. HandError when some of it is elsewhere."""
    config = hand.context.plan.store
    root = config.root.resolve()
    for folder in (*config.commit_logs, *config.read_only_commit_logs):
        if not folder.resolve().is_relative_to(root):
            raise HandError(
                f"a part of the store is not in its folder {root}: storePathCommitLog names {folder}"
            )
    return root


def _names(root: Path) -> list[str]:
    folder = root / SNAPSHOTS
    found = [one.name for one in folder.iterdir()] if folder.is_dir() else []
    return [name for name in found if _NAME.fullmatch(name)]


def _free(root: Path) -> str:
    known, number = _names(root), 1
    while f"s{number}" in known:
        number += 1
    return f"s{number}"


def _take(root: Path, target: Path, gone: Path) -> None:
    # One that is not whole is never restored.
    beside = target.with_name(f"{target.name},new")
    if beside.exists():
        shutil.rmtree(beside)
    files.keep(root, beside, _STAYS)
    if target.exists():
        target.rename(gone)
    beside.rename(target)


def _gone(root: Path) -> Path:
    """A new folder's name for what is deleted once the broker is there again."""
    return root / SNAPSHOTS / f"{_GONE}{time_ns()}"
