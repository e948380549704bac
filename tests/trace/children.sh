#!/bin/bash
# sprof trace --children: processes that the command forks or starts are traced, each with figures of its own.
#   children.sh forks | namespaces | strangers | by | executed | left | many | file | modes | covered | controlled | detached | let_go | kinds | bad
set -u
. "$(dirname "$0")/lib.sh"

cat >program.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline))
extern char **environ;
NI void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
NI void threads(void) { work(); __asm__ volatile(""); }
NI void calls(int n) { for (int i = 0; i < n; i++) work(); }
NI void never(void) { work(); __asm__ volatile(""); }
static void *run(void *n) { for (long i = 0; i < (long)n; i++) threads(); return 0; }
static void child(int n) { if (!fork()) { calls(n); _exit(0); } }
static void program(const char *n) { execl("./program", "program", "leaf", n, (char *)0); _exit(9); }

static void forks(void)
{
    pthread_t thread;
    calls(7);
    child(1000);
    wait(0);
    if (!fork()) { /* its thread has the first call */
        pthread_create(&thread, 0, run, (void *)50);
        pthread_join(thread, 0);
        child(11); /* of the second generation */
        wait(0);
        _exit(0);
    }
    wait(0);
    if (!syscall(SYS_fork)) { /* libc does not know of it */
        calls(13);
        _exit(0);
    }
    wait(0);
    pthread_create(&thread, 0, run, (void *)3);
    pthread_join(thread, 0);
    calls(1);
}

static void executed(void)
{
    char *arguments[] = {"program", "leaf", "300", 0};
    pid_t pid;
    if (!fork())
        program("100");
    wait(0);
    if (!(pid = vfork()))
        program("200");
    waitpid(pid, 0, 0);
    posix_spawn(&pid, "./program", 0, 0, arguments, environ);
    waitpid(pid, 0, 0);
    if (system("./program leaf 400; exit 3") != 3 << 8)
        _exit(1);
    if (!fork()) { /* measured before, too */
        calls(19);
        program("500");
    }
    wait(0);
    calls(5);
    program("600"); /* in its own place */
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    const int n = count > 2 ? atoi(arguments[2]) : 0;
    if (!strcmp(what, "forks"))
        forks();
    else if (!strcmp(what, "executed"))
        executed();
    else if (!strcmp(what, "inside")) {
        calls(2);
        if (unshare(CLONE_NEWPID))
            return 6;
        if (!fork()) {
            calls(21);
            usleep(400000); /* so that it is seen */
            _exit(0);
        }
        wait(0);
    } else if (!strcmp(what, "many")) {
        for (int i = 0; i < n; i++) {
            child(10);
            if (!(i & 3) && !fork())
                program("20");
        }
        while (wait(0) > 0)
            ;
    } else if (!strcmp(what, "daemon")) { /* which ends when nobody holds its input any more */
        if (!fork()) {
            char byte;
            FILE *number = fopen("daemon", "w");
            fprintf(number, "%d\n", getpid());
            fclose(number);
            setsid();
            while (read(0, &byte, 1) > 0)
                work();
            calls(17);
            _exit(0);
        }
        fclose(stdout);
        return 5;
    } else
        calls(n);
    printf("%s\n", what);
    return 5;
}
END
gcc -O1 -g program.c -o program -pthread || fail "no compiler"

traced() { # OPTION… -- COMMAND…: ends and prints as untraced
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    "$@" >want </dev/null
    local wanted=$?
    timeout 120 "$SPROF" trace --children -o t.db "${options[@]}" -- "$@" >got 2>"$work/err" </dev/null
    status=$?
    [ $status = $wanted ] || fail "exit status $status, untraced $wanted"
    cmp -s want got || fail "other output than untraced"
}

is_as_in_file() { # PID: the code of the program `pair` in a process
    python3 - "$1" <<'END'
import sys
for line in open(f"/proc/{sys.argv[1]}/maps"):
    words = line.split()
    if len(words) > 5 and words[5].endswith("/pair") and "x" in words[1]:
        start, end = (int(word, 16) for word in words[0].split("-"))
        with open(f"/proc/{sys.argv[1]}/mem", "rb") as memory, open(words[5], "rb") as file:
            memory.seek(start), file.seek(int(words[2], 16))
            there, there_was = memory.read(end - start), file.read(end - start)
            sys.exit(there[:len(there_was)] != there_was)
sys.exit(1)
END
}

