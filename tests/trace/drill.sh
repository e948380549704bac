#!/bin/bash
# Drill-downs: probes are added where the time is, and the function that has it is named.
#   drill.sh cpu | wait | lock | argument | flat | together | children | errors | conditions | config | refused
set -u
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

compile_server() {
    gcc -O1 -g -fno-optimize-sibling-calls -fpic -shared low.c -o liblow.so || fail "no compiler"
    gcc -O1 -g -fno-optimize-sibling-calls main.c -o server -pthread -L. -llow -Wl,-rpath,"$PWD" || fail "no compiler"
}

# Starts the server of a kind; its process is `server`.
start_server() { # KIND
    "$here/deep.py" "$1" 1 . || fail "no program"
    compile_server
    ./server &
    server=$!
    children+=("$server")
    wait_until 60 eval '[ "$(readlink /proc/$server/exe)" = "$PWD/server" ]' # not the shell that becomes it
}

drill() { # OPTION…
    expect 0 timeout 200 "$SPROF" trace -o t.db --overwrite -p "$server" --adaptive --step 300ms --module server --module liblow.so "$@"
}

said() {
    grep -qE -e "$1" err || fail "does not say: $1"
}

# What it says is in `err`. The way has no step too many, and the server goes on with its own code.
finds_culprit() {
    said '^sprof: culprit: culprit, itself (9[0-9]|100) % of the time of handle'
    said '→ at_level_3 .*called by a pointer'
    said '→ at_level_7 |→ compare .*called back by another module'
    steps=$(grep -c '^sprof: step ' err)
    [ "$steps" -le 10 ] || fail "$steps steps"
    [ "$("$SPROF" sql t.db --format csv "SELECT count(*) >= $steps AND max(mark) = 'step 9: below at_level_7' OR max(mark) LIKE 'step %' FROM v_phase WHERE mark LIKE 'step %' OR mark LIKE 'culprit: %'" | tail -n 1 | tr -d '\r')" = 1 ] ||
        fail "the steps are no phases"
    [ "$("$SPROF" sql t.db --format csv "SELECT count(*) FROM v_phase WHERE mark = 'culprit: culprit'" | tail -n 1 | tr -d '\r')" = 1 ] || fail "the end is no phase"
    kill -0 "$server" || fail "the server has ended"
    "$SPROF" html -i t.db -o t.html >out 2>&1 || fail "no page: $(cat out)"
    python3 - "$steps" <<'END' || fail "the way on the page"
import base64, json, re, sys, zlib
header = re.search(r'id="sprof-header">\s*([^<]*)', open("t.html", encoding="utf-8").read())[1]
(drill,) = json.loads(zlib.decompress(base64.b64decode(header), -15))["drills"]
marks = [mark for _, mark in drill["steps"]]
assert 0 < sum(mark.startswith("step ") for mark in marks) <= int(sys.argv[1]) and marks[-1] == "culprit: culprit", marks
came = {name: when for name, _, when, *_ in drill["probes"]}
assert came["handle"] < came["culprit"], came
END
}

case $1 in
cpu | wait | lock | argument)
    start_server "$1"
    drill --root '^handle$' --over 300us --keep 'over 200us' --args
    finds_culprit
    # Calls of functions are kept, with their values, from the moment on at which they got probes.
    [ "$("$SPROF" sql t.db --format csv "SELECT count(*) > 0 FROM v_kept_call WHERE function = 'culprit' AND rules <> ''" | tail -n 1 | tr -d '\r')" = 1 ] ||
        fail "no calls of the culprit are kept"
    "$SPROF" report --kept t.db -n 0 >kept || fail "no kept calls"
    grep -q 'culprit([a-z]* = ' kept || fail "no values of what got its probe later: $(grep -m 3 culprit kept)"
    case $1 in wait | lock) said 'on a CPU for at most [0-9]+ % of that: it waits' ;; esac
    ;;
flat)
    start_server flat
    drill --root '^handle$'
    said 'no single function has most of the time of handle'
    said '→ (culprit|accomplice|lookout) '
    ;;
