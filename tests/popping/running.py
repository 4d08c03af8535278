"""A POP run: clients of a plain, an ordered and a lite group on a broker that is killed with -9 at any moment."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable
from typing import Final, Protocol

from tests.popping import journal as notes
from tests.popping.clients import (
    GROUP,
    INVISIBLE,
    LITE_GROUP,
    LITE_TOPIC,
    ORDERED_GROUP,
    TOPIC,
    Client,
    Consumer,
    LiteConsumer,
    Producer,
    now_millis,
    prepare,
)
from tests.popping.ordered import Attempts, OrderedConsumer, SharingConsumer

# What a broker needs for lite topics.
SETTINGS: Final = {"enableLmq": True, "enableMultiDispatch": True}
# Nothing comes any more: all times are up, with what the broker waits for late acknowledgements.
QUIET: Final = 7.0
PATIENCE: Final = 180.0
LIVES: Final = (0.3, 0.5, 0.9, 1.5, 2.7)
# Every so many kills the broker is away until all times are up.
LONG_AWAY: Final = 8


class Broker(Protocol):
    def start(self) -> str:
        """The address; on the store of the one before."""

    def kill(self) -> None:
        """With -9; it is gone then."""


def journal() -> notes.Journal:
    return notes.Journal(
        {
            GROUP: notes.Reader(notes.PLAIN, TOPIC),
            ORDERED_GROUP: notes.Reader(notes.ORDERED, TOPIC),
            LITE_GROUP: notes.Reader(notes.LITE, LITE_TOPIC),
        }
    )


def play(
    broker: Broker,
    kills: int,
    chance: random.Random,
    lives: Iterable[float] = LIVES,
    least: int = 0,
) -> notes.Journal:
    """Kills it so often, lets all groups have everything then, and kills it once more.

    `least`: so many acknowledgements a life has at least, even if it takes longer.
    """
    # Of all lives: an attempt goes on with the broker that comes after.
    log, attempts = journal(), Attempts("shared")
    for number in range(kills):
        addr = broker.start()
        if number == 0:
            prepare(addr)
        clients = _clients(addr, f"{number:04d}", chance, log, attempts)
        for client in clients:
            client.start()
        _live(chance.choice(tuple(lives)), log, least)
        broker.kill()
        for client in clients:
            client.join()
            assert not client.failed, client.failed
        log.note(notes.Killed(now_millis()))
        # Or so long that checkpoints and what acknowledges them are due when it starts again.
        if number % LONG_AWAY == 1:
            time.sleep(INVISIBLE / 1000 + 3)
    _drain(broker.start(), log)
    broker.kill()
    return log


def _live(seconds: float, log: notes.Journal, least: int) -> None:
    wanted = _acknowledged(log) + least
    time.sleep(seconds)
    deadline = time.monotonic() + PATIENCE
    while _acknowledged(log) < wanted and time.monotonic() < deadline:
        time.sleep(0.1)


def _acknowledged(log: notes.Journal) -> int:
    return sum(isinstance(event, notes.Acked) and event.counts for event in list(log.events))


def _clients(
    addr: str, name: str, chance: random.Random, log: notes.Journal, attempts: Attempts
) -> list[Client]:
    kinds: dict[str, type[Client]] = {
        "": Producer,
        "-a": Consumer,
        "-b": Consumer,
        "-o": SharingConsumer,
        "-p": SharingConsumer,
        "-q": OrderedConsumer,
        "-l": LiteConsumer,
        "-m": LiteConsumer,
    }
    seeds = random.Random(chance.randrange(1 << 30))
    made = [kind(addr, name + end, seeds.randrange(1 << 30), log) for end, kind in kinds.items()]
    for client in made:
        if isinstance(client, SharingConsumer):
            client.attempts = attempts
    return made


def _drain(addr: str, log: notes.Journal) -> None:
    """Take what there is until nothing has come for long."""
    readers = [
        kind(addr, f"last-{kind.group}", 1, log)
        for kind in (Consumer, OrderedConsumer, LiteConsumer)
    ]
    deadline = time.monotonic() + PATIENCE
    try:
        for reader in readers:
            reader.takes_all = True
            reader.last = time.monotonic()
            if isinstance(reader, LiteConsumer):
                reader.subscribe()
        while time.monotonic() - max(reader.last for reader in readers) < QUIET:
            assert time.monotonic() < deadline, "there is always more"
            for reader in readers:
                reader.step()
    finally:
        for reader in readers:
            reader.close()


def summary(log: notes.Journal) -> str:
    """How much a run did."""
    counts: Counter[str] = Counter(log.did)
    blocks: dict[tuple[str, str], tuple[str, int]] = {}
    for event in log.events:
        match event:
            case notes.Sent():
                counts["sent"] += 1
            case notes.Killed():
                counts["kills"] += 1
            case notes.Popped():
                counts[f"popped by {event.group}"] += 1
                if event.attempt:
                    place = (event.group, event.place)
                    attempt, batch = blocks.get(place, ("", 0))
                    goes_on = attempt == event.attempt and batch != event.batch
                    counts["attempts that went on"] += goes_on
                    blocks[place] = (event.attempt, event.batch)
            case notes.Refused():
                counts["attempts that got nothing"] += 1
            case notes.Changed(suspend=True) if event.until:
                counts[f"suspended by {event.group}"] += 1
            case notes.Acked(counts=True):
                counts["acknowledged in time"] += 1
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
