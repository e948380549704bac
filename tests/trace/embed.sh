#!/bin/bash
# sprof probes --embed: a copy with probes does what the original does, other programs accept it, and every call is counted
# when it is traced.
#     embed.sh CASE
set -u
. "$(dirname "$0")/../system/lib.sh"
here=$(dirname "$0")

make_source() {
    cat >program.cc <<'END'
#include <cstdio>
#include <stdexcept>
#include <string>
#define NI extern "C" __attribute__((noinline))
NI int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n * 3 + 1; }
NI int thrower(int n) { if (n % 10 == 0) throw std::runtime_error("ten"); return leaf(n); }
NI int catcher(int n) { try { return thrower(n) + 1; } catch (std::exception &e) { return (int)std::string(e.what()).size(); } }
NI int chooser(int n) { switch (n % 5) { case 0: return 7; case 1: return leaf(n); case 2: return n; case 3: return 9; default: return -n; } }
int main()
{
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += catcher(i) + chooser(i);
    std::printf("%ld\n", sum);
    return 7;
}
END
}

embed() { # FILE OUTPUT [OPTION …]: what it says is in embed.txt
    "$SPROF" probes "$@" --embed -o "${output:?}" >embed.txt 2>err || fail "cannot embed into $1"
}

same() { # NAME: NAME.probes runs as NAME does
    ./"$1" >plain.txt 2>&1
    local plain=$?
    ./"$1".probes >embedded.txt 2>&1
    [ $? = $plain ] || fail "$1.probes ends with another status than $plain"
    cmp -s plain.txt embedded.txt || fail "$1.probes prints something else: $(cat embedded.txt)"
}

build_id() {
    readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'
}

counts() { # RECORDING FUNCTION CALLS …
    local recording=$1
    shift
    "$SPROF" stats -i "$recording" --format csv >stats.csv 2>err || fail "no stats"
    python3 - "$@" <<'END' || fail "wrong counts: $(cat stats.csv)"
import csv, sys
rows = {row["function"].split("(")[0]: row for row in csv.DictReader(open("stats.csv"))}
for name, calls in zip(sys.argv[1::2], sys.argv[2::2]):
    assert rows[name]["calls"] == calls, (name, calls, rows[name])
    assert rows[name]["mechanism"] == "embedded", rows[name]
END
}

traced() { # NAME …: the copy is traced, and every call is counted
    "$SPROF" trace -o "$1.db" -- ./"$1".probes >traced.txt 2>err
    [ $? = 7 ] || fail "the traced copy of $1 ends with another status"
    cmp -s traced.txt embedded.txt || fail "the traced copy of $1 prints something else"
    counts "$1.db" leaf 1100 thrower 1000 catcher 1000 chooser 1000
}

accepted() { # NAME: by other programs
    [ "$(build_id "$1")" = "$(build_id "$1".probes)" ] || fail "$1.probes has another build id"
    readelf -aW "$1".probes >/dev/null 2>warnings.txt || fail "readelf does not read $1.probes"
    readelf -aW "$1" >/dev/null 2>plain_warnings.txt
    cmp -s warnings.txt plain_warnings.txt || fail "readelf warns of $1.probes: $(head -3 warnings.txt)"
    readelf -SW "$1".probes | grep -q '\.sprof\.probes' || fail "$1.probes is not marked"
    readelf -lW "$1".probes | grep -q 'RWE' && fail "$1.probes has code that may be written"
    cp "$1".probes stripped && strip stripped 2>err || fail "strip does not accept $1.probes"
    ./stripped >stripped.txt 2>&1
    [ $? = 7 ] || fail "the stripped copy of $1 ends with another status"
    cmp -s stripped.txt embedded.txt || fail "the stripped copy of $1 prints something else"
    gdb -nx -batch -ex 'break leaf' -ex run -ex bt ./"$1".probes >gdb.txt 2>&1
    grep -q '^#0 .*leaf' gdb.txt && grep -q ' main' gdb.txt || fail "gdb: $(cat gdb.txt)"
}

kind() { # NAME MECHANISM COMMAND …: what that builds
    local name=$1 mechanism=$2
    shift 2
    "$@" program.cc -o "$name" || fail "no compiler"
    output=$name.probes embed "$name"
    grep -q "$mechanism [0-9]" embed.txt || fail "$name: $(cat embed.txt)"
    same "$name"
    traced "$name"
    accepted "$name"
}

refused() { # STATUS PATTERN COMMAND …: and there is no output
    local status=$1 pattern=$2
    shift 2
    rm -f refused.out
    "$@" >refused.txt 2>&1
    local got=$?
    [ $got = "$status" ] || fail "status $got instead of $status: $*: $(cat refused.txt)"
    grep -qE -- "$pattern" refused.txt || fail "$*: $(cat refused.txt)"
    [ ! -e refused.out ] || fail "$*: there is a file"
    ls refused.out.* >/dev/null 2>&1 && fail "$*: half a file is left"
    return 0
}

# Two threads call step a thousand times each for every line that is read.
cat >counter.c <<'END'
#include <pthread.h>
#include <stdio.h>
#define NI __attribute__((noinline))
NI int step(int n) { __asm__ volatile("" : "+r"(n)); return n * 2 + 1; }
static void *work(void *rounds)
{
    long sum = 0;
    for (long i = 0; i < (long)rounds; i++)
        sum += step((int)i);
    return (void *)sum;
}
int main(void)
{
    char line[16];
    while (fgets(line, sizeof line, stdin)) {
        pthread_t threads[2];
        void *sum[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, work, (void *)1000);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], &sum[i]);
        printf("%ld\n", (long)sum[0] + (long)sum[1]);
        fflush(stdout);
    }
    return 3;
}
END

