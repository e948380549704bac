#!/bin/bash
# A program whose functions are all traced is sampled at the same time: whole stacks, with the functions'
# own names and callers.
#     recorded.sh entries|points
. "$(dirname "$0")/../system/lib.sh"
needs_kernel_samples
cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define CALLED __attribute__((noinline))
volatile unsigned sink;
CALLED unsigned jumps(unsigned n) { return (unsigned)abs((int)n); }
CALLED unsigned few(unsigned n) { return n + 1; }
CALLED void leaf(unsigned turns) { for (unsigned i = 0; i < turns; i++) sink += i; }
CALLED void middle(unsigned turns) { for (int i = 0; i < 4; i++) leaf(turns); sink += jumps(few(turns)); }
CALLED void descend(unsigned depth, unsigned turns)
{
    if (depth) descend(depth - 1, turns); else middle(turns);
    sink++;
}
int main(void)
{
    for (unsigned i = 0; access("stop", F_OK); i++) {
        if (i == 20) fclose(fopen("running", "w"));
        for (unsigned turn = 0; turn < 2000; turn++) descend(20, turn % 64);
    }
    return 0;
}
END
options=(--module subject)
[ "$1" = entries ] || options=(--all-points --module subject --module 'libc.so.6')
cc -O2 -g -fno-builtin -o subject program.c || fail "no program"
"$SPROF" trace -o trace.db --max-overhead none "${options[@]}" -- ./subject >trace.out 2>&1 &
children+=($!)
for _ in $(seq 600); do [ ! -e running ] || break; sleep 0.1; done
[ -e running ] || fail "the traced program does not run: $(cat trace.out)"
expect 0 "$SPROF" record -v -p "$(pgrep -x subject -P ${children[0]})" --duration 3s -o t.db
! grep -q 'are not captured in the kernel' err || skip "stacks are not captured in the kernel here"
touch stop
wait "${children[0]}" || fail "the traced program failed: $(cat trace.out)"
IFS='|' read -r user whole < <(sql t.db "SELECT user_stacks, whole_stacks FROM v_quality")
echo "$user stacks, $whole whole"
[ "$user" -ge 100 ] || fail "too few samples"
holds "$whole >= 0.99 * $user" "whole stacks"
right=$(sql t.db "SELECT count(*) FROM v_sample WHERE leaf = 'leaf' AND path GLOB
    '*main;descend;descend*;descend;middle;leaf'")
leaves=$(sql t.db "SELECT count(*) FROM v_sample WHERE leaf = 'leaf'")
echo "$leaves in leaf, $right with its callers"
[ "$leaves" -gt 0 ] && holds "$right >= 0.95 * $leaves" "true callers"
between=$(sql t.db "SELECT count(*) FROM v_sample WHERE path LIKE '%probe_thunks;%'")
holds "$between <= 0.02 * $user" "no thunks among callers"
