#!/bin/sh
# Runs a fuzz target that crashes; its exit status must not be 77, with which a test is skipped.
#     crash_fails.sh COMMAND…
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
"$@" >log 2>&1
status=$?
grep -q 'deadly signal' log || { echo "FAIL: no crash"; tail -n 20 log; exit 1; }
[ $status != 0 ] && [ $status != 77 ] || { echo "FAIL: a crash exits with $status"; exit 1; }
