"""Frames over streams: contract, dispatch, server, client."""
