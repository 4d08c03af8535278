"""All faults of one server: the rules for requests, who is cut off, and the disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Final

import trio

from trimq.codec.codes import ResponseCode
from trimq.hand.durations import moment, seconds
from trimq.hand.faults.answers import BrokersAnswers, NameServersAnswers, response_code
from trimq.hand.faults.disk import FailingDisk
from trimq.hand.faults.facts import ClientIds, Side, ids_of
from trimq.hand.faults.layer import FaultLayer
from trimq.hand.faults.possible import Asked
from trimq.hand.faults.requests import ALL, FAMILIES, ROUTES, codes_of
from trimq.hand.faults.rules import Effect, Match, Often, Rule, Rules
from trimq.hand.faults.ways import Ways
from trimq.hand.faults.words import (
    Away,
    Back,
    Drop,
    Fail,
    FailNext,
    FullDisk,
    LoseAnswer,
    Numbered,
    Shown,
    Slow,
    Split,
    State,
    Whose,
)
from trimq.hand.operation import HandError, Nothing
from trimq.remoting.contract import Peer, Processor
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server

if TYPE_CHECKING:
    from trimq.wiring.broker import Broker
    from trimq.wiring.context import Context

Until = Callable[[], Awaitable[object]]
_NOT_STARTED: Final = "the broker has not started yet: try again when it is ready"


class Faults:
    """Made before the server; `attach` when a broker is built, and again when another one takes its place."""

    def __init__(self) -> None:
        self.rules = Rules()
        self._asked = Asked()
        self._context: Context | None = None
        self._ways: Ways | None = None
        self._disk: FailingDisk | None = None
        self._name_server: Server | None = None
        self.client_ids: ClientIds = _nobody

    def attach(self, context: Context, broker: Broker) -> None:
        clients = broker.common.readers.clients
        self.client_ids = client_ids = ids_of(clients.consumers, clients.producers)
        sending = broker.common.messaging.sends.sending
        answers = BrokersAnswers(context, lambda: dict(sending.told))
        layer = FaultLayer(self.rules, "broker", answers, client_ids)
        for dispatcher in (broker.main, broker.vip):
            dispatcher.put_before(layer.around, layer.around_end)
        self._asked.attach("broker", [*broker.parts.processors, *broker.parts.vip_processors])
        self._context = context
        self._ways = Ways(context.identity.name, broker, self._name_server, client_ids)
        if self._disk is None:
            plan = context.plan.store
            self._disk = FailingDisk([plan.root, *plan.commit_logs, plan.consume_queue])

    def attach_name_server(
        self, dispatcher: Dispatcher, server: Server, processors: Sequence[Processor[Any]]
    ) -> None:
        """Of the same process, and before the broker."""
        self._asked.attach("namesrv", processors)
        layer = FaultLayer(self.rules, "namesrv", NameServersAnswers(), _nobody)
        dispatcher.put_before(layer.around, layer.around_end)
        self._name_server = server

    # --- requests

    async def fail_next(self, words: FailNext) -> list[Shown]:
        """HandError when nothing is counted."""
        code = response_code(words.code)
        wanted: list[tuple[str | Sequence[str], int]] = [
            (family, count) for family in FAMILIES if (count := getattr(words, family)) is not None
        ]
        if words.next is not None:
            wanted.append((words.requests, words.next))
        elif words.requests != ALL:
            raise HandError(f"how many of {words.requests}? say it with next=1")
        if not wanted:
            raise HandError(f"how many of what? say it with {'=1, '.join(FAMILIES)}=1 or next=1")
        effect = Effect("fail", code, words.remark)
        rules = [self._rule(what, words, count, effect) for what, count in wanted]
        return self._added(rules)

    async def fail(self, words: Fail) -> Shown:
        effect = Effect("fail", response_code(words.code), words.remark)
        return self._one(words, words.requests, words.next, effect)

    async def slow(self, words: Slow) -> Shown:
        effect = Effect("slow", seconds=seconds(words.by))
        if not effect.seconds:
            raise HandError(f"slower by {words.by}: above 0")
        return self._one(words, words.requests, words.next, effect)

    async def lose_answer(self, words: LoseAnswer) -> Shown:
        return self._one(words, words.requests, words.next, Effect("lose_answer"))

    async def listed(self, _: Nothing) -> list[Shown]:
        return [_shown(rule) for rule in self.rules]

    async def remove(self, words: Numbered) -> None:
        self.rules.remove(words.number)

    # --- ways

    async def drop_connections(self, words: Drop) -> int:
        """How many."""
        return self._there.drop(words.side, words.client)

    async def away(self, words: Away) -> None:
        """Returns at once. HandError for a time that is over."""
        self._there.leave(words.side, self._until(words))

    async def back(self, words: Back) -> None:
        await self._there.back(words.side)

    async def split(self, words: Split) -> list[str]:
        return await self._there.split(words.broker, words.namesrv)

    async def heal(self, _: Nothing) -> None:
        await self._there.heal()

    def _until(self, words: Away) -> Until:
        if words.during is not None and words.until is not None:
            raise HandError("away during so much real time, or until a time of the server's clock")
        if words.during is not None:
            return partial(trio.sleep, seconds(words.during))
        if words.until is None:
            return trio.sleep_forever
        assert self._context is not None
        clock = self._context.clock
        target = moment(words.until)
        if target <= clock.millis():
            raise HandError(f"{words.until} is over by the server's clock")

        async def until() -> None:
            # Time may have been moved before this begins.
            await clock.sleep(max(target - clock.millis(), 0) / 1000)

        return until

    # --- the disk

    async def full_disk(self, words: FullDisk) -> None:
        if words.room < 0:
            raise HandError(f"room for {words.room} bytes: 0 or more")
        self._store_disk.fill(words.room)
        self._look_at_disk()

    async def read_only(self, _: Nothing) -> None:
        self._store_disk.protect()
        self._look_at_disk()

    async def mend_disk(self, _: Nothing) -> None:
        self._store_disk.mend()
        self._look_at_disk()

    def _look_at_disk(self) -> None:
        """At once, and not when the broker looks the next time, every ten seconds."""
        assert self._context is not None
        cleaning = self._context.store.cleaning
        cleaning.heed(cleaning.measure())

    # --- all

    async def state(self, nothing: Nothing) -> State:
        return State(
            self._there.away,
            self._there.cut_off,
            self._store_disk.fault,
            await self.listed(nothing),
        )

    async def clear(self, nothing: Nothing) -> None:
        """Nothing is wrong any more when it returns."""
        self.rules.clear()
        if self._store_disk.fault is not None:
            await self.mend_disk(nothing)
        for side in self._there.away:
            await self._there.back(side)
        await self._there.heal()

    @property
    def disk_fault(self) -> str | None:
        """ "full", "read_only", or None."""
        return None if self._disk is None else self._disk.fault

    @property
    def _there(self) -> Ways:
        if self._ways is None:
            raise HandError(_NOT_STARTED)
        return self._ways

    @property
    def _store_disk(self) -> FailingDisk:
        if self._disk is None:
            raise HandError(_NOT_STARTED)
        return self._disk

    def _rule(
        self, what: str | Sequence[str], whose: Whose, times: int | None, effect: Effect
    ) -> Rule:
        """HandError."""
        codes = codes_of(what)
        side: Side = whose.side or ("namesrv" if codes == ROUTES else "broker")
        match = Match(codes, whose.topic, whose.group, whose.client, side)
        self._asked.check(what, match)
        return Rule(
            self.rules.next_number(),
            what if isinstance(what, str) else ", ".join(what),
            match,
            Often(times, whose.probability, whose.seed),
            effect,
        )

    def _one(
        self, whose: Whose, what: str | Sequence[str], times: int | None, effect: Effect
    ) -> Shown:
        return self._added([self._rule(what, whose, times, effect)])[0]

    def _added(self, rules: Sequence[Rule]) -> list[Shown]:
        for rule in rules:
            self.rules.add(rule)
        return [_shown(rule) for rule in rules]


def _nobody(_: Peer) -> tuple[str, ...]:
    return ()


def _shown(rule: Rule) -> Shown:
    match, often, effect = rule.match, rule.often, rule.effect
    return Shown(
        rule.number,
        effect.does,
        rule.said,
        rule.hits,
        None if rule.left == inf else int(rule.left),
        match.topic,
        match.group,
        match.client,
        match.side,
        often.probability,
        often.seed,
        ResponseCode(effect.code).name if effect.does == "fail" else None,
        effect.remark,
        effect.seconds if effect.does == "slow" else None,
    )
