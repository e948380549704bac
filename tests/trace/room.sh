#!/bin/bash
# sprof trace: how much has room. More functions than half of what is possible, libraries with many that come late, programs that
# reserve most of the addresses there are, stacks that share the places of their records.
#   room.sh functions | later | reserved | stacks
set -u
. "$(dirname "$0")/lib.sh"

# functions PREFIX COUNT: assembly with so many of them.
functions() {
    cat <<END
        .text
        .altmacro
        .macro one number
        .globl $1\\number
        .type $1\\number, @function
$1\\number:
        .cfi_startproc
        lea 1(%rdi), %rax
        nop
        ret
        .cfi_endproc
        .size $1\\number, . - $1\\number
        .endm
        .set i, 0
        .rept $2
        one %i
        .set i, i + 1
        .endr
        .section .note.GNU-stack, "", @progbits
END
}

case "$1" in
functions)
    functions f 140000 >many.s && functions g 122200 >more.s
    cat >program.c <<'END'
#include <stdio.h>
long f0(long), f131071(long), f139999(long);
int main(void)
{
    long sum = 0;
    for (int i = 0; i < 100; i++)
        sum = f0(f131071(f139999(sum)));
    printf("%ld\n", sum);
    return 3;
}
END
    gcc -c many.s more.s && gcc -O1 program.c many.o -o program && gcc -O1 program.c many.o more.o -o larger ||
        fail "no compiler"
    want=$(printf '%s\n' 'f0 100' 'f131071 100' 'f139999 100' 'main 1')
    traced t -- ./program
    said '14000[0-9] probes'
    [ "$(calls t.db)" = "$want" ] || fail "other calls: $(calls t.db)"
    traced t --mode log --module program -- ./program
    [ "$(rows t.db)" = "$want" ] || fail "other rows: $(rows t.db)"
    rm -f t.db
    expect 1 "$SPROF" trace -o t.db -- ./larger && said 'functions are too many .* at most 262143 .*choose with --function or --module'
    [ ! -e t.db ] || fail "a recording was left"
    traced t --function '^f.*[17]$' -- ./larger
    [ "$(calls t.db)" = 'f131071 100' ] || fail "other chosen calls: $(calls t.db)"
    ;;
later)
    functions h 20000 >many.s
    cat >program.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    void *library = dlopen("./libmany.so", RTLD_NOW);
    long (*last)(long) = library ? (long (*)(long))dlsym(library, "h19999") : 0, sum = 0;
    for (int i = 0; i < 100 && last; i++)
        sum = last(sum);
    printf("%ld\n", sum);
    return 4;
}
END
    gcc -shared many.s -o libmany.so && gcc -O1 program.c -o program || fail "no compiler"
    for options in "--module libmany.so" "--children --module libmany.so"; do
        # shellcheck disable=SC2086
        traced t --function '^h' $options -- ./program
        [ "$(calls t.db)" = 'h19999 100' ] || fail "other calls with '$options': $(calls t.db)"
    done
    ;;
reserved)
    # Of the addresses that Linux hands out from the top, all down to where programs are.
    cat >program.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("nop; nop; nop; nop; nop" : "+r"(n)); return n + 1; }
int main(int count, char **strings)
{
    (void)strings;
    for (int i = 0, sum = 0; count == 1; i++) {
        if (i < 4 && mmap(0, 8L << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
            return 1;
        if (i == 4 && (puts("ready") < 0 || fflush(stdout)))
            return 1;
        sum = work(sum);
        usleep(1000);
    }
    printf("%d\n", work(1));
    return 5;
}
END
    gcc -O1 program.c -o program || fail "no compiler"
    traced t --function work -- ./program once
    ./program >ready 2>/dev/null &
    child=$!
    trap 'kill $child 2>/dev/null' EXIT
    for ((i = 0; i < 1000; i++)); do [ -s ready ] && break; sleep 0.05; done
    before=$(sed 's/ .*//' /proc/$child/maps)
    expect 0 "$SPROF" trace -p $child --function work --duration 500ms -o t.db
    [ "$(calls t.db | sed 's/ [1-9][0-9]*$//')" = work ] || fail "other calls: $(calls t.db)"
    [ "$(sed 's/ .*//' /proc/$child/maps)" = "$before" ] || fail "other mappings after it"
    kill $child 2>/dev/null
    ;;
stacks)
    # Two stacks 4 TiB apart, with calls open on both at the same places.
    cat >program.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
enum { BYTES = 1 << 16, ROUNDS = 1000 };
static ucontext_t main_context, contexts[2];
__attribute__((noinline)) long step(int which, long n)
{
    swapcontext(&contexts[which], &main_context); /* the other one is in here, too */
    __asm__ volatile("" : "+r"(n));
    return n + which;
}
static long sums[2];
static void first(int which)
{
    for (int i = 0; i < ROUNDS; i++)
        sums[which] += step(which, i);
}
static void second(int which)
{
    for (int i = 0; i < ROUNDS; i++)
        sums[which] += 2 * step(which, i);
}
int main(void)
{
    char *low = (char *)0x100000000000, *stacks[2] = {low, low + (1L << 42)};
    for (int i = 0; i < 2; i++) {
        if (mmap(stacks[i], BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != stacks[i])
            return 2;
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = BYTES;
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], (void (*)(void))(i ? second : first), 1, i);
    }
    for (int i = 0; i < 2 * ROUNDS + 2; i++)
        swapcontext(&main_context, &contexts[i % 2]);
    printf("%ld %ld\n", sums[0], sums[1]);
}
END
    gcc -O1 program.c -o program || fail "no compiler"
    ./program >out || skip "their addresses are taken here"
    for mode in stats log; do
        traced t --mode $mode -- ./program
        [ "$(calls t.db)" = "$(printf '%s\n' 'first 1' 'main 1' 'second 1' 'step 2000')" ] || fail "other calls: $(calls t.db)"
    done
    traced t --all-points -- ./program
    ;;
*)
    fail "no such case: $1"
    ;;
esac
