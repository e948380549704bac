#!/bin/bash
# Traces that are controlled while they run. The traced program does what it is told, so that the test knows
# which calls are in flight when.
#   control.sh in_flight_on | in_flight_off | in_flight_left | in_flight_clear | in_flight_end |
#              in_flight_detach | in_flight_average | executed | added | ranges | deadline | stopped | together | phases | base | base_flight | summed | formats | shown | delayed | header | bad
set -u
. "$(dirname "$0")/lib.sh"

cat >program.c <<'END'
#include <setjmp.h>
#include <stdio.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
static void serve(void);
static jmp_buf back;
/* A part of a function, as compilers name those that are rarely called. */
__asm__(".pushsection .text.unlikely, \"ax\"\n.type spare.cold, @function\nspare.cold: .cfi_startproc\nret\n.cfi_endproc\n.size spare.cold, .-spare.cold\n.popsection");
NI void work(void) { KEEP; }
NI void other(void) { KEEP; }
/* Three calls, one in the other, around whatever comes. */
NI void nest(int n) { if (n) nest(n - 1); else serve(); KEEP; }
static void answer(void) { puts("done"); fflush(stdout); }
static void serve(void)
{
    char line[16];
    while (fgets(line, sizeof line, stdin)) {
        switch (*line) {
        case 'i': answer(); nest(2); break;
        case 'o': return; /* main or the one below answers */
        case 'j': longjmp(back, 1);
        case 'w': work(); break;
        case 'x': other(); break;
        }
        answer();
    }
}
int main(void) { if (setjmp(back)) answer(); serve(); return 9; }
END
gcc -O1 -g -fno-optimize-sibling-calls program.c -o program || fail "no compiler"

ctl() { # STATUS ARGUMENTS
    local wanted=$1
    shift
    expect "$wanted" "$SPROF" ctl -i t.db "$@"
}

# Starts a trace of the program, and waits until it can be controlled.
trace() { # OPTIONS
    mkfifo in out.fifo
    "$SPROF" trace -o t.db --function '^(nest|work|other)$' "$@" -- ./program <in >out.fifo 2>trace.err &
    tracer=$!
    children+=("$tracer")
    exec 7>in 8<out.fifo
    wait_for_trace trace.err -i t.db
    say w # it runs
}

# Tells the program to do something; it has when this returns.
say() {
    local line
    echo "$1" >&7
    read -r -t 60 line <&8 && [ "$line" = done ] || fail "the program does not answer to $1"
}

finish_program() {
    exec 7>&-
    cat <&8 >/dev/null
    wait "$tracer"
    status=$?
    [ $status = 9 ] || { cp trace.err err && fail "exit status $status"; }
    exec 8<&-
}

# is FUNCTION COLUMN VALUE: in the recording, as it is now ("": no row).
is() {
    local found
    "$SPROF" stats -i t.db --format csv >stats.csv 2>err || fail "no stats"
    found=$(python3 -c 'import csv, sys
for row in csv.DictReader(open("stats.csv")):
    if row["function"].split("(")[0] == sys.argv[1]:
        print(row[sys.argv[2]])' "$1" "$2")
    [ "$found" = "$3" ] || { cp stats.csv out && fail "$1: $2 is '$found', not '$3'"; }
}

total() {
    python3 -c 'import csv
print(*[row["total_ns"] for row in csv.DictReader(open("stats.csv")) if row["function"].startswith("nest")])'
}

# averaged CALLS: the total of nest is of so many outermost calls.
averaged() {
    for by in function process; do
        "$SPROF" stats -i t.db --by $by --format csv >stats.csv 2>err || fail "no stats"
        [ "$(python3 -c 'import csv, sys
print(*[row["average_ns"] == str(int(row["total_ns"]) // int(sys.argv[1]))
        for row in csv.DictReader(open("stats.csv")) if row["function"] == "nest"])' "$1")" = True ] ||
            { cp stats.csv out && fail "not the average of $1 calls, by $by"; }
    done
}

case $1 in
in_flight_on)
    trace --paused
    say i # three calls that began before
    ctl 0 on
    say o # … and return
    ctl 0 stats
    is nest calls ""
    say i && say w && say o
    # In flight again, off, on: neither those nor what they call in the pause count.
    ctl 0 stop
    say i && say w
    ctl 0 start
    say w && say o
    finish_program
    is nest calls 3
    is nest recursive 2
    is nest in_flight 0
    is work calls 2
    ;;
in_flight_off)
    trace
    say i
    ctl 0 off
    sleep 0.3
    say i && say w # not counted
    say o && say o # finished whole
    say i
    say j # left by a jump
    finish_program
    is nest calls 3
    is nest in_flight 0
    is nest recursive 2
    is nest abnormal 0
    is work calls 1
    holds "$(total) >= 3e8" "the time after the pause began belongs to the call"
    [ "$(sql t.db "SELECT group_concat(paused, '-') FROM phase")" = 0-1 ] || fail "phases"
    ;;
in_flight_average)
    # Calls that have ended are averaged, whatever is open: of nine the first three, which are one of outermost calls.
    trace
    say i && say o
    say i && say i
    ctl 0 stats
    is nest in_flight 6
    averaged 1
    say o && say o
    ctl 0 stats
    averaged 2
    finish_program
    ;;
