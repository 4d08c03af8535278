"""What the runtime info says about files and disks (DefaultMessageStore.getRuntimeInfo)."""

import os
from pathlib import Path
from typing import Final

from trimq.broker.config import BrokerConfig
from trimq.codec.errors import CodecError
from trimq.codec.records.record import parse_record
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore

_UNITS: Final = " KMGTPE"


class StoreFigures:
    """Asks the file systems each time: a few microseconds on a local disk."""

    def __init__(
        self, config: BrokerConfig, store_config: StoreConfig, store: MessageStore
    ) -> None:
        self._config = config
        self._store_config = store_config
        self._store = store

    def texts(self) -> dict[str, str]:
        store, config = self._store, self._store_config
        log_uses = {path: self._disk_use(path) for path in config.commit_logs}
        behind = store.max_physical_offset - store.flushed_offset
        return {
            **{f"commitLogDiskRatio_{path}": str(use) for path, use in log_uses.items()},
            "commitLogDiskRatio": str(min(log_uses.values())),
            "consumeQueueDiskRatio": str(self._disk_use(config.consume_queue)),
            "commitLogMinOffset": str(store.min_physical_offset),
            "commitLogMaxOffset": str(store.max_physical_offset),
            "commitLogDirCapacity": _capacity(config.root),
            "putMessageFailedTimes": str(store.failed_puts),
            "dispatchBehindBytes": str(store.dispatch_behind_bytes),
            "remainHowManyDataToFlush": readable_bytes(behind),
            "earliestMessageTimeStamp": str(self._earliest()),
            "startAcceptSendRequestTimeStamp": str(
                self._config.start_accept_send_request_time_stamp
            ),
        }

    def _disk_use(self, folder: Path) -> float:
        """0.0 to 1.0; a folder that does not exist yet will be on the root's disk."""
        there = folder if folder.exists() else self._store_config.root
        return float(self._store.disk_use(there))

    def _earliest(self) -> int:
        """When the log's first record was stored, in milliseconds since 1970; -1 without one."""
        data = self._store.record_at(self._store.min_physical_offset)
        if data is None:
            return -1
        try:
            return parse_record(data, check_crc=False).store_timestamp
        except CodecError:
            return -1


def readable_bytes(count: int) -> str:
    """`512 B`, `3.4 GiB` (MixAll.humanReadableByteCount)."""
    power = max(count.bit_length() - 1, 0) // 10
    if power == 0:
        return f"{count} B"
    return f"{count / (1 << 10 * power):.1f} {_UNITS[power]}iB"


def _capacity(root: Path) -> str:
    disk = os.statvfs(root)
    total, free = disk.f_blocks * disk.f_frsize, disk.f_bfree * disk.f_frsize
    return f"Total : {readable_bytes(total)}, Free : {readable_bytes(free)}."
