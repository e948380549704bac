#!/bin/bash
# Recordings that are controlled while they run.
#   ctl.sh CASE
. "$(dirname "$0")/lib.sh"

ctl() { # STATUS ARGUMENTS
    local wanted=$1
    shift
    expect "$wanted" "$SPROF" ctl -i t.db "$@"
}

# Starts a recording of a program that spins, and waits until it can be controlled.
record_spin() { # OPTIONS
    start "$SPROF" record -o t.db "$@" -- "$PROGRAMS/split" forever >record.out 2>record.err
    recorder=$child
    for _ in $(seq 500); do
        [ -S t.db.ctl ] && "$SPROF" ctl -i t.db status >status.out 2>&1 && return
        sleep 0.02
    done
    fail "no control socket: $(cat record.err)"
}

# Ends the recording, and the program, which goes on.
end_all() {
    ctl 0 end
    for _ in $(seq 1000); do
        [ -S t.db.ctl ] || break
        sleep 0.02
    done
    kill -9 $(cat "/proc/$recorder/task/$recorder/children")
    wait "$recorder"
    [ ! -e t.db.ctl ] || fail "the socket is still there"
}

case $1 in
stop)
    record_spin -F 997
    sleep 0.5
    ctl 0 stop
    sleep 0.7
    ctl 0 on
    sleep 0.5
    ctl 0 mark "second part"
    sleep 0.3
    end_all
    holds "$(sql t.db "SELECT count(*) FROM phase") == 4" "four phases"
    holds "$(sql t.db "SELECT count(*) FROM phase WHERE paused") == 1" "one of them paused"
    holds "$(sql t.db "SELECT count(*) FROM phase WHERE mark = 'second part'") == 1" "one marked"
    holds "$(sql t.db "SELECT min(end_ns - start_ns) > 100000000 FROM phase WHERE paused") == 1" "a span"
    inside=$(sql t.db "SELECT count(*) FROM sample s JOIN phase p ON p.run_id = s.run_id
        WHERE p.paused AND s.time_ns >= p.start_ns AND s.time_ns < p.end_ns")
    holds "$inside == 0" "no sample in the pause"
    holds "$(sql t.db "SELECT samples > 50 FROM v_quality") == 1" "samples outside"
    ;;
paused)
    record_spin --paused
    sleep 0.3
    ctl 0 status
    grep -q '^paused, recording for .* 0 samples' out || fail "the state is another one"
    ctl 0 start
    sleep 0.5
    end_all
    holds "$(sql t.db "SELECT samples > 10 FROM v_quality") == 1" "samples after the start"
    holds "$(sql t.db "SELECT count(*) FROM sample WHERE time_ns <
        (SELECT end_ns FROM phase WHERE paused)") == 0" "none before"
    ;;
rate)
    record_spin -F 99
    sleep 0.5
    ctl 0 rate 1999
    sleep 0.5
    end_all
    holds "$(sql t.db "SELECT group_concat(frequency_hz, '-') = '99-1999' FROM phase") == 1" "both rates"
    ;;
program)
    expect 0 "$SPROF" record -o t.db -- "$PROGRAMS/controls"
    samples=$(sql t.db "SELECT coalesce(sum(inclusive_samples), 0) FROM v_function WHERE function = 'seen'")
    holds "$samples > 100" "samples of what is to be seen"
    samples=$(sql t.db "SELECT coalesce(sum(inclusive_samples), 0) FROM v_function WHERE function = 'unseen'")
    holds "$samples <= 1" "none of what is not"
    holds "$(sql t.db "SELECT count(*) FROM phase WHERE mark = 'second part'") == 1" "the mark"
    expect 3 "$PROGRAMS/controls"
    ;;
round_trip)
    record_spin
    for _ in $(seq 21); do
        before=$(date +%s%N)
        "$SPROF" ctl -i t.db stop >/dev/null
        "$SPROF" ctl -i t.db start >/dev/null
        echo $((($(date +%s%N) - before) / 2000))
    done | sort -n >times
    end_all
    echo "round trip of stop and start, median of 21 with the start of sprof itself: $(sed -n 11p times) µs each"
    ;;
bad)
    ctl 1 status
    said "not being recorded"
    expect 2 "$SPROF" ctl
    said "give a command"
    expect 2 "$SPROF" ctl -i t.db stp
    said "start, stop"
    record_spin
    ctl 2 rate nine
    said "no rate"
    ctl 2 rate 4000000000
    said "perf_event_max_sample_rate"
    ctl 2 stop now
    end_all
    ctl 1 stop
    said "not being recorded"
    echo mine >t.db.ctl
    expect 0 "$SPROF" record -o t.db -- true
    said "control socket"
    expect 1 "$SPROF" record --paused -o t.db -- true
    said "control socket"
    [ "$(cat t.db.ctl)" = mine ] || fail "a foreign file was touched"
    ;;
esac
