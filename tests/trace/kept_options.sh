#!/bin/bash
# Options beside --keep: functions by an earlier recording, long texts, the next call on demand and what waiting for it costs, requests by value.
#   kept_options.sh errors | texts | next | later | waiting
set -u
. "$(dirname "$0")/lib.sh"

# names FILE: functions that have probes.
names() { "$SPROF" sql "$1" --format csv "SELECT DISTINCT function FROM v_call_stats ORDER BY 1" | tail -n +2 | tr -d '\r' | paste -sd' '; }

errors() {
    cat >program.cc <<'END'
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
namespace a { NI int twice(int x) { BODY; return 2 * x; } NI int thrice(int x) { BODY; return 3 * x; } }
NI void thrower(int x) { BODY; if (x % 2) throw x; BODY; }
NI void passer(int x) { thrower(x); BODY; }
NI int catcher(int x) { try { passer(x); } catch (int) { BODY; } return a::twice(x) + a::thrice(x); }
int main() { int sum = 0; for (int i = 0; i < 10; i++) sum += catcher(i); return sum != 225; }
END
    g++ -O2 -g program.cc -o program || fail "it does not compile"
    traced kept --keep 'returns = 6 : twice' -- ./program
    traced of_kept --keep-errors-of kept.db -- ./program
    [ "$(names of_kept.db)" = "a::twice(int)" ] || fail "of a rule: $(names of_kept.db)"
    grep -q 'kept.db: 1 function whose calls were kept' got_err || fail "not said: $(cat got_err)"
    traced threw --keep throws -- ./program
    traced of_threw --keep-errors-of threw.db --function thrice --keep 'every 5' -- ./program
    [ "$(names of_threw.db)" = "a::thrice(int) passer(int) thrower(int)" ] || fail "of exceptions: $(names of_threw.db)"
    traced plain -- ./program
    traced of_plain --keep-errors-of plain.db -- ./program
    [ "$(names of_plain.db)" = "passer(int) thrower(int)" ] || fail "of sums: $(names of_plain.db)"
    traced log --mode log -- ./program
    traced of_log --keep-errors-of log.db -- ./program
    [ "$(names of_log.db)" = "passer(int) thrower(int)" ] || fail "of a log: $(names of_log.db)"
    traced none --function twice -- ./program
    expect 1 "$SPROF" trace -o no.db --keep-errors-of none.db -- ./program && said 'no call in none.db was kept by a rule or left by an exception'
    expect 1 "$SPROF" trace -o no.db --keep-errors-of absent.db -- ./program && said 'absent.db'
    expect 2 "$SPROF" trace -o no.db --adaptive --root main --keep-errors-of kept.db -- ./program && said 'give it without --keep-errors-of'
}

# value NAME: of the only call with a value of that name.
value() { "$SPROF" sql t.db --format csv "SELECT value FROM v_call_value WHERE name = '$1'" | tail -n +2 | tr -d '\r"' ; }

texts() {
    cat >program.c <<'END'
#include <stdlib.h>
#include <string.h>
#define NI __attribute__((noinline, noclone))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct Named { const char *name; int id; };
NI int take(const char *a, const char *b, struct Named *named, const void *buf, size_t len) { BODY; return a[0] + b[0] + named->id + (int)len + !buf; }
static char *filled(char c, size_t length) { char *text = malloc(length + 1); memset(text, c, length); text[length] = 0; return text; }
int main(void)
{
    struct Named named = {filled('n', 3000), 1};
    return take(filled('a', 5000), filled('b', 700), &named, filled('p', 3000), 3000) == 0;
}
END
    gcc -O2 -g program.c -o program || fail "it does not compile"
    # N A B NAME: bytes that are read of each.
    for sizes in "256 256 256 64" "4096 4096 700 1024" "1K 1024 700 256" "8 8 8 2"; do
        set -- $sizes
        "$SPROF" trace -o t.db --overwrite --text "$1" --args --keep 'every 1 : take' -- ./program 2>notes || fail "not traced: $(cat notes)"
        [ "$(value a | tr -cd a | wc -c) $(value b | tr -cd b | wc -c) $(value named | sed 's/name/N/' | tr -cd n | wc -c)" = "$2 $3 $4" ] ||
            fail "--text $1: $(value a | wc -c) $(value b | wc -c) $(value named)"
        value a | grep -q '…$' || fail "--text $1: not shown as cut"
    done
    # A text of a rule is compared whole.
    "$SPROF" trace -o t.db --overwrite --text 4 --capture b --keep "b != \"$(printf 'b%.0s' {1..250})\" : take" -- ./program 2>notes || fail "not traced: $(cat notes)"
    [ "$(value b | tr -cd b | wc -c)" = 256 ] || fail "a rule's text: $(value b)"
    for size in 0 4097 5K much; do
        expect 2 "$SPROF" trace -o no.db --text $size --args --keep throws -- ./program && said 'not a size from 1 to 4096 bytes'
    done
    expect 2 "$SPROF" trace -o no.db --text 512 --keep throws -- ./program && said 'give --args or --capture'
}

