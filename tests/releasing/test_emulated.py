"""Whether programs of another processor run here, as the kernel tells it."""

from __future__ import annotations

import platform
from pathlib import Path

from releasing.emulated import not_run


def test_one_that_is_not_emulated_is_said_with_what_gets_it(tmp_path: Path) -> None:
    entry = tmp_path / "qemu-abacus"
    says = "nothing runs programs of abacus here: apt-get install qemu-user-static binfmt-support"
    assert not_run(platform.machine(), tmp_path) == ""
    assert not_run("abacus", tmp_path) == says
    entry.write_text("enabled\ninterpreter /usr/bin/qemu\nflags: F\noffset 0\n")
    assert not_run("abacus", tmp_path) == ""
    # Disabled, or it opens the emulator by its path, which a chroot does not have.
    for text in ("disabled\ninterpreter q\nflags: F\n", "enabled\ninterpreter q\nflags: \n"):
        entry.write_text(text)
        assert not_run("abacus", tmp_path) == says
