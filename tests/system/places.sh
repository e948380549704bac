#!/bin/bash
# What is added up by phase and CPU gives the tables that the samples give, and they are not read for it.
#   places.sh tables|merged|modes|imported|older
. "$(dirname "$0")/lib.sh"
command -v sqlite3 >/dev/null || skip "no sqlite3"

# Several threads and CPUs, two events, one of varying weights, and stacks that come often.
samples() { # PROCESS COUNT
    awk -v pid="$1" -v count="$2" 'BEGIN {
        for (i = 0; i < count; i++) {
            x = (x * 1103515245 + 12345) % 2147483648; r = int(x / 65536)
            printf "worker%d %d/%d [%03d] %.6f: %d %s:\n", r % 3, pid, pid + r % 3, int(r / 3) % 3, 10 + i / 1000,
                i % 3 ? 1000000 + r % 1000 : 3, i % 3 ? "cpu-clock" : "faults"
            if (i % 50 == 1) { print "\t9000 idle+0x1 (/usr/bin/program0)\n"; continue }
            for (k = int(r / 9) % 4; k >= 0; k--)
                printf "\t%x f%d+0x1 (/usr/bin/program%d)\n", 4096 + 16 * (k + int(r / 36) % 4), k + int(r / 36) % 4, k % 2
            print ""
        }
    }'
}

# A recording as sprof makes them: its own source; phases, one of which is paused, one empty, one marked twice; rows of CPU time
# that was not sampled; samples outside of all phases.
recording() { # FILE PROCESS COUNT
    samples "$2" "$3" >"$1.txt"
    expect 0 "$SPROF" import "$1.txt" -o "$1"
    sqlite3 "$1" "UPDATE run SET source = 'perf per CPU', state = 1;
        DELETE FROM phase;
        INSERT INTO phase SELECT n, 1, from_ns, to_ns, (SELECT mode FROM run), NULL, 0, 1000, 0, n = 3, mark FROM (
            SELECT 1 AS n, 0 AS from_ns, $3 * 200000 AS to_ns, NULL AS mark
            UNION ALL SELECT 2, $3 * 200000, $3 * 500000, 'warm'
            UNION ALL SELECT 3, $3 * 500000, $3 * 500000, 'pause'
            UNION ALL SELECT 4, $3 * 500000, $3 * 800000, 'warm'
            UNION ALL SELECT 5, $3 * 800000, $3 * 950000, 'last');
        UPDATE sample SET packed = -1 WHERE node_id IN (SELECT node_id FROM v_sample JOIN sample ON id = sample_id WHERE leaf = 'idle');
        UPDATE sample SET packed = -129 WHERE id % 77 = 0 AND packed >= 0" || fail "sqlite3" # stands for two, of no CPU
    expect 0 "$SPROF" symbolize -i "$1"
}

# A file like it that holds nothing but samples, and one without samples.
split() { # FILE
    cp "$1" samples.db && cp "$1" sums.db || fail cp
    sqlite3 samples.db 'DELETE FROM place_cost; DELETE FROM place_block'
    sqlite3 sums.db 'DELETE FROM sample'
}

# Every sort of table, as often as it can be asked for with CPUs and phases.
each_table() { # COMMAND…: called with the options of a table
    local selection table
    for table in "--by cpu" "--by phase" "--by cpu,thread" "--by phase,cpu,process" "--by cpu,event,run" "--by cpu,function" "--by phase,module" \
        "--by cpu,thread,function" "--by phase,cpu,line,function" "--by cpu,address" "--by cpu,function --focus f3" "--by cpu,function --ignore f2" \
        "--by phase,function --module program1" "--by cpu,function --mode app"; do
        for selection in "" "--event faults" "--cpu 0,2" "--phase 4" "--mark warm --thread worker1"; do
            "$@" $table $selection || return
        done
    done
    for table in "" "--inclusive" "--by thread,function" "--tree" "--lines" "--edges" "--modules" "--callers f1" "--callees f2" "--by address" \
        "--tree --mode app" "--bottom-up"; do
        for selection in "--cpu 0-1" "--cpu 1 --event faults" "--phase 1" "--phase 5" "--mark warm" "--mark last --cpu 1-2 --process 1000"; do
            "$@" $table $selection || return
        done
    done
}

compared=0
same() { # OPTIONS…
    "$SPROF" report -i samples.db -n 0 --format csv $runs "$@" 2>&1 | sort >by_samples
    "$SPROF" report -i sums.db -n 0 --format csv $runs "$@" 2>&1 | sort >by_sums
    cmp -s by_samples by_sums || { diff by_samples by_sums | head -n 20; fail "$runs $*"; }
    grep -q , by_sums || fail "$runs $*: $(cat by_sums)"
    compared=$((compared + 1))
}

