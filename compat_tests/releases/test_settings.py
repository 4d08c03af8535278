"""Settings of one release in the other: nobody is kept from starting, and what is gone is warned of for a release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.releases.house import BEFORE, NEWEST, build
from compat_tests.releases.trees import own_settings, release_before
from compat_tests.servers.ours import COMMAND, TrimqServer, environment
from compat_tests.servers.processes import HOST, Child
from compat_tests.servers.server import Options
from docs.settings_page import CONFIGS
from trimq.admin import BlockingAdminClient
from trimq.settings.former import FORMER, by_key
from trimq.settings.parsing import read_file, settings_of

# What no older release has.
FUTURE = {"aSettingOfLater": "1", "another.setting.of.later": "true"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TrimqServer]:
    server = TrimqServer(tmp_path)
    yield server
    server.kill()


def started(server: TrimqServer, which: str, settings: dict[str, str]) -> str:
    """Its log, when it was ready and its NameServer knew it."""
    server.tree = build(which)
    server.options = Options(settings)
    server.start()
    with BlockingAdminClient(server.namesrv_addr) as admin:
        assert server.broker_addr in admin.route_addrs("TBW102")
    said = server.log()
    server.stop()
    assert " ERROR " not in said, said[-3000:]
    return said


def own(which: str) -> dict[str, str]:
    found = own_settings(build(which))
    assert len(found) > 30
    return found


def defaults(which: str) -> dict[str, str]:
    return {key: text for key, text in own(which).items() if text}


@pytest.mark.parametrize("which", [BEFORE, NEWEST])
def test_what_a_release_does_not_know_is_a_warning(server: TrimqServer, which: str) -> None:
    said = started(server, which, FUTURE)
    for key in FUTURE:
        assert f"unknown setting '{key}' is ignored" in said


def test_the_release_before_starts_with_all_settings_of_the_newest(server: TrimqServer) -> None:
    newest = defaults(NEWEST)
    said = started(server, BEFORE, newest)
    new = newest.keys() - own(BEFORE).keys()
    assert {key for key in newest if f"unknown setting '{key}'" in said} == new


def test_the_newest_starts_with_all_settings_of_the_release_before(server: TrimqServer) -> None:
    """Those that are gone are read for a release."""
    said = started(server, NEWEST, defaults(BEFORE))
    assert "unknown setting" not in said
    for key in by_key().keys() & own(BEFORE).keys():
        assert f"{key} is known until the release after" in said


def test_a_setting_that_is_gone_is_in_the_table() -> None:
    gone = own(BEFORE).keys() - own(NEWEST).keys()
    assert gone <= by_key().keys(), "trimq/settings/former.py says what takes their place"


def test_the_table_keeps_no_setting_for_longer_than_a_release() -> None:
    """Who warns in the newest did not exist as a setting, or still did, in the release before."""
    before = release_before()
    if not before.was_released:
        pytest.skip(f"nothing was released before: {before.version} is a commit only")
    known = own(BEFORE).keys()
    stale = [one.key for one in FORMER if one.key not in known]
    assert stale == [], (
        "the release before has warned of them: take them out of trimq/settings/former.py"
    )


def changeable() -> set[str]:
    """Numbers that can be changed while a server runs."""
    found = (one for _, config in CONFIGS for one in settings_of(config).values())
    return {one.key for one in found if one.kind is int and not one.is_guarded}


def other_number(key: str) -> str:
    return str(int(own(NEWEST)[key]) + 1)


def test_what_was_changed_at_run_time_keeps_nobody_from_starting(tmp_path: Path) -> None:
    """Without a config file such changes lie beside the store, and whoever comes next reads what it knows of them."""
    new = own(NEWEST).keys() - own(BEFORE).keys()
    changes = {"fileReservedTime": "71", **{key: other_number(key) for key in new & changeable()}}
    file = tmp_path / "store" / "config" / "broker.properties"
    for which in (NEWEST, BEFORE, NEWEST):
        words = ["server", "--listen", f"{HOST}:0", "--namesrv-listen", f"{HOST}:0"]
        command = [*COMMAND, *words, "--store", str(tmp_path / "store")]
        child = Child(command, tmp_path / "trimq.log", environment(build(which)))
        try:
            addr = child.wait_for("TriMQ ready:").split("broker=")[1].split()[0]
            with BlockingAdminClient(addr) as admin:
                if not file.exists():
                    admin.update_broker_config(addr, changes)
                assert admin.broker_config(addr)["fileReservedTime"] == "71"
        finally:
            assert child.stop() == 0
        assert read_file(file) == changes
