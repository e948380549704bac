#!/bin/bash
# sprof trace --args=both and --capture: what arguments lead to when calls begin and end, and other values of kept calls.
#   capture.sh both | captured | plain | gone
set -u
. "$(dirname "$0")/lib.sh"

# shown FILE: a line a call: its values as people read them, with addresses as 0x…
shown() {
    "$SPROF" script "$1" --format csv >script.csv || fail "no script"
    python3 - <<'EOF'
import csv, re
for row in csv.DictReader(open("script.csv")):
    name = row["function"].split("(")[0].strip()
    text = name + row["arguments"] + (" = " + row["result"] if row["result"] else "")
    text += " " + row["exit"] if row["exit"] != "return" else ""
    print(re.sub(r"0x[0-9a-f]+", "0x…", text + (" [" + row["values"] + "]" if row["values"] else "")))
EOF
}

# Members, texts, numbers by reference, buffers; open calls that are too many; a call that is left, and one that is not kept.
both() {
    cat >both.cc <<'EOF'
#include <cstdio>
#include <cstring>
#include <string>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct Query { const char *sql; int timeout; double cost; std::string host; bool done; };
struct Counter { int n; NI void bump(int by); };
NI void Counter::bump(int by) { n += by; BODY; }
NI int run(Query *q, int tries) { BODY; q->timeout = 0; q->done = true; q->host += " and more"; return tries; }
NI int same(Query *q) { BODY; return q->timeout; }
NI void grow(int &n, const std::string &s, std::string &t) { n *= 2; t += s; BODY; }
NI long fill(char *buf, size_t len) { memset(buf, 'z', len); BODY; return (long)len; }
NI int deep(Counter *c, int left) { c->n++; BODY; int r = left ? deep(c, left - 1) : 0; BODY; return r + 1; }
NI void throws(Counter *c) { c->n = 77; BODY; throw 5; }
NI void gone(Counter **c) { BODY; delete *c; *c = (Counter *)0x10; }
NI void wild(Counter *c, char *text) { BODY; }
int main()
{
    Query q = {"select 1", 30, 1.5, "db", false};
    Counter *c = new Counter{4};
    char buf[9] = "aaaabbbb";
    int n = 21;
    std::string s = "x", t = "a text that is long enough for the heap";
    run(&q, 2);
    c->bump(3);
    grow(n, s, t);
    fill(buf, 4);
    for (int i = 0; i < 100; i++) same(&q);
    deep(c, 20);
    try { throws(c); } catch (int) { BODY; }
    gone(&c);
    wild((Counter *)8, (char *)~7ul);
    return 0;
}
EOF
    cat >wanted.txt <<'EOF'
run(q = 0x… {sql = "select 1", timeout = 30, cost = 1.5, host = "db", done = false}, tries = 2) = 2 [q->timeout = 30 → 0, q->host = "db" → "db and more", q->done = false → true]
Counter::bump(this = 0x… {n = 4}, by = 3) [this->n = 4 → 7]
grow(n = 21, s = "x", t = "a text that is long enough for the heap") [n = 21 → 42, t = "a text that is long enough for the heap" → "a text that is long enough for the heapx"]
fill(buf = "aaaa", len = 4) = 4 [buf = "aaaa" → "zzzz"]
same(q = 0x… {sql = "select 1", timeout = 0, cost = 1.5, host = "db and more", done = true}) = 0
same(q = 0x… {sql = "select 1", timeout = 0, cost = 1.5, host = "db and more", done = true}) = 0
deep(c = 0x… not saved, left = 20) = 21
deep(c = 0x… not saved, left = 19) = 20
deep(c = 0x… {n = 26}, left = 1) = 2 [c->n = 26 → 28]
deep(c = 0x… {n = 27}, left = 0) = 1 [c->n = 27 → 28]
throws(c = 0x… {n = 28}) exception [c->n = 28 → 77]
wild(c = 0x… unreadable, text = 0x… unreadable)
EOF
    for level in -O1 -O0; do
        g++ $level -g both.cc -o both || fail "it does not compile"
        traced both$level --keep 'every 1 : ^(run|Counter::bump|grow|fill|deep|throws|gone|wild)' --keep 'every 50 : ^same' --args=both -- ./both
        shown both$level.db | grep -Ev '^(main|gone)|left = ([2-9]|1[0-8])\)' >out
        diff wanted.txt out >differs || fail "other values with $level: $(cat differs)"
    done
    # What is not kept takes nothing of the second's budget; texts for which there is no room have not changed.
    cat >budget.cc <<'EOF'
#include <cstring>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct Job { int n; const char *name; };
NI void often(Job *job) { job->n++; BODY; }
NI void rare(Job *job) { job->n++; BODY; }
NI void long_texts(char *a, char *b, char *c, char *d, char *e) { b[1] = e[1] = 'B'; BODY; }
int main()
{
    Job *job = new Job{0, "job"};
    char *texts[5];
    for (char *&text : texts) memset(text = new char[300], 'x', 299), text[299] = 0;
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 25000; k++) often(job);
        rare(job);
    }
    long_texts(texts[0], texts[1], texts[2], texts[3], texts[4]);
    return 0;
}
EOF
    g++ -O1 -g budget.cc -o budget || fail "it does not compile"
    traced budget --keep 'every 1 : ^rare' --keep 'every 1 : ^long_texts' --args=both -- ./budget
    shown budget.db >out
    [ "$(grep -c '^rare.* \[job->n = ' out)" = 10 ] || fail "what is not kept takes the budget: $(cat out)"
    grep -q '^long_texts(.* d = "xxx*…", e = 0x… not read) \[b = "xxx*…" → "xBx*…"\]$' out || fail "texts without room: $(cat out)"
    # Of some functions; a function of that name is found by another expression.
    traced some --keep 'every 1 : ^(run|fill)' --args=both:^fill -- ./both
    shown some.db | grep -c ' → ' >count
    [ "$(cat count)" = 1 ] || fail "what has changed of other functions: $(shown some.db)"
    "$SPROF" trace --keep throws --args='both:((' -- ./both >out 2>err && fail "half an expression"
    grep -q 'missing closing parenthesis' err || fail "what is wrong with it: $(cat err)"
}

