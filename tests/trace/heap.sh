#!/bin/bash
# sprof trace --heap-check: a row and a line for each call that leaves bytes allocated, and for each broken block.
#   heap.sh bytes | left | threads | broken | allocator | attached | replaced | switched | real | bad
set -u
. "$(dirname "$0")/lib.sh"

cat >program.c <<'END'
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NI __attribute__((noipa))
static void *kept[64];
static size_t count, left; /* left: bytes of the blocks that are kept, as the allocator counts */
NI void *keep(void *block)
{
    left += malloc_usable_size(block);
    return kept[count++] = block;
}
NI void balanced(void)
{
    void *aligned;
    free(malloc(100));
    free(calloc(3, 50));
    free(realloc(malloc(10), 5000));
    free(reallocarray(0, 10, 20));
    if (!posix_memalign(&aligned, 256, 300))
        free(aligned);
    free(aligned_alloc(64, 640));
    free(memalign(4096, 10000));
    free(strdup("a dozen bytes"));
    free(malloc(1 << 20));
    free(0);
    realloc(malloc(50), 0);
    __asm__ volatile("");
}
NI void leaks(void)
{
    keep(malloc(100));
    keep(calloc(7, 3));
    free(malloc(7));
    __asm__ volatile("");
}
NI void grows(void)
{
    const size_t before = malloc_usable_size(kept[0]);
    kept[0] = realloc(kept[0], 3000);
    left = malloc_usable_size(kept[0]) - before;
}
NI void shrinks(void) { free(kept[--count]); __asm__ volatile(""); }
NI void *tail(void) { return malloc(48); }
NI int recurses(int n)
{
    keep(malloc(24));
    const int below = n ? recurses(n - 1) : 0;
    __asm__ volatile("");
    return below + 1;
}
static jmp_buf out;
NI void jumps(void)
{
    keep(malloc(200));
    longjmp(out, 1);
}
NI void outer(void)
{
    if (!setjmp(out))
        jumps();
    free(malloc(5));
    __asm__ volatile("");
}
NI void overflows(int bytes)
{
    char *block = malloc(24), *next = malloc(24);
    memset(block, bytes ? 'A' : 0, 24 + (bytes ? bytes : 1));
    free(block);
    (void)next;
    __asm__ volatile("");
}
NI char *makes(void)
{
    char *block = malloc(40);
    kept[0] = malloc(40);
    return block;
}
NI void frees(char *block) { free(block); __asm__ volatile(""); }
static pthread_barrier_t barrier;
NI void waits(void)
{
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
}
NI void hands_over(void) /* the other thread frees it: not what this one does */
{
    left = malloc_usable_size(kept[0] = malloc(600));
    waits();
    __asm__ volatile("");
}
static void *other(void *unused)
{
    pthread_barrier_wait(&barrier);
    free(kept[0]);
    pthread_barrier_wait(&barrier);
    return unused;
}
NI void *in_thread(void *unused)
{
    leaks();
    return unused;
}
int main(int argc, char **argv)
{
    const char *what = argv[1];
    pthread_t thread;
    char *block;
    setvbuf(stdout, 0, _IONBF, 0);
    if (!strcmp(what, "balanced"))
        for (int i = 0; i < 1000; i++)
            balanced();
    else if (!strcmp(what, "leaks"))
        leaks();
    else if (!strcmp(what, "grows")) {
        keep(malloc(30));
        grows();
    } else if (!strcmp(what, "shrinks")) {
        keep(malloc(30));
        shrinks();
    } else if (!strcmp(what, "tail"))
        left = malloc_usable_size(kept[0] = tail());
    else if (!strcmp(what, "recurses"))
        recurses(99);
    else if (!strcmp(what, "jumps"))
        outer();
    else if (!strcmp(what, "hands_over")) {
        pthread_barrier_init(&barrier, 0, 2);
        pthread_create(&thread, 0, other, 0);
        hands_over();
        pthread_join(thread, 0);
    } else if (!strcmp(what, "thread")) {
        pthread_create(&thread, 0, in_thread, 0);
        pthread_join(thread, 0);
    } else if (!strcmp(what, "overflows"))
        overflows(atoi(argv[2]));
    else if (!strcmp(what, "later")) {
        block = makes();
        memset(block, 0, 41);
        frees(block);
    } else if (!strcmp(what, "waits")) {
        char byte;
        keep(malloc(64)); /* before anybody looks */
        while (read(0, &byte, 1) > 0) {
            count = left = 0;
            leaks();
            balanced();
            printf("%zu\n", left);
        }
    }
    printf("%zu\n", left);
    return 5 * (argc > 0);
}
END
# Every call of the allocator's functions is one.
gcc -O1 -g -fno-builtin -w program.c -o program -pthread || fail "no compiler"

