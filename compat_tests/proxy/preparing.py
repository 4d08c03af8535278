"""Topics and groups of all cases, made before the proxy is asked anything: it remembers what it did not find."""

from __future__ import annotations

from collections.abc import Sequence

from compat_tests.proxy.case import Case
from compat_tests.wire import asks
from compat_tests.wire.link import Link


def topic_of(tag: str) -> str:
    return f"{tag}t"


def group_of(tag: str) -> str:
    return f"{tag}g"


def prepare(broker: str, cases: Sequence[tuple[str, Case]]) -> None:
    """(what the case's names begin with, case). The group has committed 0, so what is sent later is not skipped."""
    link = Link(broker)
    for tag, case in cases:
        topic, group = topic_of(tag), group_of(tag)
        wanted = []
        if case.topic.kind:
            wanted.append(
                asks.create_topic(
                    topic,
                    readQueueNums=case.topic.reads,
                    writeQueueNums=case.topic.writes,
                    perm=case.topic.perm,
                    attributes=f"+message.type={case.topic.kind}",
                )
            )
        if case.group is not None:
            settings = {
                key: value.replace("{topic}", topic) if isinstance(value, str) else value
                for key, value in case.group.items()
            }
            attributes = settings.get("attributes")
            if isinstance(attributes, dict):
                settings["attributes"] = {
                    key: value.replace("{topic}", topic) for key, value in attributes.items()
                }
            wanted.append(asks.create_group(group, **settings))
            if case.topic.kind:
                wanted += [
                    asks.commit_offset(0, topic=topic, consumerGroup=group, queueId=number)
                    for number in range(case.topic.reads)
                ]
        for frame in wanted:
            reply = link.ask(frame)
            assert reply.code == 0, f"{case.name}: {reply.code} {reply.remark}"
    link.close()