# Runs a command to which the kernel refuses ptrace, and what goes with it: other processes' memory, whether it is read,
# written, or opened to be written. (SQLite opens its files by other flags.)
cat >without_ptrace.py <<'END'
import ctypes, os, struct, sys
PTRACE, READV, WRITEV, OPENAT = 101, 310, 311, 257
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7fff0000, 0x00050000 | 1
def rule(code, true, false, value):
    return struct.pack("HBBI", code, true, false, value)
rules = [rule(LOAD, 0, 0, 0), rule(EQUAL, 7, 0, PTRACE), rule(EQUAL, 6, 0, READV), rule(EQUAL, 5, 0, WRITEV),
         rule(EQUAL, 0, 3, OPENAT), rule(LOAD, 0, 0, 16 + 2 * 8), rule(EQUAL, 0, 1, os.O_RDWR | os.O_CLOEXEC),
         rule(EQUAL, 1, 1, 0), rule(RETURN, 0, 0, ALLOW), rule(RETURN, 0, 0, REFUSE)]
rules[7] = struct.pack("HBBI", 0x05, 0, 0, 1) # to the refusal
code = b"".join(rules)
buffer = ctypes.create_string_buffer(code)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0" # which would use ptrace
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(len(rules), ctypes.addressof(buffer)))) == 0, ctypes.get_errno()
os.execvp(sys.argv[1], sys.argv[1:])
END

# Steps through its functions one instruction at a time, and at each of those that were moved has libgcc's unwinder walk to
# where it began. Then the first instruction of a function faults; the signal's handler throws, and a caller catches.
make_step() {
    cat >step.cc <<'END'
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <link.h>
#include <ucontext.h>
#include <unwind.h>
#define NI extern "C" __attribute__((noinline))
NI long at_once(long n);
NI long leaf(long n) { __asm__ volatile("" : "+r"(n)); return n * 3 + 1; }
NI long loads(const long *n) { return *n + leaf(*n); }
NI long at_once(long n) { long sum = leaf(n); return sum ^ leaf(sum); }
NI long through(long (*volatile f)(long), long n) { return f(n) + 1; }
NI long pushes(long a, long b, long c, long d) { long e = leaf(a), f = leaf(b), g = leaf(c), h = leaf(d); return e * f - g * h + leaf(e + f + g + h); }
NI long framed(long n) { volatile char room[64 + (n & 7)]; room[n & 7] = 1; return leaf(n) + room[n & 7]; }
NI long again(long n) { long below = n ? again(n - 1) : leaf(0); __asm__ volatile("" : "+r"(below)); return below + 1; }
NI long throws(long n) { if (n % 2) throw n; return leaf(n); }
NI long catches(long n) { try { return throws(n) + 1; } catch (long thrown) { return thrown; } }
NI long faults(const long *n) { return *n * 3; }
NI long guarded(const long *n) { long sum; try { sum = faults(n); } catch (int) { sum = -1; } return sum + 1; }
static void fault(int) { throw 1; }
static uintptr_t first, last;
static _Unwind_Word beginning;
static unsigned long steps, inside, lost;
static _Unwind_Reason_Code find(struct _Unwind_Context *context, void *found)
{
    *(bool *)found |= _Unwind_GetCFA(context) == beginning;
    return _URC_NO_REASON;
}
static void step(int, siginfo_t *, void *context)
{
    const uintptr_t pc = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    bool found = false;
    steps++;
    if (pc < first || pc >= last)
        return;
    inside++;
    _Unwind_Backtrace(find, &found);
    lost += !found;
}
static int take(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr; // the last of them is what was embedded
            last = first + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}
static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *count)
{
    beginning = _Unwind_GetCFA(context);
    return ++*(int *)count == 2 ? _URC_END_OF_STACK : _URC_NO_REASON;
}
NI long work(void)
{
    int count = 0;
    long sum = 0, one = 1;
    _Unwind_Backtrace(note, &count);
    __asm__ volatile("pushf; orl $0x100, (%%rsp); popf" ::: "memory", "cc");
    for (long i = 0; i < 3; i++)
        sum += at_once(i) + loads(&one) + through(leaf, i) + pushes(i, 1, 2, 3) + framed(i) + again(i) + catches(i);
    __asm__ volatile("pushf; andl $~0x100, (%%rsp); popf" ::: "memory", "cc");
    return sum;
}
int main(int argc, char **)
{
    struct sigaction action = {};
    action.sa_sigaction = step;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    dl_iterate_phdr(take, nullptr);
    long sum = work();
    action.sa_handler = fault;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    sum += guarded(nullptr) * 3 + guarded(&sum);
    printf("%ld\n", sum);
    if (argc > 1)
        fprintf(stderr, "%lu instructions, %lu moved, %lu without a way back\n", steps, inside, lost);
    return argc > 1 && (lost || inside < 100);
}
END
}

# stepped NAME PATTERN FLAG …: what it says of the copy's making has the pattern
stepped() {
    local name=$1 pattern=$2
    shift 2
    g++ -g -mno-red-zone -fnon-call-exceptions "$@" step.cc -o "$name" || fail "no compiler"
    output=$name.probes embed "$name" --function '!^(work|step|find|note|take|main|fault)'
    grep -qE "$pattern" embed.txt || fail "$*: $(cat embed.txt)"
    same "$name"
    ./"$name".probes count >counted.txt 2>&1 || fail "$*: frames: $(cat counted.txt)"
    cat counted.txt
    strip -o stripped "$name".probes && ./stripped count >counted.txt 2>&1 || fail "$*: stripped: $(cat counted.txt)"
}