# The calls of a function in each process that called it, sorted.
each() {
    sql t.db "SELECT sum(calls) FROM v_process_call WHERE function = '$1' GROUP BY process_id" | sort -n | tr '\n' ' '
}
sums() {
    sql t.db "SELECT calls FROM v_call_stats WHERE function = '$1'"
}
want() { # FUNCTION CALLS…
    local function=$1 got
    shift
    got=$(each "$function")
    [ "$got" = "$* " ] || fail "calls of $function by process: $got, not $*"
}

chosen='^(work|calls|threads|never)$'
case $1 in
by)
    # The rows of `sprof stats` by process, and by process, caller and function.
    traced --callers --function "$chosen" -- ./program forks
    expect 0 "$SPROF" stats t.db --by process --format csv --sort calls && mv out process.csv
    expect 0 "$SPROF" stats t.db --by caller --format json && mv out caller.json
    "$SPROF" sql t.db --format json "SELECT * FROM v_process_call" >view.json || fail "no sql"
    python3 - <<'END' || fail "other figures"
import csv, json
rows = list(csv.DictReader(open("process.csv")))
view = {(str(row["pid"]), row["function"]): row for row in json.load(open("view.json"))}
assert len(rows) == len(view) > 5, (rows, view)
calls = [int(row["calls"]) for row in rows]
assert calls == sorted(calls, reverse=True), calls
for row in rows:
    of = view[row["pid"], row["function"]]
    for column in "calls", "total_ns", "self_ns", "min_ns", "max_ns", "in_flight":
        assert row[column] == ("" if of[column] is None else str(of[column])), (column, row, of)
assert abs(sum(float(row["self_percent"]) for row in rows) - 100) < 0.1
pairs = json.load(open("caller.json"))
for (pid, function), of in view.items():
    below = [row for row in pairs if str(row["pid"]) == pid and row["function"] == function]
    assert sum(int(row["calls"]) for row in below) == int(of["calls"]), (below, of)
assert [row["caller"] for row in pairs if row["calls"] == 1000] == ["calls"], pairs
assert sorted(row["calls"] for row in pairs if row["caller"] == "threads") == [3, 50], pairs
END
    expect 0 "$SPROF" stats t.db --by process
    grep -qE ' 1000 .* program +program +work$' out || fail "no table"
    expect 0 "$SPROF" stats t.db --by caller --wide
    grep -qE 'program +program +calls +work$' out || fail "no callers"
    expect 2 "$SPROF" stats t.db --by caller --sort p99 && said "no column 'p99'; it has self, "
    expect 2 "$SPROF" stats t.db --by library && said 'give function, process, thread, caller or outside'
    expect 2 "$SPROF" stats t.db --by process --warnings && said 'by divides figures'
    ;;
forks)
    traced --function "$chosen" -- ./program forks
    want work 11 11 13 50 1000
    want calls 1 1 1 2
    want threads 3 50
    [ "$(sql t.db "SELECT count(*) FROM process")" = 5 ] || fail "$(sql t.db 'SELECT count(*) FROM process') processes, not 5"
    said '5 processes of 1 program'
    # Without the option they pass through.
    expect 5 "$SPROF" trace -o t.db --function "$chosen" -- ./program forks
    want work 11
    # Reports are by process, too.
    traced --paths --function "$chosen" -- ./program forks
    want work 11 11 13 50 1000
    [ "$("$SPROF" report t.db --by process --format csv | grep -c program)" = 5 ] ||
        fail "a process is missing: $("$SPROF" report t.db --by process)"
    ;;
