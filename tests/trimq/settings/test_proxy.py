"""`rmq-proxy.json`: every key of ProxyConfig is heard, harmless or refused, and so is what the command line says."""

from __future__ import annotations

import json
import logging
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import pytest

from trimq.base.setting_fields import DECLARED
from trimq.proxy.config import ProxyConfig
from trimq.remoting.tls.contexts import TlsMode
from trimq.settings.endpoints import AddressSyntaxError
from trimq.settings.parsing import Setting, SettingsError, settings_of
from trimq.settings.proxy import PROXY_CONFIGS, ProxyFlags, ProxyPlan, proxy_plan
from trimq.settings.proxy_keys import unheeded_by_proxy
from trimq.settings.rocketmq import unheeded
from trimq.settings.tls import TlsConfig

VECTORS: Final = Path(__file__).parents[2] / "vectors"
JAVA_TYPES: Final = {bool: "boolean", str: "String"}


def recorded(name: str, owner: str) -> dict[str, tuple[str, str]]:
    """Key -> its type and default there."""
    rows = [line.split("\t") for line in (VECTORS / name).read_text().splitlines()[1:]]
    return {key: (kind, default) for of, key, kind, default in rows if of == owner}


THEIRS: Final = recorded("proxy_settings.tsv", "ProxyConfig")
ACCESS_CONTROL: Final = recorded("settings.tsv", "AuthConfig")


def heard() -> list[Setting]:
    return [one for config in PROXY_CONFIGS for one in settings_of(config).values()]


def plan_of(folder: Path, /, text: object = None, **flags: Any) -> ProxyPlan:
    path = folder / "rmq-proxy.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text or {}))
    return proxy_plan(ProxyFlags(config=path, **flags))


def test_the_table_has_every_key_once() -> None:
    ours = {one.key for one in heard() if not one.declaration.own}
    assert ours | unheeded_by_proxy().keys() == THEIRS.keys() | ACCESS_CONTROL.keys()
    assert not ours & unheeded_by_proxy().keys()
    assert not {one.key for one in heard() if one.declaration.own} & THEIRS.keys()


def test_every_field_of_the_config_is_a_setting() -> None:
    assert [one.name for one in fields(ProxyConfig) if DECLARED not in one.metadata] == []


def test_whatever_is_heard_is_read_somewhere() -> None:
    root = Path(__file__).parents[3]
    sources = [root / "proxy", root / "trimq" / "serving", root / "trimq" / "settings"]
    text = "".join(file.read_text() for folder in sources for file in folder.rglob("*.py"))
    assert [one.attribute for one in heard() if f".{one.attribute}" not in text] == []


def test_types_and_defaults_are_rocketmqs() -> None:
    for one in heard():
        if one.declaration.own:
            continue
        kind, default = THEIRS[one.key]
        whole = "long" if one.declaration.long else "int"
        assert JAVA_TYPES.get(one.kind, whole) == kind, one.key
        own = one.text(one.field.default) or "\\N"
        theirs = one.declaration.rocketmq_default
        expected = own if theirs is None else theirs
        assert expected == default or (not default and expected == "\\N"), one.key


def test_without_a_file_it_is_rocketmqs() -> None:
    plan = proxy_plan(ProxyFlags(namesrv="ns:1"))
    assert (str(plan.listen), plan.name_servers) == ("127.0.0.1:8081", ("ns:1",))
    assert plan.config == ProxyConfig(namesrv_addr="ns:1")
    assert plan.advertise == ""
    assert plan.tls == TlsConfig()


def test_a_file_as_rocketmq_has_it(tmp_path: Path) -> None:
    text = """{
      // a comment, and a comma too many
      "rocketMQClusterName": "C1", "namesrvAddr": "a:1;b:2", "grpcServerPort": "8091",
      "maxMessageSize": 1048576, "enableBatchAck": true, "proxyMode": null,
    }"""
    plan = plan_of(tmp_path, text)
    assert (str(plan.listen), plan.name_servers) == ("127.0.0.1:8091", ("a:1", "b:2"))
    config = plan.config
    assert (config.rocketmq_cluster_name, config.max_message_size) == ("C1", 1 << 20)
    assert config.enable_batch_ack


def test_the_command_line_wins(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        {"namesrvAddr": "a:1", "grpcServerPort": 1, "maxMessageSize": 1, "grpcAdvertise": "x:1"},
        namesrv="b:2",
        listen="127.0.0.1:0",
        advertise="y:2",
        mode="CLUSTER",
        settings={"maxMessageSize": "2"},
    )
    assert plan.name_servers == ("b:2",)
    assert (plan.listen.port, plan.config.max_message_size, plan.advertise) == (0, 2, "y:2")


