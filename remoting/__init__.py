"""Frames over streams: contract, dispatch, server, client.

Nothing here imports Trio by itself: `remoting.errors` and `remoting.blocking` serve plain threads.
"""
