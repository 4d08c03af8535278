"""The version that every table carries: others compare it to see whether to read the table again.

DataVersion: a counter and the time of the last change; the state version is the controller's and 0
without one.
"""

from collections.abc import Mapping
from typing import TypeVar

from trimq.base.clock import Clock
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.topics import DataVersion
from trimq.codec.errors import CodecError

T = TypeVar("T")


def new_version(clock: Clock) -> DataVersion:
    return DataVersion(counter=0, state_version=0, timestamp=clock.millis())


def next_version(version: DataVersion, clock: Clock) -> None:
    version.timestamp = clock.millis()
    version.state_version = 0
    version.counter += 1


def own_change(version: DataVersion, clock: Clock, is_slave: bool) -> None:
    """A change that nobody but this broker made. A slave's is no newer than what its master has: the counter says
    what of its master's it has taken over.
    """
    counter = version.counter
    next_version(version, clock)
    if is_slave:
        version.counter = counter


def is_older(version: DataVersion, than: DataVersion) -> bool:
    """By what is counted, not by a clock, which may be set back (DataVersion.compare)."""
    return (version.state_version, version.counter) < (than.state_version, than.counter)


def same_version(text: str | None, version: DataVersion) -> bool:
    """Whether a request refers to exactly this version; a blank one never does."""
    if text is None or not text.strip():
        return False
    return decode_request(DataVersion, text.encode()) == version


def page_of(
    table: Mapping[str, T], version: DataVersion, asked: str | None, first: int, count: int
) -> dict[str, T]:
    """Members first to first + count - 1 by name; from 0 when the version has changed.

    TopicConfigManager.subTopicConfigTable: a reader that pages through must start again then.
    """
    if first and not same_version(asked, version):
        first = 0
    if first < 0 or count <= 0:
        raise CodecError(f"there is no page of {count} from {first}")
    return {name: table[name] for name in sorted(table)[first : first + count]}


def encoded_version(version: DataVersion, tabs: int = 1) -> str:
    """As it is written in a config file."""
    indent = "\n" + "\t" * (tabs + 1)
    return (
        f'{{{indent}"counter":{version.counter},{indent}"stateVersion":{version.state_version},'
        f'{indent}"timestamp":{version.timestamp}\n' + "\t" * tabs + "}"
    )
