"""RocketMQ topics and store files in PySpark 4. Loads no Trio.

from trimq.spark import RocketMQDataSource
session.dataSource.register(RocketMQDataSource)
session.read.format("rocketmq").option("namesrv", "127.0.0.1:9876").option("topic", "T").load()
"""

from trimq import check_layers

check_layers(("admin", "spark"))

from spark.source import RocketMQDataSource  # noqa: E402 - after the check

__all__ = ["RocketMQDataSource"]
