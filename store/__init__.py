"""Messages and files: commit log, consume queues, recovery. Synchronous."""
