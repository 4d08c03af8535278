"""The image for the processor that this machine does not have, emulated.

With --live only: building its wheel and the image takes minutes. TRIMQ_IMAGE_OTHER names one that is there already.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import trimq
from compat_tests.images.engine import Container, Engine, build_image, docker, removed
from compat_tests.images.test_image import is_healthy
from releasing.containers import loaded_by_docker, tag_of
from releasing.emulated import not_run
from releasing.image import file_name, save, wheel_of
from releasing.targets import MACHINES
from tests.patience import until
from tests.run.interpreters import candidates, find
from trimq.admin import BlockingAdminClient, NewMessage

(MACHINE, *_) = (name for name in MACHINES if name != platform.machine())
_GIVEN: Final = os.environ.get("TRIMQ_IMAGE_OTHER")
TAG: Final = _GIVEN or f"trimq:tested-{MACHINES[MACHINE]}"
TOPIC: Final = "Emulated"
# For a start: an emulated one takes thirty times as long, on a machine that others use too.
PATIENCE: Final = 300.0
# A check takes seconds there, which are more than the image gives it where the machine is busy.
UNHURRIED: Final = ("--platform", f"linux/{MACHINES[MACHINE]}", "--health-timeout", "120s")


@pytest.fixture(scope="module")
def other_size(request: pytest.FixtureRequest) -> str:
    """What building it has said."""
    if not request.config.getoption("--live"):
        pytest.skip("minutes under emulation: with --live only")
    if reason := not_run(MACHINE):
        pytest.skip(reason)
    version = wheel_of(MACHINE).version
    if not _GIVEN and version not in find([Path(sys.executable), *candidates()]):
        pytest.skip(f"no Python {version} is here: pyenv install {version} gets it")
    request.getfixturevalue("docker_answers")
    return build_image(TAG, "--machine", MACHINE, "--quick", given=bool(_GIVEN))


@pytest.fixture
def other(other_size: str) -> Iterator[Engine]:
    whole = Engine(TAG)
    try:
        with removed(whole):
            yield whole
    finally:
        whole.close()


def test_it_is_small(other_size: str) -> None:
    found = re.search(r"([\d.]+) MB compressed", other_size)
    assert found is not None
    print(other_size)
    assert float(found[1]) < 80


def test_it_is_for_that_processor_and_compiled(other_size: str) -> None:
    inspected = json.loads(docker("image", "inspect", TAG).stdout)[0]
    assert (inspected["Os"], inspected["Architecture"]) == ("linux", MACHINES[MACHINE])
    run = ("run", "--rm", "--platform", f"linux/{MACHINES[MACHINE]}", TAG)
    assert docker(*run, "uname", "-m").stdout.strip() == MACHINE
    assert docker(*run, "trimq", "--version").stdout == f"TriMQ {trimq.__version__} (compiled)\n"
    listed = json.loads(docker(*run, "cat", "/usr/share/trimq/sbom.cdx.json").stdout)["components"]
    packages = [one["purl"] for one in listed if one["purl"].startswith("pkg:deb/")]
    assert any(one.endswith(f"?arch={MACHINES[MACHINE]}") for one in packages)
    assert not any(one.endswith(f"?arch={MACHINES[platform.machine()]}") for one in packages)


def test_it_is_healthy_and_nothing_is_lost_by_a_kill(other: Engine) -> None:
    server = other.run("trimq", *UNHURRIED)
    started(server)
    asked = server.execute("trimq", "health", "--namesrv", "127.0.0.1:9876", "--json")
    assert asked.returncode == 0, asked
    assert json.loads(asked.stdout)
    with BlockingAdminClient(f"{server.address}:9876") as admin:
        admin.send(NewMessage(topic=TOPIC, body=b"kept"))
        assert bodies(admin) == [b"kept"]
    server.kill()
    assert server.state["ExitCode"] == 137
    server.start()
    started(server)
    with BlockingAdminClient(f"{server.address}:9876") as admin:
        assert bodies(admin) == [b"kept"]
        admin.send(NewMessage(topic=TOPIC, body=b"more"))
        assert bodies(admin) == [b"kept", b"more"]
    assert server.stop() == 0


def test_a_release_tries_it_from_its_file(other_size: str, tmp_path: Path) -> None:
    tag = tag_of(trimq.__version__, MACHINE)
    docker("tag", TAG, tag)
    file = tmp_path / file_name(trimq.__version__, MACHINE)
    save(tag, file)
    folder = tmp_path / "tried-by-a-release"
    folder.mkdir()
    found = loaded_by_docker(file, folder, trimq.__version__, MACHINE)
    print(f"{found.start_seconds:.1f} s to start, {found.memory_bytes >> 20} MiB with the emulator")
    assert found.says == f"TriMQ {trimq.__version__} (compiled)"
    assert found.memory_bytes > 10 << 20
    # It leaves nothing behind, and has taken no other name from the image.
    assert docker("image", "inspect", tag, check=False).returncode
    assert docker("image", "inspect", TAG).stdout
    assert "tried-by-a-release" not in docker("volume", "ls").stdout


def started(server: Container) -> None:
    """By what Docker's own health check says."""
    began = time.monotonic()
    until(lambda: is_healthy(server), lambda: server.log, PATIENCE, pause=0.2)
    print(f"healthy {time.monotonic() - began:.1f} s after the start")


def bodies(admin: BlockingAdminClient) -> list[bytes]:
    """Of all messages, in order."""
    places = admin.read_queues(TOPIC)
    return sorted(one.body for place in places for one in admin.pull(place, 0).messages)
