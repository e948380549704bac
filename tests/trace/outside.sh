#!/bin/bash
# Time that functions spend outside of the traced modules: beside self, and by callee.
#   outside.sh launched | attached | full
set -u
. "$(dirname "$0")/lib.sh"

program() {
    cat >program.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
static char buffer[64];
static int fd, rounds;
NI void sleeps(void) { for (int i = 0; i < 40; i++) usleep(500); }
NI void reads(void) { for (int i = 0; i < 3000; i++) if (read(fd, buffer, sizeof buffer) < 0) abort(); }
NI void allocates(void) { for (int i = 0; i < 3000; i++) { void *volatile p = malloc(32); free(p); } }
NI void spins(void) { for (volatile int i = 0; i < 3000000; i++) ; }
NI int compare(const void *a, const void *b) { usleep(300); return *(const int *)a - *(const int *)b; }
NI void sorts(void) { int list[] = {5, 3, 9, 1, 7, 2, 8, 6}; qsort(list, 8, sizeof *list, compare); rounds += list[0]; }
/* jumps to a function of libc at its end */
NI int jumps(int us) { rounds++; return usleep(us); }
/* a function that is called and compared keeps its address */
typedef int (*get)(void);
NI int compares(volatile get other) { return getppid() >= 0 && other == getppid; }
NI void all(void) { sleeps(); reads(); allocates(); spins(); sorts(); for (int i = 0; i < 10; i++) jumps(500); }
int main(int argc, char **argv)
{
    fd = open("/dev/zero", O_RDONLY);
    do
        all();
    while (argc > 1 && access(argv[1], F_OK));
    printf("%d %d\n", rounds, compares(getppid));
    return 0;
}
END
    cc -O2 -g "$@" -w program.c -o program || fail "no program"
}

# asked STATEMENT: the first value that it gives.
asked() { "$SPROF" sql "$db" --format csv "$1" 2>err | tr -d '\r' | sed -n 2p; }

# share FUNCTION EXPRESSION: a condition on its row of v_call_stats.
share() {
    local value
    value=$(asked "SELECT $2 AS v FROM v_call_stats WHERE function = '$1'")
    [ "$value" = 1 ] || {
        "$SPROF" stats -i "$db" --wide >err 2>&1
        fail "$1: not $2"
    }
}

# left FUNCTION: calls of it that left the modules.
left() { asked "SELECT coalesce(sum(calls), 0) AS n FROM v_outside WHERE function = '$1'"; }

# shares: what holds for each round of `all`, whatever else the machine does. Reads and allocations may lose the processor
# anywhere, so only what is long shows where its time is.
shares() {
    share sleeps "outside_ns > 0.9 * total_ns AND self_ns < 0.1 * total_ns"
    share spins "outside_ns = 0 AND self_ns > 0.9 * total_ns"
    share compare "outside_ns > 0.9 * total_ns"
    share reads "outside_ns > 0 AND self_ns + outside_ns BETWEEN 0.95 * total_ns AND 1.05 * total_ns"
    share jumps "outside_ns > 0.9 * total_ns AND total_ns > 500000"
    share sorts "outside_ns < 0.2 * total_ns AND self_ns < 0.2 * total_ns"
}

