"""`mqbroker` and `mqnamesrv` as words of `trimq`.

RocketMQ listens on all addresses and keeps its store in the user's home directory; so do these. The addresses and the
store stand in the words, where `ps` shows them and health.py reads them.
"""

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from trimq.base.user_ids import user_ids
from trimq.codec.java.properties import decode_properties, read_properties
from trimq.commands.original import proxies
from trimq.commands.original.flags import broker_flags, namesrv_flags
from trimq.commands.original.java_options import JavaOptions, java_options
from trimq.commands.original.launch import Launch, NotLaunched
from trimq.commands.original.ports import BROKER_PORT, NAMESRV_PORT

_EVERYWHERE: Final = "0.0.0.0"
_PRINTER: Final = "trimq.commands.original.printed"
# Where the operator mounts a broker's file and its store.
_OPERATORS_CONF: Final = Path("/root/rocketmq/broker/conf/broker-common.conf")
_OPERATORS_STORE: Final = Path("/root/store")
# What those who run pods say of a broker, by the setting that it means.
_IDENTITY: Final = {
    "brokerClusterName": ("BROKER_CLUSTER_NAME",),
    "brokerName": ("BROKER_NAME", "POD_NAME"),
    "brokerId": ("BROKER_ID",),
    "brokerIP1": ("POD_IP",),
}


def namesrv(words: Sequence[str], environment: Mapping[str, str]) -> Launch:
    """`mqnamesrv`: a NameServer alone. NotLaunched when the flags or the file cannot be read."""
    flags = namesrv_flags(words)
    texts = _read(flags.config)
    options = java_options(environment)
    listen = _listen(texts, NAMESRV_PORT)
    found = (*listen, *_config(flags), *_set(_files_of_namesrv(texts, options)), *_set(options.tls))
    return _launch("namesrv", flags, found, options.said)


def broker(words: Sequence[str], environment: Mapping[str, str]) -> Launch:
    """`mqbroker`: a broker alone. NotLaunched when the flags or the file cannot be read, or no NameServer is named."""
    flags = broker_flags(words)
    return _broker(flags, _read(flags.config), environment, {})


def pods_broker(environment: Mapping[str, str]) -> Launch:
    """The operator's broker: its own image builds the file from one that is mounted, and from the environment."""
    home = environment.get("ROCKETMQ_HOME", "")
    mounted = [Path(home, "conf/broker-common.conf"), _OPERATORS_CONF]
    words = [str(word) for path in mounted if path.is_file() for word in ("-c", path)][:2]
    flags = broker_flags(words)
    texts = _read(flags.config)
    said = dict(_identity({}, environment))
    if environment.get("BROKER_ID", "0") != "0":
        said["brokerRole"] = "SLAVE"
    for key in ("enableControllerMode", "controllerAddr"):
        if environment.get(key):
            said[key] = environment[key]
    if _OPERATORS_STORE.is_dir():
        said.setdefault("storePathRootDir", str(_OPERATORS_STORE))
    return _broker(flags, texts, environment, said)


def everything(words: Sequence[str], environment: Mapping[str, str]) -> Launch:
    """What the image runs without a command: a broker, with a NameServer unless others are named.

    `words`: of `trimq server`.
    """
    options = java_options(environment)
    named = options.name_servers or environment.get("NAMESRV_ADDR")
    where = ("--namesrv", named) if named else ("--namesrv-listen", f"{_EVERYWHERE}:{NAMESRV_PORT}")
    defaults = {
        "--listen": f"{_EVERYWHERE}:{BROKER_PORT}",
        where[0]: where[1],
        "--store": str(_home(environment, options) / "store"),
    }
    if "--namesrv" in words:
        defaults.pop("--namesrv-listen", None)
    given = [
        part for flag, value in defaults.items() if flag not in words for part in (flag, value)
    ]
    return Launch(("server", *given, *_set(options.tls), *words), options.said)


def _broker(
    flags: Namespace,
    texts: Mapping[str, str],
    environment: Mapping[str, str],
    overriding: Mapping[str, str],
) -> Launch:
    """`texts`: of the file; `overriding`: settings that count more."""
    options = java_options(environment)
    named = (
        flags.namesrv
        or texts.get("namesrvAddr")
        or options.name_servers
        or environment.get("NAMESRV_ADDR")
    )
    if not named:
        raise NotLaunched(
            "mqbroker: no NameServer is named: give -n HOST:PORT, NAMESRV_ADDR, or namesrvAddr in the file"
        )
    settings = dict(overriding)
    for key, value in (*_identity(texts, environment), *options.tls.items()):
        settings.setdefault(key, value)
    root = settings.pop("storePathRootDir", None)
    if root is None and not texts.get("storePathRootDir"):
        root = str(_home(environment, options) / "store")
    words = ["--namesrv", named, *_listen(texts, BROKER_PORT), *_config(flags)]
    words += ["--store", root] if root is not None else []
    if not (flags.print_all or flags.print_important):
        words += proxies.of_broker(flags)
    return _launch("server", flags, (*words, *_set(settings)), options.said)


def _launch(kind: str, flags: Namespace, words: Sequence[str], said: Sequence[str]) -> Launch:
    if flags.print_all:
        return Launch((kind, "all", *words), (), _PRINTER)
    if getattr(flags, "print_important", False):
        return Launch((kind, "important", *words), (), _PRINTER)
    return Launch((kind, *words), tuple(said))


def _read(path: Path | None) -> dict[str, str]:
    """The keys and values of a file, as the server will read them once more."""
    if path is None:
        return {}
    try:
        return read_properties(decode_properties(path.read_bytes()))
    except OSError as error:
        raise NotLaunched(
            f"cannot read {path}: {error.strerror or error} ({user_ids()})"
        ) from error
    except ValueError as error:
        raise NotLaunched(f"cannot read {path}: {error}") from error


def _identity(
    texts: Mapping[str, str], environment: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Who the broker is, where the file does not say it."""
    for key, names in _IDENTITY.items():
        found = next((environment[name] for name in names if environment.get(name)), None)
        if found is not None and not texts.get(key):
            yield key, found


def _listen(texts: Mapping[str, str], default: int) -> tuple[str, ...]:
    """Where it listens. A port that is none is left to the server, which says so."""
    port = texts.get("listenPort") or str(default)
    host = texts.get("bindAddress") or _EVERYWHERE
    shown = f"[{host}]" if ":" in host else host
    return ("--listen", f"{shown}:{port}") if port.isdecimal() else ()


def _config(flags: Namespace) -> tuple[str, ...]:
    return ("--config", str(flags.config)) if flags.config is not None else ()


def _set(settings: Mapping[str, str]) -> Iterator[str]:
    for key, value in settings.items():
        yield from ("--set", f"{key}={value}")


def _files_of_namesrv(texts: Mapping[str, str], options: JavaOptions) -> dict[str, str]:
    """They are in the home directory, which a JVM is told by `user.home`."""
    if options.home is None:
        return {}
    folder = Path(options.home, "namesrv")
    files = {"kvConfigPath": "kvConfig.json", "configStorePath": "namesrv.properties"}
    return {key: str(folder / name) for key, name in files.items() if not texts.get(key)}


def _home(environment: Mapping[str, str], options: JavaOptions) -> Path:
    return Path(options.home or environment.get("HOME") or os.path.expanduser("~"))
