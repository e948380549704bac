#!/bin/bash
# Real programs whose code is hard to unwind: assembler with registers of its own, and code made at
# run time.
#   real.sh CASE
. "$(dirname "$0")/lib.sh"
rate=1999

# openssl speed ALGORITHMS…
speed() {
    needs openssl openssl
    record -- openssl speed -seconds 2 "$@"
    # Where a frame's pointer lies in the red zone, code is read in the live process: for its last
    # one or two milliseconds it has gone.
    whole 0.998
    roots
    by_rules
}
assembler_aes() {
    speed -bytes 1024 aes-256-cbc
    in_libcrypto
    speed -bytes 8192 -evp aes-128-gcm
    in_libcrypto
}
assembler_sha() {
    speed -bytes 1024 sha256 sha512
    in_libcrypto
    speed -bytes 1024 -evp sha3-256
    in_libcrypto
}
assembler_rsa() {
    speed rsa2048
    in_libcrypto
    speed ecdhp256
    in_libcrypto
}
# Most of the time is spent in libcrypto, and its stacks reach main by rules.
in_libcrypto() {
    local all good
    IFS='|' read -r all good < <(query "SELECT sum(count), sum(count * (end_reason = 0
        AND NOT n.guessed)) FROM sample s JOIN stack_node n ON n.id = s.node_id
        JOIN frame f ON f.id = n.frame_id JOIN module m ON m.id = f.module_id
        WHERE m.name GLOB 'libcrypto*'")
    echo "in libcrypto: $good of $all whole"
    holds "$all > 100 && $good >= 0.998 * $all" "whole stacks in libcrypto"
}

# Names and stacks of code that node has made itself.
jit() {
    needs node nodejs
    record -- node --perf-basic-prof "$PROGRAMS/jit.js"
    whole 0.99
    roots 0.99
    query "SELECT DISTINCT '/tmp/perf-' || pid || '.map' FROM v_sample" | xargs rm -f
    # Optimized functions are inlined into each other: any of them may be the innermost.
    local compiled
    compiled=$(query "SELECT sum(count) FROM v_sample WHERE leaf GLOB 'JS:*jit*'")
    echo "in JavaScript: $compiled"
    [ "${compiled:-0}" -ge 150 ] || fail "code made at run time has no names"
    local one='[^;]*JS:[^;]*jitRecurse[^;]*'
    chain 'JS:[*]jitRecurse*' "_start;.*JS:[^;]*jit\.js[^;]*(;$one){1,30}(;[^;]*JS:[^;]*jit(Middle|Leaf)[^;]*)*" 0.99
}

"$1"