db=t.db
case $1 in
launched)
    for flags in "-Wl,-z,lazy" "-Wl,-z,now -fno-pie -no-pie" -fno-plt; do
        # shellcheck disable=SC2086
        program $flags
        traced t -- ./program
        shares
        compared=$(asked "SELECT calls AS n FROM v_call_stats WHERE function = 'compare'")
        for each in "usleep $((40 + 10 + compared))" "read 3000" "qsort 1"; do
            [ "$(left "${each% *}")" = "${each#* }" ] || fail "$flags: ${each% *}: $(left "${each% *}") calls, not ${each#* }"
        done
    done
    # A child of vfork leaves no open call in its parent.
    cat >vfork.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 4; i++) {
        const pid_t child = vfork();
        if (!child) {
            if (i % 2)
                execl("/bin/true", "true", (char *)0);
            _exit(0);
        }
        waitpid(child, 0, 0);
        usleep(20000);
    }
    return 0;
}
END
    cc -O2 -g vfork.c -o vfork || fail "no program"
    traced v -- ./vfork
    db=v.db
    [ "$(left waitpid) $(left usleep) $(left execl) $(left _exit)" = "4 4 0 0" ] ||
        fail "children of vfork: $(left waitpid) $(left usleep) $(left execl) $(left _exit) calls"
    # A program among several may have ended when its figures are read.
    traced w --children -- ./vfork
    db=w.db
    [ "$(left waitpid) $(left usleep)" = "4 4" ] || fail "of several programs: $(left waitpid) $(left usleep) calls"
    # Its calls end where it executes a program, though the parent's next probe is much later; also those below a program that is not there.
    cat >spins.c <<'END'
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
static volatile int lost;
static char *const words[] = {"true", 0};
NI void executes(void) { execv("/bin/true", words); }
NI void tries(void) { execv("/nowhere/true", words); lost++; }
NI void child(int i)
{
    if (i == 1)
        executes();
    if (i == 2)
        tries();
    execv("/bin/true", words);
    _exit(1);
}
NI int parent(int i)
{
    struct timespec begin, now;
    const pid_t pid = vfork();
    if (!pid)
        child(i);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 300000000);
    return pid;
}
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 3; i++)
        sum += parent(i);
    while (wait(0) > 0)
        ;
    return sum == 0 || lost != 1;
}
END
    cc -O2 -g spins.c -o spins || fail "no program"
    for options in "" --children; do
        # shellcheck disable=SC2086
        traced s $options --module spins -- ./spins
        db=s.db
        share parent "self_ns > 0.3 * total_ns AND calls = 3 AND in_flight = 0"
        share child "total_ns < 600000000 AND calls = 3 AND in_flight = 0 AND abnormal = 3"
        share executes "calls = 1 AND in_flight = 0"
        share tries "calls = 1 AND in_flight = 0"
    done
    # where vfork is the thread's first call with a probe
    traced s --module spins --function '^child$' -- ./spins
    share child "total_ns < 600000000 AND calls = 3 AND in_flight = 0"
    db=t.db
    # The last program has no PLT, and measures calls through what no code reads.
    [ "$(left getppid)" = 0 ] && [ "$(./program | cut -d' ' -f2)" = 1 ] || fail "a compared function: $(left getppid) calls"
    "$SPROF" stats -i t.db >out 2>err && grep -q '^ *self.* outside .*total' out || fail "no column"
    grep -q 'time outside of the traced modules.*\] usleep' out || fail "no callees below the table"
    "$SPROF" stats -i t.db --sort outside --format csv >out 2>err || fail "not sorted by it"
    "$SPROF" stats -i t.db --by outside >out 2>err && grep -q 'usleep' out || fail "no table of callees"
    expect 2 "$SPROF" stats -i t.db --by outside --thread main && said 'of all threads'
    "$SPROF" report -i t.db --format csv -n 0 >out.csv 2>err || fail "no report: $(cat err)"
    python3 - "$(asked "SELECT group_concat(function || ' ' || outside_ns) AS t FROM v_call_stats WHERE calls > 0 ORDER BY 1")" <<'END' || fail "outside in the report"
import csv, sys
rows = {row["function"]: round(float(row["outside_seconds"]) * 1e9) for row in csv.DictReader(open("out.csv"))}
known = dict((name, int(ns)) for name, ns in (each.split() for each in sys.argv[1].strip('"').split(",")))
assert rows == known and any(rows.values()), (rows, known)
END
    for options in "" --tree --inclusive; do
        # shellcheck disable=SC2086
        "$SPROF" report -i t.db $options >out 2>err && grep -q '^time outside of the traced modules, by callee: .*\] usleep' out && grep -q 'self+outside' out ||
            fail "report $options: no callees, or self is named without them"
    done
    # Of a thread callees are not known.
    "$SPROF" report -i t.db --thread program --format csv -n 0 >thread.csv 2>err || fail "no report of a thread: $(cat err)"
    python3 - <<'END' || fail "outside of the only thread"
import csv
of_all, of_thread = ({row["function"]: row["outside_seconds"] for row in csv.DictReader(open(name))} for name in ("out.csv", "thread.csv"))
assert of_all == of_thread, (of_all, of_thread)
END
    for options in "--thread program" "--process program --tree"; do
        # shellcheck disable=SC2086
        "$SPROF" report -i t.db $options >out 2>err && grep -q 'self+outside' out && ! grep -q 'by callee' out || fail "report $options: $(cat out)"
    done
    "$SPROF" html -i t.db -o t.html >out 2>&1 || fail "no page: $(cat out)"
    python3 - "$(asked "SELECT sum(outside_ns) AS ns FROM v_call_stats")" <<'END' || fail "outside on the page"
