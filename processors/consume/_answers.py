"""Refusals of a pull that say more than a code and a remark."""

from typing import Final

from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError

SEE_FAQ = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."


class ForbiddenType:
    """Why a pull has no permission (ForbiddenType)."""

    BROKER: Final = 1
    GROUP: Final = 2
    TOPIC: Final = 3
    BROADCASTING: Final = 4
    SUBSCRIPTION: Final = 5


class PullForbidden(RemotingError):
    """NO_PERMISSION, and the reply says what forbids it."""

    def __init__(self, kind: int, remark: str) -> None:
        super().__init__(ResponseCode.NO_PERMISSION, remark)
        self.kind = kind
