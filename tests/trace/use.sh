#!/bin/bash
# What calls use beside time, as columns: how deep in its stack a function was called, with --stack;
# how many bytes it allocated, with --heap.
#   use.sh stack | heap
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

# Each function allocates what its name and its call say; main alone allocates nothing of its own.
allocating() {
    cat >program.c <<'END'
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
#define BARRIER __asm__ volatile("" : : : "memory")
static void *volatile sink;
static volatile size_t huge = SIZE_MAX / 2;
NI void gives(void *block) { sink = block; free(block); BARRIER; }
NI void leaf(void) { gives(malloc(100)); gives(calloc(7, 30)); BARRIER; }                 /* 310 in 2 */
NI void middle(void) { gives(malloc(1000)); leaf(); leaf(); BARRIER; }                     /* 1000 in 1, 1620 */
NI void recurses(int depth) { gives(malloc(10)); if (depth) recurses(depth - 1); BARRIER; } /* 10 in 1 */
NI void odd(int depth);
NI void even(int depth) { gives(malloc(2)); if (depth) odd(depth - 1); BARRIER; }
NI void odd(int depth) { gives(malloc(3)); if (depth) even(depth - 1); BARRIER; }
NI void one_of(int depth); /* each of 24 calls the next */
#define MEMBER(n) NI void member_##n(int depth) { gives(malloc(1)); if (depth) one_of(depth - 1); BARRIER; }
#define FOUR(n) MEMBER(n##0) MEMBER(n##1) MEMBER(n##2) MEMBER(n##3)
#define NAMES(n) member_##n##0, member_##n##1, member_##n##2, member_##n##3
FOUR(0) FOUR(1) FOUR(2) FOUR(3) FOUR(4) FOUR(5)
void one_of(int depth)
{
    static void (*const all[])(int) = {NAMES(0), NAMES(1), NAMES(2), NAMES(3), NAMES(4), NAMES(5)};
    all[depth % 24](depth);
    BARRIER;
}
NI void *tail(void) { return malloc(50); }                                                 /* 50 in 1 */
NI void *first_tail(void) { sink = NULL; return tail(); }                                    /* 0, 50 */
NI void resizes(void)                                                            /* 5 + 500 + 24 in 3 */
{
    char *block = realloc(NULL, 5);
    block = realloc(block, 500);
    block = reallocarray(block, 3, 8);
    BARRIER;
    realloc(block, 0);
}
NI void aligned(void)                                                                  /* 48 + 80 in 2 */
{
    void *block = NULL;
    if (posix_memalign(&block, 16, 48))
        abort();
    gives(block);
    gives(aligned_alloc(16, 80));
    BARRIER;
}
NI void fails(void) { sink = malloc(huge); sink = calloc(huge, 4); BARRIER; } /* 0 in 0 */
NI void copies(void) { gives(strdup("twelve bytes")); BARRIER; }                      /* 13 in 1 */
static jmp_buf back;
NI void jumps(void) { gives(malloc(20)); longjmp(back, 1); }                          /* 20 in 1 */
NI void catches(void) { if (!setjmp(back)) jumps(); gives(malloc(30)); BARRIER; }     /* 30 in 1, 50 */
static ucontext_t mine, its;
NI void apart(void) { gives(malloc(40)); BARRIER; }                                   /* 40 in 1 */
NI void switches(void)
{
    static char foreign[65536];
    getcontext(&its);
    its.uc_stack.ss_sp = foreign;
    its.uc_stack.ss_size = sizeof foreign;
    its.uc_link = &mine;
    makecontext(&its, apart, 0);
    swapcontext(&mine, &its);
    BARRIER;
}
NI void forks(void)
{
    const pid_t child = fork();
    if (!child) {
        middle();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    BARRIER;
}
NI void *work(void *nothing)
{
    for (int i = 0; i < 100; i++)
        middle();
    return nothing;
}
int main(int count, char **words)
{
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    recurses(200);
    even(99);
    one_of(24 * 20 - 1);
    gives(first_tail());
    resizes();
    aligned();
    fails();
    copies();
    catches();
    switches();
    if (count > 1)
        forks();
    exit(0);
}
END
    cc -O1 -g -fno-builtin -foptimize-sibling-calls -pthread -w program.c -o program || fail "no program"
}

# with_heap OPTION… -- COMMAND…: traces it, and reads what functions have allocated.
with_heap() {
    options=$*
    traced t --heap "$@"
    "$SPROF" sql t.db --format csv "SELECT function, heap_self_bytes, heap_total_bytes, allocations FROM v_call_stats" 2>err |
        tr -d '\r' >heap.csv
}

# allocated FUNCTION SELF TOTAL BLOCKS
allocated() {
    grep -qx "$1,$2,$3,$4" heap.csv || fail "$options: $1 has allocated $(grep "^$1," heap.csv), not $2,$3,$4"
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
    "$SPROF" report t.db >out 2>err && ! grep -q stack-bytes out || fail "a column of nothing in the report"
    "$SPROF" stats -i t.db >out 2>err && ! grep -q stack-bytes out || fail "a column of nothing"
    expect 2 "$SPROF" trace --stack --mode coverage -- ./program && said 'goes with --mode stats'
    expect 2 "$SPROF" trace --stack --backend uprobe -- ./program && said 'goes with --backend inject'
    ;;
heap)
    allocating
    for choice in "" "--mode log" "--keep over\ 1s" "--paths --stack --heap-check 1M:." "--callers --all-points"; do
        eval "with_heap $choice -- ./program"
        allocated leaf 372000 372000 2400
        allocated middle 600000 972000 600
        allocated work 0 972000 0
        allocated recurses 2010 2010 201
        allocated even 100 250 50
        allocated odd 150 248 50
        allocated one_of 0 480 0
        allocated member_53 20 480 20
        allocated member_00 20 457 20
        allocated tail 50 50 1
        allocated first_tail 0 50 0
        allocated resizes 529 529 3
        allocated aligned 128 128 2
        allocated fails 0 0 0
        allocated copies 13 13 1
        allocated jumps 20 20 1
        allocated catches 30 50 1
        allocated apart 40 40 1
        allocated gives 0 0 0
    done
    "$SPROF" stats -i t.db >out 2>err && grep -q '^ *self.* heap-self *heap-total' out || fail "no columns"
    "$SPROF" stats -i t.db --sort heap-self --format csv 2>err | sed -n 2p | grep -q '600000.*middle' || fail "not by bytes"
    "$SPROF" report t.db --sort heap-self >out 2>err && grep -q 'calls *heap-self *heap-total *allocations *function' out ||
        fail "not in the report: $(head -n 3 out)"
    "$SPROF" report t.db --format csv 2>err | grep -q ',600000,972000,600,middle,' || fail "not in the report as data"
    "$SPROF" report t.db --by module >out 2>err && ! grep -q heap-self out || fail "bytes of modules"
    # A forked child's bytes are of the same functions. Its calls begin anew, as do their times.
    with_heap --children -- ./program forks
    allocated middle 601000 973620 601
    allocated forks 0 0 0
    # The allocator's functions are chosen, too.
    with_heap --module libc.so.6 --module program --function '^(leaf|middle|malloc|calloc)$' -- ./program
    allocated leaf 0 372000 0
    allocated middle 0 972000 0
    # Not measured, so there is no figure, and no column for people.
    traced t -- ./program
    [ "$("$SPROF" sql t.db --format csv "SELECT count(heap_self_bytes) AS v FROM v_call_stats" | tr -d '\r' | sed -n 2p)" = 0 ] ||
        fail "figures without --heap"
    "$SPROF" stats -i t.db >out 2>err && ! grep -q heap-self out || fail "a column of nothing"
    expect 2 "$SPROF" trace --heap --mode coverage -- ./program && said 'heap goes with --mode stats'
    expect 2 "$SPROF" trace --heap --backend uprobe -- ./program && said 'heap goes with --backend inject'
    ;;
*) fail "no case $1" ;;
esac
