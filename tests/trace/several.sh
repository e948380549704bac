#!/bin/bash
# sprof trace -p PID,PID: several processes that run are traced in one run, by one set of commands.
#   several.sh exact | together | ended | old | early | executed | modes | governed | delayed | chosen | loaded | listening | kinds | kept | kill | bad
set -u
. "$(dirname "$0")/lib.sh"

# Calls N times in each round that a file `goR` begins, and makes the file `didR.N`; until there is a file `end`, or the round
# is R; then it executes the last argument, if there is one.
cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define NI __attribute__((noinline))
NI void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
NI void first(int n) { for (int i = 0; i < n; i++) work(); }
NI void OWN(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
int main(int argc, char **argv)
{
    char name[64];
    const int last = argc > 2 ? atoi(argv[2]) : 1000;
    for (int round = 1; round <= last; round++) {
        for (snprintf(name, sizeof name, "go%d", round); access(name, F_OK); usleep(1000))
            if (!access("end", F_OK))
                return 0;
        first(atoi(argv[1]));
        OWN();
        snprintf(name, sizeof name, "did%d.%s", round, argv[1]);
        fclose(fopen(name, "w"));
    }
    if (argc > 3)
        execl(argv[3], argv[3], "7", (char *)0);
}
C
gcc -O1 -g -DOWN=mine program.c -o mine || fail "no C compiler"
gcc -O1 -g -DOWN=theirs program.c -o theirs || fail "no C compiler"
chosen='^(work|first|mine|theirs)$'
round=0

# begun PROGRAM ARGUMENT…: a process that runs is the last of `pids`.
pids=()
begun() {
    "$@" </dev/null >/dev/null 2>&1 &
    pids+=($!) && children+=($!)
    wait_until 60 eval "[ \$(readlink /proc/$!/exe) != $(readlink -f /proc/$$/exe) ]"
}
# begun_to_listen NAME N: a copy with probes of ./theirs.
begun_to_listen() {
    "$SPROF" probes ./theirs --embed -o "$1" >out 2>err || fail "no copy with probes"
    begun env LD_PRELOAD="$(dirname "$SPROF")/libexec/sprof/libsprof-probe.so" SPROF_PROBE=listen "./$1" "$2"
    wait_until 60 grep -q "@sprof-probe-${pids[-1]}\$" /proc/net/unix
}
three() { begun ./mine 100 && begun ./mine 200 && begun ./theirs 3000; }
all() { local IFS=, && echo "${pids[*]}"; }

# tracing OPTION…: all of them, until they are controlled.
trace_all() {
    "$SPROF" trace -o t.db -p "$(all)" "$@" >out 2>notes </dev/null &
    tracer=$! && children+=($tracer)
    wait_for_trace notes -i t.db
}

# rounds N…: the next round of the processes that call so often.
rounds() {
    : >go$((++round))
    for n in "$@"; do wait_until 60 test -e "did$round.$n"; done
}
ctl() { "$SPROF" ctl -p "$@" >out 2>err || fail "ctl -p $*"; }
ended() {
    wait "$tracer" || fail "the trace failed: $(cat notes)"
    cp notes err
}

# of OPTION… -- "PID FUNCTION CALLS"…: these are the figures, by process.
of() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    "$SPROF" stats "${options[@]}" --by process --format csv >stats.csv 2>err || fail "no stats"
    python3 -c 'import csv
for row in csv.DictReader(open("stats.csv")):
    if int(row["calls"]):
        print(row["pid"], row["function"], row["calls"])' | sort >found
    printf '%s\n' "$@" | sort >wanted
    diff wanted found >out || fail "other calls than there were"
}
untouched() {
    for pid in "$@"; do
        ! grep -q sprof "/proc/$pid/maps" || fail "something of sprof is in process $pid: $(grep sprof "/proc/$pid/maps")"
    done
}

