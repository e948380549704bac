#!/bin/bash
# Real programs, and what must be found in their profiles.
#   real.sh python|gxx|xz|sqlite|short_processes|short_processes_per_thread|short_threads|naps|kernel_workers
. "$(dirname "$0")/lib.sh"

# quality FILE WHOLE NAMED: little is lost, at least the share WHOLE of the user stacks is whole, and NAMED of the frames are
# named: nine tenths of what Debian's stripped programs export.
quality() {
    local samples lost user whole named frames
    IFS='|' read -r samples lost user whole frames named < <(sql "$1" \
        "SELECT samples, lost, user_stacks, whole_stacks, frames, named_frames FROM v_quality")
    echo "$samples samples, $lost lost, $whole of $user stacks whole, $named of $frames frames named"
    holds "$samples > 200" "samples"
    holds "4 * $lost <= $samples" "lost samples" # where sprof did not run for as long as the rings last
    holds "$user > 0 && $whole >= $2 * $user" "whole stacks"
    holds "$named >= $3 * $frames" "named frames"
}

# share FILE CONDITION-ON-V_FUNCTION COLUMN: per cent of all exclusive weight.
share() {
    sql "$1" "SELECT 100.0 * coalesce(sum(CASE WHEN $2 THEN $3 END), 0) / sum(exclusive_weight)
        FROM v_function"
}

python() {
    cat >primes.py <<'END'
def primes(limit):
    found = []
    for number in range(2, limit):
        if all(number % prime for prime in found if prime * prime <= number):
            found.append(number)
    return found

print(len(primes(160000)))
END
    expect 0 "$SPROF" record -o t.db -- /usr/bin/python3 primes.py
    [ "$(cat out)" = 14683 ] || fail "the program's output is not its own"
    quality t.db 0.98 0.6
    local top
    top=$(sql t.db "SELECT function FROM v_function WHERE kind = 'app'
        ORDER BY exclusive_samples DESC LIMIT 1")
    [ "$top" = _PyEval_EvalFrameDefault ] || fail "on top is $top"
    holds "$(share t.db "function = '_start'" inclusive_weight) > 98" "stacks that reach the start"
    holds "$(share t.db "function = 'Py_RunMain'" inclusive_weight) > 90" "the interpreter's main"
    expect 0 "$SPROF" report -i t.db --callees _PyEval_EvalFrameDefault --limit 5
    expect 0 "$SPROF" report -i t.db --callers _PyEval_EvalFrameDefault --limit 5
}

gxx() {
    cat >regex.cpp <<'END'
#include <regex>
bool f(const char *text) { return std::regex_match(text, std::regex("(a|b)*c[d-f]+")); }
END
    expect 0 "$SPROF" record -o t.db -- g++ -O2 -c regex.cpp
    [ -s regex.o ] || fail "nothing was compiled"
    quality t.db 0.98 0.5
    local processes
    processes=$(sql t.db "SELECT DISTINCT process FROM v_thread ORDER BY 1" | tr '\n' ' ')
    for name in as cc1plus g++; do
        [[ " $processes" == *" $name "* ]] || fail "no process $name: $processes"
    done
    holds "$(sql t.db "SELECT 1.0 * sum(CASE WHEN process = 'cc1plus' THEN samples END)
        / sum(samples) FROM v_thread") > 0.7" "cc1plus has most samples"
    expect 0 "$SPROF" report -i t.db --process as --modules --format csv
    grep -q libopcodes\\\|libbfd\\\|as out || fail "no modules of as"
}

xz() {
    head -c 12000000 /dev/urandom | base64 -w 0 >data
    expect 0 "$SPROF" record -m app -o app.db -- /usr/bin/xz -T2 -1 --block-size=2MiB -k data
    expect 0 "$SPROF" report -i app.db
    local outside
    outside=$(share app.db "function = '[outside the application]'" exclusive_weight)
    holds "$outside > 80" "the workers never enter xz itself"
    grep -q -- --app-module out || fail "the report does not suggest --app-module"
    rm data.xz
    expect 0 "$SPROF" record -m app --app-module '*liblzma*' -o app.db -- \
        /usr/bin/xz -T2 -1 --block-size=2MiB -k data
    outside=$(share app.db "function = '[outside the application]'" exclusive_weight)
    holds "$outside < 20" "liblzma is application now"
    rm data.xz
    expect 0 "$SPROF" record -o t.db -- /usr/bin/xz -T2 -1 --block-size=2MiB -k data
    quality t.db 0.98 0.18
    holds "$(sql t.db "SELECT count(*) FROM v_thread WHERE samples > 50") >= 2" "busy threads"
    expect 0 "$SPROF" report -i t.db --mode app
    grep -q 'outside the application' out || fail "reading it as app shows nothing outside"
}

sqlite() {
    expect 0 "$SPROF" record -o t.db -- /usr/bin/sqlite3 :memory: \
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000)
         SELECT count(DISTINCT i % 5003), sum(length(hex(i))) FROM n"
    grep -q '^5003|' out || fail "the program's output is not its own"
    quality t.db 0.98 0.45
    local top
    top=$(sql t.db "SELECT module FROM v_module ORDER BY exclusive_samples DESC LIMIT 1")
    [[ $top == libsqlite3* ]] || fail "the top module is $top"
    holds "$(share t.db "function = 'sqlite3_step'" inclusive_weight) > 90" "sqlite3_step"
}

