"""Mistakes of elastic topics. The state machine must see each of them within the steps that CI lets it make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from compat_tests.mutants.mutant import Mutant, wrap

_MACHINE: Final = ("tests/broker/elastic/test_machine.py",)


def _by_pulled_offsets() -> None:
    from trimq.broker.elastic.gated_groups import GatedGroups

    def make(reached: Callable[..., int]) -> Callable[..., int]:
        def wrong(self: Any, group: str, topic: str, queue: int) -> int:
            pulled: int = self._offsets.query_pull(group, topic, queue)
            return max(reached(self, group, topic, queue), pulled)

        return wrong

    wrap(GatedGroups, "_reached", make)


def _without_earlier_changes() -> None:
    from trimq.broker.elastic.model import TopicMap

    def make(is_passed: Callable[..., bool]) -> Callable[..., bool]:
        return lambda self, change, unpassed, committed: is_passed(self, change, set(), committed)

    wrap(TopicMap, "_is_passed", make)


def _in_memory_only(kind: str) -> Callable[[], None]:
    """Records of this kind change what the broker knows, and are not written."""

    def patch() -> None:
        from trimq.broker.elastic.gated_groups import GatedGroups
        from trimq.broker.elastic.log import ElasticLog

        def make(append: Callable[..., int]) -> Callable[..., int]:
            def wrong(self: Any, record: Any, again: bool = False) -> int:
                if record.kind != kind:
                    return append(self, record, again)
                for take in self._takers:
                    take(record, self.end)
                    owner = take.__self__
                    if isinstance(owner, GatedGroups):
                        owner.show_all()
                return int(self.end)

            return wrong

        wrap(ElasticLog, "append", make)

    return patch


def _stale_commits() -> None:
    from trimq.broker.elastic.commits import ElasticCommits

    def make(objection: Callable[..., str | None]) -> Callable[..., None]:
        def wrong(*args: Any) -> None:
            objection(*args)

        return wrong

    wrap(ElasticCommits, "_objection", make)


def _paused_owners() -> None:
    from trimq.broker.elastic.commits import ElasticCommits

    wrap(ElasticCommits, "is_anothers", lambda real: lambda *args: False)


def _filter_reads_over() -> None:
    from trimq.store.message_store import MessageStore

    def make(read: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*args: Any) -> Any:
            *others, codes, until = args
            return read(*others, codes, until if codes is None else None)

        return wrong

    wrap(MessageStore, "read", make)


def _ends_before_staged() -> None:
    from trimq.store.message_store import MessageStore

    wrap(MessageStore, "write_others", lambda real: lambda self: None)
    MessageStore.next_offset = MessageStore.max_offset  # type: ignore[method-assign]


def _forgotten_when_passed() -> None:
    from dataclasses import replace

    from trimq.broker.elastic.maps import ElasticMaps

    def make(still_needed: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, topic: str, state: Any) -> Any:
            groups: Any = self.newcomers.__self__._gated.__self__
            passed = [groups.passed(group, topic) for group in groups.groups(topic)]
            changes = tuple(
                change
                for change in still_needed(self, topic, state).changes
                if not passed or not all(change.version in one for one in passed)
            )
            return replace(state, changes=changes)

        return wrong

    wrap(ElasticMaps, "_still_needed", make)


def _not_told() -> None:
    from trimq.broker.elastic.model import TopicMap

    wrap(TopicMap, "first_offset", lambda real: lambda *args: None)


def _prefetched_stays() -> None:
    from trimq.broker.elastic.gated_groups import GatedGroups

    wrap(GatedGroups, "closed_queues", lambda real: lambda *args: {})


def _nobody_settles() -> None:
    from trimq.broker.elastic.commits import ElasticCommits

    wrap(ElasticCommits, "is_settling", lambda real: lambda *args: False)


def _skipped_owners() -> None:
    from trimq.broker.elastic.commits import ElasticCommits

    wrap(ElasticCommits, "_held", lambda real: lambda *args: set())


def _copies_untold() -> None:
    from trimq.broker.elastic.commits import ElasticCommits

    wrap(ElasticCommits, "has_to_tell", lambda real: lambda *args: False)


def _reset_keeps_passes() -> None:
    from trimq.broker.elastic.model import TopicMap

    wrap(TopicMap, "kept_passes", lambda real: lambda self, passed, queue, offset: passed)


def _physical_queue_later() -> None:
    from trimq.broker.produce.sends.sending import Sending

    def make(send: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(
            self: Any, header: Any, body: bytes, sender: Any, version: int, target: Any
        ) -> Any:
            if "DELAY\x01" in header.properties:
                queue = self._places.queue_of(target.topic, target.queue_id)
                target = type(target)(target.topic, queue, target.config)
            return send(self, header, body, sender, version, target)

        return wrong

    wrap(Sending, "_send_with_care", make)


def _no_floor() -> None:
    from trimq.broker.elastic.gated_groups import GatedGroups

    def wrong(self: Any, group: str, topic: str, queue: int) -> int:
        found = int(self._offsets.query(group, topic, queue))
        first = self.first_offset(group, topic, queue)
        return found if found >= 0 or first is None else int(first)

    GatedGroups.known_offset = wrong  # type: ignore[method-assign]


def _lost_commits_come_back() -> None:
    from trimq.broker.elastic.commits import ElasticCommits

    def make(stand: Callable[..., int]) -> Callable[..., int]:
        def wrong(self: Any, group: str, topic: str, queue: int, start: int, known: int) -> int:
            after = self._groups.known_offset(group, topic, queue)
            return stand(self, group, topic, queue, start, after)

        return wrong

    wrap(ElasticCommits, "_stand", make)


def _left_counts_as_read() -> None:
    from trimq.broker.elastic.gated_groups import GatedGroups

    def make(reached: Callable[..., int]) -> Callable[..., int]:
        def wrong(self: Any, group: str, topic: str, queue: int) -> int:
            if queue >= self._topics.get(topic).read_queue_nums:
                return 1 << 62
            return reached(self, group, topic, queue)

        return wrong

    wrap(GatedGroups, "_reached", make)


def _never_back() -> None:
    from trimq.broker.elastic.retired_queues import RetiredQueues

    wrap(RetiredQueues, "_wanted", lambda real: lambda *args: [])


_ALL: Final = (
    ("gate-by-pulled", "a gate opens when the donor is fetched to its end", _by_pulled_offsets),
    (
        "passes-without-earlier",
        "a change is passed while its donor still waits for one of its own",
        _without_earlier_changes,
    ),
    ("passes-in-memory", "what a group has passed is not recorded", _in_memory_only("passes")),
    ("gated-in-memory", "that a group reads in order is not recorded", _in_memory_only("gated")),
    ("resets-in-memory", "that a group was reset is not recorded", _in_memory_only("reset")),
    ("stale-commits", "every commit of a group that reads in order counts", _stale_commits),
    ("paused-owners", "an owner that has lost its lock goes on", _paused_owners),
    ("filter-reads-over", "a tag filter reads over a closed start", _filter_reads_over),
    (
        "ends-before-staged",
        "a change reads the ends of queues before what is staged is written",
        _ends_before_staged,
    ),
    (
        "forgotten-when-passed",
        "a change is forgotten when all groups that are there have passed it",
        _forgotten_when_passed,
    ),
    ("starts-not-told", "groups are not told where they begin in a receiver", _not_told),
    ("prefetched-stays", "a reset leaves what was fetched before", _prefetched_stays),
    ("nobody-settles", "after a reset nobody waits for owners of receivers", _nobody_settles),
    (
        "skipped-owners",
        "after a reset forward nobody waits for the donor's owner",
        _skipped_owners,
    ),
    ("copies-untold", "owners do not hear of offsets from another group", _copies_untold),
    ("reset-keeps-passes", "a reset leaves the gates behind it open", _reset_keeps_passes),
    (
        "later-physical",
        "a delayed message names the physical queue that it would lie in now",
        _physical_queue_later,
    ),
    (
        "lost-commits-come-back",
        "a reset sets receivers back whose commits a kill has taken",
        _lost_commits_come_back,
    ),
    (
        "left-counts-as-read",
        "queues that have left the route count as read by everybody",
        _left_counts_as_read,
    ),
    ("never-back", "queues that have left the route stay away", _never_back),
    ("no-floor", "members may be told to begin below a passed end", _no_floor),
)

ELASTIC: Final = tuple(
    Mutant(f"elastic-{name}", mistake, patch, tests=_MACHINE) for name, mistake, patch in _ALL
)
