#!/bin/bash
# sprof trace --warn-over, --watchdog and --stack-check: a row and a line for each call that takes too much.
#   warnings.sh slow | names | stuck | stack | bad
set -u
. "$(dirname "$0")/../system/lib.sh"

cat >program.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NI __attribute__((noinline))
NI void quick(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
NI void slow(unsigned ms) { usleep(ms * 1000); __asm__ volatile(""); }
NI void stuck(void)
{
    char byte;
    while (read(0, &byte, 1) > 0)
        quick();
    __asm__ volatile("");
}
NI int deep(int n)
{
    char room[4096];
    memset(room, n, sizeof room);
    const int below = n ? deep(n - 1) : 0;
    __asm__ volatile("" ::"r"(room) : "memory");
    return below + room[5];
}
static void *run(void *depth)
{
    deep(3);
    deep(atoi(depth));
    deep(3);
    return 0;
}
int main(int count, char **arguments)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (!strcmp(arguments[1], "slow")) {
        for (int i = 0; i < 1000; i++)
            quick();
        slow(1);
        slow(300);
        slow(400);
    } else if (!strcmp(arguments[1], "stuck"))
        stuck();
    else {
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 256 << 10);
        pthread_create(&thread, &attributes, run, arguments[2]);
        pthread_join(thread, 0);
        deep(20); /* of the main thread's stack that is little */
    }
    return 5 * (count > 0);
}
END
gcc -O1 -g -fno-optimize-sibling-calls program.c -o program -pthread || fail "no compiler"

traced() { # OPTION… -- COMMAND…
    expect 5 "$SPROF" trace -o t.db --function '^(quick|slow|stuck|deep)$' "$@" </dev/null
}
count() { # CONDITION
    sql t.db "SELECT count(*) FROM v_warning WHERE $1"
}

case $1 in
slow)
    # The machine may hold the short call up, too; whatever took longer is told, and nothing else.
    traced --warn-over 200ms:^slow$ --warn-over 1h -- ./program slow
    [ "$(count "kind = 'slow' AND value >= 300000000")" -ge 2 ] || fail "not both slow calls are told"
    [ "$(count "value >= 400000000")" -ge 1 ] || fail "the slowest call is not told"
    [ "$(count "function <> 'slow' OR value <= bound OR bound NOT BETWEEN 199000000 AND 201000000")" = 0 ] ||
        fail "a warning of something else: $(sql t.db 'SELECT * FROM v_warning')"
    [ "$(sql t.db "SELECT max(w.value) BETWEEN 0.99 * max(s.max_ns) AND 1.01 * max(s.max_ns) FROM v_warning w, v_call_stats s
        WHERE s.function = 'slow'")" = 1 ] || fail "the slowest call took something else"
    said 'slow: slow took [1-9][0-9]{2,} ms, more than 200 ms' # three digits
    said '[23] warnings'
    expect 0 "$SPROF" stats t.db --warnings
    grep -qE 'slow +[0-9.]+ ms +200.000 ms' out || fail "the table does not show them"
    # Who it was is known where callers are told apart, too.
    for tree in --callers --paths; do
        expect 5 "$SPROF" trace $tree -o t.db --warn-over 200ms:^slow$ -- ./program slow
        [ "$(sql t.db "SELECT count(*) >= 2 AND min(function = 'slow' AND module = 'program') FROM v_warning")" = 1 ] ||
            fail "warnings of nobody with $tree: $(sql t.db 'SELECT * FROM v_warning')"
    done
    expect 0 "$SPROF" stats t.db --warnings --format csv
    [ "$(head -1 out | tr -d '\r')" = time_ns,kind,function,module,value,bound,pid,tid,thread ] || fail "other columns"
    # Of a child, too.
    traced --children --warn-over 200ms:^slow$ -- sh -c './program slow'
    [ "$(count "kind = 'slow' AND value >= 300000000")" -ge 2 ] || fail "slow calls of the child are not told"
    # Threads that have ended before their names could be read have none, which looks like it everywhere.
    cat >brief.c <<'END'
#include <pthread.h>
#include <unistd.h>
__attribute__((noinline)) void slow(void) { usleep(2000); }
static void *run(void *x) { slow(); return x; }
int main(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, run, 0);
        pthread_join(thread, 0);
    }
    return 0;
}
END
    gcc -O1 -g -pthread brief.c -o brief || fail "no compiler"
    expect 0 "$SPROF" trace -o t.db --function '^slow$' --warn-over 1ms -- ./brief
    said '\(thread [0-9]+\)$'
    ! grep -q 'thread [0-9]*, )' err || fail "a name that is empty: $(cat err)"
    expect 0 "$SPROF" stats t.db --warnings -n 0
    [ "$(grep -c ' slow .* ? [0-9]* ' out)" = "$(count "coalesce(thread, '') = ''")" ] || fail "threads without a name: $(cat out)"
    expect 0 "$SPROF" trace -o covered.db --mode coverage --function '^slow$' -- ./brief
    expect 0 "$SPROF" stats covered.db --coverage
    grep -qE '^ +[0-9.]+ s +1 +(\?|brief) +brief +slow ' out || fail "the thread of a first call: $(cat out)"
    traced --warn-over 1h -- ./program slow
    [ "$(count 1)" = 0 ] || fail "a warning without cause"
    ;;
