#!/bin/bash
# sprof trace: programs compute what they compute untraced, and calls are counted exactly.
#   calls.sh random LANGUAGE COMPILER | left | jumped | known | paths | coroutines | copied | compiled | tails | tails_left | tail_times | threads | begun | storm | real PROGRAM | environment | children | refused | kinds | packed | gotos | profiled | unwound | suspended | gone | follow | far | loaders
set -u
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# in_paths FILE: "function calls", added up over all call paths, sorted.
in_paths() {
    "$SPROF" sql "$1" --format csv "SELECT function, sum(exclusive_samples) AS calls FROM v_call_tree
        WHERE function NOT IN (SELECT function FROM v_outside) GROUP BY function" \
        >paths.csv 2>err || fail "no paths"
    python3 -c 'import csv
for row in csv.DictReader(open("paths.csv")):
    print(row["function"].split("(")[0], row["calls"])' | sort
}

case $1 in
random)
    suffix=c
    [ "$2" = c ] || suffix=cc
    command -v "$3" >/dev/null || skip "no $3"
    for seed in 1 2 3 4; do
        python3 "$here/generate.py" "$2" "$seed" >program.$suffix || fail "no program"
        for flags in -O0 "-O1 -fno-plt" -O2 "-O3 -fomit-frame-pointer -fcf-protection=full -no-pie"; do
            # shellcheck disable=SC2086
            "$3" $flags -g -w -pthread ${LINK-} program.$suffix -o program || fail "$3 $flags"
            traced program --function '^f[0-9]' -- ./program log
            sort log >wanted
            calls program.db >found
            diff wanted found >out || fail "seed $seed, $3 $flags: calls differ: $(cat got_err)"
        done
        traced program --paths --function '^f[0-9]' -- ./program log
        in_paths program.db >found
        diff wanted found >out || fail "seed $seed, $3 $flags: calls in paths differ: $(cat got_err)"
    done
    # Everything at once, libraries too, changes nothing either.
    traced program --module '*' -- ./program log
    calls program.db | grep -E '^f[0-9]+ ' >found
    sort log | diff - found >out || fail "calls differ when all libraries are traced"
    ;;
left)
    g++ -O1 -g -DSTEP_US=100 "$(dirname "$0")/left.cc" -o program || fail "no compiler"
    traced program --function '!spin' -- ./program
    calls program.db >found
    has middle calls 40 && has middle abnormal 40 && has deepest abnormal 40 && has jumps abnormal 0
    has middle in_flight 0
    # Probes that end frames where nobody has chosen their functions are in no figures.
    has middle untimed_calls 0 && has deepest untimed_calls 0
    "$SPROF" stats -i program.db >out 2>err && ! grep -q 'only counted' out || fail "functions that nobody has chosen"
    # What comes after is charged to the function that contains it: its 80 ms and more are not in those left.
    python3 - <<'END' || fail "times after a jump or catch are charged to what was left"
import csv
rows = {row["function"].split("(")[0]: row for row in csv.DictReader(open("stats.csv"))}
self_ns = {name: float(row["self_ns"]) for name, row in rows.items()}
assert self_ns["jumps"] > 75e6 and self_ns["catches"] > 75e6, self_ns
assert float(rows["middle"]["total_ns"]) < 0.5 * (self_ns["jumps"] + self_ns["catches"]), rows["middle"]
END
    ;;
known)
    # A function that waits 20 µs and calls a short one a thousand times takes as long as its twin without probes; the
    # shortest of many rounds counts, and the nearest of some runs, for others use the same processors.
    cat >program.c <<'END'
#include <stdio.h>
#include <time.h>
#define NI __attribute__((noinline))
NI long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}
NI void spin(long ns) { const long end = now() + ns; while (now() < end) ; }
#define SHORT(name) NI void name(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
SHORT(short_probed)
SHORT(plain)
#define CALLER(name, callee) \
    NI void name(void) { spin(20000); for (int i = 0; i < 1000; i++) callee(); __asm__ volatile(""); }
CALLER(caller, short_probed)
CALLER(twin, plain)
NI void outermost(void) { caller(); __asm__ volatile(""); }
int main(void)
{
    long best = 1L << 60;
    for (int i = 0; i < 300; i++) {
        outermost();
        const long begin = now();
        twin();
        const long took = now() - begin;
        best = took < best ? took : best;
    }
    printf("%ld\n", best);
    return 0;
}
END
    gcc -O1 -g -fno-optimize-sibling-calls program.c -o program || fail "no compiler"
    for try in $(seq 16); do
        "$SPROF" trace -o program.db --function '^(short_probed|caller|outermost)$' -- ./program >twin 2>err ||
            fail "exit status"
        calls program.db >found
        has short_probed calls 300000 && has outermost calls 300
        "$SPROF" sql program.db --format csv \
            "SELECT function, self_ns, total_ns, raw_total_ns FROM v_call_stats" >raw.csv || fail "no raw times"
        python3 - <<'END' && exit 0
import csv
shortest = {row["function"]: float(row["min_ns"]) for row in csv.DictReader(open("stats.csv"))}
rows = {row["function"]: row for row in csv.DictReader(open("raw.csv"))}
twin = int(open("twin").read())
wrong = [f"{name}: {shortest[name]}, its twin {twin}" for name in ("caller", "outermost")
         if abs(shortest[name] - twin) > 3 * 1000 + 0.01 * twin]
# What was taken off is kept, and self times add up to the outermost total.
total = float(rows["outermost"]["total_ns"])
taken = (float(rows["outermost"]["raw_total_ns"]) - total) / 300600
if not 5 < taken < 1000:
    wrong.append(f"{taken} ns a call are taken off")
parts = sum(float(row["self_ns"]) for row in rows.values())
if abs(parts - total) > 0.001 * parts + 1000:
    wrong.append(f"self times add up to {parts}, not to {total}")
if wrong:
    raise SystemExit("; ".join(wrong))
END
    done
    fail "times contain what probes take, in each of $try runs"
    ;;
paths)
    cat >program.c <<'END'
#include <pthread.h>
#include <stdio.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")
NI void last(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
NI void middle(void) { last(); last(); last(); KEEP; }
NI void first(void) { middle(); middle(); KEEP; }
NI long again(long n) { return n ? again(n - 1) + 1 : (last(), 0); }
NI void *run(void *unused)
{
    for (int i = 0; i < 10; i++)
        first();
    for (int i = 0; i < 5; i++)
        middle();
    again(4);
    return unused;
}
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, 0, run, 0);
        pthread_join(thread, 0);
    }
    run(0);
    printf("%ld\n", again(3000));
    return 0;
}
END
    gcc -O1 -fno-optimize-sibling-calls -g -pthread program.c -o program || fail "no compiler"
    traced program --paths -- ./program
    "$SPROF" sql program.db --format csv "SELECT path, exclusive_samples FROM v_call_tree
        WHERE path LIKE 'main;run%' OR path LIKE 'run%'" >found || fail "no paths"
    for root in "main;run 1" "run 3"; do
        times=${root#* }
        for line in " 1" ";again 1" ";again;again 1" ";again;again;again 1" ";again;again;again;again 1" \
            ";again;again;again;again;again 1" ";again;again;again;again;again;last 1" ";first 10" \
            ";first;middle 20" ";first;middle;last 60" ";middle 5" ";middle;last 15"; do
            echo "${root% *}${line% *},$((${line#* } * times))"
        done
    done | sort >wanted
    tail -n +2 found | tr -d '\r' | sort | diff - wanted >out || fail "other call paths"
    # A path that is too deep begins anew; none of its calls is lost.
    calls program.db >found && in_paths program.db | diff found - >out || fail "calls and those in paths differ"
    has again calls 3021
    run "$SPROF" report -i program.db --callers last
    grep -q middle out || fail "no callers in the report"
    ;;
coroutines)
    # C++20's live on the heap and are called like functions; exceptions are thrown and caught in them.
    cat >program.cc <<'END'
