"""Queues: entries that say where a queue's messages are in the commit log. Read on the loop, mostly from memory."""
