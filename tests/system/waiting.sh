#!/bin/bash
# Time with and without a CPU in one recording: its parts and sums, read from samples whose weights are known.
#   waiting.sh CASE
. "$(dirname "$0")/lib.sh"

# module_of NAME: its path; libraries are the system's.
module_of() {
    case $1 in
    lib*) echo /usr/lib/x86_64-linux-gnu/$1 ;;
    *) echo /opt/shop/$1 ;;
    esac
}

# sample COMMAND PID/TID TIME NANOSECONDS EVENT FUNCTION@MODULE... innermost first: one sample as `perf script` prints it.
sample() {
    printf '%s %s [000] %s: %s %s: \n' "$1" "$2" "$3" "$4" "$5"
    shift 5
    for frame; do printf '\t    1000 %s+0x10 (%s)\n' "${frame%@*}" "$(module_of "${frame#*@}")"; done
    echo
}

# One thread computes for 3 s, is ready for 1 s and waits for a lock for 6 s; another sleeps for 10 s.
{
    sample shop 10/11 1.000000 3000000000 cpu-clock add@shop book@shop main@shop
    sample shop 10/11 2.000000 1000000000 off-cpu:ready add@shop book@shop main@shop
    sample shop 10/11 8.000000 4000000000 off-cpu:futex futex_wait@libc.so.6 pthread_mutex_lock@libc.so.6 book@shop main@shop
    sample shop 10/11 9.000000 2000000000 off-cpu:futex futex_wait@libc.so.6 pthread_mutex_lock@libc.so.6 sell@shop main@shop
    sample shop 10/12 9.500000 10000000000 off-cpu:sleep nanosleep@libc.so.6 tick@shop start@shop
} >shop.perf
grep cpu-clock -A 4 shop.perf >plain.perf
for name in shop plain; do expect 0 "$SPROF" import -o $name.db $name.perf; done

# total EVENT [OPTION...]: seconds of CSV's weights of all functions' own time.
total() {
    expect 0 "$SPROF" report -i shop.db --event "$@" --format csv
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "exclusive_weight") at = i } NR > 1 { sum += $at } END { print sum / 1e9 }' out
}

# is WHAT WANTED
is() {
    [ "$1" = "$2" ] || fail "$1 instead of $2"
}

case $1 in
sums)
    is "$(total cpu-clock) $(total off-cpu:futex) $(total off-cpu) $(total wall)" "3 6 17 20"
    is "$(total wall --thread 11) $(total off-cpu --thread 11) $(total wall --time 7,9)" "10 7 16"
    # One tree, and what it is the sum of.
    expect 0 "$SPROF" report -i shop.db --event wall --tree
    grep -q "% of 20.00 s of threads' time" out || fail "what the shares are of"
    grep -q "wall: CPU time and off-cpu together" out || fail "it does not say what it is the sum of"
    grep -Eq "50 % +10.00 s .* main" out || fail "all of a thread below its main"
    expect 0 "$SPROF" report -i shop.db --event off-cpu
    grep -q "% of 17.00 s without a CPU" out || fail "what the shares are of, without a CPU"
    # Where all events are time, kinds are compared by time.
    expect 0 "$SPROF" report -i shop.db --by event
    is "$(grep -Eo '[0-9]+ % .* (off-cpu:|cpu-)[a-z]+' out | sed 's/ %.* / /')" "50 off-cpu:sleep