names)
    # Functions have the names that tables have: short, and different where two would look the same.
    cat >names.cpp <<'END'
#include <map>
#include <unistd.h>
namespace shop {
__attribute__((noinline)) void price(std::map<int, long> &orders) { orders[1]++; usleep(30000); }
__attribute__((noinline)) void price(double) { usleep(30000); }
}
int main()
{
    std::map<int, long> orders;
    shop::price(orders);
    shop::price(1.5);
    shop::price(orders);
}
END
    g++ -O1 -g -fno-optimize-sibling-calls names.cpp -o names || fail "no compiler"
    expect 0 "$SPROF" trace -o t.db --function '^shop::' --warn-over 20ms -- ./names
    [ "$(grep -c 'slow: shop::price took' err)" = 2 ] || fail "not the short name: $(cat err)"
    [ "$(grep -c 'slow: shop::price(double) took' err)" = 1 ] || fail "two functions look the same: $(cat err)"
    expect 0 "$SPROF" trace --full-names -o t.db --function '^shop::' --warn-over 20ms -- ./names
    [ "$(grep -cE 'slow: shop::price\(std::map<int, long, .*>&\) took' err)" = 2 ] || fail "not the full name: $(cat err)"
    ;;
stuck)
    mkfifo input
    "$SPROF" trace -o t.db --function '^(quick|stuck)$' --watchdog 300ms -- ./program stuck <input >/dev/null 2>trace.err &
    tracer=$!
    children+=("$tracer")
    exec 7>input
    # A line at once, while it does not return; and in what follows the recording.
    wait_until 60 grep -qE 'stuck: stuck has not returned after [0-9.]+ ms, more than 300 ms' trace.err
    start "$SPROF" stats t.db --follow --interval 500ms >follow.out 2>follow.err 7>&-
    wait_until 60 grep -q '1 warning' follow.out
    exec 7>&-
    wait $tracer
    [ $? = 5 ] || fail "other exit status than the command's"
    wait "$child"
    [ "$(count "kind = 'stuck' AND function = 'stuck' AND value > bound AND bound = 300000000")" = 1 ] ||
        fail "not told once: $(sql t.db 'SELECT * FROM v_warning')"
    [ "$(count 1)" = 1 ] || fail "something else is told"
    # What was told before a clear is gone with it, and is not told again; so by path, too.
    "$SPROF" trace --paths -o t.db --function '^(quick|stuck)$' --watchdog 300ms -- ./program stuck <input >/dev/null 2>trace.err &
    tracer=$!
    children+=("$tracer")
    exec 7>input
    wait_until 60 grep -q 'stuck: stuck' trace.err
    expect 0 "$SPROF" ctl -i t.db clear
    exec 7>&-
    wait $tracer
    [ "$(count 1)" = 0 ] || fail "a warning from before the clear: $(sql t.db 'SELECT * FROM v_warning')"
    ;;
stack)
    traced --stack-check 50% -- ./program deep 40
    [ "$(count "kind = 'stack' AND function = 'deep' AND value > bound AND value < 262144")" = 1 ] ||
        fail "not told once: $(sql t.db 'SELECT * FROM v_warning')"
    [ "$(count "bound BETWEEN 100000 AND 140000")" = 1 ] || fail "half of 256 KiB is something else"
    [ "$(count 1)" = 1 ] || fail "the main thread is told of"
    said 'stack: deep was called with [0-9.]+ KiB of its stack in use'
    # The next is told when half of what was left is in use.
    traced --stack-check 50% -- ./program deep 58
    [[ $(count 1) =~ ^[234]$ ]] || fail "not told two to four times: $(sql t.db 'SELECT * FROM v_warning')"
    traced --stack-check 90% -- ./program deep 40
    [ "$(count 1)" = 0 ] || fail "a warning without cause"
    ;;
bad)
    for value in x 1s: -1 '' :slow; do
        expect 2 "$SPROF" trace -o t.db --warn-over "$value" -- ./program slow
        expect 2 "$SPROF" trace -o t.db --watchdog "$value" -- ./program slow
    done
    expect 2 "$SPROF" trace -o t.db --warn-over '1s:(' -- ./program slow
    said 'regular expression'
    for option in warn-over watchdog; do
        "$SPROF" trace -o t.db --$option '1s:^no_such_function$' -- ./program slow >out 2>err
        said "$option '\^no_such_function\\$' finds none of the functions that have probes$"
        "$SPROF" trace -o t.db --$option '1s:^solw$' -- ./program slow >out 2>err
        said "$option '\^solw\\$' finds none of the functions that have probes; near it: slow"
        "$SPROF" trace -o t.db --$option '1s:^main$' --$option 2s -- ./program slow >out 2>err
        ! grep -q 'finds none' err || fail "--$option finds main"
    done
    for value in 0 100 x ''; do
        expect 2 "$SPROF" trace -o t.db --stack-check "$value" -- ./program slow && said 'not a percentage from 1 to 99'
    done
    expect 2 "$SPROF" trace -o t.db --mode coverage --watchdog 1s -- ./program slow
    said 'first call of each function alone'
    expect 2 "$SPROF" trace -o t.db --backend uprobe --stack-check 50% -- ./program slow
    expect 2 "$SPROF" stats t.db --warnings --sort calls
    ;;
*) fail "no such case" ;;
esac
