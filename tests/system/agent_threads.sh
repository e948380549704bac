#!/bin/bash
# Threads, stacks and clocks of commands that sample themselves.
#   agent_threads.sh CASE
. "$(dirname "$0")/agent_lib.sh"

many_threads() {
    expect 0 "${record[@]}" -- "$SUBJECT" live-threads 2000
    holds "$(counter agent.unsampled_threads) == 0" "threads refused"
    # Each works longer than a tick; with precedence no other work is in step with the tick.
    local least=600
    chrt -f 1 true 2>/dev/null && least=1500
    holds "$(sql t.db "SELECT count(*) FROM v_thread WHERE samples > 0") > $least" "threads with samples"
    holds "$(sql t.db "SELECT count(*) FROM thread") >= 2000" "threads"
}

# Seconds that the host of this machine has given to others.
stolen() {
    awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { print $9 / hz }' /proc/stat
}

# Threads shorter than a tick: most of what they use is sampled, and the rest is booked. On a CPU that is
# shared, threads begin right after a tick and end before the next: there only two fifths are asked
# for, and three where the program has precedence: a first sample at a random time loses four fifths.
short_threads() {
    local sampled all used lost tick alone=0
    lost=$(stolen)
    chrt -f 1 true 2>/dev/null && alone=1 # the program gives itself the same precedence
    expect 0 "${record[@]}" -- "$SUBJECT" short-threads 1000
    lost=$(awk "BEGIN { print $(stolen) - $lost }")
    sampled=$(sampled_weight)
    all=$(sql t.db "SELECT sum(exclusive_weight) / 1e9 FROM v_function")
    used=$(sql t.db "SELECT target_cpu_ns / 1e9 FROM run")
    tick=1/$(sql t.db "SELECT source FROM run" | grep -oE '[0-9]+ Hz' | grep -oE '[0-9]+')
    echo "$used s used, $sampled s sampled, $all s accounted for, $lost s stolen, precedence $alone, tick $tick s"
    holds "$sampled > ($alone ? 0.6 * ($used - $lost) : 0.4 * $used) - 5 * sqrt($used * $tick)" "CPU time sampled"
    holds "$all > 0.9 * $used && $sampled < 1.3 * $used + 5 * sqrt($used * $tick)" "CPU time accounted for"
}

# The first thread ends, and the others go on: nothing is lost, and the process ends with the last of them.
main_ends() {
    cat >ends.c <<'END'
#include <pthread.h>
static __attribute__((noinline)) void *work(void *argument)
{
    for (volatile unsigned i = 0; i < 300000000; i++)
        ;
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_exit(0);
}
END
    cc -O1 -pthread -o ends ends.c || fail "cannot compile"
    local clock
    for clock in tick fine; do
        expect 0 "${record[@]}" --agent-clock $clock -- ./ends
        holds "$(value lost) == 0 && $(value samples) > 5" "samples, and none lost"
        holds "$(sql t.db "SELECT count(*) FROM process WHERE end_ns >= (SELECT max(end_ns) FROM thread)") == 1" \
            "the process ends with its last thread"
        holds "$(sql t.db "SELECT count(*) FROM thread WHERE end_ns IS NULL") == 0" "threads without an end"
    done
}

# Threads that nobody told libc of.
raw_threads() {
    [ "$(uname -m)" = x86_64 ] || skip "the program is written for x86-64"
    cat >raw.c <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile int done;
static void work(void) /* it shares its creator's thread-local storage: no libc here */
{
    struct timespec used = {0, 0};
    long result;
    while (used.tv_sec < 2) {
        for (volatile unsigned long i = 0; i < 10000000; i++);
        __asm__ volatile("syscall" : "=a"(result)
                         : "a"(SYS_clock_gettime), "D"(CLOCK_THREAD_CPUTIME_ID), "S"(&used)
                         : "rcx", "r11", "memory");
    }
    done = 1;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_exit), "D"(0) : "rcx", "r11");
}
int main(void)
{
    char *stack = (char *)mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 65472;
    *(void **)stack = (void *)work;
    const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    long result;
    __asm__ volatile("xor %%r10d, %%r10d; xor %%r8d, %%r8d; syscall; test %%rax, %%rax; jnz 1f; ret; 1:"
                     : "=a"(result) : "a"(SYS_clone), "D"(flags), "S"(stack), "d"(0)
                     : "rcx", "r8", "r10", "r11", "memory");
    while (!done) { /* the agent's handler must run somewhere to take the thread in */
        for (volatile int i = 0; i < 20000000; i++);
        nanosleep(&(struct timespec){0, 5000000}, 0);
    }
    return result < 0;
}
END
    cc -O1 -o raw raw.c || fail "cannot compile"
    expect 0 "${record[@]}" -- ./raw
    sql t.db "SELECT function, exclusive_weight / 1e9 FROM v_function"
    holds "$(sql t.db "SELECT sum(exclusive_weight) / 1e9 FROM v_function WHERE function = 'work'") > 1" \
        "CPU seconds of the thread's two"
    holds "$(counter agent.unsampled_threads) == 0" "threads left out"
}

