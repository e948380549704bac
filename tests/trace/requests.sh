#!/bin/bash
# Requests and notes of <sprof.h>: which calls belong to a request that threads hand over, how long it took, in which order.
#   requests.sh live | named | valued
set -u
. "$(dirname "$0")/lib.sh"

write_program() {
    cat >program.c <<'END'
#include <sprof.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
#define BODY __asm__ volatile("" ::: "memory")
enum { JOBS = 6 };
static struct job { int id, us; double begin, end; } jobs[JOBS] = {
    {11, 20000}, {12, 60000}, {13, 20000}, {14, 20000}, {15, 20000}, {16, 20000}};
static int head, tail;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
NI void spend(int us) { usleep(us); BODY; }
NI void other(void) { spend(5000); BODY; }
NI void handle(struct job *job)
{
    char user[400];
    snprintf(user, sizeof user, "user %d", job->id);
    sprof_note("user", user);
    sprof_note_number("us", -job->us);
    memset(user, 'x', sizeof user);
    if (job->id == 13)
        sprof_note("long", user); /* and no end within reach */
    spend(job->us);
    if (job->id == 14)
        printf("id %llu\n", sprof_call_id());
    BODY;
}
NI void receive(struct job *job)
{
    char label[32];
    job->begin = now();
    snprintf(label, sizeof label, "GET /%d", job->id);
    sprof_request(job->id, label);
    spend(3000);
    sprof_request(0, NULL); /* before a worker can begin: parts do not overlap */
    pthread_mutex_lock(&lock);
    tail++;
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
    BODY;
}
/* Begins with a request where it has begun. */
NI void process(struct job *job) { sprof_request(job->id, NULL); handle(job); sprof_request_end(); job->end = now(); BODY; }
static void *work(void *nothing)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        while (head == tail && head < JOBS)
            pthread_cond_wait(&more, &lock);
        const int at = head < JOBS ? head++ : JOBS;
        pthread_mutex_unlock(&lock);
        if (at == JOBS)
            return nothing;
        process(&jobs[at]);
    }
}
/* Ends the program in a call, with a request that has not ended, and whose beginning is cleared away. */
NI void leave(void)
{
    sprof_request(99, "left open");
    other();
    sprof_clear();
    sprof_note("at", "the end");
    sprof_note_number("left", 1);
    other();
    exit(0);
}
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        leave();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < JOBS; i++) receive(&jobs[i]);
    other();
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < JOBS; i++) printf("job %d %d %.0f\n", jobs[i].id, jobs[i].us, (jobs[i].end - jobs[i].begin) * 1e9);
    return 0;
}
END
    cc -O2 -g -Wall -Wextra -Wno-missing-field-initializers -Werror -pthread -I"$INCLUDE" program.c -o program || fail "it does not compile"
    printf '#include <sprof.h>\nint main() { sprof_request(1, nullptr); sprof_note("a", "b"); sprof_request_end(); return (int)sprof_call_id(); }\n' >plus.cc
    c++ -O1 -Wall -Wextra -Werror -I"$INCLUDE" plus.cc -o plus && ./plus || fail "not in C++, or it is traced by nothing"
}

# query SQL: its only column, in one line.
query() { "$SPROF" sql t.db --format csv "$1" | tail -n +2 | tr -d '\r' | paste -sd' '; }

# is WHAT SQL WANTED
is() {
    local found
    found=$(query "$2")
    [ "$found" = "$3" ] || fail "$1: '$found', not '$3'"
}

write_named() {
    cat >named.c <<'END'
#include <pthread.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI int leaf(int n) { BODY; return n; }
NI int step(int n) { int sum = leaf(n) + leaf(n); if (n == 3) usleep(500000); BODY; return sum; }
NI int handle_get(int n) { int sum = step(n); BODY; return sum; }
NI int handle_put(int n) { int sum = step(n) + handle_get(n); BODY; return sum; }
NI int idle(int n) { int sum = leaf(n); BODY; return sum; }
static void *run(void *start)
{
    for (int i = 0; i < 5; i++) idle(i), (i % 2 ? handle_get : handle_put)(i + (int)(long)start);
    return 0;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, (void *)10);
    run(0);
    pthread_join(thread, 0);
    return 0;
}
END
    cc -O2 -g -pthread named.c -o named || fail "it does not compile"
}

