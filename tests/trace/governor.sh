#!/bin/bash
# sprof trace --max-overhead: functions whose probes cost too much are counted only, then lose their probe; every change
# is a row, and what is still counted is counted exactly.
#   governor.sh counted | off | many | rests | again | cleared | none | bad
set -u
. "$(dirname "$0")/../system/lib.sh"

cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define NI __attribute__((noinline))
NI void hot(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
NI long warm(long n) { long x = n; for (int i = 0; i < 1000; i++) x = x * 3 + 1; __asm__ volatile("" : "+r"(x)); return x; }
NI long slow(long n) { long x = n; for (int i = 0; i < 1000000; i++) x = x * 3 + 1; __asm__ volatile("" : "+r"(x)); return x; }
int main(int count, char **arguments)
{
    const long rounds = atol(arguments[1]), hots = atol(arguments[2]), warms = atol(arguments[3]);
    long sum = count;
    for (long i = 0; i < rounds; i++) {
        for (long k = 0; k < hots; k++)
            hot();
        for (long k = 0; k < warms; k++)
            sum += warm(k);
        sum += slow(i);
    }
    printf("%ld\n", sum);
    return 5;
}
END
gcc -O1 -g program.c -o program || fail "no compiler"

traced() { # OPTIONS -- ARGUMENTS
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    ./program "$@" >want
    "$SPROF" trace -o t.db "${options[@]}" --function '^(hot|warm|slow)$' -- ./program "$@" >got 2>err
    [ $? = 5 ] || fail "other exit status than untraced"
    cmp -s want got || fail "other output than untraced"
}

calls_of() {
    sql t.db "SELECT calls FROM v_call_stats WHERE function = '$1'"
}

case $1 in
counted)
    # Some 700 ns a call: timing them takes some five percent, counting less than one.
    traced --max-overhead 2% -- 300 0 5000
    [ "$(sql t.db "SELECT DISTINCT what FROM v_probe_event WHERE function = 'warm' AND cause = 'governor'")" = counted ] ||
        fail "warm is not counted only: $(sql t.db 'SELECT * FROM v_probe_event')"
    [ "$(calls_of warm)" = 1500000 ] || fail "$(calls_of warm) calls of warm, not 1500000"
    [ "$(calls_of slow)" = 300 ] || fail "$(calls_of slow) calls of slow, not 300"
    [ -z "$(sql t.db "SELECT what FROM v_probe_event WHERE function = 'slow' AND cause <> 'start'")" ] || fail "slow is not timed any more"
    # Averages are of the calls that were timed.
    [ "$(sql t.db "SELECT counted > 0 AND average_ns BETWEEN 200 AND 20000 FROM v_call_stats WHERE function = 'warm'")" = 1 ] ||
        fail "the average holds calls that were not timed"
    grep -q 'more than --max-overhead: warm (counted only)' err || fail "the change is not told"
    grep -q 'to hold --max-overhead 1 function was only counted in the end' err || fail "the end does not tell it"
    "$SPROF" report -i t.db >out 2>err && grep -q '^1 function was only counted, or had no probe, .*: `sprof stats` names it$' out || fail "a report that does not tell it"
    ;;
off)
    traced --max-overhead 2% -- 250 2000000 0
    [ "$(sql t.db "SELECT what FROM v_probe_event WHERE function = 'hot' AND share > 0 ORDER BY time_ns DESC LIMIT 1")" = off ] ||
        fail "hot is not off in the end: $(sql t.db 'SELECT * FROM v_probe_event')"
    [ "$(calls_of slow)" = 250 ] || fail "$(calls_of slow) calls of slow, not 250"
    [ "$(sql t.db "SELECT min(share) > 0.02 FROM v_probe_event WHERE cause = 'governor' AND share > 0")" = 1 ] || fail "a change without cause"
    [ "$(calls_of hot)" -lt 500000000 ] || fail "all calls of hot were counted"
    ;;
many)
    # Two thousand functions, none of which takes a hundredth of the limit: together they take more.
    {
        printf '#include <stdio.h>\n'
        for ((i = 0; i < 2000; i++)); do
            echo "__attribute__((noinline)) void small$i(void) { __asm__ volatile(\"nop; nop; nop; nop; nop\"); }"
        done
        echo 'int main(void) { for (int i = 0; i < 300000; i++) {'
        for ((i = 0; i < 2000; i++)); do echo "small$i();"; done
        echo '} return 5; }'
    } >many.c
    gcc -O1 -g many.c -o many || fail "no compiler"
    "$SPROF" trace -o t.db --max-overhead 10% --function '^small' -- ./many 2>err
    [ $? = 5 ] || fail "other exit status than untraced"
    [ "$(sql t.db "SELECT count(DISTINCT function) > 200 FROM v_probe_event WHERE what = 'off'")" = 1 ] ||
        fail "$(sql t.db "SELECT what, count(*) FROM v_probe_event GROUP BY what") functions are off"
    grep -q 'probes took about [0-9.]* % of the CPU time' err || fail "the end does not tell what probes took"
    # A few of them are named, and how many more there are.
    expect 0 "$SPROF" stats t.db
    grep -qE '^off to hold --max-overhead, since: (small[0-9]+ [0-9.]+ s, ){5}and [0-9]+ more: ' out ||
        fail "stats name $(grep 'to hold --max-overhead' out | tr ',' '\n' | wc -l) functions"
    ;;