def test_own_keys(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        {"bindAddress": "0.0.0.0", "grpcAdvertise": "x:1", "proxyProtocolFrom": "10.0.0.0/8"},
        namesrv="a:1",
    )
    assert (plan.listen.host, plan.advertise) == ("0.0.0.0", "x:1")
    assert [str(one) for one in plan.balancers] == ["10.0.0.0/8"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ({"maxMessageSize": "many"}, "maxMessageSize=many: must be a whole number from "),
        ({"grpcServerPort": 65536}, "grpcServerPort=65536: must be at most 65535"),
        ({"enableBatchAck": "yes"}, "enableBatchAck=yes: must be true or false"),
        ({"maxMessageSize": [1]}, "maxMessageSize: must be one text, number or truth value"),
        ("[]", "must be one JSON object"),
        ("{", "cannot read "),
        ({"proxyMode": "LOCAL"}, "proxyMode=LOCAL: .*'trimq server --grpc HOST:PORT'"),
        ({"authenticationEnabled": True}, "no access control yet, and this proxy would be open"),
        ({"namesrvDomain": "x"}, "namesrvDomain=x: TriMQ does not look NameServers up"),
        ({"metricsExporterType": "PROM"}, "set metricsExporterType=DISABLE"),
        ({"enableAclRpcHookForClusterMode": True}, "signs no requests"),
        ({"tlsTestModeEnable": False}, "tlsTestModeEnable=false needs tlsCertPath and tlsKeyPath"),
        ({"tlsCertPath": "/x.crt"}, "tlsCertPath needs tlsKeyPath"),
        ({"tlsKeyPath": "/x.key"}, "tlsKeyPath needs tlsCertPath"),
    ],
)
def test_what_cannot_be_is_one_sentence(tmp_path: Path, text: object, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence) as told:
        plan_of(tmp_path, text, namesrv="a:1")
    assert "\n" not in str(told.value)


def test_local_by_the_flag_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="proxyMode=local: a proxy is a process of its own"):
        plan_of(tmp_path, mode="local")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"namesrv": "a"}, "--namesrv: "),
        ({"namesrv": "a:1", "listen": "here"}, "--listen: "),
        ({"namesrv": "a:1", "advertise": "here"}, "--advertise: "),
    ],
)
def test_addresses_name_who_said_them(tmp_path: Path, flags: dict[str, str], sentence: str) -> None:
    with pytest.raises(AddressSyntaxError, match=sentence):
        plan_of(tmp_path, **flags)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(SettingsError, match=r"cannot read /no/such\.json: No such file"):
        proxy_plan(ProxyFlags(config=Path("/no/such.json")))


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as told:
        plan_of(tmp_path, {"tlsKeyPassword": "hush\nhush"})
    assert "hush" not in str(told.value)


def test_what_is_said_of_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="trimq.server"):
        plan_of(
            tmp_path,
            {
                "maxMesageSize": 1,
                "grpcBossLoopNum": 2,
                "remotingListenPort": 8080,
                "aclCacheMaxNum": 1,
            },
        )
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("WARNING", "unknown setting 'maxMesageSize' is ignored: TriMQ does not have it;"
         " did you mean 'maxMessageSize'?"),
        ("WARNING", "remotingListenPort=8080: 4.x clients are not served by this proxy: give them the NameServers'"
         " address, and they connect to the brokers themselves"),
        ("INFO", "settings without effect here, docs/settings.md says why: keys=grpcBossLoopNum,aclCacheMaxNum"),
    ]  # fmt: skip


def test_a_certificate_counts(tmp_path: Path) -> None:
    keys = {"tlsCertPath": "/c.pem", "tlsKeyPath": "/k.pem", "tlsKeyPassword": "p"}
    for test_mode in (True, False):
        tls = plan_of(tmp_path, {**keys, "tlsTestModeEnable": test_mode}).tls
        assert (tls.certificate, tls.key, tls.key_password) == ("/c.pem", "/k.pem", "p")
        assert tls.test_mode is test_mode


def test_tls_as_servers_are_told() -> None:
    settings = {
        "tls.server.mode": "enforcing",
        "tls.server.certPath": "/c",
        "tls.server.keyPath": "/k",
    }
    tls = proxy_plan(ProxyFlags(settings=settings)).tls
    assert (TlsMode(tls.mode), tls.certificate) == (TlsMode.ENFORCING, "/c")


def test_keys_that_two_kinds_of_servers_have_are_treated_alike() -> None:
    """Secrets above all."""
    for key, one in unheeded_by_proxy().items():
        other = unheeded().get(key)
        if other is not None:
            assert (one.secret, one.refusal is None) == (other.secret, other.refusal is None), key


@pytest.mark.parametrize("text", ["", " ", ";", " , ;"])
def test_no_name_server_is_not_the_one_of_this_machine(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "elsewhere:1")
    with pytest.raises(SettingsError, match=f"--namesrv '{text}' names no NameServer"):
        proxy_plan(ProxyFlags(namesrv=text))


def test_who_only_looks_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "trimq"):
        proxy_plan(ProxyFlags(settings={"nobodysKey": "1"}), says=False)
        assert caplog.records == []
        proxy_plan(ProxyFlags(settings={"nobodysKey": "1"}))
        assert "nobodysKey" in caplog.text
    with pytest.raises(SettingsError, match="no access control"):
        proxy_plan(ProxyFlags(settings={"authenticationEnabled": "true"}), says=False)
