"""GET_KV_CONFIG: one value of the key-value configuration."""

from codec.codes import RequestCode, ResponseCode
from codec.headers.namesrv import GetKVConfigRequestHeader, GetKVConfigResponseHeader
from namesrv.kv_config import KVConfig
from remoting.contract import Processor, RemotingError, Request, Response


class GetKvConfig(Processor[GetKVConfigRequestHeader]):
    codes = (RequestCode.GET_KV_CONFIG,)
    header = GetKVConfigRequestHeader

    def __init__(self, kv_config: KVConfig) -> None:
        self._kv_config = kv_config

    def handle(self, request: Request[GetKVConfigRequestHeader]) -> Response:
        namespace, key = request.header.namespace, request.header.key
        value = self._kv_config.get(namespace, key)
        if value is None:
            remark = f"No config item, Namespace: {namespace} Key: {key}"
            raise RemotingError(ResponseCode.QUERY_NOT_FOUND, remark)
        return Response(header=GetKVConfigResponseHeader(value=value))
