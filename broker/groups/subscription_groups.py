"""The consumer groups of this broker (SubscriptionGroupManager): `config/subscriptionGroup.json`.

A group is created when it is first used, unless autoCreateSubscriptionGroup is off or its name is
illegal. `forbidden` holds a bit set per group and topic: what an operator has banned.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec import to_builtins

from trimq.base.clock import Clock
from trimq.broker.config import SLAVE, BrokerConfig
from trimq.broker.tables.attributes import GROUP_ATTRIBUTES, alter
from trimq.broker.tables.data_version import encoded_version, new_version, own_change, page_of
from trimq.broker.tables.json_members import JsonMembers, pretty
from trimq.broker.tables.new_names import NewNames
from trimq.broker.tables.persisted_table import PersistedTable
from trimq.broker.tables.replicated import Replicated, Take
from trimq.broker.topics.names import validate_group
from trimq.codec import names
from trimq.codec.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupWrapper
from trimq.codec.names import is_system_group
from trimq.remoting.growth_limits import check_room

log = logging.getLogger("trimq.broker")

PREDEFINED = (
    names.TOOLS_CONSUMER_GROUP,
    names.FILTERSRV_CONSUMER_GROUP,
    names.SELF_TEST_CONSUMER_GROUP,
    names.ONS_HTTP_PROXY_GROUP,
    names.ONSAPI_PULL_GROUP,
    names.ONSAPI_PERMISSION_GROUP,
    names.ONSAPI_OWNER_GROUP,
    names.TRANS_GROUP,
)


class SubscriptionGroups(PersistedTable[SubscriptionGroupWrapper]):
    """Every consumer group's settings, by name."""

    def __init__(
        self, config: BrokerConfig, directory: Path, clock: Clock, has_light: bool = False
    ) -> None:
        """`directory` is the store's `config` folder.

        `has_light`: a group named as light queues are exists without being created (LmqSubscriptionGroupManager).
        """
        super().__init__(
            directory / "subscriptionGroup.json", SubscriptionGroupWrapper, always=True
        )
        self._config = config
        self._clock = clock
        self._has_light = has_light
        self._new_names = NewNames(config, clock)
        self._following = Replicated("groups")
        self._table: dict[str, SubscriptionGroupConfig] = {}
        self._forbidden: dict[str, dict[str, int]] = {}
        self._bans = JsonMembers(lambda name: pretty(self._forbidden[name], 2))
        self._members = JsonMembers(lambda name: pretty(self._table[name], 2))
        # Told of each group that the broker creates without being asked to.
        self.on_created: Callable[[SubscriptionGroupConfig], None] | None = None
        self.data_version = new_version(clock)
        for name in PREDEFINED:
            self._put(SubscriptionGroupConfig(group_name=name))

    # --- looking up

    def find(self, group: str, asked_by: str = "") -> SubscriptionGroupConfig | None:
        """The group's settings; a group that nobody has used before is created here.

        LimitReached when there are too many, or too many new ones from `asked_by` ("ip:port").
        """
        found = self.get(group)
        if found is not None or not self._may_create(group):
            return found
        self._check_room()
        self._new_names.admit(asked_by)
        created = SubscriptionGroupConfig(group_name=group)
        self._put(created)
        self._next_version()
        log.info("group created on first use: group=%s", group)
        self.persist()
        if self.on_created is not None:
            self.on_created(created)
        return created

    def get(self, group: str) -> SubscriptionGroupConfig | None:
        """The group's settings without creating it."""
        found = self._table.get(group)
        if found is None and self._has_light and names.is_light(group):
            return SubscriptionGroupConfig(group_name=group)
        return found

    def __contains__(self, group: object) -> bool:
        if group in self._table:
            return True
        return self._has_light and isinstance(group, str) and names.is_light(group)

    def __len__(self) -> int:
        return len(self._table)

    def all(self) -> Mapping[str, SubscriptionGroupConfig]:
        return self._table

    def page(
        self, version: str | None, first: int, count: int
    ) -> dict[str, SubscriptionGroupConfig]:
        """Some groups by name, for a reader that pages through them."""
        return page_of(self._table, self.data_version, version, first, count)

    def forbidden_table(self) -> Mapping[str, Mapping[str, int]]:
        return self._forbidden

    def forbidden(self, group: str, topic: str) -> int:
        """The bits an operator has set for this group and topic."""
        return self._forbidden.get(group, {}).get(topic, 0)

    def is_forbidden(self, group: str, topic: str, bit: int) -> bool:
        return bool(self.forbidden(group, topic) & (1 << bit))

    # --- changing

    def update(self, group: SubscriptionGroupConfig) -> None:
        """Create or replace a group; its attributes are changes (`+key`, `-key`) to the old."""
        self.update_all([group])

    def update_all(self, groups: Iterable[SubscriptionGroupConfig]) -> None:
        changed = False
        try:
            for group in groups:
                if self._has_light and names.is_light(group.group_name):
                    continue
                old = self._table.get(group.group_name)
                if old is None:
                    self._check_room()
                current = None if old is None else (old.attributes or {})
                group.attributes = alter(GROUP_ATTRIBUTES, current, group.attributes or {})
                self._put(group)
                self._next_version()
                what = "created" if old is None else "updated"
                log.info(f"group {what}: group=%s settings=%s", group.group_name, _chosen(group))
                changed = True
        finally:
            if changed:
                self.persist()
        if changed and self._config.broker_role == SLAVE:
            log.warning(
                "group changed on a slave, where the master's table counts: change it there: group=%s",
                group.group_name,
            )

    def set_forbidden(self, group: str, topic: str, bit: int, banned: bool) -> None:
        """Set or clear one bit; clearing a topic's last one clears the whole group."""
        value = self.forbidden(group, topic)
        value = value | (1 << bit) if banned else value & ~(1 << bit)
        if value <= 0:
            self._allow(group)
            log.info("group ban cleared: group=%s topic=%s", group, topic)
            return
        if topic not in self._forbidden.get(group, {}):
            count = sum(map(len, self._forbidden.values()))
            check_room(count, self._config.max_groups, "bans of groups", "maxGroups")
        self._forbidden.setdefault(group, {})[topic] = value
        self._bans.changed(group)
        log.info("group ban set: group=%s topic=%s bits=%d", group, topic, value)
        self._next_version()
        self.persist()

    def disable_consume(self, group: str) -> None:
        """Stop a group that reads too slowly; the file gets it with the next change."""
        found = self._table.get(group)
        if found is not None:
            found.consume_enable = False
            self._members.changed(group)
            self._next_version()

    def delete(self, group: str) -> None:
        self._allow(group)
        if self._table.pop(group, None) is None:
            log.warning("group not deleted, it does not exist: group=%s", group)
            return
        self._members.removed(group)
        log.info("group deleted: group=%s", group)
        self._next_version()
        self.persist()

    def follow(self, master: SubscriptionGroupWrapper) -> None:
        """Take over the master's table. Groups that it does not have stay: missing is not deleted."""
        take = self._following.take(master.data_version, self.data_version)
        if take is Take.NOTHING:
            return
        table = master.subscription_group_table
        if take is Take.ALL:
            for name in table:
                # What is not banned any more is just not in the table of bans.
                self._allow(name)
            self._take(master)
            self.data_version = msgspec.structs.replace(master.data_version)
        else:
            missing = [group for name, group in table.items() if name not in self._table]
            if not missing:
                return
            for group in missing:
                self._put(group)
        log.info("groups follow the master: groups=%d", len(self._table))
        self.persist()

    # --- inside

    def _next_version(self) -> None:
        own_change(self.data_version, self._clock, self._config.broker_role == SLAVE)

    def _check_room(self) -> None:
        check_room(len(self._table), self._config.max_groups, "groups", "maxGroups")

    def _may_create(self, group: str) -> bool:
        allowed = self._config.auto_create_subscription_group or (
            self._config.enable_create_sys_group and is_system_group(group)
        )
        return allowed and validate_group(group) is None

    def _put(self, group: SubscriptionGroupConfig) -> None:
        self._table[group.group_name] = group
        self._members.changed(group.group_name)

    def _take(self, loaded: SubscriptionGroupWrapper) -> None:
        for group in loaded.subscription_group_table.values():
            self._put(group)
        for name, topics in (loaded.forbidden_table or {}).items():
            self._forbidden[name] = dict(topics)
            self._bans.changed(name)
        self.data_version = loaded.data_version

    def _allow(self, group: str) -> None:
        """No ban of the group's is left."""
        self._forbidden.pop(group, None)
        self._bans.removed(group)

    def _pieces(self) -> Iterator[bytes]:
        head = f'{{\n\t"dataVersion":{encoded_version(self.data_version)},\n\t"forbiddenTable":'
        return chain(
            (head.encode(),),
            self._bans.object_pieces(),
            (b',\n\t"subscriptionGroupTable":',),
            self._members.object_pieces(),
            (b"\n}",),
        )


def _chosen(group: SubscriptionGroupConfig) -> dict[str, Any] | None:
    """What differs from a new group, under the names that clients use."""
    usual = to_builtins(SubscriptionGroupConfig(group_name=group.group_name))
    told = to_builtins(group)
    return {key: value for key, value in told.items() if value != usual[key]} or None
