"""Which producers wait until their message is on the disk (SYNC_FLUSH), or on slaves (SYNC_MASTER).

Whether any of them do is a matter of settings (`Staging.waits`). Then all do whose message has no WAIT, or has "true"
there (Message.isWaitStoreMsgOK). `durable_at` of what they are answered says up to where in the commit log.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.codec.records.properties import NAME_END, parse_properties
from trimq.codec.records.property_keys import WAIT

_WAIT: Final = WAIT + NAME_END


def wait_stored(properties: dict[str, str]) -> bool:
    """Whether the producer of a message with these properties waits, if any does."""
    return properties.get(WAIT, "true").lower() == "true"


def wait_stored_text(properties: str) -> bool:
    """The same of properties as they are sent; the text is only parsed when it may say no."""
    return _WAIT not in properties or wait_stored(parse_properties(properties))
