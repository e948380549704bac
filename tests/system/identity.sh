#!/bin/bash
# Whose time it is: threads that others name, processes that execute another program, numbers that are used again.
#   identity.sh CASE perf|agent
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "no gcc"

cat >spin.h <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
/* Until the calling thread has used so many milliseconds of CPU time. */
static inline __attribute__((always_inline)) void spin(long ms)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const long end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
    do
        for (volatile long i = 0; i < 20000; i++)
            ;
    while (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), now.tv_sec * 1000 + now.tv_nsec / 1000000 < end);
}
END

build() { # NAME: from standard input
    cat >"$1.c"
    expect 0 gcc -O1 -g -pthread "$1.c" -o "$1"
}

# record PROGRAM…: with the case's source of samples
record() {
    expect 0 "$SPROF" record "${source[@]}" -o r.db -- "$@"
}

case ${2-perf} in
agent) source=(--source sigprof) ;;
*) source=() ;;
esac

is() { # QUERY EXPECTED
    is_of r.db "$@"
}

is_of() { # RECORDING QUERY EXPECTED
    local got
    got=$(sql "$1" "$2" | tr '\n' ' ')
    [ "$got" = "$3 " ] || fail "$2: '$got' instead of '$3'"
}

# Which of the programs' functions ran in which thread or process.
rows="substr(path, instr(path, 'mine_'), 6) AS work FROM v_sample WHERE instr(path, 'mine_') ORDER BY 1, 2"
of_threads="SELECT DISTINCT thread, $rows"
of_processes="SELECT DISTINCT process, $rows"

case $1 in
thread_names)
    build named <<'END'
#include "spin.h"
static pthread_barrier_t begun;
__attribute__((noipa)) static void mine_a(void) { spin(60); }
__attribute__((noipa)) static void mine_b(void) { spin(60); }
static void *run(void *work) { pthread_barrier_wait(&begun); ((void (*)(void))work)(); return NULL; }
int main(void)
{
    pthread_t a, b;
    pthread_barrier_init(&begun, NULL, 3);
    pthread_create(&a, NULL, run, (void *)mine_a);
    pthread_create(&b, NULL, run, (void *)mine_b);
    pthread_setname_np(a, "first-worker");
    pthread_setname_np(b, "second-worker");
    pthread_barrier_wait(&begun);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
END
    record ./named
    is "$of_threads" "first-worker|mine_a second-worker|mine_b"
    is "SELECT name FROM process" "named"
    build late <<'END'
#include "spin.h"
int main(void) { spin(150); pthread_setname_np(pthread_self(), "late-name"); spin(10); return 0; }
END
    record ./late
    is "SELECT name FROM thread" "late-name"
    ;;
exec)
    build one <<'END'
#include "spin.h"
__attribute__((noipa)) static void mine_1(void) { spin(80); }
int main(void) { mine_1(); execl("./two", "two", (char *)NULL); return 1; }
END
    build two <<'END'
#include "spin.h"
__attribute__((noipa)) static void mine_2(void) { spin(80); }
int main(void) { mine_2(); return 0; }
END
    record ./one
    is "$of_processes" "one|mine_1 two|mine_2"
    is "SELECT name, count(DISTINCT pid) FROM process GROUP BY 1" "one|1 two|1"
    for other in one:mine_2 two:mine_1; do
        expect 0 "$SPROF" export -i r.db --process ${other%:*} -f folded -o r.folded
        grep -q mine_ r.folded && ! grep -q ${other#*:} r.folded || fail "--process ${other%:*}: $(cat r.folded)"
    done
    expect 0 "$SPROF" export -i r.db -f firefox -o r.json
    python3 - <<'END' || fail "firefox"
import json
threads = json.load(open("r.json"))["threads"]
assert sorted(t["processName"] for t in threads) == ["one", "two"], threads
END
    [ "$2" = agent ] || exit 0
    # A program of the same file that has no agent does not give its name to the one before.
    build one <<'END'
#include "spin.h"
#include <sys/syscall.h>
static char *two[] = {"two", NULL}, *none[] = {NULL};
__attribute__((noipa)) static void mine_1(void) { spin(80); }
int main(int argc, char **argv)
{
    if (argv[0][0] == 't')
        return sleep(1) + argc > 1;
    mine_1();
    return (int)syscall(SYS_execve, "./two", two, none);
}
END
    ln -f one two
    "$SPROF" record "${source[@]}" -o r.db -- ./one 2>err || grep -q 'agent' err || fail "$(cat err)"
    is "SELECT DISTINCT name FROM process" "one"
    is "SELECT DISTINCT name FROM thread" "one"
    ;;
left_behind)
    build three <<'END'
