#!/bin/bash
# The manual page is well-formed and names every command.
#     manual.sh SOURCE SPROF
set -u
page=$1/docs/sprof.1 sprof=$2

fail() {
    echo "$*" >&2
    exit 1
}

errors=$(MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
[ -z "$errors" ] || fail "$errors"
commands=$("$sprof" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[ -n "$commands" ] || fail "no commands found"
for command in $commands; do
    grep -qx "\.B $command" "$page" || fail "docs/sprof.1 does not name the command $command"
done
