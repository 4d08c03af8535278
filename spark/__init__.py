"""PySpark 4: RocketMQ's topics and store files as data sources. `trimq.spark` is the way in.

Executors run the blocking client; nothing here loads Trio. `source` holds the classes that Spark
sees, `schema` the columns, `decode` turns records into Arrow columns, `options` reads options,
`positions` says where queues begin and end, `pulling` and `sending` talk to brokers, `log_scan` reads
store files.
"""
