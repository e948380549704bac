#!/bin/bash
# Stacks of programs that become others: what was captured with a sample needs nothing of the process.
#     deep_exec.sh [early]      early: in their first milliseconds, when it is copied from the process and the
#                               recorder has much else to do
. "$(dirname "$0")/lib.sh"
needs_kernel_samples

if [ "${1-}" = early ]; then
    user=0 whole=0
    for run in $(seq 20); do
        expect 0 "$SPROF" record --no-symbolize -o "$run.db" -- "$PROGRAMS/deep_exec" 4 10
        IFS='|' read -r run_user run_whole < <(sql "$run.db" "SELECT user_stacks, whole_stacks FROM v_quality")
        user=$((user + run_user)) whole=$((whole + run_whole))
    done
    echo "$user stacks, $whole whole"
    holds "$user >= 80" "stacks"
    # 95 % where the recorder copied them between its other work; a copy may come late on a busy machine
    holds "$whole >= 0.97 * $user" "whole stacks"
    exit 0
fi

expect 0 "$SPROF" record -v -o t.db -- "$PROGRAMS/deep_exec" 80 10
! grep -q 'are not captured in the kernel' err || skip "stacks are not captured in the kernel here"
IFS='|' read -r user whole stitched < <(sql t.db "SELECT user_stacks, whole_stacks, stitched FROM v_quality")
echo "$user stacks, $whole whole, $stitched beyond their slice"
holds "$stitched >= 0.3 * $user" "stacks beyond their slice"
holds "$whole >= 0.9 * $user" "whole stacks"
