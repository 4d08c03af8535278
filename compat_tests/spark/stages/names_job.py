"""A job of somebody who has installed TriMQ and imports nothing of it; prints what came of it as JSON.

Its arguments are a folder for tables; and a NameServer, a topic and a store for each server.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import SparkSession

WAREHOUSE, *PLACES = sys.argv[1:]


def said(job: Callable[[], Any]) -> Any:
    """What it returns, or the sentence that it fails with."""
    try:
        return job()
    except Exception as error:
        return str(error)


def results(spark: SparkSession, namesrv: str, topic: str, store: str) -> Iterator[tuple[str, Any]]:
    name = f"t{abs(hash(namesrv))}"
    options = f"(namesrv '{namesrv}', topic '{topic}')"
    kafkaesque = {"namesrv": namesrv, "topic": topic}

    def count(query: str, session: SparkSession = spark) -> int:
        return int(session.sql(query).collect()[0][0])

    def read(session: SparkSession) -> int:
        return session.read.format("rocketmq").options(**kafkaesque).load().count()

    yield "format", read(spark)
    yield "format in a new session", read(spark.newSession())
    offsets = spark.read.format("rocketmq-offsets").option("namesrv", namesrv).load()
    ends = offsets.where(f"topic = '{topic}'").select("maxOffset").collect()
    yield "offsets", sum(row[0] for row in ends)
    stored = spark.read.format("rocketmq-store").option("topic", topic).load(store)
    yield "stored", stored.count()
    spark.sql(f"CREATE TABLE {name} USING rocketmq OPTIONS {options} TBLPROPERTIES (a = 'b')")
    yield "table, options in the query", count(f"SELECT count(*) FROM {name} WITH {options}")
    yield "table, without options", said(lambda: count(f"SELECT count(*) FROM {name}"))
    yield "table, reader's options", spark.read.options(**kafkaesque).table(name).count()
    spark.sql(f"CREATE VIEW {name}_view AS SELECT * FROM {name} WITH {options}")
    spark.sql(f"CREATE TEMPORARY VIEW {name}_temp USING rocketmq OPTIONS {options}")
    yield "temporary view", count(f"SELECT count(*) FROM {name}_temp")
    spark.sql(
        f"INSERT INTO {name}_temp (body, tags) VALUES (CAST('through a view' AS BINARY), 'Q')"
    )
    # The tables ask anew at each query; the view goes on with what it has found.
    yield "table, one more", count(f"SELECT count(*) FROM {name} WITH {options}")
    yield "view over the table", count(f"SELECT count(*) FROM {name}_view")
    yield (
        "the same in a new session",
        count(f"SELECT count(*) FROM {name}_view", spark.newSession()),
    )
    yield "temporary view, one more", count(f"SELECT count(*) FROM {name}_temp")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name}_temp USING rocketmq OPTIONS {options}")
    yield "temporary view, made again", count(f"SELECT count(*) FROM {name}_temp")
    yield (
        "wrong table",
        said(
            lambda: spark.sql(
                f"CREATE TABLE x USING rocketmq OPTIONS (namesrv '{namesrv}', topc 'T')"
            )
        ),
    )


def main() -> None:
    spark = SparkSession.builder.config("spark.sql.warehouse.dir", WAREHOUSE).getOrCreate()
    places = zip(PLACES[::3], PLACES[1::3], PLACES[2::3], strict=True)
    value = [dict(results(spark, *place)) for place in places]
    ours = sorted(name for name in sys.modules if name.partition(".")[0] == "trimq")
    print(json.dumps({"servers": value, "loaded": ours}))


main()
