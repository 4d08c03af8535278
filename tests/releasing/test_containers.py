"""How an image is tried, with a `docker` that only pretends: its containers keep what they are sent in a file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Final

import pytest

from releasing import trying
from releasing.containers import loaded_by_docker
from releasing.trying import Failed

FAKE: Final = """
import json, os, pathlib, sys
home = pathlib.Path(HOME)
words = sys.argv[1:]
with (home / "calls").open("a") as calls:
    calls.write(json.dumps(words) + "\\n")
sent, stopped, up = home / "sent", home / "stopped", home / "up"
if words[:2] == ["run", "--rm"]:
    print("TriMQ 0.2.0 (BUILD)")
elif words[:2] == ["run", "-d"]:
    up.touch()
    if "FORGETS" == "yes":
        sent.unlink(missing_ok=True)
elif words[0] == "logs":
    print("NOISE")
    print("TriMQ ready: namesrv=0.0.0.0:9876 broker=b store=/s in 1 ms" if READY else "Error: it cannot")
elif words[0] == "inspect":
    code = STOPS if stopped.exists() else 0
    print(json.dumps({"Running": READY and up.exists(), "Pid": PID, "ExitCode": code}))
elif words[0] == "stop":
    stopped.touch()
elif words[0] == "exec":
    what, *numbers = words[words.index("127.0.0.1:9876") + 1:]
    old = sent.read_text().splitlines() if sent.exists() else []
    if what == "send":
        first, count = map(int, numbers)
        new = [f"message {number:06d}" for number in range(first, first + count)]
        sent.write_text("\\n".join([*old, *new]))
        print("\\n".join(new))
    elif old:
        print("\\n".join(old))
"""


class Docker:
    """The command, first on the PATH."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._home = home
        self.folder = home / "tried"
        self.folder.mkdir()
        monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")

    def does(
        self, *, build: str = "compiled", forgets: bool = False, ready: bool = True, stops: int = 0
    ) -> None:
        text = FAKE.replace("BUILD", build).replace("FORGETS", "yes" if forgets else "no")
        text = text.replace("READY", str(ready)).replace("STOPS", str(stops))
        text = text.replace("PID", str(os.getpid())).replace("HOME", repr(str(self._home)))
        command = self._home / "docker"
        command.write_text(f"#!{sys.executable}\n{text}")
        command.chmod(0o755)

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in (self._home / "calls").read_text().splitlines()]

    def tried(self) -> trying.Trial:
        return loaded_by_docker(Path("/dist/image.tar.gz"), self.folder, "0.2.0", "aarch64")


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    monkeypatch.setattr(trying, "COUNT", 3)
    found = Docker(tmp_path, monkeypatch)
    found.does()
    return found


def test_it_is_loaded_killed_and_leaves_nothing(docker: Docker) -> None:
    found = docker.tried()
    assert found.says == "TriMQ 0.2.0 (compiled)"
    assert found.memory_bytes > 1 << 20
    calls = docker.calls
    begins, ends = calls[:2], calls[-2:]
    assert begins[0] == ["image", "rm", "--force", "trimq:0.2.0-arm64"]
    assert begins[1] == ["load", "--quiet", "--input", "/dist/image.tar.gz"]
    assert ends == [
        ["volume", "rm", "--force", "tried"],
        ["image", "rm", "--force", "trimq:0.2.0-arm64"],
    ]
    servers = [words for words in calls if words[:2] == ["run", "-d"]]
    assert len(servers) == 2
    for words in servers:
        assert words[words.index("--platform") + 1] == "linux/arm64"
        assert "tried:/home/rocketmq/store" in words
        assert words[-1] == "trimq:0.2.0-arm64"
    # The first one is killed, the second one stopped.
    names = [words[0] for words in calls if words[0] in ("run", "stop", "rm")]
    assert names == ["run", "run", "rm", "run", "stop", "rm"]


def test_what_goes_wrong_is_a_sentence_and_nothing_is_left(docker: Docker) -> None:
    docker.does(build="pure Python")
    with pytest.raises(Failed, match=r"'TriMQ 0\.2\.0 \(pure Python\)', not 0\.2\.0 \(compiled\)"):
        docker.tried()
    docker.does(forgets=True)
    with pytest.raises(Failed, match="3 messages were sent; after kill -9, 0 are read"):
        docker.tried()
    docker.does(stops=137)
    with pytest.raises(Failed, match="the container ended with 137 after SIGTERM"):
        docker.tried()
    docker.does(ready=False)
    with pytest.raises(Failed, match=r"was not ready: .*/server\.log says why"):
        docker.tried()
    assert "Error: it cannot" in (docker.folder / "server.log").read_text()
    assert docker.calls[-1] == ["image", "rm", "--force", "trimq:0.2.0-arm64"]
    assert ["rm", "--force", "tried"] in docker.calls[-5:]
