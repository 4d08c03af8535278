"""RocketMQ's commands by their own names and flags: what TriMQ runs in their place.

The scripts in `deploy/bin` call `python -m trimq.commands.original NAME ...`. Each name is translated to the words of
`trimq`, which then takes the process over. Nothing here is loaded by `trimq` itself.
"""
