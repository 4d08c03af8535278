"""Opening a store: finding the log's end, bringing queues and index up to date. Blocks; before anybody is served."""