namespaces)
    # Numbers of processes in a pid namespace are not ours: 1 is init there, and another one here.
    unshare -pf --mount-proc true 2>err || skip "no pid namespaces: $(cat err)"
    traced --function "$chosen" -- unshare -pf --mount-proc ./program forks
    want work 11 11 13 50 1000
    [ "$(sql t.db "SELECT count(*) FROM process WHERE name NOT IN ('program', 'unshare')")" = 0 ] ||
        fail "others' names: $(sql t.db 'SELECT pid, name FROM process')"
    # A forked process goes on in it without executing anything.
    traced --function "$chosen" -- ./program inside
    want work 2 21
    [ "$(sql t.db "SELECT count(*) FROM process WHERE pid = 1")" = 0 ] || fail "$(sql t.db 'SELECT pid, name FROM process')"
    # Another network has other abstract sockets.
    unshare -n true 2>err || skip "no network namespaces: $(cat err)"
    traced --function "$chosen" -- unshare -n ./program forks
    want work 11 11 13 50 1000
    ;;
file)
    # The socket that is a file goes with sprof, whatever ends that.
    socket_file() { ls "/tmp/sprof-$1-"* 2>/dev/null; }
    is_gone() { ! socket_file "$tracer"; }
    for signal in INT KILL; do
        timeout -s KILL 100 "$SPROF" trace --children -o t.db --function "$chosen" -- sh -c 'echo $PPID $$ >tracer; exec sleep 60' >tout 2>terr &
        wait_until 60 test -s tracer
        read -r tracer command <tracer
        [ -S "$(socket_file "$tracer")" ] || fail "no socket of $tracer: $(ls /tmp | grep '^sprof-[0-9]')"
        kill -s $signal "$tracer"
        wait_until 60 is_gone
        kill "$command" 2>/dev/null
        wait
        rm tracer
    done
    ;;
strangers)
    # Anybody may take the socket's name when sprof has ended, and anybody sees it before.
    [ "$(id -u)" = 0 ] || skip "needs root, to be two other users"
    as() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
    as 1234 true 2>err || skip "no other users: $(cat err)"
    prepare_ordinary_user
    SPROF=$user_sprof
    chmod 755 program
    cat >taker.py <<'END'
import os, socket, sys
os.setresuid(*3 * [int(sys.argv[2])])
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.settimeout(100)
server.bind("\0sprof-test-" + sys.argv[1])
server.listen()
print("bound", flush=True)
peer = server.accept()[0]
peer.settimeout(100)
print("hello" if peer.recv(4096) else "nothing", flush=True)
END
    for user in 1234 65534 0; do
        timeout 30 python3 taker.py $$-$user $user >"taken.$user" 2>taker.err &
        taker=$!
        wait_until 60 grep -q bound "taken.$user"
        as 65534 env LD_PRELOAD="$work/user/libexec/sprof/libsprof-probe.so" SPROF_PROBE="@sprof-test-$$-$user" timeout 100 ./program leaf 3 >got 2>err
        [ $? = 5 ] && [ "$(cat got)" = leaf ] && [ ! -s err ] || fail "the program does not run as ever"
        wait $taker || fail "the socket's owner: $(cat taker.err)"
    done
    [ "$(tail -n 1 taken.1234)" = nothing ] || fail "the agent speaks to another user"
    [ "$(tail -n 1 taken.65534)" = hello ] || fail "the agent does not speak to its own user"
    [ "$(tail -n 1 taken.0)" = hello ] || fail "the agent does not speak to root"
    # Who has the environment is the command's; who has only seen the name is not.
    cat >command <<'END'
setpriv --reuid 65534 --regid 65534 --clear-groups ./program leaf 4
setpriv --reuid 65534 --regid 65534 --clear-groups env SPROF_PROBE="${SPROF_PROBE%:*}" ./program leaf 8
setpriv --reuid 65534 --regid 65534 --clear-groups env SPROF_PROBE="${SPROF_PROBE%:*}:0123456789abcdef" ./program leaf 16
END
    traced --function "$chosen" -- sh command
    want work 4
    ! grep -q 'another user' "$work/err" || fail "told that others may not load the agent"
    # Where they may not, they run all the same, and that is said.
    chmod 700 user
    traced --function "$chosen" -- sh command
    said "another user is not traced: it may not enter $work/user,.*chmod a\+x $work/user"
    [ "$(sql t.db 'SELECT count(*) FROM v_process_call')" = 0 ] || fail "traced without an agent"
    ;;
