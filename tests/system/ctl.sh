#!/bin/bash
# Recordings that are controlled while they run.
#   ctl.sh CASE [SOURCE]        perf, sigprof, or thread: perf's events of threads
. "$(dirname "$0")/lib.sh"
case ${2-} in
thread) source=(--per-thread) ;;
?*) source=(--source "$2") ;;
*) source=() ;;
esac
# The agent's samples are a tick apart.
span=0.5
[ "${2-}" != sigprof ] || span=2

ctl() { # STATUS ARGUMENTS
    local wanted=$1
    shift
    expect "$wanted" "$SPROF" ctl -i t.db "$@"
}

spin=("$PROGRAMS/split" forever)
# Starts a recording of a program that spins, and waits until it can be controlled.
record_spin() { # OPTIONS
    start "$SPROF" record "${source[@]}" -o t.db "$@" -- "${spin[@]}" >record.out 2>record.err
    recorder=$child
    for _ in $(seq 500); do
        [ -S t.db.ctl ] && "$SPROF" ctl -i t.db status >status.out 2>&1 && return
        sleep 0.02
    done
    fail "no control socket: $(cat record.err)"
}

# Ends the recording, and the program, which goes on.
end_all() {
    ctl 0 end
    for _ in $(seq 1000); do
        [ -S t.db.ctl ] || break
        sleep 0.02
    done
    kill -9 $(cat "/proc/$recorder/task/$recorder/children")
    wait "$recorder"
    [ ! -e t.db.ctl ] || fail "the socket is still there"
}

# What the program has used of the CPU, in hundredths of a second.
spent() {
    local program
    read -r program <"/proc/$recorder/task/$recorder/children"
    awk '{ print $14 + $15 }' "/proc/$program/stat"
}

# The rates of phases were in force: for each sample there was as much CPU time as its period, within these factors.
rates_fit() {
    sql t.db "SELECT p.frequency_hz, count(*), avg(s.weight) * p.frequency_hz / 1e9 FROM phase p
        JOIN sample s ON s.run_id = p.run_id AND s.count > 0 AND s.time_ns >= p.start_ns AND s.time_ns < p.end_ns
        GROUP BY p.frequency_hz HAVING count(*) >= 30" >periods
    cat periods # rate, samples, periods a sample
    [ -s periods ] || fail "no rate has samples"
    awk -F'|' -v least="$1" -v most="$2" '$3 < least || $3 > most { exit 1 }' periods || fail "a rate was not in force"
}

case $1 in
stop)
    record_spin -F 997
    sleep 0.5
    ctl 0 stop
    sleep 0.7
    ctl 0 on
    sleep 0.5
    ctl 0 mark "second part"
    sleep 0.3
    end_all
    holds "$(sql t.db "SELECT count(*) FROM phase") == 4" "four phases"
    holds "$(sql t.db "SELECT count(*) FROM phase WHERE paused") == 1" "one of them paused"
    holds "$(sql t.db "SELECT count(*) FROM phase WHERE mark = 'second part'") == 1" "one marked"
    holds "$(sql t.db "SELECT min(end_ns - start_ns) > 100000000 FROM phase WHERE paused") == 1" "a span"
    inside=$(sql t.db "SELECT count(*) FROM sample s JOIN phase p ON p.run_id = s.run_id
        WHERE p.paused AND s.time_ns >= p.start_ns AND s.time_ns < p.end_ns")
    holds "$inside == 0" "no sample in the pause"
    holds "$(sql t.db "SELECT samples > 20 FROM v_quality") == 1" "samples outside"
    ;;
paused)
    record_spin --paused
    sleep 0.3
    ctl 0 status
    grep -q '^paused, recording for .* 0 samples' out || fail "the state is another one"
    ctl 0 start
    sleep 0.5
    # For a time, and in a mode; it ends though nobody waits for that.
    ctl 0 on pc 300ms
    wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q "^paused.*mode pc"'
    ctl 0 status --format csv
    grep -q '^paused,.*,pc,' out || fail "the status in CSV"
    ctl 0 on pc 39s
    ctl 0 status
    grep -q ', off in 3[0-9].[0-9] s$' out || fail "the time until it ends"
    ctl 0 status --format json
    grep -qE '"off_in_seconds": *3[0-9]' out || fail "the time until it ends in JSON"
    ctl 0 off
    end_all
    holds "$(sql t.db "SELECT samples > 10 FROM v_quality") == 1" "samples after the start"
    holds "$(sql t.db "SELECT count(*) FROM sample WHERE count > 0 AND time_ns <
        (SELECT end_ns FROM phase WHERE paused)") == 0" "none before"
    ;;
