#!/bin/bash
# sprof trace --mode log: every call has a row, or is counted as not logged, and programs do what they do untraced.
#   log.sh random LANGUAGE COMPILER | flow | nested | wraps | full | governed | threads | control | cleared | left | kill | callers | uncalled | names | short
set -u
. "$(dirname "$0")/lib.sh"
tracing=(--mode log)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# adds_up FILE: rows and what is not logged are what was counted.
adds_up() {
    "$SPROF" stats -i "$1" --format csv >stats.csv 2>err || fail "no stats"
    python3 -c 'import csv
for row in csv.DictReader(open("stats.csv")):
    print(row["function"].split("(")[0], row["calls"])' | sort >counted
    rows "$1" | diff counted - >out || fail "$1: calls counted, and calls logged or told as not logged, differ"
}

# nests FILE: on each thread calls lie within those that they are below.
nests() {
    "$SPROF" script "$1" --format csv >script.csv 2>err || fail "no script"
    python3 - <<'END' || fail "calls do not lie within their callers"
import csv
thread, open_calls = None, []
for row in csv.DictReader(open("script.csv")):
    if row["tid"] != thread:
        thread, open_calls = row["tid"], []
    start, depth = int(row["start_ns"]), int(row["depth"])
    end = start + int(row["duration_ns"]) if row["duration_ns"] else None
    assert depth <= len(open_calls) + 1, row
    del open_calls[depth - 1:]
    if open_calls and open_calls[-1][1] is not None:
        assert open_calls[-1][0] <= start and (end is None or end <= open_calls[-1][1]), (row, open_calls[-1])
    open_calls.append((start, end))
END
}

write_program() {
    cat >program.cc <<'END'
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
static jmp_buf back;
extern "C" NI long six(long a, long b, long c, long d, long e, long f) { KEEP; return a + b + c + d + e + f; }
NI void thrower(int x) { KEEP; throw x; }
NI void middle(int x) { thrower(x); KEEP; }
NI void jumper() { KEEP; longjmp(back, 1); }
NI void below_jumper() { jumper(); KEEP; }
NI long again(long n) { return n ? again(n - 1) + 1 : 0; }
NI void leaves() { pthread_exit(0); }
NI void stays() { _exit(7); }
NI void hot() { KEEP; }
static void *run(void *rounds) { for (long i = 0; i < (long)rounds; i++) hot(); leaves(); return 0; }
int main(int count, char **arguments)
{
    const long rounds = count > 1 ? atol(arguments[1]) : 10;
    try { middle(5); } catch (int) { }
    if (!setjmp(back)) below_jumper();
    pthread_t thread;
    pthread_create(&thread, 0, run, (void *)rounds);
    pthread_join(thread, 0);
    pid_t child = fork();
    if (!child) { hot(); _exit(0); }
    waitpid(child, 0, 0);
    while (count > 2 && access(arguments[2], F_OK)) { hot(); usleep(1000); }
    printf("%ld %ld\n", again(5), six(1, -1, 0x123456789a, 4, 5, 6));
    fflush(stdout);
    stays();
}
END
    g++ -O1 -g -fno-optimize-sibling-calls -pthread program.cc -o program || fail "no compiler"
}

case $1 in
random)
    suffix=c
    [ "$2" = c ] || suffix=cc
    command -v "$3" >/dev/null || skip "no $3"
    for seed in 1 2; do
        python3 "$here/generate.py" "$2" "$seed" >program.$suffix || fail "no program"
        for flags in -O0 -O2; do
            "$3" $flags -g -w -pthread ${LINK-} program.$suffix -o program || fail "$3 $flags"
            traced program --function '^f[0-9]' -- ./program log
            sort log >wanted
            rows program.db >found
            diff wanted found >out || fail "seed $seed, $3 $flags: calls differ"
        done
    done
    traced program --module '*' -- ./program log
    rows program.db | grep -E '^f[0-9]+ ' >found
    sort log | diff - found >out || fail "calls differ when all libraries are traced"
    ;;
flow)
    write_program
    traced program -- ./program
    adds_up program.db
    nests program.db
    sql program.db "SELECT depth, function, exit FROM v_call WHERE tid = pid ORDER BY start_ns, depth" |
        sed -E 's/"//g; s/\([^|]*\)//' >found
    diff - found >out <<'END' || fail "another flow"
