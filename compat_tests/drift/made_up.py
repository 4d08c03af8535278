"""A version that nobody has released: a released one with a few words changed in its sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from compat_tests.drift import sources
from compat_tests.servers import artifacts

MODULES: Final = ("remoting", "common", "store", "broker")


@dataclass(frozen=True)
class Patch:
    """In the class of this name, `old` is `new`. `times`: how often it stands there."""

    name: str
    old: bytes
    new: bytes
    times: int = 1


def texts_of(version: str) -> dict[str, bytes]:
    """The sources of the modules that can be patched, by path."""
    jars = [sources.jar_of(module, version) for module in MODULES]
    return {name: text for jar in jars if jar is not None for name, text in sources.texts(jar)}


def path_of(texts: Iterable[str], name: str) -> str:
    """Of the one class of that name."""
    (path,) = (one for one in texts if PurePosixPath(one).stem == name)
    return path


def patched(texts: dict[str, bytes], patches: Iterable[Patch]) -> dict[str, bytes]:
    """All sources, with the patches. AssertionError where a released class is not what a patch expects."""
    found = dict(texts)
    for patch in patches:
        path = path_of(texts, patch.name)
        count = texts[path].count(patch.old)
        assert count == patch.times, f"{patch.name} has changed: patch something else in it"
        found[path] = found[path].replace(patch.old, patch.new)
    return found


def compiled(
    version: str,
    texts: dict[str, bytes],
    patches: Iterable[Patch],
    users: Iterable[str],
    folder: Path,
) -> Path:
    """Class files of what is patched, and of `users`, classes that have its constants in them: the folder."""
    source, classes = folder / "source", folder / "classes"
    made = patched(texts, patches)
    names = dict.fromkeys([*(patch.name for patch in patches), *users])
    files = []
    for name in names:
        path = path_of(texts, name)
        files.append(source / path)
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_bytes(made[path])
    classes.mkdir()
    artifacts.compile_java(
        files, artifacts.classpath(artifacts.jars(f"rocketmq-{version}")), classes
    )
    return classes
