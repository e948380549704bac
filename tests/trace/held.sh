#!/bin/bash
# sprof trace -- COMMAND of programs into which nothing can be preloaded: they wait at their main for probes,
# compute what they compute untraced, and every call from main on is counted.
#   held.sh known | left | before | ended | uprobes | controlled
set -u
. "$(dirname "$0")/lib.sh"

case $1 in
known)
    exact_program
    # A return alone has no room for a probe.
    wanted=()
    for line in "${exact_calls[@]}"; do [[ $line == nothing* ]] || wanted+=("$line"); done
    for compiler in "gcc -O2 -static" "gcc -O1 -static-pie" "clang -O2 -static" "musl-gcc -O2" \
        "musl-gcc -O1 -static"; do
        command -v "${compiler%% *}" >/dev/null || continue
        $compiler -g -w -pthread program.c -o program || fail "no compiler: $compiler"
        traced t --function '^(all|choose|depth|even|leaf|main|odd|perhaps|run|through)$' -- ./program
        is "${wanted[@]}"
        has choose in_flight 0 && has main in_flight 0
        "$SPROF" sql t.db 'SELECT source FROM run' | grep -qx 'probes injected' || fail "$compiler: another source"
        # All functions of the program, which may be the C library, too.
        traced t -- ./program
        calls t.db | grep -qx 'choose 280' || fail "$compiler: other calls among all"
    done
    ;;
left)
    # Exceptions and longjmp, by the program's own unwinder.
    for flags in "-static" "-static-pie"; do
        # shellcheck disable=SC2086
        g++ -O1 -g -DSTEP_US=10 $flags "$(dirname "$0")/left.cc" -o program || fail "no compiler"
        traced t --function '!spin' --function '^(main|middle|deepest|jumps|catches)\b' -- ./program
        calls t.db >out
        has middle calls 40 && has deepest calls 40 && has jumps calls 20 && has catches calls 20
        has middle abnormal 40 && has deepest abnormal 40 && has jumps abnormal 0 && has catches abnormal 0
    done
    ;;
before)
    # What a constructor calls comes before main, and is not counted; what main has called it is.
    cat >program.c <<'END'
#include <stdio.h>
__attribute__((noinline)) long work(long n) { __asm__ volatile("" : "+r"(n)); return n * 5; }
__attribute__((constructor)) static void construct(void) { for (long i = 0; i < 70; i++) work(i); }
__attribute__((destructor)) static void destroy(void) { for (long i = 0; i < 11; i++) work(i); }
int main(int count, char **arguments)
{
    long n = 0;
    for (long i = 0; i < 30; i++) n += work(i);
    printf("%d %s %ld %d\n", count, arguments[count - 1], n, fileno(fopen("/dev/null", "r")));
    return 5;
}
END
    gcc -O1 -g -static program.c -o program || fail "no compiler"
    traced t --function '^(main|work)$' -- ./program with 'its words'
    is 'main 1' 'work 41'
    grep -q 'program gets its probes when its main begins: .* constructors' got_err || fail "it is not said"
    # A script's interpreter is the program; what that executes is not.
    printf '#!%s/program\n' "$PWD" >script && chmod +x script
    traced t --function '^(main|work)$' -- ./script
    is 'main 1' 'work 41'
    ;;
ended)
    # A command that never comes to its main does what it does, and that is said.
    cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void construct(void) { WHAT; }
