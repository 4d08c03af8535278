"""The real server and TriMQ side by side, and the outcomes of drivers that played on both."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import trustme
from cryptography.hazmat.primitives import serialization

from compat_tests.comparing.records import Records, Seen, Subject, assert_still, compared
from compat_tests.scenarios.batches import Case
from compat_tests.scenarios.driver import play
from compat_tests.scenarios.recorded import subject
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import Options, Server, Tls

# Kinds of servers by name, apart from "tls".
SETTINGS: Final[dict[str, dict[str, str]]] = {
    "plain": {},
    # Topics and groups must exist: what a careful operator sets.
    "strict": {"autoCreateTopicEnable": "false", "autoCreateSubscriptionGroup": "false"},
    # A broker that is being emptied.
    "readonly": {"brokerPermission": "4"},
    # Traces have a topic from the start, and what waits can be recalled.
    "traced": {"traceTopicEnable": "true", "recallMessageEnable": "true"},
    # Killed while others play on the plain ones.
    "killed": {},
    # Producers are asked within seconds, and not often.
    "transactions": {
        "transactionCheckInterval": "3000",
        "transactionTimeOut": "5000",
        "transactionCheckMax": "3",
    },
    # As often, for clients that say only every 30 s who they are.
    "patient": {
        "transactionCheckInterval": "3000",
        "transactionTimeOut": "5000",
        "transactionCheckMax": "100",
    },
    "filters": {"enablePropertyFilter": "true"},
    "timers": {"recallMessageEnable": "true"},
    # Everything that clients behind the proxy may ask for.
    "proxy": {
        "enableLmq": "true",
        "enableMultiDispatch": "true",
        "enablePropertyFilter": "true",
        "recallMessageEnable": "true",
        "transactionCheckInterval": "3000",
        "transactionTimeOut": "3000",
    },
    # The same for hand-made calls, and topics of every type.
    "proxy_calls": {
        "enableLmq": "true",
        "enableMultiDispatch": "true",
        "enablePropertyFilter": "true",
        "recallMessageEnable": "true",
        "enableMixedMessageType": "true",
    },
    "lmq": {"enableLmq": "true", "enableMultiDispatch": "true"},
}
SHOWN: Final = 40
# How often one that could not end is played again.
ALONE: Final = 2
REAL: Final = "real"
PLAIN: Final = "pure"
COMPILED: Final = "compiled"
ITSELF: Final = "itself"


class Group:
    """The real server and ours, by build, with the same options. The real one starts when it is asked for."""

    def __init__(
        self, launch: Launcher, home: Path, options: Options, builds: Mapping[str, Path]
    ) -> None:
        """`builds` are the trees that TriMQ runs from; without any the real server is its own rival."""
        self.tls = options.tls
        self.settings = options.settings
        self._real = RealServer(launch, home / "real", options)
        self._running = False
        # Sides play in threads of their own.
        self._starting = threading.Lock()
        self._stops = ExitStack()
        self.ours: dict[str, Server] = {}
        with ExitStack() as stack:
            for build, tree in builds.items():
                ours = self.ours[build] = TrimqServer(home / build, options, tree=tree).start()
                stack.callback(ours.stop)
            self._stops = stack.pop_all()

    @property
    def real(self) -> Server:
        with self._starting:
            if not self._running:
                self._real.start()
                self._stops.callback(self._real.kill)
                self._running = True
        return self._real

    def side(self, name: str) -> Server:
        return self.real if name in (REAL, ITSELF) else self.ours[name]

    def close(self) -> None:
        """Stops everything; a server of ours that does not end cleanly is an error."""
        self._stops.close()


def make_tls(folder: Path) -> Tls:
    """Certificates for 127.0.0.1, of an authority that exists for this session only."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    for name in ("server", "client"):
        issued = authority.issue_cert("127.0.0.1", "localhost")
        chain = b"".join(blob.bytes() for blob in issued.cert_chain_pems)
        (folder / f"{name}.pem").write_bytes(chain)
        # Netty reads PKCS 8 only.
        key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
        (folder / f"{name}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    names = ("server.pem", "server.key", "authority.pem", "client.pem", "client.key")
    return Tls(*(folder / name for name in names))


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
        records: Records,
    ) -> None:
        """`builds` are the trees that TriMQ runs from; without any the real server is its own rival."""
        self.launch = launch
        self.folder = folder
        self.records = records
        self._selected = list(selected)
        self._builds = builds
        self._groups: dict[str, Group] = {}
        # By driver, batch and side.
        self._seen: dict[tuple[str, str, str], dict[str, Seen]] = {}
        # Cases that differed in the crowd of their batch and were played again alone, and how.
        self.again: list[tuple[str, str]] = []

    def options(self, key: str) -> Options:
        if key == "tls":
            return Options(tls=make_tls(self.folder / "tls"))
        return Options(SETTINGS[key])

    def group(self, key: str) -> Group:
        """The servers that are started with the options of this name."""
        if key not in self._groups:
            for other in self._groups.keys() - {"plain"} if key != "plain" else ():
                self._groups.pop(other).close()
            home = Path(tempfile.mkdtemp(prefix=f"{key}-", dir=self.folder))
            self._groups[key] = Group(self.launch, home, self.options(key), self._builds)
        return self._groups[key]

    def check(self, case: Case) -> None:
        """Raises AssertionError with every difference between the outcomes of a scenario.

        Scenarios of a batch run side by side, and on a busy machine a client's 3 s are soon over, on
        either server. So one that differs is played once more, alone and live, and that counts, unless it
        could not end there either, which says nothing of what it would have seen: then a last time. The
        report names each.
        """
        self._play(case)
        recorded = self._recorded(case).get(case.scenario)
        real = self._seen[self._key(case, REAL)][case.scenario]
        if recorded is not None and recorded is not real:
            real = self._check_record(case, recorded, real)
        for build in self._rivals(case):
            real = self._check_build(case, build, recorded, real)
        self.records.keep(self._subject(case), {case.scenario: real})

    def _check_record(self, case: Case, recorded: Seen, real: Seen) -> Seen:
        """What the real server did when it was as recorded."""
        for alone in range(ALONE):
            try:
                assert_still(self._subject(case), recorded, real)
                return real
            except AssertionError as crowded:
                if alone and not real.error:
                    raise
                self.again.append((str(case), f"record: {crowded}"))
                real = self._alone(case, REAL)
        assert_still(self._subject(case), recorded, real)
        return real

    def _check_build(self, case: Case, build: str, recorded: Seen | None, real: Seen) -> Seen:
        """What the real server did when ours did the same."""
        ours = self._seen[self._key(case, build)][case.scenario]
        for alone in range(ALONE):
            try:
                self._assert_all_same(case, recorded, real, ours)
                return real
            except AssertionError as crowded:
                if alone and not real.error and not ours.error:
                    raise
                self.again.append((str(case), f"{build}: {crowded}"))
                real = self._alone(case, REAL)
                ours = self._alone(case, build)
        self._assert_all_same(case, recorded, real, ours)
        return real

    def _assert_all_same(self, case: Case, recorded: Seen | None, real: Seen, ours: Seen) -> None:
        newer = self.records.newer(self._subject(case), case.scenario) if self._builds else None
        assert_same(newer or real, ours)
        if recorded is not None and recorded is not real:
            assert_still(self._subject(case), recorded, real)

    def play_together(self, *rows: Sequence[Case]) -> None:
        """Play the batches of these cases before somebody asks: rows side by side, those of a row in turn.

        For scenarios that wait for long. Batches that restart the same servers belong into one row.
        """
        for row in rows:
            for case in row:
                # Servers are started by one thread.
                self.group(case.batch.servers)
        with ThreadPoolExecutor(len(rows)) as pool:
            for done in [pool.submit(self._play_row, row) for row in rows]:
                done.result()

    def _play_row(self, row: Sequence[Case]) -> None:
        for case in row:
            self._play(case)

    def logs(self, case: Case) -> list[Path]:
        """What the driver printed in the case's batch, on each side."""
        side = "-".join((case.driver.name, case.batch.name, "*"))
        return sorted(self.folder.glob(f"{side}/*/driver.log"))

    def _rivals(self, case: Case) -> list[str]:
        """What is compared with the real server. Where a compiled build is, it plays everything and the
        plain one, which is of the same sources, what its driver is chosen for.
        """
        builds = list(self._builds) or [ITSELF]
        if COMPILED in builds and not case.driver.plays_plain:
            return [build for build in builds if build != PLAIN]
        return builds

    def _subject(self, case: Case) -> Subject:
        return subject(case.driver, case.batch, SETTINGS.get(case.batch.servers, {}))

    def _recorded(self, case: Case) -> dict[str, Seen]:
        return self.records.find(self._subject(case))

    def _play(self, case: Case) -> None:
        """The case's whole batch, once, on all sides at a time: scenarios mostly wait."""
        if self._key(case, REAL) in self._seen:
            return
        group = self.group(case.batch.servers)
        same = (case.driver, case.batch)
        names = [c.scenario for c in self._selected if (c.driver, c.batch) == same]
        recorded = self._recorded(case)
        sides = self._rivals(case)
        if recorded.keys() >= set(names) and not self.records.is_due(self._subject(case).name):
            self._seen[self._key(case, REAL)] = recorded
        else:
            sides.append(REAL)

        def play_on(side: str) -> dict[str, Seen]:
            folder = self.folder / "-".join(self._key(case, side))
            return self._live(case, group, side, names, folder)

        with ThreadPoolExecutor(len(sides)) as pool:
            for side, seen in zip(sides, pool.map(play_on, sides), strict=True):
                self._seen[self._key(case, side)] = seen

    def _live(
        self, case: Case, group: Group, side: str, names: list[str], folder: Path
    ) -> dict[str, Seen]:
        server, how = group.side(side), case.batch.how
        played = play(
            case.driver, server, names, folder, how=how, tls=group.tls, timeout=case.batch.limit
        )
        return {name: Seen.of(outcome, server) for name, outcome in played.items()}

    def _alone(self, case: Case, side: str) -> Seen:
        # The group may have been stopped meanwhile, and is started anew then.
        group = self.group(case.batch.servers)
        folder = Path(tempfile.mkdtemp(prefix="alone-", dir=self.folder))
        return self._live(case, group, side, [case.scenario], folder)[case.scenario]

    @staticmethod
    def _key(case: Case, side: str) -> tuple[str, str, str]:
        return case.driver.name, case.batch.name, side

    def close(self) -> None:
        """Stops everything; a server of ours that does not end cleanly is an error."""
        self.records.write()
        while self._groups:
            self._groups.popitem()[1].close()


def assert_same(real: Seen, ours: Seen) -> None:
    if real.error:
        raise AssertionError(f"the scenario failed on the real server: {real.error}")
    if ours.error:
        raise AssertionError(f"the scenario failed on TriMQ: {ours.error}")
    found = compared(real.outcome, ours.outcome)
    if found:
        more = f"\n... and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise AssertionError(f"{len(found)} differences\n" + "\n".join(found[:SHOWN]) + more)
