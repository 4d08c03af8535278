"""LOCK_BATCH_MQ and UNLOCK_BATCH_MQ."""

from __future__ import annotations

from collections.abc import Iterator

from compat_tests.wire.asks import ask, body_of, create_group, create_topic, lock, send, unlock
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.stage import Stage


def cases() -> Iterator[Case]:
    yield row("lock: two queues", lock(0, 1), before=[create_topic()])
    yield in_binary("lock: two queues", lock(0, 1), before=[create_topic()])
    yield row("lock: a queue nobody knows", lock(99))
    yield row("lock: no queue", lock())
    yield row("lock: the same queue twice", lock(0, 0))
    yield row("lock: only this broker", lock(0, onlyThisBroker=True))
    yield row("lock: on the fast port", lock(0), on="fast")
    yield row("unlock: nothing locked", unlock(0))
    yield row("unlock: no queue", unlock())
    foreign = [{"brokerName": "broker-x", "queueId": 0, "topic": "$T"}]
    yield row("lock: a queue of another broker", lock(mqSet=foreign))
    for code, what in ((41, "lock"), (42, "unlock")):
        bodies = {
            "no body": b"",
            "no JSON": b"nonsense",
            "an empty object": b"{}",
            "no group": body_of({"clientId": "$C", "mqSet": foreign}),
            "no client id": body_of({"consumerGroup": "$G", "mqSet": foreign}),
            "queues null": body_of({"clientId": "$C", "consumerGroup": "$G", "mqSet": None}),
        }
        for which, body in bodies.items():
            yield row(f"{what}: {which}", ask(code, body=body))
    yield owners()
    yield shared()
    yield dead_letters()


def owners() -> Case:
    def play(stage: Stage) -> None:
        stage.show("first takes 0 and 1", lock(0, 1))
        stage.show("second wants 1 and 2", lock(1, 2, client="$C2"), on="broker-2")
        stage.show("first takes them again", lock(0, 1))
        stage.show("first wants all", lock(0, 1, 2, 3))
        stage.show("second gives back what it has not", unlock(0, client="$C2"), on="broker-2")
        stage.show("second still may not have 0", lock(0, client="$C2"), on="broker-2")
        stage.show("first gives back 0", unlock(0))
        stage.show("second takes 0", lock(0, client="$C2"), on="broker-2")
        stage.show("first may not have 0", lock(0))
        stage.show("first gives back 1, twice", unlock(1, 1))
        stage.show("second takes 0 and 1", lock(0, 1, client="$C2"), on="broker-2")

    return Case("lock: two owners", play)


def shared() -> Case:
    def play(stage: Stage) -> None:
        stage.show("one group", lock(0))
        other = lock(0, client="$C2", consumerGroup="other-$G")
        stage.show("another group, same queue", other)
        stage.link("broker-2")
        stage.show("same client on another connection", lock(0), on="broker-2")
        stage.link().close()
        stage.show("its connection closed, another client", lock(0, client="$C2"), on="broker-3")

    return Case("lock: groups and connections", play)


def dead_letters() -> Case:
    """A group with a live lock consumes in order: what it sends to its retry topic is given up."""

    def play(stage: Stage) -> None:
        stage.must(create_group())
        stage.must(lock(0))
        stage.show("retry while locked", send(topic="%RETRY%$G"))
        stage.show("dead letter topic", ask(351, {"topic": "%DLQ%$G"}))
        stage.must(unlock(0))
        stage.show("retry after that", send(topic="%RETRY%$G"))

    return Case("lock: the retry topic of a locked group", play)
