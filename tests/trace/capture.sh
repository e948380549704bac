#!/bin/bash
# sprof trace --args=both and --capture: what arguments lead to when calls begin and end, and other values of kept calls.
#   capture.sh both
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
    # Of some functions; a function of that name is found by another expression.
    traced some --keep 'every 1 : ^(run|fill)' --args=both:^fill -- ./both
    shown some.db | grep -c ' → ' >count
    [ "$(cat count)" = 1 ] || fail "what has changed of other functions: $(shown some.db)"
    "$SPROF" trace --keep throws --args='both:((' -- ./both >out 2>err && fail "half an expression"
    grep -q 'missing closing parenthesis' err || fail "what is wrong with it: $(cat err)"
}

case "$1" in
both) "$1" ;;
*) fail "no such case" ;;
esac
