"""How a command fails: exit code 1 and one sentence, with what may be behind it.

0 is done; 2, wrong usage, is click's.
"""

from typing import Any, Final

import click

from trimq.admin.errors import AdminError, NoRoute, Refused
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.names import RETRY_PREFIX
from trimq.mqadmin.output import complain
from trimq.remoting.errors import PeerGone, RemotingConnectError, TransportError
from trimq.remoting.tls.contexts import ClientTls

FAILURES: Final = (AdminError, TransportError, CodecError)
"""What a server or the way to it can do to a command."""

DEFAULT_NAMESRV: Final = "127.0.0.1:9876"
"""Where `trimq server` and the official NameServer listen unless they are told otherwise."""

# What only NameServers know.
_OF_NAME_SERVERS: Final = frozenset(
    {
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.GET_KV_CONFIG,
        RequestCode.PUT_KV_CONFIG,
        RequestCode.DELETE_KV_CONFIG,
        RequestCode.GET_NAMESRV_CONFIG,
        RequestCode.UPDATE_NAMESRV_CONFIG,
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
    }
)


class Failed(click.ClickException):
    """The command could not do what it was asked to; the text says why."""

    exit_code = 1

    def show(self, file: Any = None) -> None:
        complain(self.message)


def sentence(error: Exception | str, *, by_default: bool, tls: ClientTls | None) -> str:
    """What failed, and what may be behind it. `by_default`: no NameServer was named, and the default was asked."""
    text = str(error)
    if isinstance(error, Refused) and _is_for_name_servers(error):
        text += f"; is {error.addr} a broker? -n takes NameServers"
    if isinstance(error, NoRoute) and not error.topic.startswith(RETRY_PREFIX):
        text += "; mqadmin topicList shows the topics there are"
    if isinstance(error, RemotingConnectError) and by_default:
        text += _tried_by_default(text)
    if isinstance(error, PeerGone) and "without an answer" in text:
        text += _wanted_in_tls(tls)
    return text


def _is_for_name_servers(error: Refused) -> bool:
    """Whether a server that is not a NameServer was asked what only NameServers know."""
    is_unknown = error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    return is_unknown and error.request in _OF_NAME_SERVERS


def _tried_by_default(text: str) -> str:
    if f" {DEFAULT_NAMESRV}:" not in text:
        return ""
    return f"; neither -n nor NAMESRV_ADDR names a NameServer, so {DEFAULT_NAMESRV} was tried"


def _wanted_in_tls(tls: ClientTls | None) -> str:
    """What a server that hung up may have wanted: it cannot say so."""
    if tls is None:
        return "; does it accept TLS only? Use --tls"
    return "" if tls.certificate else "; does it ask for a certificate? Give one with --tls-cert"
