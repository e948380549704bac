#!/bin/bash
# What calls use beside time, as columns: how deep in its stack a function was called, with --stack.
#   use.sh stack
set -u
. "$(dirname "$0")/lib.sh"

program() {
    cat >program.c <<'END'
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#define NI __attribute__((noinline, noclone))
static volatile char *sink;
NI void leaf(void) { sink = 0; __asm__ volatile("" : : : "memory"); }
NI void other(void) { sink = 0; __asm__ volatile("" : : : "memory"); }
NI void apart(void) { sink = 0; __asm__ volatile("" : : : "memory"); }
/* calls another function with so much stack in use */
NI void uses(unsigned long bytes, void (*next)(void))
{
    volatile char *room = alloca(bytes);
    room[0] = room[bytes - 1] = 1;
    sink = room;
    next();
    sink = room;
}
NI void small(void) { uses(100000, leaf); __asm__ volatile("" : : : "memory"); }
NI void large(void) { uses(300000, other); __asm__ volatile("" : : : "memory"); }
NI int recurses(int depth) { volatile char room[4000]; room[0] = 1; sink = room; return depth ? recurses(depth - 1) + room[0] : 0; }
NI void bottom(void) { sink = 0; __asm__ volatile("" : : : "memory"); }
NI void base(void) { bottom(); recurses(50); __asm__ volatile("" : : : "memory"); }
static ucontext_t mine, its;
static char foreign[65536];
static void *work(void *nothing) { small(); large(); base(); return nothing; }
int main(void)
{
    pthread_t thread;
    work(NULL);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    getcontext(&its);
    its.uc_stack.ss_sp = foreign;
    its.uc_stack.ss_size = sizeof foreign;
    its.uc_link = &mine;
    makecontext(&its, apart, 0);
    swapcontext(&mine, &its);
    return 0;
}
END
    cc -O2 -g -fno-optimize-sibling-calls -pthread -w program.c -o program || fail "no program"
}

# used FUNCTION: its stack_bytes; empty where it is not known.
used() { "$SPROF" sql t.db --format csv "SELECT coalesce(stack_bytes, 'none') AS v FROM v_call_stats WHERE function = '$1'" 2>err | tr -d '\r' | sed -n 2p; }

# between WHAT VALUE LOW HIGH
between() { [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || fail "$1: $2 bytes, not from $3 to $4"; }

case $1 in
stack)
    program
    # Frames beside what alloca and arrays take: return addresses, saved registers, alignment.
    for options in "" --paths "--mode log" "--keep over\ 1s" --max-overhead\ 50%; do
        eval "traced t --stack $options -- ./program"
        between "$options small to leaf" $(($(used leaf) - $(used small))) 100000 100300
        between "$options large to other" $(($(used other) - $(used large))) 300000 300300
        between "$options other to leaf" $(($(used other) - $(used leaf))) 199900 200100
        between "$options recursion" $(($(used recurses) - $(used bottom))) 200000 210000
        [ "$(used apart)" = none ] || fail "$options: on another stack: $(used apart)"
    done
    "$SPROF" stats -i t.db >out 2>err && grep -q '^ *self.* stack-bytes' out || fail "no column"
    "$SPROF" stats -i t.db --sort stack-bytes --format json >out 2>err && grep -q '"stack_bytes": *3[0-9]*' out ||
        fail "not in JSON: $(head -c 400 out)"
    # Not measured, so there is no figure, and no column for people.
    traced t -- ./program
    [ "$(used leaf)" = none ] || fail "without --stack: $(used leaf)"
    "$SPROF" stats -i t.db >out 2>err && ! grep -q stack-bytes out || fail "a column of nothing"
    expect 2 "$SPROF" trace --stack --mode coverage -- ./program && said 'needs --mode stats'
    expect 2 "$SPROF" trace --stack --backend uprobe -- ./program && said 'needs --backend inject'
    ;;
*) fail "no case $1" ;;
esac
