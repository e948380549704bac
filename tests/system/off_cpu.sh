#!/bin/bash
# Times without a CPU are measured, by BPF: how long, where and for what threads wait; launched, attached to, and refused.
#   off_cpu.sh CASE
. "$(dirname "$0")/lib.sh"
needs_root "programs of BPF"

# Each function sleeps a known number of times; the program prints how long it was in it, by the clock and on a CPU.
cat >waits.c <<'END'
#include <pthread.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static struct {
    long total;
    pthread_mutex_t mutex;
} ledger = {0, PTHREAD_MUTEX_INITIALIZER};
static int ends[2], never[2];
static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
static void rest(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, 0);
}
__attribute__((noinline)) void rest_1(void)
{
    for (int i = 0; i < 100; i++)
        rest(1);
}
__attribute__((noinline)) void rest_10(void)
{
    for (int i = 0; i < 10; i++)
        rest(10);
}
__attribute__((noinline)) void rest_100(void)
{
    rest(100);
}
__attribute__((noinline)) void spin(void)
{
    const double end = now(CLOCK_MONOTONIC) + 0.1;
    while (now(CLOCK_MONOTONIC) < end);
}
static void measure(const char *name, void (*function)(void))
{
    const double begun = now(CLOCK_MONOTONIC), used = now(CLOCK_THREAD_CPUTIME_ID);
    function();
    printf("%s %.6f %.6f\n", name, now(CLOCK_MONOTONIC) - begun, now(CLOCK_THREAD_CPUTIME_ID) - used);
}
static void *hold(void *nothing)
{
    pthread_mutex_lock(&ledger.mutex);
    if (write(ends[1], "x", 1) == 1)
        rest(400);
    pthread_mutex_unlock(&ledger.mutex);
    return nothing;
}
__attribute__((noinline)) void *want(void *nothing)
{
    pthread_mutex_lock(&ledger.mutex);
    pthread_mutex_unlock(&ledger.mutex);
    return nothing;
}
__attribute__((noinline)) void *block(void *nothing) /* all along */
{
    char byte;
    while (read(never[0], &byte, 1) < 0);
    return nothing;
}
int main(int argc, char **argv)
{
    pthread_t holding, wanting, blocked;
    char byte;
    if (pipe(ends) || pipe(never) || pthread_create(&blocked, 0, block, 0) || pthread_create(&holding, 0, hold, 0) ||
        read(ends[0], &byte, 1) != 1 || pthread_create(&wanting, 0, want, 0))
        return 1;
    pthread_join(wanting, 0);
    measure("rest_1", rest_1);
    measure("rest_10", rest_10);
    measure("rest_100", rest_100);
    measure("spin", spin);
    fflush(stdout);
    while (argc > 1)
        poll(0, 0, 20);
    return 0;
}
END
cc -O1 -g -o waits waits.c -pthread || fail "cannot compile"

seconds_in() { # FUNCTION EVENT
    sql t.db "SELECT coalesce(sum(inclusive_weight), 0) / 1e9 FROM v_function WHERE function = '$1' AND event GLOB '$2'"
}