#include <coroutine>
#include <cstdio>
#include <exception>
struct task {
    struct promise_type {
        long value = 0;
        task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(long v) noexcept { value = v; return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};
__attribute__((noinline)) long step(long n) { __asm__ volatile("" ::: "memory"); return n * 3 + 1; }
task numbers(long n)
{
    for (long i = 0; i < n; i++) {
        try {
            if (i % 7 == 3) throw i;
            co_yield step(i);
        } catch (long x) { step(x); }
    }
}
int main()
{
    task a = numbers(1000), b = numbers(2000);
    long sum = 0;
    while (!a.handle.done() || !b.handle.done()) {
        if (!a.handle.done()) { a.handle.resume(); sum += a.handle.promise().value; }
        if (!b.handle.done()) { b.handle.resume(); sum ^= b.handle.promise().value; }
    }
    a.handle.destroy(); b.handle.destroy();
    std::printf("%ld\n", sum);
    return (int)(sum % 50);
}
END
    for flags in -O0 -O2; do
        g++ -std=c++20 $flags -g program.cc -o program || fail "no compiler"
        for modules in program '*'; do
            traced program --module "$modules" -- ./program
            calls program.db >found
            has step calls 3000 && has step in_flight 0 && has step abnormal 0
        done
    done
    ;;
jumped)
    # A signal's handler leaves calls by siglongjmp, thousands of them, at whatever instruction they are: also in the midst of
    # their probes. None stays open for ever, so that no later call is taken for a recursive one, and the log goes on.
    cat >program.c <<'END'
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static sigjmp_buf back;
static volatile sig_atomic_t may_leave, jumps;
static volatile unsigned long sum;
__attribute__((noinline)) void leaf(void) { sum++; __asm__ volatile("nop; nop; nop; nop; nop"); }
static void leave(int number) { (void)number; if (may_leave) { jumps++; siglongjmp(back, 1); } }
int main(void)
{
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, leave);
    setitimer(ITIMER_REAL, &often, 0);
    while (jumps < 4000) {
        if (!sigsetjmp(back, 1))
            for (may_leave = 1;;) {
                leaf();
                for (volatile int i = 0; i < 200; i++) {}
            }
        may_leave = 0;
    }
    setitimer(ITIMER_REAL, &never, 0);
    leaf();
    puts("done");
    return 3;
}
END
    gcc -O1 -g program.c -o program || fail "no compiler"
    for options in "" --paths --callers --all-points "--warn-over 1h" "--mode log"; do
        # shellcheck disable=SC2086
        traced program $options --function '^leaf$' -- ./program
        calls program.db >found
        has leaf in_flight 0
        has leaf recursive 0
    done
    # How much the log misses depends on how often the recorder runs. It has calls to the end; the last fifth may be sprof's own.
    read -r left parts < <("$SPROF" sql -i program.db --format csv "WITH t AS (SELECT min(start_ns) AS begun, max(ended_ns) - min(start_ns) + 1 AS took \
        FROM (SELECT start_ns, (SELECT max(end_ns) FROM v_phase) AS ended_ns FROM v_call)) \
        SELECT (SELECT sum(abnormal) FROM v_call_stats), count(DISTINCT (start_ns - begun) * 5 / took) FROM v_call, t" | tail -n 1 | tr -d '\r' | tr , ' ')
    [ "$left" -gt 0 ] || fail "no call was left"
    [ "$parts" -ge 4 ] || fail "the log has calls of $parts fifths of the run only"
    ;;
copied)
    # A library, named as Python's greenlet, that puts back what it has copied of the stack, when others have used
    # the places of return addresses.
    cat >stacks.c <<'END'
#include <setjmp.h>
#include <string.h>
static jmp_buf state;
static char copy[65536], *low;
static size_t size;
void *PyInit__greenlet(void) { return 0; }
/* 0; 1 where the stack was put back as it was. */
__attribute__((noinline)) int keep(char *base)
{
    if (setjmp(state)) return 1;
    low = (char *)__builtin_frame_address(0) - 512;
    size = (size_t)(base - low);
    memcpy(copy, low, size);
    return 0;
}
__attribute__((noinline)) void put_back(void)
{
    volatile char room[4096];
    room[0] = 0;
    if ((char *)room > low - 4096) put_back();
    memcpy(low, copy, size);
    longjmp(state, 1);
}
END
    cat >program.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
static int (*keep)(char *);
static void (*put_back)(void);
static char *base;
static long sum, times, calls;
__attribute__((noinline)) long down(long n) { return calls++, n ? down(n - 1) + 1 : keep(base) + 100; }
__attribute__((noinline)) long other(long n) { return calls++, n ? other(n - 1) * 3 + 1 : 1; }
__attribute__((noinline)) void again(void) { sum += other(40) & 1; if (times++ < 5) put_back(); }
int main(int count, char **arguments)
{
    void *library = dlopen("./_greenlet.so", RTLD_NOW);
    if (!library) return puts(arguments[0]);
    keep = (int (*)(char *))dlsym(library, "keep");
    put_back = (void (*)(void))dlsym(library, "put_back");
    base = __builtin_frame_address(0);
    if (count > 1 && puts("loaded") >= 0 && !fflush(stdout)) getchar();
    sum += down(20);
    again();
    printf("%ld %ld\n", sum, calls);
    return 3;
}
END
    gcc -O1 -g -shared -fPIC -fno-stack-protector -U_FORTIFY_SOURCE stacks.c -o _greenlet.so &&
        gcc -O1 -g -fno-stack-protector program.c -o program || fail "no compiler"
    for options in "" --paths --all-points "--mode log"; do
        # shellcheck disable=SC2086
        traced program $options -- ./program
        grep -q 'greenlets copy stacks: calls are counted' got_err || fail "$options: not said that calls are only counted"
        calls program.db >found
        has other calls 246
        has down calls 21
    done
    mkfifo go
    ./program wait <go >live & target=$!
    exec 3>go
    wait_until 60 grep -q loaded live
    "$SPROF" trace -p $target -o live.db 2>err & tracer=$!
    wait_for_trace err -i live.db
    echo >&3
    wait $target
    [ $? = 3 ] || fail "the program that was attached to does something else"
    wait $tracer || fail "the tracer's status"
    ./program >plain
    tail -n 1 live | diff - plain >out || fail "the program that was attached to computes something else"
    calls live.db >found
    has other calls 246
    ;;
