#!/bin/bash
# README's build, on a machine without CUnit and without nongnu libunwind: CMake says what is missing,
# and sprof works.
#     bare.sh SOURCE
set -u
source=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

cmake -S "$source" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DSPROF_WERROR=ON \
    -DSPROF_HAS_CUNIT=OFF -DSPROF_HAS_LIBUNWIND=OFF >"$work/log" 2>&1 || fail "$(cat "$work/log")"
grep -q 'without tests' "$work/log" || fail "CMake does not say that there are no tests"
grep -q 'without nongnu libunwind' "$work/log" || fail "CMake does not say what libunwind is for"
cmake --build "$work" --target sprof >"$work/log" 2>&1 || fail "$(tail -n 40 "$work/log")"
"$work/sprof" --version | grep -q 'without libunwind' || fail "--version does not say it"
if ldd "$work/sprof" | grep -q libunwind; then
    fail "libunwind is linked all the same"
fi
printf 'main;work 3\n' | "$work/sprof" import --folded - -o "$work/a.db" >"$work/log" 2>&1 &&
    "$work/sprof" report -i "$work/a.db" | grep -q work || fail "no report: $(cat "$work/log")"

# The target is all that runs and all that is installed.
"$work/sprof" trace -o "$work/b.db" -- true >"$work/log" 2>&1 || fail "no trace: $(cat "$work/log")"
"$work/sprof" record --source sigprof -o "$work/c.db" -- true >"$work/log" 2>&1 || fail "no agent: $(cat "$work/log")"
DESTDIR=$work/root cmake --install "$work" >"$work/log" 2>&1 || fail "install: $(cat "$work/log")"