executed)
    traced --function "$chosen" -- ./program executed
    want work 5 19 100 200 300 400 500 600
    # Programs of one process are told apart.
    [ "$(sql t.db "SELECT count(DISTINCT pid) FROM v_process_call")" = 6 ] || fail "not 6 process numbers"
    # Not only those of the command.
    traced --function "$chosen" -- sh -c './program leaf 3; ./program leaf 4 | cat; exec ./program leaf 5'
    want work 3 4 5
    # What was called before a program is executed is of a process with the name that it had then, though nobody had seen it yet.
    cat >before.c <<'E'
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void early(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
int main(void)
{
    if (!fork()) { early(); execl("./program", "program", "leaf", "3", (char *)0); }
    return wait(0) < 0;
}
E
    gcc -O1 before.c -o before || fail "no compiler"
    expect 0 "$SPROF" trace --children -o before.db --function '^(early|work)$' -- ./before
    said '4 calls in [0-9.]+ s . probes took [0-9.]+ ns a call, taken off'
    [ "$(sql before.db "SELECT group_concat(process || ' ' || function, '/') FROM (SELECT * FROM v_process_call ORDER BY function)")" = \
        'before early/program work' ] || fail "names of processes: $(sql before.db 'SELECT * FROM v_process_call')"
    ;;
left)
    # The trace lasts as long as what the command leaves behind.
    mkfifo input
    timeout 120 "$SPROF" trace --children -o t.db --function "$chosen" -- ./program daemon <input >tout 2>terr &
    tracer=$!
    exec 7>input
    wait_until 60 grep -q 'still traced' terr
    echo >&7
    exec 7>&-
    wait $tracer
    [ $? = 5 ] || fail "other exit status than the command's"
    rm daemon
    want work 18
    # Or until it is ended; what it leaves goes on untraced.
    timeout 120 "$SPROF" trace --children -o t.db --function "$chosen" -- ./program daemon <input >tout 2>terr &
    tracer=$!
    exec 7>input
    wait_until 60 grep -q 'still traced' terr
    wait_until 60 test -s daemon
    daemon=$(cat daemon)
    expect 0 "$SPROF" ctl -i t.db end
    wait $tracer
    [ $? = 5 ] || fail "other exit status than the command's"
    kill -0 "$daemon" || fail "the daemon has ended with the trace"
    exec 7>&-
    wait_until 60 eval "! kill -0 $daemon 2>/dev/null"
    ;;
many)
    traced --function "$chosen" -- ./program many 300
    [ "$(sums work)" = 4500 ] || fail "$(sums work) calls, not 4500"
    [ "$(sql t.db "SELECT count(*) FROM (SELECT 1 FROM v_process_call WHERE function = 'work' GROUP BY process_id)")" = 375 ] ||
        fail "not all processes have figures"
    ;;
modes)
    traced --mode coverage --function "$chosen" -- ./program executed
    got=$(sql t.db "SELECT group_concat(function, ' ') FROM (SELECT function FROM v_coverage WHERE executed ORDER BY function)")
    [ "$got" = "calls work" ] || fail "covered: $got"
    [ "$(sql t.db "SELECT count(*) FROM v_coverage WHERE NOT executed")" = 2 ] || fail "not two functions are left"
    traced --mode log --function "$chosen" -- ./program forks
    [ "$(sql t.db "SELECT count(*) FROM v_call WHERE function = 'work'")" = 1085 ] || fail "not every call has a row"
    [ "$(sql t.db "SELECT count(DISTINCT pid) FROM v_call")" = 5 ] || fail "not of every process"
    want work 11 11 13 50 1000
    ;;
covered)
    # Covered again after `clear` and counted after `mode stats`, in processes that were forked before and after probes left,
    # in one that has executed another program, and beside one that is between vfork and exec.
    cat >covered.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI void by_all(void) { KEEP; }