case $1 in
measured)
    # All waits. Time without a CPU is what the clock says less what the thread used: on any machine.
    expect 0 "$SPROF" record --off-cpu=0 -o t.db -- ./waits
    # A wait whose end the kernel's tracepoints miss, on a busy machine, is counted as lost.
    lost=$(sql t.db "SELECT lost FROM v_quality")
    for name in rest_1 rest_10 rest_100 spin; do
        read -r _ passed used < <(grep "^$name " out)
        seen=$(seconds_in $name 'off-cpu:*') slept=$(seconds_in $name off-cpu:sleep)
        echo "$name: $seen s without a CPU of $passed - $used, $slept of it asleep"
        holds "$seen < 1.1 * ($passed - $used) + 0.02" "no more time without a CPU in $name"
        holds "$lost > 0 || $seen > 0.9 * ($passed - $used) - 0.02" "no less time without a CPU in $name"
        [ $name = spin ] && holds "$slept == 0" "who works does not sleep"
        [ $name = spin ] || holds "$slept <= $seen && ($lost > 0 || $slept > 0.02)" "the time asleep in $name"
    done
    # By kind, with whole stacks and the kernel's part of them; nothing of the command before its execve.
    holds "$lost > 0 || $(seconds_in want off-cpu:futex) > 0.02" "the wait for the lock"
    holds "$(seconds_in block off-cpu:read) > 0.3" "a wait that does not end"
    holds "$(sql t.db "SELECT count(*) FROM v_sample WHERE event IN ('off-cpu:sleep', 'off-cpu:futex') AND end_reason != 'root'") == 0" "whole stacks"
    holds "$(sql t.db "SELECT count(*) FROM v_function WHERE event = 'off-cpu:sleep' AND module GLOB '?kernel*'
        AND function GLOB '*nanosleep*'") > 0" "the kernel's frames"
    # The lock by its name, and the thread that had it.
    expect 0 "$SPROF" report --by lock,holder --format csv -i t.db
    [ "$lost" != 0 ] || grep -q ',ledger.mutex,waits [0-9]' out || fail "no row of the lock and its holder"
    holds "$lost < 0.1 * $(sql t.db "SELECT count(*) FROM v_sample WHERE event GLOB 'off-cpu:*'") + 5" "little is lost: $lost"
    # A clock of CPU time beside it weighs as ever.
    weights=$(sql t.db "SELECT sum(s.weight) <= 1.3 * r.target_cpu_ns + 5e7 FROM sample s JOIN run r ON r.id = s.run_id
        JOIN event e ON e.id = s.event_id WHERE e.name = 'cpu-clock'")
    holds "$weights == 1" "CPU time"
    # Each wait weighs at most the recording.
    holds "$(sql t.db "SELECT max(s.weight) <= max(r.duration_ns) FROM sample s JOIN run r ON r.id = s.run_id") == 1" "no longer"
    expect 0 "$SPROF" report --event off-cpu:sleep -i t.db
    grep -q "s without a CPU" out || fail "the report does not say what time it is"
    # What samples are of, in exports and comparisons.
    expect 0 "$SPROF" export -f folded --by wait -o - t.db
    for kind in futex sleep; do
        lines=$(awk -v kind="$kind;" 'index($0, kind) == 1 {sum += $NF} END {printf "%d", sum}' out)
        holds "$lines == $(sql t.db "SELECT sum(weight) FROM v_sample WHERE wait = '$kind'")" "folded waits: $kind"
    done
    expect 0 "$SPROF" export -f pprof --by wait,user -o p.pb.gz t.db
    zcat p.pb.gz | grep -qa futex || fail "no label"
    expect 2 "$SPROF" export -f tsv --by wait -o - t.db
    said_only "folded and svg have it as frames, pprof as labels"
    expect 0 "$SPROF" diff --by thread,wait --format csv t.db t.db
    grep -q 'waits, sleep' out && grep -q 'thread, wait' out || fail "no row of the waits of a thread"
    expect 2 "$SPROF" diff --by thread,file t.db t.db
    said_only "not by file"
    expect 2 "$SPROF" diff --by nothing t.db t.db
    said_only "there is no key .nothing."
    # Few of the short ones stand for all of them: within five standard errors.
    expect 0 "$SPROF" record --off-cpu=20ms -o t.db -- ./waits
    read -r _ passed used < <(grep "^rest_1 " out)
    seen=$(seconds_in rest_1 'off-cpu:*')
    kept=$(sql t.db "SELECT coalesce(sum(inclusive_samples), 0) FROM v_function WHERE function = 'rest_1' AND event = 'off-cpu:sleep'")
    echo "$kept of 100 waits kept: $seen s of $passed - $used"
    holds "$kept < 60" "few are kept"
    holds "$seen < 1.1 * ($passed - $used) + 0.02 + 5 * sqrt(($passed - $used) * 0.02)" "the time of those that are not"
    ;;
attached)
    # What waits before the recording and still waits after it, each wait for as long as it is recorded.
    start ./waits stay >waits.out
    program=$child
    wait_until 60 grep -q ^spin waits.out
    expect 0 "$SPROF" record --off-cpu --duration 0.5 -o t.db -p "$program"
    duration=$(sql t.db "SELECT duration_ns / 1e9 FROM run") seen=$(seconds_in block off-cpu:read)
    echo "$seen s of $duration"
    holds "$seen > 0.8 * $duration && $seen <= $duration + 0.2" "a thread that is blocked all along"
    holds "$(seconds_in main off-cpu:poll) > 0.1" "a thread that waits again and again"
    # One thread; nothing of a pause.
    tid=$(for task in /proc/"$program"/task/*; do [ "${task##*/}" = "$program" ] || echo "${task##*/}"; done | head -1)
    start "$SPROF" record --off-cpu -m pc --paused -o t.db -t "$tid" >record.out 2>record.err
    recorder=$child
    wait_until 60 eval '"$SPROF" ctl -i t.db status >/dev/null 2>&1'
    for command in "start 200ms" "mode full"; do expect 0 "$SPROF" ctl -i t.db $command; done
    wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q "^paused"'
    expect 0 "$SPROF" ctl -i t.db end
    wait "$recorder"
    holds "$(sql t.db "SELECT count(DISTINCT thread_id) FROM sample WHERE count > 0") == 1" "one thread"
    holds "$(sql t.db "SELECT abs(sum(s.weight) - (SELECT sum(end_ns - start_ns) FROM phase WHERE NOT paused)) < 100000000
        FROM sample s") == 1" "the time that was not paused"
    ;;
wakers)
    # Threads that wait for a byte of a pipe, a condition and a lock, each of which one other thread gives.
    cat >wake.c <<'END'