case ${1?the case} in
exact)
    # Every process has figures of its own; at the end nothing is left in any of them.
    three
    trace_all --function "$chosen"
    rounds 100 200 3000
    rounds 100 200 3000
    figures=("${pids[0]} work 200" "${pids[0]} first 2" "${pids[0]} mine 2"
        "${pids[1]} work 400" "${pids[1]} first 2" "${pids[1]} mine 2"
        "${pids[2]} work 6000" "${pids[2]} first 2" "${pids[2]} theirs 2")
    of -p "${pids[1]}" -- "${figures[@]}"
    "$SPROF" stats -p "${pids[2]}" --follow >follow 2>&1 &
    follower=$! && children+=($follower)
    wait_until 60 grep -q work follow
    kill -INT "$tracer"
    ended
    wait "$follower"
    said '^sprof: 3 processes: 9 probes'
    said '^sprof: 6 612 calls'
    of -i t.db -- "${figures[@]}"
    untouched "${pids[@]}"
    rounds 100 200 3000
    "$SPROF" sql t.db --format csv 'SELECT command FROM run' >out
    grep -q '\./mine 100, \./mine 200, \./theirs 3000' out || fail "the run does not say what was traced"
    ;;
kept)
    # Rules are those of each process by itself; `status` counts what they have kept together.
    three
    trace_all --function "$chosen" --keep 'every 50 : ^work$' --keep 'every 1 : ^theirs$'
    rounds 100 200 3000
    rounds 100 200 3000
    ctl "${pids[0]}" status
    grep -q ', 134 calls kept (every 50 : ^work$: 132, every 1 : ^theirs$: 2)$' out || fail "no status of rules"
    ctl "${pids[1]}" status --format json
    python3 -c 'import json; assert json.load(open("out"))[0]["kept"] == 134' || fail "the number of kept calls"
    kill -INT "$tracer"
    ended
    "$SPROF" sql -i t.db --format csv "SELECT pid, function, count(*) AS calls, sum(caller_id IS NULL) AS roots FROM v_kept_call
WHERE rules IS NOT NULL GROUP BY 1, 2 ORDER BY 3, 1" >kept.csv
    python3 - "${pids[@]}" <<'END' || fail "other calls are kept: $(cat kept.csv)"
import csv, sys
mine, yours, theirs = sys.argv[1:]
rows = [(row["pid"], row["function"], int(row["calls"])) for row in csv.DictReader(open("kept.csv"))]
assert sorted(rows) == sorted([(mine, "work", 4), (yours, "work", 8), (theirs, "work", 120), (theirs, "theirs", 2)]), rows
END
    "$SPROF" report --kept -i t.db --process "${pids[1]}" --format csv -n 0 >out || fail "no tree of a process"
    [ "$(grep -c ',work,' out)" = 8 ] && [ "$(cut -d, -f6 out | grep -c first)" = 2 ] || fail "the tree of a process: $(cat out)"
    ;;
