"""What the driver of a job decides: which queues there are, what to read of them, and in which tasks."""
