"""mqadmin and the administration clients against a server that wants TLS and a client's certificate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from trimq.admin import AdminClient, BlockingAdminClient, ClientTls
from trimq.admin.connecting.tls import client_tls
from trimq.mqadmin.cli import main
from trimq.testing import TestServer, running_server

ASK = ("topicClusterList", "-t", "TBW102")


@pytest.fixture(scope="module")
def server(tls_files: Any) -> Iterator[TestServer]:
    with running_server(settings={**tls_files.strict, "brokerName": "broker-a"}) as started:
        yield started


@pytest.fixture
def known(tls_files: Any) -> list[str]:
    return ["--tls-cert", tls_files.client, "--tls-key", tls_files.client_key]


def run(server: TestServer, *words: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, [*ASK, "-n", server.namesrv_addr, *words], env=env)


def test_a_certificate_is_shown_and_one_is_checked(
    server: TestServer, tls_files: Any, known: list[str]
) -> None:
    for more in ([], ["--tls"], ["--tls-ca", tls_files.authority]):
        done = run(server, *known, *more)
        assert (done.exit_code, done.stdout) == (0, "DefaultCluster\n"), done.stderr


def test_the_environment_says_the_same(server: TestServer, tls_files: Any) -> None:
    env = {
        "MQADMIN_TLS_CA": tls_files.authority,
        "MQADMIN_TLS_CERT": tls_files.client,
        "MQADMIN_TLS_KEY": tls_files.client_key,
    }
    assert run(server, env=env).exit_code == 0


def test_rocketmqs_own_file(server: TestServer, tls_files: Any, tmp_path: Path) -> None:
    file = tmp_path / "tls.properties"
    file.write_text(
        "tls.test.mode.enable=false\ntls.client.authServer: true\n"
        f"tls.client.trustCertPath={tls_files.authority}\ntls.client.certPath={tls_files.client}\n"
        f"tls.client.keyPath={tls_files.client_key}\ntls.protocols=TLSv1.3\n"
    )
    assert run(server, "--tls-config", str(file)).exit_code == 0
    tls = client_tls({"tls_config": str(file)})
    assert tls is not None
    assert (tls.named, tls.checked, tls.protocols) == (False, True, "TLSv1.3")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 1, "does it accept TLS only? Use --tls"),
        # Depending on which side is faster, the server's alert arrives or does not.
        (["--tls"], 1, "certificate"),
        (["--tls-ca", "KEY"], 2, "there is no certificate in it"),
        (["--tls-cert", "CERT"], 2, "belong together"),
        (["--tls-config", "nowhere"], 2, "cannot read nowhere: No such file"),
    ],
)
def test_unusable_flags_are_reported(
    server: TestServer, tls_files: Any, words: list[str], code: int, sentence: str
) -> None:
    names = {"KEY": tls_files.client_key, "CERT": tls_files.client}
    done = run(server, *(names.get(word, word) for word in words))
    assert done.exit_code == code
    assert sentence in done.stderr


def test_names_are_checked_by_default(server: TestServer, tls_files: Any, known: list[str]) -> None:
    port = server.namesrv_addr.rpartition(":")[2]
    there = ["-n", f"127.0.0.1:{port}", *known, "--tls-ca", tls_files.authority]
    assert CliRunner().invoke(main, [*ASK, *there]).exit_code == 0
    strict = client_tls({"tls_ca": tls_files.authority})
    loose = client_tls({"tls_ca": tls_files.authority, "tls_any_name": True})
    assert strict is not None
    assert loose is not None
    assert (strict.named, loose.named) == (True, False)
    assert client_tls({"tls": False, "tls_ca": None}) is None


async def test_from_python(server: TestServer, tls_files: Any) -> None:
    tls = ClientTls(
        authorities=tls_files.authority, certificate=tls_files.client, key=tls_files.client_key
    ).context()
    async with AdminClient.connect(server.namesrv_addr, tls=tls) as admin:
        assert await admin.topic_clusters("TBW102") == ["DefaultCluster"]


def test_from_plain_python(server: TestServer, tls_files: Any) -> None:
    tls = ClientTls(
        authorities=tls_files.authority, certificate=tls_files.client, key=tls_files.client_key
    ).context()
    with BlockingAdminClient(server.namesrv_addr, tls=tls) as admin:
        assert admin.topic_clusters("TBW102") == ["DefaultCluster"]