together)
    # Two processes have one drill-down, and two roots one each.
    start_server wait
    first=$server
    ./server &
    server=$!,$first
    children+=("$!")
    drill --root '^(handle|at_level_7)$'
    said '^sprof: culprit: culprit, itself [0-9]+ % of the time of handle'
    said '^sprof: culprit: culprit, itself [0-9]+ % of the time of at_level_7'
    said '^sprof: 2 processes: '
    kill -0 "$first" || fail "a server has ended"
    ;;
children)
    # What a command starts has one drill-down: a program that comes later gets the probes that the first one has, and a process
    # that is forked.
    "$here/deep.py" cpu 1 .
    sed -i 's/if (argc > 1)/if (argc > 1 \&\& !fork())/' main.c
    compile_server
    cat >start.sh <<'END'
setsid ./server & echo $! >pids
while [ ! -e go ]; do sleep 0.05; done
setsid ./server twice & echo $! >>pids
wait
END
    "$SPROF" trace --children --adaptive --root '^handle$' --over 300us --step 300ms --module server --module liblow.so -o t.db -- sh start.sh 2>err &
    tracer=$!
    children+=("$tracer")
    number() { "$SPROF" sql t.db --format csv "SELECT count(*) FROM $1" 2>/dev/null | tail -n 1 | tr -d '\r'; }
    for ((i = 0; i < 600; i++)); do grep -qs '^sprof: step 1, ' err && break || sleep 0.1; done
    touch go
    for ((i = 0; i < 600; i++)); do
        [ "$(number "v_phase WHERE mark = 'culprit: culprit'")" = 1 ] && [ "$(number "v_process_call WHERE function = 'culprit'")" = 3 ] && break
        sleep 0.1
    done
    children+=($(cat pids))
    for group in $(cat pids); do kill -- "-$group"; done
    wait "$tracer"
    [ "$(number "v_process_call WHERE function = 'culprit'")" = 3 ] || fail "a process has no calls of the culprit: $(cat err)"
    said '^sprof: culprit: culprit, itself'
    ;;
errors)
    # Calls with a bad result are followed where a rule says which are bad.
    cat >fails.c <<'END'
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
static volatile int sum;
NI int read_fields(int a) { sum += a; return 0; }
NI int check_sum(int a) { sum += a; return a % 4 ? 0 : -5; }
NI int parse(int a) { int bad = read_fields(a); sum++; bad += check_sum(a); sum++; return bad; }
NI int store(int a) { sum += a; usleep(100); sum++; return 0; }
NI int handle(int a) { int bad = parse(a); sum++; store(a); sum++; return bad; }
int main(void)
{
    for (int a = 0;; a++) {
        handle(a);
        usleep(200);
    }
}
END
    gcc -O1 -g -fno-optimize-sibling-calls fails.c -o fails || fail "no compiler"
    ./fails &
    server=$!
    children+=("$server")
    wait_until 60 eval '[ "$(readlink /proc/$server/exe)" = "$PWD/fails" ]'
    expect 0 timeout 200 "$SPROF" trace -o t.db -p "$server" --adaptive --step 300ms --root '^handle$' --over 'errors > 5%' --keep 'returns < 0' --keep 'wrong = 3 : ^check_sum$'
    said '^sprof: culprit: check_sum, itself [0-9]+ % of the errors of handle'
    # That no function has such a value is known once one had a probe.
    said "^sprof: --keep 'wrong = 3 : .check_sum.' keeps no call: by debug information no function has all these values"
    ! grep -q -- "--keep 'returns < 0" err || fail "a rule that holds is called one without functions"
    ;;