together)
    # Any of them leads to the trace, which is controlled for all; `detach` is for one.
    three
    trace_all --function "$chosen"
    for pid in "${pids[@]}"; do
        ctl "$pid" status
        said 'traced with others'
        grep -q '9 of 9 probes on, mode stats, 3 of 3 processes' out || fail "no status of all"
    done
    ctl "${pids[2]}" off
    rounds 100 200 3000
    ctl "${pids[0]}" on
    ctl "${pids[1]}" probe -work
    grep -q '^6 probes are on' out || fail "not taken out of all"
    rounds 100 200 3000
    ctl "${pids[1]}" probe +^theirs
    ctl "${pids[0]}" probe -#2
    expect 2 "$SPROF" ctl -p "${pids[0]}" probe +worc
    said 'finds no function .*work'
    ctl "${pids[2]}" list
    [ "$(awk '{ print $1, $2, $3, $4 }' out)" = "number state sites on
1 on 9 9
2 off 3 3
3 on 1 1" ] || fail "other ranges"
    rounds 100 200 3000
    ctl "${pids[0]}" detach
    grep -q "out of process ${pids[0]}, and 2 others are traced on" out || fail "not said who is traced on"
    untouched "${pids[0]}"
    expect 1 "$SPROF" ctl -p "${pids[0]}" status
    expect 1 "$SPROF" ctl -p "${pids[0]}" detach
    ctl "${pids[1]}" status
    grep -q ' 2 of 3 processes' out || fail "no status of who is left"
    ctl "${pids[1]}" status --format json
    grep -Eq "\"processes\": \"(${pids[1]},${pids[2]}|${pids[2]},${pids[1]})\"" out || fail "no numbers of who is left"
    rounds 100 200 3000
    figures=("${pids[0]} work 100" "${pids[0]} first 2" "${pids[0]} mine 2"
        "${pids[1]} work 400" "${pids[1]} first 3" "${pids[1]} mine 3"
        "${pids[2]} work 6000" "${pids[2]} first 3" "${pids[2]} theirs 3")
    of -p "${pids[1]}" -- "${figures[@]}"
    expect 0 "$SPROF" trace -o other.db -p "${pids[0]}" --duration 10ms # it is nobody's
    "$SPROF" ctl -i t.db detach >out 2>err || fail "not taken out of all"
    ended
    said '^sprof: 3 processes: 9 probes'
    untouched "${pids[@]}"
    of -i t.db -- "${figures[@]}"
    ;;
ended)
    # The run ends with the last of them, in order, or as `ctl end` says.
    begun ./mine 100 1 && begun ./mine 200 2 && begun ./theirs 3000 3
    trace_all --function "$chosen"
    rounds 100 200 3000
    wait_until 60 grep -q "process ${pids[0]} has ended; 2 of 3 are traced on" notes
    rounds 200 3000
    wait_until 60 grep -q "process ${pids[1]} has ended; 1 of 3 are traced on" notes
    kill -0 "$tracer" || fail "the trace has ended too early"
    rounds 3000
    ended
    said '^sprof: 3 processes: 9 probes'
    said '^sprof: 9 512 calls'
    of -i t.db -- "${pids[0]} work 100" "${pids[0]} first 1" "${pids[0]} mine 1" \
        "${pids[1]} work 400" "${pids[1]} first 2" "${pids[1]} mine 2" \
        "${pids[2]} work 9000" "${pids[2]} first 3" "${pids[2]} theirs 3"
    pids=() && round=0 && rm -f go* did*
    three
    trace_all --function "$chosen" && ctl "${pids[1]}" end && ended
    untouched "${pids[@]}"
    trace_all --function "$chosen" --duration 300ms && ended
    untouched "${pids[@]}"
    # The last that is detached ends it, too.
    trace_all --function "$chosen"
    for pid in "${pids[@]}"; do ctl "$pid" detach; done
    grep -q "out of process ${pids[2]}, and the trace ends" out || fail "not said that it ends"
    ended
    untouched "${pids[@]}"
    ;;
old)
    # What they used of the CPU before the trace is not of it: one process, two, by uprobes, one that ends meanwhile.
    cat >burn.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
int main(int argc, char **argv)
{
    (void)argc;
    while (clock() < 2 * CLOCKS_PER_SEC)
        ;
    fclose(fopen(argv[1], "w"));
    while (access(argv[2], F_OK)) {
        work();
        usleep(5000);
    }
}
C
    gcc -O1 -g burn.c -o burn || fail "no C compiler"
    for name in a b; do begun ./burn "burnt.$name" "stop.$name"; done
    for name in a b; do wait_until 300 test -e "burnt.$name"; done
    cpu_ms() { sql "$1" 'SELECT target_cpu_ns / 1000000 FROM run'; }
    is_young() { [ "$(cpu_ms "$1")" -lt 1000 ] || fail "$1: $(cpu_ms "$1") ms of CPU time: the processes' whole lives"; }
    for which in "${pids[0]}" "$(all)"; do
        "$SPROF" trace -o young.db -p "$which" --function '^work$' --duration 300ms >out 2>err || fail "no trace"
        is_young young.db
    done
    if [ "$(id -u)" = 0 ] && "$SPROF" trace --backend uprobe -o young.db -p "${pids[0]}" --function '^work$' \
        --duration 300ms >out 2>err; then
        is_young young.db
    fi
    trace_all --function '^work$'
    : >stop.a
    wait_until 60 grep -q "process ${pids[0]} has ended; 1 of 2 are traced on" notes
    ctl "${pids[1]}" end
    ended
    is_young t.db
    ;;
