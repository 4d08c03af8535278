"""Attributes of topics and groups, and how a request changes them (AttributeUtil, TopicAttributes,
SubscriptionGroupAttributes, AttributeParser).

A request writes `+key=value` to set and `-key` to remove; what is stored has no sign. A new topic
or group can only set. Every refusal carries the remark of the real broker.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError

_LONG_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Attribute:
    """What values an attribute may have, and whether it can change after creation."""

    changeable: bool = True
    choices: tuple[str, ...] = ()
    at_least: int | None = None
    at_most: int = _LONG_MAX
    boolean: bool = False

    def verify(self, value: str) -> None:
        if self.choices and value not in self.choices:
            raise refused(f"value is not in set: [{', '.join(self.choices)}]")
        if self.boolean and value.lower() not in ("true", "false"):
            raise refused("boolean attribute format is wrong.")
        if self.at_least is not None:
            self._verify_range(value, self.at_least)

    def _verify_range(self, value: str, at_least: int) -> None:
        try:
            number = int(value)
        except ValueError:
            raise refused(f'For input string: "{value}"') from None
        if not at_least <= number <= self.at_most:
            raise refused(f"value is not in range({at_least}, {self.at_most})")


# Choices are in the order in which Java prints its hash sets, so that refusals read the same.
TOPIC_ATTRIBUTES: Mapping[str, Attribute] = {
    "queue.type": Attribute(changeable=False, choices=("SimpleCQ", "BatchCQ")),
    "cleanup.policy": Attribute(changeable=False, choices=("DELETE", "COMPACTION")),
    "message.type": Attribute(
        choices=(
            *("UNSPECIFIED", "MIXED", "TRANSACTION", "PRIORITY"),
            *("FIFO", "DELAY", "LITE", "NORMAL"),
        )
    ),
    "reserve.time": Attribute(at_least=-1),
    "lite.topic.expiration": Attribute(at_least=-1, at_most=30 * 24 * 60),
}

GROUP_ATTRIBUTES: Mapping[str, Attribute] = {
    "priority.factor": Attribute(at_least=0, at_most=100),
    "lite.bind.topic": Attribute(),
    "lite.sub.model": Attribute(choices=("Shared", "Exclusive")),
    "lite.sub.reset.offset.exclusive": Attribute(boolean=True),
    "lite.sub.reset.offset.unsubscribe": Attribute(boolean=True),
    "lite.sub.client.quota": Attribute(at_least=-1),
    "lite.sub.client.max.event.cnt": Attribute(at_least=10),
    "lite.sub.wildcard": Attribute(),
}


def is_compacted(attributes: Mapping[str, str] | None) -> bool:
    """Whether a topic keeps the newest message of each key (CleanupPolicyUtils.isCompaction)."""
    return attributes is not None and attributes.get("cleanup.policy") == "COMPACTION"


def refused(reason: str) -> RemotingError:
    return RemotingError(ResponseCode.SYSTEM_ERROR, reason)


def parse_changes(text: str | None) -> dict[str, str]:
    """`+a=1,-b` as {"+a": "1", "-b": ""} (AttributeParser.parseToMap).

    Java's split knows no empty parts at an end; of `+a=1=2` it takes `1`.
    """
    changes: dict[str, str] = {}
    for part in _split(text or "", ","):
        key, value = part, ""
        if "=" in part:
            pieces = _split(part, "=")
            if len(pieces) < 2:
                raise refused(f"Index {len(pieces)} out of bounds for length {len(pieces)}")
            key, value = pieces[0], pieces[1]
            if "+" not in key:
                raise refused(f"add/alter attribute format is wrong: {key}")
        elif "-" not in key:
            raise refused(f"delete attribute format is wrong: {key}")
        if key in changes:
            raise refused(f"key duplication: {key}")
        changes[key] = value
    return changes


def _split(text: str, separator: str) -> list[str]:
    """String.split: without the empty parts at the end."""
    parts = text.split(separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def alter(
    known: Mapping[str, Attribute], current: Mapping[str, str] | None, changes: Mapping[str, str]
) -> dict[str, str]:
    """The attributes after the changes; `current` is None for what is being created."""
    final = dict(current or {})
    seen: set[str] = set()
    values: dict[str, str] = {}
    removals: list[str] = []
    for key, value in changes.items():
        name = key[1:]
        if not name or "+" in name or "-" in name:
            raise refused("kv string format wrong.")
        if name in seen:
            raise refused(f"alter duplication key. key: {name}")
        seen.add(name)
        if key.startswith("+"):
            values[name] = value
        elif current is None:
            raise refused(f"only add attribute is supported while creating topic. key: {name}")
        elif not key.startswith("-"):
            raise refused(f"wrong format key: {name}")
        elif name not in current:
            raise refused(f"attempt to delete a nonexistent key: {name}")
        else:
            removals.append(name)
    for name in seen:
        _check(known, name, values.get(name), creating=current is None)
    final.update(values)
    for name in removals:
        del final[name]
    return final


def _check(known: Mapping[str, Attribute], name: str, value: str | None, *, creating: bool) -> None:
    attribute = known.get(name)
    if attribute is None:
        raise refused(f"unsupported key: {name}")
    if not creating and not attribute.changeable:
        raise refused(f"attempt to update an unchangeable attribute. key: {name}")
    if value is not None:
        attribute.verify(value)
