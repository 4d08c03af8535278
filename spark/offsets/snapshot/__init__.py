"""Snapshots: where queues and groups are at one moment, from a cluster, through Spark, or from a store directory."""