1|main|open
2|middle|exception
3|thrower|exception
2|below_jumper|longjmp
3|jumper|longjmp
2|six|return
2|again|return
3|again|return
4|again|return
5|again|return
6|again|return
7|again|return
2|stays|open
END
    sql program.db "SELECT depth, function, exit, count(*) FROM v_call WHERE tid <> pid GROUP BY 1, 2, 3" |
        sed -E 's/"//g; s/\([^|]*\)//' >found
    diff - found >out <<'END' || fail "another flow of the thread"
1|run|thread-end|1
2|hot|return|10
2|leaves|thread-end|1
END
    sql program.db "SELECT word1, word2, word3, word4, word5, word6 FROM v_call WHERE function = 'six'" >found
    grep -qix '0x1|0xffffffffffffffff|0x123456789a|0x4|0x5|0x6' found || fail "other words: $(cat found)"
    expect 0 "$SPROF" script program.db
    grep -qE '^ +[0-9.]+ s +[0-9.]+ [nµm]?s +middle \(0x5, .* → exception(  · (waited|ready) [^→]*)?$' out || fail "no flow in the text"
    expect 0 "$SPROF" script program.db --thread "$(sql program.db 'SELECT DISTINCT tid FROM v_call WHERE tid <> pid')"
    [ "$(grep -c hot out)" = 10 ] && ! grep -q main out || fail "not the thread's calls alone"
    expect 2 "$SPROF" script program.db --focus main && said 'v_call'
    # Long ones alone.
    long=$(sql program.db 'SELECT max(duration_ns) / 2 FROM v_call')
    expect 0 "$SPROF" script program.db --format csv --over "${long}ns"
    [ "$(tail -n +2 out | wc -l)" = "$(sql program.db "SELECT count(*) FROM v_call WHERE duration_ns IS NULL OR duration_ns >= $long")" ] ||
        fail "--over shows other calls"
    # Everything else works on the same run.
    run "$SPROF" report -n 0 -i program.db
    [ "$status" = 0 ] && grep -q hot out || fail "no report"
    # Of chosen threads only theirs; what does not choose calls is refused.
    thread=$(sql program.db "SELECT max(tid) FROM v_call")
    for format in chrome firefox speedscope; do
        expect 0 "$SPROF" export -f $format --thread "$thread" -o one.json program.db
        for choice in '--time 0,1' '--focus main' '--phase 1' '--module program' '--mode pc'; do
            expect 2 "$SPROF" export -f $format $choice -o none.json program.db && said 'chosen by --run, --process and --thread alone'
        done
    done
    expect 0 "$SPROF" export -f chrome --thread "$thread" -o one.json program.db
    [ "$(grep -o '"ph":"X"' one.json | wc -l)" = "$(sql program.db "SELECT count(*) FROM v_call WHERE tid = $thread AND duration_ns IS NOT NULL")" ] ||
        fail "other calls than those of one thread"
    expect 0 "$SPROF" export -f chrome -o trace.json program.db
    python3 - <<'END' || fail "the export for chrome"
import json
events = [e for e in json.load(open("trace.json"))["traceEvents"] if e.get("cat") == "call"]
assert sum(e["name"].startswith("hot") for e in events) == 10
six = [e for e in events if e["name"].startswith("six")]
assert len(six) == 1 and six[0]["ph"] == "X" and six[0]["args"]["word3"] == "0x123456789a", six
END
    expect 0 "$SPROF" export -f speedscope -o calls.json program.db
    python3 - <<'END' || fail "the export for speedscope"
import json
file = json.load(open("calls.json"))
names = [frame["name"].split("(")[0] for frame in file["shared"]["frames"]]
profiles = [p for p in file["profiles"] if p["type"] == "evented"]
assert len(profiles) == 2 and file["profiles"][file["activeProfileIndex"]] is profiles[0], file["activeProfileIndex"]
opened, at_depth = {}, {}
for profile in profiles:
    stack, now = [], profile["startValue"]
    for event in profile["events"]:
        assert event["at"] >= now, event
        now = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
            name = names[event["frame"]]
            opened.setdefault(name, []).append(event["frame"])
            at_depth.setdefault(name, set()).add(len(stack))
        else:
            assert stack.pop() == event["frame"], event
    assert not stack and now == profile["endValue"], (stack, now)
# One frame for all calls of a function, whatever their arguments; each call in the one that made it.
assert all(len(set(frames)) == 1 for frames in opened.values()), opened
assert len(opened["hot"]) == 10 and at_depth["hot"] == {2}, at_depth
assert len(opened["six"]) == 1 and at_depth["again"] == {2, 3, 4, 5, 6, 7}, at_depth
END
    sql program.db 'SELECT sum(self_ns + outside_ns) FROM v_call_stats WHERE run_id = 1' >self
    expect 0 "$SPROF" export -f firefox -o profile.json program.db
    python3 - <<'END' || fail "the export for firefox"
