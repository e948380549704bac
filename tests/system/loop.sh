#!/bin/bash
# Continuous recording: segments without gaps, what is kept of them, what a killed recorder leaves.
#   loop.sh segments | waits | keep | killed | clock | cut | chance | full | refused
. "$(dirname "$0")/lib.sh"
needs_root "for perf events of another process"

cat >spins.c <<'END'
__attribute__((noinline)) void spin_here(void)
{
    for (volatile unsigned i = 0; i < 100000; i++) {}
}
int main(void)
{
    for (;;)
        spin_here();
}
END
gcc -O1 -g -o spins spins.c || skip "no compiler"
start ./spins
spins=$child

segments() {
    ls "$1"/*.db 2>/dev/null
}

# at_least N DIR: so many segments have begun.
at_least() {
    [ "$(segments "$2" | wc -l)" -ge "$1" ]
}

# Every sample is of one segment, and what the program used is in them.
loop_segments() {
    local before after weight
    start "$SPROF" record --loop 1s -p "$spins" -F 199 -o d
    wait_until 60 at_least 1 d
    wait_until 60 at_least 2 d # what opened before the first sample is not counted here
    before=$(used_ms "$spins")
    wait_until 60 at_least 6 d
    after=$(used_ms "$spins")
    kill -INT "$child" && wait "$child" || fail "exit status $?"
    [ "$(stat -c %a d)" = 700 ] || fail "others may read the directory"
    : >spans
    for segment in $(segments d); do
        [ "$(sql "$segment" "SELECT state FROM v_run")" = complete ] || fail "$segment is not complete"
        # The last one may have ended before its first sample.
        [ "$(sql "$segment" "SELECT count(*) > 0 FROM sample WHERE count > 0")" = 1 ] || continue
        sql "$segment" "SELECT start_monotonic_ns + (SELECT min(time_ns) FROM v_sample), start_monotonic_ns + (SELECT max(time_ns) FROM v_sample),
            (SELECT sum(weight) FROM v_sample) / 1000000 FROM run" >>spans
        holds "$(sql "$segment" "SELECT count(*) FROM v_function WHERE function = 'spin_here'") == 1" "names"
    done
    [ "$(wc -l <spans)" -ge 3 ] || fail "few segments have samples: $(cat spans)"
    awk -F '|' 'NR > 1 && $1 <= last { exit 1 } { last = $2 }' spans || fail "segments share a time: $(cat spans)"
    weight=$(awk -F '|' '{ sum += $3 } END { print sum }' spans)
    echo "$weight ms in all segments, $before ms before the third, $after ms used"
    holds "$weight > 0.9 * ($after - $before)" "no gaps"
}

# waits_of DIR PID: of each segment and thread: when the thread was seen last, for how long it waited, and the segment's length and start, in ms.
waits_of() {
    local segment
    for segment in $(segments "$1"); do
        sql "$segment" "SELECT s.tid, (r.start_monotonic_ns + max(s.time_ns)) / 1e6, sum(s.weight) / 1e6, r.duration_ns / 1e6, r.start_monotonic_ns / 1e6 FROM v_sample s
            JOIN run r ON r.id = s.run_id WHERE s.pid = $2 AND s.event LIKE 'off-cpu:%' GROUP BY s.tid"
    done
}

# waits_fit DIR PID: each segment has of each thread the time since the segment before, no more and no less. The newest
# may have begun while the recorder was ended.
waits_fit() {
    waits_of "$1" "$2" >waits
    awk -F '|' -v newest="$(tail -n 1 waits | cut -d '|' -f 5)" '$5 != newest {
        if ($3 > $4 + 20 || ($1 in last && ($3 > $2 - last[$1] + 20 || $3 < $2 - last[$1] - 20))) bad = 1
        last[$1] = $2; seen[$1]++
    } END { for (tid in seen) threads += seen[tid] >= 4; exit bad || threads != 2 }' waits || fail "$1: $(cat waits)"
}

# Waits that are longer than segments are in each of these for as long as it lasts.
loop_waits() {
    cat >sleeps.c <<'END'
#include <pthread.h>
#include <unistd.h>
static void *sleeps(void *none)
{
    for (;;)
        sleep(3);
    return none;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, sleeps, 0);
    pthread_join(thread, 0);
    return 0;
}
END
    gcc -O1 -pthread -o sleeps sleeps.c || fail "no program"
    start ./sleeps
    local sleeps=$child machine sum
    run "$SPROF" record --off-cpu -p "$sleeps" --duration 200ms -o states.db
    [ "$status" = 0 ] && [ "$(sql states.db "SELECT count(*) > 0 FROM v_sample WHERE event = 'off-cpu:sleep'")" = 1 ] ||
        skip "kinds of waits are not known here"
    start "$SPROF" record --loop 1s --off-cpu -a -F 99 -o machine
    machine=$child
    start "$SPROF" record --loop 1s --off-cpu -p "$sleeps" -F 99 -o d
    wait_until 60 at_least 6 d
    wait_until 120 at_least 6 machine
    kill -INT "$child" "$machine" && wait "$child" && wait "$machine" || fail "exit status $?"
    waits_fit machine "$sleeps"
    waits_fit d "$sleeps"
    sum=$(awk -F '|' '{ sum += $3 } END { printf "%f", sum }' waits)
    expect 0 "$SPROF" loop cut --from 1h -o all.db d
    holds "$(sql all.db "SELECT sum(weight) / 1e6 - $sum FROM v_sample WHERE event LIKE 'off-cpu:%'") ^ 2 < 1" "the cut has what segments have"
}

# The oldest go.
loop_keep() {
    expect 0 "$SPROF" record --loop 1s --keep 1M -p "$spins" -F 99 --duration 7s -o d/
    local bytes
    bytes=$(cat d/*.db | wc -c)
    holds "$bytes <= 1048576" "kept $bytes bytes"
    holds "$(segments d | wc -l) >= 1" "the newest stays"
    expect 0 "$SPROF" loop list d
    grep -qE ' [1-9][0-9]* +[0-9]+  complete +2[0-9]{7}T[0-9]{6}\.[0-9]{3}Z\.db$' out || fail "no segment is listed"
}

# kill -9 loses at most a second; the next start finishes what was left, sets damaged files aside, and goes on.
loop_killed() {
    start "$SPROF" record --loop 60s -p "$spins" -F 99 -o d
    local recorder=$child first
    wait_until 60 at_least 1 d
    first=$(segments d)
    has_samples() { [ "$(sql "$first" 'SELECT count(*) > 0 FROM sample')" = 1 ]; }
    expect 1 "$SPROF" record --loop 60s -p "$spins" -o d
    said_only 'another sprof records into d'
    wait_until 60 has_samples
    kill -9 "$recorder" && wait "$recorder" 2>/dev/null
    echo damaged >d/20200101T000000.000Z.db
    expect 0 "$SPROF" record --loop 60s -p "$spins" -F 99 --duration 1s -o d
    said 'set aside as d/20200101T000000.000Z.db.damaged'
    [ -e d/20200101T000000.000Z.db.damaged ] || fail "the damaged file is gone"
    [ "$(segments d | wc -l)" = 2 ] || fail "not two segments: $(ls d)"
    [ "$(sql "$first" 'SELECT state FROM v_run')" = complete ] || fail "the killed segment was not finished"
    holds "$(sql "$first" "SELECT count(*) FROM v_function WHERE function = 'spin_here'") == 1" "its names"
}

# The clock was set back: segments lie ahead. Their names are not taken, and what was killed before them is finished.
loop_clock() {
    local first now second
    expect 0 "$SPROF" record -p "$spins" -F 99 --duration 300ms -o one.db
    start "$SPROF" record --loop 60s -p "$spins" -F 99 -o d
    wait_until 60 at_least 1 d
    first=$(segments d)
    has_samples() { [ "$(sql "$first" 'SELECT count(*) > 0 FROM sample')" = 1 ]; }
    wait_until 60 has_samples
    kill -9 "$child" && wait "$child" 2>/dev/null
    now=$(date +%s)
    for ((second = 1; second <= 120; second++)); do
        ln one.db "d/$(date -u -d "@$((now + second))" +%Y%m%dT%H%M%S).000Z.db"
    done
    start "$SPROF" record --loop 1s -p "$spins" -F 99 -o d
    beside() { ls d/*.001Z.db >/dev/null 2>&1; }
    wait_until 60 beside
    kill -INT "$child" && wait "$child" || fail "exit status $?"
    [ "$(find d -name '*.000Z.db' -samefile one.db | wc -l)" = 120 ] || fail "a segment was replaced: $(ls d)"
    [ "$(sql "$first" 'SELECT state FROM v_run')" = complete ] || fail "the killed segment was not finished"
}

# A stretch of time as one recording.
loop_cut() {
    expect 0 "$SPROF" record --loop 1s -p "$spins" -F 99 --duration 4s -o d
    local count
    count=$(segments d | wc -l)
    holds "$count >= 2" "several segments"
    expect 0 "$SPROF" loop cut --from 1h -o all.db d
    said "^sprof: $count segments, from 2.* in all.db"
    holds "$(sql all.db 'SELECT count(*) FROM run') == $count" "all runs"
    said "^sprof: next: sprof report --run all all.db$"
    expect 0 "$SPROF" report --run all all.db
    grep -q spin_here out || fail "no report of what was cut out"
    expect 0 "$SPROF" loop cut --from 2020-01-01T00:00:00Z --until "$(date -u +%Y-%m-%dT%H:%M:%SZ)" -o all.db d
    expect 1 "$SPROF" loop cut --until 2020-01-01T00:00:00Z -o none.db d
    said_only 'no segment that has ended'
    [ ! -e none.db ] || fail "an empty recording was made"
}

# Where none is chosen there is none, and nothing is wrong.
loop_chance() {
    expect 0 "$SPROF" record --loop 1s --chance 0.0000001% -p "$spins" --duration 2500ms -o d
    said '0 segments recorded, 0 kept'
    # Once one has ended it is known how many samples there are: at most what is recorded then comes yet.
    start "$SPROF" record --loop 1s --budget 1 -p "$spins" -F 99 -o d
    is_complete() { [ "$(sql "$(segments d | head -n 1)" 'SELECT state FROM v_run')" = complete ]; }
    wait_until 60 is_complete
    local before
    before=$(segments d | wc -l)
    sleep 5
    kill -INT "$child" && wait "$child" || fail "exit status $?"
    holds "$(segments d | wc -l) <= $before + 2" "the budget leaves segments out"
    # What is within the budget is recorded.
    start "$SPROF" record --loop 1s --budget 100000000 -p "$spins" -F 99 -o e
    wait_until 60 at_least 3 e
    kill -INT "$child" && wait "$child" || fail "exit status $?"
}

# A full disk: the oldest go, and that is said.
loop_full() {
    mkdir small
    mount -t tmpfs -o size=2M,mode=700 none small 2>/dev/null || skip "no file system can be mounted"
    run "$SPROF" record --loop 1s -p "$spins" -F 99 --duration 9s -o small
    local recorded=$status left
    left=$(segments small | wc -l)
    umount small
    [ $recorded = 0 ] || fail "exit status $recorded"
    said 'the oldest segment was removed'
    said 'removed before the time for want of space'
    holds "$left >= 1" "segments are left"
}

loop_refused() {
    expect 2 "$SPROF" record --keep 2G -p "$spins"
    said_only '--keep belongs to --loop'
    expect 2 "$SPROF" record --loop 60s -- ./spins
    said_only 'and no command'
    expect 2 "$SPROF" record --loop 60s --append -p "$spins"
    said_only 'leave them out'
    expect 2 "$SPROF" record --loop 10ms -p "$spins"
    said_only 'a second at least'
    expect 2 "$SPROF" record --loop 60s --keep 5x -p "$spins"
    said_only '24h, 7d, or 2G'
    expect 2 "$SPROF" record --loop 60s --chance 2 -p "$spins"
    said_only 'no chance'
    mkdir -m 777 open
    expect 1 "$SPROF" record --loop 60s -p "$spins" -o open
    said_only 'others may write into open'
    : >plain
    expect 1 "$SPROF" record --loop 60s --duration 1s -p "$spins" -o plain
    said_only 'plain: Not a directory'
    expect 1 "$SPROF" record --loop 60s --duration 1s -p 4194305 -o d
    expect 2 "$SPROF" loop
    said_only 'sprof loop list'
    expect 2 "$SPROF" loop prune
    said_only '`prune` is neither'
    expect 2 "$SPROF" loop cut d
    said_only 'name the recording to write with -o'
    expect 2 "$SPROF" loop cut --from yesterday -o x.db d
    said_only 'is no time'
    expect 2 "$SPROF" loop cut --from now --until 1h -o x.db d
    said_only 'not before'
    mkdir empty
    expect 1 "$SPROF" loop list empty
    said_only 'holds no segments'
    expect 1 "$SPROF" loop list absent
    said_only 'No such file'
}

"loop_$1"
