"""The real server and TriMQ side by side, and the outcomes of drivers that played on both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trustme
from cryptography.hazmat.primitives import serialization

from compat_tests.driver import Driver, Outcome, play
from compat_tests.normalise import differences, normalise
from compat_tests.ours import TrimqServer
from compat_tests.real import Launcher, RealServer
from compat_tests.scenarios import Batch, Case
from compat_tests.server import Options, Server, Tls

# Topics and groups must exist: what a careful operator sets.
STRICT: Final = {"autoCreateTopicEnable": "false", "autoCreateSubscriptionGroup": "false"}
SHOWN: Final = 40


@dataclass(frozen=True)
class Pair:
    """Two servers started with the same options."""

    real: Server
    ours: Server
    tls: Tls | None = None


def make_tls(folder: Path) -> Tls:
    """A certificate for 127.0.0.1, of an authority that exists for this session only."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    tls = Tls(folder / "server.pem", folder / "server.key", folder / "authority.pem")
    authority.cert_pem.write_to_path(tls.authority)
    tls.certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    # Netty reads PKCS 8 only.
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    tls.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return tls


class Stage:
    """Starts each pair of servers once and plays each batch once, when somebody first asks for it."""

    def __init__(
        self, launch: Launcher, folder: Path, selected: Iterable[Case], subject: str = "trimq"
    ) -> None:
        self.launch = launch
        self.folder = folder
        self._selected = list(selected)
        self._subject = subject
        # Started alone when TriMQ then fails to start: the next test must not start it again.
        self._reals: dict[str, RealServer] = {}
        self._pairs: dict[str, Pair] = {}
        self._played: dict[tuple[str, str, str], dict[str, Outcome]] = {}
        self._stops: list[Callable[[], None]] = []

    def options(self, key: str) -> Options:
        if key == "tls":
            return Options(tls=make_tls(self.folder / "tls"))
        return Options(STRICT if key == "strict" else {})

    def pair(self, key: str) -> Pair:
        """The two servers that are started with the options of this name."""
        if key not in self._pairs:
            options = self.options(key)
            real = self._reals.get(key) or RealServer(
                self.launch, self.folder / f"real-{key}", options
            )
            if key not in self._reals:
                self._reals[key] = real.start()
                self._stops.append(real.kill)
            ours: Server = real
            if self._subject == "trimq":
                trimq = TrimqServer(self.folder / f"trimq-{key}", options).start()
                self._stops.append(trimq.stop)
                ours = trimq
            self._pairs[key] = Pair(real, ours, options.tls)
        return self._pairs[key]

    def check(self, case: Case) -> None:
        """Raises AssertionError with every difference between the two outcomes of a scenario."""
        pair = self.pair(case.batch.servers)
        real = self._outcome(case, "real", pair.real, pair.tls)
        ours = self._outcome(case, "ours", pair.ours, pair.tls)
        assert_same(real, pair.real, ours, pair.ours)

    def _outcome(self, case: Case, side: str, server: Server, tls: Tls | None) -> Outcome:
        key = (case.driver.name, case.batch.name, side)
        if key not in self._played:
            names = [
                c.scenario
                for c in self._selected
                if (c.driver, c.batch) == (case.driver, case.batch)
            ]
            folder = self.folder / "-".join(key)
            self._played[key] = self.play(case.driver, server, names, folder, case.batch, tls)
        return self._played[key][case.scenario]

    @staticmethod
    def play(
        driver: Driver,
        server: Server,
        names: list[str],
        folder: Path,
        batch: Batch,
        tls: Tls | None,
    ) -> dict[str, Outcome]:
        return play(driver, server, names, folder, how=batch.how, tls=tls)

    def close(self) -> None:
        for stop in reversed(self._stops):
            stop()


def assert_same(real: Outcome, real_server: Server, ours: Outcome, our_server: Server) -> None:
    if real.error:
        raise AssertionError(f"the scenario failed on the real server: {real.error}")
    if ours.error:
        raise AssertionError(f"the scenario failed on TriMQ: {ours.error}")
    found = list(differences(normalise(real, real_server), normalise(ours, our_server)))
    if found:
        more = f"\n... and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise AssertionError(f"{len(found)} differences\n" + "\n".join(found[:SHOWN]) + more)