import base64, json, re, sys, zlib
header = re.search(r'id="sprof-header">\s*([^<]*)', open("t.html", encoding="utf-8").read())[1]
(calls,) = json.loads(zlib.decompress(base64.b64decode(header), -15))["callTotals"]
assert sum(figures[5] or 0 for figures in calls["figures"]) == int(sys.argv[1]), calls["figures"]
END
    # In the modes that write calls down, and by paths, the figures are the same; calls and callers hold no others.
    for options in --callers --paths "--mode log" "--keep over\ 1us"; do
        eval "traced t $options -- ./program"
        shares
        [ "$(asked "SELECT count(*) AS n FROM v_call_stats WHERE module NOT LIKE 'program%'")" = 0 ] ||
            fail "$options: functions of other modules have figures"
    done
    # By path each caller has its callees, and their times add up to what it spent outside.
    db=t.db
    traced t --paths -- ./program
    "$SPROF" sql t.db --format csv "SELECT caller.name AS caller, group_concat(callee.name, ' ') AS callees,
            sum(c.exclusive_weight) AS ns, sum(c.exclusive_samples) AS calls
        FROM path_cost c JOIN call_path p ON p.id = c.path_id JOIN function callee ON callee.id = p.function_id
        JOIN module m ON m.id = callee.module_id JOIN call_path above ON above.id = p.parent_id
        JOIN function caller ON caller.id = above.function_id WHERE m.name NOT LIKE 'program%' GROUP BY 1 ORDER BY 1" >paths.csv 2>err
    "$SPROF" sql t.db --format csv "SELECT function, outside_ns FROM v_call_stats WHERE outside_ns != 0" >callers.csv 2>err
    python3 - "$(left usleep)" <<'END' || fail "outside by path: $(cat paths.csv callers.csv)"
import csv, sys
paths = {row["caller"]: row for row in csv.DictReader(open("paths.csv"))}
outside = {row["function"].split("(")[0]: int(row["outside_ns"]) for row in csv.DictReader(open("callers.csv"))}
assert set(paths) == set(outside) and len(paths) >= 6, (set(paths), set(outside))
for name, row in paths.items():
    assert abs(int(row["ns"]) - outside[name]) <= 1000 + outside[name] // 1000, (name, row, outside[name])
assert paths["sleeps"]["callees"] == "usleep" and paths["sleeps"]["calls"] == "40", paths["sleeps"]
assert "qsort" in paths["sorts"]["callees"].split() and set(paths["allocates"]["callees"].split()) >= {"malloc", "free"}, paths
assert sum(int(paths[name]["calls"]) for name in ("sleeps", "jumps", "compare")) == int(sys.argv[1]), paths
END
    # In the tree, by function and as callees stand functions with probes, and those that `v_outside` lists.
    for view in v_call_tree v_function "(SELECT callee AS function FROM v_edge)"; do
        [ "$(asked "SELECT group_concat(function, ' ') AS functions FROM (SELECT function FROM $view
            EXCEPT SELECT function FROM v_call_stats ORDER BY 1)")" = \
            "$(asked "SELECT group_concat(function, ' ') AS functions FROM (SELECT DISTINCT function FROM v_outside ORDER BY 1)")" ] ||
            fail "$view: other functions without a probe"
    done
    "$SPROF" report -i t.db --tree >out 2>err && grep -q '[├└] .*usleep' out && grep -q 'of them out of the traced modules' out &&
        ! grep -q 'self+outside' out || fail "no callees outside in the tree: $(cat out)"
    traced t --no-outside -- ./program
    share sleeps "outside_ns = 0 AND self_ns > 0.9 * total_ns"
    [ "$(left usleep)" = 0 ] || fail "--no-outside, and calls that left"
    ;;
attached)
    program -Wl,-z,lazy
    ./program end >out &
    running=$!
    until [ "$(readlink /proc/$running/exe)" = "$PWD/program" ]; do sleep 0.05; done
    "$SPROF" trace -o t.db -p $running --duration 1 2>notes || fail "not attached: $(cat notes)"
    shares
    [ "$(left usleep)" -gt 10 ] || fail "usleep: $(left usleep) calls"
    # The slots are as they were: the program goes on, and ends as it would.
    touch end
    wait $running || fail "it ended by $?"
    ;;
full)
    # More paths than there is room for: calls that leave the modules take little of it.
    cat >program.c <<'END'
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
void left(int), right(int);
NI void go(int depth) { if (!depth) { getppid(); getuid(); getgid(); geteuid(); getegid(); return; } left(depth - 1); right(depth - 1); __asm__ volatile(""); }
NI void left(int depth) { go(depth); __asm__ volatile(""); }
NI void right(int depth) { go(depth); __asm__ volatile("nop"); }
int main(void) { go(15); return 0; }
END
    cc -O1 -g -fno-optimize-sibling-calls -w program.c -o program || fail "no program"
    "$SPROF" trace --paths -o t.db -- ./program 2>notes || fail "not traced: $(cat notes)"
    count() {
        asked "SELECT count(*) FROM path_cost c JOIN call_path p ON p.id = c.path_id
               JOIN function f ON f.id = p.function_id WHERE f.name $1 LIKE 'get%'"
    }
    [ "$(count NOT)" -gt 44000 ] || fail "$(count NOT) paths of 65 536 are the program's own"
    [ "$(count '')" -gt 1000 ] || fail "$(count '') paths lead outside"
    ;;
esac
