"""What this broker tells NameServers about itself: its address, its topics and their version."""

from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.register import RegisterBrokerBody, encode_register
from trimq.codec.bodies.route import QueueData, TopicRouteData
from trimq.codec.bodies.topics import (
    DataVersion,
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

T = TypeVar("T")

_READ_WRITE: Final = Perm.READ | Perm.WRITE
# Of one registration.
_TOPICS_AT_ONCE: Final = 1000


class Announcement:
    """Builds the headers and bodies of a registration (BrokerController.registerBrokerAll)."""

    def __init__(self, config: BrokerConfig, identity: BrokerIdentity, topics: Topics) -> None:
        self._config = config
        self._identity = identity
        self._topics = topics
        self._cached = (b"", b"")

    @property
    def identity(self) -> BrokerIdentity:
        return self._identity

    def all_topics(self) -> Iterator[bytes]:
        """The bodies of a full registration, made when they are asked for.

        Several with enableSplitRegistration, and of thousands of topics. In parts each has a version of its own: a
        NameServer takes no change of a topic with a version that it has.
        """
        names = list(self._topics.all())
        if self._config.enable_split_registration:
            for part in _parts(names, self._config.split_registration_size):
                self._topics.raise_version()
                yield self._body(self._present(part), self._topics.data_version)
        elif len(names) <= _TOPICS_AT_ONCE:
            yield self._kept_body()
        else:
            for part, version in self._numbered(names):
                yield self._body(self._present(part), version)

    def some_topics(self, topics: list[TopicConfig]) -> Iterator[bytes]:
        """The bodies that add these topics to what was registered before: several of thousands, none of none."""
        for part, version in self._numbered(topics):
            if part:
                yield self._body(part, version)

    def _kept_body(self) -> bytes:
        """Kept until the topics change."""
        version = self.version()
        if self._cached[0] != version:
            body = self._body(list(self._topics.all().values()), self._topics.data_version)
            self._cached = (version, body)
        return self._cached[1]

    def _present(self, names: list[str]) -> list[TopicConfig]:
        """Those that have not been deleted since the part before."""
        table = self._topics.all()
        return [table[name] for name in names if name in table]

    def _numbered(self, topics: list[T]) -> Iterator[tuple[list[T], DataVersion]]:
        """Parts that a NameServer reads in a millisecond each. The last has the version of the table, so that slaves
        find no other one; those before have what is nobody's: a time of 0.
        """
        now = self._topics.data_version
        parts = list(_parts(topics, _TOPICS_AT_ONCE))
        for left, part in zip(reversed(range(len(parts))), parts, strict=True):
            ahead = msgspec.structs.replace(now, timestamp=0, counter=left)
            yield part, ahead if left else now

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

    def _body(self, topics: list[TopicConfig], version: DataVersion) -> bytes:
        wrapper = TopicConfigAndMappingSerializeWrapper(
            data_version=version,
            topic_config_table={topic.topic_name: self._told(topic) for topic in topics},
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


def _parts(topics: list[T], size: int) -> Iterator[list[T]]:
    """So many at a time; one part of nothing if there are none."""
    for first in range(0, max(len(topics), 1), size):
        yield topics[first : first + size]
