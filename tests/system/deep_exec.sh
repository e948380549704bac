#!/bin/bash
# Stacks of programs that become others: what was captured with a sample needs nothing of the process.
. "$(dirname "$0")/lib.sh"
needs_kernel_samples
expect 0 "$SPROF" record -v -o t.db -- "$PROGRAMS/deep_exec" 80 10
! grep -q 'are not captured in the kernel' err || skip "stacks are not captured in the kernel here"
IFS='|' read -r user whole stitched < <(sql t.db "SELECT user_stacks, whole_stacks, stitched FROM v_quality")
echo "$user stacks, $whole whole, $stitched beyond their slice"
holds "$stitched >= 0.3 * $user" "stacks beyond their slice"
holds "$whole >= 0.9 * $user" "whole stacks"
