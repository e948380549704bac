#!/bin/bash
# sprof trace --keep and sprof report --kept: what meets a rule has a row, with its callers.
#   keep.sh rules | changes | further | values | percentile | report | readers | slowest | open | processes | embedded | dropped | suspended | refused
# jumps.py compares random programs' trees with what they note themselves.
set -u
. "$(dirname "$0")/lib.sh"

write_program() {
    cat >program.cc <<'END'
#include <cstdlib>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void leaf() { BODY; }
NI void slow() { usleep(60000); BODY; }
NI void outer() { slow(); BODY; leaf(); BODY; }
NI void thrower(int x) { BODY; if (x % 2) throw x; BODY; }
NI void catcher(int x) { try { thrower(x); } catch (int) { BODY; } }
NI void many(int n) { for (int i = 0; i < n; i++) leaf(); BODY; }
NI void last() { outer(); BODY; exit(3); }
static void *run(void *) { many(100); outer(); return nullptr; }
int main(int count, char **arguments)
{
    pthread_t thread;
    pthread_create(&thread, nullptr, run, nullptr);
    pthread_join(thread, nullptr);
    for (int i = 0; i < 10; i++) catcher(i);
    if (count > 1) many(atoi(arguments[1]));
    if (count > 2) {
        if (!fork()) { many(50); outer(); _exit(0); }
        wait(nullptr);
    }
    last();
}
END
    g++ -O2 -g -pthread program.cc -o program || fail "it does not compile"
}

# query FILE SQL: its only column.
query() { "$SPROF" sql "$1" --format csv "$2" | tail -n +2 | tr -d '\r'; }

# is WHAT FILE SQL WANTED
is() {
    local found
    found=$(query "$2" "$3" | paste -sd' ')
    [ "$found" = "$4" ] || fail "$1: '$found', not '$4'"
}

orphans="SELECT count(*) FROM kept_call c WHERE caller IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM kept_call d WHERE d.run_id = c.run_id AND d.number = c.caller)"

rules() {
    # slow's time is in libc, and its own only where time outside is not measured
    traced rules --no-outside --keep 'every 10 : ^leaf' --keep 'over 30ms and self over 30ms : ^slow' --keep 'throws' --keep 'over 1000s' \
        --keep 'throws and every 2 : thrower' -- ./program 900
    is "calls that met each rule" rules.db "SELECT fired FROM keep_rule ORDER BY number" "100 2 5 0 2"
    is "dropped" rules.db "SELECT sum(dropped) FROM keep_rule" 0
    is "rows that met a rule" rules.db "SELECT function || count(*) FROM v_kept_call WHERE rules IS NOT NULL GROUP BY function ORDER BY 1" \
        "leaf()100 slow()2 thrower(int)5"
    is "their callers" rules.db "SELECT DISTINCT d.function FROM v_kept_call c JOIN v_kept_call d ON d.call_id = c.caller_id ORDER BY 1" \
        "catcher(int) last() main many(int) outer() run(void*)"
    is "rows without their callers" rules.db "$orphans" 0
    is "both rules of a call" rules.db "SELECT count(*) FROM v_kept_call WHERE rules = 'throws, throws and every 2 : thrower'" 2
    is "calls that were too short" rules.db "SELECT count(*) FROM v_kept_call WHERE function = 'slow()' AND duration_ns < 59000000" 0
    is "exits of what throws" rules.db "SELECT DISTINCT exit FROM v_kept_call WHERE function = 'thrower(int)'" exception
    # How many seconds it takes is not known; in each there are three.
    traced first --keep 'first 3 a second : ^leaf' -- ./program 900
    is "the first of each second" first.db "SELECT fired BETWEEN 3 AND 3 * (SELECT max(start_ns) / 1000000000 + 2 FROM v_kept_call) FROM keep_rule" 1
    # Calls are counted as without rules.
    calls rules.db >with
    traced without -- ./program 900
    calls without.db | diff - with >out || fail "other calls are counted with rules"
}