compiled)
    # Code that a program writes while it runs has no probes, which is said once; not of a little of it, nor of stacks that are code.
    cat >program.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) long work(long n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(int argc, char **argv)
{
    const size_t size = (size_t)atol(argv[1]) << 10;
    const int fd = getenv("SHARED") ? memfd_create("code", 0) : -1;
    if (fd >= 0 && ftruncate(fd, (off_t)size)) return 1;
    unsigned char *code =
        mmap(0, size, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    memcpy(code, "\x48\x8d\x47\x01\xc3", 5); /* lea 1(%rdi), %rax; ret */
    if (mprotect(code, size, PROT_READ | PROT_EXEC)) return 1;
    long (*next)(long) = (long (*)(long))(void *)code, n = 0;
    for (int i = 0; argc > 2 ? access(argv[2], F_OK) : i < 100; i++) { n = work(next(n)); usleep(10000); }
    puts("done");
    return 3;
}
END
    gcc -O1 -g program.c -o program && gcc -O1 -g -z execstack program.c -o stacks || fail "no compiler"
    traced program -- ./program 256
    [ "$(grep -c 'has 0.3 MB for code that it compiles while it runs: no probe' got_err)" = 1 ] || fail "not said once"
    calls program.db >found
    has work calls 100
    # Nor is it a file that something would be wrong with.
    export SHARED=1
    traced program --module '*' -- ./program 256
    unset SHARED
    grep -q 'has 0.3 MB for code that it compiles' got_err || fail "not said of code in a memfd"
    ! grep -q memfd got_err || fail "code in a memfd is taken for a file: $(grep memfd got_err)"
    ./program 256 end >out &
    running=$!
    children+=("$running")
    wait_until 60 grep -q ' r-xp .* 0 $' /proc/$running/maps
    expect 0 "$SPROF" trace -p $running -o late.db --duration 300ms
    [ "$(grep -c "record -p $running. samples it" err)" = 1 ] || fail "not said once of a process that runs"
    expect 1 "$SPROF" trace -p $running -o none.db --function '^compiled$'
    said 'compiles while it runs'
    touch end
    wait $running
    [ $? = 3 ] || fail "the program's exit status"
    for program in "./program 64" "./stacks 256"; do
        # shellcheck disable=SC2086
        traced program -- $program
        ! grep -q 'compiles while' got_err || fail "said of $program"
    done
    ;;
tails)
    cat >program.c <<'END'
#include <stdio.h>
__attribute__((noinline)) long odd(long n);
__attribute__((noinline)) long even(long n) { return n ? odd(n - 1) : 1; }
__attribute__((noinline)) long odd(long n) { return n ? even(n - 1) : 0; }
__attribute__((noinline)) long depth(long n) { return n ? 1 + depth(n - 1) * 2 % 7 : 0; }
int main(void) { printf("%ld %ld\n", even(2000001), depth(20000)); return 5; }
END
    gcc -O2 -fno-inline -g program.c -o program || fail "no compiler"
    traced program -- ./program
    calls program.db >found
    has even calls 1000001 && has odd calls 1000001 && has even tails 1000001 && has odd tails 1000000
    grep -q '^depth 20001$' found && has depth recursive 20000
    # Only the first goes on until all have returned: the others' time ends where they jump.
    has even tail_cuts 1000000 && has odd tail_cuts 1000000
    expect 0 "$SPROF" stats -i program.db
    grep -q 'where the total ends at the jump (tail-cuts): even 1000000, odd 1000000$' out || fail "not said that calls are cut"
    ;;
tails_left)
    # A signal's handler, which calls the same functions, leaves calls that jump and are jumped to by siglongjmp, at any instruction.
    cat >program.c <<'END'
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static sigjmp_buf back;
static volatile sig_atomic_t may_leave, jumps;
static volatile unsigned long sum;
#define NI __attribute__((noinline))
NI void leaf(void) { sum++; __asm__ volatile("nop; nop; nop; nop; nop"); }
NI void second(void) { sum += 2; leaf(); }
NI void first(void) { sum += 3; second(); }
static void leave(int number) { (void)number; first(); if (may_leave) { jumps++; siglongjmp(back, 1); } }
int main(void)
{
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, leave);
    setitimer(ITIMER_REAL, &often, 0);
    while (jumps < 2000) {
        if (!sigsetjmp(back, 1))
            for (may_leave = 1;;)
                first();
        may_leave = 0;
    }
    setitimer(ITIMER_REAL, &never, 0);
    first();
    puts("done");
    return 3;
}
END
    gcc -O2 -g program.c -o program || fail "no compiler"
    for options in "" --paths; do
        # shellcheck disable=SC2086
        traced program $options --function '^(first|second|leaf)$' -- ./program
        calls program.db >found
        for function in first second leaf; do has $function in_flight 0; done
    done
    ;;
tail_times)
    # Each function notes by a clock of its own how long it works before it jumps to the next; main, how long all of it takes.
    cat >program.c <<'END'
#include <stdio.h>
#include <time.h>
#define NI __attribute__((noinline))
static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}
static long took[4], whole;
NI static void wait_since(long begin, int which)
{
    while (now() < begin + 500000)
        ;
    took[which] += now() - begin;
}
NI void plain(void) { wait_since(now(), 3); __asm__ volatile(""); }
NI void last(void) { wait_since(now(), 2); plain(); __asm__ volatile(""); }
NI void second(void) { wait_since(now(), 1); last(); }
NI void first(void) { wait_since(now(), 0); second(); }
int main(void)
{
    for (int i = 0; i < 50; i++) {
        const long begin = now();
        first();
        whole += now() - begin;
    }
    FILE *out = fopen("took", "w");
    fprintf(out, "%ld %ld %ld %ld %ld\n", whole, took[0], took[1], took[2], took[3]);
    return 0;
}
END
    gcc -O2 -g program.c -o program || fail "no compiler"
    objdump -d --no-show-raw-insn program | grep -q 'jmp .*<second>$' || skip "the compiler makes no jump of a call at the end"
    chosen='^(first|second|last|plain)$'
    traced program --callers --warn-over '1500us:^(first|second|last)$' --function "$chosen" -- ./program
    cp took took_stats
    calls program.db >found
    has first tails 50 && has second tails 50 && has last tails 0 && has first tail_cuts 0 && has first in_flight 0
    python3 - <<'END' || fail "other times than the program's own"
import csv
whole, *took = map(int, open("took_stats").read().split())
rows = {row["function"]: row for row in csv.DictReader(open("stats.csv"))}
wanted = {name: (took[i], sum(took[i:])) for i, name in enumerate(("first", "second", "last", "plain"))}
wanted["first"] = took[0], whole
for name, (self_ns, total_ns) in wanted.items():
    for column, truth in (("self_ns", self_ns), ("total_ns", total_ns)):
        found = float(rows[name][column])
        assert abs(found - truth) < 0.02 * truth + 50000, f"{name}: {column} is {found}, not {truth}"
assert float(rows["first"]["min_ns"]) > 1.99e6, rows["first"]
assert float(rows["first"]["p50_ns"]) > 1.99e6, rows["first"]
END
    # What it is called by, and warned of, is what jumped to it, and how long both took.
    expect 0 "$SPROF" sql program.db "SELECT caller || ' ' || callee || ' ' || samples FROM v_edge"
    grep -q 'first second 50' out && grep -q 'second last 50' out && grep -q 'last plain 50' out || fail "other callers: $(cat out)"
    expect 0 "$SPROF" sql program.db "SELECT function || ' ' || count(*) FROM v_warning WHERE function <> 'last' GROUP BY function"
    grep -q 'first 50' out && grep -q 'second 50' out || fail "other warnings: $(cat out)"
    traced log --mode log --function "$chosen" -- ./program
    "$SPROF" sql log.db --format csv "SELECT function || ' ' || depth || ' ' || exit || ' ' || count(*) FROM v_call
        WHERE duration_ns > 500000 * (5 - depth) GROUP BY function, depth, exit ORDER BY depth" | tr -d '"\r' | tail -n +2 >found
    diff - found >out <<'END' || fail "another log: $(cat found)"
first 1 tail 50
second 2 tail 50
last 3 return 50
plain 4 return 50
END
    ;;
real)
    case $2 in
    xz)
        head -c 2000000 "$SPROF" >input
        traced program --module '*' -- xz -T2 -1 -c input
        ;;
    python)
        python=$(PATH=/usr/bin:/bin command -v python3) || skip "no python3"
        traced program --module '*' -- "$python" -c '
