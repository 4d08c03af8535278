"""The offset reporter: who is how far behind, since when, and how fast that changes.

`cluster` and `store_folder` make a snapshot, `history` keeps snapshots, `analysis` computes with Spark
what a `report` holds; `terminal`, `page`, `prometheus` and `files` write it, `command` is the command.
No Python runs on Spark's executors for it.
"""
