"""What a pop reads: who may, which queues in which order, what it has found, and how it waits. On the loop."""
