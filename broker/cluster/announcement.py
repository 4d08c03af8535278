"""What this broker tells NameServers about itself: its address, its topics and their version."""

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.register import RegisterBrokerBody, encode_register
from trimq.codec.bodies.route import QueueData, TopicRouteData
from trimq.codec.bodies.topics import (
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
    TopicQueueMappingInfo,
)
from trimq.codec.flags import Perm
from trimq.codec.headers.namesrv import (
    QueryDataVersionRequestHeader,
    RegisterBrokerRequestHeader,
    UnRegisterBrokerRequestHeader,
)
from trimq.codec.java.hashes import crc32_31

_READ_WRITE = Perm.READ | Perm.WRITE


class Announcement:
    """Builds the headers and bodies of a registration (BrokerController.registerBrokerAll)."""

    def __init__(self, config: BrokerConfig, identity: BrokerIdentity, topics: Topics) -> None:
        self._config = config
        self._identity = identity
        self._topics = topics
        self._cached: tuple[bytes, list[bytes]] = (b"", [])

    @property
    def identity(self) -> BrokerIdentity:
        return self._identity

    def all_topics(self) -> list[bytes]:
        """The bodies of a full registration; several with enableSplitRegistration.

        Kept until the topics change: with thousands of them it takes long to build. In parts each has a version of its
        own: a NameServer takes no change of a topic with a version that it has.
        """
        if self._config.enable_split_registration:
            return [self._next_body(part) for part in self._parts()]
        version = self.version()
        if self._cached[0] != version:
            topics = [self._told(topic) for topic in self._topics.all().values()]
            self._cached = (version, [self._body(topics)])
        return self._cached[1]

    def some_topics(self, topics: Iterable[TopicConfig]) -> bytes:
        """The body that adds these topics to what was registered before."""
        return self._body([self._told(topic) for topic in topics])

    def queues(self, topic: TopicConfig) -> QueueData:
        """What the route of one topic says about this broker."""
        told = self._told(topic)
        return QueueData(
            broker_name=self._identity.name,
            perm=told.perm,
            read_queue_nums=told.read_queue_nums,
            write_queue_nums=told.write_queue_nums,
            topic_sys_flag=told.topic_sys_flag,
        )

    def single_topic(self, topic: TopicConfig) -> bytes:
        """The body of REGISTER_TOPIC_IN_NAMESRV."""
        return encode_body(TopicRouteData(queue_datas=[self.queues(topic)]))

    def version(self) -> bytes:
        """The data version as QUERY_DATA_VERSION carries it."""
        return encode_body(self._topics.data_version)

    def register_header(self, body: bytes) -> RegisterBrokerRequestHeader:
        identity = self._identity
        return RegisterBrokerRequestHeader(
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
            ha_server_addr=identity.ha_address,
            broker_id=identity.broker_id,
            enable_acting_master=False,
            # The real broker never sets it, and so its compressedRegister fails.
            compressed=self._config.compressed_register,
            body_crc32=crc32_31(body),
        )

    def query_header(self) -> QueryDataVersionRequestHeader:
        identity = self._identity
        return QueryDataVersionRequestHeader(
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
            broker_id=identity.broker_id,
        )

    def unregister_header(self) -> UnRegisterBrokerRequestHeader:
        identity = self._identity
        return UnRegisterBrokerRequestHeader(
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
            broker_id=identity.broker_id,
        )

    def _told(self, topic: TopicConfig) -> TopicConfig:
        """A topic with no more permissions than the broker itself has; an elastic one with all its partitions."""
        partitions = self._topics.partitions.get(topic.topic_name)
        if partitions is not None:
            topic = msgspec.structs.replace(topic, write_queue_nums=partitions)
        allowed = self._config.broker_permission
        if allowed & _READ_WRITE == _READ_WRITE:
            return topic
        return msgspec.structs.replace(topic, perm=topic.perm & allowed)

    def _next_body(self, topics: list[TopicConfig]) -> bytes:
        self._topics.raise_version()
        return self._body(topics)

    def _parts(self) -> Iterator[list[TopicConfig]]:
        rest = iter([self._told(topic) for topic in self._topics.all().values()])
        part = list(islice(rest, self._config.split_registration_size))
        yield part
        while part := list(islice(rest, self._config.split_registration_size)):
            yield part

    def _body(self, topics: list[TopicConfig]) -> bytes:
        wrapper = TopicConfigAndMappingSerializeWrapper(
            data_version=self._topics.data_version,
            topic_config_table={topic.topic_name: topic for topic in topics},
            topic_queue_mapping_info_map=self._mappings(topics),
        )
        body = RegisterBrokerBody(topic_config_serialize_wrapper=wrapper)
        compressed = self._config.compressed_register
        if compressed or wrapper.topic_queue_mapping_info_map:
            return encode_register(body, compressed=compressed)
        # No null and no integer key is in it, so plain JSON is FastJSON's too, and 15 times faster:
        # 5,000 topics take 1 ms.
        return msgspec.json.encode(body)

    def _mappings(self, topics: list[TopicConfig]) -> dict[str, TopicQueueMappingInfo]:
        """For those topics that are static."""
        if not self._topics.mappings.all():
            return {}
        found = (
            (topic.topic_name, self._topics.mappings.told(topic.topic_name)) for topic in topics
        )
        return {name: info for name, info in found if info is not None}
