#!/bin/bash
# Libraries that a traced program loads and unloads while it runs: every call of theirs is counted, from their
# constructors on, and the program does what it does untraced.
#   load.sh loop | threads | python | killed | ended | bad
set -u
. "$(dirname "$0")/lib.sh"

for i in 0 1 2 3; do
    cat >plugin$i.c <<END
#define NI __attribute__((noinline))
static int ready;
NI void prepare$i(void) { ready++; __asm__ volatile("nop; nop; nop; nop; nop"); }
__attribute__((constructor)) static void construct$i(void) { prepare$i(); }
__attribute__((destructor)) static void destruct$i(void) { prepare$i(); }
NI int inner$i(int n) { __asm__ volatile("" : "+r"(n)); return n + ready; }
int plugin_run(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += inner$i(i); return sum; }
END
    gcc -O1 -g -shared -fPIC plugin$i.c -o plugin$i.so || fail "no compiler"
done
cat >program.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int rounds;
static int load_and_run(int which)
{
    char path[32];
    snprintf(path, sizeof path, "./plugin%d.so", which);
    void *handle = dlopen(path, RTLD_NOW);
    if (!handle) { puts(dlerror()); exit(1); }
    int (*run)(int) = (int (*)(int))dlsym(handle, "plugin_run");
    const int sum = run(10);
    dlclose(handle);
    return sum;
}
static void *work(void *which)
{
    long sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += load_and_run((int)(long)which);
    return (void *)sum;
}
int main(int count, char **arguments)
{
    pthread_t threads[8];
    const int thread_count = atoi(arguments[1]);
    long sum = 0;
    rounds = atoi(arguments[2]);
    if (count > 3) { /* waits for a line before each half */
        getchar();
        sum += (long)work((void *)0);
        getchar();
    }
    for (long i = 0; i < thread_count; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i % 4));
    for (int i = 0; i < thread_count; i++) {
        void *part;
        pthread_join(threads[i], &part);
        sum += thread_count <= 4 ? (long)part : 0;
    }
    printf("%ld\n", sum);
    return 3;
}
END
gcc -O1 -g -pthread program.c -o program || fail "no compiler"

# calls NAME: "function calls" of what was traced.
counted() { # FUNCTION CALLS
    grep -qx "$1 $2" found || fail "$1 was not called $2 times: $(grep "^$1 " found)"
}

# Whether the recording has that many calls of a function by now.
has_calls() { # FUNCTION CALLS
    calls t.db | grep -qx "$1 $2"
}

case $1 in
loop)
    ./program 1 100 >want
    [ $? = 3 ] || fail "the program fails untraced"
    "$SPROF" trace -o t.db --module 'plugin*' -- ./program 1 100 >got 2>err
    [ $? = 3 ] || fail "other exit status than untraced"
    cmp -s want got || fail "other output than untraced"
    grep -q 'plugin0.so was loaded after .*: 5 probes, from its constructors on' err || fail "it is not said from when on"
    [ "$(grep -c 'plugin0.so was loaded' err)" = 1 ] || fail "it is said more than once"
    calls t.db >found
    counted construct0 100 && counted destruct0 100 && counted prepare0 200 && counted plugin_run 100 && counted inner0 1000
    ;;
threads)
    # Four that load a library each, and eight that load four: whether they really come and go is left to chance then.
    ./program 4 30 >want
    "$SPROF" trace -o t.db --paths --module 'plugin*' -- ./program 4 30 >got 2>err
    [ $? = 3 ] || fail "other exit status than untraced"
    cmp -s want got || fail "other output than untraced"
    calls t.db >found
    for i in 0 1 2 3; do counted construct$i 30 && counted inner$i 300 && counted prepare$i 60; done
    "$SPROF" trace -o t.db --module '*plugin*' -- ./program 8 30 >got 2>err
    [ $? = 3 ] || fail "other exit status than untraced with eight threads"
    calls t.db >found
    for i in 0 1 2 3; do counted inner$i 600; done
    ;;
python)
    command -v python3 >/dev/null || skip "no python3"
    modules="import _json, _ctypes, _decimal, _bisect, _lzma, _hashlib, bisect, decimal, json, ctypes, hashlib"
    program="$modules
print(json.loads(json.dumps([1, {'a': 2.5}])), decimal.Decimal(1) / 7, hashlib.sha256(b'x').hexdigest())
print(sum(bisect.bisect([1, 2, 3], i) for i in range(100)))"
    python=$(python3 -c 'import sys; print(sys.executable)') # not a script that chooses one
    "$python" -c "$program" >want 2>&1
    wanted=$?
    "$SPROF" trace -o t.db --module '*cpython*' -- "$python" -c "$program" >got 2>err
    [ $? = $wanted ] || fail "other exit status than untraced"
    cmp -s want got || fail "other output than untraced"
    [ "$wanted" = 0 ] || skip "this python3 lacks modules: $(tail -1 want)"
    grep -q 'was loaded after' err || skip "this python3 has its modules built in"
    "$SPROF" stats -i t.db -n 100000 --wide >stats.txt || fail "no stats"
    grep -q cpython stats.txt || fail "nothing of the modules is in the figures"
    ;;
killed)
    # The command goes on once it has begun, and nothing that it loads later waits for long.
    ./program 2 150 >want
    for after in 0 0.1 0.2 0.4; do
        rm -f got
        "$SPROF" trace -o t.db --module 'plugin*' -- ./program 2 150 >got 2>err &
        tracer=$!
        children+=("$tracer")
        wait_until 60 eval 'pgrep -x program -P $tracer >begun || test -s got'
        sleep $after
        kill -9 $tracer 2>/dev/null
        wait $tracer 2>/dev/null
        wait_until 60 test -s got
        cmp -s want got || fail "other output than untraced after sprof was killed"
    done
    ;;
ended)
    # After the end of the trace, and after its probes were taken out, libraries come and go as before.
    for how in end detach; do
        mkfifo in.$how
        "$SPROF" trace -o t.db --module 'plugin*' -- ./program 2 50 wait <in.$how >got 2>trace.err &
        tracer=$!
        children+=("$tracer")
        exec 7>in.$how
        wait_for_trace trace.err -i t.db
        echo >&7
        wait_until 60 has_calls inner0 500
        "$SPROF" ctl -i t.db $how >ctl.out 2>&1 || fail "ctl $how fails: $(cat ctl.out)"
        echo >&7
        exec 7>&-
        wait $tracer
        [ $? = 3 ] || fail "other exit status than untraced after $how"
        calls t.db >found
        counted inner0 500 && counted construct0 50
    done
    ;;
bad)
    # Nothing that matches is there at the start: it may come, and where it does not that is no failure of the command.
    "$SPROF" trace -o t.db --module 'never*' -- ./program 1 2 >got 2>err
    [ $? = 3 ] || fail "other exit status than untraced"
    grep -q "only what it loads later can be traced" err || fail "it is not said that nothing matches"
    # A file that is no library is the loader's matter.
    cp plugin1.c plugin0.so
    ./program 1 1 >want
    wanted=$?
    "$SPROF" trace -o t.db -- ./program 1 1 >got 2>err
    [ $? = $wanted ] || fail "other exit status than untraced with a damaged library"
    cmp -s want got || fail "other output than untraced with a damaged library"
    ;;
*) fail "no such case" ;;
esac
