#!/bin/bash
# Commands that sample themselves, because perf events are refused or because --source says so.
#   agent.sh CASE
. "$(dirname "$0")/agent_lib.sh"

# Without a word from the user, and the summary says so.
stands_in() {
    for error in EPERM EACCES ENOSYS; do
        expect 0 "$PROGRAMS/refuse" perf_event_open $error "$SPROF" record -o t.db -- \
            "$PROGRAMS/split" once 1500
        said '^sprof: SIGPROF agent, at most the kernel.*[0-9]+ Hz \((perf events|this kernel)'
        said 'perf events would sample .*: run '
        # … with no more than the rest of what was measured between the two.
        grep -A 2 '^sprof: SIGPROF agent' err | grep -q 'perf events would sample' ||
            fail "the cure does not follow the reason"
        whole 20 0.9
        expect 0 "$SPROF" report -i t.db
        grep -q 'SIGPROF agent' out || fail "the report does not name its source"
        grep -qE 'SIGPROF agent.*perf' out || fail "nor why"
    done
    expect 0 "$SPROF" record -o t.db -- true
    ! sql t.db "SELECT source FROM run" | grep -q SIGPROF || fail "the agent, though perf works"
}

refused() { # MESSAGE COMMAND …
    expect 1 "${record[@]}" -- "${@:2}"
    said_only "$1"
    said 'perf events can sample it'
    [ ! -s out ] && [ ! -e t.db ] || fail "it was started"
}

# Where neither can sample it, both reasons are said.
both_refused() {
    expect 1 "$PROGRAMS/refuse" perf_event_open EPERM "$SPROF" record -o t.db -- "$OTHERS/agent_static"
    said_only "(perf events|this kernel).*; .*linked statically"
    said 'cannot sample with the SIGPROF agent'
    [ ! -e t.db ] || fail "it was started"
    expect 1 "$PROGRAMS/refuse" perf_event_open EPERM "$SPROF" record -o t.db -p $$
    ! grep -q 'agent' err || fail "the agent is no way for a running process"
}

# Handlers on alternate stacks that have room for one frame and no more: the kernel would end the program at a sample.
small_stacks() {
    cat >small.c <<'END'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
static jmp_buf back;
static volatile int leaves, handled;
static void spin(double seconds)
{
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end)
        for (volatile int i = 0; i < 10000; i++)
            ;
}
__attribute__((noinline)) void outside(void) { spin(0.4); handled += 10; }
static void on_signal(int number)
{
    sigset_t all, before;
    (void)number;
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* and nothing comes for all that */
    spin(0.3);
    sigprocmask(SIG_SETMASK, &before, 0);
    handled++;
    if (leaves)
        longjmp(back, 1); /* with the mask of the handler */
}
int main(int argc, char **argv)
{
    const size_t least = getauxval(AT_MINSIGSTKSZ), page = 4096;
    const size_t size = (least ? least : 2048) + 1200 + (size_t)atoi(argv[1]), room = (size + 2 * page) / page * page;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK}, set;
    char *memory = mmap(0, room + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)argc;
    mprotect(memory + page, room, PROT_READ | PROT_WRITE);
    mprotect(memory, page, PROT_NONE);
    const stack_t stack = {.ss_sp = memory + page + (room - size), .ss_size = size};
    if (room - size >= page)
        mprotect(memory + page, page, PROT_NONE);
    sigaction(SIGUSR1, &action, 0); /* one before there is the stack, one after it */
    if (sigaltstack(&stack, 0))
        return 3;
    sigaction(SIGUSR2, &action, 0);
    raise(SIGUSR1);
    raise(SIGUSR2);
    leaves = 1;
    if (!setjmp(back))
        raise(SIGUSR1);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &one, 0);
    outside();
    sigaction(SIGUSR2, 0, &set);
    printf("handled %d, %s\n", handled, sigismember(&set.sa_mask, SIGPROF) ? "another mask" : "the mask as it was set");
    return 0;
}
END
    gcc -O1 -g -o small small.c || fail "cannot compile"
    for more in 0 5000; do # the second has room for the agent's own frame, too, while no handler runs
        expect 0 ./small $more
        for clock in tick fine; do
            expect 0 "${record[@]}" --agent-clock $clock -- ./small $more
            [ "$(cat out)" = "handled 13, the mask as it was set" ] || fail "it printed $(cat out)"
            said 'sprof: 0?[.0-9]* s in signal handlers on alternate stacks .* were not sampled'
            holds "$(counter agent.blocked_ns) / 1e9 > 0.6 && $(counter agent.blocked_ns) / 1e9 < 1.3" "what is told"
            outside=$(sql t.db "SELECT coalesce(sum(inclusive_weight), 0) / 1e9 FROM v_function WHERE function = 'outside'")
            holds "$outside > 0.2 && $outside < 0.55" "what is sampled beside it"
            holds "$(sql t.db "SELECT coalesce(max(inclusive_weight), 0) / 1e9 FROM v_function WHERE function = 'on_signal'") < 0.1" "in handlers"
        done
    done
}

