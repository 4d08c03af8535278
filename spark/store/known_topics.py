"""Whether the topics that are asked for are in a store: a misspelt one has no messages, which says nothing."""

from __future__ import annotations

import difflib

from trimq.codec.errors import CodecError
from trimq.codec.java.fastjson import loads
from trimq.spark.errors import WrongOption
from trimq.spark.store.files import Files
from trimq.spark.store.options import Store, StoreOptions
from trimq.spark.store.queues import has_queue_files


def check_topics(options: StoreOptions) -> None:
    """WrongOption when a topic is in none of the stores, as far as their queues and tables tell.

    Of the option only: a condition on a column may well find nothing.
    """
    if options.table == "index" or options.use_queues is False or not options.topics:
        return
    files = options.files
    known: set[str] = set()
    for store in options.stores:
        names = files.names(f"{store.root}/consumequeue") if has_queue_files(store, files) else []
        if not names:
            # A log by itself, or one whose queues are elsewhere: only reading it would tell.
            return
        known |= {*names, *files.names(f"{store.root}/batchconsumequeue")}
        known |= _configured(store, files)
    # Those of groups are there when a message was sent back: a dead-letter topic may be empty for long.
    absent = sorted(topic for topic in options.topics - known if not topic.startswith("%"))
    for topic in absent:
        near = difflib.get_close_matches(topic, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        where = ", ".join(store.root for store in options.stores)
        raise WrongOption(
            f"option 'topic': there is no topic {topic!r} in {where}{hint} (what the log still has of a deleted topic"
            " is read with useConsumeQueue=false)"
        )


def _configured(store: Store, files: Files) -> set[str]:
    """The topics of the store's broker: one without messages has no queue."""
    try:
        table = loads(files.read(f"{store.root}/config/topics.json") or b"{}")
    except CodecError:
        # Just being written, or damaged: the queues have to do.
        return set()
    topics = table.get("topicConfigTable") if isinstance(table, dict) else None
    return set(topics) if isinstance(topics, dict) else set()
