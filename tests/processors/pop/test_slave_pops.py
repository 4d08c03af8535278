"""A pop of a slave whose queue ends before the group's offset: the master may have what is there."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(("role", "left"), [("ASYNC_MASTER", 2), ("SLAVE", 100)])
async def test_a_slave_leaves_the_group_where_it_is(pops: Any, role: str, left: int) -> None:
    pops.put(b"0", b"1")
    pops.broker.offsets.commit("", "G", "T", 0, 100)
    object.__setattr__(pops.broker.config, "broker_role", role)
    assert (await pops.pop()).code == 210
    assert pops.broker.offsets.query("G", "T", 0) == left