import json
profile = json.load(open("profile.json"))
names, found = profile["shared"]["stringArray"], {}
assert [schema["name"] for schema in profile["meta"]["markerSchema"]] == ["call"]
assert len(profile["threads"]) == 2
for thread in profile["threads"]:
    markers, times, now = thread["markers"], [], 0
    for delta in thread["samples"]["timeDeltas"]:
        times.append(now := now + delta)
    # The page shows what lies between the first sample and the last.
    assert delta >= 0 and len(times) == len(thread["samples"]["stack"]) == thread["samples"]["length"]
    assert times[0] <= min(markers["startTime"]) and max(filter(None, markers["endTime"])) <= times[-1], times
    columns = [markers[key] for key in ("name", "startTime", "endTime", "phase", "category", "data")]
    assert all(len(column) == markers["length"] for column in columns)
    for name, start, end, phase, category, data in zip(*columns):
        assert data["type"] == "call" and category == 1, (data, category)
        assert (end is None) == (phase == 2) == (data["exit"] == "open") and (end is None or end >= start), data
        found.setdefault((thread["isMainThread"], names[name].split("(")[0]), []).append(data)
assert len(found[False, "hot"]) == 10 and len(found[False, "run"]) == 1 and (True, "hot") not in found, found
assert all(thread["samples"]["weightType"] == "tracing-ms" for thread in profile["threads"])
own = float(open("self").read().split()[-1])
weights = sum(sum(thread["samples"]["weight"]) for thread in profile["threads"])
assert abs(weights * 1e6 - own) <= 0.001 * own, (weights, own)
assert [data["exit"] for data in found[True, "middle"]] == ["exception"], found
assert found[True, "six"][0]["words"] == "0x1 0xffffffffffffffff 0x123456789a 0x4 0x5 0x6", found
assert profile["meta"]["extra"][0]["entries"][0]["value"] == sum(map(len, found.values()))
END
    # Merged and appended, calls are those of both.
    cp program.db first.db
    "$SPROF" trace --mode log --append -o program.db -- ./program >/dev/null 2>err
    [ "$(sql program.db 'SELECT count(*) FROM v_call')" = "$((2 * $(sql first.db 'SELECT count(*) FROM v_call')))" ] ||
        fail "an appended run"
    for table in v_call_stats v_function; do
        sql first.db "SELECT * FROM $table ORDER BY function" | cut -d '|' -f 1-9 >wanted
        sql program.db "SELECT * FROM $table WHERE run_id = 1 ORDER BY function" | cut -d '|' -f 1-9 | diff wanted - >out ||
            fail "an appended run changed the first: $table"
    done
    [ "$(sql program.db "SELECT sum(calls) FROM v_call_stats GROUP BY run_id" | uniq | wc -l)" = 1 ] || fail "other calls"
    "$SPROF" trace --mode log -o second.db -- ./program >/dev/null 2>err
    expect 0 "$SPROF" merge -o both.db first.db second.db
    [ "$(sql both.db 'SELECT count(DISTINCT call_id) FROM v_call')" = "$((2 * $(sql first.db 'SELECT count(*) FROM v_call')))" ] ||
        fail "merged"
    # Deeper calls are counted, and not logged.
    traced deep --depth 2 -- ./program
    [ "$(sql deep.db 'SELECT max(depth), count(*) FROM v_call WHERE tid = pid')" = "2|6" ] || fail "the depth"
    [ -z "$(sql deep.db 'SELECT * FROM v_not_logged')" ] || fail "what is too deep is no loss"
    # What does not choose calls is refused.
    expect 1 "$SPROF" script --thread nobody deep.db && said "no thread is called .nobody."
    for choice in '--mode pc' '--app-module *.none' '--focus main' '--time 0,1'; do
        expect 2 "$SPROF" script $choice deep.db && said 'chosen by --run and --thread alone'
    done
    expect 2 "$SPROF" trace --depth 3 -- ./program && said 'mode log'
    expect 2 "$SPROF" trace --max-size 3M -- ./program && said 'mode log'
    ;;
wraps)
    # A ring comes to its end many times, with the first half of a call's beginning in its last place, too: all words are the call's.
    cat >six.c <<'END'
