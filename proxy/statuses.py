"""How a call ends, as its answer says: the protocol's codes, and what servers' codes become (ResponseBuilder)."""

import logging
from typing import Final

from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.proxy.protos.definition_pb2 import Code, Status
from trimq.remoting.errors import RemotingTimeout, TransportError

log = logging.getLogger("trimq.proxy")

_BY_RESPONSE: Final = {
    int(ResponseCode.SUCCESS): Code.OK,
    int(ResponseCode.SYSTEM_BUSY): Code.TOO_MANY_REQUESTS,
    int(ResponseCode.REQUEST_CODE_NOT_SUPPORTED): Code.NOT_IMPLEMENTED,
    int(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST): Code.CONSUMER_GROUP_NOT_FOUND,
    int(ResponseCode.LMQ_QUOTA_EXCEEDED): Code.LITE_TOPIC_QUOTA_EXCEEDED,
    int(ResponseCode.LITE_SUBSCRIPTION_QUOTA_EXCEEDED): Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED,
}


class ProxyError(Exception):
    """A failure that a call expects: its answer says this."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return f"{self.text} ({Code.Name(self.code)})"


class BrokerRefused(ProxyError):
    """A server answered another code than was hoped for."""

    def __init__(self, answer: RemotingCommand) -> None:
        super().__init__(code_of(answer.code), answer.remark or str(answer.code))
        self.response_code = answer.code


def code_of(response_code: int) -> Code:
    """What a server's code means to a client."""
    return _BY_RESPONSE.get(response_code, Code.INTERNAL_SERVER_ERROR)


def status(code: Code, text: str | None = None) -> Status:
    """By default the text is the code's name."""
    return Status(code=code, message=Code.Name(code) if text is None else text)


OK: Final = status(Code.OK)


def status_of(error: Exception) -> Status:
    """What a call that failed answers. What nobody foresaw is logged."""
    if isinstance(error, ProxyError):
        return status(error.code, error.text)
    if isinstance(error, RemotingTimeout):
        return status(Code.PROXY_TIMEOUT, str(error))
    if isinstance(error, TransportError):
        return status(Code.INTERNAL_SERVER_ERROR, str(error))
    log.error("call failed", exc_info=error)
    return status(Code.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}")
