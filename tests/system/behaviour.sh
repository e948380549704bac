#!/bin/bash
# What sprof record leaves to its command, and how recordings begin and end.
#   behaviour.sh CASE
. "$(dirname "$0")/lib.sh"

exit_status() {
    expect 7 "$SPROF" record -- sh -c 'exit 7'
    expect 0 "$SPROF" record -- true
    [ -s sprof.db ] && [ -s sprof.db.old.1 ] || fail "no sprof.db.old.1"
    [ "$(stat -c %a sprof.db)" = 600 ] || fail "others can read the recording"
    for name in SEGV TERM KILL; do
        bash -c 'ulimit -c 0; "$0" record -- sh -c "kill -$1 \$\$"; exit $?' "$SPROF" "$name" >out 2>err
        [ $? = $((128 + $(kill -l $name))) ] || fail "the command died of $name, sprof did not"
    done
    [ -z "$(ls core* 2>/dev/null)" ] || fail "sprof left a core"
}

# The kernel copies so much of each stack.
stack_bytes() {
    local bytes
    for bytes in 4096 16384; do
        expect 0 "$SPROF" record --stack-bytes $bytes -o t.db -- true
        [ "$(sql t.db 'SELECT stack_bytes_wanted, stack_bytes FROM run')" = "$bytes|$bytes" ] ||
            fail "--stack-bytes $bytes: $(sql t.db 'SELECT stack_bytes_wanted, stack_bytes FROM run')"
    done
}

streams() {
    seq 1 100000 >in
    "$SPROF" record -- sh -c 'cat; echo oops >&2' <in >out 2>err || fail "cat failed"
    cmp in out || fail "input or output changed"
    grep -q '^oops$' err || fail "the command's standard error is lost"
    said '^sprof: [0-9 ]+ samples? · '
}