#include <unistd.h>
__attribute__((noinline)) long six(long a, long b, long c, long d, long e, long f)
{
    __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory");
    return a + b + c + d + e + f;
}
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 300000; i++) {
        sum += six(i, i + 1, i + 2, i + 3, i + 4, i + 5);
        if (i % 1000 == 0)
            usleep(2000); /* it is read meanwhile */
    }
    return sum == 1;
}
END
    gcc -O1 -g six.c -o six || fail "no compiler"
    expect 0 "$SPROF" trace --mode log --function '^six$' -o six.db -- ./six
    "$SPROF" sql six.db --format csv "SELECT word1, word2, word3, word4, word5, word6 FROM v_call ORDER BY start_ns" >words ||
        fail "no words"
    python3 - "$(sql six.db "SELECT coalesce(sum(not_logged), 0) FROM v_not_logged")" <<'END' || fail "words of other calls"
import csv, sys
calls = [[int(word, 0) for word in row] for row in list(csv.reader(open("words")))[1:]]
missing = int(sys.argv[1])
assert len(calls) + missing == 300000, (len(calls), missing)
assert len(calls) > 150000, len(calls) # three laps of a ring of 4 MiB
numbers = [words[0] for words in calls]
assert numbers == sorted(set(numbers)), "calls twice, or in another order"
for words in calls:
    assert words == list(range(words[0], words[0] + 6)), words
END
    ;;
full)
    # More calls than may be written: figures stay exact, and what has no row is told by function and second.
    write_program
    traced program --max-size 2M -- ./program 5000000
    grep -q 'largest size' got_err || fail "not said that the file is large enough"
    adds_up program.db
    [ "$(sql program.db "SELECT calls FROM v_call_stats WHERE function LIKE 'hot%'")" = 5000000 ] || fail "not 5000000 calls"
    [ "$(sql program.db "SELECT count(*) > 0 FROM v_not_logged WHERE function LIKE 'hot%' AND not_logged > 0")" = 1 ] ||
        fail "nothing is told as not logged"
    missing=$(sql program.db "SELECT sum(not_logged) FROM v_not_logged")
    grep -qE "[0-9] calls written down, $(grouped "$missing") not, for lack of room" got_err || fail "the end does not say how many are missing"
    expect 0 "$SPROF" script -n 1 program.db && grep -q "^$missing calls are not in the log" out || fail "the flow does not tell what is missing"
    expect 0 "$SPROF" script -n 1 --format csv program.db && ! grep -q 'not in the log' out || fail "words in CSV"
    # Until the file is that large all are written down.
    written=$(sed -n 's/^.*[^0-9 ]  *\([0-9 ]*\) calls written down.*$/\1/p' got_err | tr -d ' ')
    holds "$written > 50000" "calls in the log"
    size=$(stat -c %s program.db)
    [ "$size" -lt 60000000 ] || fail "$size bytes"
    ;;
governed)
    # Functions are timed, then counted, then perhaps off, as --max-overhead has it, while their calls are logged: what was counted
    # is in the log or told as not logged, with or without an end.
    cat >program.c <<'END'
#include <stdio.h>
#include <unistd.h>
#define NI __attribute__((noinline))
NI void hot(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
NI void round_of(int calls) { for (int i = 0; i < calls; i++) hot(); usleep(20000); }
int main(void) { for (int i = 0; i < 30; i++) round_of(10000); puts("done"); return 3; }
END
    gcc -O1 -g program.c -o program || fail "no compiler"
    traced program --max-overhead 2% -- ./program
    [ "$(sql program.db "SELECT count(*) > 0 FROM v_probe_event WHERE function LIKE 'hot%' AND share > 0.02")" = 1 ] ||
        fail "the limit is not held in this mode"
    adds_up program.db
    grep -qx 'round_of 30' counted || fail "not 30 rounds: $(cat counted)"
    [ "$(sql program.db "SELECT count(*) FROM v_call WHERE (exit = 'unseen') AND duration_ns IS NOT NULL")" = 0 ] ||
        fail "calls whose end nobody saw have a length"
    nests program.db
    ;;
threads)
    cat >program.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void work(void) { KEEP; }
NI void *works(void *x) { for (int i = 0; i < 100; i++) work(); return x; }
static volatile long handled;
NI void in_handler(void) { KEEP; }
static void handler(int number) { (void)number; in_handler(); __atomic_fetch_add(&handled, 1, 5); }
int main(void)
{
    pthread_t threads[20];
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct itimerval timer = {{0, 500}, {0, 500}};
    sigaltstack(&stack, 0);
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &timer, 0);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 20; i++) pthread_create(&threads[i], 0, works, 0);
        for (int i = 0; i < 20; i++) pthread_join(threads[i], 0);
    }
    for (int i = 0; i < 1000000; i++) work();
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, 0);
    FILE *out = fopen("handled", "w");
    fprintf(out, "%ld\n", handled);
    fclose(out);
    puts("done");
    return 0;
}
END
    gcc -O1 -g -w -pthread program.c -o program || fail "no compiler"
    traced program -- ./program
    adds_up program.db
    grep -qx 'work 1100000' counted && grep -qx 'works 1000' counted || fail "other calls"
    grep -qx "in_handler $(cat handled)" counted || fail "other calls in the handler"
    [ "$(sql program.db "SELECT count(*) FROM v_call WHERE function = 'works' AND exit <> 'return'")" = 0 ] ||
        fail "calls of threads that are not over"
    ;;