# Fields behind pointers, of bases and of unions, statics, globals of namespaces and classes, at the entry and at the end.
captured() {
    cat >capture.cc <<'EOF'
#include <cstring>
#include <string>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct Headers { std::string host; int count; };
struct Base { long serial; virtual ~Base() {} };
struct Request : Base { Headers headers; Request *next; char tag[8]; const char *path; unsigned bits : 3; union { int code; float rate; }; };
namespace config { int level = 3; struct Limits { long most; double share; } limits = {100, 0.5}; thread_local int mine = 4; }
char motto[16] = "be quick";
double rates[2] = {1, 2};
struct Pool { static int used; int free; NI int take(int n); };
int Pool::used = 11;
NI int Pool::take(int n) { free -= n; used += n; BODY; return free; }
NI int handle(Request *r, int id, Request &s)
{
    static int handled = 40;
    handled++;
    config::level += id;
    config::limits.most = id * 7;
    r->headers.host += "!";
    strcpy(r->tag, "seen");
    BODY;
    return handled;
}
NI int plain(int n) { int local = n * 2; BODY; return local + config::mine + (int)rates[0]; }
NI void wild(Request *r) { BODY; }
int main()
{
    Request s, *r = new Request;
    s.headers = {"outer", 5}; s.next = nullptr; s.path = "/s"; s.code = 77; s.serial = 1000; strcpy(s.tag, "s");
    r->headers = {"example.org", 2}; r->next = &s; r->path = "/index"; r->code = 5; r->serial = 42; strcpy(r->tag, "new");
    Pool pool = {20};
    handle(r, 2, s);
    handle(&s, 3, *r);
    pool.take(6);
    plain(8);
    wild((Request *)0x100);
    return *motto ? 3 : 0;
}
EOF
    cat >wanted.txt <<'EOF'
handle [entry config::level = 3, entry r->headers.host = "example.org", entry r->tag = "new", config::level = 5, handled = 41, r->headers.host = "example.org!", r->next->headers.count = 5, s.path = "/s", r->code = 5, r->serial = 42, id = 2, config::limits = {most = 14, share = 0.5}]
handle [entry config::level = 5, entry r->headers.host = "outer", entry r->tag = "s", config::level = 8, handled = 42, r->headers.host = "outer!", r->next->headers.count = unreadable, s.path = "/index", r->code = 77, r->serial = 1000, id = 3, config::limits = {most = 21, share = 0.5}]
Pool::take(this = 0x… {free = 14}, n = 6) = 14 [free = 14, Pool::used = 17, motto = "be quick", *this = {free = 14}]
plain
wild [r->path = unreadable, r->next->path = unreadable, r = 0x… unreadable]
EOF
    for level in -O2 -O0; do
        g++ $level -g capture.cc -o capture || fail "it does not compile"
        traced captured$level --keep 'every 1 : ^(handle|Pool::take|plain|wild)' --args=take \
            --capture 'handle: entry config::level, r->headers.host, r->tag' \
            --capture '^handle: config::level, handled, r->headers.host, r->next->headers.count, s.path, r->code, r->serial, id' \
            --capture '^handle: exit config::limits' --capture 'Pool::take: free, Pool::used, motto, *this' \
            --capture 'wild: r->path, r->next->path, r' -- ./capture
        shown captured$level.db | grep -v '^main' >out
        diff wanted.txt out >differs || fail "other values with $level: $(cat differs)"
    done
    "$SPROF" report --kept captured-O2.db | grep -q 'wild \[r->path = unreadable' || fail "the tree"
    [ "$("$SPROF" sql captured-O2.db --format csv "SELECT group_concat(type || ' ' || value, '; ') FROM v_call_value WHERE name = 'handled'" |
        tail -n 1 | tr -d '\r')" = "int 41; int 42" ] || fail "the rows"
}