case $1 in
tables)
    recording r.db 1000 6000
    split r.db
    holds "$(sql r.db 'SELECT count(*) > 20 AND sum(samples) = (SELECT sum(count) FROM sample) FROM place_cost')" "costs by place are all samples"
    holds "$(sql r.db 'SELECT count(*) > 20 FROM place_block')" "and those of nodes"
    runs=
    each_table same
    # Intervals come from the squares of weights: they stand in text.
    for options in "--cpu 1" "--phase 4" "--cpu 0-1 --thread worker2"; do
        diff <("$SPROF" report -i samples.db --columns 200 $options) <("$SPROF" report -i sums.db --columns 200 $options) || fail "text of $options"
    done
    # Few rows of many are the first of all of them, and what is left out is said.
    for keys in cpu,thread,event,address cpu,thread,event,function thread,event,line; do
        for rows in 1 7; do
            "$SPROF" report -i r.db --by $keys -n 0 --format csv >every
            "$SPROF" report -i r.db --by $keys -n $rows --format csv >few
            cmp few <(head -n $((rows + 1)) every) || fail "$rows rows of $keys"
            left=$(($(wc -l <every) - rows - 1))
            "$SPROF" report -i r.db --by $keys -n $rows | grep -q "$left more rows" || fail "$keys: $left rows are left out"
        done
    done
    # What is made anew is the same.
    sqlite3 r.db 'SELECT * FROM place_cost; SELECT run_id, event_id, phase, cpu, number, entries, hex(bytes) FROM place_block' >before
    expect 0 "$SPROF" symbolize -i r.db --again
    sqlite3 r.db 'SELECT * FROM place_cost; SELECT run_id, event_id, phase, cpu, number, entries, hex(bytes) FROM place_block' >after
    cmp before after || fail "symbolize --again"
    ;;
merged)
    recording a.db 1000 6000
    recording b.db 2000 5000
    expect 0 "$SPROF" merge a.db b.db -o r.db
    split r.db
    for runs in "--run all" "--run 1" "--run 2"; do
        same --by cpu
        same --by phase,run
        same --by cpu,function
        same --by phase,thread,line
        same --cpu 0,2 --tree
        same --phase 2 --by run,function
    done
    # One of two runs has nothing added up: it is read from its samples.
    sqlite3 sums.db "ATTACH 'r.db' AS whole; INSERT INTO sample (id, run_id, event_id, thread_id, node_id, time_ns, weight, packed)
        SELECT id, run_id, event_id, thread_id, node_id, time_ns, weight, packed FROM whole.sample WHERE run_id = 2;
        DELETE FROM place_cost WHERE run_id = 2; DELETE FROM place_block WHERE run_id = 2"
    runs="--run all"
    same --cpu 0,2 --by function
    same --cpu 0,2 --tree
    ;;
modes) # The run began in mode app, was full while it was warm, and is read in mode app as a whole.
    recording r.db 1000 6000
    sqlite3 r.db "UPDATE module SET kind = (SELECT number FROM word WHERE list = 'kind' AND word = 'app') WHERE name = 'program0';
        INSERT INTO module (id, path, name, kind, main_executable) SELECT max(id) + 1, '[none]', '[none]', 0, 0 FROM module;
        UPDATE run SET state = 1, mode = (SELECT number FROM word WHERE list = 'mode' AND word = 'app');
        UPDATE phase SET mode = (SELECT mode FROM run) WHERE id IN (1, 5)" || fail "sqlite3"
    expect 0 "$SPROF" symbolize -i r.db
    split r.db
    holds "$(sql r.db "SELECT count(DISTINCT mode) = 2 FROM phase")" "phases have two modes"
    holds "$(sql r.db 'SELECT count(*) > 20 FROM place_block')" "costs of nodes by place"
    runs=
    each_table same
    ;;
imported)
    samples 1000 6000 >r.txt
    expect 0 "$SPROF" import r.txt -o r.db
    split r.db
    holds "$(sql r.db 'SELECT count(*) > 10 AND sum(samples) = (SELECT sum(count) FROM sample) FROM place_cost')" "costs by place are all samples"
    holds "$(sql r.db 'SELECT count(*) > 5 FROM place_block')" "and those of nodes"
    runs=
    for selection in "" "--event faults" "--cpu 0,2" "--thread worker1"; do
        for table in "--by cpu" "--by phase" "--by cpu,thread" "--by cpu,function" "--by phase,line" "--by cpu,address" "--by cpu,function --focus f3"; do
            same $table $selection
        done
    done
    same --cpu 1 --tree
    ;;
older) # A file of version 3 has none, and gets them when it is derived again.
    recording r.db 1000 6000
    split r.db
    cp r.db old.db
    sqlite3 old.db 'DROP TABLE place_cost; DROP TABLE place_block; PRAGMA user_version = 3'
    cp old.db sums.db
    runs=
    for options in "--by cpu" "--by phase,function" "--cpu 1 --tree"; do same $options; done
    cmp old.db sums.db || fail "a report changed the file"
    expect 0 "$SPROF" symbolize -i sums.db --again
    sqlite3 sums.db 'DELETE FROM sample'
    for options in "--by cpu" "--by phase,function" "--cpu 1 --tree"; do same $options; done
    ;;
*) fail "no test $1" ;;
esac
echo "$compared tables"
