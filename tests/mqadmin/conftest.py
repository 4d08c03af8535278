"""A server that the tests of a module share."""

from collections.abc import Iterator

import pytest

from trimq.testing import TestServer, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with running_server(settings={"brokerName": "broker-a"}) as started:
        yield started
