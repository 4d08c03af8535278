"""Contexts: cipher suites and protocols by Java's names, encrypted keys, files that change."""

import os
import ssl
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from trimq.remoting.tls.contexts import (
    ClientTls,
    TlsContext,
    TlsFilesError,
    load_authorities,
    load_pair,
)
from trimq.remoting.tls.suites import java_name, restrict

NEW = "TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256,TLS_AES_128_GCM_SHA256"
TLS_1_2, TLS_1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


@pytest.fixture
def context():
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def old_ciphers(context):
    return [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def write_pair(authority, folder, name="server", password=None):
    issued = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    loaded = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    locked = (
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption()
    )
    key.write_bytes(
        loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
    )
    return str(certificate), str(key)


@pytest.mark.parametrize(
    ("openssl", "java"),
    [
        ("ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
        ("ECDHE-RSA-AES128-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"),
        ("ECDHE-RSA-AES256-SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"),
        ("AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA"),
        ("AES256-GCM-SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384"),
        ("DHE-RSA-AES256-CCM8", "TLS_DHE_RSA_WITH_AES_256_CCM_8"),
        ("ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
        ("PSK-AES128-GCM-SHA256", None),
    ],
)
def test_javas_names(openssl, java):
    assert java_name(openssl) == java


def test_the_default_allows_both_versions(context):
    before = old_ciphers(context)
    restrict(context, "", "")
    assert old_ciphers(context) == before
    assert (context.minimum_version, context.maximum_version) == (TLS_1_2, TLS_1_3)


def test_chosen_suites_and_no_others(context):
    restrict(
        context, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, ECDHE-RSA-AES256-GCM-SHA384", "TLSv1.2"
    )
    assert old_ciphers(context) == ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384"]
    assert (context.minimum_version, context.maximum_version) == (TLS_1_2, TLS_1_2)


def test_suites_of_one_version_allow_that_version_only(context):
    restrict(context, NEW, "")
    assert (context.minimum_version, context.maximum_version) == (TLS_1_3, TLS_1_3)
    restrict(context, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "")
    assert (context.minimum_version, context.maximum_version) == (TLS_1_2, TLS_1_2)
    restrict(context, f"{NEW},TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLSv1.2,TLSv1.3")
    assert (context.minimum_version, context.maximum_version) == (TLS_1_2, TLS_1_3)


@pytest.mark.parametrize(
    ("ciphers", "protocols", "sentence"),
    [
        ("", "TLSv1.1", "must be of TLSv1.2, TLSv1.3"),
        ("SSL_RSA_WITH_RC4_128_MD5", "", "'SSL_RSA_WITH_RC4_128_MD5' is not known; allowed are"),
        ("SSL_RSA_WITH_RC4_128_MD5", "", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        ("TLS_AES_256_GCM_SHA384", "", "cannot be chosen one by one"),
        (NEW, "TLSv1.2", "nothing in common"),
    ],
)
def test_what_cannot_be_chosen_is_reported(context, ciphers, protocols, sentence):
    with pytest.raises(ValueError, match=sentence):
        restrict(context, ciphers, protocols)


def test_an_encrypted_key_needs_its_password(context, authority, tmp_path):
    certificate, key = write_pair(authority, tmp_path, password=b"secret")
    load_pair(context, certificate, key, "secret")
    with pytest.raises(TlsFilesError, match="is encrypted, and its password is not configured"):
        load_pair(context, certificate, key)
    with pytest.raises(TlsFilesError, match="the password does not open the key"):
        load_pair(context, certificate, key, "wrong")


def test_a_key_as_rocketmqs_documentation_has_it_made(context, authority, tmp_path):
    """`openssl pkcs8 -topk8 -v1 PBE-SHA1-RC4-128`: OpenSSL 3 has given that up."""
    files = Path(__file__).parents[2] / "vectors" / "tls"
    pair = (str(files / "rc4.pem"), str(files / "rc4.key"))
    load_pair(context, *pair, "123456")
    with pytest.raises(TlsFilesError, match="the password does not open the key"):
        load_pair(context, *pair, "654321")
    other, _ = write_pair(authority, tmp_path)
    with pytest.raises(TlsFilesError, match="the key does not belong to the certificate"):
        load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), other, pair[1], "123456")


def test_files_that_do_not_do_are_named(context, authority, tmp_path):
    certificate, key = write_pair(authority, tmp_path)
    _, other = write_pair(authority, tmp_path, "other")
    with pytest.raises(TlsFilesError, match="the key does not belong to the certificate"):
        load_pair(context, certificate, other)
    with pytest.raises(TlsFilesError, match=r"cannot read .*gone: No such file"):
        load_pair(context, certificate, str(tmp_path / "gone"))
    with pytest.raises(TlsFilesError, match=r"cannot use .*there is no certificate in it"):
        load_authorities(context, key)
    with pytest.raises(TlsFilesError, match="belong together"):
        ClientTls(certificate=certificate).context()


def test_what_a_client_looks_at(authority, tmp_path):
    trusted = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(trusted)
    anybody = ClientTls().context()
    assert (anybody.verify_mode, anybody.check_hostname) == (ssl.CERT_NONE, False)
    strict = ClientTls(authorities=str(trusted)).context()
    assert (strict.verify_mode, strict.check_hostname) == (ssl.CERT_REQUIRED, True)
    java = ClientTls(authorities=str(trusted), named=False).context()
    assert (java.verify_mode, java.check_hostname) == (ssl.CERT_REQUIRED, False)
    assert ClientTls(checked=True).context().verify_mode is ssl.CERT_REQUIRED


def test_a_context_follows_its_files(authority, tmp_path, caplog):
    caplog.set_level("INFO")
    certificate, key = write_pair(authority, tmp_path)

    def make():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        load_pair(context, certificate, key)
        return context

    source = TlsContext(make, [certificate, "", key])
    first = source.current()
    assert source.current() is first
    assert source.settled is None
    replacement = write_pair(authority, tmp_path, "new")
    os.replace(replacement[0], certificate)
    # Half of a change: certificate and key do not belong together yet.
    assert source.current() is first
    assert source.current() is first
    os.replace(replacement[1], key)
    second = source.current()
    assert second is not first
    Path(key).unlink()
    assert source.current() is second
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO", "ERROR"]


def test_a_context_of_no_files_is_made_once(context):
    made = []

    def make():
        made.append(1)
        return context

    source = TlsContext(make)
    assert source.settled is None
    assert source.current() is source.current() is source.settled
    assert made == [1]
