"""The administration client for plain code. Loads no Trio.

with BlockingAdminClient("127.0.0.1:9876") as admin:
    route = admin.topic_route("MyTopic")
"""

import ssl
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from trimq.admin.brokers import cluster, leaving, lite, metadata, namesrv, runtime
from trimq.admin.connecting.addresses import name_server_list
from trimq.admin.connecting.blocking_link import BlockingLink, result_of
from trimq.admin.connecting.link import Link
from trimq.admin.connecting.signing import AccessKeys
from trimq.admin.groups import groups, offsets, progress, subscription_agreement
from trimq.admin.messages import finding, pulling, sending
from trimq.admin.topics import draining, elastic, remapping, static_topics, topics

P = ParamSpec("P")
R = TypeVar("R")


def _plain(
    operation: Callable[Concatenate[Link, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate["BlockingAdminClient", P], R]:
    """The operation as a method that returns its result."""

    @wraps(operation)
    def method(self: "BlockingAdminClient", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return result_of(operation(self.link, *args, **kwargs))

    return method


class BlockingAdminClient:
    """Every operation of `admin.client.AdminClient` under the same name, for one thread at a time.

    The same errors; see there. `timeout` are seconds for an answer.
    """

    def __init__(
        self,
        name_servers: str,
        *,
        timeout: float = 5,
        tls: ssl.SSLContext | None = None,
        keys: AccessKeys | None = None,
    ) -> None:
        self.link = BlockingLink(name_server_list(name_servers), timeout, tls, keys)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.close()

    def close(self) -> None:
        """End every connection."""
        self.link.close()

    @property
    def name_servers(self) -> Sequence[str]:
        """HOST:PORT of each NameServer."""
        return self.link.name_servers

    def now(self) -> int:
        """Wall-clock milliseconds."""
        return self.link.now()

    cluster_info = _plain(cluster.cluster_info)
    topic_route = _plain(cluster.topic_route)
    masters = _plain(cluster.masters)
    members = _plain(cluster.members)
    broker_names = _plain(cluster.broker_names)
    broker_name_of = _plain(cluster.broker_name_of)
    topic_clusters = _plain(cluster.topic_clusters)
    route_addrs = _plain(cluster.route_addrs)

    topic_names = _plain(topics.topic_names)
    topics_of = _plain(topics.topics_of)
    topic_groups = _plain(topics.topic_groups)
    topic_stats = _plain(static_topics.topic_stats)
    broker_topic_stats = _plain(topics.broker_topic_stats)
    put_topic = _plain(topics.put_topic)
    put_topics = _plain(topics.put_topics)
    delete_topic = _plain(topics.delete_topic)
    delete_topic_on_broker = _plain(topics.delete_topic_on_broker)
    delete_topics_on_broker = _plain(topics.delete_topics_on_broker)
    delete_topic_on_name_servers = _plain(topics.delete_topic_on_name_servers)

    put_group = _plain(groups.put_group)
    put_groups = _plain(groups.put_groups)
    groups_of = _plain(groups.groups_of)
    delete_group = _plain(groups.delete_group)
    delete_groups = _plain(groups.delete_groups)
    consumer_connection = _plain(groups.consumer_connection)
    running_info = _plain(groups.running_info)
    queue_owners = _plain(groups.queue_owners)
    producer_connection = _plain(groups.producer_connection)
    consume_stats = _plain(groups.consume_stats)
    broker_progress = _plain(groups.broker_progress)
    check_stats = _plain(groups.check_stats)
    group_brokers = _plain(groups.group_brokers)
    producers = _plain(groups.producers)
    queue_holders = _plain(groups.queue_holders)
    set_request_mode = _plain(groups.set_request_mode)
    group_agreement = _plain(subscription_agreement.group_agreement)
    groups_online = _plain(subscription_agreement.groups_online)

    put_kv = _plain(namesrv.put_kv)
    get_kv = _plain(namesrv.get_kv)
    delete_kv = _plain(namesrv.delete_kv)
    set_broker_order = _plain(namesrv.set_broker_order)
    remainder = _plain(leaving.remainder)
    unregister = _plain(leaving.unregister)
    wipe_write_perm = _plain(namesrv.wipe_write_perm)
    add_write_perm = _plain(namesrv.add_write_perm)
    name_server_config = _plain(namesrv.name_server_config)
    update_name_server_config = _plain(namesrv.update_name_server_config)

    broker_runtime = _plain(runtime.broker_runtime)
    broker_config = _plain(runtime.broker_config)
    update_broker_config = _plain(runtime.update_broker_config)
    clean_broker = _plain(runtime.clean_broker)
    broker_consume_stats = _plain(runtime.broker_consume_stats)
    broker_counter = _plain(runtime.broker_counter)
    ha_status = _plain(runtime.ha_status)
    set_read_ahead = _plain(runtime.set_read_ahead)
    switch_timer_engine = _plain(runtime.switch_timer_engine)
    reset_master_flush_offset = _plain(runtime.reset_master_flush_offset)
    add_broker = _plain(runtime.add_broker)
    remove_broker = _plain(runtime.remove_broker)

    view_message = _plain(finding.view_message)
    query_messages = _plain(finding.query_messages)
    message_by_id = _plain(finding.message_by_id)
    consume_directly = _plain(finding.consume_directly)
    message_tracks = _plain(finding.message_tracks)

    read_queues = _plain(pulling.read_queues)
    place_of = _plain(pulling.place_of)
    min_offset = _plain(pulling.min_offset)
    max_offset = _plain(pulling.max_offset)
    search_offset = _plain(pulling.search_offset)
    pull = _plain(pulling.pull)
    consume_queue = _plain(pulling.consume_queue)

    send = _plain(sending.send)
    send_to = _plain(sending.send_to)
    write_queues = _plain(sending.write_queues)
    sending_route = _plain(sending.sending_route)

    clone_offsets = _plain(offsets.clone_offsets)
    planned_clone = _plain(offsets.planned_clone)
    commit_offset = _plain(offsets.commit_offset)
    reset_committed = _plain(offsets.reset_committed)
    reset_group = _plain(offsets.reset_group)
    reset_queue = _plain(offsets.reset_queue)
    resets_by_itself = _plain(offsets.resets_by_itself)

    brokers_with_group = _plain(progress.brokers_with_group)
    group_topics = _plain(progress.group_topics)
    has_offsets = _plain(progress.has_offsets)
    move_group = _plain(progress.move_group)
    planned_moves = _plain(progress.planned_moves)
    queue_progress = _plain(progress.queue_progress)
    time_spans = _plain(progress.time_spans)

    all_topics = _plain(metadata.all_topics)
    all_groups = _plain(metadata.all_groups)
    system_topics = _plain(metadata.system_topics)
    user_topics = _plain(metadata.user_topics)
    user_groups = _plain(metadata.user_groups)

    broker_lite_info = _plain(lite.broker_lite_info)
    parent_topic_info = _plain(lite.parent_topic_info)
    lite_topic_info = _plain(lite.lite_topic_info)
    lite_client_info = _plain(lite.lite_client_info)
    lite_group_info = _plain(lite.lite_group_info)
    trigger_lite_dispatch = _plain(lite.trigger_lite_dispatch)

    elastic_create = _plain(elastic.elastic_create)
    elastic_scale = _plain(elastic.elastic_scale)
    elastic_move = _plain(elastic.elastic_move)
    elastic_cancel = _plain(elastic.elastic_cancel)
    elastic_view = _plain(elastic.elastic_view)
    find_elastic_view = _plain(elastic.find_elastic_view)
    elastic_broker = _plain(elastic.elastic_broker)
    elastic_brokers = _plain(elastic.elastic_brokers)

    topic_config = _plain(static_topics.topic_config)
    topic_configs = _plain(static_topics.topic_configs)
    put_static_topics = _plain(static_topics.put_static_topics)
    add_global_numbers = _plain(static_topics.add_global_numbers)
    complete_static_topic = _plain(static_topics.complete)
    move_static_queues = _plain(remapping.move_queues)

    tail_of = _plain(draining.tail_of)