# Rules come and go while the program waits for the next letter, each of which is ten calls.
changes() {
    cat >served.cc <<'END'
#include <cstdio>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI int work(int n) { BODY; return n % 4; }
NI int other(int n) { BODY; return n; }
NI void waits(int n)
{
    for (int c; n < 1000000 && (c = getchar()) != EOF;)
        if (c != '\n') {
            for (int i = 0; i < 10; i++) other(work(n++));
            puts("done"), fflush(stdout);
        }
    BODY;
}
int main() { waits(0); BODY; }
END
    g++ -O2 -g served.cc -o served || fail "it does not compile"
    mkfifo letters
    "$SPROF" trace -o t.db -- ./served <letters >served.out 2>err &
    tracer=$!
    children+=("$tracer")
    exec 3>letters
    local steps=0
    step() {
        echo s >&3
        steps=$((steps + 1))
        for ((i = 0; i < 1200; i++)); do [ "$(wc -l <served.out)" = $steps ] && return || sleep 0.05; done
        fail "the program does not answer"
    }
    wait_for_trace err -i t.db
    step
    expect 0 "$SPROF" ctl -i t.db keep 'every 1 : ^work'
    grep -q '^rule 1 holds for 1 function$' out || fail "what a rule holds for: $(cat out)"
    step
    expect 0 "$SPROF" ctl -i t.db keep '-#1'
    step
    expect 0 "$SPROF" ctl -i t.db keep 'returns 1 and n > 33 : ^work'
    expect 0 "$SPROF" ctl -i t.db keep 'n = 3 : ^waits'
    step
    expect 2 "$SPROF" ctl -i t.db keep 'over 20 : ^work'
    grep -q '^sprof:  *over 20 : ^work$' err && grep -q '^sprof:  *^$' err || fail "the place of a mistake: $(cat err)"
    expect 1 "$SPROF" ctl -i t.db keep 'every 1 : ^worn'
    grep -q "finds none of the functions that have probes.*work" err || fail "a rule for nothing: $(cat err)"
    expect 1 "$SPROF" ctl -i t.db keep 'nonsense = 3'
    expect 2 "$SPROF" ctl -i t.db keep '-#1'
    expect 2 "$SPROF" ctl -i t.db keep '-over 20ms'
    expect 0 "$SPROF" ctl -i t.db keep --format csv
    cut -d, -f1,2,4-8 out | tr -d '\r' >listed
    cat >wanted <<'END'
number,state,tested,met,kept,dropped,rule
1,over,10,10,10,0,every 1 : ^work
2,on,10,1,1,0,returns 1 and n > 33 : ^work
3,on,0,0,0,0,n = 3 : ^waits
END
    head -4 listed | diff wanted - >differs || fail "the list of rules: $(cat differs)"
    # A rule waits for its load, which is looked at each second.
    expect 0 "$SPROF" ctl -i t.db keep 'every 1 : ^other while rss > 1KiB'
    expect 0 "$SPROF" ctl -i t.db keep 'every 1 : ^other while open > 100000'
    for ((k = 0; k < 200; k++)); do
        step
        expect 0 "$SPROF" ctl -i t.db keep --format csv
        [ "$(tr -d '\r' <out | awk -F, '$1 == 6 { print ($5 > 0) }')" = 1 ] && break || sleep 0.1
    done
    [ "$(tr -d '\r' <out | awk -F, 'NR > 7 || $1 == 6 { print ($4 > 0) ($5 > 0) }' | paste -sd' ')" = "11 10" ] || fail "rules by load: $(cat out)"
    # What the recorder decides, and calls in others.
    expect 0 "$SPROF" ctl -i t.db keep 'exit.n > 0 and below ^waits : ^work'
    expect 1 "$SPROF" ctl -i t.db keep 'changed n : ^work'
    grep -q 'none of these functions has all these values' err || fail "what no function has: $(cat err)"
    expect 1 "$SPROF" ctl -i t.db keep 'below ^nowhere'
    grep -q "below: '^nowhere' finds none of the functions" err || fail "callers that are not: $(cat err)"
    step
    expect 0 "$SPROF" ctl -i t.db keep --format csv
    tr -d '\r' <out | grep -q '^8,on,[^,]*,10,10,10,0,' || fail "a rule on values and callers: $(cat out)"
    exec 3>&-
    wait "$tracer"
    is "which calls were kept" t.db "SELECT function || count(*) FROM v_kept_call WHERE function IN ('main', 'waits(int)')
OR rules = 'every 1 : ^work' GROUP BY function ORDER BY 1" "main1 waits(int)1 work(int)10"
    is "when rules were in force" t.db "SELECT number || ' ' || ifnull(to_ns > from_ns, 'on') FROM keep_span WHERE number < 3
ORDER BY number" "1 1 2 on"
    # A rule comes to a trace with callers, whose calls have paths, too.
    "$SPROF" trace --callers -o t.db -- ./served <letters >served.out 2>err &
    tracer=$! steps=0
    children+=("$tracer")
    exec 3>letters
    wait_for_trace err -i t.db
    step
    expect 0 "$SPROF" ctl -i t.db keep 'every 1 : ^work'
    step
    exec 3>&-
    wait "$tracer"
    is "kept calls beside callers" t.db "SELECT function || count(*) FROM v_kept_call WHERE rules <> '' GROUP BY function" "work(int)10"
    "$SPROF" report -i t.db --edges --format csv | tr -d '\r' | grep -q ',20,[0-9]*,waits(int),served,work(int),' || fail "callers beside kept calls"
}

