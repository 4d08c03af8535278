"""The entries of consume queues, their extension, and the index."""
