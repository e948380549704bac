#!/bin/bash
# sprof trace --mode coverage: which functions are called is known exactly, their probes leave, and programs do
# what they do untraced.
#   coverage.sh exact | leaves | united | control | kill | real | lcov
set -u
. "$(dirname "$0")/lib.sh"
tracing=(--mode coverage)

write_program() {
    cat >program.cc <<'END'
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
static jmp_buf back;
struct held { virtual ~held(); };
NI held::~held() { KEEP; }
NI void hot() { KEEP; }
NI void never() { KEEP; }
NI void also_never() { KEEP; hot(); }
NI void by_choice() { KEEP; }
NI void only_child() { KEEP; }
NI void thrower() { KEEP; throw 1; }
NI void jumper() { KEEP; longjmp(back, 1); }
NI long again(long n) { return n ? again(n - 1) + 1 : 0; }
NI void in_thread() { KEEP; }
NI void late() { KEEP; }
static void *run(void *rounds) { in_thread(); for (long i = 0; i < (long)rounds; i++) hot(); return 0; }
int main(int count, char **arguments)
{
    const long rounds = count > 1 ? atol(arguments[1]) : 1000;
    for (int i = 0; i < 100; i++) {
        try { thrower(); } catch (int) { }
        if (!setjmp(back)) jumper();
    }
    pthread_t threads[3];
    for (pthread_t &thread : threads) pthread_create(&thread, 0, run, (void *)rounds);
    pid_t child = fork();
    if (!child) { only_child(); _exit(0); }
    waitpid(child, 0, 0);
    for (pthread_t &thread : threads) pthread_join(thread, 0);
    printf("%ld\n", again(1000)); fflush(stdout);
    if (count > 2 && !strcmp(arguments[2], "choice")) by_choice();
    while (count > 3 && access(arguments[3], F_OK)) { hot(); usleep(1000); }
    late();
    delete (count > 5 ? new held : (held *)0);
    puts("done");
    return 7;
}
END
    g++ -O1 -g -fno-optimize-sibling-calls -pthread program.cc -o program || fail "no compiler"
}

# executed FILE OPTION…: "function 0|1", sorted.
executed() {
    "$SPROF" stats --coverage "$@" --format csv >coverage.csv 2>err || fail "no coverage"
    python3 -c 'import csv
for row in csv.DictReader(open("coverage.csv")):
    print(row["function"].split("(")[0], row["executed"])' | sort
}

wanted() { # functions that are called; the others are not
    for function in again also_never by_choice held::~held hot in_thread jumper late main never only_child run thrower; do
        [[ " $* " == *" $function "* ]] && echo "$function 1" || echo "$function 0"
    done
}
usual="again hot in_thread jumper late main run thrower"

case $1 in
exact)
    write_program
    traced program -- ./program
    # Both destructors of a class with a virtual one are one function, in what trace says, too.
    both=$(sed -n 's/^sprof: \(.* functions were called\) .*/\1/p' got_err)
    expect 0 "$SPROF" stats --coverage program.db
    grep -q "^$both:" out || fail "the trace says '$both', and the recording '$(head -1 out)'"
    executed program.db >found
    # shellcheck disable=SC2086
    wanted $usual | diff - found >out || fail "other functions"
    executed program.db --unexecuted | diff - <(wanted $usual | grep ' 0$') >out || fail "other unexecuted functions"
    # Threads by their number, times within the run and in the order of calls.
    python3 - <<'END' || fail "first calls"
import csv, subprocess, os
rows = {row["function"].split("(")[0]: row for row in csv.DictReader(open("coverage.csv"))}
assert not any(row["first_ns"] or row["tid"] for row in rows.values())
sprof = os.environ["SPROF"]
text = subprocess.run([sprof, "stats", "--coverage", "--format", "csv", "program.db"], capture_output=True, text=True).stdout
rows = {row["function"].split("(")[0]: row for row in csv.DictReader(text.splitlines()) if row["executed"] == "1"}
order = sorted(rows, key=lambda name: int(rows[name]["first_ns"]))
assert order[:3] == ["main", "thrower", "jumper"] and order[-2:] == ["again", "late"], order
assert rows["run"]["tid"] != rows["main"]["tid"], rows["run"]
assert all(row["file"].endswith("program.cc") and int(row["line"]) > 0 for row in rows.values())
END
    # Everything at once, libraries too.
    traced program --module '*' -- ./program
    executed program.db >found
    # shellcheck disable=SC2086
    wanted $usual | while read -r line; do grep -qx "$line" found || fail "$line is missing"; done || exit 1
    run "$SPROF" report -i program.db
    [ "$status" = 0 ] || fail "no report of a recording without calls"
    tr '\n' ' ' <out | grep -q 'calls were not counted: .sprof stats --coverage. shows which functions were called' ||
        fail "the report does not name what shows coverage"
    grep -q "^$(grouped "$(grep -c ' 1$' found)") of [0-9 ]* functions were called" out || fail "the report does not count: $(cat out)"
    ! grep -q '0 calls' out || fail "calls are said that were not counted"
    ;;
