#!/bin/bash
# sprof stats: every column against what the program is known to do, against the file's symbols, and against the rows that
# they are made of.
set -u
. "$(dirname "$0")/../system/lib.sh"

cat >program.c <<'E'
#include <pthread.h>
#include <stdio.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void leaf(void) { KEEP; }
/* Reads its return address: it is only counted. */
NI void *counted(void) { KEEP; return __builtin_return_address(0); }
NI void caller(void) { for (int i = 0; i < 7; i++) counted(); KEEP; }
NI long works(long n) { volatile long x = n; for (int i = 0; i < 200; i++) x = x * 3 + 1; leaf(); return x; }
static void *run(void *unused) { for (int i = 0; i < 1000; i++) works(i); return unused; }
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < 100; i++) caller();
    puts("done");
    return 0;
}
E
gcc -O1 -g -fno-optimize-sibling-calls -fcf-protection=branch -pthread program.c -o program || fail "no compiler"
"$SPROF" trace -o t.db -- ./program >got 2>err || fail "exit status"
grep -qx done got || fail "other output"
expect 0 "$SPROF" stats t.db --format csv && mv out stats.csv
expect 0 "$SPROF" stats t.db --format json && mv out stats.json
nm program | awk '{ print $3, "0x" $1 }' >symbols
"$SPROF" sql t.db --format csv "SELECT max(wall_ns) AS wall, (SELECT count(*) FROM thread) AS threads FROM v_call_stats" >wall.csv || fail "no sql"
# By process: the least, the greatest and the sum of the rows of its threads.
expect 0 "$SPROF" stats t.db --by process --format csv && mv out process.csv
"$SPROF" sql t.db --format csv "SELECT f.name AS function, sum(c.calls) AS calls, min(c.min_ns) AS min_ns, max(c.max_ns) AS max_ns,
    iif(max(c.timed), sum(c.self_ns), NULL) AS self_ns, iif(max(c.timed), sum(c.total_ns), NULL) AS total_ns FROM call_cost c JOIN node_path n ON n.node_id = c.node_id
    JOIN call_path p ON p.id = n.path_id JOIN function f ON f.id = p.function_id GROUP BY f.id" >threads.csv || fail "no sql"
python3 - <<'E' || fail "other figures of the process"
import csv
keys = ("calls", "min_ns", "max_ns", "self_ns", "total_ns")
found, expected = ({row["function"]: [row[key] for key in keys] for row in csv.DictReader(open(name))} for name in ("process.csv", "threads.csv"))
assert found == expected and any(row[1] != row[2] for row in found.values()), (found, expected)
E
python3 - <<'E' || fail "other figures"
import csv, json
rows = {row["function"]: row for row in csv.DictReader(open("stats.csv"))}
symbols = {name: int(address, 16) for name, address in (line.split() for line in open("symbols") if len(line.split()) == 2)}
wall = next(csv.DictReader(open("wall.csv")))
assert set(rows) == {"main", "run", "works", "leaf", "caller", "counted"}, set(rows)
assert {name: int(row["calls"]) for name, row in rows.items()} == {
    "main": 1, "run": 2, "works": 2000, "leaf": 2000, "caller": 100, "counted": 700}, rows
# Addresses are those of the file; the probe stands behind the mark for indirect branches.
for name, row in rows.items():
    assert int(row["address"], 16) == symbols[name], (row, symbols[name])
    assert int(row["probe_address"], 16) - symbols[name] in (0, 4), row
    assert row["mechanism"] == "prologue", row
timed = [row for row in rows.values() if row["self_ns"]]
assert {row["function"] for row in timed} == set(rows) - {"counted"}, timed
# Percentages are of what their base says.
all_self = sum(int(row["self_ns"]) for row in timed)
assert int(wall["threads"]) == 3, wall
for row in timed:
    assert abs(float(row["self_percent"]) - 100 * int(row["self_ns"]) / all_self) < 0.01, row
    assert abs(float(row["total_percent"]) - 100 * int(row["total_ns"]) / int(wall["wall"])) < 0.01, row
assert rows["counted"]["self_percent"] == "" == rows["counted"]["total_percent"], rows["counted"]
assert int(rows["run"]["total_ns"]) <= int(wall["wall"]), rows["run"]
# Averages are of the calls that were timed.
for name in ("run", "works", "leaf", "caller"):
    row = rows[name]
    assert abs(float(row["average_ns"]) - int(row["total_ns"]) / int(row["calls"])) <= 1, row
    assert abs(float(row["self_average_ns"]) - int(row["self_ns"]) / int(row["calls"])) <= 1, row
    assert int(row["p50_ns"]) <= int(row["p90_ns"]) <= int(row["p99_ns"]) <= int(row["p999_ns"]), row
