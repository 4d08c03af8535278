"""A snapshot taken by Spark's executors: one task for each broker, through `format("rocketmq-offsets")`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimq.admin.errors import AdminError
from trimq.codec.errors import CodecError
from trimq.remoting.errors import TransportError
from trimq.remoting.tls.contexts import ClientTls
from trimq.spark.errors import SparkSourceError
from trimq.spark.offsets.snapshot.cluster import ClusterSource, Snapshot, addresses, read_broker
from trimq.spark.offsets.snapshot.table import SCHEMA, joined, now_millis
from trimq.spark.offsets.source import RocketMQOffsetsDataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def snapshot(source: ClusterSource, spark: SparkSession) -> Snapshot:
    """As `cluster.snapshot`; what is not known about a group or a client is in the executors' logs."""
    taken = now_millis()
    brokers = addresses(source)
    spark.dataSource.register(RocketMQOffsetsDataSource)
    reader = spark.read.format(RocketMQOffsetsDataSource.name()).options(**_options(source))
    parts = [reader.load().toArrow().cast(SCHEMA)]
    if parts[0].num_rows:
        taken = parts[0]["takenAt"][0].cast("int64").as_py() // 1000
    answered = set(parts[0]["brokerName"].to_pylist())
    made = Snapshot(parts[0])
    for broker in brokers:
        # It returned nothing: it has no topics, or nobody could ask it. Asking once more shows
        # which.
        if broker.name not in answered:
            try:
                parts.append(read_broker(source, broker, taken).table)
            except (AdminError, CodecError, TransportError) as error:
                made.problems.append(f"broker {broker.name} is left out: {error}")
    if len(made.problems) == len(brokers):
        raise SparkSourceError("no broker answers: " + "; ".join(made.problems[:3]))
    made.table = joined(parts)
    return made


def _options(source: ClusterSource) -> dict[str, str]:
    options = {
        "namesrv": source.name_servers,
        "rate": repr(source.rate),
        "exactDelays": str(source.exact),
        "askClients": str(source.ask_clients).lower(),
        "timeoutMs": str(max(1, int(source.timeout * 1000))),
        "outageTimeoutMs": "0",
        "failOnMissingBroker": "false",
    }
    if source.keys is not None:
        options |= {"accessKey": source.keys.access_key, "secretKey": source.keys.secret_key}
    return options | (_tls(source.tls) if source.tls is not None else {})


def _tls(tls: ClientTls) -> dict[str, str]:
    return {
        "tls": "true",
        "tlsTrustCertPath": tls.authorities,
        "tlsAnyName": str(not tls.named).lower(),
        "tlsCertPath": tls.certificate,
        "tlsKeyPath": tls.key,
        "tlsKeyPassword": tls.password,
    }