rests)
    # What is off has its own bytes again, at once and not after --rest, and comes back for another mode.
    "$SPROF" trace -o t.db --max-overhead 2% --rest 100s --function '^(hot|warm|slow)$' -- ./program 1000000 2000000 2 >got 2>err &
    recorder=$!
    children+=("$recorder")
    wait_until 60 grep -q 'more than --max-overhead: .*hot (off)' err
    wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q ", 1 probe rests"'
    "$SPROF" ctl -i t.db mode coverage >out || fail "not in the other mode"
    "$SPROF" ctl -i t.db status >out && ! grep -q 'probes rest' out || fail "hot rests, and is wanted"
    wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q "3 functions called"'
    "$SPROF" ctl -i t.db mode stats >out || fail "not in the first mode again"
    wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q ", 1 probe rests"'
    program=$(pgrep -P "$recorder" -x program) || fail "there is no program"
    kill "$program" && wait "$recorder"
    [ "$(sql t.db "SELECT count(*) FROM v_coverage WHERE function = 'hot' AND executed")" = 1 ] || fail "hot was not seen in the other mode"
    ;;
again)
    # Some of what is off is counted again when there is room for it, as far as there is.
    {
        printf '#include <unistd.h>\n'
        for ((i = 0; i < 40; i++)); do
            echo "__attribute__((noinline)) long part$i(long n) { for (int i = 0; i < 20; i++) __asm__ volatile(\"\" : \"+r\"(n)); return n + $i; }"
        done
        echo 'int main(void) { long sum = 0; for (;;) { int all = access("less", F_OK); for (int i = 0; i < 100000; i++) {'
        echo 'if (all) {'
        for ((i = 0; i < 40; i++)); do echo "sum += part$i(i);"; done
        echo '} else for (volatile int k = 0; k < 1000; k++); } } return (int)sum; }'
    } >again.c
    gcc -O1 -g again.c -o again || fail "no compiler"
    "$SPROF" trace -o t.db --max-overhead 20% --function '^part' -- ./again >got 2>err &
    recorder=$!
    children+=("$recorder")
    sprof_rests() { "$SPROF" ctl -i t.db status | sed -n 's/.*, \([0-9]*\) probes\? rests\?.*/\1/p'; }
    wait_until 60 eval '[ "$(sprof_rests)" -gt 10 ]'
    sleep 2
    before=$(sprof_rests)
    : >less
    wait_until 60 grep -q 'functions* .* counted again' err
    after=$(sprof_rests)
    [ "${after:-0}" -lt "$before" ] || fail "$before functions rested before, $after afterwards"
    rm less
    wait_until 60 eval '[ "$(sprof_rests)" -ge 10 ]'
    program=$(pgrep -P "$recorder" -x again) || fail "there is no program"
    kill "$program" && wait "$recorder"
    [ "$(sql t.db "SELECT count(*) > 0 FROM v_probe_event WHERE what = 'counted'")" = 1 ] || fail "nothing is counted"
    ;;
cleared)
    # What is not measured stays so after a clear, and so do the rows that say it.
    "$SPROF" trace -o t.db --max-overhead 2% --function '^(hot|warm|slow)$' -- ./program 1000000 2000000 2 >got 2>err &
    recorder=$!
    children+=("$recorder")
    wait_until 60 grep -q 'more than --max-overhead: .*hot (off)' err
    "$SPROF" ctl -i t.db clear >out || fail "not cleared"
    "$SPROF" ctl -i t.db mark later >out || fail "no mark"
    sleep 0.3
    program=$(pgrep -P "$recorder" -x program) || fail "there is no program"
    kill "$program" && wait "$recorder"
    [ "$(sql t.db "SELECT what, share > 0.02 AND time_ns > 0 FROM v_probe_event WHERE function = 'hot' AND share > 0 ORDER BY time_ns DESC LIMIT 1" |
        tr '\t,|' '   ')" = 'off 1' ] || fail "no row says that hot is off: $(sql t.db 'SELECT * FROM v_probe_event')"
    [ "$(sql t.db "SELECT min(e.time_ns) < c.time_ns FROM probe_event e, v_probe_event c WHERE c.what = 'clear'")" = 1 ] ||
        fail "what became of probes before the clear is not there"
    expect 0 "$SPROF" stats t.db
    grep -q 'off to hold --max-overhead, since: .*hot' out || fail "stats do not say it"
    ;;
none)
    traced --max-overhead none -- 50 200000 10
    [ "$(sql t.db "SELECT count(*) FROM v_probe_event WHERE cause = 'governor'")" = 0 ] || fail "something was changed"
    [ "$(calls_of hot)" = 10000000 ] || fail "$(calls_of hot) calls of hot, not 10000000"
    ;;
bad)
    for value in 0% -1 200% x ''; do
        expect 2 "$SPROF" trace -o t.db --max-overhead "$value" -- ./program 1 1 1 && said percent
    done
    expect 2 "$SPROF" trace --max-overhead x -- ./program 1 1 1 && said 'write 5%, or none'
    expect 2 "$SPROF" trace --rest x -- ./program 1 1 1 && said 'or 1h, or off'
    ;;
*) fail "no such case" ;;
esac
