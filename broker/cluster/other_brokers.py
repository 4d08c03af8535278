"""Questions to other brokers, by their names (BrokerOuterAPI's RpcClient, ClientMetadata)."""

import logging
from collections.abc import Sequence
from typing import Final

import trio

from trimq.broker.cluster.silent_peers import SilentPeers
from trimq.broker.config import BrokerConfig
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.names import MASTER_ID
from trimq.remoting.clients.client import Client, Tls
from trimq.remoting.contract import RemotingError
from trimq.remoting.errors import RemotingTimeout, TransportError

log: Final = logging.getLogger("trimq.broker")


class NotRegistered(TransportError):
    """No NameServer knows a master of that name, and all were asked."""


class _Link:
    """A connection that is kept until it fails or is replaced."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.dropped = trio.Event()


class OtherBrokers:
    """One connection per broker, made when there is something to ask.

    Whenever a connection is made, the first NameServer that knows it says where the broker's master
    is.
    """

    def __init__(
        self, config: BrokerConfig, name_servers: Sequence[str], tls: Tls | None = None
    ) -> None:
        self._config = config
        self._name_servers = name_servers
        self._tls = tls
        self._links: dict[str, _Link] = {}
        self._locks: dict[str, trio.Lock] = {}
        self._courtesies: dict[str, SilentPeers] = {}
        self._nursery: trio.Nursery | None = None

    async def run(self) -> None:
        """Background service: the connections live in it."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None

    async def ask(self, name: str, code: int, header: Header) -> RemotingCommand:
        """The answer of the broker's master, whatever its code.

        RemotingError (SYSTEM_ERROR, with a sentence) when there is none within forwardTimeout.
        """
        seconds = self._config.forward_timeout / 1000
        try:
            with trio.fail_after(seconds):
                link = await self._link(name)
                reply = await link.client.request(code, header, timeout=seconds)
                self._courtesy(name).answered(reply.version)
                return reply
        except RemotingTimeout as error:
            self._drop(name)
            raise _failed(name, str(error)) from None
        except trio.TooSlowError:
            self._drop(name)
            raise _failed(name, f"no answer within {seconds} s") from None
        except (TransportError, CodecError) as error:
            raise _failed(name, str(error)) from None

    async def address_of(self, name: str) -> str | None:
        """Where NameServers say that the broker's master is, reached or not; None: they know none. RemotingError."""
        try:
            with trio.fail_after(self._config.forward_timeout / 1000):
                return await self._address(name)
        except NotRegistered:
            return None
        except trio.TooSlowError:
            raise _failed(name, "no NameServer answers") from None
        except (TransportError, CodecError) as error:
            raise _failed(name, str(error)) from None

    async def ask_courteously(self, name: str, code: int, header: Header) -> RemotingCommand | None:
        """The same for what an older broker may not know; None when the master does not.

        The silence of one that is old costs no connection, and it is not asked that again for a while.
        """
        try:
            with trio.fail_after(self._config.forward_timeout / 1000):
                link = await self._link(name)
            return await self._courtesy(name).ask(link.client, code, header)
        except RemotingTimeout as error:
            self._drop(name)
            raise _failed(name, str(error)) from None
        except trio.TooSlowError:
            raise _failed(name, "no connection in time") from None
        except (TransportError, CodecError) as error:
            raise _failed(name, str(error)) from None

    def _courtesy(self, name: str) -> SilentPeers:
        return self._courtesies.setdefault(name, SilentPeers())

    async def _link(self, name: str) -> _Link:
        async with self._locks.setdefault(name, trio.Lock()):
            link = self._links.get(name)
            if link is not None and not link.client.closed:
                return link
            self._drop(name)
            if self._nursery is None:
                raise TransportError("this broker is stopping")
            address = await self._address(name)
            made: _Link = await self._nursery.start(self._keep, address)
            self._links[name] = made
            log.info("connected to another broker: name=%s address=%s", name, address)
            return made

    async def _keep(
        self, address: str, task_status: trio.TaskStatus[_Link] = trio.TASK_STATUS_IGNORED
    ) -> None:
        seconds = self._config.forward_timeout / 1000
        async with Client.connect(address, self._tls, timeout=seconds) as client:
            link = _Link(client)
            task_status.started(link)
            await link.dropped.wait()

    async def _address(self, name: str) -> str:
        """Asked of one NameServer after the other. Each has its share of the time, and so has the broker itself: one
        that hangs does not hide what others know."""
        failure, unknown = "no NameServer is known", 0
        for at, name_server in enumerate(self._name_servers):
            left = trio.current_effective_deadline() - trio.current_time()
            share = left / (len(self._name_servers) - at + 1)
            try:
                with trio.fail_after(share):
                    async with Client.connect(name_server, self._tls) as client:
                        answer = await client.request(RequestCode.GET_BROKER_CLUSTER_INFO)
            except trio.TooSlowError:
                failure = f"NameServer {name_server} did not answer within {share:.1f} s"
                log.warning("the next NameServer is asked: broker=%s reason=%s", name, failure)
                continue
            except TransportError as error:
                failure = str(error)
                continue
            found = decode_body(ClusterInfo, answer.body).broker_addr_table.get(name)
            if found is not None and MASTER_ID in found.broker_addrs:
                return found.broker_addrs[MASTER_ID]
            failure = f"cannot find addr for broker {name}"
            unknown += 1
        if 0 < unknown == len(self._name_servers):
            raise NotRegistered(failure)
        raise TransportError(failure)

    def _drop(self, name: str) -> None:
        link = self._links.pop(name, None)
        if link is not None:
            link.dropped.set()


def _failed(name: str, why: str) -> RemotingError:
    log.warning("another broker did not answer: name=%s reason=%s", name, why)
    return RemotingError(ResponseCode.SYSTEM_ERROR, f"broker {name} could not be asked: {why}")