early)
    # One that ends before its turn is left out.
    python=$(python3 -c 'import sys; print(sys.executable)') || skip "no python3" # itself, and not what executes it
    begun "$python" -c 'import time; time.sleep(600)' && begun ./mine 100 && begun ./mine 200
    "$SPROF" trace -o t.db -p "$(all)" --no-cache --module '*' --duration 1s >out 2>err </dev/null &
    tracer=$! && children+=($tracer)
    until [ -e t.db.ctl ] || ! kill -0 "$tracer"; do :; done
    kill -9 "${pids[1]}" # while functions of the first are planned
    wait "$tracer" || fail "the trace failed"
    said "process ${pids[1]} is not traced: .*has ended before its probes were in place"
    said '^sprof: 2 processes: '
    untouched "${pids[0]}" "${pids[2]}"
    ;;
executed)
    # What one executes in its place is not traced, and the others are.
    begun ./mine 100 1 ./theirs && begun ./mine 200
    trace_all --function "$chosen"
    rounds 100 200
    wait_until 60 grep -q "process ${pids[0]} executed .*/theirs in its place" notes
    rounds 7 200
    ctl "${pids[1]}" end && ended
    of -i t.db -- "${pids[0]} work 100" "${pids[0]} first 1" "${pids[0]} mine 1" \
        "${pids[1]} work 400" "${pids[1]} first 2" "${pids[1]} mine 2"
    untouched "${pids[@]}"
    ;;
modes)
    three
    trace_all --mode log --function "$chosen"
    rounds 100 200 3000
    ctl "${pids[0]}" end && ended
    said '3 306 calls written down'
    [ "$(rows t.db | tr '\n' ' ')" = "first 3 mine 2 theirs 1 work 3300 " ] || fail "other rows"
    trace_all --mode coverage --function "$chosen|^main$"
    rounds 100 200 3000
    ctl "${pids[0]}" status
    ctl "${pids[0]}" end && ended
    said '^sprof: [5-7] functions were called'
    "$SPROF" stats -i t.db --coverage --format csv >coverage.csv 2>err || fail "no coverage"
    [ "$(grep -c '\(work\|first\|mine\|theirs\)' coverage.csv)" -ge 4 ] || fail "other functions"
    for option in --callers --paths; do
        trace_all $option --function "$chosen"
        rounds 100 200 3000
        ctl "${pids[0]}" end && ended
        of -i t.db -- "${pids[0]} work 100" "${pids[0]} first 1" "${pids[0]} mine 1" \
            "${pids[1]} work 200" "${pids[1]} first 1" "${pids[1]} mine 1" \
            "${pids[2]} work 3000" "${pids[2]} first 1" "${pids[2]} theirs 1"
    done
    "$SPROF" report --tree --min-percent 0 -i t.db >out 2>err && grep -q work out || fail "no call paths"
    trace_all --max-overhead 90% --warn-over 1us:^first$ --function "$chosen"
    rounds 100 200 3000
    ctl "${pids[2]}" end && ended
    said '^sprof: 3 warnings'
    untouched "${pids[@]}"
    ;;
governed)
    # Each by what its own probes take of its own time.
    cat >busy.c <<'C'
#include <unistd.h>
__attribute__((noinline)) void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
int main(void)
{
    while (access("end", F_OK))
        for (int i = 0; i < 1000000; i++)
            work();
}
C
    gcc -O1 -g busy.c -o busy || fail "no C compiler"
    begun ./busy && begun ./busy && begun ./mine 100
    trace_all --max-overhead 1% --function "$chosen"
    wait_until 60 eval '[ "$(grep -c "more than --max-overhead: work" notes)" -ge 2 ]'
    rounds 100
    ctl "${pids[2]}" end && ended
    said 'to hold --max-overhead [0-9]+ functions?'
    "$SPROF" stats -i t.db --by process --format csv >stats.csv 2>err
    python3 -c 'import csv, sys
found = {(row["pid"], row["function"]): int(row["calls"]) for row in csv.DictReader(open("stats.csv"))}
sys.exit(found[sys.argv[1], "work"] != 100)' "${pids[2]}" || fail "another number of calls where probes cost nothing"
    : >end
    ;;
