#!/bin/bash
# sprof trace --all-points: places that call are probed, too, and tell nothing that functions' entries do not.
#   points.sh random LANGUAGE COMPILER | known | slots | refused
set -u
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# pairs FILE: "caller callee calls", sorted. With --all-points a direct call's caller is the function that its place is in.
pairs() {
    "$SPROF" sql "$1" --format csv "SELECT a.name AS caller, b.name AS callee, e.samples AS calls FROM edge_cost AS e
        JOIN function AS a ON a.id = e.caller_function_id JOIN function AS b ON b.id = e.callee_function_id" \
        >pairs.csv 2>err || fail "no pairs"
    sort pairs.csv
}

# points WORD: how many call points the last trace had, or calls through them.
points() {
    case $1 in
    places) sed -n 's/^sprof: \([0-9]*\) call points\?, and .*/\1/p' got_err ;;
    calls) sed -n 's/^sprof: .* call points\?, and \([0-9 ]*\) calls\? through them$/\1/p' got_err | tr -d ' ' ;;
    esac
}

# same NAME EXPRESSION COMMAND…: as many calls of each function and by each caller, with call points and without.
same() {
    local name=$1 expression=$2
    shift 2
    traced minimal --callers --function "$expression" -- "$@"
    calls minimal.db >calls_minimal
    pairs minimal.db >pairs_minimal
    traced all --callers --all-points --function "$expression" -- "$@"
    calls all.db >calls_all
    pairs all.db >pairs_all
    diff calls_minimal calls_all >out || fail "$name: other calls with --all-points"
    diff pairs_minimal pairs_all >out || fail "$name: other callers with --all-points"
}

case $1 in
random)
    suffix=c
    [ "$2" = c ] || suffix=cc
    command -v "$3" >/dev/null || skip "no $3"
    for seed in $([ "$2" = c ] && echo 11 || echo 12); do
        python3 "$here/generate.py" "$2" "$seed" >program.$suffix || fail "no program"
        for flags in "-O1 -fno-plt" "-O3 -fomit-frame-pointer -fcf-protection=full -no-pie"; do
            # shellcheck disable=SC2086
            "$3" $flags -g -w -pthread program.$suffix -o program || fail "$3 $flags"
            same "seed $seed, $3 $flags" '^f[0-9]' ./program log
            sort log | diff - calls_all >out || fail "seed $seed, $3 $flags: other calls than there were"
            [ "$(points calls)" -gt 1000 ] || fail "seed $seed, $3 $flags: call points saw $(points calls) calls"
        done
        # In the log, too, where every call has a row or counts as not logged.
        traced log --all-points --mode log --function '^f[0-9]' -- ./program log
        rows log.db >found
        sort log | diff - found >out || fail "other calls in the log"
    done
    ;;
known)
    # Direct calls, one through a pointer and one by a jump, which are no call points; nor is a call among a function's first
    # five bytes, which its own probe moves.
    cat >program.c <<'END'
#include <stdio.h>
#define NI __attribute__((noinline))
NI long leaf(long x) { __asm__ volatile("" : "+r"(x)); return x * 3 + 1; }
NI long loop(long x) { long sum = 0; for (int i = 0; i < 3; i++) sum += leaf(x + i); return sum; }
NI long both(long x) { __asm__ volatile("nop; nop; nop; nop; nop"); long sum = loop(x); sum += leaf(sum); return sum + loop(1); }
NI long jumps(long x) { x++; __asm__ volatile("" : "+r"(x)); return leaf(x); }
NI long deep(long n) { long below = n ? deep(n - 1) : leaf(0); __asm__ volatile("" : "+r"(below)); return below + 1; }
static long (*volatile pointer)(long) = leaf;
int main(void)
{
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += both(i) + jumps(i) + pointer(i) + deep(9);
    printf("%ld\n", sum);
    return 7;
}
END
    for flags in "-O1 -foptimize-sibling-calls" "-O1 -foptimize-sibling-calls -no-pie"; do
        # shellcheck disable=SC2086
        gcc $flags -g program.c -o program || fail "no compiler"
        same "$flags" '!^(_|main)' ./program
        "$SPROF" stats -i all.db --format csv >stats.csv 2>err || fail "no stats"
        has leaf calls 10000
        # In loop one, in both three, in deep two: 6 000, 3 000 and 10 000. main is not chosen.
        [ "$(points places):$(points calls)" = 6:19000 ] || fail "$flags: $(points places) places, $(points calls) calls"
        traced all --all-points -- ./program
        [ "$(points calls)" -gt 19000 ] || fail "$flags: $(points calls) calls with those of main"
    done
    # What is off measures nothing, and the program is the same.
    traced off --all-points --paused -- ./program
    [ "$(points calls)" = 0 ] || fail "paused: $(points calls) calls"
    ;;
slots)
    # Calls into a library that is traced, and through it back; and such that must not be touched: setjmp, vfork.
    cat >own.cc <<'END'
