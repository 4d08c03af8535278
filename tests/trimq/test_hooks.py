"""The hooks of pre-commit run what `make lint` runs."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
HOOKS: Final = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")


def commands_of(target: str) -> list[str]:
    """What make runs for a target, with the folder of the environment that it uses."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (recipe,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]


def test_the_hooks_are_the_commands_of_lint() -> None:
    entries = re.findall(r"^ +entry: (.*)$", HOOKS, re.MULTILINE)
    assert len(entries) > 1
    assert entries == commands_of("lint")


def test_each_hook_looks_at_all_files_with_the_tools_of_the_environment() -> None:
    _, *hooks = re.split(r"^ +- id: ", HOOKS, flags=re.MULTILINE)
    assert len(hooks) == HOOKS.count("entry: ")
    assert all("language: system\n" in one for one in hooks)
    assert all("pass_filenames: false\n" in one for one in hooks)
