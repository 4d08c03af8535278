"""Names of groups in the names of their topics."""

from trimq.codec.names import RETRY_PREFIX


def group_of(retry_topic: str) -> str:
    """POP's retry topics have the topic after a plus sign (KeyBuilder.parseGroup)."""
    name = retry_topic.removeprefix(RETRY_PREFIX)
    parts = name.split("+")
    return parts[0] if len(parts) == 2 else name
