# What the system tests share. ctest sets SPROF (the binary under test) and PROGRAMS (where the built test
# programs are). Every test works in a directory of its own, which others may enter, and cleans up.
set -u
: "${SPROF:?the sprof binary}" "${PROGRAMS:?the directory of the test programs}"
export LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=1"
unset DEBUGINFOD_URLS
umask 022 # other users run what is compiled here

work=$(mktemp -d)
chmod 755 "$work"
cd "$work" || exit 1
children=()
elsewhere=() # files of the test that are not in its directory

finish() {
    local result=$?
    trap - EXIT
    for child in "${children[@]}"; do
        pkill -9 -P "$child" # the command that a killed recorder leaves going
        kill -9 "$child" 2>/dev/null
    done
    wait 2>/dev/null
    cd / && rm -rf "$work" "${elsewhere[@]}"
    exit "$result"
}
trap finish EXIT

# The test failed: says why, and shows what the last `run` printed.
fail() {
    echo "FAILED: $*" >&2
    for file in "$work/out" "$work/err"; do
        [ ! -s "$file" ] || { echo "--- $(basename "$file")" && tail -c 3000 "$file"; } >&2
    done
    exit 1
}

# The test cannot run here: ctest shows it as skipped.
skip() {
    echo "SKIPPED: $*"
    exit 77
}

# weights_fit FILE: the weights of all samples (not what was booked without one) are the CPU time, but for chance, for which five standard errors are left.
# A host that takes its CPUs away makes ticks late, which stand for what was due meanwhile, and what it takes counts as
# CPU time or not. What is weighed twice, or not at all, is off by more.
weights_fit() {
    local weight cpu chance
    IFS='|' read -r weight cpu chance < <(sql "$1" "SELECT sum(s.weight) / 1e9, r.target_cpu_ns / 1e9,
        5 * sqrt(sum(1.0 * s.weight * s.weight)) / 1e9 FROM sample s JOIN run r ON r.id = s.run_id WHERE s.count > 0")
    echo "weights of $weight s, CPU time $cpu s"
    holds "$weight < 1.3 * $cpu + $chance" "weights are no more than the time"
    holds "$weight > 0.75 * $cpu - $chance" "weights are no less than the time"
}

# cgroup_root: where the tree of cgroups is mounted; nothing where it is not.
cgroup_root() {
    awk '{ for (i = 7; i < NF; i++) if ($i == "-" && $(i + 1) == "cgroup2") print $5 }' /proc/self/mountinfo | head -n 1
}

needs_root() {
    [ "$(id -u)" = 0 ] || skip "needs root: $*"
}

needs_kernel_samples() {
    [ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 1 ] ||
        skip "this user may not sample the kernel, whose part of the CPU time would be missing"
}

# Runs a command; its exit status is in $status, its output in out and err.
run() {
    "$@" >"$work/out" 2>"$work/err"
    status=$?
}

# run, and the exit status must be the first argument.
expect() {
    local wanted=$1
    shift
    run "$@"
    [ "$status" = "$wanted" ] || fail "exit status $status instead of $wanted: $*"
}

# The last run said this (an extended regular expression) on standard error.
said() {
    grep -qE -- "$1" "$work/err" || fail "did not say: $1"
}

# The last run said one message, with at most one line more for the cure, and nothing else.
said_only() {
    said "$1"
    [ "$(wc -l <"$work/err")" -le 2 ] || fail "more than one message"
    ! grep -qv '^sprof: ' "$work/err" || fail "a line does not begin with the program's name"
}

# sql FILE QUERY: the rows, fields separated by `|`.
sql() {
    local rows
    # A column is called as it is written: on one line, so that the first line is the header.
    rows=$("$SPROF" sql -i "$1" --format csv "${2//$'\n'/ }" 2>"$work/sql.err") ||
        fail "query: $2: $(cat "$work/sql.err")"
    tail -n +2 <<<"$rows" | tr -d '\r' | tr ',' '|'
}

# holds EXPRESSION WHAT: an arithmetic comparison that awk can judge.
holds() {
    awk "BEGIN { exit !($1) }" || fail "$2: not $1"
}

# Starts a command in the background and remembers it for the end; its process id is in $child.
start() {
    "$@" &
    child=$!
    children+=("$child")
}

# Waits up to a number of seconds until a command succeeds.
wait_until() {
    local seconds=$1
    shift
    for ((i = 0; i < seconds * 20; i++)); do
        "$@" 2>/dev/null && return
        sleep 0.05
    done
    fail "waited $seconds s in vain for: $*"
}

# Whether a recording has a run yet: its file is there before.
has_begun() {
    [ "$("$SPROF" sql -i "$1" --format csv 'SELECT count(*) FROM run' | tail -n 1 | tr -d '\r')" -gt 0 ]
}

# The state letter of a process.
state_of() {
    sed -E 's/.*\) (.).*/\1/' "/proc/$1/stat" 2>/dev/null
}

# used_ms PID: the CPU time of a process; 0 where it has ended.
used_ms() {
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); ms = ($12 + $13) * 1000 / hz } END { print ms + 0 }' "/proc/$1/stat" 2>/dev/null
}

# has_used PID MS: it has used so much CPU time, so that what it computes has begun.
has_used() {
    [ "$(used_ms "$1")" -ge "$2" ]
}

# goes_on PID: the process computes: it uses more CPU time, however long it waits for a CPU.
goes_on() {
    wait_until 60 has_used "$1" $(($(used_ms "$1") + 20))
}

# is_called PID NAME: the process runs the program of that name, and not what starts it.
is_called() {
    [ "$(cat "/proc/$1/comm")" = "$2" ]
}

# prepare_ordinary_user [PROGRAM…]: running as an ordinary user. sprof, what it loads into programs, and the test programs named
# are copied to where that user can reach them, for the tree may lie where only root gets.
prepare_ordinary_user() {
    mkdir -p "$work/user"
    cp -R "$SPROF" "${SPROF%/*}/libexec" "${@/#/$PROGRAMS/}" "$work/user/" || fail "no copies"
    chmod -R a+rX "$work/user"
    mkdir -m 777 -p "$work/home"
    user_sprof=$work/user/sprof
    user_split=$work/user/split
    "${as_ordinary_user[@]}" test -x "$user_sprof" || skip "no other user may enter $work: set TMPDIR to where all may"
}
# The words to put in front of a command, so that it is run without a shell in between.
as_ordinary_user=(env LD_LIBRARY_PATH="$work/user")
[ "$(id -u)" != 0 ] ||
    as_ordinary_user+=(setpriv --reuid=65534 --regid=65534 --clear-groups)