import json, os, subprocess, threading
data = json.loads(json.dumps({str(i): [i] * 5 for i in range(2000)}))
threads = [threading.Thread(target=lambda: sum(range(10000))) for _ in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(len(data), subprocess.run(["echo", "hi"], capture_output=True).stdout, flush=True)
for i in range(20):
    child = os.fork()
    if not child: os._exit(i)
    print(os.waitpid(child, 0)[1])
try: {}["x"]
except KeyError as error: print(error)
raise SystemExit(9)'
        ;;
    sqlite)
        traced program --module '*' -- sqlite3 :memory: 'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL
            SELECT x + 1 FROM c WHERE x < 20000) SELECT count(*), sum(x), max(x % 7) FROM c;'
        ;;
    bash)
        traced program --module '*' -- bash -c 'for i in {1..100}; do x=$(echo $i); done; echo $x
            ls / | wc -l; (echo sub; exit 3); echo $?; trap "echo usr1" USR1; kill -USR1 $$; exit 4'
        ;;
    git)
        git init -q repository && cd repository && git config user.email a@example.com && git config user.name a
        for i in 1 2 3; do echo $i >>file && git add file && git commit -qm "$i"; done
        traced program --module '*' -- git log -p --stat
        ;;
    openssl)
        head -c 300000 "$SPROF" >input
        traced program --module '*' -- openssl dgst -sha256 input
        traced program --module '*' -- openssl enc -aes-256-cbc -K "$(printf '%064d' 1)" -iv "$(printf '%032d' 1)" -in input
        ;;
    node)
        node=$(PATH=/usr/bin:/bin command -v node) || skip "no node"
        traced program --module '*' -- "$node" -e 'const data = [...Array(2000).keys()].map(n => ({n, t: "x" + n}));
            console.log(JSON.parse(JSON.stringify(data)).length); try { null.x } catch (error) { console.log(error.name) }
            setTimeout(() => process.exit(3), 1500)'
        grep -q 'walks stacks by itself' got_err || fail "not said that calls are only counted"
        grep -q 'compiles while it runs' got_err || fail "not said that its own code has no probes"
        ;;
    ocaml)
        command -v ocamlopt >/dev/null || skip "no ocamlopt"
        cat >program.ml <<'END'
exception Found of int
let rec find n = if n = 0 then raise (Found 3) else 1 + find (n - 1)
let rec down n = if n = 0 then [] else begin
    let rest = down (n - 1) in
    if n mod 100 = 0 then Gc.minor ();
    string_of_int n :: rest
  end
let rec endless n = 1 + endless (n + 1)
let rec many a b c d e = let x = many b c d e a in x + a * b + c * d + e
let overflows f = match f () with _ -> false | exception Stack_overflow -> true
let () =
  let found = ref 0 and length = ref 0 in
  for _ = 1 to 100 do try ignore (find 20) with Found n -> found := !found + n done;
  for _ = 1 to 20 do length := !length + List.length (down 1000) done;
  Gc.full_major ();
  for _ = 1 to 3 do
    Printf.printf "%b %b\n" (overflows (fun () -> endless 0)) (overflows (fun () -> many 1 2 3 4 5))
  done;
  Printf.printf "%d %d\n" !found !length;
  exit 5
END
        ocamlopt -g program.ml -o program || fail "no program"
        ulimit -s 1024
        traced program --module '*' -- ./program
        grep -q 'OCaml, which walks stacks by itself' got_err || fail "not said that calls are only counted"
        calls program.db >found
        grep -qE '^camlProgram__find_[0-9]+ 2100$' found && grep -qE '^camlProgram__down_[0-9]+ 20020$' found || fail "other calls"
        ;;
    fortran)
        cat >program.f90 <<'END'
program sums
    integer :: i
    double precision :: s
    s = 0
    do i = 1, 1000
        s = s + scaled(i)
    end do
    print *, s
    stop 3
contains
    double precision function scaled(n)
        integer, intent(in) :: n
        scaled = sqrt(dble(n)) * 2
    end function
end program
END
        gfortran -O0 -g program.f90 -o program || skip "no gfortran"
        traced program --module '*' -- ./program
        calls program.db | grep -q '1000$' || fail "not 1000 calls of scaled"
        ;;
    ada)
        cat >sums.adb <<'END'
with Ada.Text_IO;
procedure Sums is
   Bad : exception;
   Total : Integer := 0;
   procedure Add (N : Integer) is
   begin
      if N mod 10 = 7 then
         raise Bad;
      end if;
      Total := Total + N;
   end Add;
begin
   for I in 1 .. 1000 loop
      begin
         Add (I);
      exception
         when Bad => Total := Total - 1;
      end;
   end loop;
   Ada.Text_IO.Put_Line (Integer'Image (Total));
end Sums;
END
        gnatmake -q -O0 -g sums.adb >/dev/null 2>&1 || skip "no gnatmake"
        traced program --module '*' -- ./sums
        calls program.db | grep -q 'add.* 1000$' || fail "not 1000 calls of Add"
        ;;
    perl)
        traced program --module '*' -- perl -e 'my %h; $h{$_ % 1000} .= "x" for 1 .. 100000;
            print length(join "", values %h), "\n"; eval { die "a\n" }; print $@;
            local $SIG{ALRM} = sub { print "alarm\n" }; kill ALRM => $$; print `echo hello`; exit 2'
        ;;
    esac
    ;;
environment)
    # The command sees the environment and the descriptors that it would have untraced, and the trace's socket.
    export LD_PRELOAD=
    traced program --module '*' -- /usr/bin/env -u _ -u SPROF_CONTROL
    echo 'int nothing;' | gcc -shared -fPIC -x c - -o "$work/nothing.so" || fail "no compiler"
    export LD_PRELOAD=$work/nothing.so ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
    traced program -- /usr/bin/env -u _ -u SPROF_CONTROL
    unset LD_PRELOAD
    for SPROF_CONTROL in '' of/another/trace; do
        [ -z "$SPROF_CONTROL" ] || export SPROF_CONTROL
        expect 0 "$SPROF" trace -o socket.db -- /usr/bin/env
        [ "$(grep ^SPROF_CONTROL= out)" = "SPROF_CONTROL=$work/socket.db.ctl" ] || fail "not this trace's socket"
    done
    unset SPROF_CONTROL
    traced program --module '*' -- ls /proc/self/fd
    traced program --module '*' -- bash -c 'kill -TERM $$'
    ;;
children)
    cat >program.c <<'END'
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
__attribute__((noinline)) void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
__attribute__((noinline)) void fork_below(int n)
{
    if (n)
        return fork_below(n - 1);
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 1000; i++)
            work();
        return;
    }
    waitpid(child, 0, 0);
}
__attribute__((noinline)) void spawn(void)
{
    pid_t child = vfork();
    if (!child) {
        work();
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    waitpid(child, 0, 0);
    char *arguments[] = {"true", 0};
    posix_spawn(&child, "/bin/true", 0, 0, arguments, environ);
    waitpid(child, 0, 0);
}
int main(void)
{
    const pid_t self = getpid();
    for (int i = 0; i < 100 && getpid() == self; i++) {
        fork_below(5);
        if (getpid() == self)
            spawn();
        work();
    }
    printf("%d\n", getpid() == self);
    return 0;
}
END
    gcc -O0 -g program.c -o program || fail "no compiler"
    traced program -- ./program
    calls program.db >found
    # The forked children's thousand calls each are theirs; what runs between vfork and exec is the parent's.
    has work calls 200 && has fork_below calls 600 && has spawn calls 100 && has spawn in_flight 0
    traced program --module '*' -- ./program
    ;;
storm)
    # Threads by the thousand: N that live at once, or M in groups of so many. A third leaves by pthread_exit, with calls open.
    cat >program.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define NI __attribute__((noinline, noclone))
