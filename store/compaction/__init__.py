"""Compaction topics: copies of their records, of which in the end only the newest of each key stay.

`compaction/compactionLog/<topic>/<queue id>/%020d` has the records as the commit log has them, with other
physical offsets; `compaction/compactionCq/<topic>/<queue id>/%020d` an entry for each, in a file of the same
name. Files are RocketMQ's (CompactionLog, SparseConsumeQueue). Everything here blocks: it is for worker threads, one at
a time for each queue.
"""
