"""`compaction/position-checkpoint`: up to which queue offset each queue was rewritten (CompactionPositionMgr)."""

from __future__ import annotations

import threading
from pathlib import Path

from trimq.codec.java.fastjson import dumps, loads
from trimq.store.disk.files import replace_file, sync_directory
from trimq.store.disk.quarantine import is_damage, set_aside


class Positions:
    """For several threads. A file that cannot be read counts as none: then everything is looked at again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._offsets: dict[str, int] = {}

    def load(self) -> None:
        try:
            found = loads(self._path.read_bytes())
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            if not is_damage(error):
                raise
            set_aside(self._path.parent.parent, self._path, error)
            return
        table = found.get("queueOffsetMap") if isinstance(found, dict) else None
        if isinstance(table, dict):
            self._offsets = {name: at for name, at in table.items() if isinstance(at, int)}

    def get(self, topic: str, queue_id: int) -> int:
        """The last queue offset that was looked at; -1 if none was."""
        return self._offsets.get(f"{topic}_{queue_id}", -1)

    def put(self, topic: str, queue_id: int, offset: int) -> None:
        """OSError."""
        with self._lock:
            self._offsets[f"{topic}_{queue_id}"] = offset
            self._write()

    def forget(self, topic: str, queue_ids: list[int]) -> None:
        with self._lock:
            for queue_id in queue_ids:
                self._offsets.pop(f"{topic}_{queue_id}", None)
            self._write()

    def _write(self) -> None:
        replace_file(self._path, dumps({"queueOffsetMap": self._offsets}, pretty_tabs=True))
        sync_directory(self._path.parent)