static pthread_barrier_t all_live;
static int lives;
NI long work(long n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
NI void leave(long n) { pthread_exit((void *)n); }
NI void *run(void *x)
{
    long n = 0;
    for (int i = 0; i < 10; i++)
        n = work(n);
    if (lives)
        pthread_barrier_wait(&all_live);
    else if ((long)x % 3 == 0)
        leave(n);
    return (void *)n;
}
int main(int count, char **arguments)
{
    static pthread_t threads[5000];
    const long wanted = atol(arguments[1]), group = atol(arguments[2]);
    pthread_attr_t small;
    long sum = 0;
    lives = count > 3;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all_live, NULL, (unsigned)group);
    for (long begun = 0; begun < wanted; begun += group) {
        for (long i = 0; i < group; i++)
            if (pthread_create(&threads[i], &small, run, (void *)(begun + i)))
                return 1;
        for (long i = 0; i < group; i++) {
            void *result;
            pthread_join(threads[i], &result);
            sum += (long)result;
        }
    }
    printf("%ld\n", sum);
    return 7;
}
END
    gcc -O1 -g -pthread program.c -o program || fail "no compiler"
    ./program 4400 4400 live >out
    [ $? = 7 ] || skip "4400 threads are not possible here"
    # More than have room for figures: what they call is counted all the same, and they say so.
    traced t --function '^(run|work)$' -- ./program 4400 4400 live
    said '[0-9]+ threads found no room for their figures: their calls were counted'
    calls t.db >found
    [ "$(cat found)" = "$(printf 'run 4400\nwork 44000')" ] || fail "other calls of many threads: $(cat found)"
    expect 0 "$SPROF" stats t.db
    grep -q 'only counted for lack of room' out || fail "stats do not say what was only counted"
    # Each call of a log is in it, or told as not logged.
    traced t --mode log --function '^(run|work)$' -- ./program 4400 4400 live
    said '[0-9]+ calls written down, [1-9][0-9 ]* not, for lack of room'
    [ "$(sql t.db 'SELECT (SELECT count(*) FROM v_call) + (SELECT sum(not_logged) FROM v_not_logged)')" = 48400 ] ||
        fail "calls are neither logged nor told"
    # As fast as they can: their slabs are used again, with what is in them.
    traced t --function '^(leave|run|work)$' -- ./program 40000 100
    calls t.db >found
    [ "$(cat found)" = "$(printf 'leave 13334\nrun 40000\nwork 400000')" ] || fail "other calls of a storm: $(cat found)"
    # Each call that was timed to its end is in one bucket, whoever had the slab before.
    python3 - <<'END' || fail "other durations than calls that have ended"
import sqlite3, struct
seen = 0
for row in sqlite3.connect("t.db").execute("SELECT calls - counted - in_flight, buckets, total_ns, self_ns FROM call_cost"):
    ended, buckets, total, self = row[0], row[1] or b"", row[2], row[3]
    seen += ended
    assert sum(struct.unpack("<%dI" % (len(buckets) // 4), buckets)) == ended, row
    assert self <= total + 1e6 and -1e6 < total < 120e9, row
assert seen > 40000, seen
END
    ;;
threads)
    cat >program.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void work(void) { KEEP; }
NI void below(int n, void (*last)(void)) { if (n) below(n - 1, last); else last(); KEEP; }
NI void leave(void) { pthread_exit(0); }
NI void wait_for_cancel(void) { for (;;) pause(); }
NI void cleanup(void *number) { work(); (void)number; }
NI void *leaves(void *x) { below(4, leave); return x; }
NI void *is_cancelled(void *x)
{
    pthread_cleanup_push(cleanup, 0);
    below(4, wait_for_cancel);
    pthread_cleanup_pop(0);
    return x;
}
NI void *works(void *x) { for (int i = 0; i < 100; i++) work(); return x; }
static volatile long handled;
NI void in_handler(void) { KEEP; }
static void handler(int number) { (void)number; in_handler(); __atomic_fetch_add(&handled, 1, 5); }

static ucontext_t main_context, contexts[2];
static char stacks[2][65536];
NI void step(int which) { below(3, work); swapcontext(&contexts[which], &main_context); KEEP; }
static void coroutine(int which) { for (int i = 0; i < 1000; i++) step(which); }

int main(void)
{
    pthread_t thread;
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct itimerval timer = {{0, 500}, {0, 500}};
    sigaltstack(&stack, 0);
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &timer, 0);
    for (int i = 0; i < 2000; i++) {
        pthread_create(&thread, 0, i % 2 ? works : leaves, 0);
        pthread_join(thread, 0);
    }
    for (int i = 0; i < 100; i++) {
        pthread_create(&thread, 0, is_cancelled, 0);
        pthread_cancel(thread);
        pthread_join(thread, 0);
    }
    for (int i = 0; i < 2; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = sizeof stacks[i];
        contexts[i].uc_link = 0;
        makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
    }
    for (int i = 0; i < 2000; i++)
        swapcontext(&main_context, &contexts[i % 2]);
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, 0);
    FILE *out = fopen("handled", "w");
    fprintf(out, "%ld\n", handled);
    fclose(out);
    puts("done");
    return 0;
}
END
    gcc -O1 -g -w -fno-optimize-sibling-calls -pthread program.c -o program || fail "no compiler"
    for modules in program '*'; do
        traced program --module "$modules" -- ./program
        calls program.db >found
        # A thousand threads with a hundred each, cleanups of those that were cancelled in time, coroutines.
        has works calls 1000 && has leaves calls 1000 && has step calls 2000 && has step in_flight 2
        has in_handler calls "$(cat handled)" && has in_handler in_flight 0
        worked=$((100000 + 2000 + $(sed -n 's/^cleanup //p' found)))
        has work calls $worked
        has leave calls 1000 && has below recursive $((4 * (1000 + 100) + 3 * 2000))
        # Below the table it says which of the rows hold the time in which coroutines were suspended.
        uncertain=$(sql program.db "SELECT uncertain FROM v_call_stats WHERE function LIKE 'step%'")
        [ "$uncertain" -gt 0 ] && has step uncertain "$uncertain" && has handler uncertain 0 || fail "$uncertain calls of step are uncertain"
        for by in function process; do
            expect 0 "$SPROF" stats program.db --by $by -n 1000
            grep -q '^self time includes time in which coroutines were suspended (uncertain): .*step' out || fail "coroutines are not named by $by"
        done
        expect 0 "$SPROF" stats program.db --sort calls -n 1
        ! grep -q 'coroutines' out || fail "coroutines are named that are not shown"
    done
    ;;
begun)
    # Handlers whose calls are the first of their threads, while these come to theirs.
    cat >program.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void work(void) { KEEP; }
static atomic_long handled;
static atomic_int begun, ended;
NI void in_handler(void) { KEEP; }
static void handler(int number) { (void)number; in_handler(); handled++; }
NI void *works(void *x) { for (int i = 0; i < 10; i++) work(); return x; }
static void *begins(void *x) { begun++; works(x); ended++; while (ended < 9) usleep(100); return x; }
int main(void)
{
    pthread_t threads[8];
    signal(SIGUSR1, handler);
    for (int round = 0; round < 100; round++) {
        begun = ended = 0;
        for (int i = 0; i < 8; i++) {
            pthread_create(&threads[i], 0, begins, 0);
            while (begun <= i)
                ;
            for (int k = 0; k < 20 && ended <= i; k++) pthread_kill(threads[i], SIGUSR1);
        }
        ended++;
        for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
    }
    FILE *out = fopen("handled", "w");
    fprintf(out, "%ld\n", (long)handled);
    fclose(out);
    return 0;
}
END
    gcc -O1 -g -w -pthread program.c -o program || fail "no compiler"
    for options in '' --paths '--mode log'; do
        traced program --function '!^begins$' $options -- ./program
        calls program.db >found
        has works calls 800 && has work calls 8000
        has handler calls "$(cat handled)" && has in_handler calls "$(cat handled)" && has in_handler in_flight 0
    done
    ;;