# A handler on an alternate stack switches to another stack, and its frames stay there: samples must not write over them. Then contexts
# that were made in a handler, which block what it blocks.
switched_stacks() {
    cat >switched.c <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
static ucontext_t of_handler, of_scheduler;
static char scheduler_stack[256 << 10];
static int makes_it;
__attribute__((noinline)) void spin(double seconds)
{
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end)
        for (volatile int i = 0; i < 10000; i++)
            ;
}
__attribute__((noinline)) void schedules(void) { spin(0.05); __asm__ volatile(""); }
__attribute__((noinline)) void works(void) { spin(0.02); __asm__ volatile(""); }
static void schedule(void)
{
    for (;;) {
        schedules();
        swapcontext(&of_scheduler, &of_handler);
    }
}
static void make(void)
{
    getcontext(&of_scheduler);
    of_scheduler.uc_stack.ss_sp = scheduler_stack;
    of_scheduler.uc_stack.ss_size = sizeof scheduler_stack;
    makecontext(&of_scheduler, schedule, 0);
}
static void on_signal(int number)
{
    volatile unsigned char mine[2048];
    memset((void *)mine, 0x5a, sizeof mine);
    if (makes_it)
        make();
    makes_it = 0;
    swapcontext(&of_handler, &of_scheduler);
    for (size_t i = 0; i < sizeof mine; i++)
        if (mine[i] != 0x5a) {
            printf("overwritten by signal %d\n", number);
            exit(3);
        }
}
int main(int argc, char **argv)
{
    const size_t size = (size_t)atol(argv[1]);
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    const stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    makes_it = argc > 2;
    sigaltstack(&stack, 0);
    if (!makes_it)
        make();
    sigaction(SIGUSR1, &action, 0);
    for (int i = 0; i < 10; i++) {
        works();
        raise(SIGUSR1);
    }
    printf("as it was\n");
    return 0;
}
END
    gcc -O1 -g -o switched switched.c || fail "cannot compile"
    for arguments in 65536 "65536 in_handler" 1000000; do
        # shellcheck disable=SC2086
        expect 0 "${record[@]}" -- ./switched $arguments
        [ "$(cat out)" = "as it was" ] || fail "$arguments: it printed $(cat out)"
        schedules=$(sql t.db "SELECT coalesce(sum(inclusive_weight), 0) / 1e9 FROM v_function WHERE function = 'schedules'")
        holds "$schedules > 0.25 && $schedules < 0.65" "$arguments: behind the switch"
    done
}

# A program that has little address space, or locks all its memory, has as much of it as without.
little_memory() {
    prepare_ordinary_user
    cat >little.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
    if (argc > 1)
        printf("locked %d\n", mlockall(MCL_CURRENT));
    else
        printf("allocated %d\n", malloc(200 << 20) != 0);
    for (volatile unsigned i = 0; i < 300000000; i++)
        ;
    return argv[0] == 0;
}
END
    cc -O1 -o user/little little.c || fail "cannot compile"
    chmod 755 user/little
    cd home || exit 1
    for limit in "-v 300000" "-l 8000 lock"; do
        local lock=${limit#* * }
        [ "$lock" != "$limit" ] || lock=
        expect 0 "${as_ordinary_user[@]}" bash -c "ulimit ${limit% lock}; exec '$work/user/little' $lock"
        cp "$work/out" "$work/wanted"
        # The limit is the command's, not that of sprof.
        expect 0 "${as_ordinary_user[@]}" "$user_sprof" record --source sigprof -o u.db -- \
            bash -c "ulimit ${limit% lock}; exec '$work/user/little' $lock"
        cmp "$work/out" "$work/wanted" || fail "another result under ulimit $limit"
        mv u.db "$work/t.db"
        (cd "$work" && holds "$(value samples) > 10" "samples under ulimit $limit") || exit 1
    done
}

