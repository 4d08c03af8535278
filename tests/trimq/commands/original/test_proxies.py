"""`mqproxy` and `mqbroker --enable-proxy` as words of `trimq`."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimq.commands.original.commands import COMMANDS

HOME = {"HOME": "/home/rocketmq"}
NAMED = {**HOME, "NAMESRV_ADDR": "namesrv:9876"}


def words(command: str, line: str = "", /, **environment: str) -> tuple[str, ...]:
    return COMMANDS[command](line.split(), environment).words


def conf(folder: Path, text: str) -> Path:
    path = folder / "rmq-proxy.json"
    path.write_text(text)
    return path


@pytest.mark.parametrize("line", ["-n namesrv:9876", "--namesrvAddr namesrv:9876"])
def test_a_proxy_listens_everywhere(line: str) -> None:
    assert words("mqproxy", line, **HOME) == (
        *("proxy", "--namesrv", "namesrv:9876", "--listen", "0.0.0.0:8081"),
    )
    assert words("mqproxy", **NAMED) == words("mqproxy", line, **HOME)
    assert words("mqproxy", **HOME) == ("proxy", "--listen", "0.0.0.0:8081")


def test_its_file_says_where_it_is(tmp_path: Path) -> None:
    path = conf(tmp_path, '{"grpcServerPort": 8091, "namesrvAddr": "a:1;b:2"}')
    for flag in ("-pc", "--proxyConfigPath", "-proxyConfigPath"):
        assert words("mqproxy", f"{flag} {path} -pm cluster", **NAMED) == (
            *("proxy", "--namesrv", "a:1;b:2", "--listen", "0.0.0.0:8091"),
            *("--config", str(path), "--mode", "cluster"),
        )
    found = words("runserver.sh", f"org.apache.rocketmq.proxy.ProxyStartup -pc {path}", **HOME)
    assert found[:3] == ("proxy", "--namesrv", "a:1;b:2")


def test_a_file_in_rocketmqs_home_is_found(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    path = conf(tmp_path / "conf", '{"namesrvAddr": "a:1"}')
    found = words("mqproxy", ROCKETMQ_HOME=str(tmp_path), **HOME)
    assert found[-2:] == ("--config", str(path))


def test_a_port_that_is_none_is_left_to_the_proxy(tmp_path: Path) -> None:
    path = conf(tmp_path, '{"grpcServerPort": "many"}')
    assert "--listen" not in words("mqproxy", f"-pc {path}", **NAMED)


def test_tls_of_the_jvm_counts() -> None:
    found = words("mqproxy", JAVA_OPT="-Dtls.server.mode=enforcing -Xmx1g", **NAMED)
    assert found[-2:] == ("--set", "tls.server.mode=enforcing")


def test_a_broker_may_have_one_beside_it(tmp_path: Path) -> None:
    assert words("mqbroker", "--enable-proxy", **NAMED)[-2:] == ("--grpc", "0.0.0.0:8081")
    path = conf(tmp_path, '{"grpcServerPort": 8091}')
    found = words("mqbroker", f"--enable-proxy -pc {path}", **NAMED)
    assert found[-4:] == ("--grpc", "0.0.0.0:8091", "--grpc-config", str(path))
    assert "--grpc" not in words("mqbroker", f"-pc {path}", **NAMED)
    # What is only printed starts nothing.
    assert "--grpc" not in words("mqbroker", "--enable-proxy -p", **NAMED)