# errno, the next calls, and types of exceptions, of which calls that are not meant leave no caller either.
further() {
    cat >further.cc <<'END'
#include <cerrno>
#include <stdexcept>
#include <unistd.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct Bad { int n = 4; };
NI int fails(int n) { errno = 0; int r = n % 3 ? 0 : close(-1); if (n % 3 == 1) errno = ENOENT, r = -1; BODY; return r; }
NI void thrower(int n) { BODY; if (n % 4 == 0) throw Bad(); if (n % 4 == 1) throw std::out_of_range("x"); BODY; }
NI void inner(int n) { try { thrower(n); } catch (Bad &) { BODY; } catch (std::exception &) { BODY; } BODY; }
NI void even(int n) { inner(n); BODY; }
NI void odd(int n) { inner(n); BODY; }
int main() { for (int i = 0; i < 40; i++) { fails(i); if (i % 2) odd(i); else even(i); } BODY; }
END
    g++ -O2 -g further.cc -o further || fail "it does not compile"
    traced further --keep 'errno == ENOENT : ^fails' --keep 'returns < 0 and errno = EBADF' --keep 'errno != 0 and next 5 : ^fails' --keep 'next 3 : ^odd' -- ./further
    is "errors and the next calls" further.db "SELECT fired FROM keep_rule ORDER BY number" "13 14 5 3"
    traced types --keep 'throws "^std::out" : ^thrower' -- ./further
    is "a type" types.db "SELECT fired FROM keep_rule" 10
    is "callers of those alone" types.db "SELECT function || count(*) FROM v_kept_call GROUP BY function ORDER BY 1" "inner(int)10 main1 odd(int)10 thrower(int)10"
    is "rows without their callers" types.db "$orphans" 0
    # Of calls that throw another type none counts for what a rule takes of those that it means.
    traced counted --keep 'throws Bad and every 3 : ^thrower' --keep 'throws out_of and next 4 : ^thrower' --keep 'throws Bad and first 2 a second : ^thrower' -- ./further
    is "so many of a type" counted.db "SELECT fired FROM keep_rule WHERE number < 3 ORDER BY number" "3 4"
    # What is almost a second is a part of at most two.
    is "some of a type in each second" counted.db "WITH met AS (SELECT call_id, start_ns + duration_ns AS end_ns FROM v_kept_call WHERE rules LIKE '%first 2 a second%')
        SELECT (SELECT fired >= 2 FROM keep_rule WHERE number = 3) AND max(calls) <= 4 FROM (SELECT count(*) AS calls FROM met a
        JOIN met b ON b.end_ns BETWEEN a.end_ns AND a.end_ns + 900000000 GROUP BY a.call_id)" 1
    traced neither --keep 'throws Worse' -- ./further
    is "no type" neither.db "SELECT count(*) FROM v_kept_call" 0
    "$SPROF" trace --keep 'throws ((' -o none.db -- ./further >out 2>err && fail "half an expression"
    grep -q 'missing closing parenthesis' err || fail "what is wrong with a type: $(cat err)"
}

# Fields, texts, what changes, classes, and calls in others. What no call can meet is said with its place.
values() {
    cat >values.cc <<'END'
#include <string>
#include <string_view>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct Query { int state = 0; const char *sql = ""; Query *next = nullptr; double cost = 1.5; };
struct Shape { virtual ~Shape() {} NI virtual int area(int n) { BODY; return n; } };
struct Circle : Shape { NI int area(int n) override { BODY; return n * 3; } NI int round(int n) { BODY; return n; } };
struct Other { int z = 0; NI int area(int n) { BODY; return n + z; } };
int level = 0;
namespace config { int depth = 1; }
NI const char *name_of(int n) { BODY; return n % 2 ? "odd" : "even"; }
NI int inner(int n) { BODY; return n + 1; }
NI int outer(int n) { int r = inner(n); BODY; return r; }
NI int other(int n) { int r = inner(n); BODY; return r; }
NI void run(Query *q, const std::string &text, int &count) { if (q->state % 3 == 0) q->cost += 1; BODY; count++; if (q->state % 5 == 0) level++; }
NI int text_of(const char *s, int n) { BODY; return (int)s[0] + n; }
NI int view_of(std::string_view view, int n) { BODY; return (int)view[0] + n; }
NI void grow(float *f) { *f += 2; BODY; }
int main()
{
    Query peer, q;
    peer.sql = "peer", q.next = &peer;
    Shape s; Circle c; Other o; Shape *all[] = {&s, &c};
    int count = 0;
    for (int i = 0; i < 30; i++) {
        q.state = i, q.sql = i % 4 ? "select" : "insert", config::depth = i % 10;
        run(&q, i % 3 ? "short" : "a text that is too long for the object itself", count);
        outer(i), other(i), all[i % 2]->area(i), c.round(i), o.area(i), name_of(i), text_of(i % 2 ? "one" : "two", i), view_of(i % 2 ? "one" : "two", i);
        float large = i % 2 ? 16777216 : 1;
        grow(&large);
    }
    return count != 30;
}
END
    g++ -O1 -g values.cc -o values || fail "it does not compile"
    # Each rule, and how many calls meet it: twelve at a time, so that functions have several.
    cat >known <<'END'
30 below ^outer
60 call inner and below ^o : .
15 below ^outer and every 2
60 class ^Shape$
45 class Circle
30 class Other
10 q->state >= 20 : ^run
30 q->next->sql = "peer" : ^run
8 q->sql = "insert" : ^run
20 text = "short" : ^run
10 text != "short" : ^run
15 s = "one" : ^text_of
15 view = "one" : ^view_of
30 changed *f : ^grow
15 returns "odd" : ^name_of
10 changed q->cost : ^run
6 changed ::level : ^run
30 changed *count : ^run
10 exit.count > 20 : ^run
4 *count > 20 and every 2 : ^run
3 *count > 20 and next 3 : ^run
3 config::depth = 3 : ^run
14 ::level > 3 : ^run
20 q->cost > 5.2 : ^run
0 q->cost > 5.2 and q->state < 3 : ^run
END
    local options=() count rule message
    while read -r count rule; do options+=(--keep "$rule"); done <known
    traced values "${options[@]:0:24}" -- ./values
    traced further_values "${options[@]:24}" -- ./values
    for message in values further_values; do
        "$SPROF" sql $message.db --format json "SELECT fired || ' ' || text AS met FROM keep_rule ORDER BY number"
    done | python3 -c 'import json, sys
for rows in sys.stdin.read().replace("]\n[", "]\0[").split("\0"):
    for row in json.loads(rows): print(row["met"])' >found
    diff known found >differs || fail "calls that met the rules: $(cat differs)"
    is "rows without their callers" further_values.db "$orphans" 0
    traced one --keep 'changed q->cost and q->state < 3 : ^run' -- ./values
    is "what conditions have read" one.db "SELECT name || ' is ' || value FROM v_call_value ORDER BY name" "entry q->state is 0 q->cost is 1.5 → 2.5"
    is "calls that meet nothing leave no caller" one.db "SELECT count(*) FROM v_kept_call" 2
    cat >wrong <<'END'
class Circl$|no function is a method of such a class, or of one that derives from it.*near it: Circle
class Nothing|no function is a method of such a class
below nothing|below 'nothing' finds none of the functions
changed n : ^inner|in inner: it is passed in registers, so it cannot change
q->stat = 3 : ^run|'Query' has no such field that is made of bytes; near it: state
n = "x" : ^inner|it is no text
count > 20 : ^run|it is a reference: a \* before it
END
    options=()
    while IFS='|' read -r rule message; do options+=(--keep "$rule"); done <wrong
    traced none "${options[@]}" -- ./values
    while IFS='|' read -r rule message; do
        grep -q -- "$message" err || fail "what is wrong with '$rule': $(cat err)"
    done <wrong
    [ "$(grep -c '^sprof:  *^$' err)" = 4 ] || fail "places are not shown: $(cat err)"
}

