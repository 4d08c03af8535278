"""Names, ports, stores, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trimq.serving.several import check_not_several
from trimq.settings.options import ServerOptions
from trimq.settings.parsing import SettingsError
from trimq.supervising.broker_layout import family_of
from trimq.supervising.supervisor import reachable


def options(root: Path, listen: str = "127.0.0.1:10911", **settings: str) -> ServerOptions:
    return ServerOptions(store=root, listen=listen, settings={"brokerName": "b", **settings})


def store_at(folder: Path) -> None:
    (folder / "commitlog").mkdir(parents=True)
    (folder / "commitlog" / "0".zfill(20)).touch()


def test_ports_are_ten_apart_and_stores_lie_beside_each_other(tmp_path: Path) -> None:
    members = family_of(options(tmp_path, haListenPort="20000"), 3).members
    assert [member.name for member in members] == ["b-0", "b-1", "b-2"]
    assert [member.store for member in members] == [tmp_path / f"b-{at}" for at in range(3)]
    assert [str(member.listen) for member in members] == [
        f"127.0.0.1:{port}" for port in (10911, 10921, 10931)
    ]
    assert [member.settings["haListenPort"] for member in members] == ["20000", "20010", "20020"]
    assert [member.settings["brokerName"] for member in members] == ["b-0", "b-1", "b-2"]


def test_free_ports(tmp_path: Path) -> None:
    assert [
        member.listen.port for member in family_of(options(tmp_path, "127.0.0.1:0"), 2).members
    ] == [0, 0]


@pytest.mark.parametrize(
    ("made", "settings", "sentence"),
    [
        ("", {}, "store of a single broker"),
        ("b-2", {}, "b-2 in .* would be left behind"),
        ("other-0", {}, "other-0 in .* would be left behind"),
        (None, {"brokerRole": "SLAVE", "brokerId": "1"}, "starts masters"),
        (None, {"storePathCommitLog": "/x"}, "own store below --store"),
    ],
)
def test_what_is_refused(tmp_path: Path, made: str | None, settings: Any, sentence: str) -> None:
    if made is not None:
        store_at(tmp_path / made)
    with pytest.raises(SettingsError, match=sentence):
        family_of(options(tmp_path, **settings), 2)


def test_more_brokers_than_stores_is_growth(tmp_path: Path) -> None:
    store_at(tmp_path / "b-0")
    (tmp_path / "b-7").mkdir()
    assert len(family_of(options(tmp_path), 2).members) == 2
    with pytest.raises(SettingsError, match="at least one"):
        family_of(options(tmp_path), 0)


def test_a_wildcard_is_reached_over_the_loopback() -> None:
    assert reachable("0.0.0.0:9876") == "127.0.0.1:9876"
    assert reachable("[::]:9876") == "[::1]:9876"
    assert reachable("10.0.0.1:9876") == "10.0.0.1:9876"
    assert reachable("a:1;b:2") == "a:1;b:2"


def test_a_single_broker_does_not_start_beside_the_stores_of_several(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    check_not_several(tmp_path)
    store_at(tmp_path / "b-1")
    with pytest.raises(
        SettingsError, match=r"several brokers \(b-1\): .* --store .*b-1 --set brokerName=b-1"
    ):
        check_not_several(tmp_path)


def test_a_copy_beside_a_single_store_is_nothing_to_it(tmp_path: Path) -> None:
    store_at(tmp_path)
    store_at(tmp_path / "copy-1")
    check_not_several(tmp_path)