# CPU time the command said it used, beside the weight of all samples: short threads are most of it, and without
# whole CPUs' events a hundredth of them is seen. (Events count what the host of this machine takes as CPU time.)
covered() { # SECONDS [CONDITION-ON-V_FUNCTION]
    local weight
    weight=$(sql t.db "SELECT sum(exclusive_weight) / 1e9 FROM v_function WHERE ${2-1}")
    echo "$1 s of CPU time used, $weight s covered"
    holds "$1 > 0.2" "the command's CPU time"
    holds "$weight > 0.6 * $1 && $weight < 1.7 * $1" "CPU time covered"
}

# The sum of what the shell's `times` printed: user and system, its own and its children's.
seconds_of_times() {
    tr ' ' '\n' <out | awk -F'[ms]' 'NF > 1 { sum += $1 * 60 + $2 } END { print sum }'
}

record_short_processes() {
    needs_kernel_samples
    expect 0 "$SPROF" record -o t.db "$@" -- bash -c \
        'for ((i = 0; i < 800; i++)); do /bin/true; done; times'
}

short_processes() {
    record_short_processes -F 3989
    covered "$(seconds_of_times)" "function <> '[not sampled]'"
}

# The kernel takes a per-thread event away before a process has quite ended; what it charged the
# process with for that is booked.
short_processes_per_thread() {
    record_short_processes --per-thread
    covered "$(seconds_of_times)"
    holds "$(share t.db "function = '[not sampled]'" exclusive_weight) > 3" "booked, not sampled" # of a process of a tick: 60 %, of six: 14 %
}

short_threads() {
    needs_kernel_samples
    expect 0 "$SPROF" record -F 3989 -o t.db -- "$PROGRAMS/split" short-threads 15000
    covered "$(awk '{ print $1 / 1e9 }' out)" "function <> '[not sampled]'"
}

# Threads that the kernel makes in a process, as io_uring does, are the process's.
kernel_workers() {
    needs_kernel_samples
    "$PROGRAMS/ring_reads" >out
    [ $? -ne 77 ] || skip "no io_uring here"
    expect 0 "$SPROF" record -o t.db -- "$PROGRAMS/ring_reads"
    covered "$(awk '{ print $1 / 1e9 }' out)" "function <> '[not sampled]'"
    holds "$(sql t.db "SELECT 1.0 * max(samples) / sum(samples) FROM v_thread WHERE thread LIKE 'iou-wrk%'") > 0.5" \
        "samples of a worker"
    # The program's own thread has a stack, and may have a tail for each of its few samples.
    local tails own
    tails=$(sql t.db "SELECT value FROM counter WHERE name = 'sampler.tails'")
    own=$(sql t.db "SELECT sum(count) FROM v_sample WHERE thread NOT LIKE 'iou-wrk%'")
    holds "$tails <= $own" "tails of stacks that there are not"
}

# A thread that sleeps a moment at a time is charged with more than ticks can meet of it, for the more the idler its CPU
# is: what is beyond chance is booked on it, and not more than there is.
naps() {
    needs_kernel_samples
    expect 0 "$SPROF" record -F 3989 -o t.db -- "$PROGRAMS/wakes" naps 1000
    local all cpu sampled error
    IFS='|' read -r all cpu sampled error < <(sql t.db "SELECT sum(s.weight) / 1e9, r.target_cpu_ns / 1e9,
        sum(s.weight) FILTER (WHERE s.count > 0) / 1e9, sqrt(max(sum(1.0 * s.weight * s.weight) FILTER (WHERE s.count > 0),
            r.target_cpu_ns * 1e9 / 3989)) / 1e9 FROM sample s JOIN run r ON r.id = s.run_id")
    echo "$cpu s of CPU time used, $sampled s sampled, $all s with what was booked, standard error $error s"
    holds "$all > $cpu - 3.1 * $error" "booked or sampled"
    holds "$all < $cpu + 5 * $error" "booked once"
}

"$1"
