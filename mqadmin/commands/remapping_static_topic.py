"""remappingStaticTopic: spread a static topic's queues over other brokers.

Java: RemappingStaticTopicSubCommand.
"""

from pathlib import Path

from trimq.admin.errors import NotFound
from trimq.admin.topics.remapping import remap
from trimq.admin.topics.static_topics import epoch_of
from trimq.mqadmin.common.planning import would
from trimq.mqadmin.common.static_topics import (
    mapping_option,
    target_options,
    targets,
    write_mapping,
    write_remapping,
)
from trimq.mqadmin.framework import Run, admin_command, dry_run_option, topic_option


@admin_command("remappingStaticTopic")
@target_options
@topic_option
@mapping_option
@dry_run_option
def command(run: Run, topic: str, out: Path | None, dry_run: bool, **named: str | None) -> None:
    chosen = targets(run, **named)
    configs = run.admin.topic_configs(topic)
    if not configs:
        raise NotFound(f"no broker has topic {topic!r}")
    if dry_run:
        for number, parts in remap(topic, configs, chosen, run.admin.now()).moved.items():
            old, new = parts[-2].bname, parts[-1].bname
            text = f"move queue {number} of {topic!r} from {old} to {new}"
            would(run, text, queue=number, before=old, after=new)
        return
    epoch = epoch_of(configs)
    before = write_mapping(topic, configs, epoch, "before", out)
    # The official tool calls both files old.
    run.out.line(f"The old mapping data is written to file {before}")
    remapping = remap(topic, configs, chosen, run.admin.link.now())
    after = write_remapping(topic, configs, remapping, out)
    run.out.line(f"The old mapping data is written to file {after}")
    run.admin.complete_static_topic(topic, configs)
    run.admin.move_static_queues(topic, configs, remapping)
    run.out.value({"before": before, "after": after})
