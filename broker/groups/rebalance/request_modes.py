"""Whether a group pulls or pops a topic (MessageRequestModeManager): `config/messageRequestMode.json`.

Operators set it; a group that nobody has set is not in the table.
"""

import logging
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from trimq.broker.tables.json_members import JsonMembers, pretty
from trimq.broker.tables.persisted_table import PersistedTable
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.request_modes import MessageRequestModes, SetMessageRequestModeRequestBody

log = logging.getLogger("trimq.broker")


class RequestModes(PersistedTable[MessageRequestModes]):
    """The mode of each topic and group that has been set."""

    def __init__(self, directory: Path) -> None:
        """`directory` is the store's `config` folder."""
        super().__init__(directory / "messageRequestMode.json", MessageRequestModes, spare=True)
        self._table = MessageRequestModes()
        self._members = JsonMembers(self._encode)

    def put(self, mode: SetMessageRequestModeRequestBody) -> None:
        """Set the mode of a topic and a group."""
        topic, group = mode.topic or "", mode.consumer_group or ""
        self._table.message_request_mode_map.setdefault(topic, {})[group] = mode
        self._members.changed(topic)
        log.info(
            "request mode set: topic=%s group=%s mode=%s share=%d",
            topic,
            group,
            mode.mode,
            mode.pop_share_queue_num,
        )
        self.persist()

    def get(self, topic: str, group: str) -> SetMessageRequestModeRequestBody | None:
        return self._table.message_request_mode_map.get(topic, {}).get(group)

    def forget_group(self, group: str) -> None:
        """The group was deleted."""
        modes = self._table.message_request_mode_map
        topics = [topic for topic, of_topic in modes.items() if group in of_topic]
        for topic in topics:
            del modes[topic][group]
            self._members.changed(topic)
            if not modes[topic]:
                del modes[topic]
                self._members.removed(topic)
        if topics:
            log.info("request modes deleted with their group: group=%s", group)
            self.persist()

    def encoded(self) -> bytes:
        """The whole table, as slaves ask for it."""
        return encode_body(self._table)

    def follow(self, master: MessageRequestModes) -> None:
        """Take over the master's modes; those that it does not have stay."""
        modes = self._table.message_request_mode_map
        changed = False
        for topic, groups in master.message_request_mode_map.items():
            of_topic = modes.setdefault(topic, {})
            if not groups.items() <= of_topic.items():
                of_topic.update(groups)
                self._members.changed(topic)
                changed = True
        if changed:
            self.persist()

    def _take(self, loaded: MessageRequestModes) -> None:
        self._table = loaded
        self._members = JsonMembers(self._encode)
        for topic in loaded.message_request_mode_map:
            self._members.changed(topic)

    def _encode(self, topic: str) -> str:
        return pretty(self._table.message_request_mode_map[topic], 2)

    def _pieces(self) -> Iterator[bytes]:
        head = b'{\n\t"messageRequestModeMap":'
        return chain((head,), self._members.object_pieces(), (b"\n}",))
