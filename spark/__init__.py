"""RocketMQ topics and store files in PySpark 4. Loads no Trio.

from trimq.spark import RocketMQDataSource

session.dataSource.register(RocketMQDataSource)
session.read.format("rocketmq").option("namesrv", "127.0.0.1:9876").option("topic", "T").load()

`trimq.spark.session()` makes a session in which that has been done.

Executors run the blocking client. `source` holds the classes that Spark sees, `schema` the columns,
`decode` turns records into Arrow columns, `options` reads options, `positions` says where queues begin
and end, `pulling` and `sending` talk to brokers, `log_scan` reads store files. The names below are for
drivers: the first one used checks PySpark and prepares this process (`driver`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimq.spark.errors import DataLost, SparkSourceError, WrongOption
    from trimq.spark.lag import OffsetsBehind, offsets_behind
    from trimq.spark.offsets.source import RocketMQOffsetsDataSource
    from trimq.spark.sessions import session
    from trimq.spark.source import RocketMQDataSource
    from trimq.spark.store.source import RocketMQStoreDataSource

__all__ = [
    "DataLost",
    "OffsetsBehind",
    "RocketMQDataSource",
    "RocketMQOffsetsDataSource",
    "RocketMQStoreDataSource",
    "SparkSourceError",
    "WrongOption",
    "offsets_behind",
    "session",
]


_HOMES = {
    "DataLost": "errors",
    "OffsetsBehind": "lag",
    "RocketMQDataSource": "source",
    "RocketMQOffsetsDataSource": "offsets.source",
    "RocketMQStoreDataSource": "store.source",
    "SparkSourceError": "errors",
    "WrongOption": "errors",
    "offsets_behind": "lag",
    "session": "sessions",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        import_module("trimq.spark.driver")
        return getattr(import_module(f"trimq.spark.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'trimq.spark' has no attribute {name!r}")
