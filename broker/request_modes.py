"""Whether a group pulls or pops a topic (MessageRequestModeManager): `config/messageRequestMode.json`.

Operators set it; a group that nobody has set is not in the table.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

from trimq.broker.json_members import pretty
from trimq.broker.table_file import TableFile
from trimq.codec.bodies.base import decode_file, encode_body
from trimq.codec.bodies.request_modes import MessageRequestModes, SetMessageRequestModeRequestBody

log = logging.getLogger("trimq.broker")


class RequestModes:
    """The mode of each topic and group that has been set."""

    def __init__(self, directory: Path) -> None:
        """`directory` is the store's `config` folder."""
        self._file = TableFile(directory / "messageRequestMode.json", self._pieces)
        self._table = MessageRequestModes()
        self._in_file = False

    def put(self, mode: SetMessageRequestModeRequestBody) -> None:
        """Set the mode of a topic and a group."""
        self._table.message_request_mode_map.setdefault(mode.topic, {})[mode.consumer_group] = mode
        log.info(
            "request mode set: topic=%s group=%s mode=%s share=%d",
            mode.topic,
            mode.consumer_group,
            mode.mode,
            mode.pop_share_queue_num,
        )
        self._in_file = True
        self._file.write()

    def get(self, topic: str, group: str) -> SetMessageRequestModeRequestBody | None:
        return self._table.message_request_mode_map.get(topic, {}).get(group)

    def encoded(self) -> bytes:
        """The whole table, as slaves ask for it."""
        return encode_body(self._table)

    def load(self) -> None:
        """Read the file, if there is one. Blocks: before the loop runs."""
        loaded = self._file.load(_decode)
        if loaded is not None:
            self._table = loaded
            self._in_file = True

    async def settle(self) -> None:
        """Let the last change survive a power loss; a service calls it every few seconds."""
        await self._file.settle()

    def close(self) -> None:
        """Write and sync what has been set. Blocks: for the shutdown."""
        if self._in_file:
            self._file.close()

    def _pieces(self) -> Iterator[bytes]:
        yield pretty(self._table, 0).encode()


def _decode(data: bytes) -> MessageRequestModes:
    return decode_file(MessageRequestModes, data)
