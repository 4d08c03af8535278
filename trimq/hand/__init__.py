"""Time and faults in the hand of a test: what `--hand` and `running_server(hand=True)` add to a server.

Nothing of it is loaded by a server that was started without.
"""