leaves)
    write_program
    # Calls of a function whose probe has left cost what they cost untraced; a probe that stays, and measures,
    # takes at least a third more of the time of these. Fastest of some runs, for others use the same processors.
    cat >loop.c <<'END'
#include <stdio.h>
#include <time.h>
__attribute__((noinline)) void hot(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
static long cpu(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}
int main(void)
{
    long best = 1L << 60;
    const long begin = cpu();
    while (cpu() - begin < 700000000L) {
        const long from = cpu();
        for (int i = 0; i < 100000; i++)
            hot();
        const long took = cpu() - from;
        best = took < best ? took : best;
    }
    printf("%ld\n", best);
    return 0;
}
END
    gcc -O1 loop.c -o loop || fail "no compiler"
    for try in 1 2 3 4 5; do
        plain=$(./loop)
        left=$("$SPROF" trace --mode coverage -o loop.db -- ./loop 2>err) || fail "exit status"
        grep -q '[1-9][0-9]* probes removed' err || fail "no probe left"
        awk "BEGIN { exit !($left < 1.15 * $plain) }" && exit 0
    done
    fail "100 000 calls take $left ns, untraced $plain"
    ;;
united)
    write_program
    traced program -- ./program
    executed program.db >found
    "$SPROF" trace --mode coverage --append -o program.db -- ./program 10 choice >/dev/null 2>err
    # shellcheck disable=SC2086
    wanted $usual by_choice | diff - <(executed program.db) >out || fail "not united over runs"
    # shellcheck disable=SC2086
    wanted $usual | diff - <(executed program.db --run 1) >out || fail "run 1"
    # Which run it is of is said where there are several, as in other reports.
    expect 0 "$SPROF" stats program.db --coverage
    grep -q 'in all runs together' out && grep -qx '2 of 2 runs; --run N chooses one' out || fail "how many runs it is of"
    for run in 1 2; do
        expect 0 "$SPROF" stats program.db --coverage --run $run
        grep -qx "run $run of 2; --run N chooses" out && ! grep -q 'in all runs' out || fail "which run it is of"
    done
    expect 0 "$SPROF" stats program.db
    grep -qx 'run 2 of 2; --run N chooses' out || fail "which run the table is of"
    # In a file of one run there is nothing to choose.
    "$SPROF" trace --mode coverage -o one.db -- ./program >/dev/null 2>err || true
    expect 0 "$SPROF" stats one.db --coverage
    ! grep -q 'runs' out || fail "runs are told of where there is one"
    # Nothing to list is said in words; to programs it is an empty table.
    "$SPROF" trace --mode coverage --function '^hot' -o hot.db -- ./program >/dev/null 2>err || true
    expect 0 "$SPROF" stats hot.db --coverage --unexecuted
    ! grep -q 'in all runs together' out || fail "one run is all runs together"
    grep -q '^1 of 1 function was called' out && grep -qx 'there is none that was not called' out && ! grep -q 'first call' out ||
        fail "an empty table for people"
    expect 0 "$SPROF" stats hot.db --unexecuted --format json && [ "$(tr -d '\n' <out)" = '[]' ] || fail "no empty table"
    expect 0 "$SPROF" stats hot.db --coverage --unexecuted --format csv
    grep -q '^function,' out && [ "$(wc -l <out)" = 1 ] || fail "no empty table in CSV"
    for what in --coverage ''; do
        expect 1 "$SPROF" stats -i program.db $what --run 77 && said "there is no run 77"
    done
    # An appended trace of calls leaves the first one as it was.
    "$SPROF" trace -o calls.db -- ./program >/dev/null 2>err || true
    sql calls.db "SELECT * FROM v_function ORDER BY function" >alone
    "$SPROF" trace --append -o calls.db -- ./program >/dev/null 2>err
    expect 0 "$SPROF" stats calls.db
    grep -qx 'run 2 of 2; --run N chooses' out || fail "which run the figures are of"
    sql calls.db "SELECT * FROM v_function WHERE run_id = 1 ORDER BY function" | diff alone - >out || fail "run 1 changed"
    [ "$(sql calls.db "SELECT sum(exclusive_samples) FROM v_function GROUP BY run_id" | sort -u | wc -l)" = 1 ] ||
        fail "other calls in the second run"
    mv program.db other.db
    traced program -- ./program
    expect 0 "$SPROF" merge -o both.db program.db other.db
    # shellcheck disable=SC2086
    wanted $usual by_choice | diff - <(executed both.db) >out || fail "not united by merge"
    sql both.db "SELECT max(runs) FROM (SELECT count(*) AS runs FROM v_coverage WHERE executed GROUP BY function_id)" >runs
    [ "$(cat runs)" = 3 ] || fail "$(cat runs) runs"
    sql both.db 'PRAGMA foreign_key_check' >broken
    [ ! -s broken ] || fail "$(cat broken)"
    ;;