# Who holds time of calls that were only counted.
assert {name: row["untimed_calls"] for name, row in rows.items() if row["untimed_calls"] != "0"} == {"caller": "700"}, rows
assert rows["counted"]["counted"] == "700"
same = {row["function"]: row for row in json.load(open("stats.json"))}
for name, row in rows.items():
    assert same[name]["calls"] == int(row["calls"]) and same[name]["address"] == row["address"], same[name]
E
expect 0 "$SPROF" stats t.db
grep -q 'self-percent: of .* the self time of all probed functions$' out || fail "the base is not named"
expect 0 "$SPROF" stats t.db --columns 40
! grep -q 'self-percent' out || fail "a column is explained that found no room"
expect 0 "$SPROF" stats t.db
! grep -q 'total-percent' out || fail "a column is explained that is not shown"
grep -q 'only counted; calls of these: caller 700$' out || fail "the caller of counted functions is not named"
! grep -q 'mechanism' out || fail "people see too many columns"
expect 0 "$SPROF" stats t.db --wide
head -1 out | grep -q 'total-percent.*p999.*address.*probe.*mechanism.*module' || fail "not all columns"
for options in '--wide --columns 400' '--sort total-percent --columns 200'; do
    # shellcheck disable=SC2086
    expect 0 "$SPROF" stats t.db $options
    grep -q 'self-percent: of .* the self time of all probed functions · total-percent: of .* the wall time of the 3 threads seen' out ||
        fail "the bases are not named with $options"
done
expect 0 "$SPROF" stats t.db --sort untimed
sed -n 2p out | grep -q 'caller$' || fail "not sorted by what is untimed"
expect 0 "$SPROF" stats t.db --sort address --asc --format csv
[ "$(sed -n '2,$s/.*,\(0x[0-9a-f]*\),0x.*/\1/p' out | sort -c 2>&1)" = "" ] || fail "not sorted by address"
expect 2 "$SPROF" stats t.db --sort nothing && said "no column 'nothing'; it has self, "
expect 2 "$SPROF" stats t.db --slowest 2 --sort calls && said 'slowest sets the order'
# What is chosen, and how it is shown, is as in reports.
expect 0 "$SPROF" stats t.db --by thread --format csv && mv out by_thread.csv
expect 0 "$SPROF" stats t.db --slowest 3 --format csv && mv out slowest.csv
expect 0 "$SPROF" stats t.db --function '^(works|leaf)$' --module 'prog*' --show function,calls --sort calls:asc --format csv && mv out chosen.csv
expect 1 "$SPROF" stats t.db --function nothing && said 'no function has a name in which --function .nothing. is found'
expect 0 "$SPROF" stats t.db --module nothing --format csv && [ "$(wc -l <out)" = 1 ] || fail "functions of no module"
# A table without rows says why.
expect 0 "$SPROF" stats t.db --module nothing
grep -Eq '^No function that fits was called, of [0-9]+ that were: leave out --function, --module, ' out || fail "it does not say what left no rows"
printf '%s\n' 'void never(void) { __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory"); }' 'int main(void) { return 0; }' >quiet.c
gcc -O1 -g quiet.c -o quiet && "$SPROF" trace -o none.db --function '^never$' -- ./quiet 2>err || fail "no trace"
for options in '' '--by thread' '--by caller' '--slowest 3'; do
    # shellcheck disable=SC2086
    expect 0 "$SPROF" stats none.db $options
    [ "$(head -1 out)" = 'The one function with a probe was never called' ] || fail "why there are no rows: $options"
done
expect 0 "$SPROF" stats none.db --uncalled
! grep -q 'The one' out && grep -q ' never$' out || fail "a row for what was not called"
expect 0 "$SPROF" stats none.db --format csv && [ "$(wc -l <out)" = 1 ] || fail "a sentence among the rows"
expect 0 "$SPROF" stats t.db --format markdown && grep -q '^| self | self-percent |' out && grep -q '^| – | – | – | – | 700 |' out || fail "no markdown"
python3 - "$SPROF" <<'E' || fail "other figures of threads, or of what is chosen"
import csv, subprocess, sys
read = lambda name: list(csv.DictReader(open(name)))
whole = {row["function"]: row for row in read("stats.csv")}
threads = read("by_thread.csv")
assert len({row["tid"] for row in threads}) == 3, threads
for name, row in whole.items():
    assert sum(int(part["calls"]) for part in threads if part["function"] == name) == int(row["calls"]), (name, threads)