# Where not even the agent's memory finds room, that is the reason given.
no_memory() {
    command -v prlimit >/dev/null || skip "no prlimit"
    cat >tiny.c <<'END'
int main(void)
{
    for (volatile unsigned i = 0; i < 100000000; i++)
        ;
    return 5;
}
END
    cc -O1 -o tiny tiny.c || fail "cannot compile"
    expect 5 "${record[@]}" -- prlimit --as=6000000 ./tiny
    said "1 of 2 programs ha(s|ve) no room for the agent's memory"
    ! grep -q 'use SIGPROF' err || fail "another reason"
    holds "$(counter agent.standing_back) == 0" "programs that stand back"
}

# Programs that have a handler for SIGPROF, but no timer (sort has one), are sampled.
sort() {
    seq 1 400000 >numbers
    command sort -R numbers >shuffled
    expect 0 "${record[@]}" -- sh -c 'sort -n shuffled; sort -r shuffled | head -n 1'
    cmp -s <(head -n 400000 out) numbers || fail "the output is another one"
    ! grep -q 'SIGPROF themselves' err || fail "sort was left alone"
    holds "$(sql t.db "SELECT sum(samples) FROM v_thread WHERE process = 'sort'") > 10" "samples of sort"
}

# What cannot be sampled so is refused before it starts, with the reason and what works.
refusals() {
    refused 'linked statically' "$OTHERS/agent_static"
    refused 'Go program' "$OTHERS/agent_go"
    refused 'sanitizer' "$OTHERS/agent_sanitized"
    printf '\177ELF\001\001\001%057d' 0 >narrow && chmod 755 narrow
    refused 'word size' ./narrow
    printf '#!%s\n' "$OTHERS/agent_static" >script && chmod 755 script
    refused 'linked statically' ./script
    if [ "$(id -u)" = 0 ]; then
        cp "$SUBJECT" foreign && chown 12345 foreign && chmod 4755 foreign
        refused 'other rights' ./foreign spin 1
    fi
    start sleep 60
    expect 2 "$SPROF" record --source sigprof -p "$child"
    said_only 'a command that sprof launches'
    expect 2 "$SPROF" record --source sigprof -e page-faults -- true
    said_only 'CPU time only'
    expect 2 "$SPROF" record --source other -- true
    said_only 'there is no source `other`; there are: perf, sigprof'
    expect 127 "${record[@]}" -- ./nowhere
    said_only 'command not found'
    [ -z "$(ls "$XDG_RUNTIME_DIR")" ] || fail "a socket is left over"
}

# Output, exit status, environment and descriptors are those of the command alone.
output_is_its_own() {
    seq 1 50000 >in
    "${record[@]}" -- sh -c 'cat; env; ls /proc/self/fd; exit 7' <in >out 2>err
    [ $? = 7 ] || fail "exit status"
    sh -c 'cat; env; ls /proc/self/fd; exit 7' <in >wanted
    # sprof adds one variable, by which a program can control its own recording.
    cmp <(grep -vE '^(_|SPROF_CONTROL)=' out) <(grep -v '^_=' wanted) || fail "the output is another one"
    LD_PRELOAD=$work/nothing.so run "${record[@]}" -- sh -c 'echo "$LD_PRELOAD"'
    grep -q "^$work/nothing.so\$" out || fail "a preload of the user's is lost"
    for name in SEGV TERM; do
        bash -c 'ulimit -c 0; "${@:2}" -- sh -c "kill -$1 \$\$"; exit $?' - $name "${record[@]}" >out 2>err
        [ $? = $((128 + $(kill -l $name))) ] || fail "the command died of $name, sprof did not"
    done
}

# Shells, scripts, make, programs started in each way, with an empty environment, by a relative path.
programs_of_all_kinds() {
    expect 0 "${record[@]}" -- "$SUBJECT" programs 40
    holds "$(counter agent.programs) == 17" "programs and forks that an agent is in"
    holds "$(sampled_weight) > 11 * 0.04 * 0.4" "CPU time of what was started"
    cat >Makefile <<END
all: ; cd / && env -i $SUBJECT spin 200
END
    expect 0 "${record[@]}" -- make
    holds "$(sampled_weight) > 0.15" "a program that make, sh and env start"
    expect 0 "${record[@]}" -- "$SUBJECT" fork 200
    holds "$(sampled_weight) > 0.35" "a child of fork, and its thread"
    expect 0 "${record[@]}" -- "$SUBJECT" wait-for-all
    grep -q '^1$' out || fail "sigwait brought another signal than the program's"
    expect 0 "${record[@]}" -- "$SUBJECT" clone 300
    holds "$(value samples) > 10" "a thread made by clone"
    # Below its handler's stack is the main one, read from the living process: not of its last moments.
    expect 0 "${record[@]}" -- "$SUBJECT" other-stack
    whole 10 0.5
}

