"""Tables of text."""

import msgspec

from trimq.codec.bodies.base import Body


class KVTable(Body, kw_only=True):
    """A namespace of the NameServer's configuration, or a broker's runtime values."""

    table: dict[str, str] = msgspec.field(default_factory=dict)


class KVConfigSerializeWrapper(Body, kw_only=True):
    """The NameServer's `kvConfig.json`: namespace to keys to values."""

    config_table: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