rate)
    record_spin -F 99
    begun=$(spent)
    sleep 0.7
    first=$(spent)
    ctl 0 rate 1999
    changed=$(spent)
    reached=1999
    [ "${2-}" != sigprof ] || reached=$(sed -n 's/.*this source takes at most \([1-9][0-9]*\)$/\1/p' out)
    [ -n "$reached" ] || fail "a rate that the agent does not reach is promised"
    sleep 0.7
    second=$(spent)
    end_all
    # By the kernel's clock of the program, each phase has the samples of its rate.
    IFS='|' read -r slow fast < <(sql t.db "SELECT count(*) FILTER (WHERE time_ns < p.end_ns), count(*) FILTER (WHERE time_ns >= p.end_ns)
        FROM sample s, (SELECT * FROM phase ORDER BY start_ns LIMIT 1) p WHERE s.count > 0")
    echo "$slow samples in $((first - begun)) hundredths at 99 Hz, $fast in $((second - changed)) at $reached Hz"
    holds "$slow > 0.4 * 0.99 * ($first - $begun) && $slow < 2.5 * 0.99 * ($changed - $begun) + 5" "samples at the first rate"
    holds "$fast > 0.4 * $reached * ($second - $changed) / 100.0" "samples at the second rate"
    holds "$(sql t.db "SELECT group_concat(frequency_hz, '-') = '99-1999' FROM phase") == 1" "both rates"
    holds "$(sql t.db "SELECT varying FROM event") == 1" "weights count"
    ;;
rate_often) # Each change cuts off what a thread has used of a period: with long periods and many threads, much of it.
    start "$SPROF" record "${source[@]}" -F 150 -o t.db -- "$PROGRAMS/wakes" server 2500 >record.out 2>record.err
    recorder=$child
    for _ in $(seq 8); do
        sleep 0.2
        "$SPROF" ctl -i t.db rate 80 >/dev/null 2>&1
        sleep 0.2
        "$SPROF" ctl -i t.db rate 320 >/dev/null 2>&1
    done
    wait "$recorder" || fail "the recording: $(cat record.err)"
    holds "$(sql t.db "SELECT count(*) FROM phase") >= 3" "changes of the rate"
    rates_fit 0.5 2
    IFS='|' read -r all sampled cpu error < <(sql t.db "SELECT sum(weight) / 1e9, sum(weight) FILTER (WHERE count > 0) / 1e9,
        (SELECT target_cpu_ns FROM run) / 1e9, sqrt(sum(1.0 * weight * weight) FILTER (WHERE count > 0)) / 1e9 FROM sample")
    echo "weights of $all s, without [not sampled] $sampled, standard error $error, CPU time $cpu"
    holds "$all <= 1.02 * $cpu + 5 * $error" "weighed twice"
    holds "$all >= 0.95 * $cpu - 3 * $error" "weighed by nobody"
    ;;
loads) # Threads that block and wake, processes that live for a moment, the rate changed all the while.
    cat >load.sh <<'END'
