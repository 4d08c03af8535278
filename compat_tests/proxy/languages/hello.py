"""Sends one message, receives it, acknowledges it: ENDPOINT TOPIC BODY."""

import sys
from contextlib import suppress

from rocketmq import (
    ClientConfiguration,
    Credentials,
    FilterExpression,
    Message,
    Producer,
    SimpleConsumer,
)
from rocketmq.v5.exception import InternalErrorException

endpoint, topic, body = sys.argv[1:]
configuration = ClientConfiguration(endpoint, Credentials())
producer = Producer(configuration, (topic,))
producer.startup()
message = Message()
message.topic = topic
message.body = body.encode()
producer.send(message)
consumer = SimpleConsumer(configuration, "python", {topic: FilterExpression()}, await_duration=5)
consumer.startup()
found = []
while not found:
    # The proxy may not have the consumer's settings yet: this client does not wait for that.
    with suppress(InternalErrorException):
        found = consumer.receive(1, 30)
for one in found:
    consumer.ack(one)
    print("received", one.body.decode())
consumer.shutdown()
producer.shutdown()
