"""The commands of the chart, word for word, with TriMQ of this checkout: they come up, pass the probes, and stop."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from compat_tests.releases.api_server import ApiServer, api_server
from compat_tests.releases.charts import EXAMPLES, NAMESPACE, notes, rendered
from compat_tests.releases.pods import Cluster, RunningPod, running
from tests.patience import until
from trimq.admin import BlockingAdminClient

pytestmark = pytest.mark.usefixtures("with_helm")

STATEFULSET = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/my-trimq-broker"


def commands_of_notes(*words: object) -> list[list[str]]:
    """Without `kubectl exec`."""
    start = f"kubectl -n {NAMESPACE} exec my-trimq-broker-0 -- "
    return [
        shlex.split(line.strip().removeprefix(start))
        for line in notes(*words).splitlines()
        if line.strip().startswith(start)
    ]


def play_notes(cluster: Cluster, *words: object) -> list[str]:
    """What each of them has said."""
    said = []
    for command in commands_of_notes(*words):
        done = cluster.brokers[0].execute(*command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        said.append(done.stdout)
    assert "world" in said[1]
    return said


def stop_all(cluster: Cluster) -> None:
    """As Kubernetes does, within what it grants; nothing complains."""
    for one in cluster.pods:
        seconds = one.pod.spec["terminationGracePeriodSeconds"]
        assert one.process.stop(seconds) == 0, one.log
        assert "Traceback" not in one.log
        # A key that TriMQ does not know, or one without effect.
        assert "without effect" not in one.log
        # Pods start in any order, and one was killed: others miss it then.
        said = [line for line in one.log.splitlines() if " lost" not in line]
        assert not re.search(r"\b(WARNING|ERROR)\b", "\n".join(said)), one.log


def test_by_default(tmp_path: Path) -> None:
    with running(tmp_path, rendered()) as cluster:
        *_, health = play_notes(cluster)
        assert "not healthy" not in health
        (broker,) = cluster.brokers
        # A pod that was killed finds its messages, and is the broker that it was.
        broker.kill()
        broker.start()
        broker.wait_until_ready()
        done = broker.execute("mqadmin", "consumeMessage", "-t", "Hello")
        assert "world" in done.stdout, done.stderr
        assert broker.pod.name in broker.execute("mqadmin", "clusterList").stdout
        # Nothing was written elsewhere.
        assert {path.name for path in broker.folder.iterdir()} == {"home", "etc", "tmp", "log"}
        stop_all(cluster)


def test_three_brokers(tmp_path: Path) -> None:
    flags = ("-f", EXAMPLES / "three-brokers.yaml")
    with running(tmp_path, rendered(*flags, "--set", "log.format=text")) as cluster:
        assert len(cluster.brokers) == len(cluster.name_servers) == 3
        listed = cluster.brokers[0].execute("mqadmin", "clusterList").stdout
        for one in cluster.brokers:
            assert re.search(rf"orders +{one.pod.name} .*{one.pod.address}:10911", listed), listed
        # Topics have to be made first, as its settings say.
        words = ("mqadmin", "updateTopic", "-c", "orders", "-t", "Hello")
        assert cluster.brokers[0].execute(*words).returncode == 0
        play_notes(cluster, *flags)
        # A setting that an operator changes lasts, and one of the values holds.
        first = cluster.brokers[0]
        for key, text in (("brokerPermission", "4"), ("fileReservedTime", "1")):
            words = ("mqadmin", "updateBrokerConfig", "-b", f"{first.pod.address}:10911")
            assert first.execute(*words, "-k", key, "-v", text).returncode == 0
        assert first.process.stop(60) == 0
        first.start()
        first.wait_until_ready()
        words = ("mqadmin", "getBrokerConfig", "-b", f"{first.pod.address}:10911")
        said = first.execute(*words).stdout
        assert re.search(r"brokerPermission += +4\b", said), said
        assert re.search(r"fileReservedTime += +168\b", said), said


def secret() -> dict[str, str]:
    """As cert-manager makes it."""
    authority = trustme.CA()
    issued = authority.issue_cert("trimq.example")
    return {
        "tls.crt": "".join(one.bytes().decode() for one in issued.cert_chain_pems),
        "tls.key": issued.private_key_pem.bytes().decode(),
        "ca.crt": authority.cert_pem.bytes().decode(),
    }


def test_tls(tmp_path: Path) -> None:
    flags = ("-f", EXAMPLES / "tls.yaml")
    with running(tmp_path, rendered(*flags), secret()) as cluster:
        play_notes(cluster, *flags)
        # Without TLS, and without a certificate of its own, nobody gets in.
        (broker,) = cluster.brokers
        plain = {"MQADMIN_TLS": "", "MQADMIN_TLS_CA": "", "MQADMIN_TLS_ANY_NAME": ""}
        bare = {"MQADMIN_TLS_CERT": "", "MQADMIN_TLS_KEY": ""}
        for more in (bare, {**plain, **bare}):
            done = broker.execute("mqadmin", "--timeout", "3", "clusterList", more=more)
            assert done.returncode != 0, done.stdout
        done = broker.execute("mqadmin", "clusterList")
        assert broker.pod.name in done.stdout


@pytest.fixture(scope="module")
def two(
    tmp_path_factory: pytest.TempPathFactory, with_helm: str
) -> Iterator[tuple[Cluster, ApiServer]]:
    """Two brokers, and an API server."""
    folder = tmp_path_factory.mktemp("two")
    values = (
        "broker.replicas=2",
        "broker.drain.timeoutSeconds=120",
        "broker.drain.restartSeconds=1",
    )
    objects = rendered(*(word for one in values for word in ("--set", one)))
    with api_server(folder / "account", NAMESPACE) as api, running(folder, objects) as cluster:
        yield cluster, api


def before_stop(
    pod: RunningPod, api: ApiServer, statefulset: dict[str, Any] | None, **more: str
) -> tuple[int, str]:
    """Its exit code and what it said when the API server has that StatefulSet."""
    api.found.clear()
    api.asked.clear()
    if statefulset is not None:
        api.found[STATEFULSET] = statefulset
    pod.said.unlink(missing_ok=True)
    words = pod.pod.container["lifecycle"]["preStop"]["exec"]["command"]
    also = ("--account", str(api.account))
    done = pod.execute(*words, also=also, more={**api.environment, **more})
    assert done.stdout == done.stderr == ""
    return done.returncode, pod.said.read_text()


def wanted(replicas: int, **metadata: str) -> dict[str, Any]:
    return {"metadata": {"name": "my-trimq-broker", **metadata}, "spec": {"replicas": replicas}}


def is_writable(cluster: Cluster, pod: RunningPod) -> bool:
    """Whether clients may send to it, as NameServers say."""
    listed = cluster.brokers[0].execute("mqadmin", "topicRoute", "-t", "TBW102").stdout
    route = re.search(rf'"brokerName":\s*"{pod.pod.name}",\s*"perm":\s*(\d)', listed)
    return route is not None and bool(int(route[1]) & 2)


def start_again(cluster: Cluster, pod: RunningPod) -> None:
    """Nothing of what was done before its stop is left: it takes messages."""
    pod.start()
    pod.wait_until_ready()
    assert is_writable(cluster, pod)


@pytest.mark.parametrize(
    ("statefulset", "why"),
    [
        (
            {"metadata": {}, "spec": {"replicas": 1, "ordinals": {"start": 1}}},
            "my-trimq-broker-1 comes back: 1 brokers are wanted; not drained",
        ),
        (wanted(0), "no broker shall be left, the claims stay; not drained"),
        (
            wanted(1, deletionTimestamp="2026-01-31T12:00:00Z"),
            "all are removed, the claims stay; not drained",
        ),
        (None, "all are removed, the claims stay; not drained"),
    ],
    ids=("alone", "none", "deleted", "gone"),
)
def test_a_broker_that_is_not_replaced_by_others_is_not_drained(
    two: tuple[Cluster, ApiServer], statefulset: dict[str, Any] | None, why: str
) -> None:
    cluster, api = two
    pod = cluster.brokers[1]
    code, said = before_stop(pod, api, statefulset)
    assert (code, said) == (0, f"before the stop: {why}\n")
    assert api.asked == [STATEFULSET]
    assert is_writable(cluster, pod)


@pytest.mark.parametrize("replicas", [2, 3], ids=("restart", "scale-up"))
def test_a_broker_that_comes_back_takes_no_messages_before(
    two: tuple[Cluster, ApiServer], replicas: int
) -> None:
    cluster, api = two
    other, pod = cluster.brokers
    began = time.monotonic()
    code, said = before_stop(pod, api, wanted(replicas))
    assert time.monotonic() >= began + 1
    why = f"my-trimq-broker-1 comes back: {replicas} brokers are wanted; others take what is sent"
    first, *others = said.splitlines()
    assert (code, first) == (0, f"before the stop: {why}")
    assert re.search(r"wipe write perm of broker\[my-trimq-broker-1\] .* OK", "\n".join(others))
    assert not is_writable(cluster, pod)
    assert is_writable(cluster, other)
    assert pod.process.stop(60) == 0
    start_again(cluster, pod)


def test_a_restart_need_not_wait(two: tuple[Cluster, ApiServer]) -> None:
    cluster, api = two
    pod = cluster.brokers[1]
    # As the chart's command is with another value.
    command = pod.pod.container["lifecycle"]["preStop"]["exec"]["command"]
    at = command.index("--restart-wait") + 1
    before, command[at] = command[at], "0"
    try:
        code, said = before_stop(pod, api, wanted(2))
    finally:
        command[at] = before
    assert (code, said) == (
        0,
        "before the stop: my-trimq-broker-1 comes back: 2 brokers are wanted; not drained\n",
    )
    assert is_writable(cluster, pod)


def test_what_cannot_be_asked_stops_nobody(two: tuple[Cluster, ApiServer]) -> None:
    cluster, api = two
    pod = cluster.brokers[1]
    (api.account / "token").write_text("another")
    try:
        code, said = before_stop(pod, api, wanted(1))
    finally:
        (api.account / "token").write_text("the-token")
    assert code == 0
    assert "it is not known whether my-trimq-broker-1 comes back" in said
    assert "401" in said
    code, said = before_stop(pod, api, wanted(1), KUBERNETES_SERVICE_PORT="1")
    assert code == 0
    assert "refused" in said
    assert is_writable(cluster, pod)


def test_a_broker_that_leaves_is_read_first(two: tuple[Cluster, ApiServer]) -> None:
    cluster, api = two
    stays, leaves = cluster.brokers
    assert is_writable(cluster, leaves)
    began = time.monotonic()
    code, said = before_stop(leaves, api, wanted(1))
    assert code == 0, said
    assert "my-trimq-broker-1 does not come back: 1 brokers are wanted; it is drained" in said
    assert "my-trimq-broker-1 is empty and unregistered" in said
    print(f"drained in {time.monotonic() - began:.1f} s")
    assert leaves.process.stop(60) == 0
    until(lambda: leaves.pod.name not in stays.execute("mqadmin", "clusterList").stdout)
    assert is_writable(cluster, stays)
    # Scaled up again, it takes messages as before.
    start_again(cluster, leaves)


def test_what_nobody_reads_is_not_waited_for_longer(two: tuple[Cluster, ApiServer]) -> None:
    cluster, api = two
    leaves = cluster.brokers[1]
    address = f"{leaves.pod.address}:10911"
    words = ("mqadmin", "updateTopic", "-b", address, "-t", "Unread")
    assert leaves.execute(*words).returncode == 0
    words = (
        "mqadmin",
        "sendMessage",
        "-t",
        "Unread",
        "-p",
        "one",
        "-b",
        leaves.pod.name,
        "-i",
        "0",
    )
    done = leaves.execute(*words)
    assert done.returncode == 0, done.stderr
    words = ("mqadmin", "updateSubGroup", "-b", address, "-g", "away")
    assert leaves.execute(*words).returncode == 0
    with BlockingAdminClient(f"{cluster.name_servers[0].pod.address}:9876") as admin:
        place = admin.place_of("Unread", leaves.pod.name, 0)
        admin.commit_offset(place.addr, "away", place.queue, 0)
    # As the chart's command is with another value.
    command = leaves.pod.container["lifecycle"]["preStop"]["exec"]["command"]
    at = command.index("--drain-timeout") + 1
    before, command[at] = command[at], "2"
    code, said = before_stop(leaves, api, wanted(1))
    command[at] = before
    assert code == 1
    assert "away has 1 messages of Unread to read" in said