control)
    write_program
    "$SPROF" trace -o t.db -- ./program 10 end >trace.out 2>trace.err &
    tracer=$!
    children+=("$tracer")
    wait_until 60 eval '"$SPROF" stats -i t.db --format csv 2>err | grep -q hot'
    [ "$("$SPROF" sql t.db --format csv 'SELECT count(*) FROM call' 2>err | tail -1 | tr -d '\r')" = 0 ] || fail "a log"
    expect 0 "$SPROF" ctl -i t.db start log
    wait_until 60 eval '[ "$("$SPROF" sql t.db --format csv "SELECT count(*) > 20 FROM call" | tail -1 | tr -d "\r")" = 1 ]'
    expect 0 "$SPROF" ctl -i t.db mode stats
    expect 0 "$SPROF" ctl -i t.db stats
    run "$SPROF" ctl -i t.db status && grep -q 'mode stats' out || fail "the mode"
    touch end
    wait "$tracer"
    [ $? = 7 ] || fail "the command's exit status"
    # Calls in between were logged: fewer than were counted, and whole.
    [ "$(sql t.db "SELECT count(*) > 20 AND count(*) < (SELECT calls FROM v_call_stats WHERE function LIKE 'hot%')
        FROM v_call WHERE function LIKE 'hot%'")" = 1 ] || fail "calls in between"
    [ "$(sql t.db "SELECT count(*) FROM v_call WHERE function NOT LIKE 'hot%'")" = 0 ] || fail "others were logged"
    ;;
cleared)
    # What is cleared while threads call is gone from the figures and from the log alike: neither waits for the threads, so
    # that a call may end right between, but no more of them.
    cat >cleared.c <<'END'
#include <pthread.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
static volatile int stop;
NI void leaf(void) { for (volatile int i = 0; i < 1500; i++) {} }
NI void middle(void) { leaf(); leaf(); leaf(); __asm__ volatile(""); }
NI void last(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
static void *run(void *unused) { while (!stop) middle(); last(); return unused; }
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, 0);
    while (access("end", F_OK)) usleep(1000);
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 7;
}
END
    gcc -O1 -g -fno-optimize-sibling-calls -pthread cleared.c -o cleared || fail "no compiler"
    for round in 1 2 3 4; do
        rm -f t.db* end
        "$SPROF" trace --mode log --max-overhead none -o t.db -- ./cleared >trace.out 2>trace.err &
        tracer=$!
        children+=("$tracer")
        wait_for_trace trace.err -i t.db
        for ((i = 0; i < 4; i++)); do
            sleep 0.1
            expect 0 "$SPROF" ctl -i t.db clear
        done
        sleep 0.1
        touch end
        wait "$tracer"
        [ $? = 7 ] || fail "the command's exit status"
        for function in leaf middle; do
            [ "$(sql t.db "SELECT abs(s.calls - (SELECT count(*) FROM v_call c WHERE c.function = s.function)
                - (SELECT coalesce(sum(not_logged), 0) FROM v_not_logged n WHERE n.function = s.function)) <= 2
                FROM v_call_stats s WHERE function = '$function'")" = 1 ] ||
                fail "round $round: rows of $function are not those that were counted: $(sql t.db "SELECT function, calls,
                    (SELECT count(*) FROM v_call c WHERE c.function = s.function) FROM v_call_stats s")"
        done
        [ "$(sql t.db "SELECT count(*) FROM v_call WHERE function = 'run' AND exit = 'return'")" = 2 ] || fail "calls in flight"
        [ "$(sql t.db "SELECT (SELECT count(*) FROM v_call WHERE function = 'last')
            + (SELECT coalesce(sum(not_logged), 0) FROM v_not_logged WHERE function = 'last')")" = 2 ] ||
            fail "calls at the end: $(sql t.db "SELECT * FROM v_call WHERE function = 'last'"; sql t.db "SELECT * FROM v_not_logged")"
    done
    ;;
