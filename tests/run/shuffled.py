"""A plugin of pytest that plays tests in the order of a seed: `-p tests.run.shuffled --order SEED`.

Files come in another order, and so do the tests of each: what a file sets up is set up once all the same.
"""

from __future__ import annotations

import random
from itertools import groupby

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order", type=int, required=True, help="the seed of the order of tests")


def pytest_report_header(config: pytest.Config) -> str:
    return f"tests in the order of seed {config.getoption('--order')}"


# Last: others put tests in their own order first.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chance = random.Random(config.getoption("--order"))
    files = [list(found) for _, found in groupby(items, key=lambda item: item.path)]
    chance.shuffle(files)
    for found in files:
        chance.shuffle(found)
    items[:] = [item for found in files for item in found]
