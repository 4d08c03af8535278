"""What is logged of servers that cannot be reached."""

from __future__ import annotations

import logging

import pytest

from trimq.proxy.losses import Losses

NAMESRV, BROKER = "127.0.0.1:9876", "127.0.0.1:10911"


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [f"{record.levelname} {record.getMessage()}" for record in caplog.records]
    caplog.clear()
    return found


@pytest.fixture
def losses(caplog: pytest.LogCaptureFixture) -> Losses:
    caplog.set_level(logging.INFO, "trimq.proxy")
    return Losses([NAMESRV])


def test_each_loss_of_a_name_server_is_said_once(
    losses: Losses, caplog: pytest.LogCaptureFixture
) -> None:
    lost = f"WARNING NameServer lost, trying again: namesrv={NAMESRV} reason=refused"
    for _ in range(2):
        for _ in range(5):
            losses.lost(NAMESRV, "refused")
        assert losses.is_lost(NAMESRV)
        # One that hangs takes connections all the same.
        losses.connected(NAMESRV)
        assert losses.is_lost(NAMESRV)
        losses.found(NAMESRV)
        losses.found(NAMESRV)
        assert not losses.is_lost(NAMESRV)
        assert said(caplog) == [lost, f"INFO NameServer found: namesrv={NAMESRV}"]


def test_a_broker_that_comes_and_goes_is_said_seldom(
    losses: Losses, caplog: pytest.LogCaptureFixture
) -> None:
    losses.connected(BROKER)
    assert said(caplog) == []
    for _ in range(10):
        losses.lost(BROKER, "refused")
        losses.lost(BROKER, "refused")
        losses.connected(BROKER)
    lost, found = said(caplog)
    assert lost.startswith(
        f"WARNING broker lost, trying again: broker={BROKER} reason=refused times="
    )
    assert found == f"INFO broker found: broker={BROKER}"


def test_so_many_are_remembered(losses: Losses) -> None:
    for port in range(1, 1002):
        losses.lost(f"10.0.0.1:{port}", "refused")
    assert not losses.is_lost("10.0.0.1:1")
    assert losses.is_lost("10.0.0.1:2")
    assert losses.is_lost("10.0.0.1:1001")
