# What tests of `sprof trace` share. `tracing` holds the options that a script's traces have in common.
. "$(dirname "$0")/../system/lib.sh"
tracing=()

# traced NAME OPTION… -- COMMAND…: traced into NAME.db; prints and ends as it does untraced. Where LINK says how programs of
# our own are linked, -static, say, nothing can be preloaded into them.
traced() {
    local name=$1 options=() wanted
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    "$@" >want 2>want_err </dev/null
    wanted=$?
    "$SPROF" trace ${LINK:+--backend inject} "${tracing[@]}" -o "$name.db" "${options[@]}" -- "$@" >got 2>got_err </dev/null
    status=$?
    cp got_err err
    [ $status = $wanted ] || fail "$name: exit status $status, untraced $wanted"
    cmp -s want got || fail "$name: other output than untraced"
    grep -v '^sprof: ' got_err | cmp -s - want_err || fail "$name: other errors than untraced"
}

# wait_for_trace NOTES OPTION…: until the trace of `tracer` is controlled by these options. Where it has ended, what it
# said in NOTES is why.
wait_for_trace() {
    local notes=$1
    shift
    for ((i = 0; i < 60 * 20; i++)); do
        "$SPROF" ctl "$@" status >status.out 2>&1 && return
        kill -0 "$tracer" 2>/dev/null || fail "there is no trace: $(cat "$notes")"
        sleep 0.05
    done
    fail "waited in vain for the trace: $(cat status.out "$notes")"
}

# calls FILE: "function calls", sorted. The figures stay in stats.csv.
calls() {
    "$SPROF" stats -i "$1" --format csv >stats.csv 2>err || fail "no stats"
    python3 -c 'import csv
for row in csv.DictReader(open("stats.csv")):
    print(row["function"].split("(")[0], row["calls"])' | sort
}

# rows FILE: "function calls" of rows and of what is not logged, added up, sorted.
rows() {
    "$SPROF" sql "$1" --format csv "SELECT function, sum(n) AS n FROM (SELECT function, count(*) AS n FROM v_call GROUP BY function \
UNION ALL SELECT function, sum(not_logged) FROM v_not_logged GROUP BY function) GROUP BY function" >rows.csv 2>err ||
        fail "no rows"
    python3 -c 'import csv
for row in csv.DictReader(open("rows.csv")):
    print(row["function"].split("(")[0], row["n"])' | sort
}

# has FUNCTION COLUMN VALUE: of the last calls.
has() {
    local value
    value=$(python3 -c 'import csv, sys
for row in csv.DictReader(open("stats.csv")):
    if row["function"].split("(")[0] == sys.argv[1]:
        print(row[sys.argv[2]])' "$1" "$2")
    [ "$value" = "$3" ] || fail "$1: $2 is '$value', not $3"
}