# A rule rests until a percentile of its function's calls is above its bound.
percentile() {
    cat >phases.c <<'END'
#include <unistd.h>
__attribute__((noinline)) int work(int length_us) { if (length_us) usleep((unsigned)length_us); __asm__ volatile("nop; nop; nop; nop; nop"); return length_us; }
int main(void)
{
    for (int i = 0; i < 500; i++) { work(0); usleep(1000); }
    for (int i = 0; i < 400 && access("enough", F_OK); i++) work(100000);
    return 0;
}
END
    gcc -O1 -g phases.c -o phases || fail "it does not compile"
    rm -f enough
    "$SPROF" trace -o phases.db --keep 'every 1 : ^work while p99 > 50ms' --keep 'every 1 : ^work while p50 > 10s' -- ./phases 2>err &
    tracer=$!
    children+=("$tracer")
    for _ in $(seq 200); do
        "$SPROF" ctl -i phases.db keep --format csv >list 2>ctl_err
        grep -q '^1,on,[^,]*,[^,]*,[^,]*,[1-9]' list && break
        sleep 0.1
    done
    touch enough
    wait "$tracer" || fail "the trace: $(cat err)"
    is "the rules" phases.db "SELECT group_concat(fired > 0, ' ') FROM (SELECT fired FROM keep_rule ORDER BY number)" "1 0"
    is "calls of before" phases.db "SELECT count(*) FROM v_kept_call WHERE function = 'work' AND duration_ns < 90000000" 0
}

