#!/bin/sh
# A role of the official image's, options of `trimq server`, nothing, or any command.
case "$1${NODE_ROLE:+-role}" in
  '' | nameserver | broker | controller | -* | *-role)
    exec python3 -P -m trimq.commands.original "$0" "$@" ;;
  *) exec "$@" ;;
esac