tid = next(row["tid"] for row in threads if row["function"] == "works")
text = subprocess.run([sys.argv[1], "stats", "t.db", "--thread", tid, "--format", "csv"], capture_output=True, text=True).stdout
one = {row["function"]: row for row in csv.DictReader(text.splitlines())}
assert set(one) == {"run", "works", "leaf"} and one["works"]["calls"] == "1000" and "p99_ns" not in one["works"], text
assert all(one[row["function"]]["self_ns"] == row["self_ns"] for row in threads if row["tid"] == tid), text
longest = [int(row["max_ns"]) for row in read("slowest.csv")]
assert longest == sorted((int(row["max_ns"] or 0) for row in whole.values()), reverse=True)[:3], longest
assert sorted(row["function"] for row in read("chosen.csv")) == ["leaf", "works"] and list(read("chosen.csv")[0]) == ["function", "calls"]
E

# Threads are seen a while after they begin: functions take no more than all of their time nevertheless.
cat >short.c <<'E'
#include <pthread.h>
#include <time.h>
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
__attribute__((noinline)) void spin(long ms) { for (long end = now() + ms; now() < end;) {} }
static void *run(void *unused) { spin(20); return unused; }
int main(void)
{
    pthread_t threads[16];
    for (int i = 0; i < 16; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 16; i++) pthread_join(threads[i], 0);
}
E
gcc -O1 -g -pthread short.c -o short || fail "no compiler"
"$SPROF" trace --function '^spin$' -o short.db -- ./short 2>err || fail "exit status with short threads"
[ "$("$SPROF" sql short.db --format csv "SELECT calls = 16 AND total_percent > 0 AND total_percent <= 100 FROM v_call_stats" | tail -n 1 | tr -d '\r')" = 1 ] ||
    fail "more than all of the time: $("$SPROF" stats short.db --sort total-percent)"

# What is counted are calls, in every table and export: how often each pair of caller and callee, and their times.
"$SPROF" trace --paths -o paths.db -- ./program >got 2>err || fail "exit status with --paths"
expect 0 "$SPROF" stats paths.db --format csv && mv out stats.csv
expect 0 "$SPROF" report --edges paths.db && mv out edges
grep -q 'Calls by total time' edges && ! grep -q samples edges || fail "callers are not told in calls"
grep -Eq ' 2000 +run +works' edges && grep -Eq ' 2000 +works +leaf' edges || fail "other numbers of calls by caller"
[ "$("$SPROF" sql paths.db --format csv "SELECT samples FROM v_edge WHERE caller = 'run' AND callee = 'works'" | tail -n 1 | tr -d '\r')" = 2000 ] ||
    fail "other numbers of calls in v_edge"
# Total times are those of `stats`, whatever is known of the callers, and what cannot be known is not made up.
"$SPROF" trace -o flat.db -- ./program >got 2>err && "$SPROF" trace --callers -o callers.db -- ./program >got 2>err ||
    fail "exit status of traces"
for trace in flat callers paths; do
    expect 0 "$SPROF" stats $trace.db --format csv && mv out stats.$trace
    expect 0 "$SPROF" report --inclusive -n 0 --format csv $trace.db && mv out report.$trace
    expect 0 "$SPROF" sql $trace.db --format csv "SELECT t.tid, f.name, sum(c.total_ns) AS total FROM call_cost c
        JOIN thread t ON t.id = c.thread_id JOIN node_path n ON n.node_id = c.node_id JOIN call_path p ON p.id = n.path_id
        JOIN function f ON f.id = p.function_id GROUP BY 1, 2 HAVING total > 0" && mv out threads.$trace
    for thread in $(sed '1d; s/,.*//' threads.$trace | sort -u); do
        expect 0 "$SPROF" report --inclusive -n 0 --format csv --thread $thread $trace.db && mv out report.$trace.$thread
    done
done
python3 - <<'E' || fail "total times in reports"
import csv
def of_report(name):
    return {row["function"]: int(row["inclusive_weight"]) for row in csv.DictReader(open(name)) if row["inclusive_weight"] != "0"}
