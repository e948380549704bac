#!/bin/bash
# sprof trace: where memory or addresses are limited it says why and what helps, and the program goes on as ever.
#   limits.sh process | recorder | executed | seccomp | overcommit | locked | libraries
set -u
. "$(dirname "$0")/lib.sh"

# Works until a file "end" is there. "errno" and "kill" say what memfd_create does, in it and in what it executes then.
cat >program.c <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("nop; nop; nop; nop; nop" : "+r"(n)); return n + 1; }
static void forbid(unsigned action)
{
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, action), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(77);
}
int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "none"))
        forbid(!strcmp(words[1], "kill") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM);
    if (count > 2) {
        execv(words[2], words + 2);
        return 8;
    }
    puts("ready");
    fflush(stdout);
    for (int sum = 0; access("end", F_OK); usleep(1000))
        sum = work(sum);
    puts("ended");
    return 5;
}
END
gcc -O1 program.c -o program || fail "no compiler"

# begin COMMAND…: it runs, and works.
begin() {
    rm -f end ready t.db
    "$@" >ready 2>/dev/null &
    child=$!
    children+=("$child")
    wait_until 60 grep -q ready ready
    maps=$(grep -vE 'heap|stack' "/proc/$child/maps" | sed 's/ .*//')
}
# refused TEXT: nothing is put into it, for that reason.
refused() {
    local text=$1
    expect 1 "$SPROF" trace --backend inject -p "$child" --function work -o t.db && said "$text"
    [ ! -e t.db ] || fail "a recording was left"
    [ "$(grep -vE 'heap|stack' "/proc/$child/maps" | sed 's/ .*//')" = "$maps" ] || fail "other mappings"
    # The kernel counts instead, where it may.
    "$SPROF" trace -p "$child" --function work --duration 100ms -o t.db >out 2>err
    said "$text.*(nothing can be put into it: the kernel counts|so nothing can be put into it)"
}
# It does what it does without all that.
ends() {
    touch end
    wait "$child"
    [ $? = 5 ] && [ "$(tail -n 1 ready)" = ended ] || fail "it ended otherwise"
}

case "$1" in
process)
    begin sh -c 'ulimit -v 4000000; exec ./program'
    refused 'has a limit of its addresses .*prlimit --as=unlimited'
    # What the message says is what helps.
    if prlimit --as=unlimited -p "$child" 2>/dev/null; then
        expect 0 "$SPROF" trace --backend inject -p "$child" --function work --duration 100ms -o t.db
    fi
    ends
    begin sh -c 'ulimit -d 1000000; exec ./program'
    refused 'has a limit of its data .*prlimit --data=unlimited'
    ends
    # Its limit of files is not that of memory that sprof makes.
    begin sh -c 'ulimit -f 8; exec ./program' && rm -f t.db
    expect 0 "$SPROF" trace --backend inject -p "$child" --function work --duration 100ms -o t.db
    ends
    ;;
executed)
    # A traced process of an ordinary user's executes a program with other rights: who traces it is told, and leaves that alone.
    needs_root "to make a set-user-id program"
    prepare_ordinary_user
    cat >executes.c <<'END'
#include <unistd.h>
__attribute__((noipa)) void work(void) { usleep(500); }
int main(int count, char **words)
{
    while (access("go", F_OK)) work();
    execv(words[count - 1], words + count - 1);
    return 9;
}
END
    gcc -O1 -g executes.c -o user/executes && cp "$(command -v cat)" user/other && chmod 4755 user/other || fail "no program"
    mkfifo -m 666 input
    cd home || exit 1
    "${as_ordinary_user[@]}" ../user/executes ../user/other <>../input &
    child=$!
    children+=("$child")
    wait_until 60 eval '[ "$(cat /proc/$child/comm)" = executes ]'
    "${as_ordinary_user[@]}" "$user_sprof" trace -p "$child" -o t.db --function '^work$' 2>trace.err &
    tracer=$!
    children+=("$tracer")
    wait_for_trace trace.err -i t.db
    : >go
    wait_until 60 grep -q 'executed a program with other rights in its place, which is not traced' trace.err
    "$SPROF" ctl -i t.db end >out 2>err || fail "the trace does not end"
    wait "$tracer" || fail "the trace failed: $(<trace.err)"
    ! grep -q 'may not be' trace.err || fail "something else is said: $(<trace.err)"
    kill -0 "$child" || fail "the program has ended"
    ;;
