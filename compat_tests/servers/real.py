"""The real RocketMQ 5.5.0: NameServer and broker, in containers or on the JVM.

Containers (through testcontainers) are used when a Docker engine answers, or when TRIMQ_COMPAT_DOCKER=1 asks
for starting one; otherwise the same jars run on the JVM. Which of the two it was is in pytest's report header.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from compat_tests.servers.jvm import IDLE, SHORT_LIVED, Launcher, Running
from compat_tests.servers.processes import HOST, free_port
from compat_tests.servers.server import Options, Tls, write_broker_conf
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.codes import RequestCode
from trimq.remoting.clients.blocking import BlockingClient

NAMESRV_MAIN: Final = "org.apache.rocketmq.namesrv.NamesrvStartup"
BROKER_MAIN: Final = "org.apache.rocketmq.broker.BrokerStartup"
NAMESRV_HEAP: Final = ["-Xms128m", "-Xmx256m", "-XX:+UseSerialGC"]
BROKER_HEAP: Final = ["-Xms512m", "-Xmx512m", "-XX:MaxDirectMemorySize=512m", *IDLE]
# JDK 17 hides what RocketMQ's memory statistics reach for.
OPENED: Final = ["--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED"]
# A broker whose first registration was too slow tries again 10 s after its start, and then every 30 s.
REGISTERED_SECONDS: Final = 150.0


def _home(folder: Path) -> Path:
    (folder / "conf").mkdir(parents=True, exist_ok=True)
    (folder / "tmp").mkdir(exist_ok=True)
    return folder


def _folders(home: Path) -> list[str]:
    """Whatever a JVM writes by itself: libraries and certificates that it unpacks would outlive it elsewhere."""
    return [f"-Duser.home={home}", f"-Djava.io.tmpdir={home / 'tmp'}"]


def _tls_arguments(home: Path, tls: Tls | None) -> list[str]:
    """Java's TlsSystemConfig: a property file; without one the server signs a test certificate."""
    if tls is None:
        return []
    # A container sees its home only.
    tls = tls.copied_to(home)
    file = tls.write_properties(home / "tls.properties")
    # Then the broker talks TLS to the NameServer, too.
    return [f"-Dtls.config.file={file}", "-Dtls.server.mode=enforcing"]