for trace in ("flat", "callers", "paths"):
    total = {row["function"]: int(row["total_ns"]) for row in csv.DictReader(open("stats." + trace)) if row["total_ns"] not in ("", "0")}
    assert len(total) > 3 and of_report("report." + trace) == total, (trace, of_report("report." + trace), total)
    threads = {}
    for row in csv.DictReader(open("threads." + trace)):
        threads.setdefault(row["tid"], {})[row["name"]] = int(row["total"])
    assert len(threads) == 3, threads
    for thread, total in threads.items():
        assert of_report(f"report.{trace}.{thread}") == total, (trace, thread, of_report(f"report.{trace}.{thread}"), total)
E
# How functions are probed, and what is not timed in them, whatever is known of their callers.
python3 - <<'E' || fail "other columns where callers are told apart"
import csv
def columns(name):
    return {row["function"]: [row[column] for column in ("calls", "counted", "untimed_calls", "address", "probe_address", "mechanism")]
            for row in csv.DictReader(open(name))}
flat = columns("stats.flat")
assert len(flat) > 3 and all(row[-1] == "prologue" for row in flat.values()), flat
assert flat == columns("stats.callers") == columns("stats.paths"), (flat, columns("stats.callers"), columns("stats.paths"))
E
# Averages by caller are of calls that were timed, too.
expect 0 "$SPROF" stats callers.db --by caller --format csv
python3 - <<'E' || fail "averages by caller"
import csv
rows = {(row["caller"], row["function"]): row for row in csv.DictReader(open("out"))}
assert rows["", "counted"]["calls"] == "700" and rows["", "counted"]["self_average_ns"] == "", rows
row = rows["run", "works"]
assert row["calls"] == "2000" and int(row["self_average_ns"]) == int(row["self_ns"]) // 2000 > 0, row
E
for trace in flat callers; do
    expect 1 "$SPROF" report --by module --inclusive $trace.db
    grep -q 'without their paths' err && grep -q 'trace with --paths' err || fail "no cure for total times of modules"
    expect 0 "$SPROF" report --by module $trace.db
    ! grep -q total out || fail "total times of modules are made up"
done
expect 0 "$SPROF" report --by module --inclusive paths.db
# A function's own calls by caller, not those below it, too.
expect 0 "$SPROF" report --callers works paths.db && mv out callers
grep -q '2 000 of .* calls are of works' callers && grep -q '^ *calls  of works' callers && grep -Eq '^ *2000 .* └ run' callers ||
    fail "callers of a function are not told by its calls"
for format in folded callgrind svg pprof speedscope tsv dot; do
    "$SPROF" export -f $format -o export.$format paths.db 2>err || fail "no $format"
done
grep -q '^events: Calls Weight$' export.callgrind && grep -q '^calls=2000 ' export.callgrind && ! grep -qi samples export.callgrind ||
    fail "callgrind's numbers of calls"
