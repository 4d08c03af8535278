"""Lite topics: who reads them, who is told of news, popping, their life.

On the event loop; only `popping` reads from the disk, in a worker thread.
"""
