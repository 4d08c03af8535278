"""Consumers of a group that pops in order, some of which share their attempts."""

from __future__ import annotations

import random
import threading
import time
from typing import Final

from tests.popping.batches import Held
from tests.popping.clients import INVISIBLE, ORDERED_GROUP, QUEUES, TOPIC, Consumer, now_millis
from tests.popping.journal import Refused
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pop import PopMessageRequestHeader

_NEW: Final = 0.15
_LAST: Final = 0.25


class Attempts:
    """What consumers that share it call their pops: by a new name, by that of the last one, or by the one before.

    They pop one after the other, each in a millisecond of its own: a later answer is later in the journal, too, and
    handles of one attempt can be told from those of its next try.
    """

    def __init__(self, name: str) -> None:
        self.lock = threading.Lock()
        self._name = name
        self._number = 1
        self._answered = 0

    def answered(self) -> None:
        """The pop that was drawn for; what comes next has another time."""
        self._answered = now_millis()

    def draw(self, chance: random.Random) -> str:
        act = chance.random()
        if act < _NEW:
            self._number += 1
        number = self._number - (_NEW <= act < _LAST)
        while now_millis() <= self._answered:
            time.sleep(0.0005)
        return f"{self._name}-{number}"


class OrderedConsumer(Consumer):
    """Each of its pops is an attempt of its own."""

    group = ORDERED_GROUP
    pauses = (0.1, 0.3)
    _pops = 0

    def pop(self) -> list[Held]:
        self._pops += 1
        header = self._ordered(f"{self.name}-{self._pops}")
        return self._held(self.ask(RequestCode.POP_MESSAGE, header), self._plain)

    def _ordered(self, attempt: str) -> PopMessageRequestHeader:
        return PopMessageRequestHeader(
            consumer_group=self.group,
            topic=TOPIC,
            queue_id=self._chance.randrange(QUEUES),
            max_msg_nums=self.size(1, 4),
            invisible_time=INVISIBLE,
            poll_time=self.patience(150),
            born_time=now_millis(),
            init_mode=0,
            exp_type="TAG",
            exp="*",
            order=True,
            attempt_id=attempt,
        )


class SharingConsumer(OrderedConsumer):
    """Its attempts are also those of another one."""

    pauses = (0.0, 0.02)
    attempts = Attempts("nobody's")

    def pop(self) -> list[Held]:
        with self.attempts.lock:
            header = self._ordered(attempt := self.attempts.draw(self._chance))
            answer = self.ask(RequestCode.POP_MESSAGE, header)
            self.attempts.answered()
            if answer.code != ResponseCode.SUCCESS:
                place = f"{TOPIC}/{header.queue_id}"
                asked = header.born_time
                refused = Refused(self.group, place, attempt, asked, now_millis())
                self._journal.note(refused)
            return self._held(answer, self._plain, attempt)
