#!/bin/bash
# run_time_code.sh CASE: code made at run time. `functions` only defines what other scripts use, too.
[ "${1-}" = functions ] || source "$(dirname "$0")/lib.sh"

code=$PROGRAMS/run_time_code

# has_function NAME LEAST MOST: its share of all samples.
has_function() {
    local share
    share=$(sql s.db "SELECT coalesce(sum(exclusive_weight), 0) * 100.0 / (SELECT sum(weight) FROM sample)
        FROM v_function WHERE function = '$1'")
    echo "$1: $share %"
    holds "$share >= $2 && $share <= $3" "$1 has its share"
}

# Three functions at one address: each has the time that it ran.
replaced() {
    expect 0 "$SPROF" record -o s.db -- "$code" dump
    has_function first_code 47 67
    has_function second_code 19 39
    has_function third_code 7 22
}

# A return address that was pushed, and not by a call, is one all the same.
pushed() {
    local share
    expect 0 "$SPROF" record -o s.db -- "$code" pushed
    has_function pushed_code 80 100
    share=$(sql s.db "SELECT sum(weight) * 100.0 / (SELECT sum(weight) FROM sample) FROM sample
        WHERE end_reason = 0 AND user_stack")
    echo "whole: $share %"
    holds "$share >= 90" "stacks go on through it"
    share=$(sql s.db "SELECT max(inclusive_weight) * 100.0 / (SELECT sum(weight) FROM sample) FROM v_function
        WHERE function = 'pushing_code'")
    echo "below pushing_code: $share %"
    holds "$share >= 80" "the code that pushed is on the stacks"
}

case ${1-} in
replaced | pushed) "$1" ;;
functions) ;;
*) fail "no such case: ${1-}" ;;
esac
