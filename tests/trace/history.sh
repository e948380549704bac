#!/bin/bash
# What a trace stores of what was in force when: ranges, probes and by what they changed, options of phases; functions
# that were chosen and never called; and which should have been inlined.
#   history.sh control | uncalled | inline
set -u
. "$(dirname "$0")/lib.sh"

# `tiny` and `across` are equal but for the way to them; `round` is as often called and takes long; `seldom` is small.
write_program() {
    cat >part.c <<'END_OF_PART'
long across(long n) { __asm__ volatile(""); return n + 1; }
END_OF_PART
    cat >program.c <<'END_OF_PROGRAM'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
long across(long n);
NI long tiny(long n) { __asm__ volatile(""); return n + 1; }
NI long seldom(long n) { __asm__ volatile(""); return n + 2; }
NI long through(long n) { __asm__ volatile(""); return n + 3; }
NI long loops(long n) { for (volatile int i = 0; i < 400; i++) n += i; return n; }
NI long never(long n) { __asm__ volatile(""); return n + 4; }
NI long also_never(long n) { return never(n) * 5; }
long (*volatile pointer)(long) = through;
NI long all(long n) {
    for (int i = 0; i < 5000; i++) n += tiny(n) + across(n) + pointer(n) + loops(n);
    return n + seldom(n);
}
int main(int count, char **arguments)
{
    long n = count;
    if (count > 7) n += also_never(n);
    for (int i = 0; i < 4; i++) n += all(n);
    while (count > 1 && access(arguments[1], F_OK)) { n += seldom(n); usleep(2000); }
    puts(n ? "done" : "none");
    return 3;
}
END_OF_PROGRAM
    gcc -O1 -g -fPIC -shared part.c -o libpart.so && gcc -O1 -g program.c -o program -L. -lpart -Wl,-rpath,"$PWD" ||
        fail "no compiler"
}

# history OPTION…: "what cause functions detail" by row.
history() {
    "$SPROF" stats -i t.db --history "$@" --format csv >history.csv 2>err || fail "no history"
    python3 -c 'import csv
for row in csv.DictReader(open("history.csv")):
    print(row["what"], row["cause"], row["functions"], row.get("detail", row.get("function")))'
}

case $1 in
control)
    write_program
    "$SPROF" trace -o t.db --max-overhead none --rest 200ms -- ./program end >got 2>notes &
    tracer=$!
    children+=("$tracer")
    wait_for_trace notes -i t.db
    for command in 'probe -^tiny$' off on clear 'probe -#2' 'mode coverage' 'mode stats' 'mark later'; do
        "$SPROF" ctl -i t.db $command >out 2>err || fail "$command: not done"
    done
    "$SPROF" ctl -i t.db probe '-^seldom$' >out || fail "no change"
    wait_until 60 eval '"$SPROF" ctl -i t.db list >out && grep -qE "^ +3 +on +1 +0 +0 +1 " out'
    touch end
    wait "$tracer"
    [ $? = 3 ] || fail "other exit status than untraced"
    history >found
    # In this order, with others between.
    grep -nE '^in start|^excluded command 1 -\^tiny\$|^stop|^start|^clear|^no longer excluded|^mode command|^phase.*"later"|^excluded command 1 -\^seldom' found |
        cut -d: -f2 | cut -d' ' -f1-3 | uniq >order
    printf '%s\n' 'in start 9' 'excluded command 1' 'stop command ' 'start command ' 'clear command ' 'no longer excluded' \
        'mode command ' 'phase  ' 'excluded command 1' >wanted
    diff wanted order >out || fail "another order of events: $(cat found)"
    history --function '^(tiny|seldom)$' | cut -d' ' -f1,2,4 | grep -v coverage >found
    for row in 'in start tiny' 'off command tiny' 'in command tiny' 'in start seldom' 'off command seldom' 'rests rest seldom'; do
        grep -qx "$row" found || fail "no row $row: $(cat found)"
    done
    [ "$(sql t.db "SELECT count(*) FROM v_selection WHERE number = 2 AND end_ns > start_ns")" = 1 ] || fail "when range 2 ended"
    [ "$(sql t.db "SELECT DISTINCT value FROM phase_option WHERE name = 'mode' ORDER BY 1" | tr '\n' ' ')" = 'coverage stats ' ] ||
        fail "modes: $(sql t.db 'SELECT * FROM phase_option')"
    [ "$(sql t.db "SELECT count(*) FROM phase_option WHERE phase_id NOT IN (SELECT id FROM phase)")" = 0 ] || fail "options without a phase"
    expect 2 "$SPROF" stats t.db --history --sort calls && said 'order of time'
    expect 2 "$SPROF" stats t.db --history --open && said 'give one of them'
    # A recording of two runs keeps both.
    "$SPROF" merge -o both.db t.db t.db >out 2>err || fail "not merged"
    ;;
uncalled)
    write_program
    traced t --max-overhead none -- ./program
    "$SPROF" trace -o c.db --mode coverage -- ./program >got 2>err
    "$SPROF" stats c.db --unexecuted --format csv | python3 -c 'import csv, sys
for row in csv.DictReader(sys.stdin): print(row["function"])' | sort >wanted
    "$SPROF" stats t.db --uncalled --format csv >stats.csv || fail "no stats"
    python3 -c 'import csv
for row in csv.DictReader(open("stats.csv")):
    if row["calls"] == "0":
        print(row["function"])
        assert row["state"] == "in" and row["total_ns"] == "" and row["mechanism"], row' | sort >found
    diff wanted found >out || fail "other functions than those that coverage finds: $(cat out)"
    printf '%s\n' also_never never | diff - found >out || fail "$(cat out)"
    has tiny calls 20000
    # The others are the same without the option; order, filters and formats hold.
    "$SPROF" stats t.db --format csv >plain.csv && grep -v '^,,,,,0,' stats.csv | diff - plain.csv >out || fail "other rows: $(cat out)"
    "$SPROF" stats t.db --uncalled --sort calls:asc --function '^(also_)?never|^tiny' --format csv >some.csv
    [ "$(wc -l <some.csv)" = 4 ] && tail -1 some.csv | grep -q ',tiny' || fail "another order: $(cat some.csv)"
    "$SPROF" stats t.db --uncalled --module libpart.so --format csv | tail -n +2 | grep -v ,across && fail "another module"
    "$SPROF" stats t.db --uncalled --format json | python3 -m json.tool >out || fail "no JSON"
    "$SPROF" stats t.db --uncalled >out && grep -qE '^ +– .* 0 .* never$' out || fail "people do not see it"
    expect 2 "$SPROF" stats t.db --uncalled --by thread && said 'only what was called'
    ;;
inline)
    write_program
    # A thread that loses its CPU within the function makes it longer than its probe: one run without that is enough.
    for ((i = 0; i < 10; i++)); do
        traced t --overwrite --max-overhead none -- ./program
        [ "$(sql t.db "SELECT max(inline_wanted) FROM v_probe WHERE function = 'tiny'")" = 0 ] || break
    done
    "$SPROF" stats t.db --format csv >stats.csv || fail "no stats"
    has tiny inline_wanted 1
    for function in across through loops seldom all main; do has $function inline_wanted 0; done
    "$SPROF" stats t.db >out && grep -q '^inline wanted: tiny 20000: small, .*-flto' out || fail "people do not see it"
    [ "$(sql t.db "SELECT group_concat(function) FROM v_probe WHERE inline_wanted")" = tiny ] || fail "another one in the view"
    ;;
esac
exit 0