conditions)
    start_server cpu
    # What does not hold adds nothing; a command does.
    "$SPROF" trace -o t.db -p "$server" --adaptive --step 300ms --root '^(handle|never)$' --over '10s' --duration 180 2>trace.err &
    tracer=$!
    children+=("$tracer")
    wait_for_trace trace.err -i t.db
    for ((i = 0; i < 600; i++)); do grep -q 'never has not been called yet' trace.err && break || sleep 0.1; done
    grep -q 'never has not been called yet' trace.err || fail "does not say that a root is not called"
    grep -q '^sprof: step' trace.err && fail "it adds probes although its condition does not hold"
    expect 2 "$SPROF" ctl -i t.db widen nosuch
    said 'finds none of the 2 roots'
    # Rules that come now hold for functions that have no probes yet, too.
    expect 1 "$SPROF" ctl -i t.db keep 'every 1 : ^at_level_11$'
    said 'finds none .*near it: .*at_level_1'
    expect 0 "$SPROF" ctl -i t.db keep 'every 1 : ^at_level_1$'
    expect 0 "$SPROF" ctl -i t.db probe '-^at_level_2$'
    expect 0 "$SPROF" ctl -i t.db widen '^handle$'
    for ((i = 0; i < 600; i++)); do "$SPROF" ctl -i t.db list --format csv >out && "$SPROF" ctl -i t.db status >status.out && grep -q '[3-9] of' status.out && break || sleep 0.1; done
    grep -qE '[3-9] of [3-9] probes on' status.out || fail "widen adds no probes: $(cat status.out)"
    kept() { "$SPROF" sql t.db --format csv "SELECT count(*) > 0 FROM v_kept_call WHERE function = 'at_level_1'" | tail -n 1 | tr -d '\r'; }
    for ((i = 0; i < 300; i++)); do [ "$(kept)" = 1 ] && break || sleep 0.1; done
    [ "$(kept)" = 1 ] || fail "no calls are kept of a function that has got a probe"
    expect 0 "$SPROF" ctl -i t.db end
    wait "$tracer"
    cp trace.err err
    said '^sprof: never was not called'
    said '^sprof: (ended before it was known what has the time of handle|no single function has most of the time of handle|culprit: .* of the time of handle|handle has had probes below it for too short)'
    # What would be done.
    drill --root '^handle$' --over '300us : ^handle$' --observe
    said 'would be added below handle: '
    said '^sprof:   at_level_1$'
    [ "$("$SPROF" sql t.db --format csv "SELECT count(DISTINCT function) FROM v_call_stats" | tail -n 1 | tr -d '\r')" = 1 ] || fail "--observe has added probes"
    # Its options are a file of options, with what was found as comments.
    grep -q '^#   at_level_1$' out || fail "the file does not hold what was found: $(cat out)"
    grep -v '^observe' out >observed.ini
    expect 0 timeout 200 "$SPROF" trace -o t.db --overwrite -p "$server" --config observed.ini
    said '^sprof: culprit: culprit'
    # The file names the program also where its file and its process are gone.
    cp server 'ser[v]er*' || fail "no program"
    './ser[v]er*' &
    other=$!
    children+=("$other")
    wait_until 60 eval '[ "$(readlink /proc/$other/exe)" = "$PWD/ser[v]er*" ]'
    rm 'ser[v]er*'
    "$SPROF" trace -o o.db -p "$other" --adaptive --root '^handle$' --over 10s --observe --duration 60 >gone.ini 2>trace.err &
    tracer=$!
    children+=("$tracer")
    wait_for_trace trace.err -i o.db
    kill "$other"
    wait "$tracer"
    grep -qxF '[program ser\[v]er\*]' gone.ini || fail "not the program: $(cat gone.ini trace.err)"
    # Without --adaptive: the root and what it calls.
    expect 0 "$SPROF" trace -o r.db --overwrite -p "$server" --root '^handle$' --duration 1
    "$SPROF" sql r.db --format csv "SELECT function FROM v_call_stats ORDER BY 1" | tail -n +2 | tr -d '\r' | cut -d'(' -f1 | paste -sd ' ' >found
    [ "$(cat found)" = "at_level_1 handle small_0" ] || fail "other functions than the root and what it calls: $(cat found)"
    ;;
config)
    start_server cpu
    cat >options.ini <<'END'