delayed)
    # Nothing is measured before; all begin at one moment.
    three
    trace_all --delay 30s --function "$chosen"
    ctl "${pids[1]}" status
    grep -q '^paused.* 9 probes rest' out || fail "they do not rest"
    rounds 100 200 3000
    ctl "${pids[1]}" start
    rounds 100 200 3000
    ctl "${pids[1]}" end && ended
    said '^sprof: 3 306 calls'
    trace_all --delay 1s --function "$chosen"
    rounds 100 200 3000
    wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q ^tracing'
    rounds 100 200 3000
    ctl "${pids[1]}" end && ended
    said '^sprof: 3 306 calls'
    untouched "${pids[@]}"
    ;;
chosen)
    # Who has none of the chosen functions is left alone; where that are all there is no trace.
    three
    trace_all --function '^mine$'
    rounds 100 200 3000
    cp notes err
    said "process ${pids[2]} is not traced: .*'\^mine.' finds none of"
    untouched "${pids[2]}"
    expect 1 "$SPROF" ctl -p "${pids[2]}" status
    ctl "${pids[1]}" end && ended
    said '^sprof: 2 processes: 2 probes'
    of -i t.db -- "${pids[0]} mine 1" "${pids[1]} mine 1"
    expect 1 "$SPROF" trace -o t.db -p "$(all)" --function '^nobodys$'
    said 'finds none of'
    untouched "${pids[@]}"
    ;;
loaded)
    # Libraries that any of them loads get their probes.
    cat >plugin.c <<'C'
__attribute__((noinline)) void plugged(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
void many(int n) { for (int i = 0; i < n; i++) plugged(); }
C
    cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
int main(int argc, char **argv)
{
    char name[64];
    void (*many)(int);
    (void)argc;
    while (access("go1", F_OK)) usleep(1000);
    work();
    *(void **)&many = dlsym(dlopen("./plugin.so", RTLD_NOW), "many");
    many(atoi(argv[1]));
    snprintf(name, sizeof name, "did1.%s", argv[1]);
    fclose(fopen(name, "w"));
    while (access("end", F_OK)) usleep(1000);
}
C
    gcc -O1 -g -shared -fPIC plugin.c -o plugin.so && gcc -O1 -g host.c -o host -ldl || fail "no C compiler"
    begun ./host 10 && begun ./host 2000
    trace_all --module '*host' --module 'plugin*' --function '^(work|plugged)$'
    rounds 10 2000
    ctl "${pids[0]}" end && ended
    of -i t.db -- "${pids[0]} work 1" "${pids[0]} plugged 10" "${pids[1]} work 1" "${pids[1]} plugged 2000"
    untouched "${pids[@]}"
    : >end
    ;;
listening)
    # One that sprof enters, and one that listens.
    begun_to_listen listening 3000 && begun ./mine 100
    trace_all --function "$chosen"
    rounds 100 3000
    ctl "${pids[0]}" off
    rounds 100 3000
    ctl "${pids[1]}" on
    rounds 100 3000
    ctl "${pids[1]}" end && ended
    of -i t.db -- "${pids[0]} work 6000" "${pids[0]} first 2" "${pids[0]} theirs 2" \
        "${pids[1]} work 200" "${pids[1]} first 2" "${pids[1]} mine 2"
    rounds 100 3000
    untouched "${pids[1]}"
    ;;
kinds)
    # One that no loader can put anything into, and one that listens.
    gcc -O1 -g -static -DOWN=mine program.c -o static || skip "no static libc"
    begun ./mine 100 && begun ./static 200 && begun_to_listen listening 3000
    trace_all --function "$chosen"
    rounds 100 200 3000
    ctl "${pids[2]}" detach
    rounds 100 200 3000
    ctl "${pids[1]}" end && ended
    of -i t.db -- "${pids[0]} work 200" "${pids[0]} first 2" "${pids[0]} mine 2" \
        "${pids[1]} work 400" "${pids[1]} first 2" "${pids[1]} mine 2" \
        "${pids[2]} work 3000" "${pids[2]} first 1" "${pids[2]} theirs 1"
    rounds 100 200 3000
    untouched "${pids[@]:0:2}"
    ;;
