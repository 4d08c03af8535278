"""Which ranges a task reads: several queues each, about as many messages in every task.

A task costs tens of milliseconds whatever it reads, so a task for each of thousands of queues costs
minutes. Too few tasks leave cores idle. Spark does not tell a Python data source how many cores
there are; `minPartitions` can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trimq.spark.planning.ranges import split
from trimq.spark.queues import Range

# What a queue costs beside its messages, in messages: a question and an answer.
_QUESTION: Final = 32
# Up to this many tasks each queue has its own; more are made if each has something to do.
_FEW: Final = 8
_MANY: Final = 32
_WORTH_A_TASK: Final = 4096
# Beyond that many messages in a task there are more tasks, while there are queues.
_LARGE: Final = 50_000


def group(whole: Sequence[Range], least: int | None, most: int | None) -> list[tuple[Range, ...]]:
    """Groups of ranges, one for each task; together they make up the whole.

    `least`: least number of groups, for which long ranges are split; fewer only where there are
    fewer messages. `most`: messages in a group. Ranges of one broker are next to each other.
    """
    total = sum(one.count for one in whole)
    cut = most
    if least is not None and least > len(whole):
        cut = max(total // least, 1)
        cut = cut if most is None else min(cut, most)
    parts = sorted(
        split(whole, cut),
        key=lambda one: (one.addr, one.topic, one.broker_name, one.queue_id, one.start),
    )
    count = max(_useful(total, len(parts)), least or 1)
    return _fill(parts, min(count, len(parts)), most)


def _useful(messages: int, ranges: int) -> int:
    worth = (messages + ranges * _QUESTION) // _WORTH_A_TASK
    return max(_FEW, min(worth, _MANY), messages // _LARGE)


def _fill(parts: Sequence[Range], count: int, most: int | None) -> list[tuple[Range, ...]]:
    """At least `count` groups of about equal weight, in the order of the parts."""
    groups: list[tuple[Range, ...]] = []
    filling: list[Range] = []
    weight = messages = 0
    left = sum(one.count + _QUESTION for one in parts)
    for number, part in enumerate(parts):
        own = part.count + _QUESTION
        # Groups that are still wanted, the one that is filled among them.
        wanted = max(count - len(groups), 1)
        full = wanted > 1 and weight + own / 2 >= left / wanted
        if filling and (
            full
            or len(parts) - number < wanted
            or (most is not None and messages + part.count > most)
        ):
            groups.append(tuple(filling))
            left -= weight
            filling, weight, messages = [], 0, 0
        filling.append(part)
        weight += own
        messages += part.count
    if filling:
        groups.append(tuple(filling))
    return groups
