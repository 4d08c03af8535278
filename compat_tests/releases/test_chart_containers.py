"""The containers of the chart under Docker: their user, root, memory, probes and stop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.releases.charts import rendered
from compat_tests.releases.containers import ContainerPod, obstacle, running
from tests.patience import until

pytestmark = pytest.mark.usefixtures("with_helm")

BROKER = "my-trimq-broker-0"
NAMESRV = "my-trimq-namesrv-0"
# Of control groups, the second version or the first.
_PEAK = "cd /sys/fs/cgroup; cat memory.peak memory/memory.max_usage_in_bytes 2> /dev/null"


@pytest.fixture(scope="module")
def pods(
    tmp_path_factory: pytest.TempPathFactory, with_helm: str
) -> Iterator[dict[str, ContainerPod]]:
    if why := obstacle():
        pytest.skip(why)
    with running(tmp_path_factory.mktemp("pods"), rendered()) as pods:
        yield pods


def test_they_come_up_as_they_are_rendered(pods: dict[str, ContainerPod]) -> None:
    broker = pods[BROKER]
    done = broker.execute("mqadmin", "sendMessage", "-t", "Hello", "-p", "world")
    assert done.returncode == 0, done.stderr
    assert "world" in broker.execute("mqadmin", "consumeMessage", "-t", "Hello").stdout
    done = broker.execute("trimq", "health")
    assert done.returncode == 0, done.stdout
    # Clients are told its name, not its address.
    listed = broker.execute("mqadmin", "topicRoute", "-t", "TBW102").stdout
    assert f"{broker.pod.host}:10911" in listed
    assert broker.execute("id", "-u").stdout.strip() == "3000"
    assert broker.execute("sh", "-c", "echo > /home/rocketmq/x").returncode != 0


def test_a_pod_is_started_again_elsewhere(pods: dict[str, ContainerPod]) -> None:
    broker = pods[BROKER]
    before = broker.address
    broker.execute("mqadmin", "sendMessage", "-t", "Kept", "-p", "kept")
    assert broker.stop() == 0, broker.log
    broker.remove()
    broker.start()
    broker.wait_until_ready()
    print(f"{before} -> {broker.address}")
    done = broker.execute("mqadmin", "consumeMessage", "-t", "Kept")
    assert "kept" in done.stdout, done.stderr


def test_what_is_said_before_the_stop_is_in_the_log(pods: dict[str, ContainerPod]) -> None:
    """There is no API server here, so it is taken for a restart."""
    broker = pods[BROKER]
    command = broker.pod.container["lifecycle"]["preStop"]["exec"]["command"]
    done = broker.execute(*command)
    assert done.returncode == 0, done.stderr
    until(lambda: f"it is not known whether {BROKER} comes back" in broker.log)


def test_a_drain_has_room_beside_the_broker(pods: dict[str, ContainerPod]) -> None:
    broker = pods[BROKER]
    words = ("drainBroker", "-b", BROKER, "--drain-timeout", "3")
    done = broker.execute("mqadmin", *words)
    assert "not empty after 3 s" in done.stderr + done.stdout
    assert broker.execute("mqadmin", "addWritePerm", "-b", BROKER).returncode == 0
    used = broker.execute("sh", "-c", _PEAK).stdout
    print(f"most memory of the broker's container: {int(used or 0) >> 20} MiB")


def test_both_end_cleanly(pods: dict[str, ContainerPod]) -> None:
    for name in (BROKER, NAMESRV):
        assert pods[name].stop() == 0, pods[name].log