in_flight_left)
    # In flight when it is switched off, and left by a jump then.
    trace
    say i
    ctl 0 off
    say j
    sleep 0.5
    say w
    ctl 0 on
    say w
    finish_program
    is nest calls 3
    is nest in_flight 0
    is nest abnormal 3
    is work calls 2
    ;;
in_flight_clear)
    trace
    say w && say i
    sleep 1
    before=$(date +%s%N)
    ctl 0 clear
    ctl 0 stats
    is nest calls 3
    is nest in_flight 3
    is work calls ""
    sleep 0.3
    say w && say o
    after=$(date +%s%N)
    say w
    finish_program
    is nest calls 3
    is nest recursive 2
    is nest in_flight 0
    is work calls 2
    holds "$(total) >= 3e8 && $(total) <= $after - $before" "time from the clear on"
    [ "$(sql t.db "SELECT count(*) FROM phase")" = 1 ] || fail "phases"
    # How long it was, and what was used, is of the time from the clear on, too.
    said=$(sed -n 's/.* calls in \([0-9.]*\) s .*/\1/p' trace.err)
    holds "$(sql t.db "SELECT duration_ns FROM run") <= $(date +%s%N) - $before" "the duration from the clear on"
    holds "$(sql t.db "SELECT duration_ns FROM run") >= 3e8 && $(date +%s%N) - $before >= $said * 1e9 - 1e6" "the duration that is said"
    holds "$(sql t.db "SELECT end_ns - start_ns - (SELECT duration_ns FROM run) FROM phase") < 5e8" "a phase as long as that"
    holds "$(sql t.db "SELECT count(*) FROM sample WHERE time_ns < (SELECT start_ns FROM phase)") == 0" "nothing before"
    [ "$(sql t.db "SELECT sum(count) FROM sample")" = 5 ] || fail "calls in samples"
    # In the log, too: each ends once, also where it has called others since, and where all was cleared twice.
    rm in out.fifo t.db
    trace --mode log
    say i && say w
    ctl 0 clear
    say w && sleep 0.1
    ctl 0 clear
    before=$(date +%s%N)
    sleep 0.3
    say w && say i && say w && say o && say o
    after=$(date +%s%N)
    finish_program
    is nest calls 6
    is nest in_flight 0
    is work calls 2
    for condition in "function = 'nest'|6" "function = 'work'|2" "exit = 'return' AND duration_ns > 0|8" \
        "function = 'nest' AND duration_ns BETWEEN 3e8 AND $after - $before + 1e8|3"; do
        [ "$(sql t.db "SELECT count(*) FROM v_call WHERE ${condition%|*}")" = "${condition#*|}" ] ||
            fail "$condition: $(sql t.db 'SELECT * FROM v_call')"
    done
    holds "$(sql t.db "SELECT count(*) FROM v_call WHERE start_ns < (SELECT start_ns FROM phase)") == 0" "nothing logged before"
    ;;
in_flight_end)
    # Whoever is told that the trace ends may go on at once.
    for ((round = 0; round < 10; round++)); do
        trace
        say i && say w
        ctl 0 end
        say w && say o
        finish_program
        is nest calls 3
        is nest in_flight 3
        is nest total_ns 0
        is work calls 2
        rm in out.fifo t.db
    done
    ;;