kinds)
    # Entries that a compiler prepared, and mechanisms named.
    cat >program.c <<'END'
#include <stdio.h>
__attribute__((noinline)) long twice(long n) { return n * 2 + (long)__builtin_frame_address(0) % 1; }
int main(void) { long s = 0; for (int i = 0; i < 1000; i++) s += twice(i); printf("%ld\n", s); return 0; }
END
    for flags in -fpatchable-function-entry=5 "-fpatchable-function-entry=16 -fcf-protection=full" \
        "-pg -mfentry -mnop-mcount -mrecord-mcount -fno-pie -no-pie" -fpatchable-function-entry=5,2; do
        # shellcheck disable=SC2086
        gcc -O1 -g $flags program.c -o program || fail "$flags"
        traced program -- ./program
        calls program.db >found
        has twice calls 1000
    done
    if command -v clang >/dev/null; then
        clang -O1 -g -fxray-instrument -fxray-instruction-threshold=1 program.c -o program 2>/dev/null ||
            skip "clang has no XRay"
        traced program -- ./program
        calls program.db >found
        has twice calls 1000
    fi
    ;;
gone)
    # Functions of a program that removes its own file, as temporary ones do, have names.
    cat >removes.c <<'END'
#include <unistd.h>
__attribute__((noinline)) long twice(long n) { __asm__ volatile("nop; nop; nop; nop; nop" : "+r"(n)); return n * 2; }
int main(int argc, char **argv)
{
    long s = 0;
    for (int i = 0; i < 100; i++) s += twice(i);
    usleep(300000);
    return argc != 1 || unlink(argv[0]) || s == 0;
}
END
    for flag in -Wl,--build-id=sha1 -Wl,--build-id=none; do
        gcc -O1 -g $flag removes.c -o removes || fail "no compiler"
        expect 0 "$SPROF" trace -o gone.db -- ./removes
        ! grep -q 'no names' err || fail "no names"
        calls gone.db >found
        has twice calls 100
    done
    ;;
packed)
    # Linkers that leave no gap in the file (lld, Rust's default) put the end of another segment into the first page of code.
    command -v ld.lld >/dev/null || skip "no lld"
    cat >library.c <<'END'
__attribute__((noinline)) long thrice(long n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
END
    cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
long thrice(long n);
__attribute__((noinline)) long twice(long n) { return thrice(n) + thrice(n + 1); }
int main(int argc, char **argv)
{
    long s = 0, rounds = atol(argv[1]);
    for (int i = 0; i < rounds && access("end", F_OK); i++) { s += twice(i); if (argc > 2) usleep(1000); }
    printf("%ld\n", argc > 2 ? 0 : s);
    return 0;
}
END
    gcc -O1 -g -shared -fPIC -fuse-ld=lld library.c -o libthrice.so &&
        gcc -O1 -g -fuse-ld=lld program.c -o program -L. -lthrice "-Wl,-rpath,$PWD" || fail "no compiler"
    readelf -lW program | awk '$1 == "LOAD" && / R E / && $2 != $3 && substr($2, length($2) - 2) != "000"' | grep -q . ||
        skip "this lld leaves gaps"
    traced program --module program --module 'libthrice*' -- ./program 1000
    calls program.db >found
    has main calls 1
    has twice calls 1000
    has thrice calls 2000
    ./program 1000000 slowly >out &
    children+=($!)
    late=$!
    wait_until 60 eval '[ "$(readlink /proc/$late/exe)" = "$PWD/program" ]'
    "$SPROF" trace -p $late -o late.db --module program --module 'libthrice*' --duration 300ms 2>err || fail "not attached"
    touch end
    wait $! || fail "the program's exit status"
    grep -qx 0 out || fail "the program's output"
    calls late.db >found
    awk '{ n[$1] = $2 } END { exit !(n["twice"] > 0 && n["thrice"] >= 2 * n["twice"] - 2 && n["thrice"] <= 2 * n["twice"] + 2) }' \
        found || fail "calls of a running program"
    ;;
gotos)
    # Labels among a function's first bytes, which nothing leads to but sums of a label's address and what stands in tables,
    # functions that take more than their return address off the stack, and those that are jumped to where there is none on it.
    cat >program.c <<'END'
#include <stdio.h>
int takes(int), far(int);
#define BODY(next) inc: a++; next; dbl: a += a; next; end: return a;
#define FUNCTION(name) __attribute__((noipa)) static int name(int a, const unsigned char *pc)
FUNCTION(by_int) { static const int to[] = {&&inc - &&end, &&dbl - &&end, 0}; BODY(goto *(&&end + to[*pc++])) }
FUNCTION(by_char) { static const signed char to[] = {&&inc - &&end, &&dbl - &&end, 0}; BODY(goto *(&&end + to[*pc++])) }
FUNCTION(by_choice) { void *to; BODY(to = !*pc ? &&inc : *pc == 1 ? &&dbl : &&end; pc++; goto *to) }
FUNCTION(by_frame)
{
    static void *const to[] = {&&inc, &&dbl, &&end};
    int b = takes(a);
    goto *to[*pc++];
inc: a += takes(b); goto *to[*pc++];
dbl: b += takes(a); goto *to[*pc++];
end: return a + b;
}
__asm__(".text\n.type takes,@function\ntakes: .cfi_startproc\npush %rdi\n.cfi_adjust_cfa_offset 8\ncall 1f\n"
        ".cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size takes,.-takes\n"
        ".type pops,@function\npops: 1: .cfi_startproc\nmov 8(%rsp),%eax\nadd $11,%eax\nret $8\n.cfi_endproc\n.size pops,.-pops\n"
        ".type far,@function\nfar: .cfi_startproc\nmov %cs,%ecx\nlea 3f(%rip),%rax\npush %rcx\n.cfi_adjust_cfa_offset 8\npush %rax\n"
        ".cfi_adjust_cfa_offset 8\njmp 2f\n3: .cfi_adjust_cfa_offset -16\nret\n.cfi_endproc\n.size far,.-far\n"
        ".type returns_far,@function\nreturns_far: 2: .cfi_startproc\nlea 1(%rdi),%eax\nnop\nnop\nlretq\n.cfi_endproc\n"
        ".size returns_far,.-returns_far\n");
int main(void)
{
    static const unsigned char code[] = {0, 1, 0, 0, 1, 1, 2};
    int s = 0;
    for (int i = 0; i < 1000; i++)
        s += by_int(i, code) + by_char(i, code) + by_choice(i, code) + by_frame(i, code) + takes(i) + far(i);
    printf("%d\n", s);
    return 3;
}
END
    for flags in "-pie -fPIE" "-no-pie -fno-pie" "-pie -fPIE -mindirect-branch=thunk -mfunction-return=thunk" \
        "-pie -fPIE -mindirect-branch=thunk-inline -mfunction-return=thunk-inline"; do
        for level in -O1 -Os; do
            # shellcheck disable=SC2086
            gcc -w $level $flags program.c -o program || fail "no compiler"
            traced program -- ./program
            calls program.db >found
            has takes calls 8000 && has pops calls 8000 && has far calls 1000 && has returns_far calls 1000
        done
    done
    ;;
profiled)
    # Programs for gprof note who calls whom by return addresses.
    cat >program.c <<'END'
#include <stdio.h>
#define NI __attribute__((noipa))
NI int leaf(int n) { return n * 3 + 1; }
NI int left(int n) { return leaf(n) + leaf(n + 1); }
NI int right(int n) { return leaf(n) ^ left(n); }
NI __attribute__((no_instrument_function)) int jumps(int n) { return right(n); }
int main(void)
{
    int s = 0;
    for (int i = 0; i < 1000; i++) s += left(i) + jumps(i);
    printf("%d\n", s);
    return 3;
}
END
    cat >arcs.py <<'END'
