#!/bin/bash
# sprof trace --backend uprobe: programs compute what they compute untraced, every call is counted, and nothing is in the
# process, whoever is killed.
#   uprobe.sh exact | chosen | container | left | kinds | process | replaced | held | threads | bounded | refused
set -u
. "$(dirname "$0")/lib.sh"
tracing=(--backend uprobe --max-overhead none)
needs_root "uprobes"
"$SPROF" trace --backend uprobe -o none.db -- /bin/true >out 2>err || {
    ! grep -qE 'not permitted|needs Linux|built without' err || skip "$(head -1 err)"
    fail "no trace of true"
}

# loops FILE: a program that calls step until the file "end" is there.
looping_program() {
    cat >loops.c <<'END'
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) long step(long n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(int count, char **arguments)
{
    long n = 0;
    char c;
    if (count > 1 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        return 9;
    (void)arguments;
    do {
        for (volatile int i = 0; i < 200000; i++)
            ;
        n = step(n);
    } while (count > 1 ? read(0, &c, 1) == 1 : access("end", F_OK) != 0);
    return write(1, "done\n", 5) != 5;
}
END
    gcc -O1 -g "$@" loops.c -o loops || fail "no compiler"
}

# A program that calls work 300 times for each byte that it reads.
served_program() {
    cat >served.c <<'END'
#include <stdio.h>
__attribute__((noinline, noclone)) long work(long n) { __asm__ volatile("" : "+r"(n)); return n * 5; }
int main(void)
{
    long sum = 0;
    for (int c; (c = getchar()) != EOF;)
        for (long i = 0; i < 300; i++)
            sum += work(i);
    printf("%ld\n", sum);
    return 6;
}
END
}

# count_served PID WHAT: a recorder counts 2100 calls in that program, which reads what goes into descriptor 9.
count_served() {
    "$SPROF" trace -p "$1" --function '^work$' -o p.db >out 2>tracer_err &
    tracer=$!
    children+=("$tracer")
    wait_for_trace tracer_err -i p.db
    printf '%7s' '' >&9
    wait_until 60 eval '"$SPROF" ctl -i p.db status | grep -q " 2100 calls"'
    expect 0 "$SPROF" ctl -p "$1" end
    wait $tracer || fail "the tracer ended with $?"
    calls p.db >found
    [ "$(cat found)" = "work 2100" ] || fail "$2: other calls of the process: $(cat found)"
    cp tracer_err err
}

# has_served PID WHAT: it ends as it does untraced.
has_served() {
    exec 9>&-
    wait "$1"
    [ $? = 6 ] && [ "$(cat served.out)" = 1569750 ] || fail "$2: the process computed $(cat served.out)"
}

calls_now() {
    "$SPROF" ctl -i t.db stats >/dev/null 2>&1
    sql t.db "SELECT ifnull(sum(calls), 0) FROM v_call_stats"
}

case $1 in
exact)
    exact_program
    for flags in "-O2 -static" "-O3 -fno-plt -fcf-protection=full -no-pie -fpatchable-function-entry=5"; do
        # shellcheck disable=SC2086
        gcc $flags -g -pthread program.c -o program || fail "no compiler: $flags"
        traced t --function '^(all|choose|depth|even|leaf|main|nothing|odd|perhaps|run|through)$' -- ./program
        is "${exact_calls[@]}"
        has choose in_flight 0 && has all in_flight 0
    done
    # The kernel misreads AVX instructions, with which functions of the C library begin.
    traced t --module 'libc.so*' --module program --function '^(__str|__mem|leaf$)' -- ./program
    calls t.db | grep -qx 'leaf 440' || fail "other calls than there were beside the C library's"
    ;;