30 off-cpu:futex
15 cpu-clock
5 off-cpu:ready"
    # Exports have the same sums.
    expect 0 "$SPROF" export -i shop.db --event wall -f folded -o -
    is "$(awk '{ sum += $NF } END { print NR, sum / 1e9 }' out)" "4 20"
    expect 0 "$SPROF" export -i shop.db --event off-cpu -f chrome -o -
    is "$(grep -c futex_wait out)" "$(grep -c pthread_mutex_lock out)"
    expect 0 "$SPROF" script -i shop.db --event off-cpu
    is "$(grep -c '^shop' out)" 4
    expect 0 "$SPROF" export -i shop.db --event off-cpu -f rows -o rows
    expect 0 "$SPROF" diff --event wall shop.db shop.db
    # An event that is not there, and sums of nothing.
    expect 1 "$SPROF" report -i shop.db --event cycles
    said_only "and the sums off-cpu and wall"
    for sum in off-cpu wall; do
        expect 1 "$SPROF" report -i plain.db --event $sum
        said "sprof record --off-cpu"
    done
    expect 0 "$SPROF" merge -o both.db shop.db plain.db
    expect 1 "$SPROF" report -i both.db --run 2 --event wall
    said "^sprof: --run N chooses another run; .sprof record --off-cpu. measures waits"
    expect 0 "$SPROF" report -i both.db --run 1 --event wall
    sed -n '/off-cpu/,/^$/p' shop.perf >waits.perf
    expect 0 "$SPROF" import -o waits.db waits.perf
    expect 1 "$SPROF" report -i waits.db --event wall
    said "e cpu-clock"
    ;;
states)
    # by KEY [OPTION...]: "SECONDS NAME" of each row.
    by() {
        expect 0 "$SPROF" report -i shop.db --by "$@" --format csv
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "inclusive_seconds") at = i } NR > 1 { print $at + 0, $NF }' out | tr -d '\r' | tr '\n' ' '
    }
    is "$(by state)" "16 waiting 3 running 1 ready "
    is "$(by wait)" "10 sleep 6 futex 3 running 1 ready "
    expect 0 "$SPROF" report -i shop.db --event off-cpu:futex
    ! grep -q " Hz" out || fail "a rate of waits"
    is "$(by wait --event off-cpu --thread 11)" "6 futex 1 ready "
    is "$(by state --state waiting) $(by state --state ready) $(by state --state futex)" "16 waiting  1 ready  6 waiting "
    is "$(by state --state running)" "3 running "
    # The same in SQL, by sample and by sums.
    for from in "weight) / 1e9 FROM v_sample" "exclusive_weight) / 1e9 FROM v_function" "weight) / 1e9 FROM v_thread"; do
        is "$(sql shop.db "WITH t(state, s) AS (SELECT state, sum($from GROUP BY state ORDER BY 2 DESC)
            SELECT group_concat(CAST(s AS INT) || ' ' || state, ' ') FROM t")" "16 waiting 3 running 1 ready"
    done
    is "$(sql shop.db "WITH t(wait, s) AS (SELECT wait, sum(weight) / 1e9 FROM v_sample GROUP BY wait ORDER BY 2 DESC)
        SELECT group_concat(CAST(s AS INT) || ' ' || wait, ' ') FROM t")" "10 sleep 6 futex 3 running 1 ready"
    expect 0 "$SPROF" diff --state futex --all shop.db shop.db
    grep -q futex_wait out && ! grep -Eq "nanosleep| add" out || fail "diff in a state"
    expect 1 "$SPROF" diff --state futex plain.db shop.db
    said "no time in state 'futex' was recorded"
    expect 0 "$SPROF" report -i shop.db --state futex --tree
    grep -q "% of 6.00 s without a CPU in state futex" out || fail "what the shares are of"
    expect 1 "$SPROF" report -i shop.db --state nosuch
    said_only "no time in state 'nosuch' was recorded; there is running, ready, waiting, futex, sleep"
    expect 1 "$SPROF" report -i plain.db --state waiting
    said "sprof record --off-cpu"
    ;;
idle)
    # A worker takes jobs and waits for a lock in them; another thread does nothing but accept; the main one waits for both.
    {
        sample pool 20/21 1.000000 1000000000 cpu-clock add@shop sum@shop job@shop worker@shop
        sample pool 20/21 4.000000 3000000000 off-cpu:futex futex_wait@libc.so.6 pthread_mutex_lock@libc.so.6 job@shop worker@shop
        sample pool 20/21 9.000000 5000000000 off-cpu:futex futex_wait@libc.so.6 pthread_cond_wait@libc.so.6 take@shop worker@shop
        sample pool 20/21 9.500000 1000000000 off-cpu:recv recv@libc.so.6 fetch@shop query@shop job@shop worker@shop
        sample pool 20/22 9.600000 9000000000 off-cpu:accept accept@libc.so.6 acceptor@shop
        sample pool 20/20 9.700000 9000000000 off-cpu:futex futex_wait@libc.so.6 pthread_join@libc.so.6 main@shop
    } >shop.perf
    expect 0 "$SPROF" import -o shop.db shop.perf
    is "$(total wall) $(total wall --idle) $(total off-cpu) $(total off-cpu --idle)" "5 28 4 27"
    is "$(total wall --thread 21) $(total wall --time 3,5) $(total wall --cpu 0)" "5 3 5"
    is "$(total off-cpu:recv)" 1
    expect 0 "$SPROF" report -i shop.db --event wall
    grep -q "% of 5.00 s of threads' time" out || fail "what the shares are of"
    grep -qx "82 % of the time is idle and left out: threads wait for work, mostly in acceptor; .--idle. shows it" out || fail "the idle share"
    for table in --lines "--by state,thread" "--by cpu,wait" "--tree" "--by address"; do
        expect 0 "$SPROF" report -i shop.db --event wall $table
        ! grep -Eq "take|acceptor|accept$" <(grep -v "is idle and left out" out) || fail "idle time with $table"
        expect 0 "$SPROF" report -i shop.db --event wall $table --idle
        ! grep -q "left out: threads" out || fail "idle time is left out with --idle"
    done
    # What is nothing but idle hides nothing, and an export has all.
    is "$(total off-cpu:accept) $(total wall --thread 22)" "9 9"
    expect 0 "$SPROF" export -i shop.db --event wall -f folded -o -
    is "$(awk '{ sum += $NF } END { print sum / 1e9 }' out)" 28
    ;;
