"""Which queues clients shall read, when the broker shares them out."""