# Events of six connections, in turns, on a loop and in two threads of a pool. A connection's events are one request, wherever they are.
write_valued() {
    cat >valued.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct conn { int id; char name[16]; struct conn *self; };
enum { CONNECTIONS = 6 };
static struct conn conns[CONNECTIONS];
NI int leaf(int n) { BODY; return n; }
NI int step(int n) { int sum = leaf(n); BODY; return sum; }
NI int on_event(struct conn *conn, int event) { if (conn->id == 103) usleep(20000); int sum = step(event); BODY; return sum; }
NI int on_job(int fd, struct conn *conn) { int sum = step(fd) + on_event(conn, -1); BODY; return sum; }
NI int other(int n) { int sum = step(n); BODY; return sum; }
NI double half(double x) { BODY; return x / 2; }
NI int once(struct conn **at) { struct conn *conn = *at; int sum = leaf(conn->id); *at = NULL; BODY; return sum; }
static void *pool(void *start)
{
    for (int i = (int)(long)start; i < CONNECTIONS; i += 2) on_job(i, &conns[i]), other(i);
    return NULL;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < CONNECTIONS; i++) {
        conns[i].id = 101 + i;
        snprintf(conns[i].name, sizeof conns[i].name, "peer %d", i);
        conns[i].self = &conns[i];
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < CONNECTIONS; i++) on_event(&conns[i], round);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, pool, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    struct conn *conn = &conns[0];
    once(&conn);
    return half(0.5) > 1;
}
END
    cc -O2 -g -pthread valued.c -o valued || fail "it does not compile"
}

valued() { # OPTION…
    "$SPROF" trace -o t.db --overwrite "$@" -- ./valued >out 2>notes || fail "it ended by $?: $(cat notes)"
}

