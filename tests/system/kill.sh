#!/bin/bash
# kill -9 in mid-recording: all but the last second is there, and the target lives on.
. "$(dirname "$0")/lib.sh"

start "$SPROF" record -o t.db -- "$PROGRAMS/split" forever
recorder=$child
wait_until 60 test -s t.db
wait_until 60 pgrep -P "$recorder" -x split
target=$(pgrep -P "$recorder" -x split)
children+=("$target")
sleep 4

expect 0 "$SPROF" report -i t.db
grep -q 'running, as of' out || fail "the report of a recording in progress does not say so"

cpu_before=$(awk '{ print $14 + $15 }' "/proc/$target/stat")
kill -9 "$recorder"
wait "$recorder" 2>/dev/null
[ "$(state_of "$target")" = R ] || fail "the target ended or stopped with sprof"

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
samples=$(sql t.db "SELECT samples FROM v_quality")
ticks=$(getconf CLK_TCK)
echo "$samples samples of $((cpu_before * 1000 / ticks)) ms"
holds "$samples > 100 && $samples >= 0.4 * 997 * ($cpu_before / $ticks - 2.2)" "all but the last second"
[ ! -e t.db-wal ] || fail "a log is left over"
expect 0 "$SPROF" report -i t.db
! grep -q unfinished err || fail "finished twice"
grep -q 'incomplete: sprof was killed, or its disk was full, and what came after .* is missing' out || fail "does not say that the rest is missing"
