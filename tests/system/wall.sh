#!/bin/bash
# Threads that wait are sampled from outside, by BPF: launched, attached to, many of them, and refused.
#   wall.sh CASE
. "$(dirname "$0")/lib.sh"
needs_root "programs of BPF"

# Each thread measures by itself how long it was in which function; a signal makes it say so and end.
cat >waits.c <<'END'
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile int over;
static int ends[2];
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
__attribute__((noinline)) void rest(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, 0);
}
__attribute__((noinline)) void wait_in_poll(void)
{
    poll(0, 0, 7);
}
__attribute__((noinline)) void spin(double seconds)
{
    const double end = now() + seconds;
    while (now() < end)
        for (volatile int i = 0; i < 1000; i++);
}
static double resting, polling, spinning;
static void *change(void *nothing) /* between three things */
{
    for (double before = now(), after; !over; before = after) {
        rest(30);
        resting += (after = now()) - before, before = after;
        wait_in_poll();
        polling += (after = now()) - before, before = after;
        spin(0.01);
        spinning += (after = now()) - before;
    }
    return nothing;
}
__attribute__((noinline)) void *block(void *nothing) /* all along */
{
    char byte;
    while (read(ends[0], &byte, 1) < 0);
    return nothing;
}
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) void *want(void *nothing) /* all along, too */
{
    pthread_mutex_lock(&held);
    return nothing;
}
int main(int argc, char **argv)
{
    const int blocked = argc > 2 ? atoi(argv[2]) : 1;
    pthread_t changing, thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    if (pipe(ends))
        return 1;
    for (int i = 0; i < blocked; i++)
        if (pthread_create(&thread, &small, block, 0))
            return 1;
    pthread_create(&changing, 0, change, 0);
    pthread_mutex_lock(&held);
    pthread_create(&thread, 0, want, 0);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    sleep((unsigned)atoi(argv[1]));
    over = 1;
    pthread_join(changing, 0);
    printf("resting %.3f\npolling %.3f\nspinning %.3f\n", resting, polling, spinning);
    return 0;
}
END
cc -O1 -g -o waits waits.c || fail "cannot compile"

# Each function waits in one way, whatever else happens to its thread.
states_are_known() {
    local pair
    for pair in rest:sleep wait_in_poll:poll block:read want:futex; do
        holds "$(sql t.db "SELECT coalesce(sum(inclusive_weight), 0) / 1e9 FROM v_function
            WHERE function = '${pair%:*}' AND wait = '${pair#*:}' AND state = 'waiting'") > 0.1" "$pair"
        holds "$(sql t.db "SELECT count(*) FROM v_function WHERE function = '${pair%:*}' AND state = 'waiting'
            AND wait NOT IN ('${pair#*:}', 'page-fault', 'block-io', 'stopped', 'other')") == 0" "only $pair"
    done
    holds "$(sql t.db "SELECT count(*) FROM v_sample WHERE state NOT IN ('running', 'ready', 'waiting')") == 0" "a state of each sample"
    holds "$(sql t.db "SELECT count(DISTINCT state) FROM v_function WHERE function = 'spin' AND state IN ('running', 'ready')") >= 1" "what works"
    holds "$(sql t.db "SELECT coalesce(sum(inclusive_weight), 0) / 1e9 FROM v_function WHERE function = 'spin' AND state = 'waiting'") < 0.1" \
        "what works does not wait"
    expect 0 "$SPROF" report -i t.db --by wait --idle
    for wait in sleep poll read futex running; do grep -q " $wait\$" out || fail "no row of $wait"; done
    expect 0 "$SPROF" report -i t.db --state futex --mode app
    grep -q ' want ' out && ! grep -q ' rest ' out || fail "a state alone"
}

seconds_in() { # FUNCTION
    sql t.db "SELECT coalesce(sum(inclusive_weight), 0) / 1e9 FROM v_function WHERE function = '$1'"
}

