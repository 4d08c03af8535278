"""What a start has read again, and what the next one would: a line in the log, and figures."""

from __future__ import annotations

import logging
import re
import urllib.request
from pathlib import Path

import pytest
import trio

import trimq
from tests.trimq.wiring.recovery import CASES
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message


def killed(root: Path) -> int:
    """A store that was left without a checkpoint; where its log ends."""
    store = MessageStore(StoreConfig(root=root), lambda: 1_700_000_000_000)
    store.open()
    for _ in range(100):
        store.put(Message("T", 0, bytes(10_000)))
    store.abandon()
    return store.max_physical_offset


def _scrape(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics") as answer:
        return str(answer.read().decode())


async def test_said_at_the_start_and_in_the_metrics(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    end = killed(tmp_path)
    with caplog.at_level(logging.INFO, logger="trimq.server"):
        async with trimq.serve(tmp_path, settings={"metricsListen": "127.0.0.1:0"}) as server:
            assert server.metrics_addr is not None
            text = await trio.to_thread.run_sync(_scrape, server.metrics_addr)
    said = r"read again 1\.0 MiB in \d+ ms from position 0 because of consume queues"
    assert re.search(said, caplog.text)
    size = re.search(
        r'^trimq_start_reread_bytes\{who="consume queues"\} (\S+)$', text, re.MULTILINE
    )
    assert size is not None
    assert float(size[1]) == end
    assert re.search(r'^trimq_start_reread_seconds\{who="consume queues"\} \d', text, re.MULTILINE)
    said_by = set(re.findall(r'^trimq_recovery_bytes\{who="([^"]+)"\} ', text, re.MULTILINE))
    assert said_by == set(CASES)
