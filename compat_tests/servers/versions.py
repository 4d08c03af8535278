"""Which RocketMQ TriMQ is compared with: one word, `REFERENCE`; and what stands in for modules that cannot be had.

TRIMQ_REFERENCE, as `make proof REFERENCE=5.5.0` sets it, names another one of `VERSIONS`. Of a release that has just
been made not every module can be had at once: `missing.json` lists those, and they are taken from the version before.

    python -m compat_tests.servers.versions

asks Maven for each of them again, and takes those that are there now out of the list.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

# Oldest first.
VERSIONS: Final = ("5.5.0", "5.5.1")
# What nobody has named: the newest one of which everything is recorded and done as it does it.
USUAL: Final = "5.5.1"
VARIABLE: Final = "TRIMQ_REFERENCE"
GROUP: Final = "org.apache.rocketmq"
# What a server and its tools are made of; what else they need comes with these.
MODULES: Final = (
    "auth",
    "broker",
    "client",
    "common",
    "controller",
    "example",
    "filter",
    "namesrv",
    "openmessaging",
    "proxy",
    "remoting",
    "srvutil",
    "store",
    "tiered-store",
    "tools",
)
SERVER_MODULES: Final = ("broker", "namesrv", "tools", "client", "example")
PROXY_MODULES: Final = ("proxy",)
_LIST: Final = Path(__file__).with_name("missing.json")


def chosen(told: str) -> str:
    """The version of that name; the usual one for an empty name. SystemExit for another."""
    version = told or USUAL
    if version not in VERSIONS:
        raise SystemExit(f"{VARIABLE}={told} is not known here; known are {', '.join(VERSIONS)}")
    return version


REFERENCE: Final = chosen(os.environ.get(VARIABLE, ""))


def before(version: str = REFERENCE) -> str | None:
    """The version before that one; None before the oldest."""
    at = VERSIONS.index(version)
    return VERSIONS[at - 1] if at else None


def missing(file: Path = _LIST) -> dict[str, list[str]]:
    """By version, the modules that are taken from the version before."""
    found: dict[str, list[str]] = json.loads(file.read_bytes())
    return found


_LACKING: Final[Mapping[str, Iterable[str]]] = missing()


def module_version(
    module: str, version: str = REFERENCE, lacking: Mapping[str, Iterable[str]] = _LACKING
) -> str:
    """Of which version this module is where that version is played."""
    while module in lacking.get(version, ()):
        version = VERSIONS[VERSIONS.index(version) - 1]
    return version


def pom(name: str, version: str, modules: Iterable[str]) -> str:
    """A project of Maven's that needs these modules of a version, and gets the others as that version has them."""
    managed = "".join(_dependency(module, module_version(module, version)) for module in MODULES)
    wanted = "".join(_dependency(module) for module in modules)
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0">\n'
        "  <modelVersion>4.0.0</modelVersion>\n"
        f"  <groupId>trimq.compat</groupId>\n  <artifactId>{name}</artifactId>\n"
        f"  <version>{version}</version>\n"
        f"  <dependencyManagement>\n    <dependencies>\n{managed}    </dependencies>\n  </dependencyManagement>\n"
        f"  <dependencies>\n{wanted}  </dependencies>\n</project>\n"
    )


def _dependency(module: str, version: str = "") -> str:
    told = f"<version>{version}</version>" if version else ""
    return (
        f"    <dependency><groupId>{GROUP}</groupId><artifactId>rocketmq-{module}</artifactId>"
        f"{told}</dependency>\n"
    )


def look_again(can_be_had: Callable[[str, str], bool], file: Path = _LIST) -> list[str]:
    """Take out of the list what can be had now: `can_be_had(module, version)`. What was taken out."""
    table = missing(file)
    found = []
    for version, modules in table.items():
        there = [module for module in modules if can_be_had(module, version)]
        found += [f"rocketmq-{module} {version}" for module in there]
        table[version] = [module for module in modules if module not in there]
    if found:
        left = {version: modules for version, modules in table.items() if modules}
        file.write_text(json.dumps(left, indent=1) + "\n")
    return found


def _ask_maven(module: str, version: str) -> bool:
    artifact = f"{GROUP}:rocketmq-{module}:{version}"
    command = ["mvn", "-q", "-B", "-U", "dependency:get", "-Dtransitive=false"]
    done = subprocess.run([*command, f"-Dartifact={artifact}"], capture_output=True, check=False)
    print(f"{artifact}: {'there' if done.returncode == 0 else 'not there yet'}", flush=True)
    return done.returncode == 0


def main() -> int:
    """Say what has appeared."""
    if shutil.which("mvn") is None:
        print("mvn is needed to ask for modules: apt-get install maven", file=sys.stderr)
        return 1
    found = look_again(_ask_maven)
    print(f"there now: {', '.join(found) or 'nothing new'}")
    if found:
        print("Play 'make compat-live' with them, and 'make compat-record' what differs.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
