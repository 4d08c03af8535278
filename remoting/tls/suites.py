"""`tls.ciphers` and `tls.protocols`: Java's names for what OpenSSL names differently.

Java (and the registry of TLS) says `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`, OpenSSL `ECDHE-RSA-AES128-GCM-SHA256`;
both are accepted. The suites of TLS 1.3 have one name, but cannot be chosen one by one before Python 3.15.
"""

import re
import ssl
from typing import Final

_PROTOCOLS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_NAME: Final = re.compile(
    "(?:(?P<exchange>(?:ECDHE|DHE)-(?:RSA|ECDSA))-)?"
    "(?:(?P<stream>CHACHA20-POLY1305)"
    "|AES(?P<bits>128|256)(?:-(?P<mode>GCM|CCM8?))?(?:-(?P<digest>SHA(?:256|384)?))?)"
)


def restrict(context: ssl.SSLContext, ciphers: str, protocols: str) -> None:
    """Allow these only; an empty text allows what OpenSSL does. ValueError says what can be allowed."""
    versions = _versions(protocols)
    if ciphers:
        versions &= _set_ciphers(context, _words(ciphers))
    if not versions:
        raise ValueError(
            f"tls.ciphers={ciphers} and tls.protocols={protocols} have nothing in common"
        )
    context.minimum_version = min(versions)
    context.maximum_version = max(versions)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _versions(protocols: str) -> set[ssl.TLSVersion]:
    words = _words(protocols)
    for word in words:
        if word not in _PROTOCOLS:
            raise ValueError(f"tls.protocols={protocols}: must be of {', '.join(_PROTOCOLS)}")
    return {_PROTOCOLS[word] for word in words or _PROTOCOLS}


def _set_ciphers(context: ssl.SSLContext, words: list[str]) -> set[ssl.TLSVersion]:
    """The versions that these suites belong to."""
    old = _old_suites()
    new = {str(each["name"]) for each in context.get_ciphers() if each["protocol"] == "TLSv1.3"}
    chosen_new = new.intersection(words)
    chosen_old = [old.get(word) or word for word in words if word not in new]
    for name in chosen_old:
        if name not in old.values():
            allowed = ", ".join([*sorted(new), *old])
            raise ValueError(f"tls.ciphers: '{name}' is not known; allowed are {allowed}")
    if chosen_new and chosen_new != new:
        raise ValueError(
            "tls.ciphers: TLS 1.3's suites cannot be chosen one by one here; name all of"
            f" {', '.join(sorted(new))}, or none of them for TLS 1.2 alone"
        )
    if chosen_old:
        context.set_ciphers(":".join(chosen_old))
    versions = set()
    if chosen_old:
        versions.add(ssl.TLSVersion.TLSv1_2)
    if chosen_new:
        versions.add(ssl.TLSVersion.TLSv1_3)
    return versions


def _old_suites() -> dict[str, str]:
    """TLS 1.2's suites of this OpenSSL: Java's name -> OpenSSL's."""
    scratch = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    scratch.set_ciphers("ALL")
    found: dict[str, str] = {}
    for each in scratch.get_ciphers():
        name = str(each["name"])
        java = java_name(name)
        if java is not None and each["protocol"] != "TLSv1.3":
            found[java] = name
    return found


def java_name(openssl_name: str) -> str | None:
    """Java's name of a TLS 1.2 suite; None for suites that Java does not have."""
    match = _NAME.fullmatch(openssl_name)
    if match is None:
        return None
    exchange = (match["exchange"] or "RSA").replace("-", "_")
    if match["stream"]:
        return f"TLS_{exchange}_WITH_CHACHA20_POLY1305_SHA256"
    mode = {None: "CBC", "CCM8": "CCM_8"}.get(match["mode"], match["mode"])
    digest = f"_{match['digest']}" if match["digest"] else ""
    return f"TLS_{exchange}_WITH_AES_{match['bits']}_{mode}{digest}"
