"""PUT_KV_CONFIG: set one value of the key-value configuration."""

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import PutKVConfigRequestHeader
from trimq.namesrv.kv_config import KVConfig
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response


class PutKvConfig(Processor[PutKVConfigRequestHeader]):
    codes = (RequestCode.PUT_KV_CONFIG,)
    header = PutKVConfigRequestHeader

    def __init__(self, kv_config: KVConfig) -> None:
        self._kv_config = kv_config

    def handle(self, request: Request[PutKVConfigRequestHeader]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[PutKVConfigRequestHeader]) -> Response:
        header = request.header
        if header.namespace is None or header.key is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "namespace or key is null")
        self._kv_config.put(header.namespace, header.key, header.value)
        await self._kv_config.save()
        return Response()