case $1 in
valued)
    write_valued
    of_functions="SELECT function || ' ' || sum(request IS NOT NULL) || ' ' || sum(request IS NULL) AS v FROM v_kept_call WHERE function NOT IN ('main', 'pool', 'once') GROUP BY function ORDER BY 1"
    valued --request '^on_event: conn->id' --keep 'every 1 : ^(leaf|on_event)$'
    is "calls in them" "$of_functions" "leaf 24 13 on_event 24 0 on_job 0 6 other 0 6 step 24 12"
    is "requests" "SELECT request || ' ' || parts || ' ' || threads AS v FROM v_request ORDER BY 1" "101 4 2 102 4 2 103 4 2 104 4 2 105 4 2 106 4 2"
    is "each in its own" "SELECT count(*) AS n FROM v_kept_call a JOIN v_kept_call b ON b.call_id = a.caller_id AND a.request = b.request WHERE b.function IN ('step', 'on_event')" 48
    is "the slowest" "SELECT request AS v FROM v_request ORDER BY busy_ns DESC LIMIT 1" 103
    "$SPROF" report --kept --request 103 t.db --format csv >out 2>&1 || fail "no report: $(cat out)"
    [ "$(grep -cE ',(leaf|step|on_event),' out)" = 12 ] || fail "not the calls of 103: $(cat out)"
    # Requests that have no row of their own but as callers, a rule's condition beside, a text, and what is passed itself.
    valued --request '^on_(event|job): conn->self->name' --args --keep 'n > 1 and every 1 : ^leaf$'
    is "by a text" "SELECT label || ' ' || parts AS v FROM v_request ORDER BY 1" "peer 0 1 peer 1 1 peer 2 2 peer 3 2 peer 4 2 peer 5 2"
    "$SPROF" report --kept --request 'peer 4' t.db --format csv >out 2>&1 || fail "no report: $(cat out)"
    [ "$(grep -cE ',(leaf|on_event),' out)" = 3 ] || fail "not the calls of peer 4: $(cat out)"
    valued --request '^on_job: fd' --keep 'every 1 : ^step$'
    is "0 is none, and inner ones belong to it" "SELECT request || ' ' || kept_calls || ' ' || label AS v FROM v_request ORDER BY 1" \
        "1 4 on_job 2 4 on_job 3 4 on_job 4 4 on_job 5 4 on_job"
    grep -q 'could not be read' notes && fail "0 was read: $(cat notes)"
    # Negative numbers, as the page of SQL has them; a text is read as far as --text says.
    valued --request '^on_event: event' --text 6 --keep 'every 1 : ^on_event$'
    "$SPROF" report --kept --request -1 t.db --format csv >out 2>&1 || fail "no report: $(cat out)"
    [ "$(grep -c ',on_event,' out) $(grep -c ',-1,on_event,' out)" = "6 6" ] || fail "not the calls of -1: $(cat out)"
    valued --request '^on_event: conn->name' --text 4 --keep 'every 1 : ^on_event$'
    is "by the beginning of a text" "SELECT label || ' ' || parts AS v FROM v_request" "peer 24"
    valued --request '^half: x' --keep 'every 1 : ^half$'
    grep -q 'it is no text, and no integer of up to 8 bytes' notes || fail "a floating-point number: $(cat notes)"
    valued --request '^on_event: entry conn->id' --keep 'every 1 : ^leaf$'
    is "at the entry, of functions without a rule" "SELECT request || ' ' || parts AS v FROM v_request ORDER BY 1" "101 4 102 4 103 4 104 4 105 4 106 4"
    # As it was at the beginning: when the call has ended there is nothing left.
    valued --request '^once: entry at->id' --keep 'every 1 : ^once$'
    grep -q 'at \^' notes || grep -q -- '--request of once' notes || fail "a field of a pointer: $(cat notes)"
    valued --request '^(?:once|on_event): conn->absent' --keep 'every 1 : ^on_event$'
    grep -q -- '--request of on_event.*absent' notes || grep -qA2 -- '--request of on_event' notes || fail "no such field: $(cat notes)"
    is "none" "SELECT count(*) AS n FROM v_request" 0
    for wrong in '^on_event: conn->' '^on_event: a, b' ': id'; do
        "$SPROF" trace -o none.db --request "$wrong" --keep throws -- ./valued 2>notes && fail "not refused: $wrong"
        grep -q 'at ^ give' notes && grep -q '^sprof:  *^$' notes || fail "$wrong: $(cat notes)"
    done
    ;;
named)
    write_named
    "$SPROF" trace -o t.db --request '^handle_' --keep 'every 1 : ^(leaf|handle_)' -- ./named >out 2>notes || fail "it ended by $?: $(cat notes)"
    # In each thread three of put, each with one of get in it, and two of get alone.
    is "requests" "SELECT label || count(*) AS v FROM v_request WHERE duration_ns > 0 GROUP BY label ORDER BY 1" "handle_get10 handle_put6"
    is "calls in them" "SELECT function || ' ' || sum(request IS NOT NULL) || ' ' || sum(request IS NULL) AS v FROM v_kept_call
        WHERE function <> 'run' AND function <> 'main' GROUP BY function ORDER BY 1" "handle_get 10 0 handle_put 6 0 idle 0 10 leaf 32 10 step 16 0"
    is "the innermost one" "SELECT count(*) AS n FROM v_kept_call a JOIN v_kept_call b ON b.call_id = a.caller_id AND a.request = b.request
        WHERE a.function = 'step'" 16
    is "each by itself" "SELECT count(DISTINCT request) AS n FROM v_kept_call" 16
    is "the slowest" "SELECT label AS v FROM v_request ORDER BY duration_ns DESC LIMIT 1" handle_get
    "$SPROF" report --kept --request slowest t.db --format csv >out || fail "no report of the slowest"
    [ "$(grep -cE ',(leaf|step|handle_get),' out)" = 4 ] || fail "the slowest is not handle_get(3) with its calls: $(cat out)"
    "$SPROF" trace -o t.db --overwrite --request nowhere --keep 'every 1' -- ./named >out 2>notes || fail "it was not run"
    grep -q -- "--request 'nowhere' finds none of the functions" notes || fail "no such function: $(cat notes)"
    "$SPROF" trace -o none.db --request a -- ./named 2>notes && fail "requests without rules"
    grep -q -- '--request needs --keep' notes || fail "why not: $(cat notes)"
    "$SPROF" trace -o none.db --request '(' --keep throws -- ./named 2>notes && fail "half an expression"
    grep -q 'missing closing parenthesis' notes || fail "what is wrong: $(cat notes)"
    ;;
