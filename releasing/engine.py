"""The `docker` command, as images are built and tried with it."""

from __future__ import annotations

import os
import shutil
import subprocess

from releasing.targets import CannotBuild


def run(*words: object, **environment: str) -> str:
    """Standard output of a command; CannotBuild with what it wrote if it fails."""
    done = subprocess.run(
        [str(word) for word in words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise CannotBuild(f"{words[0]} failed:\n{(done.stdout + done.stderr)[-6000:]}")
    return done.stdout


def not_there() -> str:
    """Why there is no engine to build or to run images; empty: one answers."""
    if shutil.which("docker") is None:
        return "no docker here: apt-get install docker.io"
    done = subprocess.run(["docker", "info"], capture_output=True, check=False)
    return "no Docker engine answers: start dockerd" if done.returncode else ""


def has_image(name: str) -> bool:
    done = subprocess.run(["docker", "image", "inspect", name], capture_output=True, check=False)
    return done.returncode == 0