in_flight_detach)
    trace
    say i && say w
    ctl 0 detach
    wait_until 60 test ! -e t.db.ctl
    say w && say o # through frames that have been given back
    say i && say j
    finish_program
    is nest calls 3
    is nest in_flight 3
    is nest total_ns 0
    is work calls 2
    ctl 1 detach
    said 'not being recorded'
    ;;
executed)
    # What another program runs in its place is not touched.
    mkfifo in2
    "$SPROF" trace -o t.db --module '*' -- sh -c 'exec cat in2' >cat.out 2>trace.err &
    tracer=$!
    children+=("$tracer")
    wait_for_trace trace.err -i t.db
    wait_until 60 grep -q 'executed .* in its place' trace.err
    ctl 1 detach
    said 'has executed another program'
    echo text >in2
    wait "$tracer" || fail "cat ended with $?"
    [ "$(sql t.db "SELECT group_concat(paused, '-') FROM phase")" = 0-1 ] || fail "that nothing is measured then has no phase"
    grep -q text cat.out || fail "cat does not work"
    ;;
added)
    # adds CHANGE: until the new probes are in place, where threads do not stand still at once on a busy machine.
    adds() {
        for ((i = 0; i < 60; i++)); do
            "$SPROF" ctl -i t.db probe "$1" >out 2>err && return
            grep -q 'whose probes rested' err || fail "not added: $1"
            sleep 0.5
        done
        fail "not added for long: $1"
    }
    # Functions that were not chosen get probes while the program runs, and what they call.
    trace
    ctl 0 status
    grep -q '3 of 3 probes on' out || fail "spare probes count"
    say w
    adds '+^answer$'
    grep -qE '^4 probes are on(; threads stood still for [0-9.]+ ms)?$' out || fail "another number of probes"
    say w && say x
    ctl 0 stats
    is answer calls 2
    is work calls 3
    ctl 0 probe '-^answer$'
    say w
    ctl 0 stats
    is answer calls 2
    adds '+children:^main$:1'
    say i # nest returns to a serve that began before; the new one counts
    ctl 0 stats
    is serve calls 1
    is nest calls 3
    is main calls "" # it was called before
    say o
    ctl 0 list --format csv
    grep -qE '^4,on,[3-9],.*\+children:\^main\$:1' <(tr -d '\r' <out) || fail "the list"
    ctl 2 probe '+children:^mian$:1' && said 'finds no function that has a probe; near it: main'
    finish_program
    # At rest from the start, in a process that runs.
    ./program <in >out.fifo &
    program=$!
    children+=("$program")
    exec 7>in 8<out.fifo
    say w
    "$SPROF" trace -o t.db --function '^work$' -p "$program" 2>trace.err &
    tracer=$!
    children+=("$tracer")
    wait_for_trace trace.err -i t.db
    adds '+^(other|answer)$'
    say w && say x
    ctl 0 stats
    is answer calls 2
    is work calls 1
    is other calls 1
    ctl 0 end
    wait "$tracer" || fail "$(cat trace.err)"
    exec 7>&-
    ;;