class _Jvm:
    """What NameServer and broker have in common: one JVM that is started again with the same arguments."""

    mark = "boot success"
    # It takes 3 s alone, and beside three other parts of the tests it has taken more than two minutes.
    patience = 300.0

    def __init__(self, launch: Launcher, home: Path, name: str) -> None:
        self._launch = launch
        self.home = _home(home)
        self._log = home / f"{name}.log"
        self._running: Running | None = None

    def arguments(self) -> Sequence[str]:
        raise NotImplementedError

    def start(self) -> None:
        self._running = self._launch.java(self.arguments(), self.home, self._log)
        self._running.wait_for(self.mark, self.patience)

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None

    def kill(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running = None

    @property
    def pid(self) -> int:
        if self._running is None:
            raise RuntimeError("not running")
        return self._running.pid


class RealNameServer(_Jvm):
    """NamesrvStartup on a port of its own."""

    def __init__(
        self,
        launch: Launcher,
        home: Path,
        tls: Tls | None = None,
        more: Sequence[str] = SHORT_LIVED,
    ) -> None:
        """`more` options of its JVM."""
        super().__init__(launch, home, "namesrv")
        self._more = more
        self._port = free_port()
        self._tls = tls
        self.addr = f"{HOST}:{self._port}"

    def arguments(self) -> Sequence[str]:
        conf = self.home / "namesrv.conf"
        conf.write_text(f"listenPort={self._port}\nbindAddress={HOST}\n")
        options = [
            *NAMESRV_HEAP,
            *self._more,
            *OPENED,
            *_folders(self.home),
            *_tls_arguments(self.home, self._tls),
        ]
        return [*options, NAMESRV_MAIN, "-c", str(conf)]


class RealBroker(_Jvm):
    """BrokerStartup, registered with the NameServer(s) it is given."""

    def __init__(
        self,
        launch: Launcher,
        home: Path,
        namesrv: str,
        options: Options,
        heap: Sequence[str] = BROKER_HEAP,
    ) -> None:
        super().__init__(launch, home, "broker")
        self._heap = heap
        self._port = free_port()
        self._options = options
        self.store = home / "store"
        self.addr = f"{HOST}:{self._port}"
        self.settings: Mapping[str, str] = {
            "storePathCommitLog": str(self.store / "commitlog"),
            # TransactionMetricsFlushService keeps a core busy until it has written for the first time.
            "transactionMetricFlushInterval": "500",
            **options.merged(),
            "namesrvAddr": namesrv,
            "listenPort": str(self._port),
            # On a busy machine it would refuse sends that waited for 0.2 s, and call its page cache busy.
            "waitTimeMillsInSendQueue": "10000",
            "osPageCacheBusyTimeOutMills": "20000",
            "bindAddress": HOST,
            "storePathRootDir": str(self.store),
        }

    def arguments(self) -> Sequence[str]:
        conf = write_broker_conf(self.home / "broker.conf", dict(self.settings))
        java = [*self._heap, *OPENED, *_folders(self.home)]
        java += _tls_arguments(self.home, self._options.tls)
        return [*java, BROKER_MAIN, "-c", str(conf)]


class RealServer:
    """NameServer plus broker: see server.Server."""

    kind = "real"

    def __init__(
        self,
        launch: Launcher,
        home: Path,
        options: Options | None = None,
        heap: Sequence[str] = BROKER_HEAP,
    ) -> None:
        chosen = options or Options()
        self._plain = chosen.tls is None
        self.description = launch.description
        # Whoever measures a broker gives it other options, and its NameServer none.
        more = SHORT_LIVED if heap is BROKER_HEAP else ()
        self.namesrv = RealNameServer(launch, home / "namesrv", chosen.tls, more)
        self.broker = RealBroker(launch, home / "broker", self.namesrv.addr, chosen, heap)

    def start(self) -> RealServer:
        try:
            self.namesrv.start()
            self.broker.start()
            if self._plain:
                wait_until_routed(self.namesrv.addr)
        except BaseException:
            self.kill()
            raise
        return self

    @property
    def namesrv_addr(self) -> str:
        return self.namesrv.addr

    @property
    def broker_addr(self) -> str:
        return self.broker.addr

    @property
    def broker_pid(self) -> int:
        return self.broker.pid

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill9(self) -> None:
        self.kill()
        self.start()

    def restart_namesrv(self) -> None:
        self.namesrv.stop()
        self.namesrv.start()

    def stop(self) -> None:
        self.broker.stop()
        self.namesrv.stop()

    def kill(self) -> None:
        self.broker.kill()
        self.namesrv.kill()


def wait_until_routed(namesrv: str, topic: str = "SELF_TEST_TOPIC") -> None:
    """Return when the NameServer has a route for a topic that every broker has from its start.

    A started broker need not be registered: on a busy machine its first attempt may time out.
    """
    deadline = time.monotonic() + REGISTERED_SECONDS
    with BlockingClient(namesrv, timeout=REGISTERED_SECONDS) as client:
        while True:
            asked = client.start(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
            if client.finish(asked).code == 0:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{namesrv} has no route for {topic}: the broker did not register"
                )
            time.sleep(0.2)


def wait_until_known(namesrv: str, brokers: Collection[str]) -> None:
    """Return when the NameServer knows the brokers of these names; see `wait_until_routed`."""
    with BlockingAdminClient(namesrv, timeout=REGISTERED_SECONDS) as admin:
        until(
            lambda: set(brokers) <= set(admin.cluster_info().broker_addr_table),
            f"{namesrv} knows {', '.join(brokers)}",
            REGISTERED_SECONDS,
        )