# Letters have ten calls each; `k` asks for the next ones before, `n` between the calls that are open and those that follow.
next() {
    INCLUDE=$(cd "$(dirname "$0")/../../include" && pwd)
    cat >served.c <<'END'
#include <sprof.h>
#include <stdio.h>
#define NI __attribute__((noinline, noclone))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct box { int n; };
NI int work(int n) { BODY; return n; }
NI int other(struct box *box) { BODY; return box->n; }
NI int outer(int c, int n)
{
    if (c == 'n') sprof_keep_next();
    struct box box = {n};
    BODY;
    return work(n) + other(&box);
}
int main(void)
{
    for (int c, n = 0; (c = getchar()) != EOF;) {
        if (c == '\n') continue;
        if (c == 'k') sprof_keep_next();
        for (int i = 0; i < 10; i++) outer(i ? 's' : c, ++n);
        puts("done"), fflush(stdout);
    }
    return 0;
}
END
    gcc -O2 -g -I"$INCLUDE" served.c -o served || fail "it does not compile"
    mkfifo letters
    "$SPROF" trace -o t.db --args --keep 'next : ^outer' --keep 'box->n > 0 and next : ^other' --keep 'returns > 3 and next : ^work' -- ./served <letters >served.out 2>err &
    tracer=$!
    children+=("$tracer")
    exec 3>letters
    local steps=0
    step() {
        echo "$1" >&3
        steps=$((steps + 1))
        for ((i = 0; i < 1200; i++)); do [ "$(wc -l <served.out)" = $steps ] && return || sleep 0.05; done
        fail "the program does not answer"
    }
    wait_for_trace err -i t.db
    step s # 1 to 10: nothing has asked
    expect 0 "$SPROF" ctl -i t.db keep --format csv
    [ "$(cut -d, -f2,5 out | tr -d '\r' | paste -sd' ')" = "state,met waits,0 waits,0 waits,0" ] || fail "before: $(cat out)"
    step k # 11, 11, 11
    step s
    step n # 31: outer has begun; 32, 31, 31
    expect 0 "$SPROF" ctl -i t.db keep-next
    grep -q '^3 rules take the next call$' out || fail "not said: $(cat out)"
    step s # 41, 41, 41
    expect 0 "$SPROF" ctl -i t.db keep-next '^wor'
    step s # 51
    expect 0 "$SPROF" ctl -i t.db keep-next '^wor'
    grep -q '^rule 4 takes the next call$' out || fail "not said: $(cat out)"
    step s # 61
    expect 1 "$SPROF" ctl -i t.db keep-next '^nowhere'
    grep -q "finds none of the functions" err || fail "no function: $(cat err)"
    expect 2 "$SPROF" ctl -i t.db keep 'next few : ^work'
    grep -q 'as in .next 5., or .next. alone' err && grep -q '^sprof:  *^$' err || fail "a mistake: $(cat err)"
    exec 3>&-
    wait "$tracer" || fail "it ended by $?: $(cat err)"
    kept() { "$SPROF" sql t.db --format csv "SELECT value FROM v_call_value v JOIN v_kept_call c USING (run_id, call_id) WHERE v.function = '$1' AND v.name = '$2' AND c.rules IS NOT NULL ORDER BY start_ns" |
        tail -n +2 | tr -d '\r"' | sed 's/.*n = \([0-9]*\)}/\1/' | paste -sd' '; }
    [ "$(kept outer n)" = "11 32 41" ] || fail "outer: $(kept outer n)"
    [ "$(kept work n)" = "11 31 41 51 61" ] || fail "work: $(kept work n)"
    [ "$(kept other box)" = "11 31 41" ] || fail "other: $(kept other box)"
    "$SPROF" trace -o u.db --keep 'every 1 : ^outer' -- ./served <<<k >out 2>err || fail "without such a rule: $(cat err)"
}

