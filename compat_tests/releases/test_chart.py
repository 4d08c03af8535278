"""deploy/helm/trimq: what Helm makes of it, with its defaults and with the files beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trimq
from compat_tests.releases.charts import (
    CHART,
    EXAMPLES,
    NAMESPACE,
    Pod,
    Refused,
    expanded,
    one_of,
    rendered,
    run_helm,
)

pytestmark = pytest.mark.usefixtures("with_helm")

TLS = EXAMPLES / "tls.yaml"
THREE = EXAMPLES / "three-brokers.yaml"
CASES = {"default": (), "tls": ("-f", TLS), "three-brokers": ("-f", THREE)}
# The oldest that Chart.yaml takes, and the newest that was tried.
KUBERNETES = ("1.25", "1.37")


@pytest.fixture(scope="module", params=CASES)
def objects(request: pytest.FixtureRequest, with_helm: str) -> list[dict[str, Any]]:
    return rendered(*CASES[request.param])


def broker(objects: list[dict[str, Any]], number: int = 0) -> Pod:
    return Pod(one_of(objects, "StatefulSet", "my-trimq-broker"), number)


def namesrv(objects: list[dict[str, Any]], number: int = 0) -> Pod:
    return Pod(one_of(objects, "StatefulSet", "my-trimq-namesrv"), number)


@pytest.mark.parametrize("case", CASES)
def test_helm_finds_nothing_to_complain_of(case: str) -> None:
    said = run_helm("lint", "--strict", CHART, *CASES[case])
    assert "WARNING" not in said
    # An icon is for shops of charts.
    assert said.count("[INFO]") <= said.count("icon is recommended")


def test_its_version_is_that_of_the_package() -> None:
    said = run_helm("show", "chart", CHART)
    assert f"appVersion: {trimq.__version__}" in said.replace('"', "")


def test_all_examples_are_played() -> None:
    assert {path for _, path in filter(None, CASES.values())} == set(EXAMPLES.iterdir())


def test_kubernetes_takes_every_object(objects: list[dict[str, Any]]) -> None:
    validate = pytest.importorskip(
        "kubernetes_validate",
        reason="no schemas of Kubernetes here: pip install kubernetes-validate",
    )
    own = [one for one in objects if one["kind"] != "ServiceMonitor"]
    for version in KUBERNETES:
        for one in own:
            validate.validate(one, version, strict=True)
        with pytest.raises(validate.ValidationError):
            validate.validate({**own[0], "speck": {}}, version, strict=True)


def test_what_there_is(objects: list[dict[str, Any]]) -> None:
    found = sorted((one["kind"], one["metadata"]["name"]) for one in objects)
    both = ("my-trimq-broker", "my-trimq-namesrv")
    assert [one for one in found if one[0] != "ServiceMonitor"] == [
        ("ConfigMap", both[0]),
        *(("PodDisruptionBudget", name) for name in both),
        ("Role", both[0]),
        ("RoleBinding", both[0]),
        *(("Service", name) for name in both),
        ("ServiceAccount", both[0]),
        *(("StatefulSet", name) for name in both),
    ]


def test_labels_find_what_they_shall(objects: list[dict[str, Any]]) -> None:
    for part in ("broker", "namesrv"):
        name = f"my-trimq-{part}"
        one = one_of(objects, "StatefulSet", name)
        wanted = {
            "app.kubernetes.io/name": "trimq",
            "app.kubernetes.io/instance": "my",
            "app.kubernetes.io/component": part,
        }
        assert one["spec"]["selector"]["matchLabels"] == wanted
        assert wanted.items() <= one["spec"]["template"]["metadata"]["labels"].items()
        service = one_of(objects, "Service", name)
        assert service["spec"]["selector"] == wanted
        assert service["spec"]["clusterIP"] == "None"
        assert service["spec"]["publishNotReadyAddresses"] is True
        assert one["spec"]["serviceName"] == name
        budget = one_of(objects, "PodDisruptionBudget", name)
        assert budget["spec"] == {"maxUnavailable": 1, "selector": {"matchLabels": wanted}}
        ports = dict(Pod(one, 0).ports())
        for port in service["spec"]["ports"]:
            assert port["port"] == ports[port["targetPort"]]


def test_a_broker_by_default() -> None:
    pod = broker(rendered(), 2)
    assert pod.command == [
        *("trimq", "server"),
        *("--listen", "0.0.0.0:10911"),
        *("--store", "/home/rocketmq/store"),
        *("--metrics", "0.0.0.0:5557"),
        *("--log-level", "info", "--log-format", "text"),
        *("--set", "brokerClusterName=DefaultCluster"),
        *("--set", "brokerIP1=my-trimq-broker-2.my-trimq-broker.queues.svc.cluster.local"),
        *("--set", "brokerName=my-trimq-broker-2"),
        *("--set", "haEnable=false"),
    ]
    assert pod.settings["brokerIP1"] == pod.host
    assert pod.environment == {
        "POD_NAME": "my-trimq-broker-2",
        "POD_IP": "127.0.0.1",
        "NAMESRV_ADDR": "my-trimq-namesrv-0.my-trimq-namesrv.queues.svc.cluster.local:9876",
    }
    assert dict(pod.ports()) == {"broker": 10911, "vip": 10909, "metrics": 5557}
    assert pod.container["image"] == f"trimq:{trimq.__version__}"


def test_a_name_server_by_default() -> None:
    pod = namesrv(rendered())
    assert pod.command == [
        *("trimq", "namesrv"),
        *("--listen", "0.0.0.0:9876"),
        *("--log-level", "info", "--log-format", "text"),
        *("--set", "configStorePath=/home/rocketmq/namesrv/namesrv.properties"),
        *("--set", "kvConfigPath=/home/rocketmq/namesrv/kvConfig.json"),
    ]
    assert dict(pod.ports()) == {"namesrv": 9876}
    assert {"name": "files", "emptyDir": {"sizeLimit": "64Mi"}} in pod.spec["volumes"]


def test_three_brokers() -> None:
    objects = rendered(*CASES["three-brokers"])
    pod = broker(objects, 2)
    assert pod.settings == {
        "brokerIP1": pod.host,
        "brokerName": "my-trimq-broker-2",
        "brokerClusterName": "orders",
        "haEnable": "false",
        "flushDiskType": "SYNC_FLUSH",
        "fileReservedTime": "168",
        "autoCreateTopicEnable": "false",
    }
    assert pod.environment["NAMESRV_ADDR"].split(";") == [
        f"{namesrv(objects, number).host}:9876" for number in range(3)
    ]
    assert pod.option("--log-format") == "json"
    (claim,) = pod.statefulset["spec"]["volumeClaimTemplates"]
    assert claim["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "200Gi"}},
    }
    (kept,) = namesrv(objects).statefulset["spec"]["volumeClaimTemplates"]
    assert kept["metadata"]["name"] == "files"
    assert not [one for one in namesrv(objects).spec["volumes"] if one["name"] == "files"]
    monitor = one_of(objects, "ServiceMonitor", "my-trimq-broker")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    labels = one_of(objects, "Service", "my-trimq-broker")["metadata"]["labels"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert monitor["spec"]["endpoints"] == [{"port": "metrics", "interval": "30s"}]


def test_tls() -> None:
    objects = rendered(*CASES["tls"])
    folder = "/etc/trimq/tls"
    of_servers = {
        "tls.server.mode": "enforcing",
        "tls.server.certPath": f"{folder}/tls.crt",
        "tls.server.keyPath": f"{folder}/tls.key",
        "tls.server.need.client.auth": "require",
        "tls.server.trustCertPath": f"{folder}/ca.crt",
    }
    assert of_servers.items() <= namesrv(objects).settings.items()
    pod = broker(objects)
    assert {
        **of_servers,
        "tls.enable": "true",
        "tls.client.trustCertPath": f"{folder}/ca.crt",
        "tls.client.certPath": f"{folder}/tls.crt",
        "tls.client.keyPath": f"{folder}/tls.key",
    }.items() <= pod.settings.items()
    assert {
        "MQADMIN_TLS": "true",
        "MQADMIN_TLS_CA": f"{folder}/ca.crt",
        "MQADMIN_TLS_ANY_NAME": "true",
        "MQADMIN_TLS_CERT": f"{folder}/tls.crt",
        "MQADMIN_TLS_KEY": f"{folder}/tls.key",
    }.items() <= pod.environment.items()
    for one in (pod, namesrv(objects)):
        assert one.mounts[folder]["readOnly"] is True
        (volume,) = (volume for volume in one.spec["volumes"] if volume["name"] == "tls")
        assert volume["secret"] == {"secretName": "trimq-tls", "defaultMode": 0o440}


def test_a_container_may_do_little(objects: list[dict[str, Any]]) -> None:
    for pod in (broker(objects), namesrv(objects)):
        assert pod.spec["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 3000,
            "runAsGroup": 3000,
            "fsGroup": 3000,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert pod.container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        # What is not mounted cannot be written.
        assert pod.mounts["/tmp"]["name"] == "tmp"
        names = {one["name"] for one in pod.spec.get("volumes", ())}
        claims = pod.statefulset["spec"].get("volumeClaimTemplates", ())
        names |= {one["metadata"]["name"] for one in claims}
        assert {one["name"] for one in pod.mounts.values()} == names
    assert broker(objects).mounts["/home/rocketmq/store"]["name"] == "store"
    assert namesrv(objects).spec["automountServiceAccountToken"] is False


def test_memory() -> None:
    for pod in (broker(rendered()), namesrv(rendered())):
        assert pod.container["resources"]["limits"] == {"memory": "128Mi"}
        assert pod.container["resources"]["requests"]["memory"] == "128Mi"


def test_probes(objects: list[dict[str, Any]]) -> None:
    container = broker(objects).container
    asked = {
        name: container[name]["httpGet"]
        for name in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert asked == {
        "startupProbe": {"path": "/healthz", "port": "metrics"},
        "livenessProbe": {"path": "/healthz", "port": "metrics"},
        "readinessProbe": {"path": "/readyz", "port": "metrics"},
    }
    # What a start may take, and how long a loop may hang.
    start, life = container["startupProbe"], container["livenessProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] == 1800
    assert life["periodSeconds"] * life["failureThreshold"] == 60
    container = namesrv(objects).container
    for name in ("livenessProbe", "readinessProbe"):
        assert container[name]["tcpSocket"] == {"port": "namesrv"}


def test_before_the_stop(objects: list[dict[str, Any]]) -> None:
    pod = broker(objects)
    words = pod.container["lifecycle"]["preStop"]["exec"]["command"]
    folder = words[2].rpartition("/")[0]
    assert pod.mounts[folder] == {"name": "stop", "mountPath": folder, "readOnly": True}
    (volume,) = (one for one in pod.spec["volumes"] if one["name"] == "stop")
    script = one_of(objects, "ConfigMap", volume["configMap"]["name"])["data"]["before_stop.py"]
    assert script.strip() == (CHART / "files" / "before_stop.py").read_text().strip()
    timeout = int(words[words.index("--drain-timeout") + 1])
    assert pod.spec["terminationGracePeriodSeconds"] == timeout + 60
    # Producers ask for routes every 30 s.
    assert 30 < float(words[words.index("--restart-wait") + 1]) < timeout
    # It may read the object that it asks for, and nothing else.
    name = words[words.index("--statefulset") + 1]
    assert name == pod.statefulset["metadata"]["name"]
    role = one_of(objects, "Role", name)
    assert role["rules"] == [
        {
            "apiGroups": ["apps"],
            "resources": ["statefulsets"],
            "resourceNames": [name],
            "verbs": ["get"],
        }
    ]
    binding = one_of(objects, "RoleBinding", name)
    assert binding["roleRef"]["name"] == name
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}]
    assert pod.spec["serviceAccountName"] == name
    assert pod.spec["automountServiceAccountToken"] is True


def test_without_draining_nothing_may_be_asked() -> None:
    objects = rendered("--set", "broker.drain.enabled=false")
    kinds = {one["kind"] for one in objects}
    assert not kinds & {"Role", "RoleBinding", "ConfigMap"}
    pod = broker(objects)
    assert "lifecycle" not in pod.container
    assert pod.spec["automountServiceAccountToken"] is False
    assert pod.spec["terminationGracePeriodSeconds"] == 60


def test_groups_that_are_not_waited_for() -> None:
    words = broker(rendered(*CASES["three-brokers"])).container["lifecycle"]["preStop"]["exec"][
        "command"
    ]
    assert words[-6:] == [
        *("--drain-timeout", "1800"),
        *("--restart-wait", "35"),
        *("--ignore-group", "reports"),
    ]


def test_a_restart_may_take_longer_than_a_drain() -> None:
    words = ("--set", "broker.drain.timeoutSeconds=20", "--set", "broker.drain.restartSeconds=70")
    assert broker(rendered(*words)).spec["terminationGracePeriodSeconds"] == 130


def test_settings_arrive_as_they_are_written(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(
        "broker:\n  settings:\n    mappedFileSizeCommitLog: 1073741824\n    a: 0.75\n    b: true\n"
        '    c: "true"\n    e: "$(POD_NAME) \\"quoted\\" ü"\n    haEnable: true\n'
        '    messageDelayLevel: "1s 5s"\n'
    )
    settings = broker(rendered("-f", values)).settings
    assert settings == {
        "mappedFileSizeCommitLog": "1073741824",
        **{"a": "0.75", "b": "true", "c": "true", "messageDelayLevel": "1s 5s"},
        # Theirs is not replaced.
        "e": '$(POD_NAME) "quoted" ü',
        # Theirs wins.
        "haEnable": "true",
        "brokerIP1": "my-trimq-broker-0.my-trimq-broker.queues.svc.cluster.local",
        "brokerName": "my-trimq-broker-0",
        "brokerClusterName": "DefaultCluster",
    }


def test_what_clients_are_told() -> None:
    pod = broker(rendered("--set", "broker.advertise=$(POD_IP):10911"))
    assert pod.option("--advertise") == "127.0.0.1:10911"


def test_a_name_with_trimq_is_the_whole_name() -> None:
    said = run_helm("template", "trimq", CHART)
    assert "name: trimq-broker\n" in said
    assert "trimq-trimq" not in said
    long = run_helm("template", "x" * 53, CHART)
    names = {line.split()[-1] for line in long.splitlines() if line.strip().startswith("name: xxx")}
    assert names
    # A revision of a StatefulSet has eleven more characters, and is a label.
    assert max(map(len, names)) <= 52


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("broker.replica=2",), "replica"),
        (("broker.replicas=many",), "replicas"),
        (("broker.drain.timeoutSeconds=-1",), "timeoutSeconds"),
        (("broker.drain.restartSeconds=-1",), "restartSeconds"),
        (("broker.storage.size=big",), "size"),
        (("tls.mode=strict",), "mode"),
        (("log.level=trace",), "level"),
        (("metrics.port=10911",), "port"),
        (("namesrv.replicas=0",), "replicas"),
        (("broker.advertise=somewhere",), "advertise"),
        (("tls.clientAuth=require",), "name it with tls.secretName"),
        (("tls.verify=true",), "name it with tls.secretName"),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
def test_mistakes_are_refused(words: tuple[str, ...], why: str) -> None:
    flags = [flag for word in words for flag in ("--set", word)]
    with pytest.raises(Refused, match=why):
        rendered(*flags)


def test_variables_are_put_in_as_kubernetes_does() -> None:
    assert expanded("$(A) $$(A) $(B) $A", {"A": "a"}) == "a $(A) $(B) $A"
