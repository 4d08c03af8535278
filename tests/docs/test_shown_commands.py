"""The commands that a page shows, one after the other beside a running server: each ends well.

Names and addresses are those of the pages: the server's broker is `broker-a`, its store is `data`, and where a page
says port 9876 or 10911 its own ports are asked.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from tests.docs.commands import Command
from tests.docs.pages import ROOT
from tests.docs.test_commands import OURS, SHOWN
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.settings.parsing import parse_assignments
from trimq.testing import TestServer, running_server

TOPICS: Final = ("MyTopic", "Copy", "T1", "%DLQ%my-group")
GROUPS: Final = ("my-group", "billing")
SETTINGS: Final = {"brokerName": "broker-a", "enableLmq": True, "enableMultiDispatch": True}
# Pages whose commands are played as a whole, one with the other.
WHOLE: Final = {
    "docs/clients5.md": "compat_tests/proxy/test_clients_page.py",
    "docs/migrate.md": "compat_tests/replication/test_migrate.py",
    "docs/proxy.md": "compat_tests/scenarios/test_proxy_page.py",
}
# Commands that do not end, or wait for long, or need more than TriMQ: by what they begin with.
LONG: Final = {
    "mqadmin drainBroker -b broker-a": "tests/mqadmin/test_drain_broker.py",
    "mqadmin elasticTopic scale": "tests/mqadmin/test_elastic_show.py",
    # To an offset that the topic here does not have.
    "mqadmin resetOffset -g my-group -t MyTopic -q 3 --to 1500": "tests/mqadmin/test_offsets.py",
    # The broker is then announced where it is not.
    "mqadmin updateBrokerConfig -b localhost:10911 -k": "tests/trimq/serving/test_announced.py",
    "trimq offsets report": "compat_tests/reports/test_offset_report.py",
    "trimq server": "tests/trimq/commands/test_cli.py",
    "trimq spark package": "compat_tests/spark/test_standalone.py",
}
ENDLESS: Final = "tests/mqadmin/test_tail.py"


def played_elsewhere(command: Command) -> str | None:
    """The test that plays it; None: it is played here."""
    if command.page in WHOLE:
        return WHOLE[command.page]
    typed = " ".join(command.words).replace("-n 10.0.0.1:9876 ", "")
    if typed.startswith("mqadmin tail") and "-f" in command.words:
        return ENDLESS
    if "--dry-run" in command.words:
        return None
    return next((test for start, test in LONG.items() if typed.startswith(start)), None)


HERE: Final = [one for one in SHOWN if one.program in OURS and played_elsewhere(one) is None]
PAGES: Final = list(dict.fromkeys(command.page for command in HERE))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestServer]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "order.json").write_text('{"id": 17}')
    (tmp_path / "other.bin").write_bytes(b"\0\1")
    with running_server("data", SETTINGS) as started:
        monkeypatch.setenv("NAMESRV_ADDR", started.namesrv_addr)
        with BlockingAdminClient(started.namesrv_addr) as admin:
            fill(admin, started.broker_addr)
        yield started


def fill(admin: BlockingAdminClient, addr: str) -> None:
    """Topics with a message, groups that have read it. `Orders` is made by the commands."""
    for topic in TOPICS:
        admin.put_topic(addr, TopicConfig(topic_name=topic, read_queue_nums=4, write_queue_nums=4))
        admin.send(NewMessage(topic=topic, body=b"hello", keys="k7"), "broker-a", 0)
    queue = MessageQueue(broker_name="broker-a", queue_id=0, topic="MyTopic")
    for group in GROUPS:
        admin.put_group(addr, SubscriptionGroupConfig(group_name=group))
        admin.put_topic(addr, TopicConfig(topic_name=f"%RETRY%{group}", read_queue_nums=1))
        admin.commit_offset(addr, group, queue, 1)
    light = {"INNER_MULTI_DISPATCH": "%LMQ%a"}
    admin.send(NewMessage(topic="Copy", body=b"light", properties=light), "broker-a", 0)


def play(command: Command, server: TestServer, given: str) -> Result:
    """`given` is what the command before it on the same line has printed."""
    words = [re.sub(r"[\w.]+:9876\b", server.namesrv_addr, word) for word in command.arguments]
    words = [re.sub(r"[\w.]+:10911\b", server.broker_addr, word) for word in words]
    return CliRunner().invoke(OURS[command.program], words, input=given)


def is_well(command: Command, result: Result) -> bool:
    """`trimq inspect` ends with 2 where nothing is what was asked for."""
    found_nothing = command.words[:2] == ("trimq", "inspect") and result.exit_code == 2
    return result.exit_code == 0 or (found_nothing and "Usage" not in result.output)


def ends_well(command: Command, server: TestServer) -> bool:
    """And nothing is still to be written: a check of files that are being written may find anything."""
    result = play(command, server, "")
    return is_well(command, result) and "entries that recovery writes" not in result.output


@pytest.mark.parametrize("page", PAGES)
def test_they_end_well(page: str, server: TestServer) -> None:
    before, printed = 0, ""
    failed: list[str] = []
    for command in (one for one in SHOWN if one.page == page):
        given = printed if command.line == before else ""
        before, printed = command.line, ""
        if command.program == "echo":
            printed = " ".join(command.arguments) + "\n"
        elif command in HERE:
            if command.words[0] == "trimq" and command.words[1] in ("check", "inspect"):
                # Files of what was sent just now are written in a moment.
                until(partial(ends_well, command, server), "the store's files say it")
            result = play(command, server, given)
            printed = result.stdout
            if not is_well(command, result):
                failed.append(f"{command}: {result.exit_code} {result.output} {result.exception}")
    assert not failed


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_the_certificate_that_a_page_makes_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    programs = [command.program for command in SHOWN]
    at = programs.index("openssl")
    subprocess.run(SHOWN[at].words, check=True, capture_output=True)
    words = SHOWN[at + 1].arguments
    settings = parse_assignments(word for flag, word in pairwise(words) if flag == "--set")
    assert settings
    with running_server(tmp_path / "data", settings) as started:
        asked = ["-n", started.namesrv_addr, "topicList", "--tls-ca", "server.pem"]
        result = CliRunner().invoke(OURS["mqadmin"], asked)
    assert result.exit_code == 0, result.output


def test_what_is_left_out_is_played_by_a_test_that_names_it() -> None:
    for test in {*WHOLE.values(), *LONG.values(), ENDLESS}:
        assert (ROOT / test).is_file()
    for page, test in WHOLE.items():
        assert Path(page).name in (ROOT / test).read_text("utf-8")
    assert len(HERE) > 50
