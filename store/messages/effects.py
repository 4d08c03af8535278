"""What a stored record changes: the seam between the log and what the broker knows.

Some records are decisions: a half message is pending from now on, an op ends it, a timer waits. Such an
effect belongs to a topic. It is applied to each of the topic's records when that was **written**, in
the order of the log and before listeners hear of the write, and by `MessageStore.replay` to the same
records at start: running and recovery cannot differ, and a write that fails has nothing to take back.

An effect should not fail, whatever is in the record, and it stages nothing: what follows from it is staged
by a service on its next turn. One that does fail is logged and takes nothing else of the write along; its owner makes
anew from the log what it knows of the topic (`failures.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from trimq.store.messages.message import Dispatched, Message

# Gets a record that is in the log: where it is, and the message (of a batch sent: the whole of it; of a
# replay without bodies: an empty one).
Effect = Callable[[Dispatched, Message], None]

# What a request of this receive has decided, and others of the same receive must know: the table that
# it belongs to, and a number there.
Claim = tuple[str, int]
