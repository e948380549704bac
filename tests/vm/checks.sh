#!/bin/bash
# A dozen recordings, every variant of the BPF programs, and the messages of what a kernel lacks; run in the virtual
# machine of dev/vm, or as root anywhere. Nothing that measures time is judged: the machine is emulated.
#     checks.sh [CASE …]
# A line "PASS case" or "FAIL case: why" for each; the exit status is 1 where one failed.
set -u
vm=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH=$vm
work=$(mktemp -d)
chmod 755 "$work"
cd "$work" || exit 1
trap 'cd / && rm -rf "$work"' EXIT
release=$(uname -r)
failed=0

# since MAJOR MINOR: whether the kernel is of that version or a later one.
since() {
    local major=${release%%.*} rest=${release#*.}
    [ "$major" -gt "$1" ] || { [ "$major" = "$1" ] && [ "${rest%%.*}" -ge "$2" ]; }
}

fail() {
    why=${why:-$*}
    return 1
}

# expect STATUS COMMAND …: its output is in out, its messages are in err.
expect() {
    local wanted=$1 status
    shift
    timeout 200 "$@" >out 2>err </dev/null
    status=$?
    [ "$status" = "$wanted" ] || fail "exit status $status: $* · $(tail -n 3 err | tr '\n' ' ')"
}

says() {
    grep -q -- "$1" "${2:-err}" || fail "no '$1' in: $(tr '\n' ' ' <"${2:-err}" | cut -c 1-600)"
}

says_not() {
    ! grep -q -- "$1" "${2:-err}" || fail "'$1' is said: $(grep -- "$1" "${2:-err}")"
}

setting() {
    echo "$2" >"/proc/sys/kernel/$1"
}

as_user() {
    setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/tmp "$@"
}

# holds_split FILE: the recording has samples of the program's functions.
holds_split() {
    expect 0 sprof report -i "$1" --limit 60 && says delta out
}

case_record() {
    expect 0 sprof record -o a.db -- "$vm/split" once 400 && cp err summary && holds_split a.db || return
    expect 0 sprof report -v -i a.db || return
    if since 5 17; then
        says 'perf per CPU, filtered in the kernel' out && says_not 'without' out
    else
        says 'without BPF (this kernel does not take the programs; Linux 5.17 and later take them)' summary &&
            says 'without BPF (this kernel does not take the programs)' out
    fi
}

case_programs() { # every variant of the sampling programs; an older kernel takes none, which is said
    local status=0
    since 5 17 || status=77
    expect $status "$vm/unit_sampler" sampler/filter_bpf && says_not 'refuse' out
}

case_record_pid() {
    "$vm/split" forever >/dev/null &
    local target=$!
    expect 0 sprof record --duration 1 -o b.db -p $target && holds_split b.db
    local result=$?
    kill $target && wait $target 2>/dev/null
    return $result
}

case_record_pc() {
    expect 0 sprof record -m pc -o c.db -- "$vm/split" once 400 && holds_split c.db
}

case_sigprof() {
    expect 0 sprof record --source sigprof -o d.db -- "$vm/split" once 400 && holds_split d.db
}

case_wall() {
    expect 0 sprof record --clock wall -o e.db -- sh -c "'$vm/split' once 400; sleep 0.3" && holds_split e.db
}

case_wall_pid() {
    "$vm/split" forever >/dev/null &
    local target=$! result
    if since 5 18; then
        expect 0 sprof record --clock wall --duration 1 -o f.db -p $target && holds_split f.db
    else
        timeout 100 sprof record --clock wall --duration 1 -o f.db -p $target >out 2>err && fail "it works before Linux 5.18"
        says 'Linux 5.18 or later' && says_not 'not permitted'
    fi
    result=$?
    kill $target && wait $target 2>/dev/null
    return $result
}

case_user() {
    setting perf_event_paranoid 2
    as_user sprof record -o /tmp/g.db -- "$vm/split" once 400 >out 2>err || fail "$(cat err)" || return
    says 'kernel.perf_event_paranoid is 2' || return
    since 5 16 || says 'raise `ulimit -l`, or run `sudo sysctl kernel.perf_event_mlock_kb=8196`' || return
    holds_split /tmp/g.db
}

case_user_limit() { # locked memory of 8 MiB, as newer kernels have, is enough for whole slices
    setting perf_event_paranoid 2
    (ulimit -l 16384 && as_user sprof record -o /tmp/h.db -- "$vm/split" once 400) >out 2>err || fail "$(cat err)" || return
    says_not 'of each stack were copied'
}

case_user_refused() { # Debian's own value
    setting perf_event_paranoid 3
    as_user sprof record -o /tmp/i.db -- "$vm/split" once 400 >out 2>err || fail "$(cat err)" || return
    says 'SIGPROF agent' && holds_split /tmp/i.db
}

case_lowered_rate() {
    local before result
    before=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
    setting perf_event_max_sample_rate 500 || fail "the limit cannot be set" || return
    expect 0 sprof record -o j.db -- "$vm/split" once 400 && says "above the kernel's limit, 500 Hz" &&
        expect 2 sprof record -F 997 -o k.db -- true && says 'perf_event_max_sample_rate'
    result=$?
    setting perf_event_max_sample_rate "$before"
    return $result
}

case_trace() {
    expect 0 sprof trace -o l.db -- "$vm/split" once 80 && expect 0 sprof stats -i l.db -n 0 && says delta out
}

case_trace_pid() {
    local target result
    "$vm/split" forever >/dev/null &
    target=$!
    expect 0 sprof trace --duration 1 -o m.db -p $target && kill -0 $target && expect 0 sprof stats -i m.db && says delta out
    result=$?
    kill $target && wait $target 2>/dev/null
    return $result
}

case_trace_uprobe() {
    if since 6 10; then
        expect 0 sprof trace --backend uprobe --module split -o n.db -- "$vm/split" once 80
    else
        timeout 100 sprof trace --backend uprobe --module split -o n.db -- "$vm/split" once 80 >out 2>err &&
            fail "it works before Linux 6.10"
        says 'needs Linux 6.10 or later' && says_not 'not permitted'
    fi
}

case_page() {
    expect 0 sprof record -o o.db -- "$vm/split" once 400 && expect 0 sprof html -i o.db -o o.html && [ -s o.html ] || fail "no page"
}

case_terminate() {
    sprof record --no-symbolize -o p.db -- sleep 100 >out 2>err </dev/null &
    local recorder=$! status i
    for ((i = 0; i < 300; i++)); do
        pgrep -P $recorder -x sleep >/dev/null && break
        sleep 0.1
    done
    kill -TERM $recorder
    wait $recorder
    status=$?
    [ $status = 143 ] || fail "exit status $status"
}

case_cpu_offline() { # a CPU that comes back is sampled again, and what begins on it then has names
    local online=/sys/devices/system/cpu/cpu1/online targets recorder late result i
    since 5 17 || return 0 # without the programs these rates lose too much in an emulated machine
    [ -e $online ] || fail "there is no second CPU that can go offline" || return
    "$vm/split" forever >/dev/null & targets=$!
    "$vm/split" forever >/dev/null & targets+=" $!"
    sprof record -a -F 49 -o q.db >out 2>err &
    recorder=$!
    for ((i = 0; i < 300; i++)); do
        sprof ctl -i q.db status >/dev/null 2>&1 && break
        sleep 0.1
    done
    sleep 1
    for i in 1 2; do
        echo 0 >$online && sleep 1.5 && echo 1 >$online && sleep 1.5 || fail "the CPU does not go and come back"
    done
    taskset -c 1 "$vm/split" forever >/dev/null & late=$!
    targets+=" $late"
    for ((i = 0; i < 60; i++)); do # until it has used a second of the CPU
        [ "$(cut -d ' ' -f 14 "/proc/$late/stat")" -lt 100 ] || break
        sleep 1
    done
    expect 0 sprof ctl -i q.db end
    wait $recorder || fail "$(cat err)"
    expect 0 sprof sql -i q.db "SELECT count(*) FROM v_sample WHERE cpu = 1 AND pid = $late" && cp out samples &&
        { [ "$(tail -n 1 samples)" -ge 20 ] || fail "$(tail -n 1 samples) samples on the CPU that came back"; } &&
        expect 0 sprof report -i q.db --process $late --limit 60 && says delta out
    result=$?
    [ -z "$why" ] || result=1
    kill $targets && wait $targets 2>/dev/null
    return $result
}

cases=(record programs record_pid record_pc sigprof wall wall_pid lowered_rate trace trace_pid trace_uprobe page terminate cpu_offline
    user user_limit user_refused)
[ $# = 0 ] || cases=("$@")
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
for case in "${cases[@]}"; do
    why='' begin=$SECONDS
    if "case_$case"; then
        echo "PASS $case ($((SECONDS - begin)) s)"
    else
        echo "FAIL $case: $why"
        failed=1
    fi
done
setting perf_event_paranoid "$paranoid"
exit $failed