TIMEFORMAT='%3U %3S'
{ time { "$1/wakes" server 1200; "$1/wakes" pipes 800; for _ in $(seq 60); do /bin/true; done; }; } 2>used
END
    start "$SPROF" record "${source[@]}" -o t.db -- bash load.sh "$PROGRAMS" >record.out 2>record.err
    recorder=$child
    # Each cuts a period of every thread off where events are of threads. Those of CPUs go far from the first rate, and stay
    # there: a weight that does not follow is off by a factor.
    lowest=300
    [ $# -gt 1 ] || lowest=1700
    for _ in $(seq 8); do
        "$SPROF" ctl -i t.db rate $((lowest + RANDOM % 1200)) >/dev/null 2>&1
        sleep 0.2
    done
    wait "$recorder" || fail "the recording: $(cat record.err)"
    IFS='|' read -r all sampled error < <(sql t.db "SELECT sum(weight) / 1e9, sum(weight) FILTER (WHERE count > 0) / 1e9,
        sqrt(sum(1.0 * weight * weight) FILTER (WHERE count > 0)) / 1e9 FROM sample")
    read -r user system <used # what the kernel told the shell of itself and its children
    echo "weights of $all s, without [not sampled] $sampled, standard error $error, CPU time $user + $system"
    holds "$(sql t.db "SELECT count(*) FROM phase") >= 3" "changes of the rate"
    [ "${2-}" = sigprof ] || rates_fit 0.4 2.5 # the tick is slower than these
    for sum in "$all" "$sampled"; do
        holds "$sum <= $user + $system + 0.02 + 5 * $error" "weighed twice"
    done
    [ "${2-}" != sigprof ] || error=0 # what its samples fall short of is [not sampled], to the last
    holds "$all >= $user + $system - 0.05 - 5 * $error" "weighed by nobody"
    # Of threads that wake each other on idle CPUs ticks of CPUs meet four fifths; the others' rest is booked by the thread.
    holds "$sampled >= ($user + $system) / 2" "most of it is sampled"
    [ $# -gt 1 ] || holds "$sampled >= 0.75 * ($user + $system) - 5 * $error" "weights stand for all of a period"
    ;;
rate_of_period)
    # A period was asked for; then there is a rate: shares go by weight, which is the CPU time.
    record_spin -c 20000000
    sleep 1
    ctl 0 rate 1999
    sleep 0.5
    end_all
    holds "$(sql t.db "SELECT varying FROM event") == 1" "weights count"
    holds "$(sql t.db "SELECT count(DISTINCT weight > 10000000) FROM sample WHERE count > 0") == 2" "both kinds"
    weights_fit t.db
    ;;
mode)
    # Before, between and after the changes: no sample is lost or counted twice, each is of its
    # phase's mode, and a report says in which it is read.
    record_spin -F 997
    sleep $span
    ctl 0 mode pc
    sleep $span
    ctl 0 mode app
    sleep $span
    ctl 0 mode pc --frame app
    sleep $span
    ctl 0 mode full
    ctl 0 status
    grep -q 'mode full' out || fail "the status is of another mode"
    sleep $span
    end_all
    modes=$(sql t.db "SELECT group_concat(mode || coalesce(frame, ''), '-') FROM v_phase")
    [ "$modes" = full-pc-app-pcapp-full ] ||
        fail "phases of other modes: $modes"
    [ "$(sql t.db "SELECT mode FROM v_run")" = pc ] || fail "the run is of the least detailed mode"
    deep="SELECT count(*) FROM v_sample s JOIN phase p ON s.time_ns >= p.start_ns AND s.time_ns < p.end_ns"
    one="(SELECT min(id) FROM phase)"
    holds "$(sql t.db "$deep WHERE p.id = $one AND s.depth > 2") > 10" "whole stacks in the first phase"
    holds "$(sql t.db "$deep WHERE p.id = $one + 1") > 10" "samples in the second"
    holds "$(sql t.db "$deep WHERE p.id = $one + 1 AND s.depth != 1") == 0" "one address each"
    holds "$(sql t.db "$deep WHERE p.id = $one + 2 AND s.depth > 1") > 10" "stacks in the third"
    holds "$(sql t.db "$deep WHERE p.id = $one + 3 AND s.depth != 1") == 0" "one frame each in the fourth"
    holds "$(sql t.db "$deep WHERE p.id = $one + 4 AND s.depth > 2") > 10" "whole stacks in the last"
    twice=$(sql t.db "SELECT count(*) FROM (SELECT 1 FROM sample GROUP BY time_ns, cpu, thread_id HAVING count(*) > 1)")
    holds "$twice == 0" "no sample twice"
    weights_fit t.db
    expect 2 "$SPROF" report -i t.db
    said "cannot be read together"
    said "\-\-phase"
    expect 0 "$SPROF" report -v -i t.db --phase 1 --tree
    grep -q 'mode full' out || fail "the first phase is of mode full"
    grep -q '_start\|main' out || fail "no whole stacks in it"
    expect 0 "$SPROF" report -i t.db --phase 3
    grep -q 'mode app' out || fail "the third phase is of mode app"
    ;;
modes_together)
    record_spin -m app -F 997
    sleep $span
    ctl 0 mode full
    sleep $span
    end_all
    expect 0 "$SPROF" report -i t.db
    grep -q 'several modes, read as app' out || fail "it does not say how it is read"
    holds "$(sql t.db "SELECT count(*) FROM v_function f WHERE f.function = '_start' AND f.inclusive_samples > 0") == 0" \
        "start-up code is not of mode app"
    [ "$(sql t.db "SELECT sum(exclusive_samples) = (SELECT samples FROM v_quality) FROM v_function")" = 1 ] ||
        fail "functions do not have all samples"
    expect 0 "$SPROF" report -i t.db --phase 2 --tree
    grep -q _start out || fail "the second phase is whole"
    # What no report can take together is recorded all the same, and said.
    record_spin -m app -F 997
    sleep $span
    ctl 0 mode pc
    sleep $span
    end_all
    grep -q 'samples in t.db; .*choose one with --run or --phase' record.err || fail "no summary of modes app and pc"
    expect 2 "$SPROF" report -i t.db && said 'phase 1 .mode .*, phase 2 .mode '
    # By phase alone there is nothing to take together; which phases there are is said where one is not found.
    expect 0 "$SPROF" report -i t.db --by phase
    grep -q 'several modes' out || fail "it does not say that there are several modes"
    "$SPROF" report -i t.db --by phase --sort phase:asc --show phase,mode --format csv | tr -d '\r' >phases
    [ "$(cat phases)" = "phase,mode
1,app
2,pc" ] || fail "other phases: $(cat phases)"
    expect 0 "$SPROF" report -i t.db --by phase,thread
    expect 1 "$SPROF" report -i t.db --phase 9 && said 'there is no phase .9.; there are phase 1 .mode app, from .*, phase 2 .mode pc'
    expect 0 "$SPROF" report -i t.db --phase 1
    ;;
governor)
    # A rate that costs more than 1 % comes down; weights still add up to the CPU time.
    expect 2 "$SPROF" record --max-overhead 0 -o t.db -- true
    said "percentage"
    expect 2 "$SPROF" record --max-overhead 1% -c 1000000 -o t.db -- true
    said "give one of them"
    record_spin -F 4000 --max-overhead 1%
    sleep 4
    ctl 0 status
    grep -q 'estimated overhead .* of 1.00 %' out || fail "the status says nothing of it"
    # What it says is what the summary says, within the factor by which sampling goes down meanwhile.
    estimate=$(sed -n 's/.*estimated overhead \([0-9.]*\) of.*/\1/p' out)
    ctl 0 status --format json
    holds "$(sed -n 's/.*"overhead_percent": *\([0-9.]*\).*/\1/p' out) > 0.2 * $estimate" "the same as a field"
    # It began with 4 000 samples a second of 15 µs and more each, and is held near 1 %: the mean is between these.
    holds "$estimate > 0.3 && $estimate < 30" "the overhead so far"
    ctl 0 mark later
    sleep 2.2
    end_all
    grep -q "the rate was .* and .* bytes of stack" record.err || fail "the summary says nothing of it"
    last=$(sed -n 's/.*estimated overhead \([0-9.]*\) %, to be.*/\1/p' record.err)
    holds "$estimate > 0.2 * $last && $estimate < 5 * $last" "the status estimates as the summary does"
    holds "$(sql t.db "SELECT count(*) FROM phase") >= 3" "phases of other rates"
    holds "$(sql t.db "SELECT min(frequency_hz) FROM phase") < 1000" "a lower rate"
    holds "$(sql t.db "SELECT max(frequency_hz) FROM phase") == 4000" "never a higher one"
    weights_fit t.db
    # Each rate was in force: samples of its phase weigh its period, more where the machine stood still.
    holds "$(sql t.db "SELECT count(*) FROM (SELECT avg(s.weight) * p.frequency_hz / 1e9 AS periods FROM phase p
        JOIN sample s ON s.run_id = p.run_id AND s.count > 0 AND s.time_ns >= p.start_ns AND s.time_ns < p.end_ns
        GROUP BY p.id HAVING count(*) >= 30) WHERE periods NOT BETWEEN 0.6 AND 2.5") == 0" "the rates of phases"
    expect 0 "$SPROF" report -v -i t.db --mark later
    grep -q 'at most 1 % overhead' out || fail "the report says nothing of it"
    ;;
