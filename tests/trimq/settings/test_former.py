"""Settings that are gone: each starts with a warning for a release, and its value counts for what took its place."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

import trimq
from docs import settings_page
from docs.settings_page import CONFIGS, settings
from tests.trimq.settings.test_running import Running
from trimq.settings import former
from trimq.settings.former import FORMER, Former, current
from trimq.settings.options import ServerOptions, server_plan
from trimq.settings.parsing import Setting, settings_of
from trimq.settings.rocketmq import unheeded
from trimq.testing import running_server

DECLARED: Final = {key: one for _, config in CONFIGS for key, one in settings_of(config).items()}
# One that has an heir, beside those there are; there may be none.
OLD: Final = Former("anOlderName", "0.1.0", "it has a better name", instead="recoveryBytes")
ROWS: Final = (*FORMER, OLD)
every_one = pytest.mark.parametrize("one", ROWS, ids=lambda one: one.key)
# And one that has none.
GONE: Final = Former("thePastSetting", "0.1.0", "nothing is left to be set")


@pytest.fixture(autouse=True)
def _more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (former, settings_page):
        monkeypatch.setattr(module, "FORMER", ROWS)


def a_value(heir: Setting) -> str:
    """One that is not the default."""
    if heir.kind is bool:
        return str(not heir.field.default).lower()
    assert heir.kind is int, "how such a value looks is for you to say here"
    default: Any = heir.field.default
    return str(default + 1)


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


@every_one
def test_a_row_is_sound(one: Former) -> None:
    assert one.key not in DECLARED
    assert one.key not in unheeded()
    assert one.instead is None or one.instead in DECLARED
    assert version(one.gone) <= version(trimq.__version__)
    assert f"| `{one.key}` | {one.gone} |" in settings()


def test_no_key_is_there_twice() -> None:
    keys = [one.key for one in FORMER]
    assert len(keys) == len(set(keys))


@every_one
@pytest.mark.parametrize("way", ["file", "command line", "changed at run time"])
def test_it_starts_with_a_warning_and_its_value(
    one: Former, way: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = "7" if one.instead is None else a_value(DECLARED[one.instead])
    store, conf = tmp_path / "store", tmp_path / "broker.conf"
    kept = store / "config/broker.properties"
    kept.parent.mkdir(parents=True)
    (kept if way == "changed at run time" else conf).write_text(f"{one.key} = {text} \n")
    plan = server_plan(
        ServerOptions(
            store=store,
            config=conf if way == "file" else None,
            settings={one.key: text} if way == "command line" else {},
        )
    )
    warned = [it.getMessage() for it in caplog.records if it.levelname != "INFO"]
    assert warned == [one.sentence(text, is_given=False)]
    assert one.key not in plan.sources.texts
    if one.instead is not None:
        assert f"write {one.instead}={text} instead" in warned[0]
        heir = DECLARED[one.instead]
        configs = (plan.broker, plan.store, plan.server, plan.replication)
        (value,) = (
            getattr(it, heir.attribute) for it in configs if one.instead in settings_of(type(it))
        )
        assert value == heir.read(one.taken(text))


@every_one
async def test_it_can_be_changed_at_run_time(
    one: Former, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = "7" if one.instead is None else a_value(DECLARED[one.instead])
    running = Running(tmp_path, "brokerName=b\n")
    said = await running.settings.update({one.key: text})
    assert said is not None
    assert said.startswith(one.sentence(text, is_given=False))
    assert one.sentence(text, is_given=False) in [it.getMessage() for it in caplog.records]
    assert one.key not in running.shown()
    if one.instead is not None:
        assert running.shown()[one.instead] == text
        assert running.file.read_text() == f"brokerName=b\n{one.instead}={text}\n"


@every_one
def test_tests_of_other_projects_go_on(one: Former, tmp_path: Path) -> None:
    text = "7" if one.instead is None else a_value(DECLARED[one.instead])
    with running_server(tmp_path / "store", {one.key: text}) as server:
        server.send("Former", "a message")


def test_the_new_name_wins_in_one_place_and_the_command_line_over_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("anOlderName=1\nrecoveryBytes=2\n")
    plan = server_plan(ServerOptions(store=tmp_path, config=conf))
    assert plan.store.recovery_bytes == 2
    assert "recoveryBytes is given as well" in caplog.messages[-1]
    conf.write_text("recoveryBytes=2\n")
    given = ServerOptions(store=tmp_path, config=conf, settings={"anOlderName": "3"})
    plan = server_plan(given)
    assert plan.store.recovery_bytes == 3
    assert plan.sources.commanded == {"recoveryBytes"}


def test_one_without_an_heir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(former, "FORMER", (*ROWS, GONE))
    assert current({"thePastSetting": "7", "brokerName": "b"})[0] == {"brokerName": "b"}
    plan = server_plan(ServerOptions(store=tmp_path, settings={"thePastSetting": "7"}))
    assert "thePastSetting" not in plan.sources.texts
    (said,) = caplog.messages
    assert re.fullmatch(
        r"thePastSetting=7: has no effect, nothing is left to be set; remove it \(thePastSetting is known until"
        r" the release after 0\.1\.0\)",
        said,
    )