nested)
    # Calls end within their callers to the nanosecond, also where one exception ends several at the same instant, and where the
    # caller goes on for so long that what a tick takes is known better by then. Viewers of Chrome traces drop what does not.
    cat >nested.cc <<'END'
#include <pthread.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void leaf() { KEEP; }
NI void thrower(int n) { leaf(); if (n) thrower(n - 1); else throw 1; KEEP; }
NI void catcher(int n) { try { thrower(n); } catch (int) { leaf(); } KEEP; }
NI void recursive(int n) { leaf(); if (n) recursive(n - 1); KEEP; }
NI void waits() { for (int i = 0; i < 400; i++) { recursive(i % 9); catcher(i % 7); usleep(5000); } leaf(); }
NI void ends() { leaf(); pthread_exit(0); }
NI void *run(void *) { recursive(5); ends(); return 0; }
NI void *stays(void *) { leaf(); for (;;) pause(); return 0; }
int main()
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, stays, 0);
    pthread_create(&threads[1], 0, run, 0);
    pthread_join(threads[1], 0);
    waits();
    return 6;
}
END
    g++ -O1 -g -pthread -fno-optimize-sibling-calls nested.cc -o nested || fail "no compiler"
    traced nested -- ./nested
    adds_up nested.db
    nests nested.db
    expect 0 "$SPROF" export -f chrome -o nested.json nested.db
    python3 - <<'END' || fail "the export for Chrome differs from the script"
import csv, json
rows = {(row["tid"], row["start_ns"], row["function"], row["depth"]): row for row in csv.DictReader(open("script.csv"))}
calls = sorted((int(row["tid"]), int(row["start_ns"]), row["function"], int(row["duration_ns"] or -1)) for row in rows.values())
slices = sorted((e["tid"], round(e["ts"] * 1000), e["name"], round(e.get("dur", -0.001) * 1000))
                for e in json.load(open("nested.json"))["traceEvents"] if e["ph"] in "XB")
assert calls == slices, [pair for pair in zip(calls, slices) if pair[0] != pair[1]][:3]
assert all(not row["duration_ns"] for row in rows.values() if row["function"].startswith("stays"))
END
    ;;
left)
    # What threads have logged is read to its end when the trace ends before them, also behind calls that signals were
    # handled in and left by siglongjmp while they wrote: none of those that are counted is missing. One that was left right
    # behind its line is not counted; and each of three threads may be between the two when all is read.
    cat >left.cc <<'END'
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static thread_local sigjmp_buf back;
static thread_local volatile sig_atomic_t may_leave;
__attribute__((noinline)) void hot() { __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory"); }
static void handle(int) { if (may_leave) { may_leave = 0; siglongjmp(back, 1); } }
static void *run(void *)
{
    struct sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = syscall(SYS_gettid);
    timer_t timer;
    const itimerspec often = {{0, 200000}, {0, 200000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, 0)) abort();
    for (;;) {
        if (!sigsetjmp(back, 1)) {
            may_leave = 1;
            for (int i = 0; i < 1000; i++) hot();
        }
        may_leave = 0;
    }
}
int main()
{
    pthread_t thread;
    struct sigaction action = {};
    action.sa_handler = handle;
    sigaction(SIGUSR1, &action, 0);
    for (int i = 0; i < 3; i++) pthread_create(&thread, 0, run, 0);
    alarm(600);
    for (;;) pause();
}
END
    g++ -O1 -g -pthread left.cc -o left || fail "no compiler"
    ./left &
    program=$!
    children+=("$program")
    wait_until 60 cmp -s left "/proc/$program/exe"
    for way in detach end interrupt detach end interrupt; do
        rm -f t.db*
        "$SPROF" trace --mode log -p "$program" --function '^hot' -o t.db >trace.out 2>trace.err &
        tracer=$!
        wait_for_trace trace.err -i t.db
        sleep 0.3
        if [ $way = interrupt ]; then
            kill -INT "$tracer"
        else
            expect 0 "$SPROF" ctl -i t.db $way
        fi
        wait "$tracer" || fail "$way: the trace: $(cat trace.err)"
        missing=$(sql t.db "SELECT (SELECT sum(calls) FROM v_call_stats) - (SELECT count(*) FROM v_call) \
            - (SELECT coalesce(sum(not_logged), 0) FROM v_not_logged)")
        [ "$missing" -lt 10 ] && [ "$missing" -gt -1000 ] || fail "$way: $missing calls were counted, and neither logged nor told as not logged"
    done
    kill "$program"
    ;;
kill)
    # sprof dies at some moment of the log: the command ends as it should.
    write_program
    for i in $(seq 8); do
        rm -f end out.txt
        setsid "$SPROF" trace --mode log -o t.db -- ./program 3000000 end >out.txt 2>err &
        tracer=$!
        children+=("$tracer")
        wait_for_trace err -i t.db
        sleep "0.$((RANDOM % 40 + 10))"
        kill -9 "$tracer"
        wait "$tracer" 2>/dev/null
        touch end
        wait_until 60 grep -q '^5 ' out.txt
    done
    # What was written is there.
    run "$SPROF" stats -i t.db
    [ "$status" = 0 ] || fail "no stats of what a killed recorder left"
    ;;