# A C program: a structure of the file, and a buffer that is filled while the call runs.
plain() {
    cat >plain.c <<'EOF'
#include <string.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
enum state { IDLE, BUSY = 7 };
struct server { int clients; enum state state; struct server *peer; const char *name; };
static struct server peer = {9, BUSY, 0, "peer"}, server = {0, IDLE, &peer, "main"};
struct buffer { char *data; unsigned used; };
NI void step(struct buffer *buffer, int n)
{
    static unsigned long total;
    server.clients += n;
    server.state = n % 2 ? BUSY : IDLE;
    memcpy(buffer->data, n % 2 ? "odd!" : "even", 5);
    buffer->used = 4;
    total += (unsigned long)n;
    __asm__ volatile("" ::"m"(total));
    BODY;
}
int main(void)
{
    static char data[8] = "none";
    struct buffer buffer = {data, 0};
    for (int i = 1; i <= 3; i++) step(&buffer, i);
    return 0;
}
EOF
    cat >wanted.txt <<'EOF'
step [entry buffer->data = "none", entry server.clients = 0, server.clients = 1, server.state = BUSY, server.peer->name = "peer", total = 1, buffer->data = "odd!"]
step [entry buffer->data = "odd!", entry server.clients = 1, server.clients = 3, server.state = IDLE, server.peer->name = "peer", total = 3, buffer->data = "even"]
step [entry buffer->data = "even", entry server.clients = 3, server.clients = 6, server.state = BUSY, server.peer->name = "peer", total = 6, buffer->data = "odd!"]
EOF
    gcc -O1 -g plain.c -o plain || fail "it does not compile"
    traced plain --keep 'every 1 : ^step' --capture '^step: entry buffer->data, server.clients' \
        --capture 'server.clients, server.state, server.peer->name, total, buffer->data' -- ./plain
    shown plain.db | grep '^step' >out
    diff wanted.txt out >differs || fail "other values: $(cat differs)"
    # What is not found is said, with the place; what cannot be read is refused.
    for wrong in 'step: server.client/near it: clients' 'step: totl/near it: total' 'step: n->x/is passed in registers' 'nowhere: x/no function that it finds' \
        'step: server.clients.x/is no structure' 'step: *n/is passed in registers'; do
        "$SPROF" trace --keep 'every 1' --capture "${wrong%/*}" -o none.db --overwrite -- ./plain >out 2>err || fail "the program was not run"
        grep -q -- "${wrong#*/}" err || fail "what is wrong with '${wrong%/*}': $(cat err)"
        grep -q '\^$' err || fail "the place in '${wrong%/*}': $(cat err)"
    done
    for wrong in 'step: /the name of a parameter' 'step: a b/a comma and another value' 'step: a->/the name of a field' ': a/an expression for functions' \
        'step: a, /the name of a parameter' '(: a/missing closing parenthesis'; do
        expect 2 "$SPROF" trace --keep 'every 1' --capture "${wrong%/*}" -o none.db -- ./plain
        grep -q -- "${wrong#*/}" err || fail "what is wrong with '${wrong%/*}': $(cat err)"
    done
    local many=()
    for ((i = 0; i < 3; i++)); do many+=(--capture "step: $(printf 'server.clients, %.0s' 1 2 3 4 5)n"); done
    "$SPROF" trace --keep 'every 1' "${many[@]}" --capture 'step: server.state' -o none.db --overwrite -- ./plain >out 2>err || fail "the program was not run"
    grep -q 'of each function at most 16 values are captured' err || fail "more than 16 values: $(cat err)"
    expect 2 "$SPROF" trace --keep "over 1ms : $(printf 'a%.0s' {1..5000})" -- ./plain
    grep -q '…: a rule has at most 4096 bytes' err || fail "too long a rule: $(cat err)"
    expect 2 "$SPROF" trace --capture x -- ./plain
    grep -q -- '--capture needs --keep' err || fail "why not: $(cat err)"
}