chosen)
    # Whatever they are linked with. A program that runs calls work 300 times for each line that it reads.
    exact_program
    served_program
    mkfifo input
    for compiler in "gcc -static" "gcc -static-pie" "musl-gcc" "musl-gcc -static"; do
        command -v "${compiler%% *}" >/dev/null || continue
        $compiler -O2 -g -pthread program.c -o program && $compiler -O1 -g served.c -o served || fail "no compiler: $compiler"
        traced t --function '^(all|choose|depth|even|leaf|main|nothing|odd|perhaps|run|through)$' -- ./program
        is "${exact_calls[@]}"
        [ "$(sql t.db "SELECT count(*) FROM v_call_stats WHERE mechanism <> 'uprobe'")" = 0 ] || fail "other probes"
        ./served <input >served.out &
        served=$!
        children+=("$served")
        exec 9>input
        wait_until 60 eval '[ "$(state_of $served)" = S ]'
        count_served $served "$compiler"
        has_served $served "$compiler"
    done
    # Nothing can be put into one that does not say what unwinds its exceptions: nobody has to ask for uprobes.
    tracing=(--max-overhead none)
    gcc -O2 -static -s -pthread program.c -o program || fail "no compiler"
    traced t -- ./program
    grep -qE 'has no symbols, .*, so nothing .* uprobes, which takes [0-9.]+ to [0-9.]+ µs' got_err || fail "nothing is said of uprobes"
    "$SPROF" sql t.db 'SELECT source FROM run' | grep -q '^uprobes: the program has no symbols' || fail "no reason"
    ;;
container)
    # Into a process of another pid namespace or another root directory nothing can be put from outside.
    unshare -pmf --mount-proc true 2>err || skip "no pid namespaces: $(cat err)"
    served_program
    gcc -O1 -g served.c -o served || fail "no compiler"
    mkfifo input
    mkdir root mounted
    for file in $(ldd served | grep -o '/[^ ]*') "$work/served"; do
        mkdir -p "root$(dirname "$file")" && cp -L "$file" "root$file" || fail "no root directory"
    done
    for kind in pid root mount; do
        case $kind in
        pid) within=(unshare -pmf --mount-proc) why='in another pid namespace' ;;
        root) within=(chroot root) why='sees other files' ;;
        # What is mounted in there has no path out here.
        mount)
            within=(unshare -m sh -c 'mount -t tmpfs none mounted && cp -r root/. mounted && exec chroot mounted "$0"')
            why='sees other files'
            ;;
        esac
        "${within[@]}" "$work/served" <input >served.out &
        outer=$!
        children+=("$outer")
        exec 9>input
        served=$outer
        wait_until 60 eval '[ $kind != pid ] || served=$(cat /proc/$outer/task/$outer/children) && served=${served% } &&
            [ "$(cat /proc/$served/comm)" = served ] && [ "$(state_of $served)" = S ]'
        expect 1 "$SPROF" trace -p "$served" --mode log -o none.db
        said "with --mode: it .*$why"
        expect 1 "$SPROF" trace -p "$served" --backend inject -o none.db
        said "$why.* in which sprof would have to run"
        count_served "$served" "$kind"
        said "$why.*, so nothing can be put into it: the kernel counts"
        has_served $outer "$kind"
        rm -f p.db*
    done
    ;;
left)
    g++ -O1 -g -DSTEP_US=10 "$(dirname "$0")/left.cc" -o program || fail "no compiler"
    traced t --function '!spin' -- ./program
    calls t.db >out
    has middle calls 40 && has deepest calls 40 && has jumps calls 20 && has catches calls 20
    has middle abnormal 40 && has deepest abnormal 40 && has jumps abnormal 0 && has catches abnormal 0
    has middle in_flight 0 && has jumps in_flight 0
    # What comes after is charged to the function that contains it: 20 times 4 ms at least.
    python3 - <<'END' || fail "times after a jump or catch are charged to what was left"
import csv
rows = {row["function"].split("(")[0]: float(row["self_ns"]) for row in csv.DictReader(open("stats.csv"))}
assert rows["jumps"] > 75e6 and rows["catches"] > 75e6, rows
END
    ;;
kinds)
    # Go moves its stacks, and begins functions anew when it has: each call is counted once.
    cat >program.go <<'END'
package main

import "fmt"

//go:noinline
func deep(n int) int {
	var a [50]int
	a[n%50] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + a[n%50]
}

func main() {
	c := make(chan int)
	for i := 0; i < 8; i++ {
		go func() { c <- deep(300) }()
	}
	sum := 0
	for i := 0; i < 8; i++ {
		sum += <-c
	}
	fmt.Println(sum)
}
END
    # What other tests have compiled of Go's library is not compiled again.
    cache=$PROGRAMS/tests/go-cache
    [ -d "$cache" ] || cache=$work/cache
    go=$(command -v go || ls /usr/lib/go-*/bin/go 2>/dev/null | head -1)
    if [ -n "$go" ] && HOME=$work GOCACHE=$cache "$go" build -o program program.go >out 2>err; then
        traced t --function '^main\.(deep|main)$' -- ./program
        is 'main.deep 2408' 'main.main 1'
        expect 1 "$SPROF" trace --backend inject -o none.db -- ./program && said 'it is of Go'
    fi
    # Stripped, and a library's function: named by where it begins, or by its export.
    cat >library.c <<'END'
