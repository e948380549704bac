#!/bin/bash
# namespaces.sh CASE: programs in time, pid and mount namespaces, and code made at run time in them.
here=$(realpath "$(dirname "$0")")
source "$here/lib.sh"
source "$here/run_time_code.sh" functions
needs_root "namespaces"

# time_is_sampled COMMAND…: about all CPU time of the recorded command has samples.
time_is_sampled() {
    expect 0 "$@"
    local weight cpu
    IFS='|' read -r weight cpu < <(sql s.db "SELECT sum(s.weight) / 1e9, r.target_cpu_ns / 1e9
        FROM sample s JOIN run r ON r.id = s.run_id WHERE s.count > 0")
    echo "weights of $weight s, CPU time $cpu s: $*"
    holds "$weight > 0.5 * $cpu" "samples in another time namespace are kept"
    rm s.db
}

time_offsets() {
    unshare -T --monotonic 1 -f true 2>/dev/null || skip "no time namespaces here"
    local offset source
    for offset in 100000 -5; do
        for source in perf sigprof; do
            time_is_sampled unshare -T --monotonic $offset -f \
                "$SPROF" record --source $source -o s.db -- "$code" none
            time_is_sampled "$SPROF" record --source $source -o s.db -- \
                unshare -T --monotonic $offset -f "$code" none
        done
    done
}

# A process is number 1 inside, and its files go with it.
inner_pid() {
    cp "$code" inside # what is recorded finds itself after the mounts
    printf '1 7fffffffffff stale_code\n' >/tmp/perf-1.map
    touch -d '1 hour ago' /tmp/perf-1.map
    run "$SPROF" record -o s.db -- unshare -p -f --mount-proc "$code" none
    rm /tmp/perf-1.map
    [ "$status" = 0 ] || fail "recorded"
    has_function stale_code 0 0
    rm s.db
    expect 0 "$SPROF" record -o s.db -- \
        unshare -m -p -f sh -c "mount -t tmpfs none /tmp; $PWD/inside map 2>/dev/null || exec '$code' map"
    has_function mapped_code 80 100
    rm s.db
    expect 0 "$SPROF" record -o s.db -- unshare -p -f --mount-proc "$code" dump
    shares_as_measured
    rm s.db
    unshare -T --monotonic 1 -f true 2>/dev/null || return 0
    expect 0 "$SPROF" record -o s.db -- unshare -T --monotonic 5000 -f "$code" dump
    shares_as_measured
}

case ${1-} in
time_offsets | inner_pid) "$1" ;;
*) fail "no such case: ${1-}" ;;
esac
