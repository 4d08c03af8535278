"""How copies of timer messages are put: by the rules of every put (TimerMessageStore.doPut)."""

from trimq.broker.elastic.maps import ElasticMaps
from trimq.broker.produce.puts.rules import PutRefused, PutRules
from trimq.broker.topics.table import Topics
from trimq.codec.errors import CodecError
from trimq.codec.names import REVIVE_TOPIC_PREFIX, is_brokers_own
from trimq.codec.records.property_keys import REAL_TOPIC
from trimq.store.errors import (
    MessageTooLarge,
    PropertiesLookTorn,
    PropertiesTooLong,
)
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message


class TimerPuts:
    """Stages messages that are stored already, for the topic that they were sent to."""

    def __init__(
        self, rules: PutRules, topics: Topics, store: MessageStore, maps: ElasticMaps
    ) -> None:
        self._maps = maps
        self._rules = rules
        self._topics = topics
        self._store = store

    def stage(self, message: Message, properties: dict[str, str]) -> str | None:
        """None: it is staged. Otherwise why it may never be stored. StoreError: not now.

        As in RocketMQ the topic may have been deleted: then the message waits for one of that name.
        """
        real_topic = properties.get(REAL_TOPIC, message.topic)
        if is_brokers_own(real_topic) and not real_topic.startswith(REVIVE_TOPIC_PREFIX):
            # What POP notes waits on the wheel. In the wheel's own topic a message would be due again and again.
            return f"only the broker itself writes to {real_topic}"
        config = self._topics.get(message.topic)
        try:
            self._rules.apply(message, properties, None if config is None else config.attributes)
            message.queue_id = self._maps.place(message.topic, message.queue_id)
            self._store.stage(message)
        except (PutRefused, CodecError) as error:
            return str(error)
        except (MessageTooLarge, PropertiesTooLong, PropertiesLookTorn) as error:
            return str(error)
        return None