long exported(long n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
END
    cat >program.c <<'END'
#include <stdio.h>
long exported(long n);
int main(void) { long n = 0; for (int i = 0; i < 500; i++) n = exported(n); printf("%ld\n", n); return 4; }
END
    gcc -O2 -shared -fPIC library.c -o liblibrary.so && gcc -O2 program.c -o program -L. -llibrary -Wl,-rpath,"$PWD" &&
        strip program liblibrary.so || fail "no compiler"
    traced t --module 'liblibrary*' --function exported -- ./program
    is 'exported 500'
    # A script's interpreter is the program, and it may execute another in its own place.
    printf '#!/bin/sh\nexec ./program\n' >script && chmod +x script
    traced t -- ./script
    ;;
process)
    looping_program
    ./loops >loops.out &
    loops=$!
    children+=("$loops")
    "$SPROF" trace --backend uprobe --max-overhead none -p $loops -o t.db >out 2>err &
    tracer=$!
    children+=("$tracer")
    wait_until 60 eval '[ "$(calls_now)" -gt 10 ]'
    expect 0 "$SPROF" ctl -i t.db stop
    before=$(calls_now)
    sleep 0.2
    [ "$(calls_now)" = "$before" ] || fail "calls are counted while that is off"
    expect 0 "$SPROF" ctl -i t.db start
    wait_until 60 eval '[ "$(calls_now)" -gt "$before" ]'
    expect 2 "$SPROF" ctl -i t.db mode log && said 'needs the agent'
    expect 0 "$SPROF" ctl -i t.db detach
    wait $tracer || fail "the tracer ended with $?"
    kill -0 $loops || fail "the process is gone"
    # Nothing of sprof's is left: the code is that of the file.
    python3 - $loops <<'END' || fail "the process has other code than its file"
import re, sys
for line in open(f"/proc/{sys.argv[1]}/maps"):
    part = re.match(r"(\w+)-(\w+) r-xp (\w+) \S+ \d+ +(/.*/loops)$", line)
    if part:
        start, end, offset = (int(part[i], 16) for i in (1, 2, 3))
        there, file = open(f"/proc/{sys.argv[1]}/mem", "rb"), open(part[4], "rb")
        there.seek(start)
        file.seek(offset)
        code = file.read(end - start)
        sys.exit(there.read(len(code)) != code)
sys.exit(2)
END
    touch end
    wait $loops || fail "the process ended with $?"
    [ "$(cat loops.out)" = done ] || fail "the process printed something else"
    # Under seccomp, where the agent cannot be put in.
    mkfifo input
    ./loops strict <input >loops.out &
    loops=$!
    children+=("$loops")
    exec 9>input
    wait_until 60 grep -q '^Seccomp:.*1' /proc/$loops/status
    wait_until 60 eval '[ "$(state_of $loops)" = S ]' # it reads, behind its first step
    expect 1 "$SPROF" trace --backend inject -p $loops -o none.db && said "under seccomp"
    "$SPROF" trace --max-overhead none -p $loops -o s.db >out 2>tracer_err &
    tracer=$!
    children+=("$tracer")
    wait_for_trace tracer_err -i s.db
    printf '%500s' '' >&9
    wait_until 60 eval '"$SPROF" ctl -i s.db status | grep -q " 500 calls"'
    expect 0 "$SPROF" ctl -i s.db end
    wait $tracer || fail "the tracer ended with $?"
    cp tracer_err err
    said "process $loops is under seccomp.* uprobes"
    ;;
replaced)
    # A program whose file is another one by now, as after an update, has probes in its own.
    looping_program
    printf 'int main(void) { return 0; }\n' >other.c
    for change in 'rm -f loops' 'gcc other.c -o other && mv -f other loops'; do
        rm -f end t.db*
        gcc -O1 -g loops.c -o loops || fail "no compiler"
        ./loops >loops.out &
        loops=$!
        children+=("$loops")
        sleep 0.2
        eval "$change" || fail "$change"
        "$SPROF" trace --backend uprobe -p "$loops" --function '^step$' -o t.db >out 2>err &
        tracer=$!
        children+=("$tracer")
        wait_until 60 eval '[ "$(calls_now)" -gt 10 ]'
        touch end
        wait $tracer || fail "the tracer ended with $?"
    done
    ;;
