"""What gRPC itself answers, before any call is served: the same as the official proxy, whatever it is asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.proxy.questions import QUESTIONS, Question, asked
from compat_tests.servers.our_proxy import OurProxy
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.proxy import Proxy


@pytest.fixture(scope="module")
def proxies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Where the official one and ours listen, before one TriMQ."""
    home = tmp_path_factory.mktemp("transport")
    server = TrimqServer(home / "trimq").start()
    official = Proxy(home / "official", server.namesrv_addr)
    ours = OurProxy(home / "ours", server.namesrv_addr)
    try:
        official.start()
        ours.start()
        yield official.grpc, ours.grpc
    finally:
        ours.stop()
        official.stop()
        server.stop()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_same_answer(proxies: tuple[str, str], question: Question) -> None:
    official, ours = (asked(address, question) for address in proxies)
    if official.seen(":status") not in (None, "200"):
        # Whether its text gets out before it gives the stream up is chance there.
        assert ours.heads == official.heads
        return
    assert ours == official