callers)
    cat >program.c <<'END'
#include <stdio.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void last(void) { KEEP; }
NI void middle(void) { last(); last(); last(); KEEP; }
NI void first(void) { middle(); middle(); KEEP; }
NI long again(long n) { return n ? again(n - 1) + 1 : (last(), 0); }
int main(void)
{
    for (int i = 0; i < 10; i++) first();
    for (int i = 0; i < 5; i++) middle();
    printf("%ld\n", again(3000));
    return 0;
}
END
    gcc -O1 -fno-optimize-sibling-calls -g program.c -o program || fail "no compiler"
    ./program >want
    "$SPROF" trace --callers -o program.db -- ./program >got 2>err || fail "exit status"
    cmp -s want got || fail "other output"
    sql program.db "SELECT caller, callee, samples FROM v_edge ORDER BY 1, 2" >found
    diff - found >out <<'END' || fail "other callers"
again|again|3000
again|last|1
first|middle|20
main|again|1
main|first|10
main|middle|5
middle|last|75
END
    "$SPROF" stats -i program.db --format csv >stats.csv 2>err || fail "no stats"
    [ "$(python3 -c 'import csv
print(sum(int(row["calls"]) for row in csv.DictReader(open("stats.csv"))))')" = 3113 ] || fail "other calls"
    run "$SPROF" report -i program.db --callers last --min-percent 0
    grep -q middle out && grep -q again out || fail "no callers in the report"
    run "$SPROF" report -i program.db --edges
    grep -q 'calls' out || fail "not said that calls are counted"
    expect 2 "$SPROF" trace --callers --paths -- ./program && said 'give one of them'
    # A log has the same callers and the same tree, and its rows.
    mv found wanted
    traced logged --callers -- ./program
    sql logged.db "SELECT caller, callee, samples FROM v_edge ORDER BY 1, 2" >found
    diff wanted found >out || fail "other callers in a log"
    "$SPROF" trace --paths -o paths.db -- ./program >got 2>err || fail "exit status"
    traced logged --paths -- ./program
    adds_up logged.db
    for file in paths logged; do
        "$SPROF" report "$file.db" --tree --min-percent 0 -n 0 --format csv >tree.csv 2>err || fail "no tree"
        python3 - <<'END' >$file.tree
import csv
path = []
for row in csv.DictReader(open("tree.csv")):
    path[int(row["depth"]) - 1:] = [row["function"]]
    print(len(path), *path[-4:], row["exclusive_samples"])
END
    done
    sort paths.tree >wanted
    sort logged.tree | diff wanted - >out || fail "another tree in a log"
    [ "$(wc -l <wanted)" -gt 1000 ] || fail "no deep tree"
    ;;
uncalled)
    # A log in which nothing was called is told from figures without one.
    printf '%s\n' '__attribute__((noinline)) int never(int n) { return n * 3 / (n + 1); }' \
        'int main(int count, char **words) { return count > 9 ? never(words[1][0]) : 0; }' >never.c
    gcc -O1 -g never.c -o never || fail "no compiler"
    expect 0 "$SPROF" trace --mode log --function '^never$' -o never.db -- ./never && said '^sprof: 0 calls written down'
    ! grep -q 'next: ' err || fail "something is to be seen of no call: $(cat err)"
    for show in script "export -o never.out -f chrome" "export -o never.out -f firefox"; do
        # shellcheck disable=SC2086
        expect 1 "$SPROF" $show never.db && said '^sprof: none of the probed functions was called'
        ! grep -q 'mode log' err || fail "$show: $(cat err)"
    done
    for by in function module; do
        expect 0 "$SPROF" report --inclusive --by $by never.db
        grep -q '^none of the probed functions was called' out || fail "$by: $(cat out)"
    done
    expect 0 "$SPROF" trace -o counted.db -- ./never && said 'next: sprof report counted.db . sprof stats counted.db'
    expect 1 "$SPROF" script counted.db && said 'calls were counted, and not written down'
    expect 1 "$SPROF" report --inclusive --by module counted.db && said 'measured without their paths'
    ;;