held)
    # Killed at whatever moment, sprof leaves no command that stands still.
    printf 'int main(void) { return 0; }\n' >program.c
    gcc program.c -o held_program || fail "no compiler"
    for try in $(seq 6); do
        "$SPROF" trace --backend uprobe --max-overhead none -o "k$try.db" -- ./held_program >out 2>err &
        tracer=$!
        children+=("$tracer")
        sleep "0.$((try * 6 % 10))$try"
        kill -9 $tracer 2>/dev/null
        wait $tracer 2>/dev/null
        wait_until 60 eval '! pgrep -x held_program >/dev/null'
    done
    ;;
threads)
    # More at a time than have room: what the others call is not in the figures, and is said.
    cat >program.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t all_have;
__attribute__((noinline, noclone)) void work(void) { __asm__ volatile("" ::: "memory"); }
static void *run(void *x) { work(); pthread_barrier_wait(&all_have); return x; }
int main(int count, char **arguments)
{
    static pthread_t threads[2000];
    const int wanted = atoi(arguments[count - 1]);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all_have, NULL, (unsigned)wanted);
    for (int i = 0; i < wanted; i++)
        if (pthread_create(&threads[i], &small, run, NULL)) return 1;
    for (int i = 0; i < wanted; i++) pthread_join(threads[i], NULL);
    return 0;
}
END
    gcc -O1 -g -pthread program.c -o program || fail "no compiler"
    ./program 1100 || skip "1100 threads are not possible here"
    expect 0 "$SPROF" trace "${tracing[@]}" --function '^work$' -o t.db -- ./program 1000
    is "work 1000"
    ! grep -q 'found no room' err || fail "calls of 1000 threads are lost"
    expect 0 "$SPROF" trace "${tracing[@]}" --function '^work$' -o t.db -- ./program 1100
    lost=$(sed -n 's/.*: \([0-9]*\) calls found no room for their figures.*/\1/p' err)
    calls t.db >found
    [ "$((${lost:-0} + $(sed -n 's/^work //p' found)))" = 1100 ] || fail "calls are missing: $(cat found) and ${lost:-0} lost"
    [ "${lost:-0}" -gt 0 ] || fail "1100 threads have room, which the message denies"
    ;;
bounded)
    # A function that is called all the time loses its probe where nobody has chosen any, or by --max-overhead; the others keep
    # theirs, and none is lost where that is what somebody wants.
    cat >bounded.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void hot(void) { KEEP; }
NI void rare(void) { KEEP; }
int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 0;
    long calls = 0;
    for (int i = 0; i < 50; i++)
        rare();
    do
        for (int i = 0; i < 500; i++, calls++)
            hot();
    while ((double)clock() / CLOCKS_PER_SEC < seconds);
    for (int i = 0; i < 50; i++)
        rare();
    printf("%ld\n", calls);
    return 0;
}
END
    gcc -O1 -g bounded.c -o bounded || fail "no compiler"
    for options in "" "--function ^(hot|rare|main)\$ --max-overhead 30%"; do
        # shellcheck disable=SC2086
        expect 0 "$SPROF" trace --backend uprobe $options -o t.db -- ./bounded 2
        said 'more than [35]0 % \(--max-overhead\): 1 function lost theirs: hot'
        said 'to hold --max-overhead 1 function lost its probe'
        called=$(cat out)
        [ "$(calls t.db | grep '^rare ')" = 'rare 100' ] || fail "other calls of what is rare: $(calls t.db)"
        seen=$(calls t.db | sed -n 's/^hot //p')
        holds "$seen > 100 && $seen < 0.9 * $called" "calls of what lost its probe"
        holds "$(sql t.db "SELECT count(*) FROM v_probe_event WHERE what = 'off' AND function = 'hot'") == 1" "a row that says so"
    done
    expect 0 "$SPROF" trace --backend uprobe --max-overhead none -o t.db -- ./bounded
    [ "$(calls t.db)" = "$(printf 'hot 500\nmain 1\nrare 100')" ] || fail "other calls: $(calls t.db)"
    ;;