# recorded_copy LANGUAGE COMPILER: a random program's copy is recorded: whole stacks, and the names of the program's functions
recorded_copy() {
    local suffix=c times=600 user whole # times: some tenths of a second, of which the agent's timer sees 250 a second
    [ "$1" = c ] || suffix=cc times=150
    { python3 "$here/generate.py" "$1" 5 | sed 's/^int main(/int once(/' &&
        echo "int main(int count, char **arguments) { for (int i = 0; i < $times; i++) once(count, arguments); return 0; }"; } \
        >random.$suffix || fail "no program"
    "$2" -g -w -O2 -pthread random.$suffix -o random || fail "no compiler"
    output=random.probes embed random
    for source in perf sigprof; do
        rm -f copy.db
        "$SPROF" record --source $source -F 4999 -o copy.db -- ./random.probes log >out 2>err || fail "not recorded"
        IFS=, read -r user whole < <("$SPROF" sql copy.db --format csv "SELECT user_stacks, whole_stacks FROM v_quality" | tail -1)
        moved=$("$SPROF" sql copy.db --format csv "SELECT count(*) FROM frame WHERE file_offset >= $(stat -c %s random) AND
            module_id IN (SELECT id FROM module WHERE name = 'random.probes')" 2>err | tail -1 | tr -d '\r')
        echo "$1 by $source: $user stacks, $whole whole, $moved places among what was moved"
        [ "$moved" -ge 3 ] || fail "too few samples in what was moved"
        # Three more, which are many of the few that the agent has: libgcc's last instructions before a handler have no caller.
        holds "$whole >= 0.99 * $user - 3" "whole stacks"
        # Where libgcc is about to go to a handler it has that one's return address and its own stack still: what it finds there
        # can be the address of a function, before which nothing is named. That is one sample of 100 000.
        "$SPROF" sql copy.db --format csv "SELECT DISTINCT function FROM v_function
            WHERE module = 'random.probes' AND (named OR inclusive_samples > 2)" 2>err | tail -n +2 | tr -d '\r' | sed 's/"//g; s/(.*//; s/@plt//' | sort -u >names.txt
        comm -13 <(nm -C random | cut -c20- | sed 's/(.*//; s/@.*//' | sort -u) names.txt >others.txt
        [ ! -s others.txt ] || fail "names that the program has not: $(cat others.txt)"
    done
}

start() { # [VARIABLE=VALUE …]: the counter, whose process is `target`; it has begun
    rm -f lines sums
    mkfifo lines && : >sums
    env "$@" ./counter.probes <lines >sums &
    target=$!
    children+=($target)
    exec 5>lines
}

line() { # TOTAL: gives it a line, and waits until that many sums are there
    echo >&5
    for _ in $(seq 600); do
        [ "$(wc -l <sums)" = "$1" ] && return
        sleep 0.1
    done
    fail "the counter does not go on"
}

ends_well() { # LINES: the counter ends, and has computed what it computes
    exec 5>&-
    wait $target
    [ $? = 3 ] || fail "the counter ended with another status"
    [ "$(sort -u sums)" = 2000000 ] && [ "$(wc -l <sums)" = "$1" ] || fail "wrong sums: $(cat sums)"
}

wait_for() { # PATTERN RECORDING: in what its trace says of itself
    for _ in $(seq 300); do
        "$SPROF" ctl -i "$2" status >status.txt 2>&1
        grep -q "$1" status.txt && return
        sleep 0.1
    done
    fail "no '$1': $(cat status.txt trace.txt)"
}

trace_it() { # RECORDING [OPTION …]: in the background, without ptrace; `tracer`; probes are in place when it returns
    local recording=$1
    shift
    python3 without_ptrace.py "$SPROF" trace -p $target -o "$recording" --max-overhead none "$@" 2>trace.txt &
    tracer=$!
    children+=($tracer)
    wait_for "$probes of $probes probe" "$recording"
}

probes=2
agent=$(dirname "$SPROF")/libexec/sprof/libsprof-probe.so
listening=(LD_PRELOAD="$agent" SPROF_PROBE=listen)

wait_for_socket() {
    for _ in $(seq 600); do
        grep -q "@sprof-probe-$target\$" /proc/net/unix && return
        sleep 0.1
    done
    fail "the counter does not listen"
}

listen_listens() {
    local task has_thread=
    start "${listening[@]}"
    wait_for_socket
    # The thread that listens has no rights of root.
    for task in /proc/"$target"/task/*; do
        [ "$(cat "$task/comm")" = sprof ] || continue
        has_thread=1
        [ "$(grep -cE '^Cap(Prm|Eff):[[:space:]]*0+$' "$task/status")" = 2 ] || fail "rights: $(grep Cap "$task/status")"
    done
    [ "$has_thread" ] || fail "no thread listens"
    line 1
    trace_it one.db --mode stats
    line 2
    line 3
    "$SPROF" ctl -i one.db stop >ctl.txt 2>&1 || fail "stop: $(cat ctl.txt)"
    line 4
    "$SPROF" ctl -i one.db probe '-^work' >ctl.txt 2>&1 || fail "probe: $(cat ctl.txt)"
    "$SPROF" ctl -i one.db start >ctl.txt 2>&1 || fail "start: $(cat ctl.txt)"
    line 5
    "$SPROF" ctl -i one.db detach >ctl.txt 2>&1 || fail "detach: $(cat ctl.txt)"
    wait $tracer || fail "the trace: $(cat trace.txt)"
    line 6
    counts one.db step 6000 work 4
    # Byte for byte what the file has, where the switches are.
    python3 - $target <<'END' || fail "the code is not as it was"
import re, subprocess, sys
sections = subprocess.run(["readelf", "-SW", "counter.probes"], capture_output=True, text=True).stdout
vaddr, offset, size = (int(x, 16) for x in re.search(r"\.sprof\.text +PROGBITS +(\w+) (\w+) (\w+)", sections).groups())
base = next(int(line.split("-")[0], 16) for line in open(f"/proc/{sys.argv[1]}/maps") if "counter.probes" in line)
there = open(f"/proc/{sys.argv[1]}/mem", "rb")
there.seek(base + vaddr)
file = open("counter.probes", "rb")
file.seek(offset)
# Behind each far jump stands where it led to; all else is equal.
ours, theirs = file.read(size), there.read(size)
different = {i for i in range(size) if ours[i] != theirs[i]}
slots = {m.end() + i for m in re.finditer(re.escape(b"\xff\x25\0\0\0\0"), ours) for i in range(8)}
assert different <= slots, sorted(different - slots)
END
    ends_well 6
}

# Each line begins a call that ends with the program; two of its three threads are there from the beginning to the end.
make_deep() {
    cat >deep.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#define NI __attribute__((noinline))
NI int step(int n) { __asm__ volatile("" : "+r"(n)); return n * 2 + 1; }
static int to_worker[2], from_worker[2];
NI long work(long rounds)
{
    long sum = 0;
    for (long i = 0; i < rounds; i++)
        sum += step((int)i);
    return sum;
}
static void *worker(void *unused)
{
    char one;
    long sum;
    while (read(to_worker[0], &one, 1) == 1) {
        sum = work(1000);
        if (write(from_worker[1], &sum, sizeof sum) != sizeof sum)
            break;
    }
    return unused;
}
static void *young(void *rounds) { return (void *)work((long)rounds); }
NI int serve(long sum)
{
    char line[16];
    pthread_t thread;
    void *third;
    long other;
    int depth;
    printf("%ld\n", sum);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 0;
    pthread_create(&thread, NULL, young, (void *)1000);
    if (write(to_worker[1], "", 1) != 1 || read(from_worker[0], &other, sizeof other) != sizeof other)
        return 1000;
    sum = work(1000) + other;
    pthread_join(thread, &third);
    depth = serve(sum + (long)third);
    __asm__ volatile("" : "+r"(depth));
    return depth + 1;
}
int main(void)
{
    pthread_t thread;
    if (pipe(to_worker) || pipe(from_worker))
        return 100;
    pthread_create(&thread, NULL, worker, NULL);
    return serve(3000000);
}
END
    gcc -O2 -fno-optimize-sibling-calls -g deep.c -pthread -o deep || fail "no compiler"
    output=counter.probes embed deep --function '^(step|work|serve)$'
    grep -q 'prologue 3' embed.txt || fail "$(cat embed.txt)"
}

switches() { # the first bytes of the copy's switches
    python3 - $target <<'END'
import re, struct, subprocess, sys
text = subprocess.run(["readelf", "-SW", "counter.probes"], capture_output=True, text=True).stdout
vaddr, size = (int(x, 16) for x in re.search(r"\.sprof\.probes +PROGBITS +(\w+) \w+ (\w+)", text).groups())
base = next(int(line.split("-")[0], 16) for line in open(f"/proc/{sys.argv[1]}/maps") if "counter.probes" in line)
there = open(f"/proc/{sys.argv[1]}/mem", "rb")
there.seek(base + vaddr)
entries = there.read(size)
for i in range(struct.unpack_from("<I", entries, 12)[0]):
    there.seek(base + struct.unpack_from("<Q", entries, 16 + 48 * i + 8)[0])
    print(there.read(1).hex())
END
}

switched_off() { # which the agent does where the tracer was killed
    for _ in $(seq 300); do
        [ "$(switches | sort -u)" = 3d ] && return
        sleep 0.1
    done
    fail "switches are on: $(switches)"
}

# One trace after another: each has the calls of its time, of all threads, whatever came before; also where the one before
# it was just killed, or is about to end. Other functions are chosen each time, in other modes.
listen_listens_again() {
    local lines=1 expected options tracers=() ended=() one
    make_deep
    start "${listening[@]}"
    wait_for_socket
    for round in $(seq 20); do
        case $((round % 4)) in
        0) expected="step 3000 work 3 serve 1" probes=3 options="--mode stats" ;;
        1) expected="step 3000" probes=1 options="--function ^step$" ;;
        2) expected="step 3000 serve 1" probes=2 options="--function ^(step|serve)$ --callers" ;;
        3) expected="step 3000 work 3 serve 1" probes=3 options="--mode log" ;;
        esac
        # shellcheck disable=SC2086
        trace_it again.$round.db $options
        line $((++lines))
        if [ $((round % 5)) = 3 ]; then
            kill -9 $tracer
            wait $tracer 2>/dev/null
            [ $round != 3 ] || switched_off
            continue
        fi
        "$SPROF" ctl -i again.$round.db end >ctl.txt 2>&1 || fail "end: $(cat ctl.txt)"
        [ $((round % 2)) = 0 ] || wait $tracer || fail "the trace: $(cat trace.txt)"
        [ $((round % 2)) = 1 ] || tracers+=($tracer)
        ended+=("again.$round.db $expected")
    done
    for one in "${tracers[@]}"; do
        wait "$one" || fail "a trace: $(cat trace.txt)"
    done
    line $((++lines))
    switched_off
    for one in "${ended[@]}"; do
        # shellcheck disable=SC2086
        counts $one
    done
    exec 5>&-
    wait $target
    [ $? = $((lines - 1)) ] || fail "the program ended with another status"
    [ "$(sort -u sums)" = 3000000 ] && [ "$(wc -l <sums)" = $lines ] || fail "wrong sums: $(cat sums)"
}

# The agent gives back what it shares with the tracer once that is done with it. Here it runs as soon as it hears of the end, and
# the tracer, on the same processor, behind it: what probes took is said all the same.
listen_listens_last() {
    local cpu
    cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
    start "${listening[@]}"
    wait_for_socket
    taskset -acp "$cpu" $target >pinned.txt 2>&1 || fail "$(cat pinned.txt)"
    for round in 1 2 3; do
        nice -n 19 taskset -c "$cpu" "$SPROF" trace -p $target -o last.db --duration 0.2 2>trace.txt || fail "$(cat trace.txt)"
        grep -q 'ns a call, taken off' trace.txt || fail "round $round: $(cat trace.txt)"
    done
    line 1
    ends_well 1
}

# Leaves three frames a call, by exceptions and by longjmp, for each byte that it reads.
make_leaver() {
    cat >leaver.cc <<'END'
#include <csetjmp>
#include <cstdio>
#include <ctime>
#include <unistd.h>
#define NI extern "C" __attribute__((noinline))
static jmp_buf place;
static inline void busy(long us) { timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a); do clock_gettime(CLOCK_MONOTONIC, &b); while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < us * 1000); }
NI void third(int n) { busy(100); if (n & 1) longjmp(place, 1); throw n; }
NI void second(int n) { busy(100); third(n); busy(1); }
NI void first(int n) { busy(100); second(n); busy(1); }
NI void jumps(int n) { if (!setjmp(place)) first(n); busy(500); }
NI void catches(int n) { try { first(n); } catch (int) { } busy(500); }
int main()
{
    char byte;
    while (read(0, &byte, 1) == 1)
        for (int i = 0; i < 200; i++) { if (i & 1) jumps(i); else catches(i); }
    std::puts("done");
    return 7;
}
END
    g++ -O1 -g leaver.cc -o leaver || fail "no compiler"
    chosen='^(third|second|first|jumps|catches)(\(|$)'
    output=leaver.probes embed leaver --function "$chosen"
    grep -q 'prologue 5)' embed.txt || fail "$(cat embed.txt)"
}

left_frames() { # RECORDING: who was called how often, and left how often
    "$SPROF" sql "$1" --format csv "SELECT function, calls, abnormal, in_flight FROM v_call_stats
        WHERE function IN ('first', 'second', 'third', 'jumps', 'catches') ORDER BY function" 2>err || fail "no figures in $1"
}

own_time() { # RECORDING: who catches works five times as long as who is left, and it is his time
    "$SPROF" sql "$1" --format csv "SELECT sum(self_ns * (function IN ('jumps', 'catches'))) >
        sum(self_ns * (function = 'third')) FROM v_call_stats" 2>err | grep -q '^1' || fail "$1: time of functions that were left"
}

listen_left() {
    local program
    make_leaver
    for program in leaver leaver.probes; do
        printf x | "$SPROF" trace --max-overhead none --function "$chosen" -o $program.db -- ./$program >out 2>err
        [ $? = 7 ] || fail "$program ends with another status"
    done
    left_frames leaver.db >plain.txt
    left_frames leaver.probes.db >embedded.txt
    grep -q '^third,200,200,0' plain.txt || fail "$(cat plain.txt)"
    cmp -s plain.txt embedded.txt || fail "embedded: $(cat embedded.txt)"
    own_time leaver.probes.db
    # Without ptrace by the entries of the PLT.
    cp leaver.probes counter.probes
    start "${listening[@]}"
    wait_for_socket
    probes=5
    trace_it listened.db --function "$chosen" 5>&- # the program reads to the end
    printf x >&5
    for _ in $(seq 600); do [ ! -s sums ] || break; exec 5>&-; sleep 0.1; done
    wait $target
    [ $? = 7 ] || fail "the program ended with another status"
    wait $tracer || fail "the trace: $(cat trace.txt)"
    left_frames listened.db >embedded.txt
    cmp -s plain.txt embedded.txt || fail "listening: $(cat embedded.txt)"
    own_time listened.db
}

# Exceptions that nongnu libunwind takes through the stack, which has no probe here that it could be told by.
listen_unwound() {
    cat >counter.cc <<'END'
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#define NI extern "C" __attribute__((noipa))
static int left;
struct Guard { __attribute__((noipa)) ~Guard() { left++; } };
NI int plain(int n) { volatile int more = 1; return n + more; }
NI int deep(int n) { Guard guard; if (!n) throw 5; return deep(plain(n) - 2) + 1; }
NI int again(int n) { try { return deep(n); } catch (int) { if (plain(n) & 1) throw; std::rethrow_exception(std::current_exception()); } }
NI int catches(int n) { left = 0; try { return again(n); } catch (int e) { return plain(e) + left; } }
NI int beyond(int n) { try { return std::string("text").at((size_t)n); } catch (std::out_of_range &) { return n; } }
int main()
{
    char line[16];
    while (fgets(line, sizeof line, stdin)) {
        int sum = 0;
        for (int i = 0; i < 200; i++) sum += catches(i % 20) + beyond(i % 20);
        printf("%d\n", sum);
        fflush(stdout);
    }
    return 3;
}
END
    local chosen='^(plain|deep|again|catches|beyond)$'
    g++ -O1 counter.cc -o counter -Wl,--no-as-needed -lunwind 2>out || skip "no libunwind"
    output=counter.probes embed counter --function "$chosen"
    echo | LD_DEBUG=bindings ./counter.probes 2>bindings >wanted
    grep -q 'to .*/libunwind.*_Unwind_RaiseException' bindings || fail "another unwinder"
    # With ptrace its function has a probe.
    echo | "$SPROF" trace --function "$chosen" -o with.db -- ./counter.probes >out 2>err
    [ $? = 3 ] && cmp -s wanted out || fail "the traced copy does something else"
    counts with.db catches 200 again 200 deep 2100 plain 2300 beyond 200
    start "${listening[@]}"
    wait_for_socket
    probes=5
    line 1
    trace_it one.db --function "$chosen"
    grep -q 'libunwind.so.8 .*calls are counted, and not timed' trace.txt || fail "$(cat trace.txt)"
    line 2
    "$SPROF" ctl -i one.db end >ctl.txt 2>&1 || fail "end: $(cat ctl.txt)"
    wait $tracer || fail "the trace: $(cat trace.txt)"
    line 3
    unwound_well
    counts one.db catches 200 again 200 deep 2100 plain 2300 beyond 200
    # Where libgcc's comes first, and libunwind is there for something else, calls are timed.
    g++ -O1 counter.cc -o counter -Wl,--no-as-needed -lgcc_s -lunwind || fail "no compiler"
    output=counter.probes embed counter --function "$chosen"
    start "${listening[@]}"
    wait_for_socket
    line 1
    trace_it other.db --function "$chosen" 5>&- # the program reads to the end
    line 2
    unwound_well
    wait $tracer || fail "the trace: $(cat trace.txt)"
    counts other.db catches 200 again 200 deep 2100 plain 2300 beyond 200
    python3 - <<'END' || fail "calls are not timed"
import csv
rows = {row["function"]: row for row in csv.DictReader(open("stats.csv"))}
assert int(rows["catches"]["self_ns"]) > 0 and int(rows["catches"]["untimed_calls"]) == 0, rows["catches"]
END
}

unwound_well() { # the program ends, and has computed what it computes
    exec 5>&-
    wait $target
    [ $? = 3 ] && sort -u sums | cmp -s wanted - || fail "the process does something else: $(cat sums)"
}

listen_listens_killed() {
    start "${listening[@]}"
    wait_for_socket
    trace_it one.db
    line 1
    kill -9 $tracer
    wait $tracer 2>/dev/null
    line 2
    line 3
    "$SPROF" ctl -p $target detach >ctl.txt 2>&1 && fail "detached what listens"
    grep -q 'listens' ctl.txt || fail "$(cat ctl.txt)"
    line 4
    ends_well 4
    # In mode coverage a probe leaves without that anybody stands still.
    start "${listening[@]}"
    wait_for_socket
    trace_it covered.db --mode coverage
    line 1
    wait_for '2 functions called' covered.db
    "$SPROF" ctl -i covered.db end >ctl.txt 2>&1 || fail "end: $(cat ctl.txt)"
    wait $tracer || fail "the trace: $(cat trace.txt)"
    grep -q '2 of 2 functions were called' trace.txt || fail "$(cat trace.txt)"
    line 2
    ends_well 2
}

listen_listens_bad() {
    # A process that does not listen cannot be traced like this: the test's own filter works.
    start
    line 1
    python3 without_ptrace.py "$SPROF" trace -p $target -o none.db >none.txt 2>&1 && fail "traced without ptrace"
    ends_well 1
    # Somebody else is sent away.
    start "${listening[@]}"
    wait_for_socket
    python3 - $target <<'END' || fail "another user is let in"
import os, socket, sys
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.connect("\0sprof-probe-" + sys.argv[1])
    assert peer.recv(4096) == b""
END
    python3 without_ptrace.py "$SPROF" trace -p $target -o none.db --function '^main$' >none.txt 2>&1 && fail "no error"
    grep -q 'the chosen function has no probe in its file' none.txt || fail "$(cat none.txt)"
    trace_it one.db # what could not be traced before can be now
    "$SPROF" trace -p $target -o none.db >none.txt 2>&1 && fail "traced twice"
    grep -q "is being traced already, into .*one.db by process $tracer" none.txt || fail "$(cat none.txt)"
    line 1
    "$SPROF" ctl -i one.db end >ctl.txt 2>&1 || fail "end: $(cat ctl.txt)"
    wait $tracer || fail "the trace: $(cat trace.txt)"
    counts one.db step 2000 work 2
    ends_well 1
}

make_source
case $1 in
prologue)
    kind pie prologue g++ -O2 -g
    kind fixed prologue g++ -O3 -g -no-pie -fno-pie
    kind landing prologue g++ -O2 -g -fcf-protection=full
    kind unoptimized prologue g++ -O0 -g
    ;;