import struct, sys
text, at = open("gmon.out", "rb").read(), 20
arcs = []
while at < len(text):
    if text[at] == 0:  # samples
        at += 41 + 2 * struct.unpack_from("<I", text, at + 17)[0]
    else:
        arcs.append(struct.unpack_from("<QQI", text, at + 1))
        at += 21
print(*sorted(arcs), sep="\n")
END
    for flags in "-pg" "-pg -mfentry" "-pg -static"; do
        # shellcheck disable=SC2086
        gcc -O2 -no-pie -fno-pie $flags program.c -o program || fail "no compiler"
        ./program >out
        python3 arcs.py >wanted
        [ "$(wc -l <wanted)" -ge 5 ] || fail "the program notes nothing"
        traced program --module '*' -- ./program
        python3 arcs.py | diff wanted - >out || fail "$flags: other calls than untraced"
        calls program.db >found
        has leaf calls 5000 && has left calls 2000
    done
    ;;
unwound)
    # Exceptions that nongnu libunwind takes through the stack, because it comes before libgcc_s: it would end at thunks.
    cat >program.cc <<'END'
#include <cstdio>
#include <exception>
#include <thread>
#include <unistd.h>
#define NI __attribute__((noipa))
static thread_local int left;
struct Guard { NI ~Guard() { left++; } };
NI int plain(int n) { volatile int more = 1; return n + more; }
NI int deep(int n) { Guard guard; if (!n) throw 5; return deep(plain(n) - 2) + 1; }
NI int again(int n) { try { return deep(n); } catch (int e) { if (plain(n) & 1) throw; std::rethrow_exception(std::current_exception()); } }
NI int catches(int n) { left = 0; try { return again(n); } catch (int e) { return plain(e) + left; } }
NI int all(int rounds) { int s = 0; for (int i = 0; i < rounds; i++) s += catches(i % 20); return s; }
int main(int count, char **)
{
    int sums[2];
    std::thread other([&] { sums[1] = all(200); });
    sums[0] = all(200);
    other.join();
    printf("%d %d\n", sums[0], sums[1]);
    while (count > 1 && access("enough", F_OK)) { all(20); usleep(500); } /* a thread is borrowed where it waits */
    return 3;
}
END
    g++ -O1 -pthread program.cc -o program -Wl,--no-as-needed -lunwind 2>out || skip "no libunwind"
    LD_DEBUG=bindings ./program 2>bindings >wanted
    grep -q 'to .*/libunwind.*_Unwind_RaiseException' bindings || fail "another unwinder"
    for options in "" "--paths" "--mode log" "--module *"; do
        set -f
        # shellcheck disable=SC2086
        "$SPROF" trace $options -o program.db -- ./program >out 2>err
        status=$?
        set +f
        [ $status = 3 ] && diff wanted out >/dev/null || fail "$options: $status"
        calls program.db >found
        has catches calls 400 && has again calls 400 && has deep calls 4200 && has plain calls 4600 || fail "$options: calls differ"
        rm -f program.db
    done
    ./program goes on >out &
    program=$!
    children+=("$program")
    wait_until 60 eval '[ "$(readlink /proc/$program/exe)" = "$PWD/program" ]'
    for round in 1 2 3 4 5 6; do
        "$SPROF" trace -p $program -o program.db --duration 0.$((RANDOM % 3))5s 2>err || fail "round $round: not attached"
        kill -0 $program 2>/dev/null || break
    done
    touch enough
    wait $program
    status=$?
    [ $status = 3 ] && diff wanted out >/dev/null || fail "attached: $status"
    ;;
suspended)
    # Coroutines that stand still when their thread's data is shared, or when it gives up the processor's counter, return to
    # where they were called.
    cat >program.c <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define NI __attribute__((noinline))
enum { COUNT = 8 };
static ucontext_t caller, coroutines[COUNT];
static void *caller_at, *at[COUNT];
static char stacks[COUNT][65536], child_stack[65536];
static int current, by_own, results[COUNT];
static volatile int ends;
/* As Boost.Context does it. */
void own_switch(void **from, void *to);
__asm__(".text; .type own_switch, @function; own_switch: .cfi_startproc; push %rbp; .cfi_adjust_cfa_offset 8; push %rbx; .cfi_adjust_cfa_offset 8;"
        "push %r12; .cfi_adjust_cfa_offset 8; push %r13; .cfi_adjust_cfa_offset 8; push %r14; .cfi_adjust_cfa_offset 8; push %r15;"
        ".cfi_adjust_cfa_offset 8; mov %rsp, (%rdi); mov %rsi, %rsp; pop %r15; .cfi_adjust_cfa_offset -8; pop %r14; .cfi_adjust_cfa_offset -8;"
        "pop %r13; .cfi_adjust_cfa_offset -8; pop %r12; .cfi_adjust_cfa_offset -8; pop %rbx; .cfi_adjust_cfa_offset -8; pop %rbp;"
        ".cfi_adjust_cfa_offset -8; ret; .cfi_endproc; .size own_switch, . - own_switch");
NI int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
NI void leave(void) { if (by_own) own_switch(&at[current], caller_at); else swapcontext(&coroutines[current], &caller); __asm__ volatile(""); }
NI void resume(int i) { current = i; if (by_own) own_switch(&caller_at, at[i]); else swapcontext(&caller, &coroutines[i]); __asm__ volatile(""); }
NI int deep(int n) { int below = 0; if (n) below = deep(n - 1); else { leave(); leave(); } return leaf(below); }
static void body(void) { const int own = current; results[own] = deep(5); leave(); abort(); }
static void make(int i)
{
    void **top = (void **)(((uintptr_t)stacks[i] + sizeof stacks[i]) & -16) - 2;
    getcontext(&coroutines[i]);
    coroutines[i].uc_stack.ss_sp = stacks[i];
    coroutines[i].uc_stack.ss_size = sizeof stacks[i];
    makecontext(&coroutines[i], body, 0);
    *top = (void *)body;
    at[i] = top - 6;
}
static int other(void *nothing) { while (!ends) usleep(1000); _exit(4); }
int main(int count, char **words)
{
    int status, child = 0;
    const int shares = !getenv("CLOCK");
    by_own = count > 1;
    for (int i = 0; i < COUNT; i++) { make(i); resume(i); }
    resume(0);
    if (shares) child = clone(other, child_stack + sizeof child_stack, CLONE_VM | SIGCHLD, 0);
    else if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) return 7;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < COUNT; i++) if (!results[i]) resume(i);
    for (int i = 0; i < COUNT; i++) if (results[i] != 6) return 5;
    ends = 1;
    if (shares && (waitpid(child, &status, 0) != child || status != 4 << 8)) return 6;
    puts("all have returned");
    return 3;
}
END
    gcc -O1 -g -w -fno-optimize-sibling-calls program.c -o program || fail "no compiler"
    for how in "" own; do
        for options in "" --paths "--mode log" "--module *"; do
            set -f
            # shellcheck disable=SC2086
            "$SPROF" trace $options -o program.db -- ./program $how >out 2>err
            status=$?
            set +f
            [ $status = 3 ] && grep -q 'all have returned' out || fail "$how $options: $status"
            grep -q 'with the thread-local data of the one' err || fail "$how $options: nobody shares it"
            rm -f program.db
            set -f
            # shellcheck disable=SC2086
            CLOCK=1 "$SPROF" trace $options -o program.db -- ./program $how >out 2>err
            status=$?
            set +f
            [ $status = 3 ] && grep -q 'all have returned' out || fail "$how $options: without the counter: $status"
            rm -f program.db
        done
    done
    ;;
follow)
    # While the command runs its figures can be read, more each time.
    cat >program.c <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
