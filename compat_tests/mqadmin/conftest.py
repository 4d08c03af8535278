"""One stage for most tests of mqadmin: its servers, tools and clients take half a minute to begin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.mqadmin.stage import AdminStage
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import builds


@pytest.fixture(scope="session")
def stage(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdminStage]:
    made = AdminStage(launch, tmp_path_factory.mktemp("mqadmin"), builds()["pure"])
    yield made
    made.close()
