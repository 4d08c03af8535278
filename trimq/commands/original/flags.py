"""The flags of `mqbroker`, `mqnamesrv` and `mqproxy`, in the forms that RocketMQ takes them (commons-cli)."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from trimq.commands.original.launch import NotLaunched


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise NotLaunched(f"{self.prog}: {message}; {self.prog} -h names the flags")


def _named(name: str, about: str) -> _Parser:
    # A long name may have one dash or two.
    parser = _Parser(prog=name, description=about, allow_abbrev=False, add_help=False)
    parser.add_argument("-h", "--help", "-help", action="help", help="Print this.")
    parser.add_argument(
        *("-n", "--namesrvAddr", "-namesrvAddr"),
        dest="namesrv",
        metavar="HOST:PORT;...",
        help="The NameServers.",
    )
    # As with RocketMQ, whatever else stands there is nobody's business.
    parser.add_argument("others", nargs="*", help=argparse.SUPPRESS)
    return parser


def _shared(name: str, about: str) -> _Parser:
    parser = _named(name, about)
    parser.add_argument(
        *("-c", "--configFile", "-configFile"),
        dest="config",
        type=Path,
        metavar="FILE",
        help="A RocketMQ properties file.",
    )
    parser.add_argument(
        *("-p", "--printConfigItem", "-printConfigItem"),
        dest="print_all",
        action="store_true",
        help="Print the settings, and start nothing.",
    )
    return parser


def namesrv_flags(words: Sequence[str]) -> argparse.Namespace:
    """Of `mqnamesrv`; NotLaunched for an unknown one."""
    return _shared("mqnamesrv", "A NameServer.").parse_args(words)


def broker_flags(words: Sequence[str]) -> argparse.Namespace:
    """Of `mqbroker`; NotLaunched for an unknown one."""
    parser = _shared("mqbroker", "A broker.")
    parser.add_argument(
        *("-m", "--printImportantConfig", "-printImportantConfig"),
        dest="print_important",
        action="store_true",
        help="Print the important settings, and start nothing.",
    )
    parser.add_argument(
        "--enable-proxy", action="store_true", help="Serve the 5.x clients, too, on port 8081."
    )
    _add_proxy_config(parser)
    parser.add_argument(
        *("-bc", "--brokerConfigPath", "-brokerConfigPath"),
        dest="config",
        type=Path,
        metavar="FILE",
        help="The same as -c.",
    )
    parser.add_argument(
        *("-pm", "--proxyMode", "-proxyMode"), dest="proxy_mode", help=argparse.SUPPRESS
    )
    return parser.parse_args(words)


def proxy_flags(words: Sequence[str]) -> argparse.Namespace:
    """Of `mqproxy`; NotLaunched for an unknown one."""
    parser = _named("mqproxy", "A proxy for 5.x clients.")
    _add_proxy_config(parser)
    parser.add_argument(
        *("-pm", "--proxyMode", "-proxyMode"),
        dest="proxy_mode",
        metavar="cluster",
        help="Before the brokers of a cluster.",
    )
    # Of a broker in the same process.
    parser.add_argument(
        *("-bc", "--brokerConfigPath", "-brokerConfigPath"),
        dest="broker_config",
        help=argparse.SUPPRESS,
    )
    return parser.parse_args(words)


def _add_proxy_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        *("-pc", "--proxyConfigPath", "-proxyConfigPath"),
        dest="proxy_config",
        type=Path,
        metavar="FILE",
        help="A RocketMQ rmq-proxy.json.",
    )
