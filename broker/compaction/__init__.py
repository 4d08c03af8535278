"""Topics with `cleanup.policy=COMPACTION`: copying their messages, reading the copies, thinning them out."""