# Programs that start after the question keep a call only while none has kept it.
later() {
    cat >starts.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI int work(int n) { BODY; return n; }
int main(int count, char **arguments)
{
    char number[16];
    if (count > 1) return work(atoi(arguments[1])), 0;
    for (int c, n = 0; (c = getchar()) != EOF;) {
        if (c == '\n') continue;
        if (c == 'o') work(++n);
        snprintf(number, sizeof number, "%d", ++n);
        if (c == 'p' && !fork()) execl("./starts", "starts", number, (char *)0);
        while (wait(0) > 0) ;
        puts("done"), fflush(stdout);
    }
    return 0;
}
END
    gcc -O2 -g starts.c -o starts || fail "it does not compile"
    mkfifo letters
    "$SPROF" trace -o t.db --children --args --keep 'returns = 0 : ^work' -- ./starts <letters >served.out 2>err &
    tracer=$!
    children+=("$tracer")
    exec 3>letters
    local steps=0 met=0
    # step LETTER MET: another step, after which so many calls have met the rule that was asked for.
    step() {
        echo "$1" >&3
        steps=$((steps + 1))
        for ((i = 0; i < 1200; i++)); do [ "$(wc -l <served.out)" = $steps ] && break || sleep 0.05; done
        for ((i = 0; i < 1200; i++)); do
            expect 0 "$SPROF" ctl -i t.db keep --format csv
            met=$(sed -n '3p' out | cut -d, -f5)
            [ "$met" = "$2" ] && return || sleep 0.05
        done
        fail "after $1, $steps: $met calls met the rule, not $2"
    }
    wait_for_trace err -i t.db
    step p "" # 1
    expect 0 "$SPROF" ctl -i t.db keep-next '^work'
    step p 1 # 2
    step p 1
    expect 0 "$SPROF" ctl -i t.db keep-next '^work'
    step o 2 # 4
    step p 2
    exec 3>&-
    wait "$tracer" || fail "it ended by $?: $(cat err)"
    [ "$("$SPROF" sql t.db --format csv "SELECT value FROM v_call_value v JOIN v_kept_call c USING (run_id, call_id) WHERE v.function = 'work' AND v.position = 0 AND c.rules IS NOT NULL ORDER BY start_ns" |
        tail -n +2 | tr -d '\r"' | paste -sd' ')" = "2 4" ] || fail "other calls"
}

# While a rule waits, a call costs as much as one that is too short for its rule. The program compares the fastest of many blocks.
waiting() {
    INCLUDE=$(cd "$(dirname "$0")/../../include" && pwd)
    cat >waits.c <<'END'
#include <sprof.h>
#include <stdio.h>
#include <time.h>
#define NI __attribute__((noinline, noclone))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI int quick(int n) { BODY; return n; }
NI int next(int n) { BODY; return n; }
NI int both(int n) { BODY; return n; }
NI int asks(int n) { for (int i = 0; i < 4; i++) sprof_keep_next(); return n; }
static double ns_of(int (*function)(int), int calls)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < calls; i++) function(i);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
}
int main(void)
{
    int (*functions[])(int) = {quick, next, both};
    for (int i = 1; i <= 3; i++) {
        double best[] = {1e9, 1e9, 1e9};
        for (int block = 0; block < 900; block++) {
            const double ns = ns_of(functions[block % 3], 1000);
            best[block % 3] = ns < best[block % 3] ? ns : best[block % 3];
        }
        printf("%.0f %.0f\n", 100 * best[1] / best[0], 100 * best[2] / best[0]);
        if (i < 3) sprof_keep_next();
        next(-i), both(-i), next(-i - 10), both(i);
    }
    double best[] = {1e9, 1e9};
    for (int block = 0; block < 600; block++) {
        const double ns = block % 2 ? ns_of(asks, 3) : ns_of(quick, 1000);
        best[block % 2] = ns < best[block % 2] ? ns : best[block % 2];
    }
    printf("asked %.0f %.0f\n", 100 * best[1] / best[0], best[1] / 3);
    return 0;
}
END
    gcc -O2 -g -I"$INCLUDE" waits.c -o waits || fail "it does not compile"
    "$SPROF" trace -o t.db --args --keep 'over 100s : ^quick' --keep 'next : ^(next|both)' --keep 'returns < 0 : ^both' -- ./waits >out 2>err || fail "not traced: $(cat err)"
    [ "$(wc -l <out)" = 4 ] || fail "not measured: $(cat out)"
    # Twelve questions cost less than a thousand calls, and are not the time of the function that asks.
    read -r _ asked call < <(sed -n 4p out)
    [ "$asked" -le 100 ] || fail "asking costs, of a thousand calls, percent: $asked"
    least=$("$SPROF" sql t.db --format csv "SELECT CAST(min(min_ns) AS INTEGER) FROM v_call_stats WHERE function = 'asks'" | tail -n 1 | tr -d '\r')
    [ $((3 * least)) -le $((2 * call)) ] || fail "its function takes $least of $call ns"
    sed -i 4d out
    while read -r next both; do
        [ "$next" -le 140 ] && [ "$both" -le 140 ] || fail "calls cost, of those that are too short, percent: $(cat out)"
    done <out
    kept() { "$SPROF" sql t.db --format csv "SELECT value FROM v_call_value v JOIN v_kept_call c USING (run_id, call_id) WHERE v.function = '$1' AND v.name = 'n' AND c.rules IS NOT NULL ORDER BY start_ns" |
        tail -n +2 | tr -d '\r"' | paste -sd' '; }
    [ "$(kept next) $(kept both)" = "-1 -2 -1 -2 -3" ] || fail "kept: $(kept next), $(kept both)"
}

case $1 in
errors | texts | next | later | waiting) "$1" ;;
*) fail "no case $1" ;;
esac
