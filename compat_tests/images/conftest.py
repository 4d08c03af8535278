"""The image, built once for all tests; where no Docker engine runs they say so and are skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from compat_tests.images.engine import Engine, build_image, removed
from compat_tests.servers.containers import engine_answers, start_engine


@pytest.fixture(scope="session")
def docker_answers() -> None:
    if not engine_answers():
        if os.environ.get("TRIMQ_COMPAT_DOCKER") != "1":
            pytest.skip("no Docker engine answers; TRIMQ_COMPAT_DOCKER=1 starts one, as root")
        start_engine()


@pytest.fixture(scope="session")
def image_size(docker_answers: None) -> str:
    """What building it has said."""
    return build_image()


@pytest.fixture(scope="session")
def whole_engine(image_size: str) -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.close()


@pytest.fixture
def engine(whole_engine: Engine) -> Iterator[Engine]:
    with removed(whole_engine):
        yield whole_engine
