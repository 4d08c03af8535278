#!/bin/sh
# RocketMQ's command of the name that this is called by: trimq/commands/original.
exec python3 -P -m trimq.commands.original "$0" "$@"