#include "spin.h"
#include <sys/wait.h>
__attribute__((noipa)) static void mine_4(void) { spin(60); }
int main(void)
{
    if (!fork()) {
        if (!fork()) {
            usleep(50000);
            mine_4();
        }
        _exit(0);
    }
    wait(NULL);
    usleep(50000);
    mine_4();
    usleep(200000);
    return 0;
}
END
    record ./three
    is "SELECT DISTINCT process, $rows" "three|mine_4"
    is "SELECT count(*), count(command), count(parent_id) FROM process" "3|3|2"
    [ "$2" = agent ] || exit 0
    # A parent that ends at once leaves the program that it began to a process above sprof: that is no row.
    build late <<'END'
#include "spin.h"
__attribute__((noipa)) static void mine_5(void) { spin(60); }
int main(void) { mine_5(); return !fopen("done", "w"); }
END
    build starts <<'END'
#include <spawn.h>
#include <unistd.h>
extern char **environ;
int main(void)
{
    char *late[] = {"late", NULL};
    pid_t pid;
    if (!fork())
        _exit(posix_spawn(&pid, "./late", NULL, NULL, late, environ));
    for (int i = 0; i < 6000 && access("done", F_OK); i++)
        usleep(10000);
    return 0;
}
END
    cat >above.py <<'END'
import ctypes, subprocess, sys
ctypes.CDLL(None).prctl(36, 1) # PR_SET_CHILD_SUBREAPER
sys.exit(subprocess.call(sys.argv[1:]))
END
    python3 above.py "$SPROF" record "${source[@]}" -o r.db -- ./starts >out 2>err || fail "$(cat err)"
    is "SELECT count(*) FROM process WHERE name IS NULL" "0"
    is "SELECT count(*) FROM process p JOIN process c ON p.id = c.parent_id WHERE c.name = 'late' AND p.name = 'starts'" "1"
    ;;
exec_from_memory)
    build three <<'END'
#include "spin.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
extern char **environ;
__attribute__((noipa)) static void mine_3(void) { spin(80); }
int main(int argc, char **argv)
{
    char *again[] = {argv[0], "again", NULL};
    if (argc > 1) {
        mine_3();
        return 0;
    }
    const int file = memfd_create("three", MFD_CLOEXEC), own = open("/proc/self/exe", O_RDONLY);
    if (sendfile(file, own, NULL, 1 << 24) > 0)
        fexecve(file, again, environ);
    return 1;
}
END
    record ./three
    is "SELECT DISTINCT kind FROM v_module WHERE module LIKE 'libc%'" "system"
    is "SELECT DISTINCT kind FROM v_function WHERE function = 'mine_3'" "app"
    expect 0 "$SPROF" trace --children -o t.db -- ./three
    is_of t.db "SELECT calls FROM v_call_stats WHERE function = 'mine_3'" "1"
    ;;
exec_by_thread)
    build one <<'END'
#include "spin.h"
__attribute__((noipa)) static void mine_1(void) { spin(60); }
static void *run(void *unused) { mine_1(); execl("./two", "two", (char *)NULL); return unused; }
int main(void) { pthread_t t; mine_1(), mine_1(), mine_1(); pthread_create(&t, NULL, run, NULL); pthread_join(t, NULL); return 3; }
END
    build two <<'END'