governor_slice)
    # What lies above a shallow stack, here an environment of 100 KB, is copied with it until its end is known. The
    # governor spares that where it does not become known: in processes that are always new.
    spin=(sh -c 'while timeout 0.1 "$0" forever; [ $? = 124 ]; do :; done' "$PROGRAMS/split")
    BIG=$(head -c 100000 /dev/zero | tr '\0' x)
    export BIG
    shorter="SELECT 1 FROM phase WHERE stack_bytes <= 16384 LIMIT 1"
    record_spin -F 997 --max-overhead 1%
    for ((i = 0; i < 300; i++)); do
        [ "$(sql t.db "$shorter" 2>/dev/null)" = 1 ] && break
        sleep 0.1
    done
    unset BIG
    [ "$(sql t.db "$shorter")" = 1 ] || fail "no slice was made shorter"
    sleep 2
    end_all
    grep -q "the rate was .* to 65[0-9]* bytes of stack" record.err || fail "the summary says nothing of it"
    holds "$(sql t.db "SELECT max(stack_bytes) FROM phase") > 60000" "whole slices at first"
    deep="SELECT count(*) FROM v_sample s JOIN phase p ON s.time_ns >= p.start_ns AND s.time_ns < p.end_ns"
    holds "$(sql t.db "$deep WHERE p.stack_bytes <= 16384") > 0" "samples with short slices"
    holds "$(sql t.db "SELECT whole_stacks >= 0.98 * user_stacks FROM v_quality") == 1" "whole stacks all the same"
    weights_fit t.db
    ;;