low) # At the lowest address there is no room below the code, and the room behind it begins where a page of code may end.
    g++ -O2 -g -no-pie -fno-pie -Wl,-Ttext-segment=0x10000 program.cc -o low || fail "no compiler"
    output=low.probes embed low
    same low
    traced low
    "$SPROF" trace -o plain.db -- ./low >traced.txt 2>err
    [ $? = 7 ] || fail "the program itself ends with another status"
    ;;
sled)
    kind sled sled g++ -O2 -g -fpatchable-function-entry=5
    kind landing_sled sled g++ -O2 -g -fcf-protection=full -fpatchable-function-entry=16
    kind clang_sled sled clang++ -O2 -g -fpatchable-function-entry=5
    kind xray xray clang++ -O2 -g -fxray-instrument -fxray-instruction-threshold=1
    ;;
chosen)
    g++ -O2 -g program.cc -o some || fail "no compiler"
    output=some.probes embed some --function '^(leaf|catcher)$' --function '!catcher'
    grep -q '^some.probes: 1 probe embedded (prologue 1), all off; entry only 0$' embed.txt || fail "$(cat embed.txt)"
    # A recording chooses: what a trace called; what samples found hot.
    "$SPROF" trace -o some.db --function '^(leaf|step)$' -- ./some >/dev/null 2>&1
    "$SPROF" sql some.db --format csv "SELECT function FROM v_call_stats WHERE calls > 0" 2>/dev/null | tail -n +2 | tr -d '\r' | sort >called
    [ -s called ] || fail "no calls"
    output=some.probes embed some --from some.db
    grep -qE "^some.db: $(wc -l <called) functions? that the trace called\$" embed.txt || fail "$(cat embed.txt)"
    grep -qE "^some.probes: $(wc -l <called) probes? embedded" embed.txt || fail "$(cat embed.txt)"
    gcc -O1 -g -x c - -o hot <<'C' || fail "no compiler"