NI void by_parent(void) { KEEP; }
NI void by_early(void) { KEEP; }
NI void by_late(void) { KEEP; }
NI void by_other(void) { KEEP; }
NI void never(void) { KEEP; }
static void answer(int fd) { if (write(fd, "", 1) != 1) _exit(8); }
/* Calls what it is told to, and by_all. */
static void serve(int in, int out, void (*mine)(void))
{
    char order;
    while (read(in, &order, 1) == 1) {
        mine();
        by_all();
        answer(out);
    }
    _exit(0);
}
static int ends[3][2];
static void begin(int who, void (*mine)(void), int executes)
{
    int in[2], out[2];
    if (pipe(in) || pipe(out)) _exit(7);
    if (!fork()) {
        for (int i = 0; i < 3; i++) close(ends[i][0]);
        close(in[1]);
        close(out[0]);
        if (executes) {
            dup2(in[0], 0);
            dup2(out[1], 1);
            execl("./covered", "covered", "other", (char *)0);
        }
        serve(in[0], out[1], mine);
    }
    close(in[0]);
    close(out[1]);
    ends[who][0] = in[1];
    ends[who][1] = out[0];
}
int main(int count, char **arguments)
{
    char line[16], done;
    (void)arguments;
    if (count > 1) serve(0, 1, by_other);
    begin(0, by_early, 0);
    begin(1, by_other, 1);
    while (fgets(line, sizeof line, stdin)) {
        const int who = *line == 'e' ? 0 : *line == 'o' ? 1 : *line == 'l' ? 2 : -1;
        if (*line == 'n')
            begin(2, by_late, 0); /* calls nothing yet */
        else if (*line == 'v') {
            if (!vfork()) execl("/bin/true", "true", (char *)0);
        } else if (who >= 0) {
            if (write(ends[who][0], "", 1) != 1 || read(ends[who][1], &done, 1) != 1) return 9;
        } else {
            by_parent();
            by_all();
        }
        puts("done");
        fflush(stdout);
    }
    for (int i = 0; i < 3; i++) close(ends[i][0]);
    while (wait(0) > 0) ;
    return 5;
}
END
    gcc -O1 -g -o covered covered.c || fail "no compiler"
    mkfifo in out.fifo
    "$SPROF" trace --children --mode coverage --function '^(by_|never)' -o t.db -- ./covered <in >out.fifo 2>terr &
    tracer=$!
    children+=("$tracer")
    exec 7>in 8<out.fifo
    ctl() {
        expect 0 "$SPROF" ctl -i t.db "$@"
    }
    say() {
        local line
        for order in $1; do
            echo "$order" >&7
            read -r -t 60 line <&8 && [ "$line" = done ] || fail "the program does not answer to $order"
        done
    }
    covered() {
        ctl stats
        got=$(sql t.db "SELECT group_concat(function, ' ') FROM (SELECT DISTINCT function FROM v_coverage WHERE executed ORDER BY function)")
        [ "$got" = "$1" ] || fail "covered: '$got', not '$1'"
    }
    have_left() {
        wait_until 60 eval "'$SPROF' ctl -i t.db status | grep -q ' $1 probes removed'"
    }
    say "p e o"
    have_left 5 # by_all in two programs
    covered "by_all by_early by_other by_parent"
    # Each process leads to the trace, which says that it is not alone there.
    for process in $(pgrep -P "$(pgrep -P "$tracer" -x covered)"); do
        expect 0 "$SPROF" ctl -p "$process" status
        grep -q ' 5 probes removed' out || fail "the status of a child"
        said "process $process is traced with others, into .*/t.db: this holds for all"
    done
    expect 0 "$SPROF" ctl -p "$(pgrep -P "$tracer" -x covered)" status
    ! grep -q others err || fail "the command itself is told to be a child"
    say n
    ctl clear
    covered ""
    say l
    covered "by_all by_late"
    say "e v"
    covered "by_all by_early by_late"
    say "o p"
    covered "by_all by_early by_late by_other by_parent"
    ctl clear
    say o
    covered "by_all by_other"
    for process in e o l p; do say $process; done
    ctl mode stats
    for i in 1 2 3; do say "e l l o p v"; done
    exec 7>&-
    cat <&8 >/dev/null
    wait "$tracer"
    status=$?
    exec 8<&-
    cp terr err
    [ $status = 5 ] || fail "exit status $status"
    want by_all 3 3 3 6
    want by_late 6
    want by_parent 3
    ;;
