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


def inner_error(code: Code, text: str) -> ProxyError:
    """As the original tells what it throws within itself: behind the name of its exception."""
    return ProxyError(code, f"org.apache.rocketmq.proxy.common.ProxyException: {text}")


class BrokerRefused(ProxyError):
    """A server answered another code than was hoped for. `addr`: the broker's."""

    def __init__(self, answer: RemotingCommand, addr: str = "") -> None:
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            code = Code.TOPIC_NOT_FOUND
            text = no_topic(f"{answer.remark} BROKER: {addr}" if addr else str(answer.remark))
        else:
            code = code_of(answer.code)
            text = Code.Name(code) if answer.remark is None else answer.remark
        super().__init__(code, text)
        self.response_code = answer.code


def no_topic(reason: str) -> str:
    """As the client library of the original says it."""
    page = "https://rocketmq.apache.org/docs/bestPractice/06FAQ"
    return f"CODE: 17  DESC: {reason}\nFor more information, please visit the url, {page}"


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