static volatile unsigned long sum;
__attribute__((noinline)) void burn(void) { for (unsigned long i = 0; i < 400000000; i++) sum += i; }
__attribute__((noinline)) void rest(void) { for (unsigned long i = 0; i < 1000; i++) sum += i; }
int main(void) { burn(); rest(); return 0; }
C
    "$SPROF" record -o hot.db -- ./hot 2>err || fail "no samples"
    output=hot.probes embed hot --from hot.db --min-percent 5
    grep -qE '^hot.db: [23] functions that samples found hot, with their callers$' embed.txt || fail "$(cat embed.txt)"
    "$SPROF" probes hot.probes --function burn >one.txt 2>err && grep -q 'embedded' one.txt || fail "$(cat one.txt)"
    "$SPROF" probes hot.probes --function rest >one.txt 2>err && ! grep -q 'embedded' one.txt || fail "$(cat one.txt)"
    "$SPROF" probes some --embed --from hot.db -o none.probes >out 2>err && fail "functions of another program"
    grep -q "hot.db has no samples of functions in some" err || fail "$(cat err)"
    # The command that it tells is one, wherever the copy is.
    mkdir 'a place'
    output='a place/a copy' embed some --function leaf
    for copy in "$(sed -n 's/^  trace it: sprof //p' embed.txt)" "trace -- ./some.probes"; do
        eval "\"\$SPROF\" ${copy/trace /trace -o told.db }" >/dev/null 2>err
        [ $? = 7 ] || fail "the command that was told: $copy"
    done
    same some
    "$SPROF" probes some.probes --function leaf >one.txt 2>err || fail "no plan of the copy"
    grep -q 'leaf: .*: embedded at 0x' one.txt || fail "$(cat one.txt)"
    "$SPROF" trace -o some.db -- ./some.probes >traced.txt 2>err
    [ $? = 7 ] || fail "status"
    "$SPROF" sql some.db --format csv "SELECT function, mechanism FROM v_call_stats ORDER BY function" >both.csv 2>err ||
        fail "no rows"
    grep -q '^leaf,embedded' both.csv && grep -q '^catcher.*,prologue' both.csv || fail "$(cat both.csv)"
    # All but what is chosen, entries of the PLT that leave frames, its header and sections stands where it did.
    python3 - <<'END' || fail "the copy differs elsewhere"