ranges)
    trace --rest off
    ctl 0 probe -^work
    say w && say x
    ctl 0 probe '-#2'
    say w
    ctl 0 probe +^other '-#1'
    say w && say x
    ctl 0 list --format csv
    tr -d '\r' <out | cut -d, -f1-4,9 >listed
    printf '%s\n' number,state,sites,on,range '1,off,3,1,+^(nest|work|other)$' '2,off,1,0,-^work' '3,on,1,1,+^other' |
        diff - listed || fail "the list"
    ctl 0 list
    grep -q '+^other' out || fail "the list for people"
    # By address, in the file and in the process.
    ctl 0 stats --format csv
    at=$(sql t.db "SELECT min(address) FROM v_call_stats WHERE function = 'work'")
    ctl 0 probe "+program!$(printf '0x%x-0x%x' "$at" $((at + 1)))" '-#3'
    say w && say x
    ctl 0 probe +0x1-0x7fffffffffff
    say x
    ctl 0 probe '-#4-5' '+#1,3'
    say x
    # Said again, a range keeps its number, and decides before those that were said since.
    ctl 0 probe -.
    ctl 0 probe +0x1-0x7fffffffffff
    for i in 1 2 3; do
        ctl 0 probe '-^work' '+^other'
        ctl 0 probe '+^other' '-^work'
    done
    ctl 0 list --format csv
    tr -d '\r' <out | cut -d, -f1,2,4,9 | tail -n +2 | paste -sd ' ' >listed
    grep -qE '^1,on,2,\S+ 4,off,0,\S+ 6,on,2,-. 5,on,2,\S+ 3,on,1,\+\^other 2,on,0,-\^work$' listed || fail "the list, of ranges said again: $(cat listed)"
    ctl 2 probe '-^other' '+^nest' '+nosuch' # changes nothing
    ctl 0 list --format csv
    tr -d '\r' <out | cut -d, -f1,2,4,9 | tail -n +2 | paste -sd ' ' | diff - listed || fail "a mistake has changed the list"
    ctl 0 probe '-#2'
    ctl 0 mark "the end"
    ctl 0 status
    grep -q '3 of 3 probes on' out || fail "what is on"
    finish_program
    is work calls 3 # the first, when #2 was off, by its address
    is other calls 4
    [ "$(sql t.db "SELECT count(*) FROM phase WHERE mark = 'the end'")" = 1 ] || fail "the mark"
    ;;
deadline)
    trace --paused
    ctl 0 on 5s
    say w
    # Nobody is there to switch it off.
    wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q ^paused'
    say w
    ctl 0 on 1h
    grep -q 'for 3600 s' out || fail "the time that was given"
    ctl 0 status
    grep -q 'off in [0-9]' out || fail "the deadline is not told"
    ctl 0 on
    ctl 0 status
    ! grep -q 'off in' out || fail "the deadline stays"
    finish_program
    is work calls 1
    ;;
stopped)
    # A time that is over ends the probes also where sprof stands still: by the first call that ends then.
    trace --paused
    ctl 0 on 0.5s
    kill -STOP "$tracer"
    sleep 1
    for i in 1 2 3 4 5; do say w; done
    kill -CONT "$tracer"
    wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q ^paused'
    [ "$(sql t.db "SELECT coalesce(sum(calls), 0) <= 1 FROM v_call_stats WHERE function = 'work'")" = 1 ] ||
        fail "measured beyond the time: $(sql t.db "SELECT calls FROM v_call_stats")"
    # Without a time they go on, for who keeps watch sees that it lives …
    ctl 0 clear
    ctl 0 on
    kill -STOP "$tracer"
    sleep 4
    for i in 1 2 3 4 5; do say w; done
    kill -CONT "$tracer"
    ctl 0 status
    is work calls 5
    # … unless that stands still, too.
    keeper=$(pgrep -P "$tracer" -x sprof-keeper) || fail "there is no keeper"
    # Who goes on within a tenth of a second from the first call on, as after a pause of the whole machine, has stood
    # still as little as the program has.
    kill -STOP "$tracer" "$keeper"
    sleep 4
    say w
    kill -CONT "$tracer" "$keeper"
    ctl 0 status
    for i in 1 2 3; do say w; done
    ctl 0 status
    is work calls 9
    ! grep -q 'sprof stood still' trace.err || { cp trace.err err && fail "a pause of the whole machine is taken for sprof's"; }
    kill -STOP "$tracer" "$keeper"
    sleep 4
    say w
    sleep 1
    for i in 1 2 3 4 5; do say w; done
    kill -CONT "$tracer" "$keeper"
    wait_until 60 grep -q 'sprof stood still (stopped, or without a CPU), so the probes did nothing: calls of the last [0-9.]* s are not measured' trace.err
    say w
    finish_program
    is work calls 12
    [ "$(sql t.db "SELECT max(end_ns - start_ns) > 500000000 FROM phase WHERE paused AND id > 2")" = 1 ] ||
        fail "the pause is not in the recording: $(sql t.db "SELECT * FROM phase")"
    ;;