lockstep)
    # Work in step with the sampling interval: its share is a fifth. Chance misses that by three standard
    # errors now and then, but not three times. At a fixed interval it is met always, never, or at its edge.
    jittered() {
        expect 0 "$SPROF" record -m pc --frame app -o t.db -- "$PROGRAMS/lockstep" 1003009 3
        sql t.db "SELECT CASE WHEN abs(share - 0.2) <= 3 * sqrt(0.16 * squares) THEN 1 ELSE 0 END FROM (
            SELECT 1.0 * sum(CASE WHEN leaf = 'first_fifth' THEN weight END) / sum(weight) AS share,
            sum(1.0 * weight * weight) / sum(weight) / sum(weight) AS squares
            FROM v_sample WHERE leaf IN ('first_fifth', 'remaining'))"
    }
    holds "$(jittered) == 1 || $(jittered) == 1 || $(jittered) == 1" "a fifth"
    for _ in 1 2 3 4 5; do
        expect 0 "$SPROF" record -m pc --frame app -c 1003009 -o t.db -- "$PROGRAMS/lockstep" 1003009 1
        far=$(sql t.db "SELECT abs(avg(leaf = 'first_fifth') - 0.2) >= 0.15 FROM v_sample
            WHERE leaf IN ('first_fifth', 'remaining')")
        [ "$far" != 1 ] || exit 0
    done
    fail "an unjittered run is not far off"
    ;;
clear)
    record_spin -F 997
    sleep 1.3
    ctl 0 mark before
    sleep 0.3
    ctl 0 status
    before=$(sed -n 's/.* \([0-9]*\) samples.*/\1/p' out)
    ctl 0 clear
    ctl 0 status
    holds "$(sed -n 's/.* \([0-9]*\) samples.*/\1/p' out) < $before" "the count begins anew"
    sleep 0.6
    end_all
    holds "$(sql t.db "SELECT count(*) FROM phase") == 1" "one phase"
    holds "$(sql t.db "SELECT start_ns > 1500000000 FROM phase") == 1" "since then"
    holds "$(sql t.db "SELECT count(*) FROM sample WHERE time_ns < (SELECT start_ns FROM phase)") == 0" "nothing before"
    holds "$(sql t.db "SELECT count(*) FROM sample") > 30" "samples after"
    holds "$(sql t.db "SELECT duration_ns < (SELECT end_ns - start_ns FROM phase) + 1000000000 FROM run") == 1" "the duration"
    holds "$(sql t.db "SELECT target_cpu_ns <= duration_ns * 1.5 FROM run") == 1" "CPU time since then"
    holds "$(sql t.db "SELECT sum(delivered) = (SELECT count(*) FROM sample WHERE count > 0) FROM ledger") == 1" "the ledger"
    expect 0 "$SPROF" report -i t.db
    # Percentages of the run are of what counts, too.
    of_it() { "$SPROF" report -i t.db --by run --format csv --show inclusive_samples --time "$1" | tail -n 1 | tr -d '\r'; }
    holds "$(of_it 0%,100%) > 0.9 * $(sql t.db "SELECT count(*) FROM sample")" "samples in all of the run"
    holds "$(of_it 0%,50%) < 0.8 * $(of_it 0%,100%)" "fewer in half of it"
    ;;