# Threads that wait are sampled, too: each has the weight of its life.
wall() {
    cat >waits.c <<'END'
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
static void *wait_in_poll(void *end)
{
    while (now(CLOCK_MONOTONIC) < *(double *)end)
        poll(0, 0, 100);
    return end;
}
static void *work(void *end)
{
    while (now(CLOCK_MONOTONIC) < *(double *)end)
        for (volatile int i = 0; i < 100000; i++);
    return end;
}
int main(void)
{
    const double begin = now(CLOCK_MONOTONIC);
    double end = begin + 3;
    pthread_t threads[2];
    pthread_create(&threads[0], 0, wait_in_poll, &end);
    pthread_create(&threads[1], 0, work, &end);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    printf("%.3f\n", now(CLOCK_MONOTONIC) - begin);
    return 0;
}
END
    cc -O1 -o waits waits.c || fail "cannot compile"
    expect 0 "$SPROF" record --clock wall --source sigprof -o t.db -- ./waits
    local life
    life=$(cat out)
    said 'interrupts each thread'
    said "wall-clock, [0-9]+ Hz a thread"
    for name in wait_in_poll work main; do
        local seconds
        seconds=$(sql t.db "SELECT inclusive_weight / 1e9 FROM v_function WHERE function = '$name'")
        echo "$seconds s in $name"
        holds "${seconds:-0} > 0.8 * $life && $seconds < 1.1 * $life + 0.3" "seconds of $life in $name"
    done
    expect 0 "$SPROF" report -i t.db
    grep -q "of threads' time" out && ! grep -q 'not sampled' out || fail "the report speaks of CPU time"
    grep -q "of threads' time is waiting: .*in poll by wait_in_poll" out || fail "the report does not say what it waits for"
    expect 0 "$SPROF" record --clock wall --source sigprof -F 20 -o t.db -- ./waits
    life=$(cat out)
    holds "$(value samples) > 3 * $life * 20 * 0.3 && $(value samples) < 3 * $life * 20 * 1.4" "samples at another rate"
    for wrong in "-p $$" "-c 5 -- true" "-e page-faults -- true" "-F 5000 -- true"; do
        expect 2 "$SPROF" record --clock wall --source sigprof -o x.db $wrong
        [ "$(wc -l <err)" -le 2 ] && [ ! -e x.db ] || fail "not one message, or a recording: $wrong"
    done
    expect 2 "$SPROF" record --clock moon -- true
    # Programs that come and go, and poll nothing: all of them are known.
    expect 0 "$SPROF" record --clock wall --source sigprof -o t.db -- bash -c 'for i in 1 2 3 4 5 6 7 8; do (sleep 0.1; /bin/true); done'
    holds "$(counter agent.unsampled_threads) == 0" "threads left out"
}

# Stacks of up to 900 KiB, which grow and shrink all the time: whole with what the handler copies.
deep_stacks() {
    cat >deep.c <<'END'
static volatile unsigned long sum;
static __attribute__((noinline)) void bottom(void)
{
    for (int i = 0; i < 20000; i++)
        sum += i;
}
static __attribute__((noinline)) void down(int depth)
{
    volatile char frame[1000];
    frame[0] = (char)depth;
    if (depth > 0)
        down(depth - 1);
    else
        bottom();
    sum += frame[0];
}
int main(void)
{
    for (unsigned i = 0; i < 150000; i++)
        down(i * 37 % 900 + 20);
    return 0;
}
END
    cc -O1 -g -o deep deep.c || fail "cannot compile"
    expect 0 "${record[@]}" -- ./deep
    whole 30 0.9
    holds "$(sql t.db "SELECT count(*) FROM v_sample WHERE leaf = 'bottom' AND depth > 100") > 20" "deep stacks"
    holds "$(counter sampler.tails_with_sample) > 20" "stacks captured beyond their slices"
}

