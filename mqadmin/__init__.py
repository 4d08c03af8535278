"""The `mqadmin` command: RocketMQ's command names, flags and tables, without a JVM.

`cli` finds a command's file by its name and loads only that one; `framework` gives every command
the common flags, a connected client and the exit codes; `output` prints text or JSON.
"""
