#!/bin/bash
# A program whose functions are all traced is sampled at the same time: whole stacks, with the functions'
# own names and callers.
#     recorded.sh entries|points|signals|uprobes
# signals: handlers on an alternate stack interrupt it wherever it is, also in the probes. uprobes: the
# kernel's probes in place of the agent's.
. "$(dirname "$0")/../system/lib.sh"
needs_kernel_samples
if [ "$1" = uprobes ]; then
    needs_root "uprobes"
    "$SPROF" trace --backend uprobe -o none.db -- /bin/true >out 2>err || {
        ! grep -qE 'not permitted|needs Linux|built without' err || skip "$(head -1 err)"
        fail "no trace of true"
    }
fi
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
#ifdef SIGNALS
#include <signal.h>
#include <time.h>
CALLED void touch(unsigned n) { sink += n; }
CALLED void handle(unsigned depth)
{
    if (depth) handle(depth - 1); else for (unsigned i = 0; i < 500; i++) touch(i);
    sink++;
}
static void on_signal(int number) { handle((unsigned)number % 4); }
static void begin_signals(void)
{
    static char stack[1 << 16];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    const struct itimerspec often = {{0, 100000}, {0, 100000}};
    timer_t timer;
    if (sigaltstack(&alternate, NULL) || sigaction(SIGUSR1, &action, NULL) ||
        timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL))
        exit(3);
}
#else
static void begin_signals(void) {}
#endif
int main(void)
{
    begin_signals();
    for (unsigned i = 0; access("stop", F_OK); i++) {
        if (i == 20) fclose(fopen("running", "w"));
        for (unsigned turn = 0; turn < TURNS; turn++) descend(20, turn % 64);
    }
    return 0;
}
END
options=(--module subject)
defined=(-DTURNS=2000)
case $1 in
points) options=(--all-points --module subject --module 'libc.so.6') ;;
signals) defined+=(-DSIGNALS) ;;
uprobes)
    options=(--backend uprobe --function '^(leaf|few|middle|jumps)$')
    defined=(-DTURNS=100) ;;
esac
cc -O2 -g -fno-builtin "${defined[@]}" -o subject program.c || fail "no program"
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
if [ "$1" = signals ]; then
    handled=$(sql t.db "SELECT count(*) FROM v_sample WHERE path LIKE '%;handle%'")
    below=$(sql t.db "SELECT count(*) FROM v_sample WHERE path GLOB '*;main;*;handle*'")
    echo "$handled in the handler, $below with what it interrupted"
    [ "$handled" -ge 10 ] || fail "too few samples of the handler"
    holds "$below >= 0.99 * $handled" "what was interrupted"
fi
right=$(sql t.db "SELECT count(*) FROM v_sample WHERE leaf = 'leaf' AND path GLOB
    '*main;descend;descend*;descend;middle;leaf'")
leaves=$(sql t.db "SELECT count(*) FROM v_sample WHERE leaf = 'leaf'")
echo "$leaves in leaf, $right with its callers"
[ "$leaves" -gt 0 ] && holds "$right >= 0.95 * $leaves" "true callers"
# Thunks call nothing: the kernel interrupts them, or the C library's way back from a handler stands below that.
between=$(sql t.db "SELECT coalesce(sum(samples), 0) FROM v_edge WHERE caller = 'probe_thunks'
    AND callee_module <> '[kernel]' AND NOT ('$1' = 'signals' AND callee_module GLOB 'libc*')")
echo "$between with thunks among callers"
holds "$between <= 0.005 * $user" "no thunks among callers"