together)
    trace
    for i in $(seq 24); do
        "$SPROF" ctl -i t.db mark "mark $i" >"answer.$i" 2>&1 &
        pids[i]=$!
    done
    for i in $(seq 24); do
        wait "${pids[i]}" || { cp "answer.$i" err && fail "controller $i was not answered"; }
        grep -q "^marked: mark $i$" "answer.$i" || fail "controller $i got another's answer"
    done
    finish_program
    [ "$(sql t.db "SELECT count(DISTINCT mark) FROM phase")" = 24 ] || fail "marks"
    [ "$(sql t.db "SELECT count(*) FROM phase p JOIN phase q ON q.id = p.id + 1 WHERE p.end_ns <> q.start_ns")" = 0 ] ||
        fail "phases overlap"
    ;;
phases)
    # Switched while two threads call: what is measured is of the phases that measure, but for a call of each
    # thread that was about to begin.
    cat >busy.c <<'END'
#include <pthread.h>
#include <stdio.h>
__attribute__((noinline)) void last(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
static _Atomic int ends;
static void *run(void *unused) { while (!ends) last(); return unused; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    getchar();
    ends = 1;
    pthread_join(thread, 0);
}
END
    gcc -O1 -g -pthread busy.c -o busy || fail "no compiler"
    mkfifo in
    "$SPROF" trace -o t.db --max-overhead none --rest off --function '^last$' -- ./busy <in 2>trace.err &
    tracer=$!
    children+=("$tracer")
    exec 7>in
    wait_for_trace trace.err -i t.db
    for i in 1 2 3 4 5; do
        ctl 0 off
        ctl 0 on
    done
    ctl 0 off
    ctl 0 stats
    exec 7>&-
    wait "$tracer" || fail "the program ended with $?"
    paused="SELECT coalesce(sum(count), 0) FROM sample s JOIN phase p ON s.time_ns >= p.start_ns AND s.time_ns < p.end_ns WHERE p.paused"
    holds "$(sql t.db "$paused") <= 6" "calls are of pauses: $(sql t.db "$paused")"
    holds "$(sql t.db "SELECT sum(count) FROM sample") > 1000" "few calls"
    [ "$(sql t.db "SELECT sum(count) FROM sample")" = "$(sql t.db "SELECT sum(calls) FROM v_call_stats")" ] ||
        fail "calls of phases are not all calls"
    ;;
base | base_flight)
    # What total percents are of, in nanoseconds, is without pauses, without mode coverage, and without what was dropped.
    measured="(SELECT sum(coalesce(end_ns, (SELECT duration_ns FROM run)) - start_ns) FROM phase WHERE NOT paused)"
    trace
    [ "$1" = base ] || say i
    ctl 0 off && sleep 1 && ctl 0 on && say w
    if [ "$1" = base ]; then
        ctl 0 mode coverage && sleep 1 && ctl 0 mode stats && say w
        ctl 0 status && expect 0 "$SPROF" stats -i t.db --wide && grep -q 'the 1 thread seen, without pauses' out || fail "the base is not named"
        [ "$(sql t.db "SELECT max(wall_ns) <= $measured FROM v_call_stats")" = 1 ] || fail "base while it runs"
        finish_program
        [ "$(sql t.db "SELECT max(wall_ns) BETWEEN $measured - 200000000 AND $measured AND (SELECT max(end_ns) FROM phase) - $measured \
            >= 2000000000 AND max(total_percent) > 0 FROM v_call_stats")" = 1 ] || fail "$("$SPROF" sql t.db "SELECT * FROM v_phase")"
        rm -f in out.fifo && trace && sleep 1 && ctl 0 clear && say w && finish_program
        [ "$(sql t.db "SELECT max(wall_ns) <= $measured FROM v_call_stats")" = 1 ] || fail "base after clear"
    else
        # A call in flight is measured to its end, in the pause, too: no function has more than all.
        say o && finish_program
        [ "$(sql t.db "SELECT total_ns >= 1000000000 AND total_percent BETWEEN 50 AND 100 FROM v_call_stats WHERE function = 'nest'")" = 1 ] ||
            fail "$("$SPROF" stats t.db --wide)"
    fi
    ;;
summed)
    # Cleared and switched while four threads call: the tree and the functions have the same calls.
    cat >busy.c <<'END'
