#!/bin/bash
# The unit for continuous recording is well formed, holds what protects the machine, and its command works with the rights that
# it leaves.
#     service.sh SOURCE SPROF
set -u
unit=$1/packaging/systemd/sprof.service sprof=$2
command -v systemd-analyze >/dev/null || { echo "SKIPPED: there is no systemd-analyze"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "SKIPPED: needs root"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# As installed: the command is found by its name. Another sprof, glibc's, may be on this machine.
sed "s|^ExecStart=sprof |ExecStart=$sprof |" "$unit" >"$work/sprof.service"
grep -q "^ExecStart=$sprof record --loop" "$work/sprof.service" || fail "the unit does not start sprof by its name"
systemd-analyze verify --man=no "$work/sprof.service" >"$work/log" 2>&1 || fail "the unit is wrong: $(cat "$work/log")"
[ ! -s "$work/log" ] || fail "verify says: $(cat "$work/log")"
systemd-analyze security --offline=true --threshold=45 "$work/sprof.service" >"$work/log" 2>&1 ||
    fail "exposed: $(tail -n 1 "$work/log")"

# By hand, with the capabilities of the unit and no others.
capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr 'A-Z' 'a-z' | sed 's/cap_/+/g; s/ /,/g')
command=$(sed -n "s|^ExecStart=sprof |$sprof |p" "$unit" | sed "s|\${STATE_DIRECTORY}|$work/state|; s|--loop 60s|--loop 1s|")
# shellcheck disable=SC2086
XDG_CACHE_HOME=$work/cache setpriv --bounding-set="-all,$capabilities" --inh-caps=-all --no-new-privs \
    $command --duration 2s >"$work/log" 2>&1 || fail "the command of the unit: $(cat "$work/log")"
segment=$(ls "$work"/state/*.db | head -n 1)
[ "$("$sprof" sql "$segment" --format csv "SELECT targets, kernel_excluded IS NULL FROM run" | tail -n 1 | tr -d '\r')" = 'all that runs,1' ] ||
    fail "not the whole machine, or not the kernel: $(cat "$work/log")"