int main(void) { while (access("end", F_OK)) { work(); usleep(1000); } puts("done"); return 3; }
END
    gcc -O1 -g program.c -o program || fail "no compiler"
    "$SPROF" trace -o t.db -- ./program >trace.out 2>trace.err &
    recorder=$!
    children+=("$recorder")
    # Exactly one row, for work, and as often as it is shown no smaller number.
    wait_until 60 eval '"$SPROF" stats -i t.db --format csv 2>err | grep -q "^.*work"'
    "$SPROF" report -i t.db >out 2>err && grep -q 'running, as of' out || fail "no report while it runs"
    "$SPROF" stats -i t.db --follow --interval 0.2s --format csv >followed 2>err &
    follower=$!
    children+=("$follower")
    wait_until 60 eval '[ "$(grep -c work followed)" -ge 4 ]'
    touch end
    wait "$recorder"
    [ $? = 3 ] || fail "the command's exit status"
    wait "$follower" || fail "following ended with $?"
    python3 - <<'END' || fail "figures while it runs"
import csv
rows = [row for row in csv.DictReader(open("followed")) if row["function"] == "work"]
calls = [int(row["calls"]) for row in rows]
assert calls == sorted(calls) and calls[-1] > calls[0] > 0, calls
END
    expect 2 "$SPROF" stats -i t.db --interval 1s && said 'needs --follow'
    ;;
refused)
    printf 'int main(void) { return 0; }\n' >program.c
    gcc program.c -o program && gcc -static -s program.c -o static || fail "no compiler"
    expect 2 "$SPROF" trace && said 'nothing to trace'
    expect 1 "$SPROF" trace --backend inject --all-points -- ./static && said 'with --all-points: it is linked statically'
    expect 1 "$SPROF" trace --mode log -- ./static && said 'with --mode: it has no symbols'
    expect 127 "$SPROF" trace -- ./missing && said 'not found'
    # Limits of sprof's own: what it prints does not go into a file, which could not grow.
    for limit in "-n 16" "-f 0"; do
        # shellcheck disable=SC2016
        bash -c 'ulimit $1; exec "$0" trace -o none.db -- ./program' "$SPROF" "$limit" 2>&1 | cat >err
        [ "${PIPESTATUS[0]}" = 1 ] && said "raise .ulimit ${limit% *}"
    done
    expect 2 "$SPROF" trace --function '(' -- ./program && said 'parenthesis'
    expect 1 "$SPROF" trace --function 'maim' -- ./program && said 'finds none of .*main'
    expect 1 "$SPROF" trace --adaptive --root '^usleep$' --over 1ms -- ./program && said 'root .* finds none of .*; --module lib.* has usleep'
    for option in function children-of module; do
        expect 2 "$SPROF" trace --$option '' -- ./program && said "$option : the value is empty"
    done
    expect 1 "$SPROF" trace --system-module '*' -- ./program && said 'is a system module by --system-module.*--module'
    expect 0 "$SPROF" trace -o none.db --module 'nothing*' -- ./program && said 'matches nothing'
    ! grep -q 'near it' err || fail "something is near a module that there is not"
    expect 0 "$SPROF" trace -o none.db --module 'porgram*' -- ./program && said "'porgram\*' matches nothing .*near it: program"
    rm -f none.db
    ! ls ./*.db >/dev/null 2>&1 || fail "a recording was left"
    # What is appended to is as it was.
    expect 0 "$SPROF" trace -o kept.db -- ./program
    calls kept.db >before
    for options in "127 -- ./missing" "1 --function maim -- ./program" "1 -p $$ --function ^no_such_function$"; do
        # shellcheck disable=SC2086
        expect ${options%% *} "$SPROF" trace -o kept.db --append ${options#* }
        calls kept.db | diff - before >&2 || fail "$options: other figures"
        expect 0 "$SPROF" sql kept.db --format csv "SELECT count(*) FROM run"
        [ "$(tail -n 1 out | tr -d '\r')" = 1 ] || fail "$options: a run was left: $(cat out)"
    done
    rm -f kept.db*
    for compiler in "gcc -fsanitize=address" "gcc -fsanitize=thread" "clang -fsanitize=memory"; do
        $compiler program.c -o sanitized 2>/dev/null &&
            expect 1 "$SPROF" trace --backend inject -- ./sanitized && said 'sanitizer'
    done
    if command -v musl-gcc >/dev/null; then
        musl-gcc program.c -o musl && expect 1 "$SPROF" trace --backend inject --all-points -- ./musl && said "glibc's loader"
    fi
    if gcc -m32 program.c -o small 2>/dev/null; then
        expect 1 "$SPROF" trace -- ./small && said 'processor or word size'
    fi
    expect 1 "$SPROF" stats missing.db && said 'no recording missing.db; make one with .*sprof trace'
    ;;
far) # Code far from the rest of it has a segment of its own: one file, whose unwinder is one, and whose names are right.
    command -v gcc >/dev/null || skip "no gcc"
    cat >program.c <<'END'
#define FAR(name) __attribute__((section(name), noipa))
static volatile int sink;
FAR(".text.far") void in_far(void) { sink++; }
FAR(".farther") void in_farther(void) { in_far(); in_far(); sink++; }
__attribute__((noipa)) void in_text(void) { in_farther(); sink++; }
int main(void) { for (int i = 0; i < 5; i++) in_text(); return 0; }
END
    for flags in "-static -no-pie" "-no-pie" "-pie -fPIE"; do
        rm -f program.db
        # shellcheck disable=SC2086
        gcc -O1 -g $flags -Wl,--section-start=.farther=0x5000000 program.c -o program || fail "gcc $flags"
        expect 0 "$SPROF" trace -o program.db --function '^in_' -- ./program
        calls program.db >found
        [ "$(cat found)" = "in_far 10
in_farther 5
in_text 5" ] || fail "$flags: other calls: $(cat found)"
    done
    ;;
loaders) # A loader that is a command runs the program of its arguments, which is traced.
    command -v gcc >/dev/null || skip "no gcc"
    cat >program.c <<'END'
static volatile int sink;
__attribute__((noipa)) void work(void) { sink++; }
int main(int count, char **arguments)
{
    for (int i = 0; i < count * 10; i++)
        work();
    return sink != count * 10 || !arguments[0];
}
END
    for flags in -pie -no-pie; do
        gcc -O1 -g $flags program.c -o program || fail "gcc $flags"
        loader=$(readelf -lW program | sed -n 's/.*interpreter: \(.*\)]/\1/p')
        expect 0 "$SPROF" trace -o program.db --function '^work' -- "$loader" --argv0 other ./program argument
        calls program.db >found
        [ "$(cat found)" = "work 20" ] || fail "$flags: other calls: $(cat found)"
    done
    expect 0 "$SPROF" trace --children -o child.db --function '^work' -- sh -c "$loader $PWD/program; exit 0"
    calls child.db >found
    [ "$(cat found)" = "work 10" ] || fail "as a child: other calls: $(cat found)"
    # Without a choice, the functions of this program are the ones, as when it is started by itself.
    expect 0 "$SPROF" trace -o program.db -- "$loader" ./program
    calls program.db >found
    grep -qx 'work 10' found && grep -qx 'main 1' found || fail "other functions: $(cat found)"
    expect 1 "$SPROF" trace --backend inject -- "$loader" --version
    said 'no program follows it'
    expect 1 "$SPROF" trace --backend uprobe -- "$loader" ./program
    said 'program of the loader .*own file' && said '`sprof trace -- ./program` can'
    gcc -O1 -static program.c -o fixed && expect 1 "$SPROF" trace -- "$loader" ./fixed
    said 'fixed as a program of the loader .*own file'
    ;;
*)
    fail "no such case: $1"
    ;;
esac
