# What the tests of the hard cases share: programs built at test time, one recording of each, and
# what must hold of it. Whole stacks are not taken at sprof's word: roots are compared by address with
# what binutils tells of the files, depths and chains with what the programs are known to do.
here=$(cd "$(dirname "$0")" && pwd)
PROGRAMS=$here/programs
. "$here/../system/lib.sh"

rate=2999 # samples a second: enough for shares of a thousandth within seconds
flags=(-D_GNU_SOURCE -O2 -g -pthread -Wall -Wextra)

needs() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || skip "$1 is missing: apt-get install $2"
}

# build OUTPUT COMPILER ARGUMENTS…
build() {
    local output=$1 compiler=$2
    shift 2
    rm -f roots.*
    "$compiler" -I"$PROGRAMS" "$@" -o "$output" >build.log 2>&1 ||
        fail "$compiler: $(tail -n 20 build.log)"
}

# query SQL: rows, fields separated by `|`.
query() {
    sqlite3 -batch -noheader t.db "$1" 2>sql.err || fail "query: $1: $(cat sql.err)"
}

# record [options of sprof record …] -- PROGRAM …: into t.db.
record() {
    expect 0 "$SPROF" record -m full -F "$rate" --keep-failed -o t.db "$@"
}

# attach COMMAND…: starts it, waits until it works, records two and a half seconds of its user time. Runs
# $before_attach in between.
before_attach=true
attach() {
    local target recorder
    start "$@"
    target=$child
    wait_until 60 has_worked "$target" 10
    $before_attach || fail "$before_attach"
    start "$SPROF" record -m full -F "$rate" --keep-failed -o t.db -p "$target" --duration 60s >out 2>err
    recorder=$child
    wait_until 60 has_begun t.db
    wait_until 60 has_worked "$target" $(($(user_time "$target") + 250))
    kill -INT "$recorder"
    wait "$recorder" || fail "exit status $?"
    kill -9 "$target"
}
user_time() { # in clock ticks
    sed -E 's/.*\) //' "/proc/$1/stat" | cut -d ' ' -f 12
}
has_worked() {
    [ "$(user_time "$1")" -ge "$2" ]
}

# ---- What must hold -----------------------------------------------------------------------------

# whole [SHARE [EXCUSED]]: so many of the user stacks reach a root by rules, but for so many that need not; and there are
# enough of them.
whole() {
    local share=${1:-0.999} excused=${2:-0} user good guessed
    IFS='|' read -r user good guessed < <(query "SELECT user_stacks, whole_stacks, guessed_frames
        FROM v_quality")
    echo "whole: $good of $user, guessed frames $guessed"
    query "SELECT word, count(*) FROM sample JOIN word ON list = 'end_reason' AND number = end_reason
        WHERE user_stack AND word <> 'root' GROUP BY 1" | sed 's/^/  not whole: /'
    [ "$good" = "$user" ] || "$SPROF" unwind-replay --stacks -i t.db | head -n 40
    [ "${user:-0}" -ge 200 ] || fail "only ${user:-0} user stacks"
    # One more may fall into .init or .fini, which have no table.
    holds "$good + 1 + $excused >= $share * $user" "whole stacks"
}

# Of all user frames that the walk found, nearly all came from tables.
by_rules() {
    local frames others
    IFS='|' read -r frames others < <(query "SELECT sum(value * (name = 'unwind.frames')),
        sum(value * (name IN ('unwind.frame_pointer_frames', 'unwind.scanned_frames',
            'unwind.leaf_frames'))) FROM counter")
    echo "frames: $frames, without a table $others"
    holds "$frames > 1000 && $others <= 0.005 * $frames" "frames found by rules"
}

# chain FUNCTION REGEX [SHARE [LEAST]]: of the samples whose stack holds FUNCTION, at least so many
# begin with REGEX, from the root on; what FUNCTION's part of it allows and kernel frames may follow.
chain_share=0.999
chain() {
    local share=${3:-$chain_share} all good
    query "SELECT path, sum(count) FROM v_sample
        WHERE ';' || path || ';' GLOB '*;$1;*' GROUP BY path" >paths
    all=$(samples_in <paths)
    good=$(grep -E "^($2)(;.*)?\|[0-9]+\$" paths | samples_in)
    echo "chain to $1: $good of $all"
    [ "$all" -ge "${4:-40}" ] || fail "only $all samples in $1"
    awk "BEGIN { exit !($good >= $share * $all) }" || {
        grep -vE "^($2)(;.*)?\|[0-9]+\$" paths | sort -t '|' -k 2 -nr | head -n 8
        fail "another chain to $1 than $2"
    }
}
samples_in() { # of lines `path|samples`
    awk -F '|' '{ all += $NF } END { print all + 0 }'
}

# The functions of the C library that lead to main, and main; stripped libraries have no names.
start='_start;[^;]+;[^;]+;main'
any='[^;]+'
signal="$any" # the signal trampoline

# edges MODULE, and on standard input a line `caller callee…` each: no other edges inside the module.
edges() {
    awk '{ for (i = 2; i <= NF; i++) print $1 "|" $i }' | sort -u >allowed
    query "SELECT caller, callee, samples FROM v_edge
        WHERE caller_module = '$1' AND callee_module = '$1' AND callee NOT GLOB '*@plt'" >found
    local impossible
    impossible=$(awk -F '|' 'NR == FNR { allowed[$1 "|" $2] = 1; next }
        !(($1 "|" $2) in allowed)' allowed found)
    [ -s found ] || fail "no edges in $1"
    [ -z "$impossible" ] || fail "impossible calls: $impossible"
}

# The stacks' outermost frames, by address: each must lie in code that is known to start threads or
# processes. `roots` [SHARE]; `root_symbols` is what a test adds to the usual names.
root_symbols='_start|__clone|clone|__clone3|clone3|_dl_start_user'
roots() {
    local share=${1:-1} all=0 good=0 path offset count
    query "WITH RECURSIVE outermost(node, top) AS (
            SELECT id, frame_id FROM stack_node WHERE parent_id IS NULL
            UNION ALL SELECT n.id, o.top FROM outermost o JOIN stack_node n ON n.parent_id = o.node)
        SELECT m.path, f.file_offset, sum(s.count) FROM sample s
        JOIN outermost o ON o.node = s.node_id JOIN frame f ON f.id = o.top
        JOIN module m ON m.id = f.module_id
        WHERE s.user_stack AND s.end_reason = 0 GROUP BY 1, 2" >outermost
    while IFS='|' read -r path offset count; do
        all=$((all + count))
        if is_root "$path" "$offset"; then
            good=$((good + count))
        else
            printf '  not a root: %s+0x%x (%d samples)\n' "$path" "$offset" "$count"
        fi
    done <outermost
    echo "roots: $good of $all"
    [ "$all" -gt 0 ] || fail "no roots at all"
    holds "$good >= $share * $all" "roots known by address"
}

# is_root PATH FILE-OFFSET; `image_of` may name another file to look into. The file `extra_roots` has
# lines `OFFSET PATH`: return addresses that a test knows to be at the bottom of a stack.
is_root() {
    local file
    [ ! -e extra_roots ] || ! grep -qxF "$(($2 + 1)) $1" extra_roots || return 0
    file=$(image_of "$1")
    [ -f "$file" ] || return 1
    local list=$work/roots.${file//\//_}
    [ -e "$list" ] || /usr/bin/python3 "$here/root_ranges.py" "$file" "$root_symbols" >"$list"
    awk -v offset="$2" '$1 <= offset && offset < $2 { found = 1 } END { exit !found }' "$list"
}
image_of() {
    echo "$1"
}