refused_record=("${refuse[@]}" "$SPROF" record -o t.db)

python() {
    expect 0 "${refused_record[@]}" -- /usr/bin/python3 -c \
        'print(sum(i * i % 7 for i in range(9000000)))'
    [ "$(cat out)" = "$(/usr/bin/python3 -c 'print(sum(i * i % 7 for i in range(9000000)))')" ] ||
        fail "the program's output is not its own"
    whole 30 0.98
    holds "$(sql t.db "SELECT 100.0 * max(inclusive_weight) / (SELECT sum(exclusive_weight)
        FROM v_function) FROM v_function WHERE function = 'Py_RunMain'") > 80" "the main function"
}

# Blocks all signals around pthread_create.
xz() {
    head -c 9000000 /dev/urandom | base64 -w 0 >data
    expect 0 "${refused_record[@]}" -- /usr/bin/xz -T2 -1 --block-size=2MiB -k data
    whole 50 0.98
    holds "$(sql t.db "SELECT count(*) FROM v_thread WHERE samples > 15") >= 2" "busy threads"
}

gxx() {
    echo '#include <regex>
bool f(const char *text) { return std::regex_match(text, std::regex("(a|b)*c[d-f]+")); }' >regex.cpp
    expect 0 "${refused_record[@]}" -- g++ -O2 -c regex.cpp
    [ -s regex.o ] || fail "nothing was compiled"
    whole 50 0.98
    sql t.db "SELECT DISTINCT process FROM v_thread" | grep -qx cc1plus || fail "no process cc1plus"
    sql t.db "SELECT DISTINCT process FROM v_thread" | grep -qx as || fail "no process as"
}

# Shots are pending when programs are replaced: none may die of one.
exec_storm() {
    cat >storm.sh <<END
for ((i = 0; i < 300; i++)); do /bin/true || echo bad; done
exec -a again $SUBJECT spin 100 || echo bad
END
    expect 0 "${record[@]}" -- bash storm.sh
    [ ! -s out ] || fail "a program died"
    holds "$(counter agent.programs) >= 600" "forks and programs"
    # Used before an agent is there and after it: not sampled, but booked.
    local all
    all=$(sql t.db "SELECT sum(exclusive_weight) FROM v_function")
    holds "$all >= 0.9 * $(sql t.db "SELECT target_cpu_ns FROM run")" "CPU time accounted for"
    expect 0 "${record[@]}" -- bash -c 'for ((i = 0; i < 1000; i++)); do (:); done'
    holds "$(counter agent.programs) >= 900" "forks"
    holds "$(sql t.db "SELECT count(*) - count(DISTINCT pid) FROM process") <= 1" "no process is two"
}

own_profiler() {
    expect 0 "${record[@]}" -- "$SUBJECT" own-profiler 300
    grep -qE '^[1-4]?[0-9] 1$' out || fail "the program's own profiler is disturbed"
    said 'uses? SIGPROF'
}

interrupted() {
    expect 0 "${record[@]}" -- "$SUBJECT" interrupted 2000
    grep -q '^0$' out || fail "system calls were cut short"
}

# A target that writes garbage into the memory it shares: its own loss, nobody else's.
hostile() {
    for ((i = 0; i < 5; i++)); do
        expect 3 "${record[@]}" -- "$SUBJECT" garble 500
        expect 0 "$SPROF" report -i t.db
    done
}

