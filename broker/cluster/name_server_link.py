"""One NameServer as a broker sees it: a kept connection, and what was said over it."""

import logging
from collections.abc import Callable
from typing import Final

import trio

from trimq.base.waits import Wakeup
from trimq.broker.cluster.announcement import Announcement
from trimq.broker.cluster.duplicate_brokers import DuplicateBrokers
from trimq.broker.cluster.silent_peers import SilentPeers
from trimq.broker.config import BrokerConfig
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.kv import KVTable
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header, decode_header
from trimq.codec.headers.namesrv import (
    QueryDataVersionResponseHeader,
    RegisterBrokerResponseHeader,
    RegisterTopicRequestHeader,
    UnRegisterBrokerRequestHeader,
)
from trimq.remoting.clients.client import Client, Tls
from trimq.remoting.errors import PeerGone, TransportError

_log: Final = logging.getLogger("trimq.broker")

# A lost NameServer is tried again twice a second (the real broker: up to 30 s later): one that comes back knows
# nothing, and must know everything soon.
_PAUSE: Final = 0.5
_FAREWELL_SECONDS: Final = 3
_CUT: Final = "the way to it is cut, for a test"
# Former names and addresses that are still to be taken back, at most.
_MOST_FORMER: Final = 8


class NameServerLink:
    """Registers in full when connected and every registerNameServerPeriod, changes at once.

    Topics that change are sent alone, with the version of the whole table, as the real broker does.
    ``progress`` is called whenever ``settled`` or ``tried`` may have changed. Nothing that an old NameServer may
    leave unanswered stands before a registration.
    """

    def __init__(
        self,
        addr: str,
        announcement: Announcement,
        config: BrokerConfig,
        order_topics: Callable[[KVTable], None],
        progress: Callable[[], None],
        tls: Tls | None = None,
    ) -> None:
        self.addr = addr
        self._tls = tls
        self.registered = False
        # Whether the first attempt to register has ended, and why the last one failed.
        self.tried = False
        self.trouble = "it has not answered yet"
        # Of a slave's master.
        self.master_ha_address = ""
        self._state = ""
        self._announcement = announcement
        self._courtesy = SilentPeers()
        self._rivals = DuplicateBrokers(announcement.identity, config, self._courtesy)
        self._config = config
        self._order_topics = order_topics
        self._progress = progress
        self._timeout = config.register_broker_timeout_mills / 1000
        self._changed: dict[str, TopicConfig] = {}
        self._former: list[UnRegisterBrokerRequestHeader] = []
        self._anew = False
        self._busy = False
        self._wake = Wakeup()
        self._client: Client | None = None
        self._leaving = False
        # None: it may be reached. A test can cut the way to it.
        self._healed: trio.Event | None = None

    @property
    def settled(self) -> bool:
        """Whether nothing is left to say, or there is nobody to say it to."""
        return not self.registered or not (self._changed or self._anew or self._busy)

    def change(self, topic: TopicConfig) -> None:
        """A topic was created or changed: announced as soon as the loop gets to it."""
        self._changed[topic.topic_name] = topic
        self._look()

    def replace(
        self, former: UnRegisterBrokerRequestHeader, present: UnRegisterBrokerRequestHeader
    ) -> None:
        """The broker goes by another name or address: the former one leaves, and everything is registered anew."""
        left = [one for one in (*self._former, former) if one != present]
        self._former = left[-_MOST_FORMER:]
        self._anew = True
        self._look()

    @property
    def is_cut(self) -> bool:
        return self._healed is not None

    def cut(self) -> None:
        """It cannot be reached from now on, until `heal`: for tests."""
        if self._healed is None:
            self._healed = trio.Event()
            if self._client is not None:
                self._client.close(_CUT)

    def heal(self) -> None:
        healed, self._healed = self._healed, None
        if healed is not None:
            healed.set()

    async def run(self) -> None:
        """Keep the registration."""
        async with trio.open_nursery() as beside:
            await self._stay(beside)

    async def _stay(self, beside: trio.Nursery) -> None:
        while True:
            while self._healed is not None:
                await self._healed.wait()
            try:
                fields = self._announcement.identity.zone_fields
                async with Client.connect(
                    self.addr, self._tls, extra_fields=fields, on_closed=self._look
                ) as client:
                    self._client = client
                    if self.is_cut:
                        raise PeerGone(_CUT)
                    await beside.start(self._look_for_rivals, client)
                    await self._register_all(client)
                    await self._keep(client, beside)
            except (TransportError, CodecError) as error:
                self._lost(str(error))
            except Exception as error:
                # A bug, or an unforeseen answer: the other NameServers are still kept informed.
                _log.exception("registering failed: namesrv=%s", self.addr)
                self._lost(str(error))
            finally:
                self._client = None
            if not self.is_cut:
                await trio.sleep(_PAUSE)

    async def leave(self) -> None:
        """Unregister, if there is a connection to do it over."""
        self._leaving = True
        self.registered = False
        client = self._client
        if client is None or client.closed:
            return
        header = self._announcement.unregister_header()
        try:
            await client.request(RequestCode.UNREGISTER_BROKER, header, timeout=_FAREWELL_SECONDS)
        except TransportError as error:
            _log.warning("not unregistered: namesrv=%s reason=%s", self.addr, error)
        else:
            _log.info("unregistered: namesrv=%s", self.addr)

    async def _look_for_rivals(
        self, client: Client, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Beside the registration, whatever becomes of it; asked before it, which takes a rival's place."""
        try:
            await self._rivals.look(client, self.addr, task_status)
        except (TransportError, CodecError) as error:
            _log.debug("not asked for rivals: namesrv=%s reason=%s", self.addr, error)
        except Exception:
            _log.exception("looking for rivals failed: namesrv=%s", self.addr)

    async def _keep(self, client: Client, beside: trio.Nursery) -> None:
        """Announce changes, and everything again periodically, while the connection lasts."""
        due = self._next_turn()
        while not client.closed:
            if self._leaving:
                # Unregistering uses this connection; it ends with the service.
                await trio.sleep_forever()
            if self._anew:
                await beside.start(self._look_for_rivals, client)
                await self._register_all(client)
            elif self._changed:
                await self._register_changed(client)
            elif trio.current_time() >= due:
                due = self._next_turn()
                await beside.start(self._look_for_rivals, client)
                if await self._wants_all(client):
                    await self._register_all(client)
            else:
                await self._wake.wait(due - trio.current_time())
        raise PeerGone(f"{self.addr} closed the connection")

    def _look(self) -> None:
        """The connection has ended, or there is something to say."""
        self._wake.give()

    def _next_turn(self) -> float:
        # As BrokerController.start clamps it.
        period = min(max(self._config.register_name_server_period, 10_000), 60_000)
        return trio.current_time() + period / 1000

    async def _wants_all(self, client: Client) -> bool:
        """Whether the period's full registration is due (BrokerController.needRegister).

        It is for a NameServer that does not say what it has.
        """
        if self._config.force_register or self._config.enable_split_registration:
            return True
        version = self._announcement.version()
        header = self._announcement.query_header()
        reply = await self._courtesy.ask(client, RequestCode.QUERY_DATA_VERSION, header, version)
        if reply is None:
            return True
        if reply.code != ResponseCode.SUCCESS:
            return False
        answer = decode_header(QueryDataVersionResponseHeader, reply.ext_fields)
        return answer.changed or reply.body != version

    async def _register_all(self, client: Client) -> None:
        self._busy = True
        # What changed so far is part of everything.
        self._changed.clear()
        self._anew = False
        await self._take_back(client)
        refusals = [await self._register(client, body) for body in self._announcement.all_topics()]
        self._busy = False
        refusal = next((refusal for refusal in refusals if refusal is not None), None)
        if refusal is None:
            self._accepted()
        else:
            self._refused(refusal)

    async def _take_back(self, client: Client) -> None:
        """Former names and addresses.

        The real broker leaves them there: a NameServer loses them after two minutes of silence, and with them the
        connection, and so the broker. Before what is in their place is registered, since a NameServer of 4.x takes
        back by name and id, whatever the address.
        """
        while self._former:
            # Once only: if that fails, the connection ends, and the NameServer forgets what it heard over it.
            header = self._former.pop(0)
            await self._ask(client, RequestCode.UNREGISTER_BROKER, header, b"")
            _log.info(
                "unregistered: namesrv=%s former_name=%s former_address=%s",
                self.addr,
                header.broker_name,
                header.broker_addr,
            )

    async def _register_changed(self, client: Client) -> None:
        """Only the changed topics; should they be refused, everything (the broker is not known)."""
        self._busy = True
        topics = list(self._changed.values())
        self._changed.clear()
        refusal = None
        if self._config.enable_single_topic_register:
            # What the NameServer does not take alone goes the usual way.
            topics = [one for one in topics if not await self._register_topic(client, one)]
        for body in self._announcement.some_topics(topics):
            refusal = await self._register(client, body)
            if refusal is not None:
                break
        self._busy = False
        if refusal is None:
            self._progress()
        else:
            await self._register_all(client)

    async def _register(self, client: Client, body: bytes) -> str | None:
        """None, or why the NameServer refused."""
        header = self._announcement.register_header(body)
        reply = await self._ask(client, RequestCode.REGISTER_BROKER, header, body)
        if reply.code != ResponseCode.SUCCESS:
            return f"{reply.remark} (code {reply.code})"
        answer = decode_header(RegisterBrokerResponseHeader, reply.ext_fields)
        self.master_ha_address = answer.ha_server_addr or ""
        if reply.body:
            self._order_topics(decode_body(KVTable, reply.body))
        return None

    async def _register_topic(self, client: Client, topic: TopicConfig) -> bool:
        """False: this NameServer does not know the request (those before 5.0)."""
        header = RegisterTopicRequestHeader(topic=topic.topic_name)
        body = self._announcement.single_topic(topic)
        code = RequestCode.REGISTER_TOPIC_IN_NAMESRV
        return await self._courtesy.ask(client, code, header, body) is not None

    async def _ask(self, client: Client, code: int, header: Header, body: bytes) -> RemotingCommand:
        reply = await client.request(code, header, body, timeout=self._timeout)
        self._courtesy.answered(reply.version)
        return reply

    # -- one log line per change of state ------------------------------------------------------

    def _accepted(self) -> None:
        self.registered = self.tried = True
        if self._state != "registered":
            self._state = "registered"
            _log.info("registered: namesrv=%s", self.addr)
        self._progress()

    def _refused(self, why: str) -> None:
        self.registered, self.tried, self.trouble = False, True, why
        if self._state != "refused":
            self._state = "refused"
            _log.error("registration refused: namesrv=%s reason=%s", self.addr, why)
        self._progress()

    def _lost(self, why: str) -> None:
        self.registered = self._busy = False
        self.tried, self.trouble = True, why
        if self._state != "lost" and not self._leaving:
            self._state = "lost"
            _log.warning("NameServer lost, trying again: namesrv=%s reason=%s", self.addr, why)
        self._progress()