control)
    write_program
    "$SPROF" trace --mode coverage --paused -o t.db -- ./program 10 none end >trace.out 2>trace.err &
    tracer=$!
    children+=("$tracer")
    wait_until 60 grep -q 1000 trace.out
    # Nothing is looked at before `start`; what is called from then on is, while it runs.
    [ -z "$(executed t.db | grep ' 1$')" ] || fail "functions were covered in a pause"
    expect 0 "$SPROF" ctl -i t.db start coverage
    expect 0 "$SPROF" ctl -i t.db stats # there are no figures
    grep -q 'functions were called' out || fail "no coverage instead of figures"
    wait_until 60 eval 'executed t.db | grep -qx "hot 1"'
    wait_until 60 eval '"$SPROF" ctl -i t.db status 2>&1 | grep -q "mode coverage.*1 probe removed"'
    expect 2 "$SPROF" ctl -i t.db mode nothing && said 'stats'
    # A probe that has left comes back for what is called after a clear, which takes it out again; and for figures.
    expect 0 "$SPROF" ctl -i t.db clear
    wait_until 60 eval 'executed t.db | grep -qx "hot 1"'
    wait_until 60 eval '"$SPROF" ctl -i t.db status 2>&1 | grep -q "mode coverage.*1 probe removed"'
    expect 0 "$SPROF" ctl -i t.db mode stats
    wait_until 60 eval '"$SPROF" stats -i t.db --format csv 2>err | grep -q hot'
    expect 0 "$SPROF" ctl -i t.db mode coverage
    wait_until 60 eval '"$SPROF" ctl -i t.db status 2>&1 | grep -q "mode coverage.*1 probe removed"'
    touch end
    wait "$tracer"
    [ $? = 7 ] || fail "the command's exit status"
    executed t.db | grep ' 1$' | diff - <(printf '%s 1\n' hot late) >out || fail "other functions"
    # A trace that measures can look for coverage in between: probes stay then.
    rm -f end trace.out
    "$SPROF" trace -o t.db -- ./program 10 none end >trace.out 2>trace.err &
    tracer=$!
    children+=("$tracer")
    wait_until 60 grep -q 1000 trace.out
    expect 0 "$SPROF" ctl -i t.db mode coverage
    wait_until 60 eval 'executed t.db | grep -qx "hot 1"'
    expect 0 "$SPROF" ctl -i t.db clear
    wait_until 60 eval 'executed t.db | grep -qx "hot 1"'
    expect 0 "$SPROF" ctl -i t.db mode stats
    wait_until 60 eval '"$SPROF" stats -i t.db --format csv 2>err | grep -q hot'
    touch end
    wait "$tracer"
    [ $? = 7 ] || fail "the command's exit status"
    executed t.db | grep ' 1$' | diff - <(echo 'hot 1') >out || fail "other functions between"
    ;;
kill)
    # sprof dies at some moment, while probes leave or after it: the command ends as it should.
    write_program
    for i in $(seq 12); do
        rm -f end out.txt
        setsid "$SPROF" trace --mode coverage --module '*' -o t.db -- ./program 2000000 none end >out.txt 2>err &
        tracer=$!
        children+=("$tracer")
        wait_for_trace err -i t.db
        sleep "0.$((RANDOM % 40 + 10))"
        kill -9 "$tracer"
        wait "$tracer" 2>/dev/null
        touch end
        wait_until 60 grep -q done out.txt
        grep -qx 1000 out.txt || fail "other output"
    done
    ;;