# kill -9 of sprof: the target goes on, its timers stop, and all but the last second is there.
kill_recorder() {
    start "${record[@]}" -- "$SUBJECT" go-on 8000 >out 2>err
    recorder=$child
    wait_until 60 test -s t.db
    wait_until 60 grep -q begun out
    target=$(pgrep -P "$recorder" -x agent_subject)
    has_used() { # HUNDREDTHS of a second of CPU time
        [ "$(awk -v hz="$(getconf CLK_TCK)" '{ print int(($14 + $15) * 100 / hz) }' "/proc/$target/stat")" -ge "$1" ]
    }
    wait_until 60 has_used 150
    sleep 3
    kill -9 "$recorder"
    wait "$recorder" 2>/dev/null
    sleep 1
    [[ $(state_of "$target") == [RS] ]] || fail "the target ended with sprof"
    wait_until 120 grep -q done out
    expect 0 "$SPROF" report -i t.db
    holds "$(sampled_weight) > 0.8" "CPU seconds sampled of the first 1.5"
    left_behind
}

# What it left goes with the next recording; what one that lives uses, or nobody knows, stays.
left_behind() {
    local place
    place=$(echo "$XDG_RUNTIME_DIR"/sprof-??????)
    [ -S "$place/agent" ] || fail "no socket was left behind: $place"
    touch "$place" # which takes more than a minute on a busy machine
    expect 0 "${record[@]}" -- true
    [ -S "$place/agent" ] || fail "a place that was just made is gone"
    start "$SPROF" record --source sigprof -o other.db -- "$SUBJECT" go-on 8000 >other 2>/dev/null
    wait_until 60 grep -q begun other
    mkdir "$XDG_RUNTIME_DIR/sprof-mine12" && chmod 700 "$XDG_RUNTIME_DIR/sprof-mine12"
    touch -d '2 minutes ago' "$XDG_RUNTIME_DIR"/sprof-??????
    expect 0 "${record[@]}" -- true
    [ ! -e "$place" ] || fail "what a killed recorder left is still there"
    [ -d "$XDG_RUNTIME_DIR/sprof-mine12" ] || fail "somebody else's directory is gone"
    [ "$(ls "$XDG_RUNTIME_DIR"/sprof-??????/agent | wc -l)" = 1 ] || fail "a living recorder's socket is gone"
    kill -TERM "$child"
    wait "$child" || true
}

# A program may try to execute what is no file: it is told what the kernel says of that, and waits for nobody to write into a
# pipe.
exec_of_pipes() {
    mkfifo pipe && chmod +x pipe
    cat >runs.py <<'END'
import os
for name in "./pipe", "/", "/dev/null":
    try:
        os.execv(name, [name])
    except OSError as error:
        print(name, error.errno, flush=True)
os._exit(3)
END
    expect 3 "${record[@]}" -- timeout 20 python3 runs.py
    printf '%s\n' './pipe 13' '/ 13' '/dev/null 13' | cmp -s - out || fail "it was told: $(cat out)"
}

# Afterwards a shell goes on starting programs, forks above all, as if sprof had never been.
kill_recorder_of_shell() {
    cat >later.sh <<'END'
echo begun
while [ ! -e killed ]; do sleep 0.01; done
for ((i = 0; i < 20; i++)); do
    echo "$i" | tr 0-9 a | (read -r word && echo "$word") | cat || echo bad
    /bin/true || echo bad
    (exec /bin/true) || echo bad
done
echo done
END
    start "${record[@]}" -- bash later.sh >out 2>err
    recorder=$child
    wait_until 60 grep -q begun out
    kill -9 "$recorder"
    wait "$recorder" 2>/dev/null
    touch killed
    wait_until 60 grep -q done out
    [ "$(grep -cE '^aa?$' out)" = 20 ] && [ "$(wc -l <out)" = 22 ] || fail "programs failed: $(cat out)"
    [ ! -s err ] || fail "something was said: $(cat err)"
}

# kill -9 of the target: what it wrote last is there.
kill_target() {
    start "${record[@]}" -- "$SUBJECT" go-on 60000 >out 2>err
    recorder=$child
    wait_until 60 grep -q begun out
    sleep 2
    target=$(pgrep -P "$recorder" -x agent_subject)
    used=$(awk '{ print $14 + $15 }' "/proc/$target/stat")
    kill -9 "$target"
    wait "$recorder"
    [ $? = 137 ] || fail "sprof did not end as its command"
    holds "$(sampled_weight) >= 0.7 * $used / $(getconf CLK_TCK)" "samples up to the end"
}

