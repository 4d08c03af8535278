"""GET_KVLIST_BY_NAMESPACE: all values of one namespace."""

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetKVListByNamespaceRequestHeader
from trimq.codec.java.rows import object_steps
from trimq.codec.java.texts import java_text
from trimq.namesrv.kv_config import KVConfig
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import RemotingError, Request, Response


class GetKvlistByNamespace(SteppedProcessor[GetKVListByNamespaceRequestHeader]):
    codes = (RequestCode.GET_KVLIST_BY_NAMESPACE,)
    header = GetKVListByNamespaceRequestHeader

    def __init__(self, kv_config: KVConfig) -> None:
        self._kv_config = kv_config

    def steps(self, request: Request[GetKVListByNamespaceRequestHeader]) -> AnswerSteps:
        namespace = request.header.namespace
        table = self._kv_config.table(namespace)
        if table is None:
            remark = f"No config item, Namespace: {java_text(namespace)}"
            raise RemotingError(ResponseCode.QUERY_NOT_FOUND, remark)
        rows = yield from object_steps(list(table.items()))
        return Response(body=b'{"table":%b}' % rows)