grep -q ' calls' export.svg && ! grep -q sample export.svg || fail "the picture's numbers"
python3 - <<'E' || fail "times in exports"
import csv, json
own = sum(int(row["self_ns"] or 0) + int(row["outside_ns"] or 0) for row in csv.DictReader(open("stats.csv")))
folded = sum(int(line.rsplit(" ", 1)[1]) for line in open("export.folded"))
assert abs(folded - own) <= 0.001 * own, (folded, own)
E
# A function is itself, also where its code begins with what is inlined there, in whatever way a recording is read.
cat >inlined.c <<'E'
#define NI __attribute__((noinline))
static inline __attribute__((always_inline)) long first(long n) { return n > 40 ? n * 3 : n + 7; }
static inline __attribute__((always_inline)) long last(long n) { for (volatile int i = 0; i < 5000; i++); return n; }
NI long outer(long n) { return last(first(n)); }
NI long other(long n) { return last(first(n) + n); }
int main(int count, char **arguments)
{
    long sum = arguments[0][0];
    for (int i = 0; i < 2000 * count; i++) sum += outer(sum) + other(i);
    return sum == 5;
}
E
gcc -O2 -g inlined.c -o inlined || fail "no compiler"
addr2line -i -f -e inlined "0x$(nm inlined | sed -n 's/ T outer$//p')" | head -1 | grep -qx first || fail "the test's function begins otherwise"
for options in '' --paths '--mode log'; do
    # shellcheck disable=SC2086
    "$SPROF" trace $options -o inlined.db -- ./inlined 2>err || fail "exit status with ${options:-nothing}"
    for by in function process,function thread,function run,module,function function,file; do
        expect 0 "$SPROF" report --by $by -n 0 --format csv -i inlined.db
        [ "$(python3 -c 'import csv, sys
print(sorted((row["function"], row["exclusive_samples"]) for row in csv.DictReader(sys.stdin)))' <out)" = \
            "[('main', '1'), ('other', '2000'), ('outer', '2000')]" ] || fail "other calls by $by with ${options:-nothing}"
    done
    for format in folded callgrind pprof tsv dot svg; do
        expect 0 "$SPROF" export -f $format -o - inlined.db
        [ $format != pprof ] || { mv out out.gz && gzip -df out.gz; }
        grep -aq outer out && grep -aq other out && ! grep -aqwE 'first|last' out || fail "$format has what is inlined with ${options:-nothing}"
    done
done
expect 0 "$SPROF" html -o inlined.html inlined.db

# What is in the order of time has nothing to show of calls that were counted, with their paths or without.
for trace in paths flat; do
    for format in chrome firefox; do
        expect 1 "$SPROF" export -f $format -o export.$format $trace.db
        said 'sprof trace --mode log'
        [ ! -e export.$format ] || fail "an export without times was left"
    done
    for format in text csv json; do
        expect 1 "$SPROF" script $trace.db --format $format
        said 'sprof trace --mode log'
        [ ! -s out ] || fail "calls that were counted are printed in the order of time"
    done
done
expect 1 "$SPROF" report --callers absent -i paths.db
said "no call of a function 'absent' was counted"

# sprof diff: how often functions are called on both sides, which is exact whatever their times are, also of those that are only
# counted. Rows whose calls are others in every run are shown.
cat >often.c <<'E'
#include <stdlib.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void often(void) { KEEP; }
NI void once(void) { KEEP; }
NI void *counted(void) { KEEP; return __builtin_return_address(0); }
int main(int count, char **arguments)
{
    for (int i = 0; i < atoi(arguments[count - 1]); i++) { often(); counted(); }
    once();
    return 0;
}
E
gcc -O1 -g -fno-optimize-sibling-calls often.c -o often || fail "no compiler"
for i in 1 2 3; do
    for calls in 100 130; do
        "$SPROF" trace --append -o "$calls.db" -- ./often $calls 2>err || fail "exit status"
    done
done
expect 0 "$SPROF" diff --format csv 100.db 130.db && mv out diff.csv
python3 - <<'E' || fail "other calls in the comparison"
import csv
rows = {row["function"]: row for row in csv.DictReader(open("diff.csv"))}
assert {name: (int(row["before_calls"]), int(row["after_calls"])) for name, row in rows.items()} == {
    "main": (1, 1), "once": (1, 1), "often": (100, 130), "counted": (100, 130)}, rows
E
expect 0 "$SPROF" diff 100.db 130.db
grep -qE ' 100 +130 +often' out && grep -qE ' 100 +130 +counted' out || fail "no row of functions that are called more often"
! grep -qE 'within chance.* once' out || fail "a row of what did not change"

# Where callers are not known, or not what was called below, tables of callers say so.
for view in --tree --edges --bottom-up "--callers works" "--callees run"; do
    expect 0 "$SPROF" report $view flat.db && grep -q '^no callers are known' out || fail "report $view of a trace without callers"
    expect 0 "$SPROF" report $view callers.db && grep -q '^only direct callers are known' out || fail "report $view of direct callers"
    expect 0 "$SPROF" report $view paths.db && ! grep -q 'callers are known' out || fail "report $view of paths"
done
expect 0 "$SPROF" report flat.db && ! grep -q 'callers' out || fail "callers in a table of functions"
expect 0 "$SPROF" report --edges callers.db && grep -q 'Calls by self time' out && grep -q ' self ' out || fail "time of pairs"
expect 0 "$SPROF" stats --by caller flat.db && grep -q '^no callers are known' out || fail "stats by callers that are not known"
expect 0 "$SPROF" stats --by caller callers.db && ! grep -q '^no callers' out || fail "stats by callers that are known"
expect 0 "$SPROF" stats flat.db && ! grep -q '^no callers' out || fail "callers in stats by function"
# What is not known is null, in text as in numbers.
expect 0 "$SPROF" stats --by caller --format json paths.db
python3 -c 'import json
rows = {row["function"]: row for row in json.load(open("out"))}
assert rows["main"]["caller"] is None and rows["leaf"]["caller"] == "works", rows' || fail "callers in JSON"
# Calls are counted: their percentages have no interval, and as many digits as of many.
expect 0 "$SPROF" report --format csv flat.db && ! grep -q interval out || fail "an interval of what was counted"
"$SPROF" trace --function '^(main|caller)$' -o few.db -- ./program >got 2>err || fail "exit status with few calls"
expect 0 "$SPROF" report few.db && grep -Eq '^ *[0-9]+\.[0-9] % .* main ' out || fail "percentages of few calls"
# Columns have their names of CSV, too.
expect 0 "$SPROF" stats --sort p99_ns --format csv paths.db && mv out by_key
expect 0 "$SPROF" stats --sort p99 --format csv paths.db && cmp -s out by_key || fail "another order by the name in CSV"
expect 0 "$SPROF" annotate works paths.db && grep -q '^Annotation of works  *self 2 000, total 4 000 of [0-9 ]* calls$' out || fail "an annotation of calls"
# Rows that are not shown are told.
expect 0 "$SPROF" stats -n 2 flat.db && grep -q '^  … and 4 more: -n 0 shows them$' out || fail "rows that are left out"
expect 0 "$SPROF" stats -n 0 flat.db && ! grep -q more out && [ "$(grep -c ' program ' out)" = 6 ] || fail "all rows"
expect 0 "$SPROF" stats -n 6 flat.db && ! grep -q more out || fail "all rows, by their number"

# Of a single call all percentiles are its duration, wherever in its bucket that lies: here in all parts of an octave.
{
    echo '#define NI __attribute__((noinline))'
    for ((i = 0; i < 96; i++)); do
        echo "NI void once$i(void) { for (volatile int n = 0; n < $((20000 + 20000 * i / 96)); n++) ; }"
    done
    echo 'int main(void) {'
    for ((i = 0; i < 96; i++)); do echo "once$i();"; done
    echo 'return 0; }'
} >once.c
gcc -O1 -g once.c -o once || fail "no compiler"
for backend in inject $([ "$(id -u)" = 0 ] && echo uprobe); do
    "$SPROF" trace --backend $backend --function '^once' -o once.db -- ./once 2>err || { [ $backend = uprobe ] && continue || fail "exit status of single calls"; }
    expect 0 "$SPROF" sql once.db --format csv "SELECT count(*), sum(p50_ns = min_ns AND p999_ns = max_ns AND min_ns = max_ns) FROM v_call_stats"
    grep -q '^96,96' out || fail "$backend: percentiles of single calls that are not their duration: $(cat out)"
done

# Calls that have not ended: who they are of while the program runs, and of a log since when, and what called them.
cat >open.c <<'E'
#include <unistd.h>
#define NI __attribute__((noinline))
NI void inner(void) { sleep(100); __asm__ volatile(""); }
NI void outer(void) { inner(); __asm__ volatile(""); }
int main(void) { outer(); return 0; }
E
gcc -O1 -g -fno-optimize-sibling-calls open.c -o open || fail "no compiler"
for mode in stats log; do
    rm -f open.db*
    "$SPROF" trace --mode $mode -o open.db -- ./open >got 2>err &
    tracer=$!
    for ((i = 0; i < 300; i++)); do
        "$SPROF" stats open.db --open --format csv >out 2>err && [ "$(wc -l <out)" = 4 ] && break
        sleep 0.1
    done
    pid=$(sed -n 2p out | cut -d, -f3)
    [ -n "$pid" ] || fail "no open calls in mode $mode: $(cat out err)"
    "$SPROF" ctl -i open.db end >got 2>err || fail "no end"
    kill "$pid"
    wait $tracer
    expect 0 "$SPROF" stats open.db --open --format json
    python3 - $mode <<'E' || fail "open calls of mode $mode: $(cat out)"
import json, sys
rows = {row["function"]: row for row in json.load(open("out"))}
assert set(rows) == {"main", "outer", "inner"} and len({row["tid"] for row in rows.values()}) == 1, rows
if sys.argv[1] == "log":
    assert [rows[name]["caller"] for name in ("main", "outer", "inner")] == [None, "main", "outer"], rows
    assert rows["main"]["since_ns"] < rows["outer"]["since_ns"] < rows["inner"]["since_ns"], rows
E
done
for chosen in "$pid" 'op*'; do
    expect 0 "$SPROF" stats open.db --open --process "$chosen" --format csv && [ "$(wc -l <out)" = 4 ] || fail "not of process $chosen"
done
expect 0 "$SPROF" stats open.db --open --process other --format csv && [ "$(wc -l <out)" = 1 ] || fail "of another process"
expect 0 "$SPROF" stats t.db --open && grep -qx 'All calls have ended' out || fail "calls that have ended"
expect 2 "$SPROF" stats t.db --open --warnings && said 'give one of them'
