"""The names under which RocketMQ's commands are called, and what each does."""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from trimq.commands.original import absent, proxies, servers
from trimq.commands.original.launch import Launch, NotLaunched

_Words = Sequence[str]
_Environment = Mapping[str, str]


def _no_command(name: str) -> Callable[[_Words, _Environment], Launch]:
    def refuse(words: _Words, environment: _Environment) -> Launch:
        raise NotLaunched(f"{name}: {absent.SENTENCES[name]}", 1)

    return refuse


def _mqadmin(words: _Words, environment: _Environment) -> Launch:
    return Launch(tuple(words), (), "trimq.mqadmin")


def _run_class(words: _Words, environment: _Environment) -> Launch:
    """`runserver.sh`, `runbroker.sh` and `tools.sh`: a Java class and its words, options of the JVM before it."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        del rest[0]
    java_class = rest[0] if rest else ""
    command = COMMANDS.get(_CLASSES.get(java_class, ""))
    if command is None:
        raise NotLaunched(absent.example(java_class), 1)
    return command(rest[1:], environment)


def _entry_point(words: _Words, environment: _Environment) -> Launch:
    """What the official image's entry point is told: a role, or none."""
    role = words[0] if words else ""
    rest = list(words[1:])
    if role not in _ROLES and environment.get("NODE_ROLE"):
        role = environment["NODE_ROLE"]
    if role in _ROLES:
        return COMMANDS[_ROLES[role]](rest, environment)
    if not words and environment.get("BROKER_NAME") and environment.get("BROKER_ID"):
        return servers.pods_broker(environment)
    return servers.everything(words, environment)


def _pods_broker(words: _Words, environment: _Environment) -> Launch:
    return servers.pods_broker(environment)


_ROLES: Final = {"nameserver": "mqnamesrv", "broker": "mqbroker", "controller": "mqcontroller"}
_CLASSES: Final = {
    "org.apache.rocketmq.broker.BrokerStartup": "mqbroker",
    "org.apache.rocketmq.namesrv.NamesrvStartup": "mqnamesrv",
    "org.apache.rocketmq.proxy.ProxyStartup": "mqproxy",
    "org.apache.rocketmq.controller.ControllerStartup": "mqcontroller",
    "org.apache.rocketmq.container.BrokerContainerStartup": "mqbrokercontainer",
    "org.apache.rocketmq.tools.command.MQAdminStartup": "mqadmin",
}
COMMANDS: Final[Mapping[str, Callable[[_Words, _Environment], Launch]]] = {
    "mqnamesrv": servers.namesrv,
    "mqbroker": servers.broker,
    "mqproxy": proxies.proxy,
    "mqadmin": _mqadmin,
    **{name: _no_command(name) for name in absent.SENTENCES},
    "runserver.sh": _run_class,
    "runbroker.sh": _run_class,
    "tools.sh": _run_class,
    "brokerStart.sh": _pods_broker,
    "docker-entrypoint.sh": _entry_point,
}


def run(words: _Words) -> int:
    """`words`: a name and what follows it. Returns an exit code, or becomes what is to run."""
    name = Path(words[0]).name if words else ""
    try:
        if name == "mqshutdown":
            return _say(_shut_down(words[1:]))
        if name not in COMMANDS:
            raise NotLaunched(f"'{name}' is no command of RocketMQ's that TriMQ has")
        launch = COMMANDS[name](words[1:], os.environ)
    except NotLaunched as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.code
    for line in launch.said:
        print(f"{name}: {line}", file=sys.stderr)
    return _become(launch)


def _become(launch: Launch) -> NoReturn:
    sys.stderr.flush()
    if os.getpid() == 1 and launch.module == "trimq":
        # It waits for the next one to hear it: see `trimq.commands.main.ended_by_sigterm`.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    # The folder of the scripts stays out of where modules are looked for, as it was.
    flags = ["-P"] if sys.flags.safe_path else []
    os.execv(sys.executable, [sys.executable, *flags, "-m", launch.module, *launch.words])


def _say(lines: Sequence[str]) -> int:
    print("\n".join(lines))
    return 0


def _shut_down(words: _Words) -> list[str]:
    from trimq.commands.original.processes import running_servers
    from trimq.commands.original.shutdown import shut_down

    return shut_down(words[0] if words else "", running_servers())
