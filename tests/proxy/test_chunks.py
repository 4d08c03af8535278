"""Many questions, so many at a time."""

from __future__ import annotations

import pytest
import trio

from trimq.proxy.chunks import AT_ONCE, each


@pytest.mark.parametrize("count", [0, 1, 2, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE])
async def test_all_are_asked_and_no_more_at_a_time(count, autojump_clock):
    running, most, asked = 0, 0, []

    async def ask(item):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1
        asked.append(item)

    began = trio.current_time()
    await each(range(count), ask)
    assert sorted(asked) == list(range(count))
    assert most == min(count, AT_ONCE)
    assert trio.current_time() - began == pytest.approx(-(-count // AT_ONCE))