case $1 in
launched)
    expect 0 "$SPROF" record --clock wall -o t.db -- ./waits 6
    said "wall, [0-9]+ Hz a thread"
    ! grep -q EINTR err || fail "no agent is needed"
    # The answer is the program's functions, and what they wait for.
    grep -Eq "of threads' time is waiting: .*(asleep in rest|in main)" err || fail "the summary does not say what it waits for"
    ! grep -q 'hrtimer_nanosleep\|\[kernel' err || fail "functions of the kernel on the first screen"
    # What the thread measured, within five standard errors of looks that meet a function by chance.
    each=$(sql t.db "SELECT avg(weight) / 1e9 FROM sample")
    for pair in rest:resting wait_in_poll:polling spin:spinning; do
        truth=$(sed -n "s/^${pair#*:} //p" out) seen=$(seconds_in "${pair%:*}")
        echo "${pair%:*}: $seen s of $truth"
        holds "($seen - $truth) ^ 2 < (0.1 + 0.1 * $truth + 5 * sqrt($truth * $each)) ^ 2" "the time in ${pair%:*}"
    done
    seen=$(seconds_in block)
    holds "$seen > 5 && $seen < 0.5 + $(sql t.db "SELECT duration_ns / 1e9 FROM run")" "a thread that is blocked all along: $seen"
    holds "$(sql t.db "SELECT whole_stacks >= 0.98 * user_stacks FROM v_quality") == 1" "whole stacks"
    states_are_known
    # With the kernel's frames above its own.
    holds "$(sql t.db "SELECT count(*) FROM v_function WHERE module LIKE '[kernel%' AND function LIKE '%nanosleep%'
        AND inclusive_weight > 1e9") > 0" "kernel frames of the wait"
    expect 0 "$SPROF" report -i t.db
    grep -q "of threads' time" out || fail "the report does not say what time it is"
    grep -q ' rest  *waits$' out && ! grep -q '\[kernel' out || fail "the report does not name the program's functions"
    expect 0 "$SPROF" report -i t.db --mode full
    grep -q '\[kernel' out || fail "no functions of the kernel where they are asked for"
    # The agent's samples have no states, and are of the same time.
    expect 0 "$SPROF" record --clock wall --source sigprof -o agent.db -- ./waits 1
    expect 0 "$SPROF" diff -m pc agent.db t.db
    expect 0 "$SPROF" diff -m pc t.db agent.db
    ;;
attached)
    # To a program that waits already; its work is undisturbed.
    start ./waits 100 >waits.out
    program=$child
    wait_until 60 test -s waits.out
    expect 0 "$SPROF" record --clock wall --duration 3 -o t.db -p "$program"
    duration=$(sql t.db "SELECT duration_ns / 1e9 FROM run")
    for name in block main change; do
        seen=$(seconds_in $name)
        echo "$name: $seen s of $duration"
        holds "$seen > 0.7 * $duration - 0.1 && $seen < 1.2 * $duration + 0.3" "the time in $name"
    done
    holds "$(sql t.db "SELECT whole_stacks >= 0.98 * user_stacks FROM v_quality") == 1" "whole stacks"
    # One thread alone; nothing of a pause, in which things go on.
    tid=$(ls "/proc/$program/task" | sed -n 2p)
    start "$SPROF" record --clock wall -m pc --paused -o t.db -t "$tid" >record.out 2>record.err
    recorder=$child
    wait_until 60 eval '"$SPROF" ctl -i t.db status >/dev/null 2>&1'
    for command in "start 500ms" "rate 50" "mode full"; do expect 0 "$SPROF" ctl -i t.db $command; done
    wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q "^paused"'
    sleep 0.7
    expect 0 "$SPROF" ctl -i t.db end
    wait "$recorder"
    holds "$(sql t.db "SELECT count(DISTINCT tid) FROM sample s JOIN thread t ON t.id = s.thread_id WHERE s.count > 0") == 1" "one thread"
    holds "$(sql t.db "SELECT abs(sum(s.weight) - (SELECT sum(end_ns - start_ns) FROM phase WHERE NOT paused)) < 500000000
        FROM sample s") == 1" "the time that was not paused"
    ;;
many)
    # Thousands that sleep: as many rows as of 64, and all of their time from the first look to the last (on a busy
    # machine sprof takes a second to take them in).
    start ./waits 100 3000 >waits.out
    program=$child
    wait_until 60 test -s waits.out
    expect 0 "$SPROF" record --clock wall --duration 3 -o t.db -p "$program"
    duration=$(sql t.db "SELECT duration_ns / 1e9 FROM run") seen=$(seconds_in block)
    echo "$seen s of 3000 * $duration; $(sql t.db "SELECT count(*) FROM sample") samples"
    span=$(sql t.db "SELECT (max(s.time_ns) - min(s.time_ns)) / 1e9 FROM sample s JOIN thread t ON t.id = s.thread_id
        WHERE t.tid != $program")
    holds "$seen > 0.8 * 3000 * $span && $seen < 1.2 * 3000 * $duration && $span > 0.1" "the time of all in $span s"
    holds "$(sql t.db "SELECT count(*) FROM sample") < $duration * 100 / 0.7 * 130 + 3000" "few samples"
    ;;
refused)
    # The program of BPF is not permitted: what runs already cannot be sampled so, a command by its agent.
    start ./waits 100 >waits.out
    program=$child
    prepare_ordinary_user
    chmod 777 .
    for how in "-p $$" "--source perf -- true"; do
        expect 1 "${as_ordinary_user[@]}" "$user_sprof" record --clock wall -o x.db $how
        said "CAP_BPF|perf_event_paranoid"
        [ ! -e x.db ] || fail "a recording"
    done
    expect 2 "$SPROF" record --clock wall --source sigprof -o x.db -p "$program"
    said "as root"
    for wrong in "-c 5 -- true" "-e page-faults -- true" "-F 5000 -- true"; do
        expect 2 "$SPROF" record --clock wall -o x.db $wrong
        said_only "--clock wall"
    done
    ;;
esac
