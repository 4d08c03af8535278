"""Snapshots over time: the Parquet data set, its upkeep, and what it says."""
