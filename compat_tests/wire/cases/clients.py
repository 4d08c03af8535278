"""Heartbeats (both kinds), leaving, client lists, filter checks and the notices to consumers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire import reading
from compat_tests.wire.asks import (
    ask,
    body_of,
    changed,
    consumer,
    consumer_list,
    create_group,
    create_topic,
    heartbeat,
    pull,
    send,
    subscription,
    unregister,
)
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.stage import Stage

QUIET: Final = 0.6
CHECK = 46


def cases() -> Iterator[Case]:
    yield from beats()
    yield from broken_beats()
    yield from lists()
    yield from leaving()
    yield from checks()
    yield fingerprints()
    yield without_subscription()
    yield from overwriting()
    yield from notices()
    yield from special_notices()


def beats() -> Iterator[Case]:
    topic_of: dict[str, Any] = {"after": [consumer_list(), ask(351, {"topic": "%RETRY%$G"})]}
    plain = heartbeat(consumer("$G", subscription()))
    yield row("heartbeat: a consumer", plain, **topic_of)
    yield in_binary("heartbeat: a consumer", plain, **topic_of)
    yield row("heartbeat: on the fast port", plain, on="fast")
    yield row("heartbeat: a producer", heartbeat(producers=("$P",)), **topic_of)
    both = heartbeat(consumer("$G", subscription()), producers=("$P",))
    yield row("heartbeat: both", both, **topic_of)
    yield row("heartbeat: nobody", heartbeat(), **topic_of)
    yield row("heartbeat: nothing subscribed", heartbeat(consumer("$G")), **topic_of)
    unit = heartbeat(consumer("$G", subscription(), unitMode=True))
    yield row("heartbeat: in unit mode", unit, **topic_of)
    many = create_group(retryQueueNums=3)
    yield row("heartbeat: group with three retry queues", plain, before=[many], **topic_of)
    none = create_group(retryQueueNums=0)
    yield row("heartbeat: group without retry queues", plain, before=[none], **topic_of)
    for kind in ("CONSUME_ACTIVELY", "CONSUME_POP"):
        request = heartbeat(consumer("$G", subscription(), consumeType=kind))
        yield row(f"heartbeat: {kind}", request, **topic_of)
    illegal = heartbeat(consumer("a.b", subscription()))
    yield row("heartbeat: group with a dot", illegal, after=[consumer_list("a.b")])
    ordered = create_topic(order=True)
    yield row("heartbeat: an ordered topic", plain, before=[ordered], **topic_of)
    yield row(
        "heartbeat: no client id", heartbeat(consumer("$G", subscription()), client=""), **topic_of
    )


def broken_beats() -> Iterator[Case]:
    bodies: dict[str, bytes] = {
        "no body": b"",
        "no JSON": b"nonsense",
        "a list": b"[]",
        "null": b"null",
        "an empty object": b"{}",
        "only a client id": body_of({"clientID": "$C"}),
        "consumers null": body_of({"clientID": "$C", "consumerDataSet": None}),
        "consumers a text": body_of({"clientID": "$C", "consumerDataSet": "x"}),
        "a consumer without a group": body_of({"clientID": "$C", "consumerDataSet": [{}]}),
        "a consumer without subscriptions": body_of(
            {"clientID": "$C", "consumerDataSet": [{"groupName": "$G"}]}
        ),
        "an unknown consume type": body_of(
            {"clientID": "$C", "consumerDataSet": [consumer("$G", consumeType="ELVISH")]}
        ),
        "keys in single quotes": b"{'clientID':'$C','consumerDataSet':[],'producerDataSet':[]}",
        "a fingerprint that is no number": body_of(
            {"clientID": "$C", "heartbeatFingerprint": "x", "consumerDataSet": []}
        ),
    }
    for what, body in bodies.items():
        yield row(f"heartbeat: {what}", ask(34, body=body), after=[consumer_list()])


def lists() -> Iterator[Case]:
    yield row("consumer list: unknown group", consumer_list())
    yield row("consumer list: no fields", ask(38))
    yield row("consumer list: known group, nobody there", consumer_list(), before=[create_group()])
    yield row("consumer list: on the fast port", consumer_list(), on="fast")

    def play(stage: Stage) -> None:
        beat = heartbeat(consumer("$G", subscription()))
        stage.must(beat)
        stage.must(heartbeat(consumer("$G", subscription()), client="$C2"), "broker-2")
        stage.show("two members", consumer_list())
        stage.must(heartbeat(consumer("$G", subscription()), client="$C"), "broker-3")
        stage.show("the same client id on two connections", consumer_list())
        stage.must(heartbeat(consumer("$G", subscription()), client="$C4"), "broker-3")
        stage.show("another client id on a known connection", consumer_list())
        stage.link("broker-2").close()
        reply = stage.until(consumer_list(), lambda reply: b"$C2" not in reply.body)
        stage.must(beat)
        reply = stage.until(
            consumer_list(), lambda reply: stage.fill("$C2").encode() not in reply.body
        )
        stage.record("one connection closed", reading.reply(reply, reading.as_json))

    yield Case("consumer list: members come and go", play)


def leaving() -> Iterator[Case]:
    here = [heartbeat(consumer("$G", subscription()), producers=("$P",))]
    after: dict[str, Any] = {"before": here, "after": [consumer_list()]}
    yield row("unregister: the consumer", unregister(consumerGroup="$G"), **after)
    yield row("unregister: the producer", unregister(producerGroup="$P"), **after)
    yield row("unregister: both", unregister(producerGroup="$P", consumerGroup="$G"), **after)
    yield row("unregister: no group", unregister(), **after)
    yield row("unregister: another client id", unregister("other", consumerGroup="$G"), **after)
    yield row("unregister: unknown group", unregister(consumerGroup="other$RUN"), **after)
    yield row("unregister: illegal group", unregister(consumerGroup="a.b"), **after)
    yield row(
        "unregister: no client id", changed(unregister(consumerGroup="$G"), clientID=None), **after
    )
    yield row("unregister: no fields", ask(35), **after)

    def play(stage: Stage) -> None:
        stage.must(here[0])
        stage.show("from another connection", unregister(consumerGroup="$G"), on="broker-2")
        stage.show("still there", consumer_list())

    yield Case("unregister: from another connection", play)


def checks() -> Iterator[Case]:
    def check(data: Any) -> Any:
        body = {"clientId": "$C", "group": "$G", "subscriptionData": data, "namespace": ""}
        return ask(CHECK, body=body_of(body))

    kinds = {
        "tags": subscription(expression="A || B"),
        "SQL": subscription(expression="a > 5 AND b = 'x'", expressionType="SQL92"),
        "SQL with between, in, is null": subscription(
            expression="a BETWEEN 1 AND 3 OR b IN ('x', 'y') OR NOT c IS NULL",
            expressionType="SQL92",
        ),
        "unknown type": subscription(expression="a", expressionType="ELVISH"),
        "no type": subscription(expression="A", expressionType=None),
        "empty type": subscription(expression="A", expressionType=""),
        "nothing": None,
        "an empty object": {},
    }
    for what, data in kinds.items():
        yield row(f"check client: {what}", check(data))
    for expression in ("a >", "", "a", "5", "a = b", "a = 'x", "a > 5 AND", "(a > 5", "a == 5"):
        data = subscription(expression=expression, expressionType="SQL92")
        yield row(f"check client: SQL {expression!r}", check(data))
    yield row("check client: no body", ask(CHECK))
    yield row("check client: no JSON", ask(CHECK, body=b"nonsense"))
    yield row("check client: on the fast port", check(kinds["tags"]), on="fast")


def fingerprints() -> Case:
    def play(stage: Stage) -> None:
        group = consumer("$G", subscription())
        for what, fingerprint in (
            ("first", 11),
            ("the same again", 11),
            ("another", 22),
            ("another again", 22),
            ("version 1 between", 0),
            ("back", 22),
            ("negative", -5),
        ):
            stage.show(what, heartbeat(group, heartbeatFingerprint=fingerprint))
        stage.show("members", consumer_list())
        large = 3_000_000_000
        stage.show("too large for an int", heartbeat(group, heartbeatFingerprint=large))

    return Case("heartbeat v2: fingerprints", play)


def without_subscription() -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(send(b"hello"))
        bare = pull(sysFlag=0)
        empty = heartbeat(consumer("$G"), heartbeatFingerprint=11, withoutSub=True)
        stage.show("unknown group, without subscriptions", empty)
        stage.show("members", consumer_list())
        stage.show("not subscribed", bare)
        full = heartbeat(consumer("$G", subscription()), heartbeatFingerprint=11)
        stage.show("with subscriptions", full)
        stage.show("subscribed", bare, brief)
        stage.show("without subscriptions again", empty)
        stage.show("still subscribed", bare, brief)
        stage.show("version 1 without any", heartbeat(consumer("$G")))
        stage.show("subscribed after that", bare, brief)

    return Case("heartbeat v2: without subscriptions", play)


def brief(body: bytes) -> str:
    return f"{len(reading.as_records(body))} messages"


def overwriting() -> Iterator[Case]:
    """What a group is subscribed to when its members differ."""

    def versions(stage: Stage) -> None:
        for name in ("$T", "$T2"):
            stage.must(create_topic(name))
            stage.must(send(b"hello", topic=name))
        stage.must(heartbeat(consumer("$G", subscription(expression="A", version=10))))
        older = consumer("$G", subscription(expression="B", version=9))
        stage.must(heartbeat(older, client="$C2"), "broker-2")
        ask_for = {v: pull(sysFlag=0, subVersion=v) for v in (9, 10, 11, 12)}
        stage.show("an older version came: 10", ask_for[10], brief)
        stage.show("an older version came: 11", ask_for[11], brief)
        newer = consumer("$G", subscription(expression="*", version=12))
        stage.must(heartbeat(newer, client="$C2"), "broker-2")
        stage.show("a newer version came: 12", ask_for[12], brief)
        stage.must(heartbeat(consumer("$G", subscription(expression="A", version=10))))
        stage.show("the first one again: 12", ask_for[12], brief)

    yield Case("subscription: the highest version wins", versions)

    def topics(stage: Stage) -> None:
        for name in ("$T", "$T2"):
            stage.must(create_topic(name))
            stage.must(send(b"hello", topic=name))
        both = consumer("$G", subscription("$T"), subscription("$T2"))
        stage.must(heartbeat(both))
        stage.show("both: first", pull(sysFlag=0), brief)
        stage.show("both: second", pull(sysFlag=0, topic="$T2"), brief)
        one = consumer("$G", subscription("$T"))
        stage.must(heartbeat(one, client="$C2"), "broker-2")
        stage.show("a member without the second: first", pull(sysFlag=0), brief)
        stage.show("a member without the second: second", pull(sysFlag=0, topic="$T2"), brief)
        stage.must(heartbeat(both))
        stage.show("and again with it: second", pull(sysFlag=0, topic="$T2"), brief)

    yield Case("subscription: a topic that one member lacks", topics)

    def models(stage: Stage) -> None:
        stage.must(create_group(consumeBroadcastEnable=False))
        stage.must(create_topic())
        stage.must(send(b"hello"))
        stage.must(heartbeat(consumer("$G", subscription())))
        stage.show("clustering", pull(sysFlag=0), brief)
        wide = consumer("$G", subscription(), messageModel="BROADCASTING")
        stage.must(heartbeat(wide, client="$C2"), "broker-2")
        stage.show("a broadcasting member", pull(sysFlag=0), brief)
        stage.must(heartbeat(consumer("$G", subscription())))
        stage.show("the clustering one again", pull(sysFlag=0), brief)

    yield Case("subscription: the last message model wins", models)


def heard(stage: Stage, what: str, *names: str) -> None:
    """One notice or several in a row mean the same: look at the members again."""
    for name in names:
        pushed = stage.link(name).drain_pushed(QUIET)
        seen = {str(reading.pushed(frame, reading.as_text)): frame for frame in pushed}
        notices = [reading.pushed(frame, reading.as_text) for frame in seen.values()]
        stage.record(f"{what}: {name} hears", notices)


def notices() -> Iterator[Case]:
    """NOTIFY_CONSUMER_IDS_CHANGED: who hears of what."""

    def come_and_go(stage: Stage) -> None:
        mine = consumer("$G", subscription())
        stage.must(heartbeat(mine))
        heard(stage, "alone", "broker")
        stage.must(heartbeat(mine))
        heard(stage, "alone, again", "broker")
        stage.must(heartbeat(mine, client="$C2"), "broker-2")
        heard(stage, "a second came", "broker", "broker-2")
        stage.must(heartbeat(mine, client="$C2"), "broker-2")
        heard(stage, "a second came, again", "broker", "broker-2")
        more = consumer("$G", subscription(), subscription("$T2"))
        stage.must(heartbeat(more, client="$C2"), "broker-2")
        heard(stage, "the second subscribed to more", "broker", "broker-2")
        newer = consumer("$G", subscription(version=2))
        stage.must(heartbeat(newer))
        heard(stage, "the first has a newer version and less", "broker", "broker-2")
        stage.must(unregister("$C2", consumerGroup="$G"), "broker-2")
        heard(stage, "the second left", "broker", "broker-2")

    yield Case("notices: members come and go", come_and_go)

    def closing(stage: Stage) -> None:
        mine = consumer("$G", subscription())
        stage.must(heartbeat(mine))
        stage.must(heartbeat(mine, client="$C2"), "broker-2")
        heard(stage, "both there", "broker", "broker-2")
        stage.link("broker-2").close()
        heard(stage, "a connection closed", "broker")

    yield Case("notices: a connection closes", closing)


def special_notices() -> Iterator[Case]:
    """Groups that want none, or consume otherwise."""

    def silent(stage: Stage) -> None:
        stage.must(create_group(notifyConsumerIdsChangedEnable=False))
        mine = consumer("$G", subscription())
        stage.must(heartbeat(mine))
        stage.must(heartbeat(mine, client="$C2"), "broker-2")
        heard(stage, "not wanted", "broker", "broker-2")

    yield Case("notices: switched off for the group", silent)

    def broadcasting(stage: Stage) -> None:
        mine = consumer("$G", subscription(), messageModel="BROADCASTING")
        stage.must(heartbeat(mine))
        stage.must(heartbeat(mine, client="$C2"), "broker-2")
        heard(stage, "broadcasting", "broker", "broker-2")

    yield Case("notices: broadcasting", broadcasting)

    def version_two(stage: Stage) -> None:
        mine = consumer("$G", subscription())
        stage.must(heartbeat(mine, heartbeatFingerprint=11))
        stage.must(heartbeat(mine, client="$C2", heartbeatFingerprint=11), "broker-2")
        heard(stage, "a second came", "broker", "broker-2")
        bare = heartbeat(consumer("$G"), client="$C3", heartbeatFingerprint=11, withoutSub=True)
        stage.must(bare, "broker-3")
        heard(stage, "a third came without subscriptions", "broker", "broker-2", "broker-3")

    yield Case("notices: heartbeat v2", version_two)

    def producer(stage: Stage) -> None:
        stage.must(heartbeat(consumer("$G", subscription())))
        heard(stage, "alone", "broker")
        stage.must(heartbeat(client="$C2", producers=("$G",)), "broker-2")
        heard(stage, "a producer came", "broker", "broker-2")

    yield Case("notices: a producer of the same name", producer)
