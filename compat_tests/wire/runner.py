"""Plays cases against one server, several at a time: each has its own names and connections."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from compat_tests.wire.asks import ask
from compat_tests.wire.case import Case
from compat_tests.wire.stage import Place, Stage

AT_ONCE: Final = 8
PUT_KV_CONFIG, DELETE_KV_CONFIG = 100, 102


def play(case: Case, place: Place) -> dict[str, Any]:
    """The outcome of one case; an exception of the driver is part of it."""
    error = None
    with Stage(place, case.name) as stage:
        try:
            case.play(stage)
        except Exception as failure:
            where = traceback.extract_tb(failure.__traceback__)[-1].name
            error = f"{type(failure).__name__} in {where}: {failure}"
        return {"scenario": case.name, "outcome": stage.recorded, "error": error}


def make_order_settings(place: Place) -> None:
    """Put an order setting and take it away: from then on their table is there, but empty.

    Every reply to a registration holds that table, and a server may have been played on before.
    """
    where = {"namespace": "ORDER_TOPIC_CONFIG", "key": "nothing"}
    with Stage(place, "order settings") as stage:
        stage.must(ask(PUT_KV_CONFIG, {**where, "value": "nothing:1"}), "namesrv")
        stage.must(ask(DELETE_KV_CONFIG, where), "namesrv")


def play_all(cases: Iterable[Case], place: Place) -> dict[str, dict[str, Any]]:
    """Outcomes by case name."""
    chosen = list(cases)
    make_order_settings(place)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        together = [case for case in chosen if not case.alone]
        outcomes = list(pool.map(lambda case: play(case, place), together))
    outcomes += [play(case, place) for case in chosen if case.alone]
    return {outcome["scenario"]: outcome for outcome in outcomes}
