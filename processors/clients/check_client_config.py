"""CHECK_CLIENT_CONFIG: may a client subscribe like this? Java clients ask before they start."""

from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.heartbeat import CheckClientRequestBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import FeatureMissing, Processor, Request, Response

_TAG_TYPES = (None, "", "TAG")


class CheckClientConfig(Processor[None]):
    """Answers as a broker with enablePropertyFilter=false does: only tags can be filtered by."""

    codes = (RequestCode.CHECK_CLIENT_CONFIG,)

    def handle(self, request: Request[None]) -> Response:
        if request.body:
            subscription = decode_request(CheckClientRequestBody, request.body).subscription_data
            if subscription is not None and subscription.expression_type not in _TAG_TYPES:
                raise FeatureMissing(
                    ResponseCode.SYSTEM_ERROR,
                    "The broker does not support consumer to filter message by "
                    f"{subscription.expression_type}",
                    "filters other than tags (SQL92) are not supported yet",
                )
        return Response()
