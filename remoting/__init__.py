"""Frames over streams: contract, dispatch, server, client.

This module imports no Trio: `remoting.errors` and `remoting.clients.blocking` serve plain threads.
"""