# The ledger expects as many samples as were asked for, where that is no more than ticks, or the helper makes them:
# those that another one stands for are overrun, and nothing is left over but chance.
ledger() {
    local due_hz options
    for options in "-F 50" "-F 10000 --agent-clock fine"; do
        due_hz=${options//[^0-9]/}
        expect 0 "${record[@]}" $options -- "$PROGRAMS/split" threads 2 2500
        local expected booked unexplained delivered seconds lost
        IFS='|' read -r expected booked unexplained delivered seconds lost < <(sql t.db "SELECT
            sum(expected_cpu_ns) / 1e9 * $due_hz, sum(delivered + lost + throttled + excluded + timer_overrun +
            unexplained), sum(unexplained), sum(delivered), count(*), sum(lost) FROM ledger")
        echo "$expected expected, $booked booked, of these $delivered delivered, $lost lost, $unexplained unexplained"
        holds "$delivered == $(value samples)" "each sample is in the ledger once"
        holds "($expected - $booked) ^ 2 <= ($seconds + 1) ^ 2" "the ledger balances"
        holds "$unexplained <= 0.15 * $expected + 5 * sqrt($expected) + 5" "what is unexplained is chance"
    done
}

# More samples than ticks; work in step with the tick is met at its share.
fine() {
    record+=(--agent-clock fine)
    local tick_hz
    expect 0 "$SPROF" record --source sigprof -o t.db -- true
    tick_hz=$(sql t.db "SELECT source FROM run" | grep -oE '[0-9]+ Hz' | grep -oE '[0-9]+')
    in_step() {
        expect 0 "${record[@]}" -v -m pc --frame app -- "$PROGRAMS/lockstep" $((1000000000 / tick_hz)) 3
        said 'SIGPROF agent with a helper thread'
        said 'cpu-clock, [0-9]+ of 997 Hz'
        said 'adds a thread to each process'
        [ "$tick_hz" -gt 300 ] || holds "$(value reached_hz) > 1.1 * $tick_hz" "more samples than ticks"
        sql t.db "SELECT CASE WHEN abs(share - $(cat out)) <= 3 * sqrt(0.16 * squares) THEN 1 ELSE 0 END FROM (
            SELECT 1.0 * sum(CASE WHEN leaf = 'first_fifth' THEN weight END) / sum(weight) AS share,
            sum(1.0 * weight * weight) / sum(weight) / sum(weight) AS squares
            FROM v_sample WHERE leaf IN ('first_fifth', 'remaining'))"
    }
    holds "$(in_step) == 1 || $(in_step) == 1 || $(in_step) == 1" "a fifth"
    # What the helper uses is sprof's own cost, not the program's; the program's numbers are its own.
    expect 0 "${record[@]}" -- "$SUBJECT" spin 500
    holds "$(counter agent.unsampled_threads) == 0" "threads that nobody knows"
    holds "$(sampled_weight) > 0.6 * $(sql t.db "SELECT target_cpu_ns / 1e9 FROM run")" "CPU time sampled"
    output_is_its_own
    exec_storm
    # Of these, the kernel refuses the first to processes of several threads.
    for program in "unshare -Ur true" "setpriv --nnp true" "python3 -c 'import os; os.setuid(os.getuid()); print(len(os.listdir("/proc/self/task")))'"; do
        sh -c "$program" >wanted 2>wanted.err
        local wanted=$?
        run "${record[@]}" -- sh -c "$program"
        [ "$status" = $wanted ] && cmp -s out wanted || fail "another result of $program"
    done
    for wrong in "--source perf" "--clock wall" "--source sigprof -F 50000"; do
        expect 2 "$SPROF" record --agent-clock fine $wrong -o x.db -- true
        [ "$(wc -l <err)" -le 2 ] && [ ! -e x.db ] || fail "not one message, or a recording: $wrong"
    done
    expect 0 "$SPROF" record --agent-clock fine -o t.db -- true
    sql t.db "SELECT source FROM run" | grep -q SIGPROF || said 'had no effect'
    expect 2 "$SPROF" record --agent-clock moon -- true
    said 'tick|fine'
}

"$1"