live)
    INCLUDE=$(cd "$(dirname "$0")/../../include" && pwd)
    write_program
    ./program >plain || fail "without a trace it ends by $?"
    grep -q '^id 0$' plain || fail "an id without a trace: $(grep id plain)"
    "$SPROF" trace -o t.db --keep 'over 1ms' --keep 'every 1 : ^(handle|process|receive|other)$' -- ./program >out 2>notes || fail "it ended by $?: $(cat notes)"
    is "requests, in their order" "SELECT request || ' ' || label AS v FROM v_request ORDER BY start_ns" \
        "11 GET /11 12 GET /12 13 GET /13 14 GET /14 15 GET /15 16 GET /16"
    is "handed over" "SELECT count(*) AS n FROM v_request WHERE threads = 2 AND parts = 2 AND busy_ns <= threads * duration_ns" 6
    # At least what it sleeps in both threads; the program's own times hold a little more, and whatever the machine does there.
    slept=$(awk '/^job/ {printf "%s(%s, %s, %s)", n++ ? ", " : "", $2, $3, $4}' out)
    is "durations of $slept" "WITH slept (id, us, ns) AS (VALUES $slept) SELECT count(*) AS n FROM slept JOIN v_request ON request = id
        WHERE duration_ns BETWEEN 990 * (us + 3000) AND 1.01 * ns + 100000" 6
    is "requests of one thread, in their order" "SELECT request AS v FROM v_kept_call WHERE function = 'receive' ORDER BY start_ns" "11 12 13 14 15 16"
    for function in process handle; do
        is "requests of $function" "SELECT request AS v FROM v_kept_call WHERE function = '$function' ORDER BY 1" "11 12 13 14 15 16"
    done
    is "calls of no request" "SELECT DISTINCT function AS v FROM v_kept_call WHERE request IS NULL AND function IN ('other', 'main') ORDER BY 1" "main other"
    is "below a call of none" "SELECT count(*) AS n FROM v_kept_call c JOIN v_kept_call d ON d.call_id = c.caller_id WHERE d.function = 'other' AND c.request IS NOT NULL" 0
    is "notes" "SELECT name || '=' || value AS v FROM v_call_value WHERE function = 'handle' AND call_id = (SELECT call_id FROM v_kept_call
        WHERE request = 12 AND function = 'handle') ORDER BY position" "user=user 12 us=-60000"
    is "a long note is cut" "SELECT length(value) AS v FROM v_call_value WHERE name = 'long'" 256
    is "a note of none other" "SELECT count(DISTINCT function) AS v FROM v_call_value" 1
    is "the id that was asked for" "SELECT request || ' ' || function || ' ' || asked_id AS v FROM v_kept_call WHERE asked_id IS NOT NULL" \
        "14 handle $(sed -n 's/^id //p' out)"
    slowest=$(query "SELECT request FROM v_request ORDER BY duration_ns DESC LIMIT 1")
    "$SPROF" report -i t.db --kept --request slowest --columns 200 >out 2>err || fail "no report: $(cat err)"
    grep -q "handle.*user $slowest" out && grep -q "GET /$slowest" out && [ "$(grep -c 'user 1' out)" = 1 ] || fail "not the slowest one: $(cat out)"
    grep -q "6 requests, the slowest $slowest GET /$slowest" out || fail "no line of requests: $(tail -3 out)"
    "$SPROF" report -i t.db --kept --request 14 --format json >out 2>err && grep -q '"request": *14' out || fail "JSON: $(head -c 300 out)"
    expect 1 "$SPROF" report -i t.db --kept --request 99 && said 'there is no request 99'
    expect 2 "$SPROF" report -i t.db --kept --request often && said 'is no request'
    expect 2 "$SPROF" report -i t.db --request 14 && said 'needs --kept'
    "$SPROF" script -i t.db >out 2>err && grep -q 'handle.*request 14' out || fail "script: $(head -5 out)"
    # A request is a trace of its own: its span has all others of it below.
    "$SPROF" export -i t.db -f otlp-traces -o t.json >out 2>&1 || fail "no export: $(cat out)"
    python3 - <<'END' || fail "spans"