checked() { # OPTION… -- WHAT…: the program's figure is in $left
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    expect 5 "$SPROF" trace -o t.db --function '!^(keep|main)$' "${options[@]}" -- ./program "$@" </dev/null
    left=$(<out)
}
row() { # CONDITION: kind, function, value and bound of warnings
    sql t.db "SELECT kind || ' ' || function || ' ' || value || ' ' || bound FROM v_warning WHERE $1 ORDER BY time_ns"
}
is_row() { # WANTED [CONDITION]
    [ "$(row "${2:-1}")" = "$1" ] || fail "rows are '$(row 1)', not '$1'"
}

case $1 in
bytes)
    checked --heap-check . -- balanced
    is_row ''
    checked --heap-check . -- leaks
    is_row "heap leaks $left 0"
    said "heap: leaks left $left bytes allocated, more than 0: by 3 allocations and 1 free"
    expect 0 "$SPROF" stats t.db --warnings
    grep -qE "heap +$left bytes +0 bytes" out || fail "the table does not show it"
    checked --heap-check . -- grows
    is_row "heap grows $left 0"
    checked --heap-check . -- shrinks
    is_row ''
    checked --heap-check . -- tail
    is_row "heap tail $left 0"
    # What may be left, by function; the smallest that is said counts.
    checked --heap-check 1K:. -- leaks
    is_row ''
    checked --heap-check 1K:. --heap-check 16:^leaks$ -- leaks
    is_row "heap leaks $left 16"
    checked --heap-check '!leaks' -- leaks
    is_row ''
    # The log has its calls, and only those that were chosen, as the figures do.
    checked --heap-check . --mode log -- leaks
    is_row "heap leaks $left 0"
    [ "$(sql t.db 'SELECT group_concat(function) FROM v_call')" = leaks ] || fail "other calls are logged"
    checked --heap-check . --paths -- leaks
    is_row "heap leaks $left 0"
    [ "$(sql t.db "SELECT group_concat(function || calls) FROM v_call_stats")" = leaks1 ] || fail "other calls are counted"
    # The allocator's functions may be chosen, too.
    expect 5 "$SPROF" trace -o t.db --module program --module 'libc.so*' --function '^(leaks|malloc|free|calloc)$' \
        --heap-check ^leaks$ -- ./program leaks
    is_row "heap leaks $left 0"
    [ "$(sql t.db "SELECT calls >= 2 FROM v_call_stats WHERE function LIKE '%malloc'")" = 1 ] || fail "malloc is not counted"
    # Of a child, too.
    expect 5 "$SPROF" trace -o t.db --children --function '^leaks$' --heap-check . -- sh -c './program leaks; exit $?'
    is_row "heap leaks $left 0" "function = 'leaks'"
    ;;
left)
    # Recursion: the outermost call tells for all. A longjmp leaves the call that allocated.
    checked --heap-check . -- recurses
    is_row "heap recurses $left 0"
    checked --heap-check . -- jumps
    is_row "heap jumps $left 0
heap outer $left 0"
    ;;
