#!/bin/bash
# How long kept and logged calls ran, waited and were ready, beside what the kernel says of the thread itself.
#   states.sh known | often | attached | absent
set -u
. "$(dirname "$0")/lib.sh"

# Sleeps, a mutex that another thread holds, computing beside a thread that computes on the same CPU. The program reads from schedstat
# how long it was ready, within each call and around it, and its CPU time: "FUNCTION READY_LEAST READY_MOST CPU_MOST" in nanoseconds, added
# up by function.
write_program() {
    cat >program.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
static double at(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
static double ready(void)
{
    char text[100] = "";
    double run = 0, delay = 0;
    const int fd = open("/proc/thread-self/schedstat", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 || sscanf(text, "%lf %lf", &run, &delay) != 2)
        exit(77);
    close(fd);
    return delay;
}
static void nap(long us)
{
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_held, is_over;
static double within;
#define WITHIN(what) do { const double before = ready(); what; within += ready() - before; BODY; } while (0)
NI void sleep_1(void) { WITHIN(nap(1000)); }
NI void sleep_10(void) { WITHIN(nap(10000)); }
NI void sleep_100(void) { WITHIN(nap(100000)); }
NI void lock(void) { WITHIN(pthread_mutex_lock(&mutex)); pthread_mutex_unlock(&mutex); BODY; }
static void use_cpu(void)
{
    const double until = at(CLOCK_THREAD_CPUTIME_ID) + 1e8;
    while (at(CLOCK_THREAD_CPUTIME_ID) < until)
        BODY;
}
NI void compute(void) { WITHIN(use_cpu()); }
NI void nothing(void) { BODY; }
/* Whether the first thread is blocked. */
static int first_waits(void)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        exit(1);
    fclose(file);
    return state == 'S';
}
static void *hold(void *unused)
{
    pthread_mutex_lock(&mutex);
    is_held = 1;
    while (!first_waits())
        sched_yield();
    nap(50000);
    pthread_mutex_unlock(&mutex);
    return unused;
}
static void pin(void)
{
    cpu_set_t allowed, one;
    int cpu = 0;
    sched_getaffinity(0, sizeof allowed, &allowed);
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}
static void *hog(void *unused)
{
    is_held = 1;
    while (!is_over)
        ;
    return unused;
}
static void measure(const char *name, void (*call)(void), int times)
{
    double cpu = 0, around = 0;
    within = 0;
    for (int i = 0; i < times; i++) {
        const double cpu_before = at(CLOCK_THREAD_CPUTIME_ID), before = ready();
        call();
        around += ready() - before;
        cpu += at(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    }
    fprintf(stderr, "%s %.0f %.0f %.0f\n", name, within, around, cpu);
}
int main(int count, char **arguments)
{
    pthread_t thread;
    if (count > 1)
        for (;;) {
            sleep_10();
            nothing();
        }
    (void)arguments;
    measure("sleep_1", sleep_1, 40);
    measure("sleep_10", sleep_10, 10);
    measure("sleep_100", sleep_100, 3);
    for (int i = 0; i < 3; i++) {
        is_held = 0;
        pthread_create(&thread, NULL, hold, NULL);
        while (!is_held)
            sched_yield();
        if (i)
            lock();
        else
            measure("lock", lock, 1);
        pthread_join(thread, NULL);
    }
    pin();
    is_held = 0;
    pthread_create(&thread, NULL, hog, NULL);
    while (!is_held)
        sched_yield();
    measure("compute", compute, 1);
    measure("nothing", nothing, 1000);
    is_over = 1;
    pthread_join(thread, NULL);
}
END
    gcc -O2 -g -pthread program.c -o program || fail "it does not compile"
}

# judge TRUTH FILE VIEW WHERE: the parts of each function's time against the truth, and the length of the waits that are known.
judge() {
    "$SPROF" sql "$2" --format csv "SELECT function, duration_ns, running_ns, waiting_ns, ready_ns FROM $3" >rows.csv || fail "no calls in $3"
    python3 - "$1" <<'END' || fail "$2: $(cat "$1") $(cat judged)"
import csv, statistics, sys
rows, wrong = {}, []
for row in csv.DictReader(open("rows.csv")):
    assert row["running_ns"] and row["waiting_ns"] and row["ready_ns"], row
    rows.setdefault(row["function"].split("(")[0], []).append([int(row[key]) for key in ("duration_ns", "running_ns", "waiting_ns", "ready_ns")])
truth = {name: [float(x) for x in parts] for name, *parts in (line.split() for line in open(sys.argv[1]) if line.split()[0] in rows)}
assert len(truth) >= 5, truth
for name, (least, most, cpu) in truth.items():
    if name in ("lock", "nothing"): # of lock some calls are not measured
        continue
    calls = rows[name]
    whole, running, waiting, ready = [sum(column) for column in zip(*calls)]
    slack = 2e4 * len(calls) + 0.02 * whole
    late = 3e5 * len(calls) + 0.05 * whole # the kernel counts from when a thread that was woken is in the queue of its CPU
    if not least - slack <= ready <= most + late:
        wrong.append(f"{name} was ready {ready}, not {least} to {most}")
    if name != "compute" and running > cpu + 0.03 * whole + slack:
        wrong.append(f"{name} ran {running}, not {cpu}")
    if abs(running + waiting + ready - whole) > slack:
        wrong.append(f"{name}: the parts are not the whole")
for name, ms in ("sleep_1", 1), ("sleep_10", 10), ("sleep_100", 100), ("lock", 50):
    waited = statistics.median(call[2] for call in rows[name]) / 1e6
    # The thread with the mutex may wait long for a CPU.
    if not ms * 0.97 <= waited <= (float("inf") if name == "lock" else ms * 2 + 20):
        wrong.append(f"{name} waited {waited} ms")
duration, running, waiting, ready = rows["compute"][0]
if not (ready > duration / 5 and waiting < duration / 20 and running < 0.8 * duration):
    wrong.append(f"compute: {rows['compute'][0]}")
if "nothing" in rows and statistics.median(call[2] + call[3] for call in rows["nothing"]):
    wrong.append("calls that do not wait wait")
open("judged", "w").write("; ".join(wrong))
sys.exit(bool(wrong))
END
}

has_bpf() {
    "$SPROF" record --off-cpu -o bpf.db -- true >out 2>err && return
    skip "BPF cannot measure waits here: $(head -n 1 err)"
}

# While a coroutine is suspended its thread does something else, so its calls have no states, be they kept or in a log.
suspended() {
    cat >suspended.c <<'END'
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
static ucontext_t first, other;
NI void suspends(void) { BODY; swapcontext(&other, &first); BODY; }
NI void naps(void) { BODY; usleep(1000); BODY; }
static void run(void)
{
    for (int i = 0; i < 3; i++) suspends(), naps();
    swapcontext(&other, &first);
}
NI void resumes(void) { swapcontext(&first, &other); BODY; }
int main(void)
{
    getcontext(&other);
    other.uc_stack.ss_sp = malloc(65536);
    other.uc_stack.ss_size = 65536;
    makecontext(&other, run, 0);
    for (int i = 0; i < 4; i++) resumes(), usleep(1000);
    return 0;
}
END
    cc -O2 -g suspended.c -o suspended || fail "it does not compile"
    "$SPROF" trace -o log.db --overwrite --mode log -- ./suspended 2>err || fail "no log: $(cat err)"
    "$SPROF" trace -o kept.db --overwrite --keep 'every 1' -- ./suspended 2>err || fail "no kept calls: $(cat err)"
    for of in log.db:v_call kept.db:v_kept_call; do
        [ "$("$SPROF" sql "${of%:*}" --format csv "SELECT function || ' ' || count(*) || ' ' || count(waiting_ns) AS v FROM ${of#*:}
            WHERE function IN ('naps', 'suspends') GROUP BY function ORDER BY 1" | tail -n +2 | tr -d '\r' | paste -sd' ')" = "naps 3 3 suspends 3 0" ] ||
            fail "calls that were suspended: $("$SPROF" sql "${of%:*}" "SELECT * FROM ${of#*:}")"
    done
}

# A rare call in which its thread has more gaps than the kernel has room for, three seconds long: they are read meanwhile.
often() {
    has_bpf
    cat >often.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static int there[2], back[2];
static void *answer(void *nothing)
{
    char byte;
    while (read(there[0], &byte, 1) == 1)
        if (write(back[1], &byte, 1) != 1) abort();
    return nothing;
}
__attribute__((noinline, noclone)) void work(int rounds)
{
    char byte = 0;
    for (int i = 0; i < rounds; i++) {
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) abort();
        if (i % 17 == 0) usleep(1000);
    }
    __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory");
}
static double cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
int main(int count, char **arguments)
{
    cpu_set_t cpus;
    if (count < 2) return 2;
    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus);
    pthread_t thread;
    if (sched_setaffinity(0, sizeof cpus, &cpus) || pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL)) return 1;
    const double before = cpu_ns();
    work(atoi(arguments[1]));
    printf("%.0f\n", cpu_ns() - before);
    close(there[1]);
    pthread_join(thread, NULL);
    return 0;
}
END
    cc -O2 -g -pthread often.c -o often || fail "it does not compile"
    local rounds unknown
    # Where sprof had no CPU for long, gaps are lost and the times of the long call are unknown. All gaps of the short one have room.
    for rounds in 2000 50000; do
        unknown=$((rounds > 2000))
        "$SPROF" trace --overwrite -o often.db --keep 'over 1ms : ^work$' -- ./often $rounds >cpu 2>err || fail "no trace: $(cat err)"
        [ "$("$SPROF" sql often.db --format csv "SELECT coalesce(running_ns < $(cat cpu) + duration_ns / 10 AND running_ns > $(cat cpu) / 5,
            $unknown) FROM v_kept_call WHERE function = 'work'" | tail -n 1 | tr -d '\r')" = 1 ] ||
            fail "$rounds: it ran $(cat cpu) ns: $("$SPROF" sql often.db 'SELECT * FROM v_kept_call')"
    done
}

known() {
    has_bpf
    "$SPROF" trace -o kept.db --keep 'over 0ns : ^(sleep|lock|compute)' -- ./program 2>kept.truth
    [ $? != 77 ] || skip "there is no schedstat"
    judge kept.truth kept.db v_kept_call
    "$SPROF" trace -o log.db --mode log --function '^(sleep|lock|compute|nothing)' -- ./program 2>log.truth
    judge log.truth log.db v_call
    # where they are shown
    "$SPROF" report --kept kept.db --focus sleep_100 --columns 120 >out && grep -qE ' waiting +ready ' out && grep -qE ' 10[0-9](\.[0-9]+)? ms .*sleep_100' out ||
        fail "the tree: $(cat out)"
    "$SPROF" report --kept kept.db --format json >out && grep -q '"waiting_s": *0\.' out && grep -q '"running_s"' out || fail "the tree as JSON"
    "$SPROF" script kept.db >out && grep -q 'sleep_100.* · waited *10[0-9]' out || fail "the flow: $(cat out)"
    "$SPROF" script log.db >out && grep -q 'sleep_100.* · waited *10[0-9]' out || fail "the flow of the log: $(grep sleep_100 out)"
    "$SPROF" script kept.db --format csv | head -n 1 | grep -q 'running_ns,waiting_ns,ready_ns' || fail "the flow as CSV"
    "$SPROF" export -f otlp-traces -o out.json kept.db 2>err && grep -q '"sprof.waiting_ns"' out.json || fail "spans: $(cat err)"
    "$SPROF" export -f chrome -o out.json log.db 2>err && grep -q '"ready_ns"' out.json || fail "slices: $(cat err)"
    suspended
    "$SPROF" trace -o none.db --no-states --keep 'over 0ns : ^lock' -- ./program 2>err
    [ "$("$SPROF" sql none.db --format csv "SELECT count(*), count(running_ns), count(waiting_ns) FROM v_kept_call WHERE function = 'lock'" |
        tail -n 1 | tr -d '\r')" = 3,0,0 ] || fail "--no-states"
}

attached() {
    has_bpf
    ./program for ever &
    victim=$!
    sleep 0.1
    "$SPROF" trace -p $victim -o t.db --keep 'over 1ms : ^sleep' --duration 1s 2>err || fail "no trace: $(cat err)"
    kill -9 $victim
    [ "$("$SPROF" sql t.db --format csv "SELECT count(*) > 5, sum(waiting_ns > 9500000) > count(*) - 4 FROM v_kept_call
        WHERE function = 'sleep_10'" | tail -n 1 | tr -d '\r')" = 1,1 ] || fail "attached: $("$SPROF" sql t.db 'SELECT * FROM v_kept_call')"
}

# Without the right to load BPF programs calls are kept as ever, and it is said why their states are not.
absent() {
    [ "$(id -u)" = 0 ] || skip "there are no rights to be given up"
    setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-all "$SPROF" trace -o t.db --keep 'over 0ns : ^sleep_10' -- ./program 2>err
    said 'how long calls wait is not known.*BPF \(not permitted\)'
    [ "$("$SPROF" sql t.db --format csv "SELECT count(*) > 10, count(running_ns), count(ready_ns), (SELECT no_call_states FROM v_run)
        FROM v_kept_call" | tail -n 1 | tr -d '\r')" = '1,0,0,not permitted' ] || fail "there are states without BPF"
    "$SPROF" report --kept t.db >out && grep -q 'without BPF (not permitted)' out || fail "the tree: $(head -n 5 out)"
    "$SPROF" html t.db -o t.html 2>err || fail "no page: $(cat err)"
}

write_program
"$1"