#include <pthread.h>
#include <time.h>
#include <unistd.h>
enum { ROUNDS = 40 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, ledger = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int jobs, bytes[2], turns[2];
static char byte;
static void rest(void)
{
    nanosleep(&(struct timespec){0, 2000000}, 0);
}
__attribute__((noinline)) void push(void)
{
    rest();
    pthread_mutex_lock(&mutex);
    jobs++;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&mutex);
}
__attribute__((noinline)) void *pop(void *nothing)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        while (!jobs)
            pthread_cond_wait(&more, &mutex);
        jobs--;
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}
__attribute__((noinline)) int give(void)
{
    rest();
    return write(bytes[1], "x", 1) == 1;
}
__attribute__((noinline)) void *take(void *nothing)
{
    for (int i = 0; i < ROUNDS && read(bytes[0], &byte, 1) == 1; i++)
        ;
    return nothing;
}
__attribute__((noinline)) void *hold(void *nothing)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&ledger);
        for (int rests = write(turns[1], "x", 1) == 1 ? 5 : 0; rests; rests--)
            rest();
        pthread_mutex_unlock(&ledger);
        rest();
    }
    return nothing;
}
__attribute__((noinline)) void *want(void *nothing)
{
    char turn;
    for (int i = 0; i < ROUNDS && read(turns[0], &turn, 1) == 1; i++) {
        pthread_mutex_lock(&ledger);
        pthread_mutex_unlock(&ledger);
    }
    return nothing;
}
int main(void)
{
    void *(*const functions[])(void *) = {pop, take, hold, want};
    pthread_t threads[4];
    if (pipe(bytes) || pipe(turns))
        return 1;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, functions[i], 0);
    for (int i = 0; i < ROUNDS; i++) {
        push();
        give();
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return 0;
}
END
    cc -O1 -g -o wake wake.c -pthread || fail "cannot compile"
    expect 0 "$SPROF" record --off-cpu=0 --wakers -o t.db -- ./wake
    # woken WAITER EVENT WAKER: its waits in the function that have the stack of a waker, and how many of these are of WAKER.
    woken() {
        sql t.db "SELECT count(*) || ' ' || coalesce(sum(b.path || ';' LIKE '%;$3;%'), 0) FROM v_wake w
            JOIN v_sample a ON a.tid = w.tid AND a.time_ns = w.time_ns AND a.event = '$2' AND a.path LIKE '%;$1;%'
            JOIN v_sample b ON b.tid = w.waker_tid AND b.time_ns = w.woken_ns AND b.event = 'wakeup'"
    }
    for waits in "pop off-cpu:futex push" "take off-cpu:read give" "want off-cpu:futex hold"; do
        read -r all right <<<"$(woken $waits)"
        echo "$waits: $right of $all"
        holds "$all >= 5 && $right >= 0.99 * $all" "what woke $waits"
    done
    # A clock ends sleep, whatever thread it interrupts: none of the program does.
    read -r all right <<<"$(sql t.db "SELECT count(*) || ' ' || sum(w.waker_thread_id IS NULL) FROM v_wake w
        JOIN v_sample a ON a.tid = w.tid AND a.time_ns = w.time_ns AND a.event = 'off-cpu:sleep'")"
    echo "asleep: $right of $all"
    holds "$all >= 10 && $right >= 0.95 * $all" "what ends sleep"
    holds "$(sql t.db "SELECT count(*) FROM v_sample WHERE event = 'wakeup' AND (end_reason != 'root' OR state != 'unknown')") == 0" "whole stacks"
    expect 0 "$SPROF" report --wakers -i t.db
    grep -Eq "for a lock in want +hold$" out || fail "the holder"
    grep -Eq "for a condition in pop +push ← main$" out || fail "the waker"
    expect 0 "$SPROF" report --wakers --focus '^want$' -i t.db
    grep -Eq "for a lock in want +hold$" out && ! grep -q "in pop" out || fail "a waker of what was not asked for"
    expect 0 "$SPROF" report --wakers -n 1 --format csv -i t.db
    [ "$(wc -l <out)" = 2 ] || fail "more than one waker: $(cat out)"
    expect 0 "$SPROF" report --wait-chains -i t.db
    grep -Eq "for a lock in want +hold: asleep in rest ← \[" out || fail "the chain"
    expect 0 "$SPROF" report --event wakeup --tree -i t.db
    # Time is time with wakers, too.
    expect 0 "$SPROF" report --by state -i t.db
    grep -q "of threads' time" out || fail "states by time"
    # Beside what is no time, too.
    expect 0 "$SPROF" record --off-cpu=0 -e cpu-clock,page-faults/period=1/ -o t.db -- ./wake
    expect 0 "$SPROF" report --by wait -i t.db
    grep -q "of threads' time" out || fail "kinds by time"
    expect 0 "$SPROF" report --by event,wait -i t.db
    grep -q page-faults out || fail "events beside kinds"
    expect 1 "$SPROF" report --wakers -i t.db
    said_only "sprof record --off-cpu --wakers"
    expect 2 "$SPROF" record --wakers -o x.db -- true
    said_only "--wakers is about the waits of --off-cpu"
    ;;
