"""The files of queues: their bytes as a row, what is trusted of them, how entries get there, and how they go."""