# A child that no agent can be in is not forgotten.
children_without() {
    cat >spin.c <<'END'
int main(void) { for (volatile unsigned i = 0; i < 600000000; i++); return 0; }
END
    cc -O1 -static -o still spin.c || fail "cannot compile"
    expect 4 "${record[@]}" -- sh -c './still; exit 4'
    local booked
    booked=$(sql t.db "SELECT coalesce(sum(exclusive_weight), 0) / 1e9 FROM v_function
        WHERE function = '[not sampled]'")
    holds "$booked > 0.1" "CPU time of a static child"
    said '1 programs? that the command started .*linked statically'
    ! grep -q 'ld.so' err || fail "the loader complained"
}

# A loader that is a command runs the program of its arguments: with an agent, also as a child.
loaders() {
    local loader
    loader=$(python3 -c 'import re, sys
print(re.search(rb"/[^\0]*ld-linux[^\0]*", open(sys.argv[1], "rb").read()).group().decode())' "$SUBJECT") || skip "no glibc"
    expect 0 "${record[@]}" -- "$loader" --argv0 other "$SUBJECT" spin 200
    holds "$(value samples) > 5" "samples of a program of the loader"
    expect 0 "${record[@]}" -- sh -c "$loader $SUBJECT spin 200; exit 0"
    holds "$(value samples) > 5" "samples of such a child"
    rm t.db
    refused 'linked statically' "$loader" "$OTHERS/agent_static"
    refused 'sanitizer' "$loader" "$OTHERS/agent_sanitized"
    refused 'no program follows it' "$loader" --version
}

# A library takes the address of another one that was unloaded: each has its own samples.
replaced_code() {
    for name in one two; do
        cat >$name.c <<END
void spin_$name(unsigned long turns);
void spin_$name(unsigned long turns) { for (volatile unsigned long i = 0; i < turns; i++); }
END
        cc -O1 -g -shared -fPIC -o lib$name.so $name.c || fail "cannot compile"
    done
    cat >main.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    int same = 0;
    void *before = 0;
    for (int i = 0; i < 6; i++) {
        void *library = dlopen(i % 2 ? "./libtwo.so" : "./libone.so", RTLD_NOW);
        void (*spin)(unsigned long) = (void (*)(unsigned long))dlsym(library, i % 2 ? "spin_two" : "spin_one");
        same += (void *)spin == before;
        before = (void *)spin;
        spin(i % 2 ? 600000000 : 300000000);
        dlclose(library);
    }
    printf("%d\n", same);
    return 0;
}
END
    cc -O1 -o main main.c || fail "cannot compile"
    expect 0 "${record[@]}" -- ./main
    holds "$(cat out) >= 4" "libraries at the address of the one before"
    local one two
    one=$(sql t.db "SELECT exclusive_weight / 1e9 FROM v_function WHERE function = 'spin_one'")
    two=$(sql t.db "SELECT exclusive_weight / 1e9 FROM v_function WHERE function = 'spin_two'")
    echo "$one s in one, $two s in two"
    holds "$two > 1.2 * $one && $two < 3.5 * $one" "twice as much in the second"
}

# A program that has used up its descriptors: its children are sampled, and find their limit and numbers as they are.
descriptors() {
    cat >filled.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noinline)) void work(void)
{
    for (volatile unsigned i = 0; i < 600000000; i++)
        ;
}
static void say(const char *who)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    const int next = dup(0);
    printf("%s: limit %lu, next %d, error %d\n", who, (unsigned long)limit.rlim_cur, next, next < 0 ? errno : 0);
    fflush(stdout);
    if (next >= 0)
        close(next);
}
int main(int argc, char **argv)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    setrlimit(RLIMIT_NOFILE, &limit);
    const int spare = argc > 1 ? argv[1][0] - '0' : 0;
    int last = 0, status;
    for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;)
        last = fd;
    for (int i = 0; i < spare; i++)
        close(last - i);
    say("parent");
    if (fork() == 0) {
        say("child");
        work();
        _exit(3);
    }
    wait(&status);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    say("closed");
    return WEXITSTATUS(status) + 2;
}
END
    cc -O1 -o filled filled.c || fail "cannot compile"
    local spare limit
    for spare in 0 1 2; do
        ./filled $spare >wanted
        expect 5 "${record[@]}" -- ./filled $spare
        cmp -s out wanted || fail "the program finds other descriptors: $(diff out wanted)"
        holds "$(counter agent.programs) == 2" "programs and forks that an agent is in"
        holds "$(sql t.db "SELECT sum(exclusive_weight) * 1.0 / (SELECT target_cpu_ns FROM run) FROM v_function
            WHERE function = 'work'") > 0.5" "the child's CPU time"
    done
    # Where the limit cannot be raised, the child runs without, and the reason is named.
    (ulimit -n 64 && ./filled 0) >wanted
    expect 5 "${record[@]}" -- bash -c 'ulimit -n 64; exec ./filled 0'
    cmp -s out wanted || fail "the program finds other descriptors: $(diff out wanted)"
    said '1 process had fewer than three descriptors left'
    holds "$(sql t.db "SELECT sum(weight) * 1.0 / (SELECT target_cpu_ns FROM run) FROM sample WHERE count = 0") > 0.5" \
        "the child's CPU time"
    # Nor where a program begins with so few: one and two beside its input, output and errors. With three it is sampled.
    cat >few.c <<'END'
