#!/bin/bash
# Samples of a thread while it is in calls that a trace of the same moments has logged.
#   during.sh
. "$(dirname "$0")/lib.sh"
cat >turns.c <<'END'
static volatile unsigned sink;
__attribute__((noinline)) static void burn(unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        sink = sink * 31 + i;
}
__attribute__((noinline)) void handle(unsigned turns)
{
    burn(turns);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void other(void)
{
    burn(3000000);
    __asm__ volatile("" ::: "memory");
}
int main(void)
{
    for (unsigned i = 0;; i++) {
        handle(i % 4 ? 100000 : 8000000);
        other();
    }
}
END
gcc -O1 -g -o turns turns.c || skip "no compiler"
start ./turns
target=$child
start "$SPROF" record -p "$target" --duration 60 -o samples.db
recorder=$child
wait_until 60 "$SPROF" ctl -p "$target" status
run "$SPROF" trace -p "$target" --mode log --function '^handle$' --duration 2 -o calls.db
[ "$status" = 0 ] || skip "the program cannot be traced here: $(head -n 1 err)"
kill -INT "$recorder" && wait "$recorder"
expect 0 "$SPROF" merge samples.db calls.db -o all.db

# inside FUNCTION [OPTION…]: the samples of run 1 that hold a function.
inside() {
    local function=$1
    shift
    "$SPROF" report -i all.db --run 1 --by function --inclusive -n 0 --format csv --show inclusive_samples,function "$@" 2>err | tr -d '\r' |
        awk -F, -v name="$function" '$2 == name { sum += $1 } END { print sum + 0 }'
}
handled=$(inside handle --during-calls-of '^handle$')
long=$(inside handle --during-calls-of '^handle$,over 5ms')
others=$(inside other --during-calls-of '^handle$')
calls=$(sql all.db "SELECT count(*) FROM v_call")
echo "$calls calls, $handled samples in them, $long in long ones, $others in the other function"
holds "$handled >= 10 && $handled <= $(inside handle)" "samples during the calls"
holds "$others <= 2 + $handled / 50" "samples outside of the calls"
holds "$long > 0.5 * $handled && $long <= $handled" "samples during long calls"
expect 0 "$SPROF" report -i all.db --run 1 --during-calls-of '^handle$' --tree
grep -q 'during ^handle\$' out || fail "the base of what is shown"
# Samples are read, though the calls are newer.
expect 0 "$SPROF" report -i all.db --during-calls-of '^handle$'
grep -q 'during ^handle\$' out && ! grep -q 'none of the samples' out || fail "calls were read"
[ "$("$SPROF" script -i all.db --run 1 --during-calls-of '^handle$' --format csv | wc -l)" -gt 10 ] || fail "single samples"
expect 1 "$SPROF" report -i all.db --run 1 --during-calls-of '^handle$,over 1000s'
said 'name a shorter time'
expect 1 "$SPROF" report -i all.db --run 1 --during-calls-of nothing
said 'no function has a name'
expect 1 "$SPROF" report -i samples.db --during-calls-of handle
said 'sprof merge'
for wrong in '' ',over 5ms' 'handle,over x'; do
    expect 2 "$SPROF" report -i all.db --during-calls-of "$wrong"
done