import re, subprocess
a, b = open("some", "rb").read(), open("some.probes", "rb").read()
headers = subprocess.run(["readelf", "-SW", "some"], capture_output=True, text=True).stdout
plts = [(int(at, 16), int(at, 16) + int(size, 16)) for at, size in
        re.findall(r" \.plt(?:\.\w+)? +PROGBITS +\w+ (\w+) (\w+)", headers)]
relocations = subprocess.run(["readelf", "-rW", "some"], capture_output=True, text=True).stdout
leaving = len(re.findall(r"_JUMP_SLO.* (?:__cxa_(?:begin_catch|throw|rethrow)|_Unwind_Resume)@", relocations))
different = [i for i in range(0x400, len(a)) if a[i] != b[i]]
imported = {(i - start) // 8 for i in different for start, end in plts if start <= i < end}
different = [i for i in different if not any(start <= i < end for start, end in plts)]
assert 0 < len(different) <= 16 and different[-1] - different[0] < 16, different
assert plts and 0 < leaving == len(imported), (leaving, imported)
END
    ;;
library)
    cat >library.c <<'END'
#define NI __attribute__((noinline))
NI int part(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int whole(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += part(i); return sum; }
END
    cat >user.c <<'END'
#include <stdio.h>
int whole(int n);
int main(void) { printf("%d\n", whole(500)); return 7; }
END
    mkdir plain with
    gcc -O2 -g -shared -fPIC library.c -o plain/library.so && gcc -O2 -g user.c plain/library.so -o user || fail "no compiler"
    output=with/library.so embed plain/library.so
    for directory in plain with; do
        LD_LIBRARY_PATH=$directory:. ldd ./user >ldd.txt 2>&1
    done
    gcc -O2 -g user.c -Lwith -l:library.so -Wl,-rpath,"$PWD/with" -o user || fail "the linker does not accept the library"
    ./user >embedded.txt || [ $? = 7 ] || fail "the library does not run"
    [ "$(cat embedded.txt)" = 125250 ] || fail "$(cat embedded.txt)"
    "$SPROF" trace --module '*library.so' -o library.db -- ./user >traced.txt 2>err
    [ $? = 7 ] || fail "status"
    cmp -s traced.txt embedded.txt || fail "$(cat traced.txt)"
    counts library.db part 500 whole 1
    cp with/library.so stripped.so && strip stripped.so && cp stripped.so with/library.so || fail "strip"
    ./user >stripped.txt
    cmp -s stripped.txt embedded.txt || fail "the stripped library does something else"
    ;;
real)
    for program in xz bash perl; do
        file=$(readlink -f "$(command -v $program)")
        output=$program.probes embed "$file"
    done
    head -c 2000000 "$SPROF" >input
    xz -6 -k -c input >plain.xz && ./xz.probes -6 -k -c input >embedded.xz && cmp -s plain.xz embedded.xz || fail "xz"
    script='n=0; for i in 1 2 3; do echo $((i * i)); done | while read a; do n=$((n + a)); echo $n; done; exit 5'
    bash -c "$script" >plain.txt
    ./bash.probes -c "$script" >embedded.txt
    [ $? = 5 ] && cmp -s plain.txt embedded.txt || fail "bash"
    script='my %a = (b => 3, a => 4); print join(",", map { "$_=$a{$_}" } sort keys %a), "\n"; $_ = "xaay"; s/a+/b/; print; exit 6'
    perl -e "$script" >plain.txt
    ./perl.probes -e "$script" >embedded.txt
    [ $? = 6 ] && cmp -s plain.txt embedded.txt || fail "perl"
    ;;
