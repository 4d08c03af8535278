"""One stage for most tests of mqadmin: its servers, tools and clients take half a minute to begin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from compat_tests.comparing.records import FOLDER, Records
from compat_tests.mqadmin.recorded import forget_unused
from compat_tests.mqadmin.replay import in_utc
from compat_tests.mqadmin.stage import AdminStage
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import builds


@pytest.fixture(scope="session")
def records(request: pytest.FixtureRequest) -> Iterator[Records]:
    option = request.config.getoption
    made = Records(live=option("--live"), writing=option("--record"), only=option("--recorded"))
    # The servers and tools of a recording are started in it, too.
    with in_utc() if made.writing else nullcontext():
        yield made
    made.write()
    if made.writing:
        forget_unused(FOLDER)


@pytest.fixture(scope="session")
def stage(
    launch: Launcher, records: Records, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AdminStage]:
    folder = tmp_path_factory.mktemp("mqadmin")
    made = AdminStage(launch, folder, builds()["pure"], recording=records.writing)
    yield made
    made.close()