# Two coroutines resume each other: the one that the other called ends below what it called. What was written as its caller stays.
suspended() {
    cat >suspended.c <<'END'
#include <ucontext.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
static ucontext_t from_main, one, two;
static char stacks[2][64 << 10];
NI int f_leaf(int n) { BODY; return n + 1; }
NI int f_last(int n) { BODY; return n + 2; }
NI int f_one(int n) { swapcontext(&one, &two); BODY; return f_last(n); }
NI int f_inner(int n)
{
    swapcontext(&two, &one);
    BODY;
    n = f_leaf(n);
    swapcontext(&two, &from_main);
    BODY;
    return n;
}
NI int f_two(int n)
{
    n += f_leaf(n);
    swapcontext(&two, &from_main);
    BODY;
    return f_inner(n);
}
static void begin_one(void) { f_one(1); swapcontext(&one, &two); }
static void begin_two(void) { f_two(2); swapcontext(&two, &from_main); }
static void make(ucontext_t *context, int number, void (*function)(void))
{
    getcontext(context);
    context->uc_stack.ss_sp = stacks[number];
    context->uc_stack.ss_size = sizeof stacks[number];
    makecontext(context, function, 0);
}
NI void f_resume(ucontext_t *to) { swapcontext(&from_main, to); BODY; }
int main(void)
{
    make(&one, 0, begin_one);
    make(&two, 1, begin_two);
    f_resume(&one); /* one resumes two, which calls the leaf */
    f_resume(&two); /* two goes on by a jump and resumes one, which ends below it */
    f_resume(&two); /* two ends */
    return 0;
}
END
    gcc -O2 -g suspended.c -o suspended || fail "it does not compile"
    traced suspended --function '^f_' --keep 'over 0ns' -- ./suspended
    is "calls" suspended.db "SELECT count(*) FROM kept_call" 9
    is "callers" suspended.db "SELECT function || '<' || ifnull((SELECT d.function FROM v_kept_call d WHERE d.call_id = c.caller_id), '') || ' ' || exit
FROM v_kept_call c ORDER BY 1" \
        "f_inner<f_two return f_last<f_one return f_leaf<f_inner return f_leaf<f_two return f_one<f_resume tail f_resume< return f_resume< return f_resume< return f_two<f_one tail"
    [ "$("$SPROF" report --kept suspended.db --format csv | tail -n +2 | wc -l)" = 9 ] || fail "calls are not shown"
}

report() {
    traced kept --keep 'over 30ms : ^slow' --keep 'throws' -- ./program
    "$SPROF" report --kept kept.db >out 2>err || fail "no report"
    grep -q '^Kept calls  *7 kept, 10 callers$' out || fail "the first line"
    grep -q 's  *[0-9.]* ms  *[0-9.]* [mµn]s  *.* └ slow  *over 30ms$' out || fail "a call that met a rule"
    grep -q '└ thrower → exception int  *throws$' out || fail "a call that was left"
    grep -q -- '– *– *main → open  *caller of kept$' out || fail "a call that is open"
    grep -q '^  over 30ms : ^slow: 2 · throws: 5$' out || fail "the rules below the table"
    "$SPROF" report --kept kept.db --format csv >out.csv && "$SPROF" report --kept kept.db --format json >out.json &&
        "$SPROF" report --kept kept.db --format markdown >out.md || fail "a format"
    grep -q '&nbsp;&nbsp;slow' out.md || fail "no tree in Markdown"
    python3 - <<'END' || fail "csv and json differ from what was kept"
import csv, json
rows = list(csv.DictReader(open("out.csv")))
assert sum(row["why"] != "caller of kept" for row in rows) == 7 and len(rows) == 17, len(rows)
by_id = {row["id"]: row for row in rows}
for row in rows:
    caller = by_id.get(row["caller_id"])
    assert int(row["depth"]) == (int(caller["depth"]) + 1 if caller else 0), row
    assert (row["duration_s"] == "") == (row["exit"] == "open"), row
found = json.load(open("out.json"))["rows"]
assert [row["id"] for row in found] == [int(row["id"]) for row in rows]
assert [row["duration_s"] for row in found if row["exit"] == "open"] == [None, None], found
END
    "$SPROF" report --kept kept.db --sort duration --focus slow --format csv >out.csv || fail "no order"
    python3 - <<'END' || fail "it is not by duration, or not what --focus finds"
import csv
rows = list(csv.DictReader(open("out.csv")))
assert sorted(row["function"] for row in rows) == ["last()", "main", "outer()", "outer()", "run(void*)", "slow()", "slow()"], rows
END
    local tid
    tid=$(query kept.db "SELECT DISTINCT tid FROM v_kept_call WHERE thread_id NOT IN (SELECT thread_id FROM v_kept_call WHERE function = 'main')")
    "$SPROF" report --kept kept.db --thread "$tid" --format csv | tail -n +2 | cut -d, -f6 >out
    [ "$(paste -sd' ' out)" = "run(void*) outer() slow()" ] || fail "the calls of a thread"
    # What is followed has the newest calls in sight.
    "$SPROF" report --kept --follow kept.db -n 1 --format json >out || fail "it is not followed"
    python3 - "$(query kept.db "SELECT max(start_ns) FROM v_kept_call WHERE caller_id IS NULL")" <<'END' || fail "not the newest calls first"
import json, sys
(row,) = json.load(open("out"))["rows"]
assert row["caller_id"] in (None, 0) and round(row["start_s"] * 1e9) == int(sys.argv[1]), row
END
    "$SPROF" report --kept kept.db -n 2 >out
    grep -q '^  … 15 more calls · ' out || fail "what is not shown"
    "$SPROF" report --kept kept.db --module libc 2>err && fail "a module is chosen"
    grep -q 'chosen by --run, --thread, --process and --focus alone' err || fail "why not"
    "$SPROF" report --kept kept.db --sort call 2>err && fail "it is sorted by name"
    grep -q 'sorted by start, duration or self' err || fail "by what it can be"
    traced plain -- ./program
    "$SPROF" report --kept plain.db >out 2>err && fail "there is something without rules"
    grep -q "sprof trace --keep 'over 20ms'" err || fail "what keeps calls"
}