kill)
    # Whoever keeps watch takes the probes out of all, whenever sprof is killed.
    three
    for i in {1..8}; do
        "$SPROF" trace -o t.db -p "$(all)" --function "$chosen" >out 2>err </dev/null &
        tracer=$! && children+=($tracer)
        [ "$i" -gt 4 ] || wait_for_trace err -i t.db
        [ "$i" -le 4 ] || sleep 0.0$((i * 2))
        kill -9 "$tracer"
        wait "$tracer" 2>/dev/null
        wait_until 60 eval "! grep -q sprof $(printf '/proc/%s/maps ' "${pids[@]}")"
        rounds 100 200 3000
    done
    ;;
bad)
    three
    expect 2 "$SPROF" trace -o t.db -p "${pids[0]},${pids[1]},${pids[0]}"
    said_only "process ${pids[0]} is given twice"
    expect 2 "$SPROF" trace -o t.db -p "${pids[0]}" -p "${pids[0]}"
    said_only "process ${pids[0]} is given twice"
    for list in "${pids[0]},,${pids[1]}" "${pids[0]}," ",${pids[0]}" "${pids[0]},x"; do
        expect 2 "$SPROF" trace -o t.db -p "$list"
        said 'is not a process id'
    done
    expect 2 bash -c 'exec "$0" trace -o t.db -p "$1",$$' "$SPROF" "${pids[0]}"
    said_only 'cannot trace itself'
    expect 2 "$SPROF" trace -o t.db --backend uprobe -p "${pids[0]},${pids[1]}"
    said 'one process at a time'
    expect 2 "$SPROF" trace -o t.db --children -p "${pids[0]},${pids[1]}"
    bash -c 'exit 0' & gone=$!
    wait "$gone"
    expect 1 "$SPROF" trace -o t.db -p "${pids[0]},$gone"
    said "$gone"
    [ ! -e t.db ] || fail "there is a recording"
    # One that is traced already, wherever it stands in the list, keeps its trace.
    "$SPROF" trace -o one.db -p "${pids[1]}" --function "$chosen" >out 2>one_notes </dev/null &
    one=$! && tracer=$! && children+=($one)
    wait_for_trace one_notes -i one.db
    expect 1 "$SPROF" trace -o t.db -p "$(all)"
    said "process ${pids[1]} is being traced already, into .*one.db"
    said "none of the 3 processes is traced: leave process ${pids[1]} out"
    untouched "${pids[0]}" "${pids[2]}"
    "$SPROF" ctl -p "${pids[1]}" end >out 2>err || fail "its trace is gone"
    wait "$one" || fail "its trace has failed"
    # One that cannot be entered, as is seen only behind another that has its probes by then.
    cat >waits.c <<'END'
#include <unistd.h>
__attribute__((noinline)) long work(long n) { __asm__ volatile("" : "+r"(n)); return n * 5; }
int main(void)
{
    for (long n = 1;; n = work(n))
        if (!vfork())
            for (;;) pause();
}
END
    gcc -O1 -g -w waits.c -o waits || fail "no C compiler"
    begun ./waits
    waiting=${pids[3]} && unset 'pids[3]'
    wait_until 60 pgrep -P "$waiting"
    expect 1 "$SPROF" trace -o t.db -p "${pids[0]},$waiting" --function "$chosen"
    said "cannot trace process $waiting: its thread $waiting does not stop"
    said "none of the 2 processes is traced: leave process $waiting out"
    untouched "${pids[0]}" "$waiting"
    # One that nothing can be put into.
    gcc -O1 -g -fsanitize=address -DOWN=mine program.c -o sanitized || skip "no sanitizer"
    begun ./sanitized 7
    expect 1 "$SPROF" trace -o t.db -p "$(all)" --function "$chosen"
    said "process ${pids[3]}"
    said 'none of the 4 processes is traced'
    untouched "${pids[@]:0:3}"
    trace_all_of=("${pids[@]:0:3}") && pids=("${trace_all_of[@]}")
    trace_all --function "$chosen" && ctl "${pids[0]}" end && ended
    ;;
*) fail "no such case" ;;
esac
