"""GET_KVLIST_BY_NAMESPACE: all values of one namespace."""

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.kv import KVTable
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetKVListByNamespaceRequestHeader
from trimq.codec.java.texts import java_text
from trimq.namesrv.kv_config import KVConfig
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class GetKvlistByNamespace(Processor[GetKVListByNamespaceRequestHeader]):
    codes = (RequestCode.GET_KVLIST_BY_NAMESPACE,)
    header = GetKVListByNamespaceRequestHeader

    def __init__(self, kv_config: KVConfig) -> None:
        self._kv_config = kv_config

    def handle(self, request: Request[GetKVListByNamespaceRequestHeader]) -> Response:
        namespace = request.header.namespace
        table = self._kv_config.table(namespace)
        if table is None:
            remark = f"No config item, Namespace: {java_text(namespace)}"
            raise RemotingError(ResponseCode.QUERY_NOT_FOUND, remark)
        return Response(body=encode_body(KVTable(table=table)))