recorder)
    begin ./program
    expect 1 sh -c "ulimit -f 4000; exec '$SPROF' trace --backend inject -p $child --function work -o t.db"
    said 'File too large' && said "raise .ulimit -f."
    if ! grep -q __asan_report_load8 "$SPROF"; then
        expect 1 sh -c "ulimit -v 4000000; exec '$SPROF' trace --backend inject -p $child --function work -o t.db"
        said 'cannot map the shared memory, [0-9]+ GiB of addresses .*Cannot allocate memory' && said "raise sprof's own .ulimit -v"
    fi
    ! ls ./*.db >/dev/null 2>&1 || fail "a recording was left"
    # Its own stack.
    if ! grep -q __asan_report_load8 "$SPROF"; then
        expect 0 sh -c "ulimit -s 64; exec '$SPROF' trace --backend inject -p $child --function work --duration 100ms -o t.db"
        expect 0 sh -c "ulimit -s 64; exec '$SPROF' stats -i t.db"
        rm t.db
    fi
    [ "$(grep -vE 'heap|stack' "/proc/$child/maps" | sed 's/ .*//')" = "$maps" ] || fail "other mappings"
    ends
    ! ls ./*.db >/dev/null 2>&1 || fail "a recording was left"
    # Where sprof itself may make none.
    expect 1 ./program errno "$SPROF" trace -o t.db --function work -- ./program
    said 'cannot make shared memory: Operation not permitted' && said 'seccomp.* memfd_create'
    ! ls ./*.db >/dev/null 2>&1 || fail "a recording was left"
    ;;
seccomp)
    for action in errno kill; do
        begin ./program $action
        refused 'is under seccomp'
        ends
        # A command is under it only in what it executes, whose memory is sprof's.
        touch end
        "$SPROF" trace --children --function work -o t.db -- ./program $action ./program none >got 2>err
        [ $? = 5 ] && [ "$(tail -n 1 got)" = ended ] || fail "the command ended otherwise"
    done
    ;;
overcommit)
    # What the kernel would have, where the machine's own setting must stay: sprof reads it, and reserves nothing.
    echo 2 >two
    unshare -m mount --bind two /proc/sys/vm/overcommit_memory 2>err || skip "no mount namespaces: $(cat err)"
    strict() { unshare -m sh -c 'mount --bind two /proc/sys/vm/overcommit_memory && exec "$@"' - "$@"; }
    begin ./program
    text='may not reserve 16 TiB .*vm.overcommit_memory is 2 .*sysctl vm.overcommit_memory=0'
    expect 1 strict "$SPROF" trace --backend inject -p "$child" --function work --duration 100ms -o t.db && said "$text"
    strict "$SPROF" trace -p "$child" --function work --duration 100ms -o t.db >out 2>err
    said "$text.*(nothing can be put into it: the kernel counts|so nothing can be put into it)"
    # Otherwise what is charged is little.
    rm -f t.db
    "$SPROF" trace --backend inject -p "$child" --function work -o t.db >out 2>err &
    tracer=$!
    children+=("$tracer")
    wait_until 60 grep -q /memfd:sprof-probe "/proc/$child/maps"
    charged=$(awk '/^[0-9a-f]+-/ { size = 0 } /^Size:/ { size = $2 } /^VmFlags:.* ac( |$)/ { sum += size } END { print sum }' "/proc/$child/smaps")
    [ "$charged" -lt 16384 ] || fail "it is charged $charged KiB"
    expect 0 "$SPROF" ctl -i t.db end
    wait "$tracer" || fail "the trace failed"
    ends
    touch end
    expect 1 strict "$SPROF" trace --backend inject -o t.db --function work -- ./program && said "$text"
    ;;
locked)
    # A program that has all its memory locked, before, during or under a trace, has no more of it than it uses.
    cat >locked.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("nop; nop; nop; nop; nop" : "+r"(n)); return n + 1; }
static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}
int main(int count, char **words)
{
    if (count > 2)
        say("ready");
    for (; count > 2 && access(words[2], F_OK); usleep(1000))
        ;
    if (mlockall(atoi(words[1])))
        return 77;
    say(count > 2 ? "locked" : "ready");
    for (int sum = 0; access("end", F_OK); usleep(1000))
        sum = work(sum);
    say("ended");
    return 5;
}
END
    gcc -O1 locked.c -o locked || fail "no compiler"
    has() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$2/status" 2>/dev/null; }
    # is_little WHEN: of what is locked, and in memory.
    is_little() {
        for name in VmLck VmRSS; do
            [ "$(has $name "$child")" -lt 200000 ] || fail "$flags $1: $name is $(has $name "$child") KiB"
        done
    }
    # Or the machine would run out of memory.
    bound() {
        while size=$(has VmRSS "$1") && [ -n "$size" ]; do
            [ "$size" -lt 1000000 ] || kill -9 "$1"
            sleep 0.05
        done
    }
    touch end
    ./locked 1 >out
    [ $? = 5 ] || skip "mlockall is not permitted"
    kernel=$(uname -r) major=${kernel%%.*} minor=${kernel#*.}
    minor=${minor%%[!0-9]*}
    for flags in 1 3; do
        begin ./locked $flags
        bound "$child" &
        expect 0 "$SPROF" trace --backend inject -p "$child" --function work --duration 300ms -o t.db
        grep -qE '^work [1-9]' <<<"$(calls t.db)" || fail "$flags before: no calls"
        is_little before
        ends
        # Since Linux 6.15 shared memory can have a page that ends what mlockall makes.
        ((major * 100 + minor >= 615)) || continue
        rm -f lock
        begin ./locked $flags lock
        bound "$child" &
        "$SPROF" trace --backend inject -p "$child" --function work -o t.db >out 2>err &
        tracer=$!
        children+=("$tracer")
        wait_for_trace err -p "$child"
        touch lock
        wait_until 60 grep -q locked ready
        wait_until 60 sh -c "'$SPROF' ctl -p $child status | grep -qE ' [1-9][0-9]* calls'"
        [ "$(has VmRSS "$child")" -lt 200000 ] || fail "$flags during: $(has VmRSS "$child") KiB are in memory"
        expect 0 "$SPROF" ctl -p "$child" detach
        wait "$tracer" || fail "the trace failed"
        is_little during
        ends
    done
    ;;
libraries)
    # All of very many share their code with their files again, and nothing that was mapped for them stays.
    echo 'int work(int n) { __asm__ volatile("nop; nop; nop; nop; nop" : "+r"(n)); return n + 1; }' >library.c
    cat >many.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
enum { LIBRARIES = 200 };
int main(void)
{
    int (*works[LIBRARIES])(int);
    for (int i = 0; i < LIBRARIES; i++) {
        char name[64];
        snprintf(name, sizeof name, "./libmany%d.so", i);
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library || !(works[i] = (int (*)(int))dlsym(library, "work")))
            return 6;
    }
    puts("ready");
    fflush(stdout);
    for (int i = 0, sum = 0; access("end", F_OK); i++, usleep(100))
        sum = works[i % LIBRARIES](sum);
    puts("ended");
    return 5;
}
END
    gcc -O1 -shared -fPIC library.c -o library.so && gcc -O1 many.c -o many || fail "no compiler"
    for ((i = 0; i < 200; i++)); do cp library.so libmany$i.so || fail "no room for libraries"; done
    own() {
        awk '/^[0-9a-f]+-/ { code = $2 ~ /x/ && /many/ } /^Anonymous:/ && code { sum += $2 } END { print sum + 0 }' "/proc/$child/smaps"
    }
    begin ./many
    before=$(own)
    expect 0 "$SPROF" trace --backend inject -p "$child" --function '^work$' --module 'libmany*' --duration 1s -o t.db
    ! grep -q stays err || fail "something stays"
    said '^sprof: 200 probes'
    grep -qE '^work [1-9]' <<<"$(calls t.db)" || fail "no calls"
    [ "$(own)" = "$before" ] || fail "$(own) KiB of code are the process's own, and were $before"
    [ "$(grep -vE 'heap|stack' "/proc/$child/maps" | sed 's/ .*//')" = "$maps" ] || fail "other mappings"
    ends
    ;;
*)
    fail "no such case: $1"
    ;;
esac
