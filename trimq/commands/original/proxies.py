"""`mqproxy`, and the proxy of `mqbroker --enable-proxy`, as words of `trimq`.

RocketMQ's proxy listens on all addresses, and so does this one.
"""

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from trimq.commands.original.flags import proxy_flags
from trimq.commands.original.java_options import java_options
from trimq.commands.original.launch import Launch, NotLaunched
from trimq.commands.original.ports import GRPC_PORT
from trimq.settings.parsing import SettingsError
from trimq.settings.proxy_file import read_proxy_file

_EVERYWHERE: Final = "0.0.0.0"
_DEFAULT_FILE: Final = "conf/rmq-proxy.json"


def proxy(words: Sequence[str], environment: Mapping[str, str]) -> Launch:
    """`mqproxy`. NotLaunched when the flags or the file cannot be read."""
    flags = proxy_flags(words)
    file = flags.proxy_config or _default_file(environment)
    texts = _read(file)
    options = java_options(environment)
    named = (
        flags.namesrv
        or texts.get("namesrvAddr")
        or options.name_servers
        or environment.get("NAMESRV_ADDR")
    )
    # Without one: at its port on this machine, as containers for tests have it.
    found = [*_flag("--namesrv", named), *_flag("--listen", _listen(texts))]
    found += _flag("--config", file)
    found += _flag("--mode", flags.proxy_mode)
    for key, value in options.tls.items():
        found += ("--set", f"{key}={value}")
    return Launch(("proxy", *found), options.said)


def of_broker(flags: Namespace) -> Iterator[str]:
    """Words of `trimq server` for what `mqbroker --enable-proxy [-pc FILE]` starts beside it."""
    if flags.enable_proxy:
        texts = _read(flags.proxy_config)
        yield from ("--grpc", _listen(texts) or f"{_EVERYWHERE}:{GRPC_PORT}")
        yield from _flag("--grpc-config", flags.proxy_config)


def _default_file(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("RMQ_PROXY_HOME") or environment.get("ROCKETMQ_HOME")
    file = Path(home, _DEFAULT_FILE) if home else None
    return file if file is not None and file.is_file() else None


def _read(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        return read_proxy_file(path)
    except SettingsError as error:
        raise NotLaunched(str(error)) from error


def _listen(texts: Mapping[str, str]) -> str | None:
    """None: a port that is none is left to the proxy, which says so."""
    port = texts.get("grpcServerPort") or str(GRPC_PORT)
    host = texts.get("bindAddress") or _EVERYWHERE
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" if port.isdecimal() else None


def _flag(name: str, value: object) -> tuple[str, ...]:
    return () if value is None else (name, str(value))