#include "spin.h"
__attribute__((noipa)) static void mine_2(void) { spin(250); }
int main(void) { mine_2(); return 0; }
END
    record ./one
    is "$of_processes" "one|mine_1 two|mine_2"
    is "SELECT count(*) FROM process WHERE name IS NULL" "0"
    is "SELECT count(*) FROM thread WHERE name IS NULL" "0"
    is "SELECT count(DISTINCT process_id) FROM thread JOIN process p ON p.id = process_id WHERE p.name = 'two'" "1"
    # The thread has its own CPU time, less than its leader had, but the leader's number and birth.
    is "SELECT total(weight) FILTER (WHERE leaf = '[not sampled]') > 0.2 * sum(weight) FROM v_sample" "0"
    ;;
pid_reuse)
    needs_root "to give numbers of processes"
    build three <<'END'
#include "spin.h"
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
/* Two children with one number, one after the other. */
int main(int argc, char **argv)
{
    const pid_t wanted = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 2; i++) {
        struct clone_args how = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&wanted, .set_tid_size = 1};
        const pid_t child = (pid_t)syscall(SYS_clone3, &how, sizeof how);
        if (child < 0)
            return errno == EEXIST ? 3 : 2;
        if (!child) {
            spin(60);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
END
    [ "$(cat /proc/sys/kernel/pid_max)" -gt 30000 ] || skip "numbers of processes are few"
    number=$((20000 + RANDOM % 9000))
    run "$SPROF" record -o r.db -- ./three $number
    [ "$status" = 0 ] || skip "the number $number is taken, or clone3 is refused"
    is "SELECT count(*) FROM process WHERE pid = $number" 2
    for format in firefox chrome speedscope; do
        expect 0 "$SPROF" export -i r.db -f $format -o r.$format
    done
    python3 - $number <<'END' || fail "exports"
import json, sys
number = sys.argv[1]
threads = json.load(open("r.firefox"))["threads"]
assert {number, number + ".1"} <= {t["pid"] for t in threads}, [t["pid"] for t in threads]
events = json.load(open("r.chrome"))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
assert names[int(number)] == "three", names
assert names[int(number) + (1 << 22)] == f"three ({number}.1)", names
profiles = [p["name"] for p in json.load(open("r.speedscope"))["profiles"]]
assert {f"three {number}", f"three {number}.1"} <= set(profiles), profiles
END
    ;;
names)
    command -v g++ >/dev/null || skip "no g++"
    cat >names.cc <<'END'
#include "spin.h"
namespace { struct Class { int v; inline void step(long ms) { spin(ms); v++; } }; }
namespace { template <class T> struct Same { typedef T type; };
template <class T> inline void dependent(typename Same<T>::type ms) { spin(ms); } }
template <class F> inline void each(F f) { f(20L); f(20L); }
static inline void both(long ms) { spin(ms); }
static void (*volatile p1)(long) = both, (*volatile p2)(long) = dependent<long>;
static void (Class::*volatile p3)(long) = &Class::step;
__attribute__((noipa)) void inlining(Class &c)
{
    both(30);
    dependent<long>(30);
    c.step(30);
    each([](long ms) { spin(ms); });
}
__attribute__((noipa)) void calling(Class &c)
{
    p1(30);
    p2(30);
    (c.*p3)(30);
    each([](long ms) { spin(ms + 10); });
}
int main() { Class c{0}; inlining(c); calling(c); return c.v == 3; }
END
    for options in -gdwarf-5 -gdwarf-4 "-g -gsplit-dwarf" "-g -flto"; do
        expect 0 g++ -O2 $options names.cc -o names
        record ./names
        is "SELECT function FROM v_function WHERE inclusive_samples >= 5 AND kind = 'app' AND function NOT LIKE '%each<%' \
            AND function NOT IN ('main', '_start', 'spin(long)') ORDER BY 1" \
            "(anonymous namespace)::Class::step(long) (anonymous namespace)::dependent<long>((anonymous namespace)::Same<long>::type) \
both(long) calling((anonymous namespace)::Class&) calling((anonymous namespace)::Class&)::{lambda(long)#1}::operator()(long) const \
inlining((anonymous namespace)::Class&) inlining((anonymous namespace)::Class&)::{lambda(long)#1}::operator()(long) const"
        is "SELECT count(*) FROM v_function WHERE inclusive_samples > (SELECT count(*) FROM v_sample WHERE count > 0)" 0
    done
    ;;
*) fail "no case $1" ;;
esac