frames)
    make_step
    stepped optimised 'prologue 1[0-9]\).* only 0$' -O2
    stepped unoptimised 'prologue [0-9]*\).* only 0$' -O0
    stepped pointers 'prologue [0-9]*\).* only 0$' -O2 -fno-omit-frame-pointer -no-pie -fno-pie
    # A processor with a shadow stack compares return addresses.
    stepped shadows 'left out [0-9]: .*shadow stack' -O2 -fcf-protection=full -Wl,-z,shstk
    stepped tails 'prologue [0-9]*\).* only 0$' -O1 -foptimize-sibling-calls
    # Without a table for unwinders there is none to add to.
    g++ -O2 -Wl,--no-eh-frame-hdr program.cc -o bare || fail "no compiler"
    output=bare.probes embed bare
    grep -q 'could not be added' embed.txt || fail "$(cat embed.txt)"
    same bare
    # What counts calls by return addresses counts the same.
    gcc -x c -O1 -pg - -o counted <<'END' || fail "no compiler"
__attribute__((noinline)) int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
__attribute__((noinline)) int step(int n) { return leaf(n) * leaf(n + 1); }
int main(void) { int sum = 0; for (int i = 0; i < 700; i++) sum ^= step(i); return sum & 1; }
END
    output=counted.probes embed counted --function '^(leaf|step)$'
    grep -q 'prologue 2)' embed.txt || fail "$(cat embed.txt)"
    ./counted
    gprof -b -q counted gmon.out >plain.txt && rm gmon.out && ./counted.probes
    gprof -b -q counted gmon.out >embedded.txt
    grep -q '1400/1400 *step' plain.txt || fail "gprof: $(cat plain.txt)"
    cmp -s <(grep -oE '[0-9]+/[0-9]+ .*' plain.txt) <(grep -oE '[0-9]+/[0-9]+ .*' embedded.txt) || fail "gprof: $(cat embedded.txt)"
    ;;
