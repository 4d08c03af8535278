"""Commands that the documents show are read by the programs that they name, and nothing in them is out of date.

tests/docs/test_shown_commands.py runs those that end by themselves.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Mapping
from itertools import chain, pairwise
from typing import Final

import click
import pytest

from docs.settings_page import CONFIGS
from tests.docs.commands import Command, commands
from tests.docs.pages import ROOT, all_pages, blocks, spans
from trimq.commands.cli import main as trimq
from trimq.commands.refusals import Refused
from trimq.mqadmin import names
from trimq.mqadmin.cli import main as mqadmin
from trimq.settings.parsing import parse_assignments, settings_of
from trimq.settings.rocketmq import unheeded

OURS: Final[Mapping[str, click.Group]] = {"trimq": trimq, "mqadmin": mqadmin}
PAGES: Final = [page for page in all_pages() if not page.startswith("tests/")]
SHOWN: Final = [command for page in PAGES for command in commands(page)]
# Beside ours, Python's and the shell's own: for each program the test that runs it as the page says, or None. Those are
# for the user's own system: nobody plays them here.
OTHERS: Final[Mapping[str, Mapping[str, str | None]]] = {
    "CONTRIBUTING.md": {"pre-commit": "tests/trimq/test_hooks.py"},
    "README.md": {"git": None},
    "docs/clients5.md": dict.fromkeys(
        ("go", "java", "mvn"), "compat_tests/proxy/test_clients_page.py"
    ),
    "docs/configuration.md": {"openssl": "tests/docs/test_shown_commands.py"},
    "docs/durability.md": dict.fromkeys(
        ("rm", "truncate"), "tests/store/opening/test_refused_stores.py"
    ),
    "docs/hand.md": {
        "curl": "tests/trimq/hand/processes/test_typed.py",
        **dict.fromkeys(
            ("cp", "export", "go", "mkdir", "mvn"), "compat_tests/hand/test_projects.py"
        ),
    },
    "docs/image.md": {"docker": "compat_tests/images/test_image.py"},
    "docs/in-tests.md": dict.fromkeys(
        ("docker", "export", "grep"), "compat_tests/images/test_recipes.py"
    ),
    "docs/inspect.md": {"tail": None},
    "docs/kubernetes.md": {"docker": None, "helm": "compat_tests/releases/test_chart.py"},
    "docs/migrate.md": {"grep": "compat_tests/replication/test_migrate.py"},
    "docs/mqadmin.md": {"jq": None},
    "docs/offset-report.md": {"spark-submit": "compat_tests/spark/test_standalone.py"},
    "docs/proxy.md": dict.fromkeys(("java", "mvn"), "compat_tests/scenarios/test_proxy_page.py"),
    "docs/restarting.md": {"sudo": "compat_tests/releases/test_systemd.py"},
    "docs/systemd.md": dict.fromkeys(
        ("journalctl", "sudo", "systemctl"), "compat_tests/releases/test_systemd.py"
    ),
}
SHELLS: Final = {
    "cd",
    "done",
    "echo",
    "exit",
    "is_even",
    "kill",
    "slave",
    "sleep",
    "stop_old",
    "wait",
    "}",
}
MAKEFILE: Final = (ROOT / "Makefile").read_text("utf-8")
TARGETS: Final = set(
    chain(*map(str.split, re.findall(r"^([a-z][\w -]*):", MAKEFILE, re.MULTILINE)))
)
KEYS: Final = {*unheeded(), *(key for _, config in CONFIGS for key in settings_of(config))}


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands read what they are given, and that is all. Groups go on to their commands."""
    monkeypatch.setattr(click.Command, "invoke", lambda command, context: None)


def read(program: str, words: list[str]) -> None:
    """As it is typed. A command whose extra is not installed here cannot read anything, and says so."""
    try:
        OURS[program].main(words, standalone_mode=False)
    except Refused as error:
        if "which is not installed" not in error.message:
            raise
        pytest.skip(error.message)


def shown(*programs: str) -> list[Command]:
    return [command for command in SHOWN if command.program in programs]


@pytest.mark.parametrize("command", shown("trimq", "mqadmin"), ids=str)
def test_it_reads_what_is_typed(command: Command) -> None:
    read(command.program, command.arguments)