import json
spans = [s for r in json.load(open("t.json"))["resourceSpans"] for g in r["scopeSpans"] for s in g["spans"]]
of = lambda s: [int(a["value"]["intValue"]) for a in s["attributes"] if a["key"] == "sprof.request"]
by_id = {s["spanId"]: s for s in spans}
tops = {s["name"]: s for s in spans if of(s) and "parentSpanId" not in s}
assert sorted(tops) == [f"GET /{i}" for i in range(11, 17)], sorted(tops)
for s in spans:
    if of(s):
        top = tops[f"GET /{of(s)[0]}"]
        assert s["traceId"] == top["traceId"]
        while "parentSpanId" in s:
            s = by_id[s["parentSpanId"]]
            assert s["traceId"] == top["traceId"]
        assert s is top
    elif "parentSpanId" in s:
        assert s["traceId"] == by_id[s["parentSpanId"]]["traceId"]
assert len({s["traceId"] for s in tops.values()}) == 6
assert any(a["key"] == "sprof.note.user" for s in spans for a in s["attributes"])
END
    "$SPROF" html -i t.db -o t.html >out 2>&1 || fail "no page: $(cat out)"
    python3 - <<'END' || fail "texts of the page"
import base64, json, re, zlib
header = re.search(r'id="sprof-header">\s*([^<]*)', open("t.html", encoding="utf-8").read())[1]
(calls,) = json.loads(zlib.decompress(base64.b64decode(header), -15))["singleCalls"]
texts = calls["texts"]
assert {f"{i} GET /{i}" for i in range(11, 17)} <= set(texts), texts
assert "user = user 12, us = -60000" in texts and not any("job" in text and "user =" in text for text in texts), texts
END
    # What has not ended at the end has its notes, and a request that was open at a clear its row.
    "$SPROF" trace -o u.db --keep 'every 1 : ^other$' -- ./program leave >out 2>notes || fail "left, it ended by $?: $(cat notes)"
    asked() { "$SPROF" sql u.db --format csv "$1" | tail -n +2 | tr -d '\r' | paste -sd' '; }
    [ "$(asked "SELECT request || ' ' || label || ' ' || (duration_ns IS NULL) || ' ' || kept_calls AS v FROM v_request")" = "99 left open 1 1" ] ||
        fail "an open request after a clear: $(asked 'SELECT * FROM v_request')"
    [ "$(asked "SELECT function || ': ' || name || '=' || value AS v FROM v_call_value ORDER BY position")" = "leave: at=the end leave: left=1" ] ||
        fail "notes of an open call: $(asked 'SELECT * FROM v_call_value')"
    # Without rules nothing is said, and the function is none of those that are traced.
    "$SPROF" trace -o t.db -- ./program >out 2>notes || fail "without rules it ended by $?: $(cat notes)"
    is "without rules" "SELECT count(*) AS n FROM v_call_stats WHERE function = 'sprof_remark'" 0
    ;;
*) fail "no case $1" ;;
esac