switches)
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "an ordinary user may open no perf event here"
    # Without BPF the times alone are known, by thread: to root (events on CPUs) and to an ordinary user (on threads).
    prepare_ordinary_user
    chmod 777 .
    for user in root ordinary; do
        if [ $user = root ]; then
            as=("$PROGRAMS/refuse" bpf EPERM "$SPROF")
        else
            as=("${as_ordinary_user[@]}" "$user_sprof")
        fi
        expect 0 "${as[@]}" record --off-cpu -o $user.db -- ./waits
        if [ $user = root ]; then
            said "BPF would show where and for what threads wait: run the container with .--security-opt seccomp"
        else
            said "BPF would show where and for what threads wait: run sprof as root"
        fi
        said "next: sprof report --by thread,state $user.db"
        rested=$(awk '/^rest/ {sum += $2 - $3} END {print sum}' out)
        seen=$(sql $user.db "SELECT sum(weight) / 1e9 FROM v_sample WHERE tid = pid AND event GLOB 'off-cpu:*'")
        waited=$(sql $user.db "SELECT sum(weight) / 1e9 FROM v_sample WHERE tid = pid AND wait = 'waiting'")
        lived=$(sql $user.db "SELECT sum(weight) / 1e9 FROM v_sample WHERE tid = pid")
        duration=$(sql $user.db "SELECT duration_ns / 1e9 FROM run")
        blocked=$(sql $user.db "SELECT max(weight) / 1e9 FROM v_sample WHERE tid != pid AND wait = 'waiting'")
        echo "$user: $seen s without a CPU, $waited waiting, $rested at rest; $lived of $duration s; blocked $blocked"
        lost=$(sql $user.db "SELECT lost FROM v_quality")
        holds "$lost > 0 || ($seen > 0.8 * $rested && $waited > 0.5 * $rested)" "the time at rest"
        holds "$lived < 1.2 * $duration + 0.1 && $blocked <= $duration" "no more than there is"
        holds "$lost > 0 || $blocked > 0.5 * $duration" "a thread that is blocked all along"
        holds "$(sql $user.db "SELECT count(*) FROM v_sample WHERE event = 'off-cpu:waiting' AND path != '[waiting]'") == 0" "where"
        expect 0 "$SPROF" report -i $user.db
        grep -q "at places that only BPF shows" out || fail "no word that the places are not known"
        expect 0 "$SPROF" report --by state -i $user.db
        grep -q "waiting$" out || fail "no such state"
        # What needs the stacks is refused as before.
        expect 1 "${as[@]}" record --off-cpu --wakers -o x.db -- true
        said "CAP_BPF|perf_event_paranoid|seccomp"
        [ ! -e x.db ] || fail "a recording"
    done
    # The kernel's verifier returns another error than a lack of rights.
    expect 1 "$PROGRAMS/refuse" bpf EACCES "$SPROF" record --off-cpu --wakers -o x.db -- true
    said "verifier refuses the programs" && said "uname -a"
    # Threads that waited before the recording began.
    start "${as_ordinary_user[@]}" ./waits stay >waits.out
    program=$child
    wait_until 60 grep -q ^spin waits.out
    expect 0 "${as_ordinary_user[@]}" "$user_sprof" record --off-cpu --duration 0.5 -o t.db -p "$program"
    seen=$(sql t.db "SELECT sum(weight) / 1e9 FROM v_sample WHERE tid != pid AND wait = 'waiting'")
    duration=$(sql t.db "SELECT duration_ns / 1e9 FROM run")
    echo "$seen s of $duration"
    holds "$seen > 0.8 * $duration && $seen <= $duration + 0.2" "a thread that is blocked all along"
    ;;
refused)
    for wrong in "--clock wall -- true" "--source sigprof -- true" "--user 0 -- true"; do
        expect 2 "$SPROF" record --off-cpu -o x.db $wrong
        said_only "--off-cpu"
    done
    for wrong in 5s -1 x; do
        expect 2 "$SPROF" record --off-cpu=$wrong -o x.db -- true
        said_only "not a threshold from 0 to 4s"
    done
    ;;
esac
