"""DELETE_KV_CONFIG: remove one value of the key-value configuration; an absent one is not an error."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import DeleteKVConfigRequestHeader
from trimq.namesrv.kv_config import KVConfig
from trimq.remoting.contract import Later, Processor, Request, Response


class DeleteKvConfig(Processor[DeleteKVConfigRequestHeader]):
    codes = (RequestCode.DELETE_KV_CONFIG,)
    header = DeleteKVConfigRequestHeader

    def __init__(self, kv_config: KVConfig) -> None:
        self._kv_config = kv_config

    def handle(self, request: Request[DeleteKVConfigRequestHeader]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[DeleteKVConfigRequestHeader]) -> Response:
        self._kv_config.delete(request.header.namespace, request.header.key)
        await self._kv_config.save()
        return Response()