@pytest.mark.parametrize("command", shown("trimq"), ids=str)
def test_it_has_the_settings(command: Command) -> None:
    words = command.arguments
    settings = [value for flag, value in pairwise(words) if flag == "--set"]
    assert set(parse_assignments(settings)) <= KEYS


@pytest.mark.parametrize("page", PAGES)
def test_files_of_settings_have_no_unknown_one(page: str) -> None:
    written = [block.text for block in blocks(page) if block.info == "properties"]
    lines = [line for text in written for line in text.splitlines() if not line.startswith("#")]
    keys = [key for line in lines for key in re.findall(r"(?:^|\s)([a-z][\w.]+) ?= ?\S", line)]
    assert set(keys) <= KEYS
    assert len(keys) >= len([line for line in lines if line.strip()])


def check_make(words: list[str]) -> None:
    for word in words:
        name, equals, _ = word.partition("=")
        if equals:
            # It is named, or handed down as it is.
            assert re.search(rf"\$\({name}\)|^{name} [?:]?=", MAKEFILE, re.MULTILINE), word
        else:
            assert word in TARGETS


@pytest.mark.parametrize("command", shown("make"), ids=str)
def test_make_has_it(command: Command) -> None:
    check_make(command.arguments)


@pytest.mark.parametrize("command", shown("python", "python3"), ids=str)
def test_python_finds_the_module_and_the_files(command: Command) -> None:
    flag, module, *more = *command.arguments, ""
    if flag.endswith(".py"):
        # A program of the page's own.
        assert f"`{flag}`:" in (ROOT / command.page).read_text("utf-8")
        return
    assert flag == "-m"
    assert importlib.util.find_spec(module) is not None
    assert all((ROOT / word).exists() for word in more if word.startswith("tests/"))


@pytest.mark.parametrize("command", shown("pip"), ids=str)
def test_pip_installs_the_tree_or_a_part_that_it_has(command: Command) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert command.arguments[0] == "install"
    for word in command.arguments[1:]:
        _, _, part = word.rstrip("]").partition("[")
        assert not part or part in project["optional-dependencies"]


@pytest.mark.parametrize("page", PAGES)
def test_other_programs_are_known(page: str) -> None:
    ours = {*OURS, *SHELLS, "make", "pip", "python", "python3"}
    others = OTHERS.get(page, {})
    assert {command.program for command in commands(page)} - ours == set(others)
    assert all((ROOT / test).is_file() for test in others.values() if test)


def within_sentences() -> list[tuple[str, str]]:
    """Commands in sentences: the page, and what is typed."""
    program = re.compile(r"(\.venv/bin/)?(trimq|mqadmin|make) .+")
    return [(page, span) for page in PAGES for span in spans(page) if program.fullmatch(span)]


def exists(program: str, words: list[str]) -> None:
    """Raises click.UsageError for a command or a flag that is not there. What a sentence leaves out may be missing."""
    if program == "mqadmin" and (words[0].isupper() or names.why_absent(words[0])):
        return
    try:
        read(program, words)
    except click.UsageError as error:
        if isinstance(error, click.NoSuchOption) or "No such command" in error.message:
            raise


@pytest.mark.parametrize(("page", "typed"), within_sentences())
def test_commands_in_sentences_are_there(page: str, typed: str) -> None:
    program, *words = shlex.split(typed.replace("<", "").replace(">", ""))
    if program == "make":
        check_make(words)
    else:
        exists(program.rpartition("/")[2], words)


def test_the_image_is_pushed_with_the_tag_that_the_chart_takes() -> None:
    chart = (ROOT / "deploy/helm/trimq/Chart.yaml").read_text("utf-8")
    tag = re.findall(r'^appVersion: "(.+)"$', chart, re.MULTILINE)
    pushed = [one.words[-1] for one in shown("docker") if one.words[1] == "push"]
    assert [name.rpartition(":")[2] for name in pushed] == tag


def test_commands_are_found() -> None:
    assert len(shown("trimq")) > 25
    assert len(shown("mqadmin")) > 40
    assert len(within_sentences()) > 60
