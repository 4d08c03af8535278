"""GET_KV_CONFIG: one value of the key-value configuration."""

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetKVConfigRequestHeader, GetKVConfigResponseHeader
from trimq.codec.java.texts import java_text
from trimq.namesrv.kv_config import KVConfig
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class GetKvConfig(Processor[GetKVConfigRequestHeader]):
    codes = (RequestCode.GET_KV_CONFIG,)
    shows_no_fields = True
    header = GetKVConfigRequestHeader

    def __init__(self, kv_config: KVConfig) -> None:
        self._kv_config = kv_config

    def handle(self, request: Request[GetKVConfigRequestHeader]) -> Response:
        header = request.header
        value = self._kv_config.get(header.namespace, header.key)
        if value is None:
            namespace, key = java_text(header.namespace), java_text(header.key)
            remark = f"No config item, Namespace: {namespace} Key: {key}"
            raise RemotingError(ResponseCode.QUERY_NOT_FOUND, remark)
        return Response(header=GetKVConfigResponseHeader(value=value))
