"""updateStaticTopic: create a static topic, or give it more queues. Java: UpdateStaticTopicSubCommand."""

from pathlib import Path

import click

from trimq.admin.topics.static_topics import epoch_of, extend
from trimq.mqadmin.common.static_topics import (
    mapping_option,
    target_options,
    targets,
    write_mapping,
)
from trimq.mqadmin.framework import Run, admin_command, topic_option


@admin_command("updateStaticTopic")
@target_options
@topic_option
@click.option(
    "-qn",
    "--totalQueueNum",
    "total",
    type=click.IntRange(min=1),
    required=True,
    help="Queues in all, on all brokers together.",
)
@mapping_option
def command(run: Run, topic: str, total: int, out: Path | None, **named: str | None) -> None:
    chosen = targets(run, **named)
    configs = run.admin.topic_configs(topic)
    now = run.admin.link.now()
    before = write_mapping(topic, configs, epoch_of(configs) if configs else now, "before", out)
    run.out.line(f"The old mapping data is written to file {before}")
    epoch = extend(topic, configs, chosen, total, run.admin.link.now())
    after = write_mapping(topic, configs, epoch, "after", out)
    run.out.line(f"The new mapping data is written to file {after}")
    run.admin.complete_static_topic(topic, configs)
    run.admin.put_static_topics(configs)
    run.out.value({"before": before, "after": after})
