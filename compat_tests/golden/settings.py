"""Record every key that a config file of the real RocketMQ 5.5.0 can set, into tests/vectors/settings.tsv.

    python -m compat_tests.golden.settings [--proxy] [--out tests/vectors/settings.tsv]

With --proxy: the keys of rmq-proxy.json, into tests/vectors/proxy_settings.tsv.

Settings.java asks the classes of the unmodified jars; a default that is empty because there is none is `\\N`.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from compat_tests.servers import artifacts

HERE: Final = Path(__file__).parent
VECTORS: Final = HERE.parents[1] / "tests" / "vectors"
PROXY_CONFIG: Final = "org.apache.rocketmq.proxy.config.ProxyConfig"
HOME: Final = "/home/user"
OF_THE_MACHINE: Final = frozenset(
    {"brokerIP1", "brokerIP2", "brokerName", "localServeAddr", "proxyName"}
)


def _portable(row: str) -> str:
    owner, key, kind, default = row.split("\t")
    # The proxy's home is not known before it starts.
    default = default.replace("null/conf/", "/conf/")
    return "\t".join((owner, key, kind, "(machine)" if key in OF_THE_MACHINE else default))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--proxy", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    out = given.out or VECTORS / ("proxy_settings.tsv" if given.proxy else "settings.tsv")
    lib = artifacts.jars(artifacts.PROXY if given.proxy else artifacts.SERVER)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                "java",
                f"-Duser.home={HOME}",
                *(["-XX:ActiveProcessorCount=1"] if given.proxy else []),
                "-cp",
                artifacts.classpath(lib),
                HERE / "Settings.java",
                *([PROXY_CONFIG] if given.proxy else []),
            ],
            # The name of the machine is a default too.
            env={"PATH": "/usr/bin:/bin", "ROCKETMQ_HOME": "/rocketmq"},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    # The library of logging talks on the same stream.
    head = "class\tkey\ttype\tdefault\n"
    rows = done.stdout[done.stdout.index(head) :].splitlines()
    rows = [row for row in rows if row.count("\t") == 3 and "|-" not in row]
    out.write_text("".join(f"{_portable(row)}\n" for row in rows))
    print(f"{len(rows) - 1} keys: {out}")


if __name__ == "__main__":
    main()