#include <pthread.h>
#include <stdio.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")
NI void last(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
NI void middle(int n) { for (int i = 0; i < n; i++) last(); KEEP; }
NI void again(int n) { if (n) again(n - 1); else last(); KEEP; }
NI void first(void) { middle(3); middle(2); again(5); last(); KEEP; }
static _Atomic int ends;
static void *run(void *unused) { while (!ends) first(); return unused; }
int main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, run, 0);
    getchar();
    ends = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    first();
    return 3;
}
END
    gcc -O1 -g -pthread -fno-optimize-sibling-calls busy.c -o busy || fail "no compiler"
    sums() {
        "$SPROF" sql t.db --format csv "SELECT function, sum(calls) FROM v_call_stats GROUP BY function ORDER BY function" >functions 2>err &&
            "$SPROF" sql t.db --format csv "SELECT function, sum(exclusive_samples) FROM v_call_tree GROUP BY function \
ORDER BY function" >tree 2>err || fail "no figures"
        tail -n +2 functions | grep -v ',0' >out
        tail -n +2 tree | grep -v ',0' | diff out - >differ || { cp differ err && fail "$1: calls of functions and in the tree differ"; }
    }
    for kind in --paths --callers; do
        rm -f in t.db
        mkfifo in
        "$SPROF" trace -o t.db $kind --function '^(first|middle|again|last)$' -- ./busy <in 2>trace.err &
        tracer=$!
        children+=("$tracer")
        exec 7>in
        wait_for_trace trace.err -i t.db
        for i in $(seq 12); do
            ctl 0 clear
            ctl 0 mark "$i"
            ctl 0 off
            wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q " 0 in flight"'
            ctl 0 stats
            sums "$kind, clear $i"
            ctl 0 on
        done
        ctl 0 clear
        exec 7>&-
        wait "$tracer"
        [ $? = 3 ] || { cp trace.err err && fail "the status of a program that was switched"; }
        sums "$kind"
        [ "$(grep -c . out)" = 4 ] || fail "$kind: not four functions were called"
    done
    ;;
formats)
    trace
    ctl 0 status --format csv
    grep -q '^state,seconds,calls,in_flight,probes,probes_on,' out || fail "no header"
    ctl 0 status --format json
    python3 -c 'import json, sys; row = json.load(open("out"))[0]; assert row["calls"] == 1 and row["state"] == "tracing", row' ||
        fail "JSON of the status"
    ctl 0 list --format json
    python3 -c 'import json; row = json.load(open("out"))[0]; assert row["number"] == 1 and row["sites"] == 3, row' ||
        fail "JSON of the list"
    ctl 0 stats --format json
    python3 -c 'import json; assert [r["calls"] for r in json.load(open("out")) if r["function"] == "work"] == [1]' ||
        fail "JSON of the figures"
    # By the process: what was called until now, not until the last second.
    say w
    expect 0 "$SPROF" stats -p "$(pgrep -P "$tracer" -x program)" --format json
    python3 -c 'import json; assert [r["calls"] for r in json.load(open("out")) if r["function"] == "work"] == [2]' ||
        fail "figures of the process"
    expect 1 "$SPROF" stats -p $$
    said 'is not being traced.*sprof trace -p'
    expect 2 "$SPROF" stats -p $$ t.db
    said 'one -p PID, or one recording'
    finish_program
    ;;
