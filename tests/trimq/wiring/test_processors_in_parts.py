"""Every processor is in one part, and lies in the folder that has the part's name."""

import importlib
import pkgutil
from collections import Counter
from typing import Any

import pytest

import trimq.processors
from docs.request_codes import broker_and_namesrv
from trimq.processors.consume.refuse_pulls import RefusePulls
from trimq.processors.produce.refuse_sends import RefuseSends
from trimq.processors.transactions.refuse_ends import RefuseEnds
from trimq.remoting.contract import Processor
from trimq.wiring.part import Part

Kind = type[Processor[Any]]
# In the place of others on a broker with brokerRole=SLAVE.
ON_SLAVES = {RefuseSends, RefusePulls, RefuseEnds}


def found() -> set[Kind]:
    """Every class below processors/ that answers a code."""
    classes: set[Kind] = set()
    for module in pkgutil.walk_packages(trimq.processors.__path__, "trimq.processors."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, type) and issubclass(one, Processor) and one.codes:
                classes.add(one)
    return classes


def placed() -> list[tuple[str, Part]]:
    """Every part, and where its processors belong."""
    broker, namesrv = broker_and_namesrv()
    return [
        *((f"trimq.processors.{part.name}", part) for part in broker),
        *((f"trimq.processors.namesrv.{part.name}", part) for part in namesrv),
    ]


def kinds(part: Part) -> list[Kind]:
    return [type(one) for one in (*part.processors, *part.main_port_only)]


def test_every_processor_is_in_one_part() -> None:
    used = Counter(kind for _, part in placed() for kind in kinds(part))
    assert set(used) == found() - ON_SLAVES
    assert set(used.values()) == {1}


@pytest.mark.parametrize(("folder", "part"), [pytest.param(*one, id=one[0]) for one in placed()])
def test_it_lies_in_the_folder_of_its_part(folder: str, part: Part) -> None:
    assert {kind.__module__.rpartition(".")[0] for kind in kinds(part)} <= {folder}
