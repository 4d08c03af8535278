"""The real server and TriMQ side by side, and the outcomes of drivers that played on both."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trustme
from cryptography.hazmat.primitives import serialization

from compat_tests.driver import Outcome, play
from compat_tests.normalise import differences, normalise
from compat_tests.ours import TrimqServer
from compat_tests.real import Launcher, RealServer
from compat_tests.scenarios import Case
from compat_tests.server import Options, Server, Tls

# Kinds of servers by name, apart from "tls".
SETTINGS: Final[dict[str, dict[str, str]]] = {
    "plain": {},
    # Topics and groups must exist: what a careful operator sets.
    "strict": {"autoCreateTopicEnable": "false", "autoCreateSubscriptionGroup": "false"},
    # A broker that is being emptied.
    "readonly": {"brokerPermission": "4"},
}
SHOWN: Final = 40
REAL: Final = "real"
PLAIN: Final = "pure"
COMPILED: Final = "compiled"


@dataclass(frozen=True)
class Group:
    """The real server and ours, by build, started with the same options."""

    real: Server
    ours: dict[str, Server]
    tls: Tls | None = None

    def side(self, name: str) -> Server:
        return self.real if name == REAL else self.ours[name]


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
    """Starts each group of servers once and plays each batch once, when somebody first asks for it.

    Beside the plain group at most one other is running: an idle real broker still takes a fifth of a core.
    """

    def __init__(
        self,
        launch: Launcher,
        folder: Path,
        selected: Iterable[Case],
        builds: Mapping[str, Path],
    ) -> None:
        """`builds` are the trees that TriMQ runs from; without any the real server is its own rival."""
        self.launch = launch
        self.folder = folder
        self._selected = list(selected)
        self._builds = builds
        self._groups: dict[str, Group] = {}
        self._stops: dict[str, ExitStack] = {}
        # By driver, batch and side.
        self._played: dict[tuple[str, str, str], tuple[Server, dict[str, Outcome]]] = {}
        # Cases that differed in the crowd of their batch and were played again alone, and how.
        self.again: list[tuple[Case, str]] = []

    def options(self, key: str) -> Options:
        if key == "tls":
            return Options(tls=make_tls(self.folder / "tls"))
        return Options(SETTINGS[key])

    def group(self, key: str) -> Group:
        """The servers that are started with the options of this name."""
        if key not in self._groups:
            for other in self._groups.keys() - {"plain"}:
                self._stop(other)
            with ExitStack() as stack:
                self._groups[key] = self._start(key, stack)
                self._stops[key] = stack.pop_all()
        return self._groups[key]

    def _start(self, key: str, stack: ExitStack) -> Group:
        home = Path(tempfile.mkdtemp(prefix=f"{key}-", dir=self.folder))
        options = self.options(key)
        real = RealServer(self.launch, home / "real", options).start()
        stack.callback(real.kill)
        if not self._builds:
            return Group(real, {"itself": real}, options.tls)
        ours: dict[str, Server] = {}
        for build, tree in self._builds.items():
            ours[build] = started = TrimqServer(home / build, options, tree=tree).start()
            stack.callback(started.stop)
        return Group(real, ours, options.tls)

    def _stop(self, key: str) -> None:
        del self._groups[key]
        self._stops.pop(key).close()

    def check(self, case: Case) -> None:
        """Raises AssertionError with every difference between the outcomes of a scenario.

        Scenarios of a batch run side by side, and on a busy machine a client's 3 s are soon over, on
        either server. So one that differs is played once more, alone, and that counts; the report
        names it.
        """
        self._play(case)
        for build in self._rivals(case):
            real_server, real = self._outcome(case, REAL)
            our_server, ours = self._outcome(case, build)
            try:
                assert_same(real, real_server, ours, our_server)
            except AssertionError as crowded:
                self.again.append((case, f"{build}: {crowded}"))
                self._check_alone(case, build)

    def _check_alone(self, case: Case, build: str) -> None:
        # The group may have been stopped meanwhile, and is started anew then.
        group = self.group(case.batch.servers)
        real, ours = group.real, group.side(build)
        theirs, mine = (self._alone(case, server, group.tls) for server in (real, ours))
        assert_same(theirs, real, mine, ours)

    def _alone(self, case: Case, server: Server, tls: Tls | None) -> Outcome:
        folder = Path(tempfile.mkdtemp(prefix="alone-", dir=self.folder))
        names = [case.scenario]
        return play(case.driver, server, names, folder, how=case.batch.how, tls=tls)[case.scenario]

    def _rivals(self, case: Case) -> list[str]:
        """What is compared with the real server. Where a compiled build is, it plays everything and the
        plain one, which is of the same sources, what its driver is chosen for.
        """
        builds = list(self._builds) or ["itself"]
        if COMPILED in builds and not case.driver.plays_plain:
            return [build for build in builds if build != PLAIN]
        return builds

    def _play(self, case: Case) -> None:
        """The case's whole batch, once, on all sides at a time: scenarios mostly wait."""
        if self._key(case, REAL) in self._played:
            return
        group = self.group(case.batch.servers)
        same = (case.driver, case.batch)
        names = [c.scenario for c in self._selected if (c.driver, c.batch) == same]

        def play_on(side: str) -> tuple[Server, dict[str, Outcome]]:
            server = group.side(side)
            folder = self.folder / "-".join(self._key(case, side))
            how = case.batch.how
            return server, play(case.driver, server, names, folder, how=how, tls=group.tls)

        sides = [REAL, *self._rivals(case)]
        with ThreadPoolExecutor(len(sides)) as pool:
            for side, played in zip(sides, pool.map(play_on, sides), strict=True):
                self._played[self._key(case, side)] = played

    @staticmethod
    def _key(case: Case, side: str) -> tuple[str, str, str]:
        return case.driver.name, case.batch.name, side

    def _outcome(self, case: Case, side: str) -> tuple[Server, Outcome]:
        server, played = self._played[self._key(case, side)]
        return server, played[case.scenario]

    def close(self) -> None:
        """Stops everything; a server of ours that does not end cleanly is an error."""
        for key in list(self._groups):
            self._stop(key)


def assert_same(real: Outcome, real_server: Server, ours: Outcome, our_server: Server) -> None:
    if real.error:
        raise AssertionError(f"the scenario failed on the real server: {real.error}")
    if ours.error:
        raise AssertionError(f"the scenario failed on TriMQ: {ours.error}")
    found = list(differences(normalise(real, real_server), normalise(ours, our_server)))
    if found:
        more = f"\n... and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise AssertionError(f"{len(found)} differences\n" + "\n".join(found[:SHOWN]) + more)
