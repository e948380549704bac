#!/bin/bash
# kill -9 in mid-recording: all but the last second is there, and the target lives on.
. "$(dirname "$0")/lib.sh"

start "$SPROF" record -o t.db -- "$PROGRAMS/split" forever
recorder=$child
wait_until 60 test -s t.db
wait_until 60 pgrep -P "$recorder" -x split
target=$(pgrep -P "$recorder" -x split)
children+=("$target")

# state_of_file: how many samples are written, and of when the last one is.
state_of_file() {
    sql t.db "SELECT count(*), coalesce(max(time_ns), 0) FROM sample" | tr '|' ' '
}
has_written() {
    read -r samples last < <(state_of_file) && [ "$samples" -gt 100 ]
}
# What comes is written each second: so it is seen at least once, though a busy machine may make one of both late.
writes_each_second() {
    local before=$last
    wait_until 60 eval 'has_written && [ "$last" -gt '"$before"' ]'
    echo "written up to $before, then up to $last ns"
    [ $((last - before)) -lt 1900000000 ]
}
wait_until 60 has_written
wait_until 120 writes_each_second

expect 0 "$SPROF" report -i t.db
grep -q 'running, as of' out || fail "the report of a recording in progress does not say so"

kill -9 "$recorder"
wait "$recorder" 2>/dev/null
goes_on "$target" # it neither ended nor stopped with sprof

# Who may not write beside it reads it as it is.
if [ "$(id -u)" = 0 ]; then
    prepare_ordinary_user
    mkdir -m 755 closed
    cp t.db t.db-wal t.db-shm closed/
    chmod 644 closed/*
    expect 0 "${as_ordinary_user[@]}" "$user_sprof" report -i "$work/closed/t.db"
    said 'cannot be finished there'
    grep -q split out || fail "nothing is read of what cannot be finished"
fi

expect 0 "$SPROF" report -i t.db
said 'unfinished'
grep -q delta out || fail "no names"
read -r after last_after < <(state_of_file)
echo "$samples samples written before, $after after"
holds "$after >= $samples && $last_after >= $last" "what was written"
holds "$(sql t.db "SELECT samples FROM v_quality") == $(sql t.db "SELECT sum(count) FROM sample")" "all of it is counted"
[ ! -e t.db-wal ] || fail "a log is left over"
expect 0 "$SPROF" report -i t.db
! grep -q unfinished err || fail "finished twice"
grep -q 'incomplete: sprof was killed, or its disk was full, and what came after .* is missing' out || fail "does not say that the rest is missing"