controlled)
    # What is switched off is off in programs that come later.
    mkfifo input
    timeout 120 "$SPROF" trace --children -o t.db --function "$chosen" -- \
        sh -c 'read line; ./program leaf 4; read line; ./program leaf 8; read line; ./program leaf 16' <input >tout 2>terr &
    tracer=$!
    exec 7>input
    ctl() {
        expect 0 "$SPROF" ctl -i t.db "$@"
    }
    wait_for_trace terr -i t.db
    ctl probe -work
    grep -q '`work` finds no function .* holds for programs that are executed from now on' out ||
        fail "not said that nothing has such a function yet"
    echo >&7
    wait_until 60 eval '[ "$(grep -c leaf tout)" = 1 ]'
    expect 1 "$SPROF" ctl -i t.db detach
    said 'stay in the programs of a trace with --children.*ctl end'
    said '.sprof ctl -p PID detach. takes them out of one process'
    ctl status
    grep -q ^tracing out || fail "what was refused has changed something"
    ctl probe -#2
    echo >&7
    wait_until 60 eval '[ "$(grep -c leaf tout)" = 2 ]'
    ctl stop
    echo >&7
    wait $tracer
    [ $? = 5 ] || fail "other exit status than the command's"
    want work 8
    want calls 1 1
    ;;
let_go)
    # One process after the other, of a trace that goes on: of two programs, each with a child and a call in flight. One is the command itself.
    cat >pair.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) int work(int n) { __asm__ volatile("nop; nop; nop; nop; nop"); return n + 1; }
static void note(const char *what)
{
    FILE *pids = fopen("pids", "a");
    fprintf(pids, "%s %d\n", what, getpid());
    fclose(pids);
}
/* Is in flight all the time. */
__attribute__((noipa)) int serve(const char *what)
{
    char name[64];
    int sum = 0;
    note(what);
    while (access("enough", F_OK)) {
        sum = work(sum);
        snprintf(name, sizeof name, "fork.%d", getpid());
        if (!unlink(name)) {
            if (!fork()) { for (int i = 0; i < 1000; i++) work(i); _exit(0); }
            wait(0);
            if (!fork()) { execl("./pair", "pair", "executed", (char *)0); _exit(9); }
            wait(0);
            note("forked");
        }
        usleep(500);
    }
    return sum;
}
int main(int count, char **arguments)
{
    if (count > 1 && !strcmp(arguments[1], "executed")) { for (int i = 0; i < 77; i++) work(i); return 0; }
    const int child = fork();
    const int sum = serve(child ? "parent" : "child");
    return child ? wait(0), sum == 0 : 0;
}
END
    gcc -O1 -g pair.c -o pair || fail "no compiler"
    timeout 120 "$SPROF" trace --children -o t.db --function '^(work|serve)$' -- sh -c './pair & exec ./pair' 2>terr &
    tracer=$!
    children+=("$tracer")
    wait_for_trace terr -i t.db
    wait_until 60 eval '[ "$(wc -l <pids)" = 4 ]'
    calls_of() {
        expect 0 "$SPROF" ctl -i t.db stats
        sql t.db "SELECT coalesce(sum(calls), 0) FROM v_process_call WHERE function = 'work' AND pid = $1"
    }
    called() { [ "$(calls_of "$1")" -gt "$2" ]; }
    expect 1 "$SPROF" ctl -i t.db detach
    said 'takes them out of one process'
    expect 1 "$SPROF" ctl -p "$tracer" detach
    mapfile -t processes < <(sed 's/.* //' pids)
    is_gone=()
    for pid in "${processes[@]}"; do
        wait_until 60 called "$pid" 100
        expect 0 "$SPROF" ctl -p "$pid" detach
        grep -q "the probes are out of process $pid, and others are traced on" out || fail "not said that they are out: $(<out)"
        ! grep -q others err || fail "told that this is for others"
        ! grep -q memfd:sprof-probe "/proc/$pid/maps" || fail "what was mapped for probes has stayed"
        is_gone+=("$pid $(calls_of "$pid")")
        : >"fork.$pid" # what it forks is not traced, what it executes is
        wait_until 60 test ! -e "fork.$pid"
        is_as_in_file "$pid" || fail "the code differs"
        expect 1 "$SPROF" ctl -p "$pid" detach
        for other in "${processes[@]:${#is_gone[@]}}"; do
            wait_until 60 called "$other" "$(calls_of "$other")"
        done
        for known in "${is_gone[@]}"; do
            [ "$(calls_of "${known% *}")" = "${known#* }" ] || fail "a process is still measured: $known, then $(calls_of "${known% *}")"
        done
    done
    wait_until 60 eval '[ "$(grep -c forked pids)" = 4 ]'
    : >enough
    wait "$tracer"
    [ $? = 0 ] || { cp terr err && fail "the command failed"; }
    [ "$(sql t.db "SELECT sum(calls) FROM v_process_call WHERE function = 'work' AND calls = 77")" = $((4 * 77)) ] ||
        fail "what was executed later: $(sql t.db 'SELECT * FROM v_process_call')"
    [ "$(sql t.db "SELECT sum(in_flight) FROM v_process_call WHERE function = 'serve'")" = 4 ] || fail "calls in flight"
    [ "$(sql t.db "SELECT count(*) FROM v_process_call WHERE calls = 1000")" = 0 ] || fail "a child of an untraced process is traced"
    ;;