first_screen)
    # As if it had been recorded here: what is imported has no CPU time of its own.
    set_run() { # FILE SOURCE [CPU_NS]
        python3 - "$1" "$2" "${3:-3000000000}" <<'PYTHON' || skip "no python3 with sqlite3"
import sqlite3, sys
recording = sqlite3.connect(sys.argv[1])
recording.execute("UPDATE run SET source = ?, target_cpu_ns = ?, duration_ns = 20000000000", (sys.argv[2], sys.argv[3]))
recording.commit()
PYTHON
    }
    set_run shop.db "perf per CPU, filtered in the kernel"
    expect 0 "$SPROF" report -i shop.db
    grep -qx "80 % of threads' time is waiting: 50 % asleep in tick, 20 % for a lock in book" out || fail "what it waits for"
    # One busy thread beside threads that wait hides nothing of that.
    set_run shop.db "perf per CPU, filtered in the kernel" 19000000000
    expect 0 "$SPROF" report -i shop.db
    grep -qx "80 % of threads' time is waiting: 50 % asleep in tick, 20 % for a lock in book" out || fail "beside a busy thread"
    # A thread that had no CPU, and waited for nothing.
    grep -E -A 4 'cpu-clock|off-cpu:ready' shop.perf >starved.perf
    expect 0 "$SPROF" import -o starved.db starved.perf
    set_run starved.db "perf per CPU, filtered in the kernel"
    expect 0 "$SPROF" report -i starved.db
    grep -qx "25 % of threads' time is ready without a CPU" out || fail "what is ready"
    # Without waits in the recording, the option that records them where BPF may run.
    set_run plain.db "perf per CPU, filtered in the kernel"
    expect 0 "$SPROF" report -i plain.db
    grep -q "sprof record --off-cpu. shows where it waited" out || fail "--off-cpu"
    # … but of the whole machine, where it cannot be.
    python3 -c 'import sqlite3
recording = sqlite3.connect("plain.db")
recording.execute("UPDATE run SET targets = ?", ("all that runs, on CPU 0",))
recording.commit()'
    expect 0 "$SPROF" report -i plain.db
    grep -q "sprof record --off-cpu -p PID. shows where it waited" out || fail "the machine"
    python3 -c 'import sqlite3
recording = sqlite3.connect("plain.db")
recording.execute("UPDATE run SET targets = NULL")
recording.commit()'
    set_run plain.db "perf per thread, without BPF (no)"
    expect 0 "$SPROF" report -i plain.db
    grep -q "sprof record --clock wall. shows where it waited" out || fail "--clock wall"
    ;;
esac