before_the_start)
    # What was used before a delay ended, or all was cleared, is booked on nobody.
    expect 124 "$SPROF" record --per-thread --delay 1 --duration 0.5 -o t.db -- sh -c \
        '"$0" short-threads 1500; timeout 3 "$0" forever' "$PROGRAMS/split"
    holds "$(sql t.db "SELECT count(*) FROM sample WHERE count = 0 AND time_ns < 1000000000") == 0" "nothing before"
    holds "$(sql t.db "SELECT sum(s.weight) < 1.5 * r.duration_ns + 100000000 FROM sample s, run r") == 1" "no more than there was"
    source=(--per-thread)
    record_spin
    sleep 1
    ctl 0 clear
    sleep 0.5
    end_all
    holds "$(sql t.db "SELECT count(*) FROM sample WHERE time_ns < (SELECT start_ns FROM phase)") == 0" "nothing before it"
    holds "$(sql t.db "SELECT coalesce(sum(s.weight), 0) <= 1.5 * r.duration_ns + 100000000 FROM sample s, run r") == 1" "no more time than there was"
    ;;
program)
    expect 0 "$SPROF" record -o t.db -- "$PROGRAMS/controls"
    samples=$(sql t.db "SELECT coalesce(sum(inclusive_samples), 0) FROM v_function WHERE function = 'seen'")
    holds "$samples > 20" "samples of what is to be seen"
    samples=$(sql t.db "SELECT coalesce(sum(inclusive_samples), 0) FROM v_function WHERE function = 'unseen'")
    holds "$samples <= 1" "none of what is not"
    holds "$(sql t.db "SELECT count(*) FROM phase WHERE mark = 'second part'") == 1" "the mark"
    expect 3 "$PROGRAMS/controls"
    # Mode and rate, and what came before is forgotten.
    expect 0 "$SPROF" record -F 99 -o t.db -- "$PROGRAMS/controls" change
    [ "$(sql t.db "SELECT group_concat(mode || frequency_hz, '-') FROM (SELECT * FROM v_phase ORDER BY start_ns)")" = full99-full499-pc499 ] ||
        fail "phases of other modes and rates"
    samples=$(sql t.db "SELECT coalesce(sum(inclusive_samples), 0) FROM v_function WHERE function = 'unseen'")
    holds "$samples <= 1" "none of what was before"
    # A script controls its own recording, wherever it goes.
    expect 0 "$SPROF" record -o t.db -- sh -c 'cd / && "$0" ctl mark here && "$0" ctl status' "$SPROF"
    holds "$(sql t.db "SELECT count(*) FROM phase WHERE mark = 'here'") == 1" "the script's mark"
    ;;
round_trip)
    # A command is answered within some times of what sprof's own start takes: nothing waits for a tick or for the writer.
    record_spin
    : >times && : >starts
    for _ in $(seq 21); do
        before=$(date +%s%N)
        "$SPROF" ctl -i t.db stop >/dev/null || fail "stop"
        "$SPROF" ctl -i t.db start >/dev/null || fail "start"
        after=$(date +%s%N)
        "$SPROF" --version >/dev/null || fail "no version"
        echo $(((after - before) / 2000)) >>times
        echo $((($(date +%s%N) - after) / 1000)) >>starts
    done
    end_all
    median() { sort -n "$1" | sed -n 11p; }
    echo "stop and start: median of 21 $(median times) µs each, of which sprof's start is $(median starts) µs"
    holds "$(sql t.db "SELECT count(*) FROM phase WHERE paused") == 21" "pauses"
    holds "$(median times) < 20 * $(median starts) + 20000" "the time of an answer"
    ;;
bad)
    ctl 1 status
    said "not being recorded"
    expect 2 "$SPROF" ctl
    said "give a command"
    expect 2 "$SPROF" ctl -i t.db stp
    said "start, stop"
    record_spin
    ctl 2 rate nine
    said "no rate"
    ctl 2 rate 4000000000
    said "perf_event_max_sample_rate"
    ctl 2 mode
    said "needs"
    ctl 2 mode whole
    said "no mode"
    ctl 2 mode full --frame app
    said "mode pc"
    ctl 2 clear all
    ctl 2 stop now
    end_all
    ctl 1 stop
    said "not being recorded"
    echo mine >t.db.ctl
    expect 0 "$SPROF" record -o t.db -- true
    said "control socket"
    expect 1 "$SPROF" record --paused -o t.db -- true
    said "control socket"
    [ "$(cat t.db.ctl)" = mine ] || fail "a foreign file was touched"
    ;;
esac
