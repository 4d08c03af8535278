"""TLS by settings: the self-signed default, tls.config.file, clients' certificates, both directions."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
import trustme

import trimq
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.process.tls import name_server_context, server_tls, tls_in_force
from trimq.remoting.clients.client import Client
from trimq.remoting.errors import TransportError
from trimq.remoting.tls.contexts import ClientTls, TlsFilesError
from trimq.settings.parsing import SettingsError, build
from trimq.settings.tls import TlsConfig

NO_FILE = {"tls.config.file": ""}


def config_of(values: dict[str, str]) -> TlsConfig:
    return build(TlsConfig, {**NO_FILE, **values})


async def code_of(addr: str, tls: ClientTls | None) -> int:
    """A route is asked for; TransportError when the server does not take us."""
    header = GetRouteInfoRequestHeader(topic="TBW102")
    async with Client.connect(addr, tls.context() if tls else None) as client:
        return (await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)).code


async def test_without_any_setting_clients_may_talk_tls(tmp_path: Path) -> None:
    async with trimq.serve(tmp_path) as server:
        for addr in (server.namesrv_addr, server.broker_addr):
            assert await code_of(addr, ClientTls()) >= 0
            assert await code_of(addr, None) >= 0
        assert await code_of(server.namesrv_addr, ClientTls(protocols="TLSv1.2")) == 0
        assert (
            await code_of(
                server.namesrv_addr,
                ClientTls(ciphers="TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
            )
            == 0
        )


async def test_no_certificate_is_made_before_it_is_asked_for(tmp_path: Path) -> None:
    made = server_tls(config_of({}))
    assert made._source is not None
    assert made._source.settled is None
    assert (await trio.to_thread.run_sync(made._source.current)) is made._source.settled


async def test_enforcing_needs_no_certificate_of_its_own(tmp_path: Path) -> None:
    async with trimq.serve(tmp_path, settings={"tls.server.mode": "enforcing"}) as server:
        assert await code_of(server.namesrv_addr, ClientTls()) == ResponseCode.SUCCESS
        with pytest.raises(TransportError):
            await code_of(server.namesrv_addr, None)


async def test_certificates_of_clients_both_ways(tmp_path: Path, tls_files: Any) -> None:
    """Server and NameServer demand one; the broker shows its own to the NameServer."""
    known = ClientTls(
        authorities=tls_files.authority, certificate=tls_files.client, key=tls_files.client_key
    )
    async with trimq.serve(tmp_path, settings=tls_files.strict) as server:
        # The route is there because the broker could register.
        assert await code_of(server.namesrv_addr, known) == ResponseCode.SUCCESS
        for addr in (server.namesrv_addr, server.broker_addr):
            with pytest.raises(TransportError):
                await code_of(addr, ClientTls(authorities=tls_files.authority))


async def test_a_client_is_told_why_it_is_refused(tmp_path: Path, tls_files: Any) -> None:
    settings = {**tls_files.strict, "tls.protocols": "TLSv1.2"}
    known = ClientTls(certificate=tls_files.client, key=tls_files.client_key)
    async with trimq.serve(tmp_path, settings=settings) as server:
        with pytest.raises(TransportError, match="alert handshake failure"):
            await code_of(server.namesrv_addr, ClientTls())
        newer = dataclasses.replace(known, protocols="TLSv1.3")
        with pytest.raises(TransportError, match="alert protocol version"):
            await code_of(server.namesrv_addr, newer)


async def test_a_changed_certificate_is_shown_to_new_connections(tmp_path: Path) -> None:
    old, new = trustme.CA(), trustme.CA()
    chain, key = tmp_path / "chain.pem", tmp_path / "chain.key"

    def issue(authority: trustme.CA, name: str) -> ClientTls:
        issued = authority.issue_cert("127.0.0.1")
        issued.cert_chain_pems[0].write_to_path(chain)
        issued.private_key_pem.write_to_path(key)
        authority.cert_pem.write_to_path(tmp_path / name)
        return ClientTls(authorities=str(tmp_path / name))

    before = issue(old, "old.pem")
    settings = {"tls.server.certPath": str(chain), "tls.server.keyPath": str(key)}
    async with (
        trimq.serve(tmp_path / "store", settings=settings) as server,
        Client.connect(server.namesrv_addr, before.context()) as living,
    ):
        after = issue(new, "new.pem")
        assert await code_of(server.namesrv_addr, after) == ResponseCode.SUCCESS
        with pytest.raises(TransportError):
            await code_of(server.namesrv_addr, before)
        assert (await living.request(RequestCode.GET_BROKER_CLUSTER_INFO)).code == 0


def test_a_missing_library_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trimq.process.self_signed", None)
    made = server_tls(config_of({}))
    assert made._source is not None
    with pytest.raises(TlsFilesError, match="none can be made without 'cryptography'"):
        made._source.current()


def test_the_file_of_tls_config_file_wins(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "tls.properties"
    file.write_text(
        "tls.test.mode.enable=false\ntls.server.keyPassword=secret\ntls.server.mode=enforcing\nown=1\n"
    )
    values = {"tls.config.file": str(file), "tls.protocols": "TLSv1.2", "tls.enable": "true"}
    config = tls_in_force(build(TlsConfig, {**values, "tls.server.keyPassword": "other"}))
    assert (config.test_mode, config.key_password) == (False, "secret")
    assert (config.protocols, config.to_servers, config.mode) == ("TLSv1.2", True, "permissive")
    assert [record.getMessage().partition(str(file))[0] for record in caplog.records] == [
        "tls.server.mode in ",
        "",
    ]


def test_the_usual_tls_file_need_not_be_there_but_a_named_one(tmp_path: Path) -> None:
    assert tls_in_force(TlsConfig(config_file="")) == TlsConfig(config_file="")
    with pytest.raises(SettingsError, match="cannot read"):
        tls_in_force(TlsConfig(config_file=str(tmp_path / "tls.properties")))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"tls.server.certPath": "x.pem"}, "certPath needs tls.server.keyPath"),
        ({"tls.server.keyPath": "x.key"}, "keyPath needs tls.server.certPath"),
        ({"tls.test.mode.enable": "false"}, "test.mode.enable=false needs tls.server.certPath"),
        ({"tls.server.need.client.auth": "require"}, "require needs tls.server.trustCertPath"),
        ({"tls.server.certPath": "x", "tls.server.keyPath": "y"}, "cannot read x: No such file"),
        ({"tls.protocols": "SSLv3"}, "must be of TLSv1.2, TLSv1.3"),
        ({"tls.ciphers": "ROT13"}, "'ROT13' is not known"),
    ],
)
def test_what_cannot_work_refuses_the_start(values: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        server_tls(config_of(values))


def test_a_broker_talks_tls_to_others_only_when_told_to() -> None:
    assert name_server_context(config_of({})) is None
    assert name_server_context(config_of({"tls.enable": "true"})) is not None
    with pytest.raises(SettingsError, match="cannot read x"):
        name_server_context(config_of({"tls.enable": "true", "tls.client.trustCertPath": "x"}))


def test_clients_are_asked_for_certificates_only_to_look_at_them(tls_files: Any) -> None:
    """RocketMQ's `optional` without authorities takes any certificate: as good as asking for none."""
    served = {
        "tls.server.certPath": tls_files.server,
        "tls.server.keyPath": tls_files.server_key,
        "tls.server.need.client.auth": "optional",
    }
    blind = server_tls(config_of(served))
    looking = server_tls(config_of({**served, "tls.server.trustCertPath": tls_files.authority}))
    modes = []
    for tls in (blind, looking):
        assert tls._source is not None
        modes.append(tls._source.current().verify_mode.name)
    assert modes == ["CERT_NONE", "CERT_OPTIONAL"]


@pytest.mark.parametrize("key", ["tls.server.certPath", "tlsCertPath"])
def test_a_self_signed_one_names_the_setting_of_another(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = server_tls(config_of({}), key=key)
    assert made._source is not None
    with caplog.at_level("INFO", "trimq.server"):
        made._source.current()
    assert f"self-signed certificate made: no {key} is configured" in caplog.text