int main(void) { puts("main"); fflush(stdout); return usleep(300000); }
END
    build() { gcc -O1 -static "-DWHAT=$1" program.c -o program || fail "no compiler"; }
    build 'exit(3)'
    expect 1 "$SPROF" trace -o none.db -- ./program && said 'ended before it could have probes'
    build 'execl("/bin/sh", "sh", "-c", "echo another; sleep 0.3", (char *)0)'
    expect 1 "$SPROF" trace -o none.db -- ./program && said 'executed another program'
    grep -qx another out || fail "what it executed did not run"
    build 'for (int i = 3; i < 2000; i++) close(i)'
    expect 1 "$SPROF" trace -o none.db -- ./program && said 'has closed the descriptor'
    grep -qx main out || fail "it was ended"
    # It ends where there is nothing to trace, and where it cannot be held at all.
    build '(void)0'
    expect 1 "$SPROF" trace -o none.db --function maim -- ./program && said 'finds none'
    [ ! -s out ] || fail "it ran"
    echo '__asm__(".globl _start\n_start: mov $60, %eax\nmov $4, %edi\nsyscall");' >bare.c
    gcc -static -nostdlib bare.c -o bare || fail "no compiler"
    expect 1 "$SPROF" trace --backend inject -o none.db -- ./bare
    said 'cannot put probes into .*bare: it has start code that does not show where its main is'
    expect 1 "$SPROF" trace --all-points -- ./program && said 'without --all-points'
    ! ls ./*.db >/dev/null 2>&1 || fail "a recording was left"
    ;;
uprobes)
    # One that cannot be held is seen from its file, and counted by the kernel where nobody asked for something else.
    cat >bare.c <<'END'
static volatile long sum;
__attribute__((noinline)) void leaf(long n) { for (long i = 0; i < n; i++) sum += i * n; }
void _start(void)
{
    for (long i = 0; i < 3; i++) leaf(i);
    __asm__ volatile("syscall" ::"a"(60), "D"(4));
}
END
    gcc -O1 -static -nostdlib bare.c -o bare || fail "no compiler"
    "$SPROF" trace --backend uprobe --function '^leaf$' -o t.db -- ./bare >out 2>err
    ! grep -qE 'not permitted|needs Linux|built without|outside of' err || skip "$(head -1 err)"
    expect 4 "$SPROF" trace --function '^leaf$' -o t.db -- ./bare
    said 'bare has start code that does not show where its main is, so nothing can be put into it: the kernel counts'
    is 'leaf 3'
    expect 1 "$SPROF" trace --mode log -o none.db -- ./bare && said 'cannot trace .*bare with --mode: it has start code'
    # A program whose code ends with its page has no room for what would wait.
    cat >full.c <<'END'
__attribute__((noinline)) long step(long n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
int main(void) { long n = 1; for (int i = 0; i < 5; i++) n = step(n); return (int)(n & 63); }
END
    gcc -O1 -g -static full.c -Wl,-z,separate-code -o full || fail "no compiler"
    read -r end <<<"$(readelf -lW full | awk '$1 == "LOAD" && / R E /{ print $3, $5 }')"
    left=$((4096 - (${end% *} + ${end#* }) % 4096))
    python3 - full "$left" <<'END' || fail "no program without room"
import struct, sys
# The segment of the code reaches to the end of its page: what lies there in the file is zeros.
data = bytearray(open(sys.argv[1], "rb").read())
at, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
for i in range(count):
    kind, flags = struct.unpack_from("<II", data, at + 56 * i)
    if kind == 1 and flags & 1:
        for field in 32, 40:
            size = struct.unpack_from("<Q", data, at + 56 * i + field)[0]
            struct.pack_into("<Q", data, at + 56 * i + field, size + int(sys.argv[2]))
open(sys.argv[1], "wb").write(data)
END
    ./full
    wanted=$?
    expect 1 "$SPROF" trace --backend inject -o none.db -- ./full && said 'has no room for the instructions'
    expect $wanted "$SPROF" trace --function '^step$' -o t.db -- ./full && said 'has no room .* the kernel counts'
    is 'step 5'
    ;;
controlled)
    cat >program.c <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) long step(long n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(void)
{
    long n = 0;
    while (access("end", F_OK)) { n = step(n); usleep(100); }
    return printf("%s\n", n > 0 ? "done" : "nothing") != 5;
}
END
    for compiler in "gcc -static" "musl-gcc"; do
        command -v "${compiler%% *}" >/dev/null || continue
        $compiler -O1 -g program.c -o program || fail "no compiler"
        rm -f end t.db*
        ./program >program.out 2>notes &
        alone=$!
        wait_until 60 eval '[ "$(readlink /proc/$alone/exe)" = "$PWD/program" ]'
        descriptors=$(ls "/proc/$alone/fd")
        touch end && wait $alone
        rm -f end
        "$SPROF" trace --function '^step$' -o t.db -- ./program >program.out 2>notes &
        tracer=$!
        children+=("$tracer")
        wait_for_trace notes -i t.db
        wait_until 60 eval '"$SPROF" ctl -i t.db status | grep -q "[1-9][0-9]* calls"'
        expect 0 "$SPROF" ctl -i t.db detach
        kill -0 $tracer || fail "sprof ended before its command"
        # Nothing of sprof's is left: the code is that of the file.
        command=$(pgrep -P $tracer -x program) || fail "there is no command"
        ! grep -q sprof "/proc/$command/maps" || fail "$compiler: something of sprof's is mapped"
        [ "$(ls "/proc/$command/fd")" = "$descriptors" ] || fail "$compiler: descriptors: $(ls -l "/proc/$command/fd")"
        python3 - "$command" <<'END' || fail "$compiler: the process has other code than its file"
import re, subprocess, sys
def sections(path):
    for line in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout.splitlines():
        part = re.match(r" *\[ *\d+\] (\.text|\.init|\.fini|\.plt\S*) +PROGBITS +(\w+) (\w+) (\w+)", line)
        if part:
            yield int(part[3], 16), int(part[4], 16)
seen = 0
for line in open(f"/proc/{sys.argv[1]}/maps"):
    part = re.match(r"(\w+)-(\w+) r-xp (\w+) \S+ \d+ +(/.*/program)$", line)
    if part:
        start, end, offset = (int(part[i], 16) for i in (1, 2, 3))
        there, file = open(f"/proc/{sys.argv[1]}/mem", "rb"), open(part[4], "rb")
        for at, size in sections(part[4]):
            there.seek(start + at - offset)
            file.seek(at)
            if there.read(size) != file.read(size):
                sys.exit(1)
            seen += size
sys.exit(0 if seen > 100 else 2)
END
        touch end
        wait $tracer || fail "sprof ended with $?, not as the command"
        [ "$(cat program.out)" = done ] || fail "the command printed something else"
        # What ends sprof ends the command, by the same signal.
        rm -f end t.db*
        "$SPROF" trace --function '^step$' -o t.db -- ./program >program.out 2>notes &
        tracer=$!
        children+=("$tracer")
        wait_for_trace notes -i t.db
        kill -TERM $tracer
        wait $tracer
        [ $? = 143 ] || fail "the command was not ended"
        rm t.db*
    done
    ;;
*)
    fail "no such case: $1"
    ;;
esac
