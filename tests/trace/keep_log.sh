#!/bin/bash
# sprof trace --mode log --keep: all calls have a row in the log, and those that rules keep have one besides.
#   keep_log.sh both | deep | changes | next
# rules.py compares random programs, too.
set -u
. "$(dirname "$0")/lib.sh"

# query FILE SQL: its only column, in one line.
query() { "$SPROF" sql "$1" --format csv "$2" | tail -n +2 | tr -d '\r' | paste -sd' '; }

# finds WHAT FILE SQL WANTED
finds() {
    local found
    found=$(query "$2" "$3")
    [ "$found" = "$4" ] || fail "$1: '$found', not '$4'"
}

joined="SELECT count(*) FROM v_kept_call k WHERE (SELECT count(*) FROM v_call c WHERE c.run_id = k.run_id AND c.thread_id = k.thread_id
AND c.function_id = k.function_id AND c.start_ns = k.start_ns) = 1"

both() {
    cat >program.cc <<'END'
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void leaf() { BODY; }
NI int slow(int n) { if (n == 7) usleep(60000); BODY; return n - 9; }
NI void outer(int n) { slow(n); BODY; leaf(); BODY; }
NI void thrower(int x) { BODY; if (x % 2) throw x; BODY; }
NI void catcher(int x) { try { thrower(x); } catch (int) { BODY; } }
NI void last() { outer(7); BODY; exit(3); }
static void *run(void *) { for (int i = 0; i < 20; i++) outer(i); return nullptr; }
int main()
{
    pthread_t thread;
    pthread_create(&thread, nullptr, run, nullptr);
    pthread_join(thread, nullptr);
    for (int i = 0; i < 10; i++) catcher(i);
    last();
}
END
    g++ -O2 -g -pthread program.cc -o program || fail "it does not compile"
    traced both --mode log --args --keep 'over 30ms : slow' --keep 'throws' --keep 'returns < -7 : slow' -- ./program
    finds "calls by rule" both.db "SELECT fired FROM keep_rule ORDER BY number" "2 5 2"
    finds "the log" both.db "SELECT function || count(*) FROM v_call GROUP BY function ORDER BY 1" \
        "catcher(int)10 last()1 leaf()21 main1 outer(int)21 run(void*)1 slow(int)21 thrower(int)10"
    calls both.db >counted
    rows both.db | diff counted - >out || fail "the log has other calls than were counted: $(cat out)"
    finds "kept calls" both.db "SELECT function || count(*) FROM v_kept_call GROUP BY function ORDER BY 1" \
        "catcher(int)5 last()1 main1 outer(int)4 run(void*)1 slow(int)4 thrower(int)5"
    finds "kept calls with their row in the log" both.db "$joined" 21
    finds "values" both.db "SELECT value FROM v_call_value v JOIN v_kept_call c USING (run_id, call_id) WHERE v.function = 'slow(int)' AND v.position = 0
ORDER BY CAST(value AS INTEGER)" "-9 -8 -2 -2"
    # each call once, in all that shows single calls
    local all
    all=$(query both.db "SELECT count(*) FROM v_call")
    "$SPROF" script both.db >script || fail "no script"
    [ "$(grep -c ' s  ' script)" = "$all" ] || fail "script: not $all calls: $(cat script)"
    [ "$(grep -c '· returns < -7$' script)" = 2 ] && [ "$(grep -c 'slow(n = 0) = -9  .*· returns < -7$' script)" = 1 ] || fail "script: not kept: $(cat script)"
    [ "$(grep -c '· caller of kept$' script)" = 12 ] || fail "script: callers: $(cat script)"
    "$SPROF" export -f chrome -o chrome.json both.db && "$SPROF" export -f firefox -o firefox.json both.db &&
        "$SPROF" export -f otlp-traces -o otlp.json both.db && "$SPROF" html -o page.html both.db || fail "not exported"
    python3 - "$all" <<'END' || fail "exports"
import base64, json, re, sys, zlib
count = int(sys.argv[1])
calls = [event for event in json.load(open("chrome.json"))["traceEvents"] if event["ph"] in "XB"]
why = [call for call in calls if call["args"].get("why", "caller of kept") != "caller of kept"]
assert len(calls) == count and len(why) == 9 and len([call for call in calls if "why" in call["args"]]) == 21, (len(calls), len(why))
assert {call["args"]["arguments"] + call["args"]["result"] for call in calls if call["args"].get("why", "").startswith("returns")} == {"(n = 0)-9", "(n = 1)-8"}
markers = [data for thread in json.load(open("firefox.json"))["threads"] for data in thread["markers"]["data"] if data and data["type"] == "call"]
assert len(markers) == count and len([data for data in markers if "why" in data]) == 21 and all(data["words"] for data in markers), len(markers)
spans = [span for resource in json.load(open("otlp.json"))["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]
assert len(spans) == 21, len(spans)
(singles,) = json.loads(zlib.decompress(base64.b64decode(re.search(r'id="sprof-header">\s*([^<]*)', open("page.html", encoding="utf-8").read())[1]), -15))["singleCalls"]
assert singles["logged"] and singles["all"] == singles["count"] == count and {"returns < -7", "caller of kept", "n = 0"} <= set(singles["texts"]), singles
END
    "$SPROF" report --kept both.db >tree || fail "no tree"
    grep -q 'slow(n = 0) = -9 .*returns < -7' tree || fail "the tree: $(cat tree)"
    "$SPROF" stats --open -i both.db --format csv | tail -n +2 | cut -d, -f1 | paste -sd' ' >out
    [ "$(tr -d '\r' <out)" = "1 1" ] || fail "open calls are not shown once: $("$SPROF" stats --open -i both.db)"
}

# A log with rules is 65534 calls deep. Deeper calls are counted as not logged, and kept.
deep() {
    cat >deep.c <<'END'
#include <unistd.h>
__attribute__((noinline)) int down(int n) { if (!n) usleep(500000); __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory"); return n ? down(n - 1) + 1 : -1; }
int main(void) { return down(65999) != 65998; }
END
    gcc -O1 -g -fno-optimize-sibling-calls deep.c -o deep || fail "it does not compile"
    (ulimit -s 32768 && traced deep --mode log --args --keep 'n = 3 : ^down' -- ./deep) || exit 1
    finds "kept" deep.db "SELECT fired - dropped FROM keep_rule" 1
    # its callers are written in portions, as long as the ring has room
    [ "$(query deep.db "SELECT count(*) = 66001 FROM v_kept_call")" = 1 ] || grep -q ' lacks\? callers further out, for lack of room$' err ||
        fail "callers are missing, and that is not said: $(cat err)"
    finds "its row" deep.db "SELECT function FROM v_kept_call WHERE rules IS NOT NULL" "down"
    finds "its row in the log" deep.db "SELECT count(*) FROM v_call WHERE start_ns IN (SELECT start_ns FROM v_kept_call WHERE rules IS NOT NULL)" 0
    rows deep.db >found
    [ "$(paste -sd' ' found)" = "down 66000 main 1" ] || fail "not all calls: $(cat found)"
    finds "the deepest in the log" deep.db "SELECT max(depth) < 65535 AND (SELECT sum(not_logged) >= 466 FROM probe_ledger) FROM v_call" 1
}

# A log begins and ends in a trace with rules, and rules come and go in a log.
changes() {
    cat >served.c <<'END'
#include <stdio.h>
#define NI __attribute__((noinline, noclone))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI int work(int n) { BODY; return n; }
NI int outer(int n) { BODY; return work(n) + work(-n); }
int main(void)
{
    for (int c, n = 0; (c = getchar()) != EOF;) {
        if (c == '\n') continue;
        for (int i = 0; i < 10; i++) outer(++n);
        puts("done"), fflush(stdout);
    }
    return 0;
}
END
    gcc -O2 -g served.c -o served || fail "it does not compile"
    # serve NAME OPTION…
    serve() {
        local name=$1
        shift
        rm -f letters && mkfifo letters
        "$SPROF" trace -o "$name.db" "$@" -- ./served <letters >served.out 2>err &
        tracer=$!
        children+=("$tracer")
        exec 3>letters
        steps=0
        wait_for_trace err -i "$name.db"
    }
    step() {
        echo s >&3
        steps=$((steps + 1))
        for ((i = 0; i < 1200; i++)); do [ "$(wc -l <served.out)" = $steps ] && return || sleep 0.05; done
        fail "the program does not answer"
    }
    ended() { exec 3>&- && { wait "$tracer" || fail "it ended by $?: $(cat err)"; }; }
    serve t --args --keep 'n = 5 : ^work'
    step # 1 to 10
    expect 0 "$SPROF" ctl -i t.db mode log
    expect 0 "$SPROF" ctl -i t.db keep 'n = 15 : ^work'
    step # 11 to 20
    expect 0 "$SPROF" ctl -i t.db mode stats
    expect 0 "$SPROF" ctl -i t.db keep 'n = 25 : ^work'
    step # 21 to 30
    ended
    finds "each rule" t.db "SELECT fired FROM keep_rule ORDER BY number" "1 1 1"
    finds "the log" t.db "SELECT function || count(*) FROM v_call GROUP BY function ORDER BY 1" "outer10 work20"
    finds "all calls" t.db "SELECT sum(calls) FROM v_call_stats" 91
    # in the log alone what began in it
    finds "kept calls in the log" t.db "$joined" 2
    serve plain --mode log
    expect 2 "$SPROF" ctl -i plain.db keep 'n = 5 : ^work'
    grep -q 'give the first rule at its start' err || fail "why not: $(cat err)"
    ended
    serve paths --callers --keep 'n = 5 : ^work'
    expect 2 "$SPROF" ctl -i paths.db mode log
    grep -q 'room for its path or for its depth' err || fail "why not: $(cat err)"
    ended
}

# Each program keeps its own next call; forked processes of one program keep one together.
next() {
    cat >many.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline, noclone)) int work(int n) { __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory"); return n; }
int main(int count, char **arguments)
{
    for (int i = 0; count > 1 && i < 2; i++) {
        if (!fork()) {
            if (!strcmp(arguments[1], "program")) execl(arguments[0], arguments[0], NULL);
            for (int n = 0; n < 5; n++) work(n);
            _exit(0);
        }
        wait(NULL);
    }
    for (int n = 0; n < 5 && count == 1; n++) work(n);
    return 0;
}
END
    gcc -O2 -g many.c -o many || fail "it does not compile"
    traced programs --children --keep 'next 1 : ^work' -- ./many program
    finds "of two programs" programs.db "SELECT count(DISTINCT pid) || ' ' || count(*) FROM v_kept_call WHERE rules IS NOT NULL" "2 2"
    traced forked --children --keep 'next 1 : ^work' -- ./many fork
    finds "of two forked processes" forked.db "SELECT count(*) FROM v_kept_call WHERE rules IS NOT NULL" 1
}

"$1"
