#!/bin/bash
# What `sprof doctor` finds, and its exit status.
#   doctor.sh CASE
. "$(dirname "$0")/lib.sh"

# json EXPRESSION: of what doctor wrote to out, as `d`; points by name as `p`.
json() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
p = {point["name"]: point for point in d["points"]}
assert eval(sys.argv[2]), sys.argv[2]' "$work/out" "$1" || fail "does not hold: $1"
}

# Without a target: the settings as they are, and what would be opened.
machine() {
    expect 0 "$SPROF" doctor --format json
    json 'd["works"] and d["measured"] is None and not d["modules"]'
    json "p['kernel.perf_event_paranoid']['found'].startswith('$(cat /proc/sys/kernel/perf_event_paranoid):')"
    json '{"record -- COMMAND", "record --off-cpu", "record -a", "capabilities", "open files"} <= set(p)'
    json 'all(point["state"] in ("good", "less") for point in d["points"])'
    expect 0 "$SPROF" doctor
    grep -q '^recording$' out || fail "no topic"
    grep -q ': recording works$' out || fail "no verdict"
}

# A command that goes on is ended after its second, also where it does not heed SIGTERM; what it prints is not in the way.
command() {
    run "$SPROF" record --source perf -o t.db -- true
    [ "$status" = 0 ] || skip "perf events are refused here"
    printf 'int main(int count, char **words) { puts("printed"); fflush(stdout); if (count > 1) signal(SIGTERM, SIG_IGN);
        for (;;) ; }\n' | cc -include stdio.h -include signal.h -g -x c - -o spin || fail "no program"
    expect 0 "$SPROF" doctor --format json -- ./spin
    said printed
    json 'd["measured"]["samples"] > 0 and d["measured"]["whole_stacks"] > 0'
    json 'any(m["path"].endswith("/spin") and m["debug_information"] == "own" and m["samples"] > 0 and not m["cure"] for m in d["modules"])'
    ! ls -l /proc/[0-9]*/exe 2>/dev/null | grep -q "$work/spin" || fail "the command still runs"
    strip spin
    expect 0 "$SPROF" doctor -- ./spin stubborn
    grep -q '> spin has no symbols: build it with -g, and do not strip it' out || fail "no cure of missing symbols"
    expect 1 "$SPROF" doctor -- ./nothing
    grep -q 'bad .*nothing' out || fail "a command that is not there is not named"
}

# Attached: all that is mapped is checked, and the process goes on.
attached() {
    run "$SPROF" record --source perf -o t.db -- true
    [ "$status" = 0 ] || skip "perf events are refused here"
    start sleep 60
    expect 0 "$SPROF" doctor -p "$child" --format json
    json 'p["record -p"]["state"] != "bad" and d["measured"] is not None'
    json 'any("/libc.so" in m["path"] and m["build_id"] and m["call_frames"] for m in d["modules"])'
    kill -0 "$child" || fail "the process has ended"
    expect 1 "$SPROF" doctor -p 4194303
    grep -q 'bad .*does not exist' out || fail "a process that is not there"
}

# Perf events are refused: a command has its agent, a running process cannot be sampled.
refused() {
    expect 0 "$PROGRAMS/refuse" perf_event_open EPERM "$SPROF" doctor --format json
    json 'd["works"] and p["record -- COMMAND"]["state"] == "less" and p["record -a"]["cure"] and p["record --off-cpu"]["state"] == "less"'
    start sleep 60
    expect 1 "$PROGRAMS/refuse" perf_event_open EACCES "$SPROF" doctor -p "$child" --format json
    json 'not d["works"] and p["record -p"]["state"] == "bad" and p["record -p"]["cure"]'
}

ordinary_user() {
    needs_root "to become another user"
    prepare_ordinary_user
    cd "$work/home" || exit 1
    run "${as_ordinary_user[@]}" "$user_sprof" doctor --format json
    [ "$status" = 0 ] || skip "ordinary users may sample nothing here"
    json '"CAP_PERFMON" in p["capabilities"]["found"] and p["capabilities"]["cure"]'
    start sleep 60
    expect 1 "${as_ordinary_user[@]}" "$user_sprof" doctor -p "$child"
    grep -q 'bad .*it belongs to user root' "$work/out" || fail "whose process it is"
}

usage() {
    expect 2 "$SPROF" doctor --format csv
    said_only 'text or json'
    expect 2 "$SPROF" doctor -p 1 true
    said_only 'give one of them'
    expect 2 "$SPROF" doctor -p no-such-program
}

"$1"
