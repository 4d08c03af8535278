"""What `make` installs is locked: each version, and each file's hash."""

import re
from pathlib import Path
from typing import Final

import pytest

from compat_tests.servers.artifacts import pins

ROOT: Final = Path(__file__).resolve().parents[2]
PIN: Final = re.compile(r"[\w-]+==\S+( ;.*?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*")


@pytest.mark.parametrize("name", ["runtime", "grpc", "test", "spark", "site", "wheels"])
def test_each_version_has_its_hashes(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", "")
    locked = [line for line in text.splitlines() if not line.startswith("#")]
    assert locked
    assert not [pin for pin in locked if not PIN.fullmatch(pin)]


def test_no_lock_is_installed_without_them() -> None:
    lines = (ROOT / "Makefile").read_text().splitlines()
    installs = [line for line in lines if "$(PIP)" in line and " -r " in line]
    # requirements/runtime.txt, and the pattern of all others.
    assert len(installs) == 2
    assert all("--require-hashes" in line for line in installs)


@pytest.mark.parametrize("name", ["build", "runtime", "grpc", "test", "spark", "site", "wheels"])
def test_pins_fit_a_command_line(name: str) -> None:
    """Hashes do not: pip takes them in a file only."""
    found = pins(f"{name}.txt")
    assert found
    assert not [pin for pin in found if not re.fullmatch(r"[\w-]+==[\w.]+( ;.*)?", pin)]