shown)
    # Where probes can be in a process is what it was when nobody traced that.
    mkfifo in
    ./program <in >/dev/null &
    child=$!
    children+=("$child")
    exec 7>in
    for what in --all --refused ''; do
        # shellcheck disable=SC2086
        "$SPROF" probes -p $child $what >"untraced$what" 2>err || fail "no probes"
    done
    "$SPROF" trace -o t.db --module '*' -p $child 2>trace.err &
    tracer=$!
    children+=("$tracer")
    wait_for_trace trace.err -i t.db
    for what in --all --refused ''; do
        # shellcheck disable=SC2086
        expect 0 "$SPROF" probes -p $child $what
        said "^sprof: process $child is being traced into $work/t.db: the code shown is that without the trace"
        [ "$(wc -l <err)" = 1 ] || fail "more is said of it"
        diff "untraced$what" out >differ || { cp differ out && fail "something else is shown of a process that is traced"; }
    done
    # Who looks for a recording is told that there is a trace, and the other way round.
    expect 1 "$SPROF" ctl -p $child --record status
    said "is not being recorded, but traced into $work/t.db"
    expect 1 "$SPROF" ctl -p $child rate 99
    said "is not being recorded, but traced into $work/t.db"
    kill -9 "$(pgrep -P "$tracer" -x sprof-keeper)" "$tracer"
    wait_until 60 eval '"$SPROF" probes -p $child 2>&1 | grep -q "by a sprof that was killed: .sprof ctl -p $child detach. takes"'
    expect 0 "$SPROF" ctl -p $child detach
    expect 0 "$SPROF" probes -p $child
    diff untraced out >differ || { cp differ out && fail "something else is shown afterwards"; }
    # A recorder is found by whatever name it was started.
    ln -s "$SPROF" profiler
    ./profiler record -o r.db -p $child 2>record.err &
    recorder=$!
    children+=("$recorder")
    wait_until 60 "$SPROF" ctl -i r.db status
    expect 1 "$SPROF" ctl -p $child list
    said "is not being traced, but sampled into $work/r.db"
    expect 0 "$SPROF" ctl -p $child end
    wait "$recorder" || fail "the recording failed"
    ;;
delayed)
    # What is called before is not measured.
    trace --delay 1s
    say w
    wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q "^tracing"'
    say w && say w
    finish_program
    is work calls 2
    [ "$(sql t.db "SELECT count(*) = 2 AND max(end_ns) FILTER (WHERE paused) >= 1000000000 FROM phase")" = 1 ] ||
        fail "$(sql t.db "SELECT * FROM phase")"
    # Who starts it by hand does not wait, who stops it by hand gives it up.
    rm in out.fifo
    trace --delay 1h
    ctl 0 start
    say w
    finish_program
    is work calls 1
    rm in out.fifo
    trace --delay 1s
    ctl 0 stop
    sleep 1.2
    ctl 0 status
    grep -q '^paused' out || fail "it has begun all the same"
    finish_program
    # A command whose trace is over goes on, and its exit status is its own.
    rm in out.fifo
    trace --delay 300ms --duration 500ms
    wait_until 60 eval '! "$SPROF" ctl -i t.db status'
    say w
    finish_program
    is work calls ""
    [ "$(sql t.db "SELECT duration_ns BETWEEN 800000000 AND 60000000000 FROM run")" = 1 ] || fail "$(sql t.db 'SELECT duration_ns FROM run')"
    ;;
header)
    # A program controls its own trace by sprof.h: preloaded, held at its main, with its children, by uprobes.
    cat >own.c <<'END'