int main(void)
{
    for (volatile unsigned i = 0; i < 300000000; i++)
        ;
    return 6;
}
END
    cc -O1 -o few few.c || fail "cannot compile"
    for limit in 4 5; do
        expect 6 "${record[@]}" -- bash -c "exec 3>&- 4>&- 5>&-; ulimit -n $limit; exec ./few"
        said '1 process had fewer than three descriptors left'
        [ ! -s out ] || fail "the program said something"
        holds "$(sql t.db "SELECT sum(weight) * 1.0 / (SELECT target_cpu_ns FROM run) FROM sample WHERE count = 0") > 0.5" \
            "the program's CPU time"
    done
    expect 6 "${record[@]}" -- bash -c "exec 3>&- 4>&- 5>&-; ulimit -n 6; exec ./few"
    ! grep -q descriptors err || fail "three are enough"
    holds "$(sql t.db "SELECT sum(exclusive_weight) * 1.0 / (SELECT target_cpu_ns FROM run) FROM v_function
        WHERE function = 'main'") > 0.5" "the program's samples"
}

# A program in another root directory, or of another user, finds no agent, and runs as it does without.
out_of_reach() {
    needs_root "to be another user, and to change the root directory"
    prepare_ordinary_user split libknown.so
    expect 0 "${record[@]}" -- bash -c "${as_ordinary_user[*]} '$user_split' once 300 | wc -l; :"
    [ "$(cat out)" = 1 ] || fail "another output"
    said '1 program that the command started could not reach .*another user'
    mkdir -p root/lib64 root/lib
    cp "$PROGRAMS/wakes" root/
    ldd "$PROGRAMS/wakes" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "root${library%/*}" && cp "$library" "root$library"
    done
    expect 0 "${record[@]}" -- bash -c "chroot root /wakes pipes 100; :"
    ! grep -q 'ld.so' err || fail "the loader complained: $(cat err)"
    said '1 program that the command started could not reach .*another root directory'
    holds "$(sql t.db "SELECT sum(weight) FILTER (WHERE count = 0) FROM sample") > 90000000" "its time is booked"
}

# An ordinary user, who reads no manual, in a container that refuses perf events.
ordinary_user() {
    prepare_ordinary_user split refuse libknown.so
    cd "$work/home" || exit 1
    expect 0 "${as_ordinary_user[@]}" "$work/user/refuse" perf_event_open EPERM "$user_sprof" \
        record -o u.db -- "$user_split" once 3000
    [ "$(stat -c %a u.db)" = 600 ] || fail "others can read the recording"
    mv u.db "$work/t.db" && cd "$work" || exit 1
    whole 20 0.9
}

# Relative paths, and a working directory that changes; a binary without its library.
moved() {
    mkdir -p place/bin place/libexec/sprof
    cp "$SPROF" place/bin/ && cp "$AGENT" place/libexec/sprof/
    cd place || exit 1
    expect 0 ./bin/sprof record --source sigprof -o ../t.db -- sh -c "cd / && exec $SUBJECT spin 200"
    cd ..
    holds "$(value samples) > 5" "samples"
    # One that may not be read.
    prepare_ordinary_user
    chmod 711 user/libexec/sprof && chmod 600 user/libexec/sprof/*
    [ "$(id -u)" = 0 ] || chmod 000 user/libexec/sprof/*
    cd home || exit 1
    expect 1 "${as_ordinary_user[@]}" "$user_sprof" record --source sigprof -- true
    said_only "may not be read by you: .*/${AGENT##*/}"
    said 'chmod -R a\+rX'
    cd ..
    rm place/libexec/sprof/*
    expect 1 place/bin/sprof record --source sigprof -- true
    said_only 'not installed'
}

"$1"
