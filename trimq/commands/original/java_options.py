"""What containers and scripts say to a JVM. There is none: most of it has no effect.

What does not concern the JVM is heard: where the store is (`user.home`), the NameServers (`rocketmq.namesrv.addr`), and
TLS, which RocketMQ reads from system properties only. A server that was asked for protection does not start without.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

# In the order in which RocketMQ's scripts put them together: of two values the later one counts.
_VARIABLES: Final = ("JAVA_OPT", "HEAP_OPTS", "JAVA_OPT_EXT", "MAX_HEAP_SIZE")
_HOME: Final = "user.home"
_NAME_SERVERS: Final = "rocketmq.namesrv.addr"
_TLS: Final = "tls."


@dataclass(frozen=True, slots=True)
class JavaOptions:
    """`tls` are settings by their keys, `ignored` the variables in which something else stands as well."""

    home: str | None
    name_servers: str | None
    tls: Mapping[str, str]
    ignored: tuple[str, ...]

    @property
    def said(self) -> tuple[str, ...]:
        """One line, if something is ignored."""
        if not self.ignored:
            return ()
        return (f"there is no JVM here: what {', '.join(self.ignored)} say to one has no effect",)


def java_options(environment: Mapping[str, str]) -> JavaOptions:
    """Read the variables as a shell does that splits them at blanks."""
    properties: dict[str, str] = {}
    ignored = []
    for name in _VARIABLES:
        rest = False
        for word in environment.get(name, "").split():
            key, equals, value = word.removeprefix("-D").partition("=")
            heard = key in (_HOME, _NAME_SERVERS) or key.startswith(_TLS)
            if word.startswith("-D") and equals and heard:
                properties[key] = value
            else:
                rest = True
        if rest:
            ignored.append(name)
    return JavaOptions(
        home=properties.get(_HOME) or None,
        name_servers=properties.get(_NAME_SERVERS) or None,
        tls={key: value for key, value in properties.items() if key.startswith(_TLS)},
        ignored=tuple(ignored),
    )
