"""The administration client for Trio.

async with AdminClient.connect("127.0.0.1:9876") as admin:
    route = await admin.topic_route("MyTopic")
"""

import ssl
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio

from trimq.admin.brokers import cluster, leaving, lite, metadata, namesrv, runtime
from trimq.admin.connecting.addresses import name_server_list
from trimq.admin.connecting.older import Peers
from trimq.admin.connecting.signing import AccessKeys
from trimq.admin.groups import groups, offsets, progress, subscription_agreement
from trimq.admin.messages import finding, pulling, sending
from trimq.admin.topics import draining, elastic, remapping, static_topics, topics
from trimq.codec.codes import AnyRequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.remoting.clients.client import Client


class AdminClient:
    """Every operation of `admin`, over connections that are made when first needed.

    Any number of tasks may use one. Operations raise AdminError when a server refuses or does not
    have what is asked for, remoting's TransportError when there is no answer, CodecError when an
    answer is malformed.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        name_servers: Sequence[str],
        timeout: float,
        tls: ssl.SSLContext | None,
        keys: AccessKeys | None,
    ) -> None:
        """Use `connect`."""
        self._nursery = nursery
        self.name_servers = name_servers
        self._timeout = timeout
        self._tls = tls
        self._keys = keys
        self._clients: dict[str, Client] = {}
        self._connecting: dict[str, trio.Lock] = {}
        self.peers = Peers()

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        name_servers: str,
        *,
        timeout: float = 5,  # noqa: ASYNC109
        tls: ssl.SSLContext | None = None,
        keys: AccessKeys | None = None,
    ) -> AsyncIterator["AdminClient"]:
        """A client of the NameServers "host:port;host:port". `timeout`: seconds for an answer."""
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            try:
                yield cls(nursery, name_server_list(name_servers), timeout, tls, keys)
            except Exception as error:
                # Raised again outside the nursery, which would wrap it into a group.
                failure = error
            nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def ask(
        self,
        addr: str,
        code: AnyRequestCode,
        header: Header | None = None,
        body: bytes = b"",
        factor: float = 1,
    ) -> RemotingCommand:
        """One request and its answer: see `admin.link.Link`."""
        client = await self._client(addr)
        if self._keys is not None:
            header = self._keys.signed(header, body)
        return await client.request(code, header, body, self._timeout * factor)

    def now(self) -> int:
        """Wall-clock milliseconds."""
        return time.time_ns() // 1_000_000

    async def _client(self, addr: str) -> Client:
        async with self._connecting.setdefault(addr, trio.Lock()):
            client = self._clients.get(addr)
            if client is None or client.closed:
                found: Client | Exception = await self._nursery.start(self._hold, addr)
                if isinstance(found, Exception):
                    raise found
                self._clients[addr] = client = found
            return client

    async def _hold(
        self, addr: str, task_status: trio.TaskStatus[Client | Exception] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Keep one connection open; a failure to make it goes to the caller, not to the nursery."""
        try:
            async with Client.connect(addr, self._tls, timeout=self._timeout) as client:
                task_status.started(client)
                await trio.sleep_forever()
        except Exception as error:
            task_status.started(error)

    cluster_info = cluster.cluster_info
    topic_route = cluster.topic_route
    masters = cluster.masters
    members = cluster.members
    broker_names = cluster.broker_names
    broker_name_of = cluster.broker_name_of
    topic_clusters = cluster.topic_clusters
    route_addrs = cluster.route_addrs

    topic_names = topics.topic_names
    topics_of = topics.topics_of
    topic_groups = topics.topic_groups
    topic_stats = static_topics.topic_stats
    broker_topic_stats = topics.broker_topic_stats
    put_topic = topics.put_topic
    put_topics = topics.put_topics
    delete_topic = topics.delete_topic
    delete_topic_on_broker = topics.delete_topic_on_broker
    delete_topics_on_broker = topics.delete_topics_on_broker
    delete_topic_on_name_servers = topics.delete_topic_on_name_servers

    put_group = groups.put_group
    put_groups = groups.put_groups
    groups_of = groups.groups_of
    delete_group = groups.delete_group
    delete_groups = groups.delete_groups
    consumer_connection = groups.consumer_connection
    running_info = groups.running_info
    queue_owners = groups.queue_owners
    producer_connection = groups.producer_connection
    consume_stats = groups.consume_stats
    broker_progress = groups.broker_progress
    check_stats = groups.check_stats
    group_brokers = groups.group_brokers
    producers = groups.producers
    queue_holders = groups.queue_holders
    set_request_mode = groups.set_request_mode
    group_agreement = subscription_agreement.group_agreement
    groups_online = subscription_agreement.groups_online

    put_kv = namesrv.put_kv
    get_kv = namesrv.get_kv
    delete_kv = namesrv.delete_kv
    set_broker_order = namesrv.set_broker_order
    remainder = leaving.remainder
    unregister = leaving.unregister
    wipe_write_perm = namesrv.wipe_write_perm
    add_write_perm = namesrv.add_write_perm
    name_server_config = namesrv.name_server_config
    update_name_server_config = namesrv.update_name_server_config

    broker_runtime = runtime.broker_runtime
    broker_config = runtime.broker_config
    update_broker_config = runtime.update_broker_config
    clean_broker = runtime.clean_broker
    broker_consume_stats = runtime.broker_consume_stats
    broker_counter = runtime.broker_counter
    ha_status = runtime.ha_status
    set_read_ahead = runtime.set_read_ahead
    switch_timer_engine = runtime.switch_timer_engine
    reset_master_flush_offset = runtime.reset_master_flush_offset
    add_broker = runtime.add_broker
    remove_broker = runtime.remove_broker

    view_message = finding.view_message
    query_messages = finding.query_messages
    message_by_id = finding.message_by_id
    consume_directly = finding.consume_directly
    message_tracks = finding.message_tracks

    read_queues = pulling.read_queues
    place_of = pulling.place_of
    min_offset = pulling.min_offset
    max_offset = pulling.max_offset
    search_offset = pulling.search_offset
    pull = pulling.pull
    consume_queue = pulling.consume_queue

    send = sending.send
    send_to = sending.send_to
    write_queues = sending.write_queues
    sending_route = sending.sending_route

    clone_offsets = offsets.clone_offsets
    planned_clone = offsets.planned_clone
    commit_offset = offsets.commit_offset
    reset_committed = offsets.reset_committed
    reset_group = offsets.reset_group
    reset_queue = offsets.reset_queue
    resets_by_itself = offsets.resets_by_itself

    brokers_with_group = progress.brokers_with_group
    group_topics = progress.group_topics
    has_offsets = progress.has_offsets
    move_group = progress.move_group
    planned_moves = progress.planned_moves
    queue_progress = progress.queue_progress
    time_spans = progress.time_spans

    all_topics = metadata.all_topics
    all_groups = metadata.all_groups
    system_topics = metadata.system_topics
    user_topics = metadata.user_topics
    user_groups = metadata.user_groups

    broker_lite_info = lite.broker_lite_info
    parent_topic_info = lite.parent_topic_info
    lite_topic_info = lite.lite_topic_info
    lite_client_info = lite.lite_client_info
    lite_group_info = lite.lite_group_info
    trigger_lite_dispatch = lite.trigger_lite_dispatch

    elastic_create = elastic.elastic_create
    elastic_scale = elastic.elastic_scale
    elastic_move = elastic.elastic_move
    elastic_cancel = elastic.elastic_cancel
    elastic_view = elastic.elastic_view
    find_elastic_view = elastic.find_elastic_view
    elastic_broker = elastic.elastic_broker
    elastic_brokers = elastic.elastic_brokers

    topic_config = static_topics.topic_config
    topic_configs = static_topics.topic_configs
    put_static_topics = static_topics.put_static_topics
    add_global_numbers = static_topics.add_global_numbers
    complete_static_topic = static_topics.complete
    move_static_queues = remapping.move_queues

    tail_of = draining.tail_of