#include <sprof.h>
#define NI __attribute__((noinline))
NI void work(void) { __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory"); }
NI void other(void) { __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory"); }
static void calls(int n) { while (n--) work(); }
int main(int argc, char **argv)
{
    (void)argv;
    int failed = 0;
    errno = 77;
    calls(100);
    failed |= sprof_clear();
    calls(5);
    failed |= sprof_stop();
    calls(30);
    failed |= sprof_start();
    calls(2);
    failed |= sprof_mark("second");
    failed |= sprof_probe("-^work$");
    calls(40);
    other();
    failed |= !sprof_rate(99) || !sprof_mode("pc") || !sprof_probe("+(");
    if (argc > 1)
        failed |= sprof_probe("+^work$") || sprof_mode("log");
    calls(argc - 1);
    return errno != 77 ? 1 : failed ? 3 : 0;
}
END
    header=$(cd "$(dirname "$0")/../../include" && pwd)
    gcc -O1 -g -I"$header" own.c -o own || fail "no compiler"
    gcc -O1 -g -static -I"$header" own.c -o own_static || fail "no compiler"
    expect 3 ./own
    own() { # COUNTS OPTION… -- COMMAND…
        local counts=$1
        shift
        expect 0 "$SPROF" trace -o t.db --function '^(work|other)$' "$@"
        [ "$(calls t.db)" = "$(printf 'other 1\nwork %s' "$counts")" ] || fail "other calls than there were: $(calls t.db)"
        [ "$(sql t.db "SELECT count(*) >= 1 FROM phase WHERE mark = 'second'")" = 1 ] || fail "no mark"
    }
    own 8 -- ./own log
    [ "$(sql t.db "SELECT group_concat(function) FROM v_call")" = work ] || fail "the last call is not logged"
    own 8 -- ./own_static log
    own 8 --children -- ./own log
    [ "$(id -u)" != 0 ] || own 7 --backend uprobe -- ./own
    ;;
bad)
    ctl 1 list
    said 'not being recorded'
    trace --rest off
    ctl 2 probe +wrok && said 'near it: work'
    ctl 2 probe +^serev && said 'near it: serve \(without a probe\)' # it was not chosen
    ctl 2 probe '+^serve$' && said 'a probe: serve has none'
    ctl 2 probe '+^(serve|answer)$' && said '2 functions have none, such as (serve|answer)'
    ctl 2 probe '+^spare\.cold$' && said 'no function that has a probe$' # nor can it have one
    ctl 2 probe '+^$' && said 'no function that has a probe$'
    ctl 2 probe '-#2' && said 'no range #2.* shows 1'
    ctl 2 probe '-#1,x' && said 'no list of numbers'
    ctl 2 probe '-#1,' && said 'no list of numbers'
    ctl 2 probe work && said 'write \+RE'
    ctl 2 probe +0x10-0x10 && said 'is empty'
    ctl 2 probe +0x10-0x20 && said 'covers the entry of no function'
    for wrong in 0x10 0x1000- 0x-0x10 0x10-zz 0x10-0x20x 0x10--5 0x10-0x10000000000000000; do
        ctl 2 probe "+$wrong" && said "^.*\`$wrong\` is no range of addresses: write 0xA-0xB"
        ctl 2 probe "+program!$wrong" && said 'write program!0xA-0xB'
    done
    ctl 2 probe '+nosuch!0x10-0x20' && said 'no probes in a file `nosuch`: there are in program'
    at=$("$SPROF" probes program --function work | grep -oE '0x[0-9a-f]+' | head -n 1)
    ctl 2 probe +0x10-0x20 && said 'the nearest is (work|other|nest), at 0x[0-9a-f]+ in the process, program!0x'
    ctl 2 probe "+program!$at-$(printf 0x%x $((at + 1)))" '+program!0x1-0x2' && said 'the nearest is'
    ctl 2 probe '+program!work' && said 'only addresses can be chosen, \+FILE!0xA-0xB'
    ctl 2 probe '+program!' && said 'only addresses can be chosen'
    ctl 2 probe '+10-20' && said 'addresses begin with 0x'
    ctl 2 probe '+^work$ ^other$' && said 'each change begins with \+ or -'
    ctl 2 probe '+(' && said 'parenthesis'
    ctl 2 probe && said 'needs'
    ctl 2 rate 5 && said 'recordings of samples'
    ctl 2 mode pc && said 'no mode of traces'
    ctl 2 start pc && said 'neither a mode'
    ctl 2 start 5x && said 'not a duration'
    ctl 2 start log coverage && said 'another mode'
    ctl 2 start 5s 10s && said 'another time'
    ctl 2 bogus && said 'start, stop'
    ctl 2 stpo && said 'did you mean .stop.\?'
    ctl 2 foo && said 'unknown command .foo.; there are' # not `on`, which shares one letter of two
    ctl 2 detach now && said 'takes the number of a process, but was given .now.'
    ctl 2 probe "+^work$" "-^($(printf 'other|%.0s' {1..4000})other)$" && said 'at most 16383 characters'
    ctl 0 status
    grep -q '3 of 3 probes on' out || fail "bad input has changed something"
    for i in 1 2 3 4 5 6 7 8 9; do
        ctl 0 probe "+^work$|$i$(printf '%.0sx' {1..15000})"
    done
    ctl 1 list --format json # has more than an answer
    said 'more than an answer holds: the first 9 are shown'
    python3 -c 'import json; assert len(json.load(open("out"))) == 9' || fail "what is shown of a long list"
    finish_program
    ctl 1 status
    said 'not being recorded'
    echo mine >u.db.ctl
    expect 1 "$SPROF" trace --paused -o u.db -- ./program </dev/null && said 'control socket'
    [ "$(cat u.db.ctl)" = mine ] || fail "a foreign file was touched"
    [ ! -e u.db ] || fail "a recording was left"
    ;;
*)
    fail "no such case: $1"
    ;;
esac
