#!/bin/bash
# run_time_code.sh CASE: code made at run time. `functions` only defines what other scripts use, too.
[ "${1-}" = functions ] || source "$(dirname "$0")/lib.sh"

code=$PROGRAMS/run_time_code

# has_function NAME LEAST MOST: its share of all samples, but for the time of those that were lost.
has_function() {
    local share
    share=$(sql s.db "SELECT coalesce(sum(exclusive_weight), 0) * 100.0 / (SELECT sum(weight) FROM sample WHERE count > 0)
        FROM v_function WHERE function = '$1'")
    echo "$1: $share %"
    holds "$share >= $2 && $share <= $3" "$1 has its share"
}

# The shares of the three functions in the recording are those of the CPU time that each measured.
shares_as_measured() {
    local name spent share all
    all=$(awk '{sum += $4} END {print sum}' out)
    while read -r name _ _ spent; do
        share=$((spent * 100 / all))
        has_function "$name" $((share - 10)) $((share + 10))
    done <out
    [ "$(wc -l <out)" = 3 ] || fail "not three functions"
}

# Three functions at one address: each has the samples of the time that it ran, and none of another time.
replaced() {
    local name begun ended inside all wrong
    expect 0 "$SPROF" record -o s.db -- "$code" dump
    while read -r name begun ended _; do
        IFS='|' read -r all inside wrong < <(sql s.db "SELECT count(*), coalesce(sum(path LIKE '%;$name'), 0),
            coalesce(sum(path NOT LIKE '%$name%' AND path GLOB '*_code*'), 0)
            FROM (SELECT time_ns + start_monotonic_ns AS at, path FROM v_sample, run WHERE count > 0) WHERE at BETWEEN $begun AND $ended")
        echo "$name: $inside of $all samples, $wrong of another function"
        holds "$inside > 0 && $inside > 0.8 * $all && $wrong == 0" "samples of $name"
    done <out
    [ "$(wc -l <out)" = 3 ] || fail "not three functions"
}

# A perf map has no times: what it grew by between two looks was loaded between them.
replaced_map() {
    expect 0 "$SPROF" record -o s.db -- "$code" remap
    rm -f "$(grep -x '/tmp/perf-[0-9]*[.]map' out)"
    sed -i '$d' out
    shares_as_measured
}

# Code that a process has from a fork is its parent's until then; what either loads later is its own.
forked() {
    expect 0 "$SPROF" record -o s.db -- "$code" forked
    echo "parents: $(sql s.db "$(names_of IS)")"
    echo "childs: $(sql s.db "$(names_of 'IS NOT')")"
    [ "$(sql s.db "$(names_of IS)")" = "common_code parents_code" ] || fail "the parent's code"
    [ "$(sql s.db "$(names_of 'IS NOT')")" = "childs_code common_code" ] || fail "the child's code"
}

# What a child has from its parent's file is no reason to leave out what names its own code.
nameless() {
    expect 0 "$SPROF" record -o s.db -- "$code" nameless
    grep -q 'functions of .* have no names: .*/tmp/perf-[0-9]*[.]map' err || fail "no cure: $(cat err)"
}

names_of() { # IS|IS NOT: of processes that the first one's parent did, or did not, start
    echo "SELECT group_concat(leaf, ' ') FROM (SELECT DISTINCT leaf FROM v_sample s JOIN process p ON p.pid = s.pid
        WHERE leaf GLOB '*_code' AND p.parent_id $1 NULL ORDER BY leaf)"
}

# A return address that was pushed, and not by a call, is one all the same.
pushed() {
    local share
    expect 0 "$SPROF" record -o s.db -- "$code" pushed
    rm -f "$(grep -x '/tmp/perf-[0-9]*[.]map' out)" # it is read however late
    has_function pushed_code 80 100
    share=$(sql s.db "SELECT sum(weight) * 100.0 / (SELECT sum(weight) FROM sample WHERE count > 0) FROM sample
        WHERE end_reason = 0 AND user_stack")
    echo "whole: $share %"
    holds "$share >= 90" "stacks go on through it"
    share=$(sql s.db "SELECT max(inclusive_weight) * 100.0 / (SELECT sum(weight) FROM sample WHERE count > 0) FROM v_function
        WHERE function = 'pushing_code'")
    echo "below pushing_code: $share %"
    holds "$share >= 80" "the code that pushed is on the stacks"
}

case ${1-} in
replaced | replaced_map | forked | nameless | pushed) "$1" ;;
functions) ;;
*) fail "no such case: ${1-}" ;;
esac