recorded)
    needs_kernel_samples
    recorded_copy c gcc
    recorded_copy c++ g++
    ;;
listens | listens_killed | listens_bad | listens_again | listens_last)
    gcc -O2 -g counter.c -pthread -o counter || fail "no compiler"
    output=counter.probes embed counter --function '^(step|work)$'
    grep -q 'prologue 2' embed.txt || fail "$(cat embed.txt)"
    listen_$1
    ;;
left) listen_left ;;
unwound) listen_unwound ;;
refused)
    g++ -O2 -g program.cc -o program && gcc -x c -O1 -static - -o static <<<'int main(void) { return 0; }' &&
        gcc -x c -O1 -static-pie - -o static_pie <<<'int main(void) { return 0; }' && g++ -c program.cc -o program.o &&
        g++ -O1 -fsanitize=address program.cc -o sanitized || fail "no compiler"
    out="-o refused.out"
    refused 2 'another: .*--embed -o' "$SPROF" probes program --embed
    refused 2 '\-o names what --embed writes' "$SPROF" probes program $out
    refused 2 'embed goes with' "$SPROF" probes program --embed --all $out
    refused 2 'give one of them' "$SPROF" probes program --embed --from a.db --function a $out
    refused 2 'choose what --embed embeds' "$SPROF" probes program --from a.db
    refused 1 'a.db' "$SPROF" probes program --embed --from a.db $out
    refused 2 'give one --function' "$SPROF" probes program --function a --function b
    refused 2 'regular expression' "$SPROF" probes program --embed --function 'a(' $out
    refused 2 'is the file that is read' "$SPROF" probes program --embed -o program
    refused 2 'no regular file' "$SPROF" probes program --embed -o /dev/null
    refused 1 "finds no function of program; near it: .*leaf" "$SPROF" probes program --embed --function '^leav$' $out
    refused 1 'the chosen function of .* can have no probe' "$SPROF" probes "$(gcc -print-file-name=libc.so.6)" --embed \
        --function '^longjmp$|^_longjmp$|^siglongjmp$' $out
    refused 1 'linked statically' "$SPROF" probes static --embed $out
    refused 1 'linked statically' "$SPROF" probes static_pie --embed $out
    refused 1 'sanitizer' "$SPROF" probes sanitized --embed $out
    refused 1 'neither a program nor a shared library' "$SPROF" probes program.o --embed $out
    "$SPROF" probes program --embed -o again >/dev/null 2>err || fail "not embedded"
    refused 1 'has some already' "$SPROF" probes again --embed $out
    cp program special && chmod u+s special
    refused 1 'other rights' "$SPROF" probes special --embed $out
    cp program other && printf '\267\0' | dd of=other bs=1 seek=18 conv=notrunc status=none
    refused 1 'another processor' "$SPROF" probes other --embed $out
    head -c 3000 program >cut
    refused 1 'cut' "$SPROF" probes cut --embed $out
    echo text >text
    refused 1 'text' "$SPROF" probes text --embed $out
    refused 1 'missing' "$SPROF" probes missing --embed $out
    mkfifo pipe && mkdir directory
    refused 1 'pipe: it is no regular file' timeout 60 "$SPROF" probes pipe --embed $out
    refused 1 'directory: it is no regular file' "$SPROF" probes directory --embed $out
    refused 1 'cannot write' "$SPROF" probes program --embed -o no/such/refused.out
    ;;
*) fail "no case $1" ;;
esac
