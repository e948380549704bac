#!/bin/bash
# Options beside --keep: functions by an earlier recording, long texts, the next call on demand, requests by value.
#   kept_options.sh errors
set -u
. "$(dirname "$0")/lib.sh"

# names FILE: functions that have probes.
names() { "$SPROF" sql "$1" --format csv "SELECT DISTINCT function FROM v_call_stats ORDER BY 1" | tail -n +2 | tr -d '\r' | paste -sd' '; }

errors() {
    cat >program.cc <<'END'
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
namespace a { NI int twice(int x) { BODY; return 2 * x; } NI int thrice(int x) { BODY; return 3 * x; } }
NI void thrower(int x) { BODY; if (x % 2) throw x; BODY; }
NI void passer(int x) { thrower(x); BODY; }
NI int catcher(int x) { try { passer(x); } catch (int) { BODY; } return a::twice(x) + a::thrice(x); }
int main() { int sum = 0; for (int i = 0; i < 10; i++) sum += catcher(i); return sum != 225; }
END
    g++ -O2 -g program.cc -o program || fail "it does not compile"
    traced kept --keep 'returns = 6 : twice' -- ./program
    traced of_kept --keep-errors-of kept.db -- ./program
    [ "$(names of_kept.db)" = "a::twice(int)" ] || fail "of a rule: $(names of_kept.db)"
    grep -q 'kept.db: 1 function whose calls were kept' got_err || fail "not said: $(cat got_err)"
    traced threw --keep throws -- ./program
    traced of_threw --keep-errors-of threw.db --function thrice --keep 'every 5' -- ./program
    [ "$(names of_threw.db)" = "a::thrice(int) passer(int) thrower(int)" ] || fail "of exceptions: $(names of_threw.db)"
    traced plain -- ./program
    traced of_plain --keep-errors-of plain.db -- ./program
    [ "$(names of_plain.db)" = "passer(int) thrower(int)" ] || fail "of sums: $(names of_plain.db)"
    traced log --mode log -- ./program
    traced of_log --keep-errors-of log.db -- ./program
    [ "$(names of_log.db)" = "passer(int) thrower(int)" ] || fail "of a log: $(names of_log.db)"
    traced none --function twice -- ./program
    expect 1 "$SPROF" trace -o no.db --keep-errors-of none.db -- ./program && said 'no call in none.db was kept by a rule or left by an exception'
    expect 1 "$SPROF" trace -o no.db --keep-errors-of absent.db -- ./program && said 'absent.db'
    expect 2 "$SPROF" trace -o no.db --adaptive --root main --keep-errors-of kept.db -- ./program && said 'give it without --keep-errors-of'
}

case $1 in
errors) "$1" ;;
*) fail "no case $1" ;;
esac
