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
    from trimq.spark.driver import (
        DataLost,
        OffsetsBehind,
        RocketMQDataSource,
        RocketMQOffsetsDataSource,
        RocketMQStoreDataSource,
        SparkSourceError,
        WrongOption,
        offsets_behind,
    )
    from trimq.spark.sessions import session

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


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("trimq.spark.driver"), name)
    raise AttributeError(f"module 'trimq.spark' has no attribute {name!r}")