threads)
    checked --heap-check ^leaks -- thread
    is_row "heap leaks $left 0"
    [ "$(sql t.db 'SELECT count(*) FROM v_warning WHERE tid <> pid')" = 1 ] || fail "of another thread"
    checked --heap-check hands_over -- hands_over
    is_row "heap hands_over $left 0"
    ;;
broken)
    # A byte too much or more, of a block that is freed in the call, or later.
    for bytes in 0 1 2 8; do
        checked --heap-check 1K:. -- overflows $bytes
        [[ $(row 1) =~ ^chunk\ overflows\ [0-9]+\ 24$ ]] || fail "$bytes bytes too much: '$(row 1)'"
        said 'chunk: what the allocator keeps behind the block at 0x[0-9a-f]+ is broken: .* a call of overflows'
    done
    expect 0 "$SPROF" stats t.db --warnings
    grep -qE 'chunk +0x[0-9a-f]+ +24 bytes' out || fail "the table does not show it"
    checked --heap-check 1K:^makes$ -- later
    [[ $(row 1) =~ ^chunk\ makes\ [0-9]+\ 40$ ]] || fail "it is not seen later: '$(row 1)'"
    # A block from before the call, which is freed in it.
    checked --heap-check 1K:^frees$ -- later
    [[ $(row 1) =~ ^chunk\ frees\ [0-9]+\ 40$ ]] || fail "it is not seen in the call: '$(row 1)'"
    ;;
allocator)
    # Another allocator than glibc's, which says that blocks have 100 bytes more, and calls itself inside.
    cat >allocator.c <<'END'
#include <stddef.h>
#include <string.h>
static char room[1 << 22] __attribute__((aligned(64)));
static size_t used;
size_t malloc_usable_size(void *block) { return block ? ((size_t *)block)[-2] : 0; }
void *malloc(size_t size)
{
    char *block = room + __atomic_fetch_add(&used, (size + 100 + 16 + 63) / 64 * 64, __ATOMIC_RELAXED);
    if (block + size + 200 > room + sizeof room)
        return 0;
    *(size_t *)block = size + 100;
    return block + 16;
}
void free(void *block)
{
    if (block)
        ((volatile size_t *)block)[-1] = 1; /* it is free */
}
void *calloc(size_t count, size_t size)
{
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : 0;
}
void *realloc(void *old, size_t size)
{
    const size_t before = malloc_usable_size(old);
    void *block = size ? malloc(size) : 0;
    if (block && old)
        memcpy(block, old, size < before ? size : before);
    if (block || !size)
        free(old);
    return block;
}
END
    gcc -O1 -g -fno-builtin -shared -fPIC allocator.c -o liballocator.so || fail "no compiler"
    gcc -O1 -g -fno-builtin -w program.c -o program -pthread -L. -lallocator -Wl,-rpath,"$PWD" || fail "no linker"
    checked --module program --heap-check . -- leaks
    is_row "heap leaks $left 0"
    [ "$left" = 321 ] || fail "it is not that allocator: $left"
    checked --module program --heap-check . -- grows
    is_row "heap grows $left 0"
    said 'by 1 allocation and 1 free'
    checked --module program --heap-check . -- recurses
    is_row "heap recurses $left 0"
    ;;
attached | replaced)
    # Also where another file has the allocator's name by now: the one that is mapped is looked at.
    mkdir libraries
    mkfifo input
    if [ "$1" = replaced ]; then
        needs_root "to open a file that has been removed"
        cp "$(ldd ./program | awk '/libc\.so/ { print $3 }')" libraries/libc.so.6
    fi
    LD_LIBRARY_PATH=libraries ./program waits <input >output &
    target=$!
    children+=("$target")
    exec 7>input
    wait_until 60 eval '[ "$(readlink /proc/$target/exe)" = "$PWD/program" ]'
    printf x >&7
    wait_until 60 eval '[ "$(wc -l <output)" = 1 ]'
    if [ "$1" = replaced ]; then
        grep -q "$PWD/libraries/libc.so.6" "/proc/$target/maps" || fail "the library is not used"
        cp ./program new
        mv new libraries/libc.so.6
    fi
    start "$SPROF" trace -p "$target" -o t.db --function '^(leaks|balanced)$' --heap-check . 2>trace.err 7>&-
    tracer=$child
    wait_for_trace trace.err -p "$target" --trace
    printf xxx >&7
    wait_until 60 eval '[ "$(wc -l <output)" = 4 ]'
    expect 0 "$SPROF" ctl -p "$target" --trace end
    wait "$tracer" || fail "the trace failed: $(<trace.err)"
    [ "$(row 1 | uniq -c | tr -s ' ')" = " 3 heap leaks $(head -1 output) 0" ] || fail "rows: $(row 1)"
    printf x >&7
    exec 7>&-
    wait "$target"
    [ $? = 5 ] || fail "other exit status"
    [ "$(sort output | uniq -c | tr -s ' ')" = " 6 $(head -1 output)" ] || fail "other output: $(<output)"
    ;;
