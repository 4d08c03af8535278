"""What docs/hand.md lets people type."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.trimq.hand.test_page import PAGE
from trimq.testing import running_server


def test_what_is_typed_there_works(tmp_path: Path) -> None:
    """Each curl of the page, at a server's own address."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed: apt-get install curl")
    typed = [
        shlex.split(line) for line in PAGE.read_text().splitlines() if line.startswith("curl ")
    ]
    assert len(typed) == 4
    with running_server(tmp_path / "store", hand=True) as server:
        server.send("Orders", "one")
        address = server.hand_addr or ""
        for one in typed:
            words = [word.replace("127.0.0.1:9800", address) for word in one]
            done = subprocess.run([*words, "-sS"], capture_output=True, text=True, check=True)
            assert "error" not in json.loads(done.stdout), done.stdout
