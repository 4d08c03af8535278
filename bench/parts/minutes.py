"""The first minutes: a clone, `make serve` in it, a Java client's first message; and `pip install .`."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from bench.loads.resident import Resident, compiled
from bench.run import Run
from bench.servers.subjects import OURS, PURE
from compat_tests.installs.installs import copy_checkout
from tests.patience import until

READY: Final = "clone to ready (make serve), s"
MESSAGE: Final = "clone to the first message of a Java client, s"
AGAIN: Final = "make serve once more, to ready, s"
BUILT: Final = "clone to the compiled build, made beside it, s"
INSTALLED: Final = "pip install . into a new environment, s"
TOPIC: Final = "FirstMinutes"
# Of the environment, what belongs to whoever runs this and would decide something there.
OWN: Final = ("TRIMQ_", "MYPYC_", "PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS")
LIMIT_SECONDS: Final = 1200


def measure(run: Run) -> str:
    """The table. A smoke run compiles nothing."""
    java_home = run.folder / "java-home"
    (java_home / "classes").mkdir(parents=True)
    # An application is compiled before it meets a broker.
    compiled("Latency", java_home)
    for number in range(1 if run.smoke else run.lives):
        folder = run.folder / f"first-{number}"
        folder.mkdir()
        _clone(run, folder, java_home)
        if not run.smoke and run.wants(INSTALLED):
            run.figures.add(INSTALLED, OURS, _install(folder))
        shutil.rmtree(folder)
    return (
        "A copy of this checkout as a clone has it, and an empty cache: everything comes from the package index. "
        "`make serve` is plain Python at once, and compiles beside itself at the lowest priority; the next start uses "
        "that. "
        f"The message is counted when the client has its answer, its JVM's start included.\n\n{run.figures.table()}"
    )


def _clone(run: Run, folder: Path, java_home: Path) -> None:
    environment = _empty(folder)
    if run.smoke:
        environment["TRIMQ_COMPILE"] = "0"
    clone = folder / "clone"
    began = time.monotonic()
    copy_checkout(clone)
    with _served(clone, environment) as namesrv:
        run.figures.add(READY, PURE, time.monotonic() - began)
        words = [namesrv, TOPIC, "1", "128", "sync", "1"]
        with closing(Resident("Latency", words, java_home)) as client:
            # It answers when it has sent a first message, and nothing more.
            client.turn(0)
            run.figures.add(MESSAGE, PURE, time.monotonic() - began)
        if not run.smoke:
            run.figures.add(BUILT, OURS, _built(clone) - began)
    second = time.monotonic()
    with _served(clone, environment):
        run.figures.add(AGAIN, PURE if run.smoke else OURS, time.monotonic() - second)


def _empty(folder: Path) -> dict[str, str]:
    """Whoever comes for the first time has nothing in a cache, and a way to a package index."""
    cache = tempfile.mkdtemp(prefix="cache-", dir=folder)
    found = {name: text for name, text in os.environ.items() if not name.startswith(OWN)}
    return {**found, "PIP_CACHE_DIR": cache, "TMPDIR": str(folder)}


@contextmanager
def _served(clone: Path, environment: dict[str, str]) -> Iterator[str]:
    """`make serve` on free ports; the address of its NameServer."""
    command = ["make", "serve", "LISTEN=127.0.0.1:0", "NAMESRV_LISTEN=127.0.0.1:0"]
    log = clone.with_name("served.txt")
    with (
        log.open("a") as errors,
        subprocess.Popen(
            command,
            cwd=clone,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                found = re.match(r"TriMQ ready: namesrv=(\S+)", line)
                if found is not None:
                    yield found[1]
                    return
            raise RuntimeError(f"make serve ended before it was ready:\n{log.read_text()[-4000:]}")
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def _built(clone: Path) -> float:
    """When the compiled build was there."""

    def made() -> list[Path]:
        return [path for path in clone.glob("build/served-*") if path.suffix != ".new"]

    found = until(made, "something is compiled", LIMIT_SECONDS, pause=0.5)
    if any(path.suffix == ".failed" for path in found):
        raise RuntimeError((clone / "build" / "served.log").read_text()[-4000:])
    return time.monotonic()


def _install(folder: Path) -> float:
    environment, target = _empty(folder), folder / "installed"
    clone = copy_checkout(folder / "installed-from")
    subprocess.run([sys.executable, "-m", "venv", str(target)], env=environment, check=True)
    began = time.monotonic()
    pip = [str(target / "bin" / "python"), "-m", "pip", "install", "--quiet", str(clone)]
    subprocess.run(pip, env=environment, check=True)
    return time.monotonic() - began
