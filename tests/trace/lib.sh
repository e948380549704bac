# What tests of `sprof trace` share. `tracing` holds the options that a script's traces have in common.
. "$(dirname "$0")/../system/lib.sh"
tracing=()

# traced NAME OPTION… -- COMMAND…: traced into NAME.db; prints and ends as it does untraced. LINK of the environment says how
# programs of our own are linked: -static, say.
traced() {
    local name=$1 options=() wanted
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    "$@" >want 2>want_err </dev/null
    wanted=$?
    "$SPROF" trace "${tracing[@]}" -o "$name.db" "${options[@]}" -- "$@" >got 2>got_err </dev/null
    status=$?
    cp got_err err
    [ $status = $wanted ] || fail "$name: exit status $status, untraced $wanted"
    cmp -s want got || fail "$name: other output than untraced"
    grep -v '^sprof: ' got_err | cmp -s - want_err || fail "$name: other errors than untraced"
}

# grouped NUMBER: as messages write it, "12 345".
grouped() {
    sed -E ':a;s/^([0-9]+)([0-9]{3})/\1 \2/;ta' <<<"$1"
}

# wait_for_trace NOTES OPTION…: until the trace of `tracer` is controlled by these options. Where it has ended, what it
# said in NOTES is why.
wait_for_trace() {
    local notes=$1
    shift
    for ((i = 0; i < 60 * 20; i++)); do
        "$SPROF" ctl "$@" status >status.out 2>&1 && return
        kill -0 "$tracer" 2>/dev/null || fail "there is no trace: $(cat "$notes")"
        sleep 0.05
    done
    fail "waited in vain for the trace: $(cat status.out "$notes")"
}

# calls FILE: "function calls", sorted. The figures stay in stats.csv.
calls() {
    "$SPROF" stats -i "$1" --format csv >stats.csv 2>err || fail "no stats"
    python3 -c 'import csv
for row in csv.DictReader(open("stats.csv")):
    print(row["function"].split("(")[0], row["calls"])' | sort
}

# rows FILE: "function calls" of rows and of what is not logged, added up, sorted.
rows() {
    "$SPROF" sql "$1" --format csv "SELECT function, sum(n) AS n FROM (SELECT function, count(*) AS n FROM v_call GROUP BY function \
UNION ALL SELECT function, sum(not_logged) FROM v_not_logged GROUP BY function) GROUP BY function" >rows.csv 2>err ||
        fail "no rows"
    python3 -c 'import csv
for row in csv.DictReader(open("rows.csv")):
    print(row["function"].split("(")[0], row["n"])' | sort
}

# has FUNCTION COLUMN VALUE: of the last calls.
has() {
    local value
    value=$(python3 -c 'import csv, sys
for row in csv.DictReader(open("stats.csv")):
    if row["function"].split("(")[0] == sys.argv[1]:
        print(row[sys.argv[2]])' "$1" "$2")
    [ "$value" = "$3" ] || fail "$1: $2 is '$value', not $3"
}

# is LINE…: these are all functions, and their calls.
is() {
    calls t.db >found
    printf '%s\n' "$@" | sort >wanted
    diff wanted found >out || fail "other calls than there were"
}

# Calls, jumps that are calls, recursion, a jump table, a loop at the entry, a condition at the end, threads, a child.
exact_program() {
    cat >program.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory")
NI long leaf(long n) { KEEP; return n * 3; }
NI void nothing(void) { KEEP; }
NI long odd(long n);
NI long even(long n) { KEEP; return n ? odd(n - 1) : 1; }
NI long odd(long n) { KEEP; return n ? even(n - 1) : 0; }
NI long depth(long n) { return n ? 1 + depth(n - 1) * 2 % 7 : 0; }
NI long choose(long n)
{
    switch (n) {
    case 0: return leaf(1);
    case 1: nothing(); return 5;
    case 2: return leaf(n) + leaf(3);
    case 3: return n * 7;
    case 4: nothing(); nothing(); return 9;
    case 5: return leaf(8) - 1;
    default: return n;
    }
}
NI void perhaps(long n) { KEEP; if (n & 1) nothing(); }
static long (*volatile pointer)(long) = leaf;
NI long through(long n) { KEEP; return pointer(n); }
NI long all(void)
{
    long sum = even(101) + depth(50);
    for (long i = 0; i < 70; i++) {
        sum += choose(i % 7) + through(i);
        perhaps(i);
    }
    return sum;
}
NI void *run(void *result) { *(long *)result = all(); return result; }
int main(void)
{
    pthread_t threads[4];
    long sums[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, run, &sums[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    const pid_t child = fork();
    if (!child)
        _exit((int)(all() & 63));
    int status;
    waitpid(child, &status, 0);
    printf("%ld %ld %ld %ld %d\n", sums[0], sums[1], sums[2], sums[3], WEXITSTATUS(status));
    return 3;
}
END
}

exact_calls=('all 4' 'choose 280' 'depth 204' 'even 204' 'leaf 440' 'main 1' 'nothing 260' 'odd 204' 'perhaps 280' 'run 4'
    'through 280')
