"""The faults that are asked for: which requests they meet, how often, and what they do then."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from math import inf
from typing import Final, Literal

import msgspec

from trimq.hand.faults.facts import Facts, Side
from trimq.hand.operation import HandError

Does = Literal["fail", "slow", "lose_answer"]
MOST_RULES: Final = 1000


class Match(msgspec.Struct, frozen=True):
    """None is any. In names `*` stands for anything, as in `order-*`."""

    codes: frozenset[int] | None = None
    topic: str | None = None
    group: str | None = None
    client: str | None = None
    side: Side = "broker"

    def fits(self, facts: Facts) -> bool:
        if self.side != facts.side:
            return False
        if self.codes is not None and facts.request.code not in self.codes:
            return False
        return (
            _fits(self.topic, lambda: facts.topics)
            and _fits(self.group, lambda: facts.groups)
            and _fits(self.client, lambda: facts.clients)
        )


def _fits(pattern: str | None, names: Callable[[], frozenset[str]]) -> bool:
    if pattern is None:
        return True
    found = names()
    return pattern in found or any(fnmatchcase(name, pattern) for name in found)


class Often(msgspec.Struct, frozen=True):
    """`times`: None for all until the fault is taken away. The same seed draws the same of the requests."""

    times: int | None = None
    probability: float = 1.0
    seed: int = 0

    def check(self) -> None:
        """HandError."""
        if self.times is not None and self.times < 1:
            raise HandError(
                f"{self.times} times: at least 1, or nothing for all until it is taken away"
            )
        if not 0 < self.probability <= 1:
            raise HandError(f"a probability of {self.probability}: above 0, and at most 1")


class Effect(msgspec.Struct, frozen=True):
    """`code`, `remark`: to fail with. `seconds`: by which an answer is late."""

    does: Does
    code: int = 0
    remark: str | None = None
    seconds: float = 0.0


class Rule:
    """`left`: how often it will still hit. `hits`: how often it has."""

    def __init__(self, number: int, said: str, match: Match, often: Often, effect: Effect) -> None:
        """`said`: which requests, as the test has named them. HandError."""
        often.check()
        self.number = number
        self.said = said
        self.match = match
        self.often = often
        self.effect = effect
        self.left = inf if often.times is None else often.times
        self.hits = 0
        self._random = random.Random(often.seed)

    def hit(self, facts: Facts) -> bool:
        """Whether this request is one of those that it meets; it counts then."""
        if self.left <= 0 or not self.match.fits(facts):
            return False
        probability = self.often.probability
        if probability < 1 and self._random.random() >= probability:
            return False
        self.left -= 1
        self.hits += 1
        return True


class Rules:
    """In the order in which they were asked for."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._number = 0
        # Those that can still hit, by what they do.
        self._live: dict[Does, list[Rule]] = {"fail": [], "slow": [], "lose_answer": []}

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    @property
    def hits(self) -> list[int]:
        """Of each."""
        return [rule.hits for rule in self._rules]

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def add(self, rule: Rule) -> None:
        """HandError when there are too many."""
        if len(self._rules) >= MOST_RULES:
            raise HandError(f"there are {MOST_RULES} faults already: faults/clear takes them away")
        self._rules.append(rule)
        self._live[rule.effect.does].append(rule)

    def remove(self, number: int) -> None:
        """HandError when there is none of that number."""
        found = [one for one in self._rules if one.number == number]
        if not found:
            known = ", ".join(str(one.number) for one in self._rules) or "there is none"
            raise HandError(f"there is no fault {number}: {known}")
        self._rules.remove(found[0])
        self._look()

    def clear(self) -> None:
        self._rules.clear()
        self._look()

    def failing(self, facts: Facts) -> Effect | None:
        """That of the first that lets this request fail."""
        rule = next(self._hitting("fail", facts), None)
        return None if rule is None else rule.effect

    def slower(self, facts: Facts) -> float:
        """By how many seconds its answer is late, by all together."""
        return sum(rule.effect.seconds for rule in self._hitting("slow", facts))

    def lost(self, facts: Facts) -> bool:
        """Whether its answer is lost."""
        return next(self._hitting("lose_answer", facts), None) is not None

    def _hitting(self, does: Does, facts: Facts) -> Iterator[Rule]:
        for rule in tuple(self._live[does]):
            if rule.hit(facts):
                if rule.left <= 0:
                    self._look()
                yield rule

    def _look(self) -> None:
        for does, live in self._live.items():
            live[:] = [rule for rule in self._rules if rule.effect.does == does and rule.left > 0]

    @property
    def touches_answers(self) -> bool:
        """Whether any answer may be late or lost."""
        return bool(self._live["slow"] or self._live["lose_answer"])

    @property
    def touches_requests(self) -> bool:
        return bool(self._live["fail"])
