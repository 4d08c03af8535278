"""A job for a Spark cluster: reads a topic, and says where TriMQ and its own `store` came from. NAMESRV TOPIC"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from trimq.spark import session


def whereabouts(_: Any) -> Iterator[tuple[str, str, bool, str]]:
    """In a task: its executor's folder, TriMQ's file, whether Trio is loaded, whose `store` is imported."""
    import os
    import sys

    import store
    import trimq.spark.source

    assert trimq.spark.source.RocketMQDataSource
    yield os.getcwd(), trimq.__file__, "trio" in sys.modules, store.OWNER


def main(namesrv: str, topic: str) -> None:
    spark = session()
    read = spark.read.format("rocketmq").option("namesrv", namesrv).option("topic", topic).load()
    bodies = sorted(row.body.decode() for row in read.select("body").collect())
    places = spark.sparkContext.parallelize(range(2), 2).mapPartitions(whereabouts).collect()
    import store

    said = {"master": spark.sparkContext.master, "owner": store.OWNER}
    print(json.dumps({**said, "bodies": bodies, "places": places}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