names)
    # Names of functions and threads may hold anything: no reader gets what is not UTF-8, and no terminal what it would obey.
    cat >names.c <<'END'
#include <pthread.h>
#include <sys/prctl.h>
#define NI __attribute__((noinline))
static volatile long sum;
NI void work(long n) { for (long i = 0; i < n; i++) sum += i * n; }
NI void *runs(void *x) { prctl(PR_SET_NAME, "t\xfe\033[31mred"); for (int i = 0; i < 3; i++) work(1000000); return x; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, runs, 0);
    pthread_join(thread, 0);
    return 0;
}
END
    name=$'w\xff\e[31mork'
    gcc -O1 -g -pthread -c names.c && objcopy --redefine-sym "work=$name" names.o && gcc -pthread names.o -o names ||
        fail "no program"
    expect 0 "$SPROF" trace --mode log --warn-over 1us -o names.db -- ./names && mv err said_by_trace
    expect 0 "$SPROF" trace --mode coverage -o covered.db -- ./names
    mkdir text csv json
    mv said_by_trace text/trace
    for format in text csv json; do
        expect 0 "$SPROF" stats names.db --format $format && mv out $format/stats
        expect 0 "$SPROF" stats names.db --warnings --format $format && mv out $format/warnings
        expect 0 "$SPROF" stats covered.db --coverage --format $format && mv out $format/coverage
        expect 0 "$SPROF" script names.db --format $format && mv out $format/script
        expect 0 "$SPROF" report --by thread,function names.db --format $format && mv out $format/report
        expect 0 "$SPROF" sql names.db --format $format 'SELECT function, thread FROM v_call' && mv out $format/sql
        expect 0 "$SPROF" probes names --all --format $format && mv out $format/functions
    done
    expect 0 "$SPROF" probes names --function "$name" && mv out text/one
    expect 1 "$SPROF" report --callers ork names.db && mv err text/near
    python3 - <<'END' || fail "names that no reader takes"
import json, os, unicodedata
for format in "text", "csv", "json":
    for file in os.listdir(format):
        data = open(f"{format}/{file}", "rb").read()
        text = data.decode()  # it is UTF-8
        assert "w\ufffd" in text, (format, file, text)
        assert file not in ("script", "warnings", "sql", "report") or "t\ufffd" in text, (format, file, text)
        if format == "json":
            json.loads(text)
        if format == "text":
            obeyed = [letter for letter in text if unicodedata.category(letter) == "Cc" and letter != "\n"]
            assert not obeyed, (file, obeyed, text)
END
    ;;
short)
    # Threads that name themselves and end at once have their names, however late sprof comes to look: also where a thread has
    # called something before, or is named anew, where the program is static, and where only first calls are seen.
    cat >short.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#define NI __attribute__((noinline))
NI void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
#define ONE(n) NI void work##n(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
ONE(1) ONE(2) ONE(3)
static void *runs(void *number)
{
    char name[16];
    const int i = (int)(long)number;
    snprintf(name, sizeof name, "short %d", i);
    if (i % 3 == 1)
        work();
    if (i % 3 == 2)
        prctl(PR_SET_NAME, "at first");
    if (i % 2)
        pthread_setname_np(pthread_self(), name);
    else
        prctl(PR_SET_NAME, name);
    if (i < 3)
        (i ? i < 2 ? work2 : work3 : work1)();
    work();
    return 0;
}
int main(void)
{
    for (long i = 0; i < 30; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, runs, (void *)i);
        pthread_join(thread, 0);
    }
    return 0;
}
END
    gcc -O1 -g -pthread short.c -o short && gcc -O1 -g -pthread -static short.c -o short_static || fail "no compiler"
    for i in $(seq 0 29); do echo "short $i"; done | sort >wanted
    for program in short short_static; do
        for mode in log stats; do
            expect 0 "$SPROF" trace --mode $mode --function '^work[123]?$' -o short.db -- ./$program
            sql short.db "SELECT DISTINCT t.name FROM call_cost c JOIN thread t ON t.id = c.thread_id" | sort >found
            diff wanted found >out || fail "$program, $mode: other threads"
        done
    done
    expect 0 "$SPROF" trace --mode coverage --function '^work[123]$' -o short.db -- ./short
    expect 0 "$SPROF" stats short.db --coverage --format csv
    for i in 0 1 2; do grep -q "^work$((i + 1)),.*,short $i," out || fail "the first call of work$((i + 1)) has no thread's name"; done
    ;;
*)
    fail "no such case: $1"
    ;;
esac