# sprof's own files never become its input or output; the command has what it would have without sprof.
closed() {
    local how file before
    cat >open.py <<'END'
import os, sys
def is_open(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False
was = [is_open(fd) for fd in range(3)]
with open("open", "w") as file:
    file.write(f"{was}\n")
sys.exit(7)
END
    for how in '<&-' '>&-' '2>&-' '<&- >&- 2>&-' '2>/dev/full'; do
        eval "python3 open.py $how"
        before=$(cat open)
        for file in "record --" "record --source sigprof --" "trace --module python3 --function ^main --"; do
            eval "$SPROF $file python3 open.py $how" || [ $? = 7 ] || fail "$file $how: not the command's status"
            [ "$(cat open)" = "$before" ] || fail "$file $how: the command has $(cat open), and else $before"
            expect 0 "$SPROF" sql 'SELECT count(*) FROM run'
        done
    done
    "$SPROF" report >&- 2>err && fail "a report that cannot be written is none"
    grep -q 'cannot write' err || fail "that is not told"
}

# SIGTERM to sprof is the command's; the recording ends in order.
terminate() {
    start "$SPROF" record -o t.db -- sh -c 'trap "echo told; exit 5" TERM; : >ready; while :; do :; done' >out 2>err
    wait_until 60 test -e ready
    sleep 0.5
    kill -TERM "$child"
    wait "$child"
    status=$?
    [ "$status" = 5 ] || fail "exit status $status"
    grep -q told out || fail "the command was not told"
    expect 0 "$SPROF" report -i t.db
    ! grep -q unfinished err || fail "not ended in order"
}

# Ctrl-C on a terminal reaches both: the command decides, sprof ends in order.
keystroke() {
    cat >keystroke.py <<'END'
import os, pty, sys, time
pid, fd = pty.fork()
if not pid:
    os.execv(sys.argv[1], [sys.argv[1], "record", "-o", "t.db", "--", "sh", "-c",
             "trap 'echo told; exit 9' INT; : >ready; while :; do :; done"])
while not os.path.exists("ready"):
    time.sleep(0.05)
time.sleep(1)
os.write(fd, b"\x03")
text = b""
try:
    while chunk := os.read(fd, 4096):
        text += chunk
except OSError:
    pass
print(text.decode(errors="replace"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
    expect 9 /usr/bin/python3 keystroke.py "$SPROF"
    grep -q told out || fail "the command was not told"
    grep -q 'sprof: [0-9 ]* samples* · ' out || fail "no summary"
    expect 0 "$SPROF" report -i t.db
    ! grep -q unfinished err || fail "not ended in order"
}

# Attached: the first signal ends the recording; the target goes on.
detach() {
    for signal in INT TERM; do
        start "$PROGRAMS/split" forever
        local target=$child
        sleep 0.2
        rm -f t.db
        start "$SPROF" record -o t.db -p "$target" 2>err
        wait_until 60 test -S t.db.ctl
        sleep 2
        kill -$signal "$child"
        wait "$child" || fail "exit status $? after $signal"
        [ "$(state_of "$target")" = R ] || fail "the target no longer runs"
        holds "$(sql t.db 'SELECT samples FROM v_quality') > 50" "samples"
        kill -9 "$target"
    done
}

# While names are being found (here: from a server that never answers), a second Ctrl-C ends sprof, and
# no sample is lost.
give_up() {
    cat >server.py <<'END'
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as out:
    print(server.getsockname()[1], file=out)
os.rename("port.new", "port")
time.sleep(120)
END
    start /usr/bin/python3 server.py
    wait_until 60 test -s port
    start /usr/bin/python3 -c 'while True: pass' # stripped: its debug information is asked for
    local target=$child
    sleep 0.2
    start env DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)" HOME="$work" \
        "$SPROF" record -o t.db -p "$target" 2>err
    local recorder=$child
    wait_until 60 test -S t.db.ctl
    sleep 2
    kill -INT "$recorder"
    sleep 2
    [ -d "/proc/$recorder" ] || fail "sprof did not ask the server"
    kill -INT "$recorder"
    wait "$recorder"
    status=$?
    [ "$status" = 130 ] || fail "exit status $status"
    said 'sprof report'
    expect 0 "$SPROF" report -i t.db
    grep -q _PyEval_EvalFrameDefault out || fail "no names"
    holds "$(sql t.db 'SELECT samples FROM v_quality') > 50" "samples"
}

# A file that never opens holds up whoever builds tables from it: a second signal ends sprof all the
# same, and no sample is lost.
hanging() {
    for signal in TERM INT; do
        start "$PROGRAMS/split" forever
        local target=$child recorder
        rm -f opened
        start env LD_PRELOAD="$PROGRAMS/libhang.so" HANG_ON="$PROGRAMS/split" HANG_SIGN="$work/opened" \
            "$SPROF" record --no-cache -o t.db -p "$target" 2>err
        recorder=$child
        wait_until 60 test -e opened
        sleep 2
        kill -$signal "$recorder"
        sleep 1
        [ -d "/proc/$recorder" ] || fail "sprof did not wait for the file"
        kill -$signal "$recorder"
        wait "$recorder" || fail "exit status $? after the second $signal"
        said 'without names'
        kill -9 "$target"
        holds "$(sql t.db 'SELECT samples FROM v_quality') > 50" "samples"
        expect 0 "$SPROF" report -i t.db
        grep -q 'spin' out || fail "no names afterwards"
    done
}

# Every second's CPU time is accounted for: by samples, by what is known to be missing, or by chance,
# which is within five standard errors, and what periods that vary leave; and every sample and all CPU time is in the
# ledger. Where the machine stands still, one tick comes for all that were due: it says so.
ledger() {
    local threads=2
    start "$PROGRAMS/split" threads "$threads" 100000 >split.out
    sleep 0.5
    expect 0 "$SPROF" record -o t.db -p "$child" --duration 4s
    local booked="delivered + lost + throttled + excluded + timer_overrun + unexplained"
    [ "$(sql t.db "SELECT count(*) FROM ledger l JOIN event e ON e.id = l.event_id
                   WHERE abs(expected_cpu_ns * 1.0 / coalesce(e.period, 1003009) - ($booked)) > 2")" = 0 ] ||
        fail "seconds do not balance: $(sql t.db 'SELECT * FROM ledger')"
    [ "$(sql t.db "SELECT count(*) FROM ledger l JOIN event e ON e.id = l.event_id
                   WHERE abs(unexplained) > 5 * sqrt(expected_cpu_ns * 1.0 / coalesce(e.period, 1003009)) + 3 +
                       (unexplained > 0) * 0.15 * expected_cpu_ns / coalesce(e.period, 1003009)")" = 0 ] ||
        fail "more than chance: $(sql t.db 'SELECT * FROM ledger')"
    [ "$(sql t.db 'SELECT sum(delivered) FROM ledger')" = "$(sql t.db 'SELECT samples FROM v_quality')" ] ||
        fail "samples that are not in the ledger"
    [ "$(sql t.db 'SELECT sum(expected_cpu_ns) FROM ledger')" = "$(sql t.db 'SELECT target_cpu_ns FROM run')" ] ||
        fail "CPU time that is not in the ledger"
    holds "$(sql t.db 'SELECT count(*) FROM ledger') >= 4" "seconds"
}

# Few samples a second take as much of each stack, and stand for as much.
low_rates() {
    local rate
    for rate in 19 99; do
        start "$PROGRAMS/split" forever
        sleep 0.2
        expect 0 "$SPROF" record -F $rate -o t.db -p "$child" --duration 3s
        kill -9 "$child"
        [ "$(sql t.db 'SELECT stack_bytes = stack_bytes_wanted FROM run')" = 1 ] ||
            fail "at $rate Hz the slice is $(sql t.db 'SELECT stack_bytes FROM run') bytes"
        holds "$(sql t.db 'SELECT sum(weight) * 1.0 / (SELECT target_cpu_ns FROM run) FROM sample') > 0.5" \
            "of the CPU time at $rate Hz"
        [ "$(sql t.db 'SELECT samples - whole_stacks FROM v_quality')" -le 1 ] || fail "cut stacks at $rate Hz"
    done
}

# -t: one thread of several.
one_thread() {
    start "$PROGRAMS/split" threads 3 100000 >split.out
    local target=$child tid
    sleep 0.5
    tid=$(grep -l worker-1 /proc/"$target"/task/*/comm | cut -d/ -f5)
    expect 0 "$SPROF" record -o t.db -t "$tid" --duration 2s
    [ "$(sql t.db 'SELECT tid, thread FROM v_thread WHERE samples > 0')" = "$tid|worker-1" ] ||
        fail "other threads too: $(sql t.db 'SELECT tid, thread, samples FROM v_thread')"
    # As many as the CPU time that it got, on whatever else the machine runs.
    holds "$(sql t.db 'SELECT samples > 20 AND samples > 0.4 * target_cpu_ns * 997 / 1e9 FROM v_quality') == 1" "samples"
    [ "$(state_of "$target")" = S ] || fail "the target no longer runs"
}

# Attached to a shell: what it starts from then on is followed.
children() {
    start bash -c 'while :; do "$0" once 200; done' "$PROGRAMS/split" >split.out
    sleep 0.3
    expect 0 "$SPROF" record -o t.db -p "$child" --duration 3s
    holds "$(sql t.db "SELECT count(*) FROM v_thread WHERE process = 'split' AND samples > 0") > 1" \
        "children"
    holds "$(sql t.db "SELECT 1.0 * sum(CASE WHEN process = 'split' THEN samples END) / sum(samples)
        FROM v_thread") > 0.8" "the children's share"
}

# A master that sleeps and a worker that was there before.
workers() {
    # shellcheck disable=SC2016
    start bash -c '"$0" once 60000 & echo $! >worker; wait' "$PROGRAMS/split" >split.out
    until [ -s worker ]; do sleep 0.05; done
    expect 0 "$SPROF" record -o t.db -p "$child" --duration 1s
    said "1 process that $child had started before worked .*$(cat worker).*-p $child --children"
    expect 0 "$SPROF" record -o t.db -p "$child" --children --duration 1s
    grep -q 'had started before' err && fail "it is recorded"
    holds "$(sql t.db "SELECT sum(samples) FROM v_thread WHERE pid = $(cat worker)") > 1" "the worker's samples"
    kill -9 "$(cat worker)"
    expect 2 "$SPROF" record --children -- true
    said 'belongs to -p PID'
}

# A command that ends and leaves a server running: that it is recorded no longer is said, with its number. Not so of
# what is still in the command's session, which is about to end.
background() {
    local source
    for source in "" "--source sigprof"; do
        rm -f server
        # shellcheck disable=SC2016,SC2086
        expect 0 "$SPROF" record $source -o t.db -- bash -c 'sleep 100 & echo $! >other
            setsid bash -c "echo \$\$ >server; exec sleep 100" & until [ -s server ]; do sleep 0.05; done'
        kill -9 "$(cat server)" "$(cat other)" || fail "they do not run"
        grep -q "1 process that the command left in the background is no longer .*-p $(cat server)\`" err ||
            fail "no word of the server, $(cat server)"
    done
    expect 0 "$SPROF" record -o t.db -- bash -c 'sleep 100 & echo $! >other'
    kill -9 "$(cat other)"
    grep -q background err && fail "the session's own"
    return 0
}

# One spinning thread gives the rate that was asked for, not more: nothing is counted twice.
rate() {
    for how in "" --per-thread; do
        start "$PROGRAMS/split" forever
        local target=$child
        sleep 0.2
        expect 0 "$SPROF" record $how -o t.db -p "$target" --duration 4
        kill -9 "$target"
        local samples reached
        IFS='|' read -r samples reached < <(sql t.db 'SELECT samples, reached_hz FROM v_quality')
        echo "$samples samples, $reached Hz"
        holds "$samples > 100" "samples"
        # No more than chance allows. Fewer where the machine stands still: one tick comes for all that were due.
        holds "$reached < 1.05 * 997 + 997 * 5 / sqrt($samples) && $reached > 450" "the rate asked for"
    done
}

duration() {
    local samples begin=$SECONDS
    expect 3 "$SPROF" record -o t.db --delay 500ms --duration 1s -- \
        bash -c 'while ((SECONDS < 3)); do :; done; exit 3'
    ((SECONDS - begin >= 2)) || fail "sprof did not wait for its command"
    samples=$(sql t.db 'SELECT samples FROM v_quality')
    holds "$samples > 50 && $samples < 2200" "samples of one second, not of two and a half"
}

# The elapsed time is that of the program, also where sprof gets no CPU and learns of its end later. (An
# agent's session knows no other time than that.)
late() {
    local how sprof program
    for how in launched attached; do
        rm -f began
        # shellcheck disable=SC2016
        local command=(bash -c 'while [ -e held ]; do sleep 0.02; done; touch began; exec sleep 0.5')
        touch held
        case $how in
        launched) start "$SPROF" record -o t.db -- "${command[@]}" ;;
        attached)
            start "${command[@]}"
            program=$child
            start "$SPROF" record -o t.db -p "$program"
            ;;
        esac 2>err
        sprof=$child
        wait_until 60 has_begun t.db
        rm held
        wait_until 60 test -e began
        kill -STOP "$sprof"
        sleep 6
        local begun=$EPOCHREALTIME
        kill -CONT "$sprof"
        wait "$sprof" || fail "$how: status $?"
        holds "$(sql t.db "SELECT start_realtime_ns / 1e9 + duration_ns / 1e9 FROM run") < $begun - 2.5" "the end, $how"
        rm t.db
    done
}

append() {
    expect 0 "$SPROF" record -o t.db -- "$PROGRAMS/split" once 1500
    expect 0 "$SPROF" record -o t.db --append -- "$PROGRAMS/split" once 1500
    [ "$(sql t.db 'SELECT count(*) FROM run')" = 2 ] || fail "not two runs"
    [ ! -e t.db.old.1 ] || fail "appended and renamed"
    holds "$(sql t.db "SELECT count(DISTINCT run_id) FROM v_function WHERE function = 'delta'
        AND exclusive_samples > 20") == 2" "both runs have the function"
    expect 0 "$SPROF" report -i t.db --run 1
    grep -q delta out || fail "run 1 is not shown"
}

# Two events in one file, each with costs of its own, whichever way they are asked for.
two_events() {
    local event other samples shown
    expect 0 "$SPROF" record -e cpu-clock -o t.db -- "$PROGRAMS/split" once 1500
    expect 0 "$SPROF" record -e task-clock -F 499 -o t.db --append -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
    [ "$(sql t.db "SELECT group_concat(name, ' ') FROM (SELECT name FROM event ORDER BY id)")" = 'cpu-clock task-clock' ] ||
        fail "not these two events"
    for event in cpu-clock task-clock; do
        samples=$(sql t.db "SELECT sum(s.count) FROM sample s JOIN event e ON e.id = s.event_id WHERE e.name = '$event'")
        holds "$samples > 20" "$event has samples"
        for table in function module edge line; do
            other=$(sql t.db "SELECT coalesce(sum(c.run_id <> e.run_id), 0) FROM ${table}_cost c JOIN event e ON e.id = c.event_id")
            [ "$other" = 0 ] || fail "$other rows of ${table}_cost are of another run's event"
        done
        [ "$(sql t.db "SELECT sum(exclusive_samples) FROM v_function WHERE event = '$event'")" = "$samples" ] ||
            fail "the functions of $event do not add up to its $samples samples"
        expect 0 "$SPROF" report -i t.db --run all --by event --show samples,event --format csv
        shown=$(tr -d '\r' <out | awk -F, -v event="$event" '$2 == event { print $1 }')
        [ "$shown" = "$samples" ] || fail "--by event shows '$shown' of $event instead of $samples"
        expect 0 "$SPROF" report -i t.db --run all --event "$event" --by function --format csv
        shown=$(tr -d '\r' <out | grep -c ',split,')
        case $event in
        cpu-clock) [ "$shown" -gt 0 ] || fail "the functions of $event are not shown" ;;
        task-clock) [ "$shown" = 0 ] || fail "$event has functions of the other one" ;;
        esac
    done
    expect 0 "$SPROF" merge t.db -o all.db
    [ "$(sql all.db "SELECT event, sum(samples), sum(weight) FROM v_thread GROUP BY event ORDER BY event")" = \
        "$(sql t.db "SELECT event, sum(samples), sum(weight) FROM v_thread GROUP BY event ORDER BY event")" ] ||
        fail "merged events differ"
    run "$SPROF" report -i t.db --event cycles
    [ "$status" != 0 ] && grep -q task-clock err || fail "the events that there are are not named"
}

# Runs of different modes in one file: each keeps its own; together they are read as the least detailed.
append_modes() {
    expect 0 "$SPROF" record -o t.db -- "$PROGRAMS/split" once 1500
    expect 0 "$SPROF" record -m app -o t.db --append -- "$PROGRAMS/split" once 1500
    expect 0 "$SPROF" report -i t.db --run all
    grep -q 'several modes, read as app' out || fail "the report does not say how it reads them"
    ! grep -q '_start' out || fail "start-up code in mode app"
    expect 0 "$SPROF" report -i t.db --run 1 --inclusive
    grep -q '_start' out || fail "run 1 is cut"
    expect 0 "$SPROF" record -m pc -o t.db --append -- "$PROGRAMS/split" once 500
    expect 2 "$SPROF" report -i t.db --run all
    said_only 'cannot be read together: choose one with --run'
}

# Every expected sample is somewhere: delivered, lost, throttled, excluded, or said to be unexplained.
ledger_of_a_command() {
    needs_kernel_samples
    expect 0 "$SPROF" record -F 997 -o t.db -- "$PROGRAMS/split" once 4000
    local expected booked unexplained delivered samples seconds cpu target
    IFS='|' read -r expected booked unexplained delivered seconds cpu < <(sql t.db "SELECT
        sum(expected_cpu_ns) * 997 / 1e9, sum(delivered + lost + throttled + excluded + timer_overrun +
        unexplained), sum(unexplained), sum(delivered), count(*), sum(expected_cpu_ns) FROM ledger")
    IFS='|' read -r samples target < <(sql t.db 'SELECT samples, target_cpu_ns FROM v_quality')
    echo "$expected expected, $booked booked, of these $unexplained unexplained; $samples samples"
    holds "$delivered == $samples" "each sample is in the ledger once"
    holds "($expected - $booked) ^ 2 <= ($seconds + 1) ^ 2" "the ledger balances"
    holds "$unexplained >= -5 * sqrt($expected) - 5 && $unexplained <= 0.15 * $expected + 5 * sqrt($expected) + 5" \
        "what is unexplained is chance"
    holds "($cpu - $target) ^ 2 <= (0.02 * $target + 2e6) ^ 2" "all CPU time is expected"
}

# Behind a program with real-time priority sprof has a twentieth of the CPU: samples are lost, and that is said. Their
# time is booked, so that all CPU time is somewhere.
starved() {
    needs_kernel_samples
    chrt -f 1 true 2>/dev/null || skip "nobody may have real-time priority here"
    local cpu all used lost error
    cpu=$(($(nproc) - 1))
    expect 0 taskset -c $cpu "$SPROF" record "$@" -o t.db -- chrt -f 1 "$PROGRAMS/split" once 12000
    IFS='|' read -r all used lost error < <(sql t.db "SELECT sum(s.weight) / 1e9, r.target_cpu_ns / 1e9,
        (SELECT sum(lost) FROM ledger), sqrt(sum(1.0 * s.weight * s.weight) FILTER (WHERE s.count > 0)) / 1e9
        FROM sample s JOIN run r ON r.id = s.run_id")
    echo "$used s of CPU time used, $all s in the rows, $lost samples lost, standard error $error s"
    holds "$lost > 200" "lost samples"
    holds "$all > 0.97 * $used - 5 * $error && $all < 1.03 * $used + 5 * $error" "all CPU time is somewhere"
    grep -q 'mostly of samples that were lost: \[not sampled\]' err || fail "the summary does not say where the time is"
    grep -q 'sprof waited for a CPU in [0-9]* % of the time, and lost samples' err || fail "nothing says why"
}

starved_thread() {
    starved --per-thread
}

# Edit, record, compare: each run keeps the names of the program that it ran, with and without build
# ids, whether the new program takes the old one's inode or only its name.
append_rebuilt() {
    local id how
    for id in sha1 none; do
        for how in in_place renamed; do
            rebuilt_case "$id" "$how"
        done
    done
}

rebuilt_program() { # NAME BUILD-ID OUTPUT
    printf 'volatile long x; __attribute__((noinline)) void %s(void) { for (long i = 0; i < 300000000; i++) x += i; }
        int main(void) { %s(); }\n' "$1" "$1" >p.c
    gcc -g -O1 -Wl,--build-id="$2" p.c -o "$3" || fail "cannot compile"
}

rebuilt_case() {
    rm -f t.db p
    rebuilt_program hot_old "$1" p
    expect 0 "$SPROF" record -o t.db -- ./p
    rebuilt_program hot_new "$1" new
    if [ "$2" = in_place ]; then cat new >p; else mv new p; fi
    expect 0 "$SPROF" record -o t.db --append -- ./p
    for again in "" --again; do
        # shellcheck disable=SC2086
        expect 0 "$SPROF" symbolize -i t.db $again
        [ "$(sql t.db "SELECT run_id, function FROM v_function WHERE module = 'p' AND
            exclusive_samples > 10 ORDER BY run_id")" = "1|hot_old
2|hot_new" ] || fail "names after $2 with build id $1 $again: $(sql t.db "SELECT run_id, function,
            exclusive_samples FROM v_function WHERE module = 'p'")"
        [ "$(sql t.db "SELECT count(DISTINCT key) FROM module WHERE name = 'p'")" = 2 ] ||
            fail "not two modules after $2 with build id $1 $again: $(sql t.db "SELECT id, key, path, build_id, problem FROM module WHERE name = 'p'")"
        [ "$(sql t.db "SELECT count(*) FROM v_function WHERE run_id = 1 AND kind = 'kernel' AND NOT named")" = 0 ] ||
            fail "functions of the kernel lost their names"
    done
}

symbolize_later() {
    expect 0 "$SPROF" record --no-symbolize -o t.db -- "$PROGRAMS/split" once 2500
    said 'sprof symbolize'
    cp t.db u.db
    expect 0 "$SPROF" symbolize -i t.db
    expect 0 "$SPROF" report -i t.db
    [ ! -s err ] || fail "symbolize did not finish"
    grep -q delta out || fail "no names"
    expect 0 "$SPROF" report -i u.db
    said 'no names yet'
    grep -q delta out || fail "no names"
}

# Debug files that come later: what has no name yet is found, and what has one keeps it.
debug_file_later() {
    cat >late.c <<'END'
static volatile unsigned long spins;
static __attribute__((noinline)) void hidden(void) { for (unsigned long i = 0; i < 400000000; i++) spins++; }
__attribute__((noinline, visibility("default"))) void shown(void) { for (unsigned long i = 0; i < 200000000; i++) spins++; hidden(); }
int main(void) { shown(); return 0; }
END
    cc -g -O1 -rdynamic -o late late.c || fail "cannot compile"
    objcopy --only-keep-debug late late.debug
    strip --strip-all --add-gnu-debuglink=late.debug late 2>/dev/null || { strip -s late; objcopy --add-gnu-debuglink=late.debug late; }
    mv late.debug kept
    expect 0 "$SPROF" record -m full -o t.db -- ./late
    expect 0 "$SPROF" report -i t.db
    grep -q shown out || fail "no name from the dynamic symbols"
    ! grep -q hidden out || fail "a name that nothing tells yet"
    mv kept late.debug
    expect 0 "$SPROF" symbolize -i t.db
    expect 0 "$SPROF" report -i t.db
    grep -q shown out || fail "a name was lost"
    grep -q hidden out || fail "the debug file was not asked"
    mv t.db later.db
    mv late.debug kept
    expect 0 "$SPROF" record -m full -o t.db -- ./late
    cp t.db without.db
    mv kept late.debug
    expect 0 "$SPROF" record --append -m full -o t.db -- ./late
    [ "$(sql t.db "SELECT count(*), max(file LIKE '%late.c') FROM function WHERE name = 'shown'")" = '1|1' ] ||
        fail "not one function: $(sql t.db "SELECT * FROM function WHERE name = 'shown'")"
    mv late.debug kept
    expect 0 "$SPROF" record --append --no-cache -m full -o t.db -- ./late
    [ "$(sql t.db "SELECT count(*), max(file LIKE '%late.c') FROM function WHERE name = 'shown'")" = '1|1' ] ||
        fail "not one function when the file is gone: $(sql t.db "SELECT * FROM function WHERE name = 'shown'")"
    for sides in 'without.db later.db' 'later.db without.db'; do
        # shellcheck disable=SC2086
        expect 0 "$SPROF" diff --all --format csv $sides
        [ "$(grep -c ',shown,' out)" = 1 ] || fail "not one function in both recordings: $(cat out)"
        ! grep ',shown,' out | grep -E ',(new|gone),' || fail "a function that both recordings have"
    done
}

read_only() {
    expect 0 "$SPROF" record -o t.db -- "$PROGRAMS/split" once 1000
    sha256sum t.db >before
    chmod 400 t.db
    expect 0 "$SPROF" report -i t.db --tree
    expect 0 "$SPROF" report -i t.db --format json
    /usr/bin/python3 -c 'import json; json.load(open("out"))' || fail "not JSON"
    expect 0 "$SPROF" script -i t.db --limit 3
    [ -s out ] || fail "no samples printed"
    expect 0 "$SPROF" sql -i t.db <<<'SELECT count(*) FROM run; SELECT 2;'
    expect 2 "$SPROF" sql -i t.db 'DELETE FROM sample'
    expect 0 sqlite3 -readonly t.db 'PRAGMA integrity_check'
    [ "$(cat out)" = ok ] || fail "SQLite finds the file damaged"
    sha256sum -c before >out 2>&1 || fail "reading changed the file"
}

# The last three recordings that were replaced are kept, by all commands that make one; --overwrite keeps none.
replaced() {
    local command
    echo 'main;work 3' >stacks.folded
    echo 'int main(void) { return 0; }' >empty.c
    cc -o empty empty.c || fail "cannot compile"
    expect 0 "$SPROF" import stacks.folded -o r.db
    expect 0 "$SPROF" export -f rows r.db -o some.rows
    for command in "record -o t.db -- true" "trace -o t.db -- ./empty" "import stacks.folded -o t.db" \
        "import -f rows some.rows -o t.db" "merge r.db r.db -o t.db"; do
        rm -f t.db*
        expect 0 "$SPROF" record -o r.db --overwrite -- true
        for _ in 1 2 3 4 5; do
            # shellcheck disable=SC2086
            expect 0 "$SPROF" $command
        done
        [ -s t.db.old.1 ] && [ -s t.db.old.3 ] && [ ! -e t.db.old.4 ] || fail "$command: not three: $(ls t.db*)"
        [ t.db -nt t.db.old.1 ] && [ t.db.old.1 -nt t.db.old.2 ] && [ t.db.old.2 -nt t.db.old.3 ] || fail "$command: another order"
        rm -f t.db.old.*
        # shellcheck disable=SC2086
        expect 0 "$SPROF" ${command%% *} --overwrite ${command#* }
        [ ! -e t.db.old.1 ] || fail "$command --overwrite keeps one"
    done
    [ ! -e r.db.old.1 ] || fail "record --overwrite keeps one"
}

# The first screen has at most twenty lines, also where each of many callers costs something.
screen() {
    {
        echo 'static volatile unsigned long spins;'
        echo 'static void f40(void) { }'
        for i in $(seq 39 -1 0); do
            echo "static void f$i(void) { for (unsigned long i = 0; i < 10000000; i++) spins++; f$((i + 1))(); spins++; }"
        done
        echo 'int main(void) { f0(); return 0; }'
    } >long.c
    cc -O1 -fno-inline -fno-optimize-sibling-calls -o long long.c || fail "cannot compile"
    expect 0 "$SPROF" record -o t.db -- ./long
    grep -q 'hottest path' err || fail "no hottest path: $(cat err)"
    [ "$(wc -l <err)" -le 20 ] || fail "$(wc -l <err) lines: $(cat err)"
}

# The recorder's memory with the default budget.
memory() {
    start "$SPROF" record -o t.db -- "$PROGRAMS/split" threads 2 30000 >out 2>err
    local most=0 now
    while now=$(awk '/VmHWM/ { print $2 }' "/proc/$child/status" 2>/dev/null) && [ -n "$now" ]; do
        most=$now
        sleep 0.3
    done
    wait "$child" || fail "exit status $?"
    echo "$most KiB"
    holds "$most > 1000 && $most < 200000" "KiB"
}

"$1"