real)
    head -c 2000000 "$SPROF" >input
    traced xz --module '*' -- xz -T2 -1 -c input
    grep -q 'functions were called' got_err || fail "no summary"
    traced sqlite --module '*' -- sqlite3 :memory: 'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL
        SELECT x + 1 FROM c WHERE x < 200000) SELECT count(*), sum(x), max(x % 7) FROM c;'
    python=$(PATH=/usr/bin:/bin command -v python3) || skip "no python3"
    traced python --module '*' -- "$python" -c '
import json, threading, os, subprocess
threads = [threading.Thread(target=lambda: sum(range(100000))) for _ in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
for i in range(300): json.loads(json.dumps({str(i): [i] * 5 for i in range(300)}))
print(subprocess.run(["echo", "hi"], capture_output=True).stdout, flush=True)
for i in range(20):
    child = os.fork()
    if not child: os._exit(i)
    print(os.waitpid(child, 0)[1])
raise SystemExit(9)'
    [ "$(executed python.db | grep -c ' 1$')" -gt 500 ] || fail "few functions of python"
    ;;
lcov)
    command -v lcov >/dev/null && command -v genhtml >/dev/null || skip "no lcov"
    write_program
    traced program -- ./program
    expect 0 "$SPROF" export -f lcov -o coverage.info program.db
    expect 0 lcov --summary coverage.info
    grep -q 'functions.*(8 of 13 functions)' out err || fail "other sums"
    expect 0 genhtml coverage.info -o html
    grep -rq 'only_child' html || fail "no function in the page"
    "$SPROF" export -f lcov -o - program.db 2>err | grep -qx 'FNDA:0,_Z5neverv' || fail "never is not there"
    expect 0 lcov -a coverage.info -a coverage.info -o twice.info
    grep -qx 'FNDA:2,main' twice.info || fail "tracefiles do not add up"
    # Instances of a template are one line. What is in two modules is called in one run, where it is.
    cat >twice.h <<'END'
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI static int both(int n) { KEEP; return n * 3; }
template <class T> NI T twice(T n) { KEEP; return n + n; }
END
    echo '#include "twice.h"
int inside(int n) { return both(n) + 1; }' >inside.cc
    echo '#include "twice.h"
int inside(int n);
int main(int count, char **) { return inside(count) + both(count) + (int)twice(1.5) + twice(2) + (count > 1 ? twice(2L) : 0) - 14; }' >outside.cc
    g++ -O1 -g -shared -fPIC inside.cc -o libinside.so && g++ -O1 -g outside.cc -o outside ./libinside.so || fail "no compiler"
    "$SPROF" trace --mode coverage -o twice.db -- ./outside 2>err || fail "not traced"
    "$SPROF" export -f lcov -o twice.info twice.db 2>err || fail "no tracefile"
    sed -n '/^SF:.*twice.h/,/^end/p' twice.info | grep -v '^[ST]' >out
    printf '%s\n' FN:3,_ZL4bothi FN:4,_Z5twiceIdET_S0_ FN:4,_Z5twiceIiET_S0_ FN:4,_Z5twiceIlET_S0_ FNDA:1,_ZL4bothi \
        FNDA:1,_Z5twiceIdET_S0_ FNDA:1,_Z5twiceIiET_S0_ FNDA:0,_Z5twiceIlET_S0_ FNF:4 FNH:3 DA:3,1 DA:4,1 LF:2 LH:2 end_of_record |
        cmp -s - out || fail "twice.h: $(cat out)"
    expect 2 "$SPROF" export -f lcov --focus main -o - program.db && said 'chosen by --run alone'
    expect 2 "$SPROF" export -f lcov --thread program -o - program.db && said 'chosen by --run alone'
    # What has no coverage says so.
    "$SPROF" trace -o stats.db -- ./program >/dev/null 2>&1
    expect 1 "$SPROF" export -f lcov -o - stats.db && said 'trace --mode coverage'
    expect 1 "$SPROF" stats --coverage stats.db && said 'trace --mode coverage'
    expect 1 "$SPROF" stats --unexecuted stats.db && said 'trace --mode coverage'
    expect 2 "$SPROF" trace --mode nothing -- ./program && said 'stats, coverage, log'
    expect 2 "$SPROF" trace --mode coverage --paths -- ./program && said 'needs --mode stats'
    ;;
*)
    fail "no such case: $1"
    ;;
esac
