"""The version that every table carries: others compare it to learn whether to read the table again.

DataVersion: a counter and the time of the last change; the state version is the controller's and 0
without one.
"""

from broker.clock import Clock
from codec.bodies.base import decode_body
from codec.bodies.topics import DataVersion
from codec.errors import CodecError


def new_version(clock: Clock) -> DataVersion:
    return DataVersion(counter=0, state_version=0, timestamp=clock.millis())


def next_version(version: DataVersion, clock: Clock) -> None:
    version.timestamp = clock.millis()
    version.state_version = 0
    version.counter += 1


def same_version(text: str | None, version: DataVersion) -> bool:
    """Whether a request speaks of this very version; a blank or unreadable one never does."""
    if text is None or not text.strip():
        return False
    try:
        return decode_body(DataVersion, text.encode()) == version
    except CodecError:
        return False


def encoded_version(version: DataVersion, tabs: int = 1) -> str:
    """As it stands in a config file."""
    indent = "\n" + "\t" * (tabs + 1)
    return (
        f'{{{indent}"counter":{version.counter},{indent}"stateVersion":{version.state_version},'
        f'{indent}"timestamp":{version.timestamp}\n' + "\t" * tabs + "}"
    )