switched)
    mkfifo input
    "$SPROF" trace -o t.db --function '^(leaks|balanced)$' --heap-check . --paused -- ./program waits <input >output 2>trace.err &
    tracer=$!
    children+=("$tracer")
    exec 7>input
    wait_for_trace trace.err -i t.db
    printf x >&7
    wait_until 60 eval '[ "$(wc -l <output)" = 1 ]'
    expect 0 "$SPROF" ctl -i t.db start
    printf xx >&7
    wait_until 60 eval '[ "$(wc -l <output)" = 3 ]'
    expect 0 "$SPROF" ctl -i t.db probe -^leaks
    printf x >&7
    wait_until 60 eval '[ "$(wc -l <output)" = 4 ]'
    exec 7>&-
    wait "$tracer"
    [ $? = 5 ] || fail "other exit status"
    [ "$(row 1 | uniq -c | tr -s ' ')" = " 2 heap leaks $(head -1 output) 0" ] || fail "rows: $(row 1)"
    ;;
real)
    # No block of these is broken, and they do what they do untraced.
    cat >work.sql <<'END'
CREATE TABLE t(a, b);
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3000) INSERT INTO t SELECT n, hex(n * n) FROM c;
CREATE INDEX i ON t(b);
SELECT count(*), max(length(b)) FROM t GROUP BY a % 7;
DELETE FROM t WHERE a % 3 = 0;
END
    cat >work.cc <<'END'
#include <map>
#include <string>
int main() { std::map<std::string, int> m; m["a"]++; return m.size() - 1; }
END
    tracing=(--heap-check .)
    traced sqlite --module '*sqlite3*' -- sqlite3 :memory: '.read work.sql'
    git init -q repository && cp work.* repository && git -C repository add -A
    traced git --module git -- git -C repository status --porcelain
    traced gcc --children --function '^(c_parse|cp_parser|cgraph)' --module '*/cc1plus' -- g++ -S -o work.s work.cc
    for name in sqlite git gcc; do
        [ "$(sql $name.db "SELECT count(*) FROM v_warning WHERE kind <> 'heap'")" = 0 ] || fail "$name has broken blocks"
        [ "$(sql $name.db 'SELECT count(*) > 0 FROM v_warning')" = 1 ] || fail "$name: nothing is checked"
    done
    ;;
bad)
    for value in '' 1K: '('; do
        expect 2 "$SPROF" trace -o t.db --heap-check "$value" -- ./program leaks
    done
    said 'regular expression'
    expect 2 "$SPROF" trace -o t.db --mode coverage --heap-check . -- ./program leaks
    said 'first call of each function alone'
    expect 2 "$SPROF" trace -o t.db --backend uprobe --heap-check . -- ./program leaks
    said 'heap-check needs the agent'
    checked --heap-check '^std::' -- leaks
    said "heap-check '\^std::' finds none of the functions that are timed"
    checked --heap-check . --heap-check '^laks$' -- leaks
    said "heap-check '\^laks\\$' finds none of the functions that are timed; near it: leaks"
    ;;
*) fail "no such case" ;;
esac
