#!/bin/bash
# What older kernels lack, and limits that a kernel lowers by itself: recordings work, and what is lost is said with its
# reason.
#     old_kernels.sh CASE
. "$(dirname "$0")/lib.sh"

NO_PIDFD=423 ALL_CALLS=100000 EINVAL=22

# Without pidfd_open (Linux 5.3), a signal reaches the command by its number.
case_signals() {
    local begin=$SECONDS status
    "$PROGRAMS/old_kernel" $NO_PIDFD 0 "$SPROF" record --no-symbolize -o t.db -- sleep 100 >out 2>err &
    local recorder=$!
    children+=("$recorder")
    until [ "$(pgrep -P "$recorder" -x sleep)" ]; do
        [ $((SECONDS - begin)) -lt 60 ] || fail "the command does not begin"
        sleep 0.1
    done
    kill -TERM "$recorder"
    wait "$recorder"
    status=$?
    [ "$status" = 143 ] || fail "exit status $status, not the command's 143"
    [ $((SECONDS - begin)) -lt 90 ] || fail "the command was waited for"
}

# A kernel that takes no programs: the summary and the footer say what is lost.
case_without_bpf() {
    needs_root "for events per CPU"
    expect 0 "$PROGRAMS/old_kernel" $ALL_CALLS $EINVAL "$SPROF" record -o t.db -- "$PROGRAMS/split" once 300
    grep -q 'without BPF (.*): samples have no exact weights, and stacks beyond [0-9]* bytes were read after' err ||
        fail "the summary does not say what is lost"
    expect 0 "$SPROF" report -v -i t.db
    grep -q 'perf per CPU, without BPF (' out || fail "the footer's source does not say it"
    grep -q 'samples have no exact weights' out || fail "the footer does not say what is lost"
    ! grep -q 'filtered in the kernel' out || fail "the footer says that the kernel filtered"
}

# The kernel lowers its limit of rates by itself: the usual rate gives way, a rate that was asked for does not.
case_lowered_rate() {
    local limit=/proc/sys/kernel/perf_event_max_sample_rate
    needs_root "to have a limit of its own"
    echo 250 >limit
    unshare -m mount --bind "$work/limit" $limit 2>/dev/null || skip "no file of /proc can be covered here"
    limited() { # STATUS COMMAND …
        expect "$1" unshare -m bash -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' - "$work/limit" $limit "${@:2}"
    }
    limited 0 "$SPROF" record -o t.db -- "$PROGRAMS/split" once 300
    grep -q "above the kernel's limit, 250 Hz, which was used" err || fail "the lower rate is not said"
    [ "$(sql t.db 'SELECT frequency_hz FROM run')" = 250 ] || fail "the rate is $(sql t.db 'SELECT frequency_hz FROM run')"
    limited 2 "$SPROF" record -F 997 -o t.db -- true
    grep -q '997 Hz is above kernel.perf_event_max_sample_rate, which is 250' err || fail "a rate that was asked for is lowered"
    limited 0 "$SPROF" record -F 250 -o u.db -- true
    ! grep -q "above the kernel's limit" err || fail "a rate that was asked for counts as lowered"
}

"case_$1"