# What lay in the frame of a call is no value of it when it has ended, also where a pointer leads there; frames of open calls are read.
gone() {
    local level
    cat >gone.c <<'EOF'
#include <stdio.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct job { const char *name; int *count; };
struct job last;
__thread int mine = 4;
NI char *dangling(int n)
{
    char text[32];
    int count = n;
    char *volatile p = text;
    snprintf(text, sizeof text, "dangling %d", n);
    last.name = p;
    last.count = &count;
    BODY;
    return p;
}
NI int inner(struct job *job) { BODY; return *job->count; }
NI int outer(int n)
{
    char text[32] = "outer";
    struct job job = {text, &n};
    last = job;
    BODY;
    return inner(&job) + mine;
}
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += (dangling(i) != 0) + outer(i);
    return sum;
}
EOF
    cat >wanted.txt <<'EOF'
dangling(n = 0) = 0x… unreadable [last.name = 0x… unreadable, *last.count = unreadable]
outer(n = 0) = 4 [last.name = 0x… unreadable, *last.count = unreadable]
inner(job = 0x… {name = "outer", count = 0x…}) = 0 [last.name = "outer", *last.count = 0]
EOF
    for level in -O0 -O1; do
        gcc $level -g gone.c -o gone || fail "it does not compile"
        traced gone --keep 'every 1 : ^(dangling|outer|inner)' --args --capture '^(dangling|outer): last.name, *last.count' \
            --capture '^inner: last.name, *last.count' -- ./gone
        shown gone.db | grep 'n = 0\|^inner.* = 0 ' >out
        diff wanted.txt out >differs || fail "other values with $level: $(cat differs)"
        for wrong in "text/'text' is a local variable, which is gone .*sprof_note" "mine/'mine' is another variable in each thread.*sprof_note"; do
            "$SPROF" trace -o none.db --overwrite --keep 'every 1 : ^outer' --capture "^outer: ${wrong%%/*}" -- ./gone >wrong 2>&1
            tr '\n' ' ' <wrong | grep -q -- "${wrong#*/}.*  ^outer: ${wrong%%/*} .* ^ " || fail "no cure for '${wrong%%/*}': $(cat wrong)"
        done
    done
}

case "$1" in
both | captured | plain | gone) "$1" ;;
*) fail "no such case" ;;
esac
