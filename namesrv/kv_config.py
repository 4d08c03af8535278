"""The NameServer's key-value configuration, kept in ``kvConfig.json`` (KVConfigManager)."""

import logging
from pathlib import Path
from typing import Final

import trio

from trimq.codec.bodies.base import decode_file, encode_body
from trimq.codec.bodies.kv import KVConfigSerializeWrapper
from trimq.codec.errors import CodecError
from trimq.remoting.growth_limits import check_room
from trimq.store.disk.config_file import ConfigFile
from trimq.store.errors import StoreError

_log: Final = logging.getLogger("trimq.namesrv")

# NamesrvUtil.NAMESPACE_ORDER_TOPIC_CONFIG: topic -> "broker:queues;..." of ordered topics.
ORDER_TOPIC_CONFIG: Final = "ORDER_TOPIC_CONFIG"


class KVConfig:
    """Namespace -> key -> value; whoever changes it awaits `save` before answering."""

    def __init__(self, path: Path, most: int = 0) -> None:
        """`most`: characters of all names and values (namesrvMaxKvBytes); 0 is no limit."""
        self._file = ConfigFile(path)
        self._tables: dict[str, dict[str, str]] = {}
        self._most = most
        self._size = 0
        self._changed = False
        # Grows with each change of a value.
        self.changes = 0
        self._writing = trio.Lock()

    def load(self) -> None:
        """Read the file; an unreadable one is reported and left alone until the next change."""
        data = self._file.load()
        if data is None:
            return
        try:
            self._tables = decode_file(KVConfigSerializeWrapper, data).config_table
            self.changes += 1
            self._size = sum(
                _size(namespace, key, value)
                for namespace, table in self._tables.items()
                for key, value in table.items()
            )
        except CodecError as error:
            _log.error("key-value configuration ignored: file=%s reason=%s", self._file.path, error)

    def put(self, namespace: str, key: str, value: str | None) -> None:
        """Set a value; without one the key counts as absent. LimitReached when that exceeds the limit."""
        old = self._tables.get(namespace, {}).get(key)
        size = self._size + _size(namespace, key, value) - _size(namespace, key, old)
        if self._most and size > max(self._most, self._size):
            check_room(size, self._most, "characters of configuration", "namesrvMaxKvBytes")
        self._size = size
        self.changes += 1
        table = self._tables.setdefault(namespace, {})
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
        _log.info("key-value set: namespace=%s key=%s value=%s", namespace, key, value)
        self._changed = True

    def delete(self, namespace: str | None, key: str | None) -> None:
        """Remove a value; the namespace stays, even empty."""
        self.changes += 1
        table = self._tables.get(namespace or "", {})
        value = table.pop(key or "", None)
        if value is not None:
            self._size -= _size(namespace or "", key or "", value)
            _log.info("key-value removed: namespace=%s key=%s", namespace, key)
        self._changed = True

    def get(self, namespace: str | None, key: str | None) -> str | None:
        if namespace is None or key is None:
            return None
        return self._tables.get(namespace, {}).get(key)

    def table(self, namespace: str | None) -> dict[str, str] | None:
        """Every value of a namespace; None when there is no such namespace."""
        return None if namespace is None else self._tables.get(namespace)

    async def save(self) -> None:
        """Write what was changed, in a worker thread; several changes at once make one write.

        The request is answered as done in any case: the real NameServer, too, only logs a failing
        disk.
        """
        async with self._writing:
            if self._changed:
                self._changed = False
                tables = {namespace: dict(table) for namespace, table in self._tables.items()}
                await trio.to_thread.run_sync(self._write, tables)

    def _write(self, tables: dict[str, dict[str, str]]) -> None:
        """Blocks."""
        try:
            self._file.save(encode_body(KVConfigSerializeWrapper(config_table=tables)))
        except StoreError as error:
            _log.error("key-value configuration not saved: reason=%s", error)


def _size(namespace: str, key: str, value: str | None) -> int:
    """The characters that a value counts as."""
    return 0 if value is None else len(namespace) + len(key) + len(value)
