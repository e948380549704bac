#!/bin/bash
# sprof trace --children-of: what chosen functions call gets probes, by direct calls and jumps, through the PLT and the
# GOT, to a depth; what calls through pointers lead to is left open, and that is said.
#   callees.sh follow | depth | bad
set -u
. "$(dirname "$0")/../system/lib.sh"

cat >library.c <<'END'
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
static NI void hidden(void) { KEEP; }
void exported(void) { hidden(); KEEP; }
void by_got(void) { hidden(); KEEP; }
void unused(void) { hidden(); KEEP; }
END
cat >program.c <<'END'
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
void exported(void);
__attribute__((noplt)) void by_got(void);
NI void leaf(void) { KEEP; }
NI void second(void) { leaf(); KEEP; }
NI void jumped_to(void) { second(); KEEP; }
NI void first(void) { second(); KEEP; jumped_to(); }
NI void pointed_to(void) { leaf(); KEEP; }
NI void outside(void) { leaf(); KEEP; }
static void (*volatile pointer)(void) = pointed_to;
NI void root(void) { first(); exported(); by_got(); pointer(); KEEP; }
int main(void)
{
    for (int i = 0; i < 10; i++) {
        root();
        outside();
    }
    return 4;
}
END
gcc -O2 -g -shared -fPIC library.c -o liblibrary.so && gcc -O2 -g program.c -o program -L. -llibrary -Wl,-rpath,"$PWD" ||
    fail "no compiler"

# trace OPTION…: leaves the calls of all probed functions in found, "function calls".
trace() {
    "$SPROF" trace -o t.db "$@" -- ./program >got 2>err
    [ $? = 4 ] || fail "other exit status than untraced: $(cat err)"
    "$SPROF" stats -i t.db --format csv >stats.csv 2>stats.err || fail "no stats"
    python3 -c 'import csv
for row in csv.DictReader(open("stats.csv")):
    print(row["function"].split("(")[0], row["calls"])' | sort >found
}

is() { # LINE…
    printf '%s\n' "$@" | sort >wanted
    diff wanted found >out || fail "other functions than wanted have probes"
}

case $1 in
follow)
    trace --children-of '^root$'
    is 'by_got 10' 'exported 10' 'first 10' 'hidden 20' 'jumped_to 10' 'leaf 40' 'root 10' 'second 20'
    grep -q '1 indirect call in 1 function leads where --children-of cannot see: root (1)' err ||
        fail "the call through a pointer is not named"
    trace --children-of '^root$' --module program
    is 'first 10' 'jumped_to 10' 'leaf 40' 'root 10' 'second 20'
    trace --children-of '^root$' --function '!^(leaf|hidden)$'
    is 'by_got 10' 'exported 10' 'first 10' 'jumped_to 10' 'root 10' 'second 20'
    trace --children-of '^first$' --function '^outside$'
    is 'first 10' 'jumped_to 10' 'leaf 40' 'outside 10' 'second 20'
    ;;
depth)
    trace --children-of '^root$:0'
    is 'root 10'
    ! grep -q indirect err || fail "calls are named that nobody asked to follow"
    trace --children-of '^root$:1'
    is 'by_got 10' 'exported 10' 'first 10' 'root 10'
    trace --children-of '^root$:2' --children-of '^outside$:1'
    is 'by_got 10' 'exported 10' 'first 10' 'hidden 20' 'jumped_to 10' 'leaf 40' 'outside 10' 'root 10' 'second 20'
    ;;
bad)
    expect 1 "$SPROF" trace -o t.db --children-of '^rooot$' -- ./program && said "finds none of"
    expect 1 "$SPROF" trace -o t.db --children-of 'fist:2' -- ./program && said first
    expect 2 "$SPROF" trace -o t.db --children-of '(' -- ./program && said 'regular expression'
    ;;
*) fail "no such case" ;;
esac
