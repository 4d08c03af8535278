"""What projects that test against TriMQ get: settings, messages, logs in pytest's report."""

import subprocess
import sys
from pathlib import Path

import pytest

from trimq.settings.parsing import SettingsError
from trimq.testing import running_server

PROJECT = """
import pytest

@pytest.fixture(scope="session")
def rocketmq_settings():
    return {"autoCreateTopicEnable": True, "defaultTopicQueueNums": 2}

def test_orders(rocketmq_server):
    rocketmq_server.send("Orders", b"one", tags="paid", keys="k1")
    rocketmq_server.send("Orders", "two")
    found = rocketmq_server.messages("Orders")
    assert [message.body for message in found] == [b"one", b"two"]
    assert (found[0].tags, found[0].keys) == ("paid", "k1")
    assert rocketmq_server.messages("NoSuchTopic") == []

def test_that_fails(fresh_rocketmq_server):
    fresh_rocketmq_server.send("Broken", b"x")
    assert not fresh_rocketmq_server.messages("Broken")
"""

WITH_GRPC = """
import socket

import pytest

@pytest.fixture(scope="session")
def rocketmq_grpc():
    return True

def test_orders(rocketmq_server, fresh_rocketmq_server):
    endpoints = {rocketmq_server.grpc_endpoint, fresh_rocketmq_server.grpc_endpoint}
    assert len(endpoints) == 2
    for endpoint in endpoints:
        host, port = endpoint.split(":")
        socket.create_connection((host, int(port))).close()
"""


def test_a_project_sends_reads_and_sees_the_log(tmp_path: Path) -> None:
    (tmp_path / "test_project.py").write_text(PROJECT)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_project.py"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "topic created: topic=Broken read=2 write=2" in done.stdout


def test_a_project_has_the_endpoint_of_the_5_x_clients(tmp_path: Path) -> None:
    (tmp_path / "test_project.py").write_text(WITH_GRPC)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_project.py"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_values_may_be_numbers_and_booleans() -> None:
    with running_server(settings={"autoCreateTopicEnable": False, "flushDiskType": "SYNC_FLUSH"}):
        pass


def test_a_misspelt_setting_is_an_error() -> None:
    with (
        pytest.raises(SettingsError, match="did you mean 'autoCreateTopicEnable'"),
        running_server(settings={"autoCreateTopicEnabled": False}),
    ):
        pass
