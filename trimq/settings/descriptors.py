"""File descriptors: every connection takes one, and so does every file of the store."""

import logging
from typing import Final

try:
    import resource
except ImportError:  # pragma: no cover - not on Windows
    resource = None  # type: ignore[assignment]

log = logging.getLogger("trimq.server")

# What the store, NameServers and everything else may need on top.
KEPT_FOR_FILES: Final = 512


def room_for_connections(wanted: int) -> int:
    """How many connections fit, at most `wanted` (0: as many as fit).

    The process's soft limit is raised as far as that needs and the hard one allows.
    """
    if resource is None:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    needed = wanted + KEPT_FOR_FILES if wanted else hard
    if soft != unlimited and (needed == unlimited or soft < needed):
        raised = needed if hard == unlimited else hard if needed == unlimited else min(needed, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
        except (OSError, ValueError) as error:
            log.debug(
                "limit of open files not raised: from=%d to=%d reason=%s", soft, raised, error
            )
    if soft == unlimited:
        return wanted
    # A process that may open very few files serves half as many connections.
    room = max(soft - KEPT_FOR_FILES, soft // 2)
    if wanted and room < wanted:
        log.warning(
            "fewer connections than wanted: maxConnections=%d fit=%d; raise the limit of open files"
            " (ulimit -n)",
            wanted,
            room,
        )
    return min(wanted, room) if wanted else room
