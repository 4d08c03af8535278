"""What a broker keeps in RocksDB, by the folders where 5.5.0 has its databases.

A database without a table (`*.sst`), a blob (`*.blob`) and a byte in its log (`*.log`) has never had anything that is
not deleted: so is `rocksdbstore` on every broker that is started with the defaults, and it is passed over.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final, NamedTuple

from trimq.broker.foreign_store.report import MessagesPending
from trimq.store.disk.files import store_error

log: Final = logging.getLogger("trimq.server")

_TABLES: Final = (".sst", ".blob")
_EXPORT: Final = (
    "export it with RocketMQ's mqadmin (rocksDBConfigToJson) to the file that TriMQ reads, config/{file}, and move the"
    " folder away"
)


class Database(NamedTuple):
    """A folder of the store, what is in it, and what has to be done before TriMQ can carry on without it."""

    folder: str
    holds: str
    advice: str


# PopConsumerService, MessageRocksDBStorage, the managers of broker.config.v1, ConfigStorage of v2. Consume queues are
# derived: `StoreDirectory.refuse_foreign` says what to do about those.
DATABASES: Final = (
    Database(
        "kvStore",
        "what consumers have popped and not acknowledged (popConsumerKVServiceEnable)",
        "start the broker that wrote it with popConsumerKVServiceInit=true and popConsumerKVServiceEnable=false, have"
        " its mqadmin run exportPopRecord, which moves all that to the log, stop it and move the folder away",
    ),
    Database(
        "rocksdbstore",
        "timer messages (timerRocksDBEnable), transactions (transRocksDBEnable) or the index of keys"
        " (indexRocksDBEnable)",
        "run the broker that wrote it until its timer messages are delivered and its transactions are settled, stop it"
        " and move the folder away; the index alone is no loss but for queries by key",
    ),
    Database(
        "config/topics", "its topics (enableRocksDBStore)", _EXPORT.format(file="topics.json")
    ),
    Database(
        "config/subscriptionGroups",
        "its groups (enableRocksDBStore)",
        _EXPORT.format(file="subscriptionGroup.json"),
    ),
    Database(
        "config/consumerOffsets",
        "its groups' offsets (enableRocksDBStore)",
        _EXPORT.format(file="consumerOffset.json"),
    ),
    Database(
        "config/metadata",
        "its topics, groups and offsets (useSingleRocksDBForAllConfigs)",
        _EXPORT.format(file="topics.json, subscriptionGroup.json and consumerOffset.json"),
    ),
    Database(
        "config/rdb",
        "its topics, groups and offsets (configManagerVersion=v2)",
        "ask that broker for its topics, groups and offsets (mqadmin), make them anew on TriMQ, and move the folder"
        " away",
    ),
)


def refuse_databases(root: Path, leave: bool) -> None:
    """Raise MessagesPending when one of them has anything; warns instead if it is to be left. Before the store is
    opened. Blocks. StoreError.
    """
    try:
        found = [one for one in DATABASES if has_data(root / one.folder)]
    except OSError as error:
        raise store_error(error, f"looking for databases in {root}") from error
    if not found:
        return
    if leave:
        for one in found:
            log.warning(
                "a RocksDB database is left as it is (leavePendingMessages=true): with=%s path=%s",
                one.holds,
                root / one.folder,
            )
        return
    listed = ". ".join(
        f"{root / one.folder} is a RocksDB database with {one.holds}: {one.advice}" for one in found
    )
    raise MessagesPending(
        f"TriMQ cannot read RocksDB. {listed}. Or start without: with --set leavePendingMessages=true it stays where it"
        " is, and nobody gets what is in it"
    )


def has_data(folder: Path) -> bool:
    """Whether there is a database that may have something. OSError."""
    if not folder.is_dir() or not (folder / "CURRENT").exists():
        return False
    return any(
        path.suffix in _TABLES or (path.suffix == ".log" and path.stat().st_size > 0)
        for path in folder.iterdir()
    )
