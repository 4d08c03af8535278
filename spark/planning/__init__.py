"""What the driver of a job decides: which queues exist, what to read from them, and in which tasks."""
