#!/bin/sh
# Empties a directory, and runs a command.
#     in_empty.sh DIRECTORY COMMAND…
directory=$1
shift
rm -rf "$directory" && mkdir -p "$directory" && exec "$@"