# What script and exports show of kept calls is what the recording has, and calls lie in their callers.
readers() {
    traced kept --keep 'over 30ms : ^slow' --keep 'throws' --keep 'every 7 : ^leaf' -- ./program 200
    query kept.db "SELECT call_id || ' ' || ifnull(caller_id, 0) || ' ' || tid || ' ' || function || ' ' || ifnull(duration_ns, 0) || ' ' || exit
FROM v_kept_call ORDER BY call_id" >known
    "$SPROF" script kept.db --format json >script.json && "$SPROF" script kept.db >script.txt || fail "no script"
    for format in chrome firefox speedscope otlp-traces; do
        "$SPROF" export -f $format -o $format.json kept.db 2>err || fail "no export for $format"
    done
    python3 - <<'END' || fail "a reader differs"
import csv, json
known = {int(line.split()[0]): line for line in (next(csv.reader([line]))[0] for line in open("known"))}
def same(what, rows):
    shown = {row[0]: " ".join(map(str, row)) for row in rows}
    assert shown == known, (what, set(shown.items()) ^ set(known.items()))

rows = json.load(open("script.json"))
same("script", [(row["call_id"], row["caller_id"] or 0, row["tid"], row["function"], row["duration_ns"] or 0, row["exit"]) for row in rows])
depths = {0: 0}
for row in rows:
    depths[row["call_id"]] = row["depth"]
    assert row["depth"] == depths[row["caller_id"] or 0] + 1, row
assert sum(line.endswith("· over 30ms\n") for line in open("script.txt")) == 2

slices = [event for event in json.load(open("chrome.json"))["traceEvents"] if event["ph"] != "M"]
same("chrome", [(event["args"]["id"], event["args"]["caller_id"], event["tid"], event["name"], event["args"]["duration_ns"],
                 event["args"]["exit"]) for event in slices])
by_id = {event["args"]["id"]: event for event in slices}
for event in slices:
    caller = by_id.get(event["args"]["caller_id"])
    assert (event["ph"] == "B") == (event["args"]["exit"] == "open"), event
    if caller:
        assert event["ts"] >= caller["ts"], (caller, event)
    if caller and "dur" in caller:
        assert event["ts"] + event["dur"] <= caller["ts"] + caller["dur"] + 0.002, (caller, event)

profile = json.load(open("firefox.json"))
names = profile["shared"]["stringArray"]
markers = [(thread["tid"], names[name], data["exit"], data["why"]) for thread in profile["threads"]
           for name, data in zip(thread["markers"]["name"], thread["markers"]["data"])]
assert sorted(markers) == sorted((event["tid"], event["name"], event["args"]["exit"], event["args"]["why"]) for event in slices)

(resource,) = json.load(open("otlp-traces.json"))["resourceSpans"]
spans = resource["scopeSpans"][0]["spans"]
def value_of(attributes, key):
    return next((next(iter(one["value"].values())) for one in attributes if one["key"] == key), None)
numbers = {span["spanId"]: event["args"]["id"] for span, event in zip(spans, slices)}
assert len(numbers) == len(spans) == len(slices)
same("otlp-traces", [(numbers[span["spanId"]], numbers.get(span.get("parentSpanId"), 0), value_of(span["attributes"], "thread.id"), span["name"],
                      value_of(span["attributes"], "sprof.duration_ns") or 0, value_of(span["attributes"], "sprof.exit")) for span in spans])
spans_by_id = {span["spanId"]: span for span in spans}
for span in spans:
    caller = spans_by_id.get(span.get("parentSpanId"))
    assert ("status" in span) == (value_of(span["attributes"], "sprof.exit") == "exception"), span
    assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), span
    assert len(span["traceId"]) == 32 and len(span["spanId"]) == 16, span
    if caller:
        assert span["traceId"] == caller["traceId"], span
        assert int(caller["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) <= int(caller["endTimeUnixNano"]), span
assert len({span["traceId"] for span in spans}) == sum("parentSpanId" not in span for span in spans) == 2
assert value_of(resource["resource"]["attributes"], "service.name") == "program"

shown = json.load(open("speedscope.json"))
opened = [shown["shared"]["frames"][event["frame"]]["name"] for one in shown["profiles"] if one["type"] == "evented"
          for event in one["events"] if event["type"] == "O"]
assert sorted(opened) == sorted(event["name"] for event in slices)
END
    "$SPROF" export -f otlp-traces-protobuf -o spans.pb kept.db || fail "no spans in protobuf"
    PYTHONPATH=$(dirname "$0")/../system python3 - <<'END' || fail "the spans in protobuf are others"
import json
from protobuf import pairs
def all_of(data, *path):
    for field, value in pairs(data):
        if field == path[0]:
            yield from all_of(value, *path[1:]) if path[1:] else [value]
def first(data, *path): return next(all_of(data, *path), b"")
file = open("spans.pb", "rb").read()
time = lambda data: str(int.from_bytes(data, "little"))
found = [(first(s, 1).hex(), first(s, 2).hex(), first(s, 4).hex(), first(s, 5).decode(), time(first(s, 7)), time(first(s, 8)),
          [first(a, 1).decode() for a in all_of(s, 9)], first(s, 15, 2).decode()) for s in all_of(file, 1, 2, 2)]
(resource,) = json.load(open("otlp-traces.json"))["resourceSpans"]
wanted = [(s["traceId"], s["spanId"], s.get("parentSpanId", ""), s["name"], s["startTimeUnixNano"], s["endTimeUnixNano"],
           [a["key"] for a in s["attributes"]], s.get("status", {}).get("message", "")) for s in resource["scopeSpans"][0]["spans"]]
assert found == wanted and found, (found[:2], wanted[:2])
texts = lambda attributes: {first(a, 1).decode(): first(a, 2, 1).decode() for a in attributes}
assert texts(all_of(file, 1, 1, 1))["service.name"] == "program"
END
    "$SPROF" export -f otlp-traces -o - kept.db | cmp - otlp-traces.json || fail "another export has other ids"
    OTEL_SERVICE_NAME=other OTEL_RESOURCE_ATTRIBUTES=version=3,process.pid=7 "$SPROF" export -f otlp-traces -l service=shop -l version=1.4 -l host=a \
        -o labels.json kept.db 2>err || fail "labels: $(cat err)"
    python3 - <<'END' || fail "other labels"
import json
attributes = [(one["key"], *one["value"].values()) for one in json.load(open("labels.json"))["resourceSpans"][0]["resource"]["attributes"]]
of = dict(attributes)
assert len(of) == len(attributes), attributes
assert [of[name] for name in ("service.name", "service.version", "host.name", "version", "process.pid")] == ["shop", "1.4", "a", "3", "7"], of
END
    local tid
    tid=$(query kept.db "SELECT DISTINCT tid FROM v_kept_call WHERE thread_id NOT IN (SELECT thread_id FROM v_kept_call WHERE function = 'main')")
    "$SPROF" script --thread "$tid" --over 30ms kept.db --format csv | tail -n +2 | cut -d, -f6 | paste -sd' ' >out
    [ "$(cat out)" = "run(void*) outer() slow()" ] || fail "the long calls of a thread: $(cat out)"
    "$SPROF" script -n 2 kept.db >out && [ "$(wc -l <out)" = 3 ] || fail "more than two calls"
    "$SPROF" script --focus slow kept.db 2>err && fail "a function is chosen"
    grep -q 'chosen by --run, --thread and --process alone' err || fail "how calls are chosen"
    "$SPROF" export -f chrome --focus slow -o - kept.db >out 2>err && fail "an export chooses a function"
    grep -q 'calls that were kept are chosen by' err || fail "how calls of an export are chosen"
    traced plain -- ./program
    "$SPROF" export -f otlp-traces -o - plain.db >out 2>err && fail "there are spans without rules"
    grep -q "sprof trace --keep 'over 20ms'" err || fail "what makes spans"
    traced none --keep 'over 1000s' -- ./program
    [ "$("$SPROF" script none.db)" = "no calls were kept" ] || fail "it is not said that there are none"
}

# Those that are kept are the longest so far; with all of them beside, these are what a replay of all durations finds.
slowest() {
    cat >sleeper.cc <<'END'
#include <cstdlib>
#include <unistd.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void work(int n) { for (volatile int i = 0; i < n; i++) BODY; }
NI void leaf(int n) { for (volatile int i = 0; i < n; i++) BODY; }
int main()
{
    for (int i = 0; i < 3000; i++) {
        work(i % 97 * (i % 5)), leaf(i % 89);
        if (i == 2000) usleep(1000), work(30000000);
    }
}
END
    g++ -O2 -g sleeper.cc -o sleeper || fail "it does not compile"
    traced replayed --keep 'slowest 3 : ^work' --keep 'over 0ns and slowest 7 : ^work' --keep 'every 1 : ^work' -- ./sleeper
    traced alone --keep 'slowest 5 : ^(work|leaf)' -- ./sleeper
    for name in replayed alone; do
        "$SPROF" sql $name.db --format csv "SELECT v.function, v.duration_ns, c.rules, v.start_ns FROM v_kept_call v
JOIN kept_call c ON c.run_id = v.run_id AND c.number = v.call_id WHERE c.rules <> 0 ORDER BY v.start_ns" >$name.csv
    done
    python3 - <<'END' || fail "other calls are the slowest"
import csv, heapq
rows = list(csv.DictReader(open("replayed.csv")))
assert len(rows) == 3001, len(rows)
for bit, most in ((0, 3), (1, 7)):
    longest = []
    for row in rows:
        duration = int(row["duration_ns"])
        met = bool(int(row["rules"]) >> bit & 1)
        shortest = longest[0] if len(longest) == most else 0
        # Ticks are finer than nanoseconds: equal ones are judged either way.
        assert met == (duration > shortest) or duration == shortest, (bit, row, longest)
        if met or duration > shortest:
            heapq.heappush(longest, duration)
            longest = heapq.nlargest(most, longest)
            heapq.heapify(longest)
alone = list(csv.DictReader(open("alone.csv")))
for function in ("work(int)", "leaf(int)"):
    longest = []
    for row in (row for row in alone if row["function"] == function):
        assert len([one for one in longest if one > int(row["duration_ns"])]) < 5, (row, longest)
        longest.append(int(row["duration_ns"]))
    assert 5 <= len(longest) < 1000, len(longest)
assert max(int(row["duration_ns"]) for row in alone if row["function"] == "work(int)") > 10000000, "the longest is missing"
END
}

open() {
    traced open --keep 'over 30ms : ^slow' -- ./program
    is "open callers" open.db "SELECT function || ' ' || exit FROM v_kept_call WHERE duration_ns IS NULL ORDER BY start_ns" \
        "main open last() open"
    # It is killed: what is in the rings is there all the same.
    cat >killed.cc <<'END'
#include <csignal>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void leaf() { BODY; }
NI void inner() { leaf(); BODY; raise(SIGKILL); BODY; }
int main() { inner(); BODY; }
END
    g++ -O2 -g killed.cc -o killed || fail "it does not compile"
    "$SPROF" trace --keep 'every 1 : ^leaf' -o killed.db -- ./killed >out 2>err
    is "callers of a killed command" killed.db "SELECT function || ' ' || exit FROM v_kept_call ORDER BY start_ns" \
        "main open inner() open leaf() return"
}

processes() {
    traced processes --children --keep 'every 50 : ^leaf' --keep 'over 30ms : ^slow' -- ./program 0 fork
    # The first process has 102 calls, the forked one 51; the rules are those of the program.
    is "calls that met each rule" processes.db "SELECT fired FROM keep_rule ORDER BY number" "3 3"
    is "roots of the forked process" processes.db "SELECT function FROM v_kept_call WHERE caller_id IS NULL AND
pid NOT IN (SELECT pid FROM v_kept_call WHERE function = 'main') ORDER BY start_ns" "many(int) outer()"
    is "rows without their callers" processes.db "$orphans" 0
}

embedded() {
    "$SPROF" probes ./program --embed -o copy >out 2>err || fail "no copy with probes"
    traced embedded --keep 'every 10 : ^leaf' --keep 'over 30ms : ^slow' --keep 'throws' -- ./copy 900
    is "mechanisms" embedded.db "SELECT DISTINCT mechanism FROM v_call_stats WHERE function LIKE 'leaf%'" embedded
    is "calls that met each rule" embedded.db "SELECT fired FROM keep_rule ORDER BY number" "100 2 5"
    is "rows that met a rule" embedded.db "SELECT function || count(*) FROM v_kept_call WHERE rules IS NOT NULL GROUP BY function ORDER BY 1" \
        "leaf()100 slow()2 thrower(int)5"
    is "rows without their callers" embedded.db "$orphans" 0
}

dropped() {
    traced dropped --keep 'over 0ns : ^leaf' -- ./program 300000
    is "all that met the rule" dropped.db "SELECT fired FROM keep_rule" 300102
    is "rows and what was dropped" dropped.db "SELECT fired - dropped - (SELECT count(*) FROM v_kept_call WHERE rules IS NOT NULL) FROM keep_rule" 0
    is "rows without their callers" dropped.db "$orphans" 0
}

refused() {
    # refuses WHAT OPTION…
    refuses() {
        local what=$1
        shift
        "$SPROF" trace --keep throws "$@" -- ./program >out 2>err && fail "$* goes with rules"
        grep -q -- "$what" err || fail "$*: why not"
    }
    refuses 'does not go with --mode log and --paths' --mode log --paths
    refuses 'does not go with --mode log and --callers' --mode log --callers
    refuses 'does not go with --mode coverage' --mode coverage
    refuses 'does not go with --all-points' --all-points
    refuses 'does not go with --max-overhead' --max-overhead 5%
    refuses 'does not go with --backend uprobe' --backend uprobe
    refuses 'missing closing parenthesis' --keep 'throws : (('
    "$SPROF" trace --keep 'over 20ms and' -- ./program 2>err && fail "half a rule"
    grep -Eq '^sprof: {16}\^$' err || fail "no place is shown"
    local many=()
    for ((i = 0; i < 65; i++)); do many+=(--keep throws); done
    refuses 'at most 64' "${many[@]}"
    "$SPROF" trace --keep 'throws : nowhere' -o none.db -- ./program 2>err
    grep -q "nowhere' finds none of the functions" err || fail "a rule without functions"
    grep -q 'no call met a rule' err || fail "that nothing was kept"
}

case "$1" in
changes | further | values | percentile | slowest | suspended) "$1" ;; # with programs of their own
rules | report | readers | open | processes | embedded | dropped | refused) write_program && "$1" ;;
*) fail "no such case" ;;
esac