# What is traced in which program.
[program other*]
function = x
[program server]
adaptive
root = ^handle$
over = 10s : ^handle$
duration = 60
step = 300ms
[module liblow.so]
probes = never
[module server]
probes = start
END
    # Nothing of the library gets probes, so its caller is the culprit. The condition is changed while it runs.
    "$SPROF" trace -o t.db -p "$server" --config options.ini --duration 40 2>err &
    tracer=$!
    children+=("$tracer")
    wait_for_trace err -i t.db
    sed -i 's/^over = .*/over = 300us/' options.ini
    expect 0 "$SPROF" ctl -i t.db reload
    for ((i = 0; i < 900; i++)); do "$SPROF" sql t.db "SELECT mark FROM v_phase" 2>&1 | grep -q culprit && break || sleep 0.1; done
    sed -i 's/^over = .*/ovre = 300us/' options.ini
    expect 2 "$SPROF" ctl -i t.db reload
    grep -q 'options.ini:7: unknown option `ovre`: did you mean `over`' err || fail "a mistake is not shown"
    expect 0 "$SPROF" ctl -i t.db end
    wait "$tracer"
    "$SPROF" sql t.db "SELECT mark FROM v_phase" >out 2>err
    grep -q 'culprit: at_level_4' out || fail "not what calls the library"
    # Mistakes have their line.
    wrong() { # TEXT LINE…
        local text=$1
        shift
        printf '%s\n' "$@" >wrong.ini
        expect 2 "$SPROF" trace -o w.db --config wrong.ini -- ./server
        grep -qE -e "$text" err || fail "does not say: $text"
    }
    wrong 'wrong.ini:2: unknown option `adpative`: did you mean `adaptive`' '[program server]' 'adpative'
    wrong 'wrong.ini:1: unknown section `porgram`: did you mean `program`' '[porgram server]'
    wrong 'wrong.ini:3: \[program s\*\] is a second section for ./server: the first is in line 1' '[program server]' adaptive '[program s*]'
    wrong 'has no section for ./server: there are \[program\] sections for other' '[program other]' adaptive
    wrong 'wrong.ini:2: over = soon: .*is no condition' '[program other]' 'over = soon'
    wrong 'wrong.ini:1: a section, as .* must come before `root`' 'root = x'
    wrong 'wrong.ini:2: .*`demand` or `never`, not `demnad`: did you mean `demand`' '[module x]' 'probes = demnad'
    wrong 'wrong.ini:2: a value is missing: .*`root`' '[program server]' 'root'
    wrong 'wrong.ini:2: no value belongs to `adaptive`' '[program server]' 'adaptive = yes'
    wrong 'wrong.ini:2: unknown option `pid`' '[program server]' 'pid = 1'
    expect 1 "$SPROF" trace -o w.db --config nosuch.ini -- ./server
    ;;
refused)
    refuses() { # TEXT OPTION…
        local text=$1
        shift
        expect 2 "$SPROF" trace "$@" -- true
        said "$text"
    }
    refuses 'name them with --root' --adaptive
    refuses 'give --adaptive and --root' --observe
    refuses 'give --adaptive and --root' --over 10ms --root main
    refuses 'does not go with --mode' --adaptive --root main --mode log
    refuses 'does not go with --function' --adaptive --root main --function x
    refuses 'does not go with --max-overhead' --adaptive --root main --max-overhead 3%
    refuses 'is no condition: give 10ms' --adaptive --root main --over soon
    refuses 'neither add nor skip' --adaptive --root main --uncalled maybe
    "$here/deep.py" cpu 1 . && gcc -O1 -g -fpic -shared low.c -o liblow.so && gcc -O1 -g main.c -o server -pthread -L. -llow -Wl,-rpath,"$PWD" || fail "no compiler"
    expect 1 "$SPROF" trace -o t.db --adaptive --root '^hanlde$' -- ./server
    said 'near it: handle'
    expect 2 "$SPROF" trace -o t.db --adaptive --root '^small_' -- ./server
    said 'finds more than 32 functions'
    ;;
*) fail "no such case" ;;
esac
