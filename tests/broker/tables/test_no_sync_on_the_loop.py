"""Creating a topic or a group waits for no disk: a sync takes seconds once it is busy with messages."""

import os
from pathlib import Path

import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.topics.table import Topics


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int) -> None:
        raise AssertionError("a sync on the event loop")

    monkeypatch.setattr(os, "fdatasync", refuse)
    monkeypatch.setattr(os, "fsync", refuse)


def test_the_first_group_of_a_new_store(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    groups = SubscriptionGroups(BrokerConfig(), tmp_path, Clock())
    groups.load()
    request.getfixturevalue("no_sync")
    assert groups.find("New") is not None
    assert "New" in (tmp_path / "subscriptionGroup.json").read_text()


def test_the_first_topic_of_a_new_store(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    topics = Topics(BrokerConfig(), tmp_path, Clock())
    topics.load()
    request.getfixturevalue("no_sync")
    assert topics.create_in_send("New", "TBW102", "10.0.0.1:1", 4, 0) is not None
    assert "New" in (tmp_path / "topics.json").read_text()
