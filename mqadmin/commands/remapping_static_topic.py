"""remappingStaticTopic: spread a static topic's queues over other brokers.

Java: RemappingStaticTopicSubCommand. Only a mapping whose queues may stay where they are is taken: then
it gets a new epoch. Moving queues to another broker is not supported.
"""

from admin.errors import Invalid, NotFound
from admin.static_topics import epoch_of, leaders_of, renew
from codec.bodies.static_topics import REMAPPED
from mqadmin.framework import Run, admin_command, topic_option
from mqadmin.static_topics import target_options, targets, write_mapping


@admin_command("remappingStaticTopic")
@target_options
@topic_option
def command(
    run: Run,
    brokers: str | None,
    clusters: str | None,
    map_file: str | None,
    force: str | None,
    topic: str,
) -> None:
    chosen = targets(run, brokers, clusters, map_file, force)
    configs = run.admin.topic_configs(topic)
    if not configs:
        raise NotFound(f"no broker has topic {topic!r}")
    epoch = epoch_of(configs)
    before = write_mapping(topic, configs, epoch, "before")
    # The official tool calls both files old.
    run.out.line(f"The old mapping data is written to file {before}")
    leaders = leaders_of(configs)
    _check_nothing_moves([item.bname or "" for item in leaders.values()], chosen)
    epoch = max(epoch + 1000, run.admin.link.now())
    renew(configs, epoch, len(leaders))
    after = write_mapping(topic, configs, epoch, "after", REMAPPED)
    run.out.line(f"The old mapping data is written to file {after}")
    run.admin.complete_static_topic(topic, configs)
    run.admin.put_static_topics(configs)
    run.out.value({"before": before, "after": after})


def _check_nothing_moves(places: list[str], brokers: list[str]) -> None:
    """Every broker keeps at most its share, rounded up, and none of the queues is elsewhere."""
    share = -(-len(places) // len(set(brokers)))
    moving = sum(
        max(places.count(name) - (share if name in brokers else 0), 0) for name in set(places)
    )
    if moving:
        raise Invalid(
            f"{moving} of {len(places)} queues would have to move to another broker, which is not"
            " supported; the official tool can do it between RocketMQ's brokers"
        )
