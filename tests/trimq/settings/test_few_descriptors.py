"""With few open files allowed, fewer connections fit, and one address has half of them at most."""

import resource

import pytest

from trimq.settings import descriptors
from trimq.settings.process import ServerConfig, limits_of


@pytest.mark.parametrize(
    ("files", "wanted", "of_address", "fit", "share"),
    [
        (1024, 10_000, 2000, 512, 256),
        (1024, 10_000, 100, 512, 100),
        (1024, 10_000, 0, 512, 0),
        (4, 10_000, 2000, 2, 1),
        (1 << 20, 10_000, 2000, 10_000, 2000),
        (resource.RLIM_INFINITY, 0, 2000, 0, 2000),
    ],
)
def test_one_address_shuts_nobody_out(
    files: int, wanted: int, of_address: int, fit: int, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptors.resource, "getrlimit", lambda _: (files, files))
    monkeypatch.setattr(descriptors.resource, "setrlimit", lambda *_: None)
    config = ServerConfig(max_connections=wanted, max_connections_per_address=of_address)
    limits = limits_of(config)
    assert (limits.connection_limit, limits.address_limit) == (fit, share)
