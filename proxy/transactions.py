"""Where the halves of transactions lie: remembered from their sends and checks, else found by the brokers' index.

The official proxy forgets a place after 30 seconds, and with its process; a commit that comes later fails there. Here
it is remembered as long as there is room, and brokers are asked for what is not.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import SysFlag
from trimq.codec.headers.transactions import EndTransactionRequestHeader
from trimq.proxy.config import ProxyConfig
from trimq.proxy.half_messages import HalfMessages, Place
from trimq.proxy.links import Links
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.routes import Routes
from trimq.proxy.statuses import BrokerRefused, inner_error
from trimq.remoting.errors import RemotingConnectError

# Transactions that are remembered, and such as have ended: the oldest give way.
_MOST: Final = 50_000
_SECONDS: Final = 2.0
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a producer says: `kind` is one of SysFlag's; `checked`: it was asked."""

    kind: int
    message_id: str
    checked: bool


class Places:
    """By topic and transaction id: the newest place is where the half lies."""

    def __init__(self, most_each: int, most: int = _MOST) -> None:
        self._most_each = most_each
        self._most = most
        self._places: OrderedDict[Key, list[Place]] = OrderedDict()
        self._ended: OrderedDict[Key, None] = OrderedDict()

    def add(self, key: Key, place: Place) -> None:
        """It was sent, or a check says where it lies now."""
        places = self._places.setdefault(key, [])
        self._places.move_to_end(key)
        if place not in places:
            places.append(place)
            del places[: -self._most_each]
        while len(self._places) > self._most:
            self._places.popitem(last=False)

    def newest(self, key: Key) -> Place | None:
        places = self._places.get(key)
        return places[-1] if places else None

    def has_ended(self, key: Key) -> bool:
        return key in self._ended

    def end(self, key: Key) -> None:
        """It is decided: nobody needs its place any more."""
        self._places.pop(key, None)
        self._ended[key] = None
        self._ended.move_to_end(key)
        while len(self._ended) > self._most:
            self._ended.popitem(last=False)

    def reopen(self, key: Key) -> None:
        """Perhaps nobody was told: it may be decided once more, by what the broker then knows of it."""
        self._ended.pop(key, None)


class Transactions:
    def __init__(
        self, config: ProxyConfig, links: Links, routes: Routes, halves: HalfMessages
    ) -> None:
        self._links = links
        self._routes = routes
        self._halves = halves
        self._places = Places(config.transaction_data_max_num)

    def add(self, topic: str, transaction_id: str, place: Place) -> None:
        """A half was stored there."""
        self._places.add((topic, transaction_id), place)

    def place_of(self, topic: str, transaction_id: str) -> Place | None:
        """Where it lies, as far as that is remembered."""
        return self._places.newest((topic, transaction_id))

    async def end(self, topic: str, transaction_id: str, said: Resolution) -> None:
        """Tell its broker. ProxyError when nobody knows it, or knows that it has ended."""
        key = (topic, transaction_id)
        place = self._places.newest(key)
        is_known = place is not None
        if place is None and not self._places.has_ended(key):
            place = await self._halves.find(topic, transaction_id)
        if place is None:
            raise inner_error(Code.INTERNAL_SERVER_ERROR, "cannot found transaction data")
        decides = said.kind != SysFlag.NOT_TRANSACTION
        header = EndTransactionRequestHeader(
            topic=topic,
            producer_group=topic,
            tran_state_table_offset=place.queue_offset,
            commit_log_offset=place.log_offset,
            commit_or_rollback=said.kind,
            from_transaction_check=said.checked,
            msg_id=said.message_id,
            transaction_id=transaction_id,
        )
        if decides:
            # Before anything waits: of two that come together one counts.
            self._places.end(key)
        try:
            # A broker answers nothing to one who does not know yet.
            await self._tell(place.broker_name, header, is_asked=decides and not is_known)
        except BaseException as error:
            if decides:
                self._places.reopen(key)
            if isinstance(error, RemotingConnectError):
                # Nothing was sent: it lies where it lay.
                self._places.add(key, place)
            raise

    async def _tell(
        self, broker_name: str, header: EndTransactionRequestHeader, is_asked: bool
    ) -> None:
        addr = await self._routes.master_of(broker_name)
        if not is_asked:
            await self._links.oneway(addr, RequestCode.END_TRANSACTION, header)
            return
        # The place may be old: its broker says whether it was.
        answer = await self._links.ask(addr, RequestCode.END_TRANSACTION, header, timeout=_SECONDS)
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerRefused(answer)