refused)
    exact_program
    # Without a choice the C library in it has probes, too: how many, and what that takes.
    echo 'int main(void) { return 0; }' >tiny.c
    gcc -O1 -static -g tiny.c -o tiny || fail "no compiler"
    expect 0 "$SPROF" trace --backend uprobe -o t.db -- ./tiny
    said 'all [0-9]{3,} functions of the program get probes, those of libraries .* too: a million calls take [0-9]+ to [0-9]+ s more; choose with --function'
    gcc -O1 -g tiny.c -o linked || fail "no compiler"
    expect 0 "$SPROF" trace --backend uprobe -o t.db -- ./linked
    said 'all [0-9] functions of the program get probes: a million calls'
    expect 0 "$SPROF" trace --backend uprobe --module 'linked*' -o t.db -- ./linked
    said 'all [0-9] functions of the chosen modules get probes: a million calls'
    expect 0 "$SPROF" trace --backend uprobe -o t.db --function '^main$' -- ./tiny
    ! grep -q 'choose with --function' err || fail "what was chosen is warned of"
    rm t.db*
    # First instructions that the kernel refuses: the functions are named.
    cat >begins.c <<'END'
long counter;
#define BEGINS(name, with) __asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ": .cfi_startproc\n" with \
    "\nmov $1,%eax\nmov $2,%eax\nret\n.cfi_endproc\n.size " #name ",.-" #name); int name(void);
BEGINS(locked, "lock incl counter(%rip)")
BEGINS(halts, "hlt")
BEGINS(swaps, "xchg %rax,%r8")
int main(int count, char **words)
{
    (void)words;
    long kept = 7, other = 5;
    __asm__ volatile("mov %0,%%rax; mov %1,%%r8; call swaps; mov %%r8,%0" : "+r"(kept) : "r"(other) : "rax", "r8", "memory");
    return locked() - 2 + (kept != 7) + (count > 5 ? halts() : 0);
}
END
    gcc -O1 begins.c -o begins || fail "no compiler"
    expect 0 "$SPROF" trace --backend uprobe -o t.db --function '^(main|locked|halts|swaps)$' -- ./begins
    said 'begins: 3 functions without a uprobe: locked \(begins with a lock prefix, which the kernel refuses\) · swaps \(begins with an exchange of registers, which the kernel misreads\) · halts \(begins with what the kernel refuses\)'
    said '3 refused: see above'
    "$SPROF" probes begins >out 2>err || fail "no static view"
    grep -q 'refused by --backend uprobe 2: locked (begins with a lock prefix.*) · swaps (begins with an exchange' out || fail "the static view"
    rm t.db*
    gcc -O1 -static -s -pthread program.c -o program || fail "no compiler"
    expect 1 "$SPROF" trace --backend inject --all-points -o none.db -- ./program && said 'with --all-points: it is linked statically'
    for options in '--mode log' '--mode coverage' --paths --callers; do
        # shellcheck disable=SC2086
        expect 2 "$SPROF" trace --backend uprobe -o none.db $options -- ./program && said 'needs the agent'
        # shellcheck disable=SC2086
        expect 1 "$SPROF" trace -o none.db $options -- ./program && said "with ${options%% *}: it has no symbols"
    done
    expect 2 "$SPROF" trace --backend kprobe -- ./program && said 'give auto, inject or uprobe'
    gcc -O1 -static -g -pthread program.c -o program || fail "no compiler"
    expect 1 "$SPROF" trace --backend uprobe -o none.db --function 'chose$' -- ./program && said 'finds none of .*choose'
    expect 127 "$SPROF" trace --backend uprobe -o none.db -- ./missing && said 'not found'
    expect 1 "$SPROF" trace --backend uprobe -o none.db -p 4194304
    prepare_ordinary_user
    strip program && cp program "$work/user/"
    expect 1 setpriv --reuid 65534 --clear-groups "$user_sprof" trace --backend uprobe -o /tmp/none.db -- \
        "$work/user/program"
    said 'run sprof as root'
    expect 1 setpriv --reuid 65534 --clear-groups "$user_sprof" trace -o /tmp/none.db -- "$work/user/program"
    said 'has no symbols, .*, so nothing can be put into it, and uprobes are not permitted to you: run sprof as root'
    if gcc -m32 -x c - -o small 2>/dev/null <<<'int main(void) { return 0; }'; then
        expect 1 "$SPROF" trace --backend uprobe -- ./small && said 'processor or word size'
    fi
    rm -f none.db
    ! ls ./*.db >/dev/null 2>&1 || fail "a recording was left"
    ;;
*)
    fail "no such case: $1"
    ;;
esac