#define NI __attribute__((noinline))
extern "C" NI long inner(long n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
extern "C" NI long own(long n) { return inner(n) * 2; }
extern "C" NI long calls_back(long (*back)(long), long n) { return back(n) + inner(n); }
extern "C" NI long third(long n) { return inner(n) * 3; }
extern "C" NI long second(long n) { return third(n + 2); }
extern "C" NI long first(long n) { return second(n + 1); }
extern "C" NI long leaves(long (*back)(long), long n) { return back(n); }
extern "C" NI long pong(long n);
extern "C" NI long ping(long n) { return n ? pong(n - 1) : inner(0); }
extern "C" NI long pong(long n) { return n ? ping(n - 1) : inner(1); }
END
    cat >program.cc <<'END'
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline))
extern "C" long own(long n), calls_back(long (*back)(long), long n), first(long n), leaves(long (*back)(long), long n), ping(long n);
static jmp_buf place;
extern "C" NI long throws(long n) { if (n % 3 == 0) throw n; if (n % 3 == 1) longjmp(place, 1); return n; }
extern "C" NI long catches(long n)
{
    try { return setjmp(place) ? 5 : calls_back(throws, n); } catch (long thrown) { return thrown; }
}
extern "C" NI long uses(long n) { return own(n) + own(n + 1); }
extern "C" NI long jumps(long n) { return own(n ^ 1); }
extern "C" NI long jumps_far(long n) { return first(n ^ 1); }
extern "C" NI long jumps_away(long n) { return leaves(throws, n); }
extern "C" NI long catches_far(long n)
{
    try { return setjmp(place) ? 5 : jumps_away(n); } catch (long thrown) { return thrown; }
}
extern "C" NI int forks(void)
{
    int status = 0;
    const pid_t child = vfork();
    if (!child)
        _exit(3);
    waitpid(child, &status, 0);
    const pid_t other = fork();
    if (!other)
        _exit((int)uses(1) % 100);
    int second = 0;
    waitpid(other, &second, 0);
    return WEXITSTATUS(status) + WEXITSTATUS(second);
}
int main()
{
    long sum = 0;
    for (long i = 0; i < 300; i++)
        sum += uses(i) + jumps(i) + catches(i) + jumps_far(i) + catches_far(i);
    for (int i = 0; i < 5; i++)
        sum += forks() + ping(200 + i);
    printf("%ld %s\n", sum, getenv("LD_BIND_NOW") ? "bound" : "lazy");
}
END
    g++ -O1 -foptimize-sibling-calls -fPIC -shared own.cc -o libown.so || fail "no compiler"
    for flags in "-O2 -Wl,-z,lazy" "-O2 -Wl,-z,now -Wl,-z,relro"; do
        # shellcheck disable=SC2086
        g++ $flags -g program.cc -o program -L. -lown -Wl,-rpath,"$PWD" || fail "no compiler"
        tracing=(--module program --module libown.so)
        same "$flags" '^(inner|own|calls_back|throws|catches|uses|jumps.*|forks|first|second|third|leaves|catches_far)$' ./program
        "$SPROF" stats -i all.db --format csv >stats.csv 2>err || fail "no stats"
        has own calls 900
        has inner calls 1305
        for pair in jumps,own jumps_far,first first,second second,third third,inner jumps_away,leaves; do
            grep -q "^$pair,300" pairs_all || fail "$flags: no 300 calls $pair"
        done
        [ "$(points calls)" -ge 2000 ] || fail "$flags: $(points calls) calls"
        traced all --all-points -- ./program
        for function in ping pong; do # circles, which are cut
            "$SPROF" stats -i all.db --format csv >stats.csv 2>err || fail "no stats"
            has $function calls $([ $function = ping ] && echo 509 || echo 506)
        done
        tracing=(--module '*')
        traced all --all-points -- ./program
    done
    ;;
refused)
    cat >program.c <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
__attribute__((noinline)) int step(int n) { return leaf(n) ^ leaf(n + 1); }
int main(void)
{
    int sum = 0;
    char byte;
    puts("begun");
    fflush(stdout);
    while (read(0, &byte, 1) == 1)
        for (int i = 0; i < 1000; i++)
            sum += step(i);
    printf("%d\n", sum);
    return 5;
}
END
    gcc -O1 -g program.c -o program || fail "no compiler"
    for options in "-p $$" "--children -- ./program" "--backend uprobe -- ./program"; do
        # shellcheck disable=SC2086
        "$SPROF" trace --all-points $options </dev/null >out 2>err
        [ $? = 2 ] || fail "$options: not refused"
        grep -q 'does not go with' err || fail "$options: no cure"
    done
    "$SPROF" trace --help | grep -q all-points && fail "the option is offered"
    printf '%3000s' '' | ./program >want
    # The probes cannot be taken out; the command goes on.
    mkfifo bytes
    exec 7<>bytes
    "$SPROF" trace --all-points -o run.db -- ./program <bytes >got 2>err 7>&- &
    tracer=$!
    children+=($tracer)
    until grep -q begun got; do kill -0 $tracer 2>/dev/null || fail "no trace"; sleep 0.05; done
    printf '%1000s' '' >&7
    "$SPROF" ctl -i run.db detach >out 2>err && fail "detached"
    grep -q 'stay until the command ends' err || fail "no reason"
    # Nor after the tracer was killed: they are off then.
    pid=$(pgrep -P $tracer -x program) || fail "no program"
    printf '%1000s' '' >&7
    kill -9 $tracer
    wait $tracer 2>/dev/null
    "$SPROF" ctl -p "$pid" detach >out 2>err && fail "detached after the tracer was killed"
    printf '%1000s' '' >&7
    exec 7>&-
    for ((i = 0; i < 600; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    cmp -s want got || fail "other output after the tracer was killed"
    ;;
esac
