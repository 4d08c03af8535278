"""What the two commands about static topics have in common."""

import tempfile
from pathlib import Path

import click

from trimq.admin.errors import Invalid
from trimq.admin.topics.remapping import Remapping
from trimq.admin.topics.static_topics import Configs
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.static_topics import CREATED, REMAPPED, TopicRemappingDetailWrapper
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.files.writing import out_option, write_file
from trimq.mqadmin.framework import Run, together
from trimq.mqadmin.text.java import string_map

target_options = together(
    click.option("-b", "--brokers", metavar="NAME,...", help="Brokers to put queues on."),
    click.option("-c", "--clusters", metavar="NAME,...", help="All brokers of clusters."),
    click.option("-mf", "--mapFile", "map_file", hidden=True),
    click.option("-fr", "--forceReplace", "force", hidden=True),
)
"""`-b NAME,...` and `-c CLUSTER,...`, and the flags for files that the official tool ignores."""


def targets(
    run: Run, brokers: str | None, clusters: str | None, map_file: str | None, force: str | None
) -> list[str]:
    """The brokers that were named; Invalid when a cluster or a broker does not exist."""
    if map_file is not None or force is not None:
        raise click.UsageError(
            "-mf and -fr are not supported: a mapping is always worked out afresh"
        )
    if (brokers is None) == (clusters is None):
        raise click.UsageError("give either -b or -c")
    info = run.admin.cluster_info()
    if brokers is not None:
        named = _parts(brokers)
        if not named:
            raise click.UsageError("-b names no broker")
        unknown = [name for name in named if name not in info.broker_addr_table]
        if unknown:
            raise Invalid(f"there is no broker {unknown[0]!r}")
        return named
    found: list[str] = []
    for cluster in _parts(clusters or ""):
        found += run.admin.broker_names(cluster)
    return found


mapping_option = out_option(tempfile.gettempdir())
"""Where the mapping before and after is left."""


def write_mapping(topic: str, configs: Configs, epoch: int, suffix: str, out: Path | None) -> str:
    """Keep a mapping in a file, as the official tool does; returns its path."""
    wrapper = TopicRemappingDetailWrapper(
        topic=topic, type=CREATED, epoch=epoch, broker_config_map=string_map(configs)
    )
    return _write(wrapper, suffix, out)


def write_remapping(topic: str, configs: Configs, remapping: Remapping, out: Path | None) -> str:
    """The same for a mapping whose queues move."""
    wrapper = TopicRemappingDetailWrapper(
        topic=topic,
        type=REMAPPED,
        epoch=remapping.epoch,
        broker_config_map=string_map(configs),
        broker_to_map_in=sorted(remapping.receivers),
        broker_to_map_out=sorted(remapping.givers),
    )
    return _write(wrapper, "after", out)


def _write(wrapper: TopicRemappingDetailWrapper, suffix: str, out: Path | None) -> str:
    folder = out or Path(tempfile.gettempdir())
    name = f"{wrapper.topic}-{wrapper.epoch}.{suffix}"
    try:
        # The temporary folder is shared, and names can be guessed: a link there is not followed.
        return str(write_file(folder, name, encode_body(wrapper), replace=True))
    except OSError as error:
        raise Failed(f"cannot write {folder / name}: {error.strerror}") from None


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
