"""Which queues of a slave are those of topics that its master has deleted."""

from __future__ import annotations

from trimq.broker.services.topics_gone import TopicsGone


class Store:
    def __init__(self, *topics: str) -> None:
        self.names = list(topics)

    def topics(self) -> list[str]:
        return list(self.names)

    def delete_topic(self, topic: str) -> None:
        self.names.remove(topic)


class Table(set[str]):
    def is_system_topic(self, topic: str) -> bool:
        return topic.startswith("rmq_sys_")


def test_only_who_was_unknown_before_the_master_was_asked() -> None:
    store, table = Store("Kept", "Gone", "rmq_sys_x", "%LMQ%x"), Table({"Kept"})
    asked: list[int] = []
    gone = TopicsGone(table, store)  # type: ignore[arg-type]
    gone.ask_soon = lambda: asked.append(1)
    gone.followed()
    assert len(store.names) == 4
    assert asked
    # Its first message came before the table that has it.
    store.names.append("New")
    gone.followed()
    assert store.names == ["Kept", "rmq_sys_x", "%LMQ%x", "New"]
    table.add("New")
    asked.clear()
    gone.followed()
    assert store.names == ["Kept", "rmq_sys_x", "%LMQ%x", "New"]
    assert not asked