detached)
    # When the trace is over probes are taken out of processes, one by one: of one that was executed, and of one that it forked.
    cat >pair.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) int work(int n) { return n + 1; }
int main(void)
{
    const int child = fork();
    int sum = 0;
    FILE *pids = fopen("pids", "a");
    fprintf(pids, "%d\n", getpid());
    fclose(pids);
    while (access("enough", F_OK)) {
        sum = work(sum);
        usleep(500);
    }
    return child ? wait(&sum), sum != 0 : 0;
}
END
    gcc -O1 -g pair.c -o pair || fail "no compiler"
    timeout 120 "$SPROF" trace --children -o t.db --function '^(work|main)$' -- sh -c './pair; exit $?' 2>terr &
    tracer=$!
    children+=("$tracer")
    wait_for_trace terr -i t.db
    wait_until 60 eval '[ "$(wc -l <pids)" = 2 ]'

    expect 0 "$SPROF" ctl -i t.db end
    wait_until 60 test ! -e t.db.ctl
    for pid in $(<pids); do
        expect 0 "$SPROF" ctl -p "$pid" detach
        grep -q 'the probes are out' out || fail "not said that they are out"
        ! grep -q memfd:sprof-probe "/proc/$pid/maps" || fail "what was mapped for probes has stayed"
        is_as_in_file "$pid" || fail "the code differs"
    done
    : >enough
    wait "$tracer" || fail "the command failed"
    ;;
kinds)
    # What cannot be traced runs as always, and what it starts is traced.
    gcc -O1 -static program.c -o static || fail "no static libc"
    gcc -O1 -g -fsanitize=address program.c -o sanitized || fail "no sanitizer"
    unset ASAN_OPTIONS
    traced --function "$chosen" -- sh -c './sanitized leaf 3; ./static leaf 4; ./program leaf 5'
    want work 5
    said 'sanitized: it is built with a sanitizer'
    traced --function "$chosen" -- ./static executed
    want work 100 200 300 400 500 600
    said 'linked statically'
    ;;
bad)
    expect 2 "$SPROF" trace --children -o t.db -p $$
    said_only 'children belongs to a command'
    expect 2 "$SPROF" trace --children --function '(' -o t.db -- ./program leaf 1
    expect 127 "$SPROF" trace --children -o t.db -- ./missing
    ;;
*) fail "no such case" ;;
esac
