#!/usr/bin/env python3
"""Traces programs that run already: attaches at random moments, detaches, attaches again.

attach.py text|own|kill|halted|collected|controlled|left|lent|opened|waits|pauses|beginning|both|passed|joins|calls|users|mallocs|leftover|handler|removed|ended|closed|filtered|strict|shared|rings|refused|executes|python|sqlite|xz|bash SPROF [SEED [ROUNDS]]

A program prints and ends as it does untraced. `text`: afterwards its code is that of its files, and it
has the mappings that it had but for those of malloc and of its threads. `kill`: sprof is killed at any
moment, and who keeps watch on it in some rounds."""
import atexit
import csv
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import targets
from targets import check_text, fail, files_of, has_ended, keeper_of, mappings, own_program, rng, sprof, status_of, wait_for

ROUNDS = targets.rounds(5)


def begin(command):
    return targets.begin(command, stdout=open("out", "w"))


def trace(pid, *options):
    return targets.trace(subprocess.DEVNULL, "-p", str(pid), *options)


def ctl(pid, *words):
    return targets.ctl("-p", str(pid), *words)


def begin_own(command):
    """Goes on when the program's threads are there, and so all its files."""
    process = begin(command)
    wait_for(lambda: process.poll() is not None or len(os.listdir(f"/proc/{process.pid}/task")) > 1, "its threads")
    return process


def check_same(process, want):
    """`want`: of the program, untraced."""
    status = status_of(process)
    out = open("out").read()
    if (status, out) != (want.returncode, want.stdout):
        fail(f"ended with {status}, untraced {want.returncode}; output {'as' if out == want.stdout else 'not as'} untraced")


def text():
    command = own_program(40, "end")
    want = subprocess.run(own_program(40), capture_output=True, text=True)
    compared = 0
    for i in range(ROUNDS):
        process = begin_own(command)
        time.sleep(rng.random() * 0.3)
        before = files_of(process.pid)
        for again in range(2):
            tracer = trace(process.pid, "--module", "*", "--duration", f"{rng.randrange(1, 400)}ms")
            if status_of(tracer):
                fail("it was not traced")
            notes = open("err").read()
            if "stays" in notes:
                print(notes)
                break
            if files_of(process.pid) != before:
                fail(f"mappings differ: {sorted(set(files_of(process.pid)) ^ set(before))}")
            print(f"{check_text(process.pid)} bytes of code compared;{re.search('threads stood .*', notes).group(0)}")
            compared += 1
        open("end", "w").close()
        check_same(process, want)
        os.unlink("end")
    if compared < ROUNDS:
        fail(f"only {compared} of {2 * ROUNDS} times nothing stayed")


TIERS = 98464  # SHARED_TIERS of agent/probe/offsets.h


def tiers_of(pid):
    """What the first functions' probes do, as the memory has it that the process shares with sprof; empty: there is none."""
    for line in open(f"/proc/{pid}/maps"):
        if "/memfd:sprof-probe " in line:
            with open(f"/proc/{pid}/mem", "rb") as memory:
                memory.seek(int(line.split("-")[0], 16) + TIERS)
                return memory.read(16)
    return b""


def cut_short(out):
    """The last line counts waits that ended by a stop: sprof has them made again, unless it is killed just then."""
    return out.split("\n")[:-2]


def kill():
    """Kills sprof at any moment; its keeper takes out what it leaves, or `ctl detach` where that was killed, too."""
    want = subprocess.run(own_program(1000), capture_output=True, text=True)
    process = begin_own(own_program(1000, "end"))
    for warm in range(2):  # the second finds all plans
        begun = time.monotonic()
        status_of(trace(process.pid, "--module", "*", "--duration", "50ms"))
        attaching = time.monotonic() - begun
    process.kill()
    process.wait()
    kept = taken = 0
    for i in range(4 * ROUNDS):
        process = begin_own(own_program(1000, "end"))
        before = files_of(process.pid)
        time.sleep(rng.random() * 0.05)
        tracer = trace(process.pid, "--module", "*", "--duration", "50ms")
        wait_for(lambda: keeper_of(tracer.pid) or tracer.poll() is not None, "its keeper")
        time.sleep(rng.random() * attaching * 0.7)
        keeper = keeper_of(tracer.pid)
        if i % 4 == 3 and keeper:
            os.kill(keeper, signal.SIGKILL)
        tracer.kill()
        status_of(tracer)
        if i % 4 == 2:
            again = trace(process.pid, "--module", "*", "--duration", "1ms")
            if status_of(again):
                fail("it could not be traced again")
        if keeper and i % 4 != 3:
            wait_for(lambda: has_ended(keeper), "the keeper's end")
            if files_of(process.pid) != before:
                fail(f"mappings differ: {sorted(set(files_of(process.pid)) ^ set(before))}")
            check_text(process.pid)
            kept += 1
        elif ctl(process.pid, "detach").returncode == 0:
            taken += 1
        open("end", "w").close()
        status = status_of(process)
        os.unlink("end")
        if status != want.returncode or cut_short(open("out").read()) != cut_short(want.stdout):
            fail(f"the program ended with {status}")
    print(f"{4 * ROUNDS} of {4 * ROUNDS} lived; {kept} had nothing left in them, from {taken} probes were taken afterwards")


REMOVED = """
#include <unistd.h>
#ifdef LIBRARY
__attribute__((noinline)) void called(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
#else
void called(void);
__attribute__((noinline)) void work(void) { called(); __asm__ volatile("nop; nop; nop; nop; nop"); }
int main(void)
{
    for (int i = 0; i < 60000 && access("end", F_OK); i++, usleep(1000))
        for (int k = 0; k < 1000; k++) work();
    return 3;
}
#endif
"""


def removed():
    """sprof is killed when the files of the program are not there any more, or lie where only the program sees them: in
    a container. What was there is put back; who may not open the kernel's files leaves pages the process's own."""
    with open("removed.c", "w") as file:
        file.write(REMOVED)
    place = os.path.abspath("place")
    os.makedirs(place)
    subprocess.run(["gcc", "-O1", "-DLIBRARY", "-shared", "-fPIC", "removed.c", "-o", "place/libcalled.so"], check=True)
    subprocess.run(["gcc", "-O1", "removed.c", "-o", "place/removed", "place/libcalled.so", f"-Wl,-rpath,{place}"], check=True)
    os.rename("place", "files")
    is_root = os.geteuid() == 0
    nobody, user_sprof = targets.ordinary_user()
    mount = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {place} && cp files/* {place} && exec {place}/removed"]
    cases = [("removed", sprof, {}), ("libcalled.so", user_sprof, nobody)]
    if is_root:
        cases += [("libcalled.so", sprof, {}), ("container", sprof, {})]
    for gone, program, user in cases:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree("files", place)
        os.chmod(place, 0o777)
        process = targets.begin(mount if gone == "container" else [f"{place}/removed"], **user)
        wait_for(lambda: any("libcalled" in line[-1] for line in mappings(process.pid)), "the program")
        command = [program, "trace", "-p", str(process.pid), "--function", "^(work|called)$", "-o", f"{place}/t.db"]
        tracer = targets.begin(command, **user, stdout=subprocess.DEVNULL, stderr=open("err", "w"))
        targets.wait_for_trace(tracer, "-p", str(process.pid), program=program, **user)
        if gone != "container":
            os.unlink(f"{place}/{gone}")
        keeper = keeper_of(tracer.pid)
        tracer.kill()
        status_of(tracer)
        wait_for(lambda: has_ended(keeper), "the keeper's end")
        time.sleep(0.1)
        if process.poll() is not None:
            fail(f"{gone}: the program ended with {process.returncode}")
        if is_root:
            check_text(process.pid, shares=not user)
        if any("sprof-probe" in line[-1] for line in mappings(process.pid)):
            fail(f"{gone}: probes were left")
        open("end", "w").close()
        if status_of(process) != 3:
            fail(f"{gone}: it ended with {process.returncode}")
        os.unlink("end")


CLOSED = """
#include <unistd.h>
__attribute__((noinline)) void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
int main(void)
{
    write(1, "x", 1);
    for (int i = 0; i < 60000 && access("end", F_OK); i++, usleep(1000)) work();
    return 3;
}
"""


def ended():
    """The kernel refuses the memory of a program that has ended to its user. No probes are said to stay in that."""
    user, user_sprof = targets.ordinary_user()
    command = compile_c("program", CLOSED)
    for how in ("end", "kill"):
        process = targets.begin(command, **user)
        wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("program"), "the program")
        tracer = targets.begin([user_sprof, "trace", "-p", str(process.pid), "--function", "^work$", "-o", f"{how}.db"],
                               **user, stdout=subprocess.DEVNULL, stderr=open("err", "w"))
        targets.wait_for_trace(tracer, "-p", str(process.pid), program=user_sprof, **user)
        if how == "kill":
            os.kill(process.pid, signal.SIGKILL)
        else:
            open("end", "w").close()
        if status_of(tracer) or re.search("stay|may not be|cannot", open("err").read()):  # before it is waited for
            fail(f"{how}: the trace ended with {tracer.returncode}")
        status_of(process)
        if how == "end":
            os.unlink("end")


def closed():
    """The program's user may not read the agent's file, or not enter where it lies. It is said which, and what helps; the
    program is as it was."""
    if os.geteuid():
        print("SKIPPED: needs root, to be another user")
        raise SystemExit(targets.NO_PROGRAM)
    user, _ = targets.ordinary_user()
    own = targets.install("own")
    place = os.path.dirname(own)
    parts = f"{place}/libexec"
    os.chown(parts, 0, 1234)

    def traced(status, said, *processes):
        before = [files_of(each.pid) for each in processes]
        numbers = ",".join(str(each.pid) for each in processes)
        answer = subprocess.run([own, "trace", "-p", numbers, "--function", "^work$", "--duration", "100ms", "-o", "t.db"],
                                capture_output=True, text=True, timeout=targets.PATIENCE)
        if answer.returncode != status or not re.search(said, answer.stderr):
            fail(f"{answer.returncode}, not {said}: {answer.stderr}")
        if any(each.poll() is not None for each in processes) or [files_of(each.pid) for each in processes] != before:
            fail(f"the program is not as it was: {answer.stderr}")

    begun = []
    for name, flags, library in ("dynamic", [], "libsprof-probe.so"), ("static", ["-static"], "libsprof-probe-mapped.so"):
        command = compile_c(name, CLOSED, *flags)
        agent = f"{parts}/sprof/{library}"
        process = targets.begin(command, stdout=subprocess.PIPE, **user)
        member = targets.begin(command, stdout=subprocess.PIPE, **{**user, "extra_groups": [1234]})
        begun += [process, member]
        for each in process, member:  # the loader still changes mappings before that
            each.stdout.read(1)
        for path, usual, mode, what in ((place, 0o755, 0o700, f"enter {place}, and has to load {agent}"),
                                        (parts, 0o755, 0o750, f"enter {parts}, and has to load {agent}"),
                                        (agent, 0o644, 0o600, f"read {agent}")):
            os.chmod(path, mode)
            refused = f"cannot trace process {process.pid}: its user .nobody. may not {what}\nsprof: install sprof where " \
                      f"that user may read it, or `chmod a.{what[0].replace('e', 'x')} {path}`"
            traced(1, refused, process)
            traced(1, refused + "\nsprof: none of the 2 processes is traced", process, member)
            if mode == 0o750:
                traced(0, "calls? in", member)
            os.chmod(path, usual)
            traced(0, "calls? in", process, member)
    open("end", "w").close()
    for process in begun:
        if status_of(process) != 3:
            fail(f"it ended with {process.returncode}")


FILTERED = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
int main(void)
{
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 1, 0),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {5, filter};
    while (access("filter", F_OK)) { work(); usleep(1000); }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 77;
    write(1, "x", 1);
    while (access("end", F_OK)) { work(); usleep(1000); }
    return 3;
}
"""


def filtered():
    """The program comes under seccomp while it is traced: nobody is sent to unmap anything then, which may end it."""
    command = compile_c("filtered", FILTERED)
    for how in ("end", "detach", "kill"):
        process = begin(command)
        tracer = trace(process.pid, "--function", "^work$")
        wait_for(lambda: ctl(process.pid, "status").returncode == 0, "the trace", tracer)
        open("filter", "w").close()
        wait_for(lambda: open("out").read() == "x" or process.poll() is not None, "seccomp")
        if process.poll() == 77:
            print("SKIPPED: no seccomp")
            raise SystemExit(targets.NO_PROGRAM)
        if how == "kill":
            keeper = keeper_of(tracer.pid)
            tracer.kill()
            status_of(tracer)
            wait_for(lambda: has_ended(keeper), "the keeper's end")
        elif ctl(process.pid, how).returncode or status_of(tracer) or "under seccomp" not in open("err").read():
            fail(f"{how}: {open('err').read()}")
        time.sleep(0.2)
        answer = ctl(process.pid, "status")
        if process.poll() is not None or answer.returncode != 1 or "that you may control" not in answer.stderr:
            fail(f"{how}: the program ended with {process.poll()}; {answer.stderr}")
        program = [line for line in mappings(process.pid) if line[-1].endswith("/filtered") and "x" in line[1]][0]
        first, last = (int(part, 16) for part in program[0].split("-"))
        with open(f"/proc/{process.pid}/mem", "rb", 0) as memory, open(program[-1], "rb") as file:
            memory.seek(first)
            file.seek(int(program[2], 16))
            code = memory.read(last - first)
            if code != file.read(last - first).ljust(len(code), b"\0"):
                fail(f"{how}: its code differs")
        open("end", "w").close()
        if status_of(process) != 3:
            fail(f"{how}: the program ended with {process.returncode}")
        os.unlink("end")
        os.unlink("filter")


STRICT = """
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define NI __attribute__((noinline))
enum { CALLS = 100 };
static int there[2], back[2], is_tsc;
NI void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
NI void after(char *place) { __asm__ volatile("nop; nop; nop; nop; nop" : : "r"(place) : "memory"); }
NI static void deep(int depth) /* to new pages of the stack */
{
    char place[1000];
    after(place);
    if (depth > 1) deep(depth - 1);
    __asm__ volatile("" : : "r"(place) : "memory");
}
#ifdef RAW
#define prctl(...) syscall(SYS_prctl, __VA_ARGS__)
#define COME_UNDER_STRICT syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL)
#else
#define COME_UNDER_STRICT prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
#endif
NI int confine(void) /* it returns when that is done */
{
    const int failed = is_tsc ? prctl(PR_SET_TSC, PR_TSC_SIGSEGV) : COME_UNDER_STRICT;
    __asm__ volatile("");
    return failed;
}
NI static int serve(void)
{
    char byte = 0;
    if (confine()) return 77;
    while (read(there[0], &byte, 1) == 1) { deep(CALLS); write(back[1], &byte, 1); }
    return 0;
}
static void *run(void *nothing) { syscall(SYS_exit, serve()); return nothing; }
static void *run_freely(void *nothing) { deep(CALLS); return nothing; }
static int ask(void)
{
    char byte = 0;
    write(there[1], &byte, 1);
    return read(back[0], &byte, 1) == 1;
}
int main(int count, char **words)
{
    pthread_t thread;
    is_tsc = count > 1;
    pipe(there);
    pipe(back);
    while (access("go", F_OK)) { work(); usleep(1000); }
    if (is_tsc) {
        if (confine()) return 77;
        deep(CALLS);
        pthread_create(&thread, NULL, run_freely, NULL); /* it may not read the counter either */
        pthread_join(thread, NULL);
    } else {
        pthread_create(&thread, NULL, run, NULL);
        if (!ask() || !ask()) return 4;
    }
    write(1, "x", 1);
    while (access("end", F_OK)) { work(); usleep(1000); }
    if (is_tsc) deep(CALLS);
    else if (!ask()) return 5;
    return 3;
}
"""


def strict():
    """A thread comes under strict seccomp while it is traced, or gives up the processor's counter, by which calls are
    timed: its calls are counted, and it makes no system call that it does not make by itself."""
    command = compile_c("strict", STRICT)
    raw = compile_c("strict_raw", STRICT, "-DRAW")  # by libc's syscall

    def killed(tracer):
        keeper = keeper_of(tracer.pid)
        tracer.kill()
        status_of(tracer)
        wait_for(lambda: has_ended(keeper), "the keeper's end")

    for how, run in (("detach", command), ("end", [*command, "tsc"]), ("kill", command), ("launched", command), ("rests", command),
                     ("detach", [*raw, "tsc"]), ("end", raw), ("launched", raw), ("rests", raw)):
        options = ["--function", "^(work|after|confine)$"]
        process = begin(run)
        if how == "launched":
            process.kill()
            process.wait()
            tracer = targets.trace(open("out", "w"), *options, "--", *run)
            pid = wait_for(lambda: targets.command_of(tracer.pid), "the command", tracer)
        else:
            pid = process.pid
            tracer = trace(pid, *options, "--rest", "100ms")
        wait_for(lambda: ctl(pid, "status").returncode == 0, "the trace", tracer)
        if how == "rests":
            ctl(pid, "off")
            wait_for(lambda: " rest" in ctl(pid, "status").stdout, "rest")
        open("go", "w").close()
        wait_for(lambda: open("out").read() == "x" or has_ended(pid), "its calls")
        if has_ended(pid):
            fail(f"{how}: it ended")
        if how == "rests":
            answer = ctl(pid, "on")
            wait_for(lambda: "under strict seccomp" in open("err").read(), "that it is said")
        if how == "kill":
            killed(tracer)
        elif how != "launched" and (ctl(pid, "detach" if how == "rests" else how).returncode or status_of(tracer)):
            fail(f"{how}: {open('err').read()}")
        open("end", "w").close()
        status = status_of(tracer if how == "launched" else process)
        if status != 3:
            fail(f"{how}: the program ended with {status}")
        if how != "rests" and how != "kill":
            text = subprocess.run([sprof, "stats", "-i", "t.db", "--format", "csv"], capture_output=True, text=True).stdout
            calls = {row["function"]: row["calls"] for row in csv.DictReader(text.splitlines())}
            wanted = "300" if how == "launched" else "200"
            if calls.get("after") != wanted or "may not read the processor's counter" not in open("err").read():
                fail(f"{how}: not {wanted} calls of after: {calls} {open('err').read()}")
        os.unlink("go")
        os.unlink("end")
    process = begin(command)  # a thread that was there before, of several
    open("go", "w").close()
    wait_for(lambda: open("out").read() == "x", "its calls")
    before = files_of(process.pid)
    if status_of(trace(process.pid, "--backend", "inject")) != 1 or "is under seccomp" not in open("err").read():
        fail(f"it is not refused: {open('err').read()}")
    if files_of(process.pid) != before:
        fail("mappings differ")
    open("end", "w").close()
    if status_of(process) != 3:
        fail(f"it ended with {process.returncode}")


SHARED = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline))
NI int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
NI int work(int n) { return leaf(n) + leaf(n); }
static volatile int ends, is_thread, is_raw;
static _Alignas(64) char stack[1 << 20];
static int other(void *unused)
{
    alarm(100);
    while (!ends)
        if (work(3) != 8) abort();
    while (is_thread) pause(); /* its end by _exit would be that of all */
    _exit(4);
}
/* By libc's syscall, which returns in the child to what is on top of its stack. */
static int clone_raw(char *top, int flags)
{
    void **words = (void **)top - 2;
    struct clone_args all = {.flags = flags & ~0xff, .stack = (long)(top - 4096), .stack_size = 4080, .exit_signal = flags & 0xff};
    *words = other;
    return is_raw == '3' ? syscall(SYS_clone3, &all, sizeof all) : syscall(SYS_clone, flags, words, 0, 0, 0);
}
NI int share(char *top, int flags)
{
    is_thread = flags & CLONE_THREAD;
    int status, child = is_raw ? clone_raw(top, flags) : clone(other, top, flags, 0);
    write(1, "x", 1);
    while (access("end", F_OK))
        for (int i = 0; i < 1000; i++)
            if (work(1) != 4) abort();
    ends = 1;
    if (flags & CLONE_THREAD) return 3;
    return waitpid(child, &status, 0) == child && status == 4 << 8 ? 3 : 1;
}
NI int share_own(int flags)
{
    char own[1 << 16];
    const int result = share(own + sizeof own, flags);
    __asm__ volatile("" : : "r"(own) : "memory");
    return result;
}
int main(int count, char **words)
{
    const int thread = CLONE_THREAD | CLONE_SIGHAND;
    if (count > 2) is_raw = *words[2];
    if (count > 1) write(1, "b", 1);
    while (count > 1 && access("share", F_OK)) {
        work(1);
        usleep(1000);
    }
    if (count > 1 && *words[1] == 'o') return share_own(CLONE_VM | SIGCHLD);
    return share(stack + sizeof stack, CLONE_VM | SIGCHLD | (count > 1 && *words[1] == 't' ? thread : 0));
}
"""


def shared():
    """Another process has the same memory, and would go on while threads stand still: nothing is put into it. Where one
    comes later, or a thread that has another one's data, calls are counted from then on, and probes are taken out."""
    command = compile_c("shared", SHARED)
    process = begin(command)
    wait_for(lambda: open("out").read() == "x", "who shares its memory")
    for i in range(ROUNDS):
        status = status_of(trace(process.pid, "--backend", "inject", "--duration", "20ms"))
        if status != 1 or "shares its memory with another process" not in open("err").read():
            fail(f"{status}: {open('err').read()}")
    open("end", "w").close()
    if status_of(process) != 3:
        fail(f"it ended with {process.returncode}")
    os.unlink("end")
    for how, stack, *raw in (("end", "fixed"), ("detach", "own"), ("switch", "fixed"), ("kill", "own"), ("end", "thread"),
                             ("end", "fixed", "raw"), ("detach", "own", "3"), ("kill", "thread", "raw"), ("switch", "own", "raw")):
        process = begin([*command, stack, *raw])
        wait_for(lambda: open("out").read() == "b", "the program")
        before = files_of(process.pid)
        tracer = trace(process.pid, *(["--module", "*"] if stack == "own" else []))
        wait_for(lambda: ctl(process.pid, "status").returncode == 0, "the trace", tracer)
        open("share", "w").close()
        wait_for(lambda: open("out").read() == "bx" or process.poll() is not None, "who shares its memory")
        time.sleep(rng.random() * 0.2)
        for i in range(3 if how == "switch" else 0):
            ctl(process.pid, "off")
            ctl(process.pid, "on")
        if how == "kill":
            keeper = keeper_of(tracer.pid)
            tracer.kill()
            status_of(tracer)
            wait_for(lambda: has_ended(keeper), "the keeper's end")
        elif ctl(process.pid, "detach" if how == "detach" else "end").returncode or status_of(tracer):
            fail(f"{how}, {stack}: {open('err').read()}")
        elif "with the thread-local data of the one" not in open("err").read():
            fail(f"{how}, {stack}: {open('err').read()}")
        if process.poll() is not None:
            fail(f"{how}, {stack}: it ended with {process.returncode}")
        if files_of(process.pid) != before:
            fail(f"{how}, {stack}: mappings differ: {sorted(set(files_of(process.pid)) ^ set(before))}")
        open("end", "w").close()
        if status_of(process) != 3:
            fail(f"{how}, {stack}: it ended with {process.returncode}")
        os.unlink("end")
        os.unlink("share")


RINGS = """
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) void work(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
int main(void)
{
    struct io_uring_params all = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 100000};
    const int ring = syscall(SYS_io_uring_setup, 4, &all);
    int ends[2];
    char byte;
    if (ring < 0 || pipe(ends)) return 77;
    char *asked = mmap(0, all.sq_off.array + 4 * all.sq_entries, 3, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    char *answered = mmap(0, all.cq_off.cqes + all.cq_entries * sizeof(struct io_uring_cqe), 3, MAP_SHARED, ring, IORING_OFF_CQ_RING);
    struct io_uring_sqe *entry = mmap(0, all.sq_entries * sizeof *entry, 3, MAP_SHARED, ring, IORING_OFF_SQES);
    struct io_uring_cqe *answer = (void *)(answered + all.cq_off.cqes);
    unsigned *count = (unsigned *)(answered + all.cq_off.tail);
    *entry = (struct io_uring_sqe){.opcode = IORING_OP_READ, .fd = ends[0], .addr = (long)&byte, .len = 1, .flags = IOSQE_ASYNC};
    __atomic_store_n((unsigned *)(asked + all.sq_off.tail), 1, __ATOMIC_RELEASE);
    write(1, "x", 1);
    for (; access("end", F_OK); usleep(1000)) {
        work();
        if (__atomic_load_n((unsigned *)(asked + all.sq_off.flags), __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
            syscall(SYS_io_uring_enter, ring, 0, 0, IORING_ENTER_SQ_WAKEUP, 0, 0);
    }
    const int early = __atomic_load_n(count, __ATOMIC_ACQUIRE);
    write(ends[1], "y", 1);
    while (!__atomic_load_n(count, __ATOMIC_ACQUIRE)) usleep(1000);
    return early || answer->res != 1 || byte != 'y' ? 1 : 3;
}
"""


def rings():
    """The kernel works for a program in threads of its own, which have another one's data (io_uring): they run nothing of
    the program's, whose calls are timed. What they wait for goes on."""
    process = begin(compile_c("rings", RINGS))
    wait_for(lambda: open("out").read() == "x" or process.poll() is not None, "the program")
    if process.poll() == 77:
        print("SKIPPED: no io_uring")
        raise SystemExit(targets.NO_PROGRAM)
    wait_for(lambda: len(os.listdir(f"/proc/{process.pid}/task")) > 2, "the kernel's threads")
    before = files_of(process.pid)
    for i in range(ROUNDS):
        if status_of(trace(process.pid, "--function", "^work$", "--duration", "100ms")):
            fail("it was not traced")
        if "counted" in open("err").read():
            fail("calls were not timed")
        if files_of(process.pid) != before:
            fail(f"mappings differ: {sorted(set(files_of(process.pid)) ^ set(before))}")
    open("end", "w").close()
    if status_of(process) != 3:
        fail(f"it ended with {process.returncode}")


def halted():
    """Kills sprof while what it has asked of a thread waits, because the program stands still: that is done when it goes on."""
    process = begin_own(own_program(1000000))
    before = files_of(process.pid)
    for i in range(5 * ROUNDS):
        tracer = trace(process.pid, "--module", "*")
        keeper = wait_for(lambda: keeper_of(tracer.pid), "its keeper", tracer)
        wait_for(lambda: tracer.poll() is not None or "memfd:sprof-probe" in open(f"/proc/{process.pid}/maps").read(),
                 "what is shared")
        time.sleep(rng.random() * 0.02)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        tracer.kill()
        status_of(tracer)
        time.sleep(0.2)  # the keeper looks at the process
        process.send_signal(signal.SIGCONT)
        wait_for(lambda: has_ended(keeper), "the keeper's end")
        if process.poll() is not None:
            fail(f"the program ended with {process.returncode}")
        if files_of(process.pid) != before:
            fail(f"mappings differ: {sorted(set(files_of(process.pid)) ^ set(before))}")
        check_text(process.pid)
    process.kill()
    process.wait()


def controlled():
    """By its process's number; a second trace is told of the first; a killed one is cleaned up after."""
    command = own_program(40, "end")
    want = subprocess.run(own_program(40), capture_output=True, text=True)
    process = begin_own(command)
    before = files_of(process.pid)

    def says(answer, status, text):
        if answer.returncode != status or not re.search(text, answer.stdout + answer.stderr):
            fail(f"{answer.args[1:]}: {answer.returncode} {answer.stdout}{answer.stderr}")

    def second():
        return subprocess.run([sprof, "trace", "-p", str(process.pid), "-o", "u.db"], capture_output=True, text=True)

    says(ctl(process.pid, "status"), 1, "that you may control")
    for how in ("end", "detach", "kill", "again"):
        tracer = trace(process.pid, "--module", "*")
        wait_for(lambda: ctl(process.pid, "status").returncode == 0, "the trace", tracer)
        says(second(), 1, "is being traced already, into .*/t.db by process [0-9]+\n.*sprof ctl -p [0-9]+ probe")
        says(ctl(process.pid, "probe", "-leaf"), 0, "probes are on")
        says(ctl(process.pid, "list"), 0, "-leaf")
        if how == "kill":
            os.kill(keeper_of(tracer.pid), signal.SIGKILL)
            tracer.kill()
            status_of(tracer)
            says(ctl(process.pid, "stats"), 1, "was killed\n.*detach. takes the probes out")
            # Nobody is there to renew what probes may go on by.
            wait_for(lambda: not any(tiers_of(process.pid)), "the end of the lease")
            says(ctl(process.pid, "detach"), 0, "the probes are out")
        elif how == "again":
            os.kill(keeper_of(tracer.pid), signal.SIGKILL)
            tracer.kill()
            status_of(tracer)
            again = subprocess.run([sprof, "trace", "-p", str(process.pid), "-o", "u.db", "--duration", "50ms"],
                                   capture_output=True, text=True)
            says(again, 0, "a trace that was killed, into .*/t.db: they were taken out")
        else:
            says(ctl(process.pid, how), 0, "")
            if status_of(tracer):
                fail("the trace failed")
        if files_of(process.pid) != before:
            fail(f"{how}: mappings differ: {sorted(set(files_of(process.pid)) ^ set(before))}")
        print(how, check_text(process.pid), "bytes of code compared")
    open("end", "w").close()
    check_same(process, want)


WAITS = """
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int done;
static void *waits(void *unused)
{
    const int epoll = epoll_create1(0);
    struct epoll_event event;
    long cut_short = 0;
    while (!done)
        cut_short += epoll_wait(epoll, &event, 1, 50) < 0 && errno == EINTR;
    return (void *)cut_short;
}
static void *starts(void *unused)
{
    for (int i = 0; i < 4; i++) {
        pid_t child = vfork();
        if (!child) { usleep(1100000); _exit(0); }
        waitpid(child, 0, 0);
    }
    return 0;
}
int main(void)
{
    void *(*const functions[])(void *) = {waits, starts, waits};
    pthread_t threads[3];
    void *result;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, functions[i], 0);
    pthread_join(threads[1], 0);
    done = 1;
    for (int i = 0; i < 3; i += 2) {
        pthread_join(threads[i], &result);
        printf("%ld waits cut short\\n", (long)result);
    }
    return 0;
}
"""

PAUSES = """
#include <signal.h>
#include <unistd.h>
static void handler(int signal) { }
int main(void)
{
    const struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    for (;;) {
        pause();
        write(1, "x", 1);
    }
}
"""


def compile_c(name, text, *flags):
    with open(f"{name}.c", "w") as file:
        file.write(text)
    subprocess.run(["gcc", "-O1", "-g", "-w", "-pthread", *flags, f"{name}.c", "-o", name], check=True)
    return [f"./{name}"]


def waits():
    """A thread that waits for a child of vfork does not stop, and the others, which did, go on with what they waited for."""
    process = begin(compile_c("waits", WAITS))
    wait_for(lambda: process.poll() is not None or len(os.listdir(f"/proc/{process.pid}/task")) == 4, "its threads")
    status_of(trace(process.pid, "--function", "^(main|waits|starts)$", "--duration", "20ms"))
    if status_of(process) or open("out").read() != "0 waits cut short\n0 waits cut short\n":
        fail("waits were cut short")


def blocks_all(thread):
    blocked = re.search("SigBlk:\t([0-9a-f]+)", open(f"/proc/{thread}/status").read())
    return blocked and int(blocked.group(1), 16) >> 32


def is_borrowed(process):
    """All signals are blocked in a thread of another's."""
    return blocks_all(process.pid)


def pauses():
    """A signal that comes while a thread is borrowed ends what that waits in."""
    command = compile_c("pauses", PAUSES)
    sent = 0
    for i in range(10 * ROUNDS):
        process = begin(command)
        wait_for(lambda: open(f"/proc/{process.pid}/syscall").read().startswith("34 "), "its pause")
        tracer = trace(process.pid, "--duration", "10ms")
        while tracer.poll() is None and not is_borrowed(process):
            pass
        if tracer.poll() is None:
            process.send_signal(signal.SIGUSR1)
            sent += 1
            wait_for(lambda: open("out").read() == "x", "the end of its pause")
        status_of(tracer)
        process.kill()
        process.wait()
        if sent == ROUNDS:
            break
    else:
        fail("no signal came while the thread was borrowed")


def left():
    """Who traces and who keeps watch on it are killed when there is an agent, and nothing else: it is taken out by who
    is asked to, or traces next."""
    command = compile_c("pauses", PAUSES)
    process = begin(command)
    wait_for(lambda: open(f"/proc/{process.pid}/syscall").read().startswith("34 "), "its pause")
    status_of(trace(process.pid, "--duration", "10ms"))
    before = files_of(process.pid)
    found = 0
    for i in range(20 * ROUNDS):
        tracer = trace(process.pid)
        keeper = wait_for(lambda: keeper_of(tracer.pid), "its keeper", tracer)
        while tracer.poll() is None and "libsprof-probe" not in open(f"/proc/{process.pid}/maps").read():
            pass
        os.kill(keeper, signal.SIGKILL)
        tracer.kill()
        status_of(tracer)
        wait_for(lambda: not is_borrowed(process), "the end of what was asked of its thread")
        there = open(f"/proc/{process.pid}/maps").read()
        is_found = "libsprof-probe" in there and "memfd:" not in there
        found += is_found
        if found % 2:
            answer = ctl(process.pid, "detach")
            said = answer.stderr
        else:
            answer = status_of(trace(process.pid, "--duration", "1ms"))
            said = open("err").read()
        if is_found and "had no probes, but the tracing agent of a trace that was killed: it was taken out" not in said:
            fail(f"{answer} {said}")
        if files_of(process.pid) != before:
            fail(f"mappings differ: {sorted(set(files_of(process.pid)) ^ set(before))}")
        check_text(process.pid)
        if found == 2 * ROUNDS:
            break
    answer = ctl(process.pid, "detach")
    if not found or answer.returncode != 1 or "that you may control" not in answer.stderr:
        fail(f"found {found} of {i + 1}; then: {answer.stdout}{answer.stderr}")
    process.send_signal(signal.SIGUSR1)
    wait_for(lambda: open("out").read() == "x", "the end of its pause")
    process.kill()
    process.wait()
    # A program that has begun with the agent keeps it, also where nobody traces it.
    agent = re.search(r"\S+/libsprof-probe\.so", there).group(0)
    process = targets.begin(["env", f"LD_PRELOAD={agent}", *command], stdout=subprocess.DEVNULL)
    wait_for(lambda: open(f"/proc/{process.pid}/syscall").read().startswith("34 "), "its pause")
    answer = ctl(process.pid, "detach")
    if answer.returncode != 1 or "that you may control" not in answer.stderr or agent not in open(f"/proc/{process.pid}/maps").read():
        fail(f"begun with the agent: {answer.stdout}{answer.stderr}")
    process.kill()
    process.wait()
    print(f"{found} of {i + 1} were killed in between")


LENT = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <unwind.h>
__attribute__((noinline)) int work(int i) { __asm__ volatile("nop; nop; nop; nop; nop"); return i + 1; }
#ifdef TABLES
void *volatile unwinds = _Unwind_RaiseException;
static const void *known[8];
static int begun;
static void change(const void *from, const void *to)
{
    int i = 0;
    if (begun)
        usleep(150000);
    while (i < 7 && known[i] != from)
        i++;
    known[i] = to;
}
void __register_frame_info(const void *begin, void *object) { change(0, begin); }
void *__deregister_frame_info(const void *begin) { change(begin, 0); return 0; }
static void begin(void) { begun = 1; }
static int is_well(void)
{
    int count = 0;
    begun = 0;
    for (int i = 0; i < 8; i++)
        count += known[i] != 0;
    return count == 1 && known[0];
}
#else
static void *load(void *unused)
{
    for (;; usleep(100000))
        dlclose(dlopen("./slow.so", RTLD_NOW));
    return unused;
}
static void begin(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, load, 0);
}
static int is_well(void) { return 1; }
#endif
static void *wait(void *unused)
{
    for (int i = 0; i < 300000 && access("end", F_OK); i++)
        usleep(1000 * (work(i) > i));
    return unused;
}
int main(void)
{
    pthread_t thread;
    begin();
    pthread_create(&thread, 0, wait, 0);
    pthread_join(thread, 0);
    puts(is_well() ? "well" : "not well");
    fflush(stdout);
    _exit(3);
}
"""
SLOW = """
#include <unistd.h>
__attribute__((constructor)) static void begin(void) { usleep(700000); }
"""


def lent(*flags, ends=False, rounds=ROUNDS):
    """sprof is killed while a thread that it has borrowed waits in what it was sent to, and goes on with that later: in the
    unwinder, which is told of the agent's tables, or that they go; in the loader, whose lock another thread holds."""
    def there():
        maps = open(f"/proc/{process.pid}/maps").read()
        return "libsprof-probe-mapped.so" in maps and "memfd:" not in maps

    def has_probes():
        return "memfd:" in open(f"/proc/{process.pid}/maps").read()

    def threads():
        return os.listdir(f"/proc/{process.pid}/task")

    def any_borrowed():
        return any(blocks_all(f"{process.pid}/task/{thread}") for thread in threads())

    process = begin(compile_c("lent", LENT, *flags))
    wait_for(lambda: len(threads()) == (2 if flags else 3), "its threads")
    before = files_of(process.pid)
    for i in range(rounds):
        tracer = trace(process.pid, "--function", "^work$", *(("--duration", "1ms") if ends else ()))
        keeper = wait_for(lambda: keeper_of(tracer.pid), "its keeper", tracer)
        if ends:
            wait_for(has_probes, "its probes", tracer)
        wait_for(there if flags else lambda: any_borrowed() or has_probes(), "what is killed", tracer)
        time.sleep(rng.random() * 0.2)
        tracer.kill()
        status_of(tracer)
        wait_for(lambda: has_ended(keeper), "the keeper's end")
        wait_for(lambda: not any_borrowed(), "the end of what was asked of its thread")
        left = set(files_of(process.pid)) ^ set(before)
        if any("libsprof-probe" in part for line in left for part in line):
            fail(f"round {i}, with {flags}, ends: {ends}: mappings differ: {sorted(left)}")
    open("end", "w").close()
    if status_of(process) != 3 or open("out").read() != "well\n":
        fail(f"it ended with {process.returncode} and said {open('out').read()}")
    os.unlink("end")
    print(f"{rounds} of {rounds} had nothing left in them")


def lent_all():
    static = ("-static", "-DTABLES", "-Wl,-z,muldefs")
    lent(*static)
    lent(*static, ends=True)
    compile_c("slow.so", SLOW, "-shared", "-fPIC")
    lent()


READS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
__attribute__((noinline)) int work(int i) { __asm__ volatile("nop; nop; nop; nop; nop"); return i + 1; }
static void *wait(void *unused)
{
    for (int i = 0; i < 300000 && access("end", F_OK); i++)
        usleep(1000 * (work(i) > i));
    return unused;
}
int main(int count, char **names)
{
    struct stat file;
    int fd = -1;
    const char *bytes = 0;
    if (count > 1) {
        fd = open(names[1], O_RDONLY | O_CLOEXEC);
        fstat(fd, &file);
        bytes = mmap(0, file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    pthread_t thread;
    pthread_create(&thread, 0, wait, 0); /* nothing is left on its stack by what has begun the program */
    puts("begun");
    fflush(stdout);
    pthread_join(thread, 0);
    if (count > 1 && (pread(fd, &file, 1, 0) != 1 || bytes[0] != 0x7f || bytes[file.st_size - 1] + bytes[file.st_size / 2] > 1000))
        return 1;
    return 3;
}
"""


def opened():
    """sprof is killed as soon as a static program has a descriptor more: that of the agent's file, by which that is
    mapped. Nothing of that stays. Who only reads that file keeps it, whoever is killed."""
    command = compile_c("reads", READS, "-static")

    def begin_one(*arguments):
        process = begin([*command, *arguments])
        wait_for(lambda: open("out").read() == "begun\n", "its beginning")
        return process

    def end(process):
        open("end", "w").close()
        if status_of(process) != 3:
            fail(f"it ended with {process.returncode}")
        os.unlink("end")

    def there():
        return len(os.listdir(f"/proc/{process.pid}/fd")), [line[:2] + line[5:] for line in mappings(process.pid)]

    process = begin_one()
    before = there()
    met = left = 0
    for i in range(8 * ROUNDS):
        tracer = trace(process.pid)
        keeper = wait_for(lambda: keeper_of(tracer.pid), "its keeper", tracer)
        while tracer.poll() is None and "memfd:" not in open(f"/proc/{process.pid}/maps").read():
            if any(len(os.listdir(f"/proc/{process.pid}/fd")) != before[0] for look in range(20)):
                break
        if i % 4 == 3:
            os.kill(keeper, signal.SIGKILL)
        tracer.kill()
        met += "libsprof-probe" not in open(f"/proc/{process.pid}/maps").read()
        status_of(tracer)
        wait_for(lambda: has_ended(keeper), "the keeper's end")
        if i % 4 == 3:
            ctl(process.pid, "detach")
        if there() != before:
            fail(f"round {i}: {before[0]} descriptors before, now {there()[0]}; mappings: "
                 f"{[line for line in there()[1] if line not in before[1]]}")
    end(process)
    agent = f"{os.path.dirname(sprof)}/libexec/sprof/libsprof-probe"
    for library, *flags in ((f"{agent}-mapped.so", "-static"), (f"{agent}.so",)):
        command = compile_c("reads", READS, *flags)
        process = begin_one(library)
        before = there()
        if "that you may control" not in (said := ctl(process.pid, "detach").stderr):
            fail(f"it only reads the agent's file, and is said to have it: {said}")
        for i in range(2):
            tracer = trace(process.pid, "--duration", "1ms")
            if i:
                keeper = wait_for(lambda: keeper_of(tracer.pid), "its keeper", tracer)
                tracer.kill()
                wait_for(lambda: has_ended(keeper), "the keeper's end")
            if status_of(tracer) != (-9 if i else 0):
                fail(f"it was not traced: {tracer.returncode}")
        if there()[0] != before[0] or library not in open(f"/proc/{process.pid}/maps").read():
            fail(f"{library} is not there any more")
        end(process)
    print(f"{met} of {8 * ROUNDS} were killed before the agent's file was mapped")


def beginning():
    """A trace that has not come to its target yet, and stands still, is told of, too: with its file and its process."""
    process = begin_own(own_program(1000000))
    for _ in range(20):
        tracer = trace(process.pid, "--no-cache", "--module", "*")
        wait_for(lambda: os.path.exists("t.db.ctl"), "the control socket", tracer)
        tracer.send_signal(signal.SIGSTOP)
        wait_for(lambda: open(f"/proc/{tracer.pid}/stat").read().split(") ")[1][0] == "T", "the stop")
        is_early = "sprof" not in open(f"/proc/{process.pid}/maps").read()
        if is_early:
            second = subprocess.run([sprof, "trace", "-p", str(process.pid), "-o", "u.db"], capture_output=True, text=True)
            if second.returncode != 1 or not re.search(f"traced already, into .*/t.db by process {tracer.pid}\n", second.stderr):
                fail(f"a second trace: {second.returncode} {second.stderr}")
        tracer.send_signal(signal.SIGCONT)
        wait_for(lambda: ctl(process.pid, "end").returncode == 0, "the trace", tracer)
        status_of(tracer)
        if is_early:
            break
    else:
        fail("the tracer never stood still before it came to its target")
    process.kill()
    process.wait()


def both():
    """Recorded and traced at the same time, by either way of tracing: one is chosen, or the only one is meant."""
    process = begin_own(own_program(1000000))

    def says(status, text, *words):
        answer = ctl(process.pid, *words)
        if answer.returncode != status or not re.search(text, answer.stdout + answer.stderr):
            fail(f"{answer.args[1:]}: {answer.returncode} {answer.stdout}{answer.stderr}")

    def begun(*words):
        wait_for(lambda: ctl(process.pid, *words, "status").returncode == 0, f"{words}")

    says(1, "has no recording or trace that you may control", "status")
    recorder = targets.begin([sprof, "record", "-o", "r.db", "-p", str(process.pid)],
                             stdout=subprocess.DEVNULL, stderr=open("record.err", "w"))
    begun("--record")
    says(0, "recording for", "status")
    says(1, "is not being traced, but sampled into .*/r.db", "--trace", "status")
    for options in ([], ["--backend", "uprobe"]):
        os.makedirs("here", exist_ok=True)
        tracer = targets.begin([sprof, "trace", "-o", "here/../t.db", "-p", str(process.pid), "--module", "program", *options],
                               stdout=subprocess.DEVNULL, stderr=open("err", "w"))
        wait_for(lambda: ctl(process.pid, "--trace", "status").returncode == 0 or tracer.poll() is not None, "the trace")
        if options and tracer.poll() and re.search("CAP_|BPF|bpf|uprobe", open("err").read()):
            print("no uprobes here:", open("err").read())
            break
        says(2, "is .* into .*/[rt].db and .* into .*/[rt].db: choose with --record or --trace", "status")
        says(0, "recording for", "--record", "status")
        says(0, "tracing for", "--trace", "status")
        says(0, "", "--trace", "stop")
        says(0, "paused, tracing", "--trace", "status")
        says(0, "recording for", "--record", "status")
        says(0, "99 samples", "rate", "99")
        says(0, "-leaf|probes are on", "probe", "-leaf")
        says(2, "unknown command `list`", "--record", "list")
        says(0, "", "--trace", "end")
        if status_of(tracer):
            fail("the trace failed")
        says(0, "recording for", "status")
        os.unlink("t.db")
    answer = targets.ctl("-i", "r.db", "--record", "status")
    if answer.returncode != 2 or "give one of them, and -p PID" not in answer.stderr:
        fail(f"--record without a process: {answer.stderr}")
    says(0, "", "--record", "end")
    if status_of(recorder):
        fail("the recording failed")
    says(1, "has no recording or trace that you may control", "status")
    process.kill()
    process.wait()


def passed_thunks(pid):
    """How many thunks there are, and how many of them are passed at their first instruction."""
    for line in mappings(pid):
        if len(line) > 5 and "libsprof-probe" in line[5] and "x" in line[1]:
            start, end = (int(part, 16) for part in line[0].split("-"))
            with open(f"/proc/{pid}/mem", "rb", 0) as memory:
                memory.seek(start)
                code = memory.read(end - start)
            # Where probes are jumped to a jump or what is none, a call, and a branch.
            thunks = [at for at in range(0, len(code), 64)
                      if code[at] in b"\xa8\xeb" and code[at + 2] == 0xe8 and code[at + 7] == 0x73]
            return len(thunks), sum(code[at] == 0xeb for at in thunks)
    return 0, 0


def passed_entries(pid, program):
    """How many functions of the program have a jump to a probe, and how many of these lead past the thunk: not to
    a jump that goes on to any address."""
    size = count = past = 0
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in mappings(pid):
            if "x" not in line[1] or len(line) < 6 or os.path.realpath(line[5]) != os.path.realpath(program):
                continue
            start, end = (int(part, 16) for part in line[0].split("-"))
            memory.seek(start)
            code = memory.read(end - start)
            with open(program, "rb") as file:
                file.seek(int(line[2], 16))
                size, original = len(code), file.read(len(code))
            for at in range(size - 5):
                target = start + at + 5 + int.from_bytes(code[at + 1:at + 5], "little", signed=True)
                if code[at] != 0xe9 or code[at:at + 5] == original[at:at + 5] or start <= target < end:
                    continue
                memory.seek(target)
                count += 1
                past += memory.read(2) != b"\xff\x25"
    return count, past


def passed():
    """Probes that are off for a while are passed, and count again once they are on: those of the program by their
    entries, others by their thunks."""
    command = own_program(1000000)
    process = begin_own(command)
    tracer = trace(process.pid, "--module", "*", "--rest", "off")
    wait_for(lambda: ctl(process.pid, "status").returncode == 0, "the trace", tracer)

    def calls():
        lines = ctl(process.pid, "status", "--format", "csv").stdout.splitlines()
        return int(lines[1].split(",")[lines[0].split(",").index("calls")]) if len(lines) > 1 else -1

    def stop():
        if ctl(process.pid, "stop").returncode:
            fail("it could not be stopped")
        wait_for(lambda: passed_thunks(process.pid)[1] > 5, "thunks that are passed", tracer)
        wait_for(lambda: passed_entries(process.pid, command[0])[1] > 1, "entries that lead past their thunks", tracer)

    for i in range(3):
        stop()
        wait_for(lambda: calls() == calls(), "no calls to be counted any more", tracer)
        before = calls()
        if ctl(process.pid, "start").returncode or passed_thunks(process.pid)[1]:
            fail(f"{passed_thunks(process.pid)[1]} thunks are passed, although their probes are on")
        if passed_entries(process.pid, command[0])[1]:
            fail("entries lead past their thunks, although their probes are on")
        wait_for(lambda: calls() > before, "calls", tracer)
    stop()
    if ctl(process.pid, "detach").returncode or status_of(tracer):
        fail("it could not be detached from")
    check_text(process.pid)
    tracer = trace(process.pid, "--module", "*", "--rest", "off")
    wait_for(lambda: ctl(process.pid, "status").returncode == 0, "the trace", tracer)
    stop()
    keeper = keeper_of(tracer.pid)
    tracer.kill()
    status_of(tracer)
    wait_for(lambda: has_ended(keeper), "the keeper's end")
    check_text(process.pid)
    process.kill()
    process.wait()
    print("3 times probes were passed, and not passed any more")


JOINS = """
#include <pthread.h>
__attribute__((noinline)) static long work(long n) { long sum = 0; while (n--) sum += n * n ^ sum >> 3; return sum; }
static void *life(void *n) { return (void *)work((long)n); }
static void *parent(void *unused)
{
    for (;;) {
        pthread_t thread;
        pthread_create(&thread, 0, life, (void *)20000);
        pthread_join(thread, 0);
    }
}
int main(void)
{
    pthread_t parents[2];
    for (int i = 0; i < 2; i++) pthread_create(parents + i, 0, parent, 0);
    for (int i = 0; i < 2; i++) pthread_join(parents[i], 0);
}
"""


def joins():
    """Attaches where all that wait do so in pthread_join, for threads that live a moment."""
    with open("joins.c", "w") as file:
        file.write(JOINS)
    subprocess.run(["gcc", "-O2", "joins.c", "-o", "joins"], check=True)
    process = begin_own("./joins")
    for i in range(ROUNDS):
        tracer = trace(process.pid, "--function", "^work$", "--duration", "200ms")
        if status_of(tracer) or not re.search(r"[1-9]\d* calls? in", open("err").read()):
            fail(open("err").read())
    if process.poll() is not None:
        fail("it ended")
    process.kill()
    process.wait()


CALLS = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static long work(long n) { __asm__ volatile(""); return n + 1; }
static char from[1 << 20], to[1 << 20];
int main(int count, char **arguments)
{
    const char *way = arguments[count - 1];
    struct timespec time;
    long calls = 0, right = 0;
    const int zero = open("/dev/zero", O_RDONLY);
    from[7] = 1;
    while (access("end", F_OK)) {
        for (int i = 0; i < 1000; i++) {
            char byte = 1;
            calls = work(calls);
            if (!strcmp(way, "access")) right += access("nowhere", F_OK) == -1;
            if (!strcmp(way, "number")) right += syscall(SYS_gettid) == getpid();
            if (!strcmp(way, "copy")) right += memcpy(to, from, sizeof to) == to && to[7];
            if (!strcmp(way, "open")) right += close(open("/", O_RDONLY)) == 0;
            if (!strcmp(way, "pread")) right += pread(zero, &byte, 1, 0) == 1 && !byte;
            if (!strcmp(way, "clock")) right += clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0;
            if (!strcmp(way, "malloc")) { void *block = malloc(1 << 20); right += block != 0; free(block); }
        }
    }
    return calls == right ? 3 : 1;
}
"""


def calls():
    """Programs that are in libc nearly always, and stopped where a call of the kernel ends: the next one is made, and
    ends, before an interrupt of another CPU gets there."""
    with open("calls.c", "w") as file:
        file.write(CALLS)
    subprocess.run(["gcc", "-O1", "calls.c", "-o", "calls"], check=True)
    for way in "access", "number", "copy", "open", "pread", "clock", "malloc":
        process = begin(["./calls", way])
        time.sleep(0.1)
        before = files_of(process.pid)
        for _ in range(ROUNDS):
            if status_of(trace(process.pid, "--function", "^work$", "--duration", "50ms")) or "stays" in open("err").read():
                fail(f"{way}: {open('err').read()}")
        if files_of(process.pid) != before:
            fail(f"{way}: mappings differ")
        check_text(process.pid)
        open("end", "w").close()
        if status_of(process) != 3:
            fail(f"{way}: it ended with {process.returncode}")
        os.unlink("end")


USERS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile int ends;
__attribute__((noinline)) static long work(long n) { __asm__ volatile(""); return n + 1; }
static void *set(void *unused)
{
    const struct timespec pause = {.tv_nsec = 100000};
    for (long calls = 0; !ends; calls = work(calls)) {
        for (int i = 0; i < 20; i++)
            if (setresuid(-1, -1, -1)) abort();
        nanosleep(&pause, 0);
    }
    return unused;
}
int main(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    pthread_t setter;
    pthread_create(&setter, 0, set, 0);
    while (access("end", F_OK)) nanosleep(&pause, 0);
    ends = 1;
    pthread_join(setter, 0);
    return 3;
}
"""


def users():
    """A thread changes the user all the time: it holds a lock that the loader needs until all others, by a signal, have
    done so, too, and so has the one that is borrowed."""
    with open("users.c", "w") as file:
        file.write(USERS)
    subprocess.run(["gcc", "-O1", "users.c", "-o", "users", "-pthread"], check=True)
    process = begin_own("./users")
    for _ in range(ROUNDS):
        if status_of(trace(process.pid, "--function", "^work$", "--duration", "50ms")):
            notes = open("err").read()
            if "could be borrowed" not in notes:
                fail(notes)
            print(notes)
    check_text(process.pid)
    open("end", "w").close()
    if status_of(process) != 3:
        fail(f"it ended with {process.returncode}")


MALLOCS = """
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char heap[1 << 24] __attribute__((aligned(64)));
static unsigned long used;
void (*hook)(void);
void *malloc(unsigned long size)
{
    pthread_mutex_lock(&lock);
    if (hook) hook();
    else if (!access("waits", F_OK)) while (access("end", F_OK)) poll(0, 0, 5);
    char *block = heap + used;
    used += (size + 63) & ~63ul;
    pthread_mutex_unlock(&lock);
    return block;
}
void free(void *block) { (void)block; }
void *calloc(unsigned long count, unsigned long size) { return memset(malloc(count * size), 0, count * size); }
void *realloc(void *block, unsigned long size) { return block ? memcpy(malloc(size), block, size) : malloc(size); }
"""

MALLOCS_USER = """
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
extern void (*hook)(void);
static void wait(void) { while (access("end", F_OK)) poll(0, 0, 5); }
__attribute__((noinline)) static long work(long n) { __asm__ volatile(""); return n + 1; }
int main(int count, char **arguments)
{
    if (count > 1) hook = wait;
    void *volatile block = malloc(100);
    return block && work(2) == 3 && arguments ? 3 : 1;
}
"""


def mallocs():
    """A library's own malloc waits with its lock, or calls the program, which does."""
    for name, text in ("mallocs.c", MALLOCS), ("user.c", MALLOCS_USER):
        with open(name, "w") as file:
            file.write(text)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", "mallocs.c", "-o", "libmallocs.so"], check=True)
    subprocess.run(["gcc", "-O1", "user.c", "./libmallocs.so", "-o", "user"], check=True)
    open("waits", "w").close()
    programs = [begin(["./user", *more]) for more in ([], ["hook"])]
    for process in programs:
        wait_for(lambda: re.match("7 |271 ", open(f"/proc/{process.pid}/syscall").read()), "its wait")
    tracers = [subprocess.Popen([sprof, "trace", "-p", str(process.pid), "--function", "^work$", "-o", f"{process.pid}.db"],
                                stderr=subprocess.PIPE, text=True) for process in programs]
    notes = [tracer.communicate()[1] for tracer in tracers]
    open("end", "w").close()
    for process, tracer, text in zip(programs, tracers, notes):
        if tracer.returncode != 1 or "is in a library that has its own malloc" not in text:
            fail(f"{tracer.returncode}: {text}")
        if status_of(process) != 3:
            fail(f"it ended with {process.returncode}")


LEFTOVER = """
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int work(const char *line) { __asm__ volatile("" : : : "memory"); return *line - 'a'; }
__attribute__((noinline)) static void deep(size_t size)
{
    char *volatile room = alloca(size), *volatile memory = malloc(200000);
    *room = *memory = 0;
}
__attribute__((constructor)) static void fill(void) { for (size_t size = 0; size < 12000; size += 640) deep(size); }
int main(void)
{
    char buffer[9000];
    int sum = 0;
    while (read(0, buffer, 1) == 1)
        sum += work(buffer);
    printf("%d\\n", sum);
    return 3;
}
"""


def leftover():
    """What malloc has left on the stack, in a buffer of main's, is no call of it."""
    command = compile_c("leftover", LEFTOVER, "-fno-builtin", *targets.LINK)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    targets.started.append(process)
    wait_for(lambda: open(f"/proc/{process.pid}/syscall").read().startswith("0 "), "its read")
    tracer = trace(process.pid, "--function", "^work$")
    wait_for(lambda: ctl(process.pid, "status").stdout.startswith("tracing"), "its trace", tracer)
    output = process.communicate(b"c" * 500)[0]
    if process.returncode != 3 or output != b"1000\n":
        fail(f"{process.returncode}: {output}")
    stats = ["stats", "-i", "t.db", "--format", "csv"]
    if status_of(tracer) or ",500," not in subprocess.run([sprof, *stats], capture_output=True, text=True).stdout:
        fail("other calls")


HANDLER = """
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char other[64 << 10];
static volatile sig_atomic_t way;
__attribute__((noinline)) static long work(long n) { long sum = 0; while (n--) sum += n * n ^ sum >> 3; way += 0; return sum; }
static void handle(int number)
{
    (void)number;
    long sum = 0;
    puts("handles");
    fflush(stdout);
    for (int i = 0; access("end", F_OK); i++, poll(0, 0, 5))
        sum += work(1000 + i) - work(1000 + i);
    printf("%ld\\n", sum);
    exit(3);
}
static int compare(const void *a, const void *b)
{
    if (way == 3) raise(SIGALRM);
    return *(const char *)a - *(const char *)b;
}
int main(int count, char **arguments)
{
    (void)count;
    way = atoi(arguments[1]);
    struct sigaction action = {.sa_handler = handle, .sa_flags = way == 2 ? SA_ONSTACK : 0};
    char here[32 << 10], letters[] = "some letters";
    stack_t stack = {.ss_sp = way == 2 ? here : other, .ss_size = sizeof here};
    sigaltstack(&stack, 0);
    sigaction(SIGALRM, &action, 0);
    if (way == 3) qsort(letters, strlen(letters), 1, compare);
    alarm(1);
    for (;;) pause();
}
"""


def handler():
    """Attaches to a program all of whose work is done in a signal handler, where what that interrupted holds no lock,
    and to none that has come there out of libc, or is on another stack, which may be small."""
    with open("handler.c", "w") as file:
        file.write(HANDLER)
    subprocess.run(["gcc", "-O1", "handler.c", "-o", "handler"], check=True)
    for way, says in ("1", None), ("2", "is in a signal handler on another stack"), ("3", "is called by libc|works in libc"):
        process = begin(["./handler", way])
        wait_for(lambda: open("out").read() == "handles\n", "the handler")
        before = files_of(process.pid)
        status, notes = status_of(trace(process.pid, "--function", "^work$", "--duration", "200ms")), open("err").read()
        if says and (status != 1 or not re.search(says, notes)):
            fail(f"{way}: {status} {notes}")
        if not says and (status or not re.search(r"[1-9]\d* calls? in", notes)):
            fail(f"{way}: {status} {notes}")
        if files_of(process.pid) != before:
            fail(f"{way}: mappings differ")
        check_text(process.pid)
        open("end", "w").close()
        if status_of(process) != 3 or open("out").read() != "handles\n0\n":
            fail(f"{way}: it ended with {process.returncode}: {open('out').read()}")
        os.unlink("end")


def refused():
    """Says why, and leaves the process as it is."""
    with open("plain.c", "w") as file:
        file.write("#include <unistd.h>\nint main(void) { for (;;) pause(); }")

    def says(pid, text, *options):
        answer = subprocess.run([sprof, "trace", "-p", str(pid), "-o", "u.db", *options], capture_output=True, text=True)
        if answer.returncode not in (1, 2) or not re.search(text, answer.stderr) or os.path.exists("u.db"):
            fail(f"{answer.returncode}: {answer.stderr}")

    def running(*flags, compiler="gcc"):
        subprocess.run([compiler, *flags, "plain.c", "-o", "plain"], check=True)
        process = subprocess.Popen(["./plain"])
        atexit.register(process.kill)  # whoever waits for the end of the test's output waits for it, too
        return process

    process = running("-static", "-s")
    says(process.pid, "has no symbols", "--backend", "inject")
    says(process.pid, "--paths: it has no symbols.*\n.*without --paths", "--paths")
    process.kill()
    process.wait()
    process = running("-fsanitize=address")
    says(process.pid, "sanitizer", "--backend", "inject")
    process.kill()
    process.wait()
    process = running()
    says(process.pid, "finds none of", "--function", "no_such_function")
    # Limits of sprof's own are told, and leave nothing in the process. A sanitizer alone takes more room than they leave.
    with open(sprof, "rb") as file:
        is_sanitized = b"__asan_report_load8" in file.read()
    for limit, most, text in ((resource.RLIMIT_NOFILE, 24, "raise .ulimit -n. by"),
                              (resource.RLIMIT_FSIZE, 800 << 10, "File too large\n.*ulimit -f"),
                              (resource.RLIMIT_AS, 1 << 30, "ulimit -v")):
        if limit == resource.RLIMIT_AS and is_sanitized:
            continue
        answer = subprocess.run([sprof, "trace", "-p", str(process.pid), "-o", "u.db", "--module", "libc.so*",
                                 "--function", "^(free|malloc)$"], capture_output=True, text=True,
                                preexec_fn=lambda: resource.setrlimit(limit, (most, most)))
        if answer.returncode != 1 or not re.search(text, answer.stderr) or os.path.exists("u.db"):
            fail(f"with limit {limit} {answer.returncode}: {answer.stderr}")
        if "sprof" in str(mappings(process.pid)):
            fail(f"with limit {limit} the process keeps {mappings(process.pid)}")
    process.send_signal(signal.SIGSTOP)
    wait_for(lambda: " T " in open(f"/proc/{process.pid}/stat").read(), "its stop")
    says(process.pid, "it is stopped\n.*kill -CONT")
    process.send_signal(signal.SIGCONT)
    debugger = subprocess.Popen(["gdb", "-q", "-batch", "-p", str(process.pid), "-ex", "shell sleep 1000"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) \
        if shutil.which("gdb") else None
    if debugger:
        wait_for(lambda: not re.search("TracerPid:\t0\n", open(f"/proc/{process.pid}/status").read()), "gdb")
        says(process.pid, "traces it already")
        debugger.kill()
        debugger.wait()
    with open("taken.c", "w") as file:
        file.write("""#include <string.h>
            #include <sys/mman.h>
            #include <unistd.h>
            int main(void)
            {
                char *taken = mmap((void *)0x440000000000, 1 << 20, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
                for (strcpy(taken, "as it was"); !strcmp(taken, "as it was");) usleep(1000);
                return 1;
            }""")
    subprocess.run(["gcc", "taken.c", "-o", "taken"], check=True)
    taken = subprocess.Popen(["./taken"])
    wait_for(lambda: "440000000000-" in open(f"/proc/{taken.pid}/maps").read(), "its mapping")
    before = files_of(taken.pid)
    says(taken.pid, "memory of its own between 0x440000000000 and .*\n.*--backend uprobe")
    if files_of(taken.pid) != before or taken.poll() is not None:
        fail("what the program had mapped is not as it was")
    taken.kill()
    taken.wait()
    with open("other.c", "w") as file:
        file.write("""#define _GNU_SOURCE
            #include <sys/mman.h>
            #include <unistd.h>
            int main(void)
            {
                const long size = 64L << 20;
                const int fd = memfd_create("sprof-probe", 0);
                if (ftruncate(fd, size) || mmap(0, size, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) return 1;
                for (;;) pause();
            }""")
    subprocess.run(["gcc", "other.c", "-o", "other"], check=True)
    other = subprocess.Popen(["./other"])
    wait_for(lambda: "memfd:sprof-probe" in open(f"/proc/{other.pid}/maps").read(), "its mapping")
    says(other.pid, "has probes of another version of sprof\n.*ctl -p [0-9]+ detach., or start the process anew")
    if "of another version of sprof" not in ctl(other.pid, "detach").stderr:
        fail("ctl does not say that the agent is of another version")
    other.kill()
    other.wait()
    process.kill()
    wait_for(lambda: " Z " in open(f"/proc/{process.pid}/stat").read(), "its end")
    says(process.pid, "has ended|zombie")
    process.wait()
    says(process.pid, "does not exist")
    says(f"{os.getpid()},{os.getpid()}", "given twice")
    says(os.getpid(), "either a command or -p", "--", "true")


def executes():
    """A program that executes itself all the time, by its only thread or by one of several: it lives, and either its probes were in place
    before it did so, or just that is said."""
    with open("again.c", "w") as file:
        file.write("""#include <pthread.h>
            #include <stdlib.h>
            #include <unistd.h>
            static char **arguments;
            __attribute__((noinline)) void work(void) { __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory"); }
            static void *again(void *none)
            {
                for (int i = 0; i < 20; i++, usleep(500)) work();
                execv(arguments[0], arguments);
                abort();
            }
            static void *wait_for_end(void *none) { for (;;) pause(); }
            int main(int count, char **strings)
            {
                pthread_t threads[3];
                arguments = strings;
                for (int i = 0; i < 3 && count > 1; i++)
                    pthread_create(&threads[i], NULL, i ? wait_for_end : again, NULL);
                return (count > 1 ? wait_for_end : again)(NULL) != NULL;
            }""")
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "again.c", "-o", "again"], check=True)
    for command in ["./again"], ["./again", "threads"]:
        process = begin(command)
        atexit.register(process.kill)
        for i in range(4 * ROUNDS):
            time.sleep(rng.random() * 0.02)
            answer = subprocess.run([sprof, "trace", "-p", str(process.pid), "-o", "t.db", "--function", "^work$",
                                     "--duration", "100ms"], capture_output=True, text=True)
            said = "executed .*/again before its probes were in place" if answer.returncode else "calls? in"
            if answer.returncode not in (0, 1) or not re.search(said, answer.stderr):
                fail(f"{command} round {i}: {answer.returncode}: {answer.stderr}")
            if process.poll() is not None:
                fail(f"{command} ended by {process.returncode} in round {i}")
        process.kill()
        process.wait()


def attach_while_running(command):
    want = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    begun = time.monotonic()
    subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    whole = time.monotonic() - begun
    traced = 0
    for i in range(ROUNDS):
        process = begin(command)
        time.sleep(rng.random() * whole * 0.3)
        tracer = trace(process.pid, "--module", "*", "--duration", f"{rng.randrange(1, 300)}ms")
        status = status_of(tracer)
        if status == 0 and "calls in" in open("err").read():
            traced += 1
        elif not re.search("gone|ended|does not exist|executed|could be borrowed|zombie", open("err").read()):
            fail(f"sprof ended with {status}")
        check_same(process, want)
    print(f"{traced} of {ROUNDS} traced while it ran")


COLLECTOR = r"""
#define _GNU_SOURCE
#include <link.h>
#include <time.h>
static struct { const volatile char *from, *to; } roots[256];
static int count;
static int note(struct dl_phdr_info *library, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < library->dlpi_phnum && count < 256; i++)
        if (library->dlpi_phdr[i].p_type == PT_LOAD && library->dlpi_phdr[i].p_flags & PF_W) {
            roots[count].from = (char *)library->dlpi_addr + library->dlpi_phdr[i].p_vaddr;
            roots[count].to = roots[count].from + library->dlpi_phdr[i].p_memsz;
            count++;
        }
    return 0;
}
long collect(void)
{
    long sum = 0;
    const struct timespec pause = {.tv_nsec = 200000};
    count = 0;
    dl_iterate_phdr(note, 0);
    for (int turn = 0; turn < 300; turn++) {
        for (int i = 0; i < count; i++)
            for (const volatile char *at = roots[i].from; at < roots[i].to; at += 256)
                sum += *at;
        nanosleep(&pause, 0);
    }
    return sum;
}
"""
COLLECTED = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
long collect(void);
__attribute__((noinline)) void work(void) { __asm__ volatile(""); }
static void *wait_for_work(void *unused) { char byte; return read(0, &byte, 1) ? unused : unused; }
int main(void)
{
    pthread_t thread;
    int pipes[2];
    if (pipe(pipes) || dup2(pipes[0], 0)) return 1;
    pthread_create(&thread, 0, wait_for_work, 0);
    while (access("end", F_OK)) { collect(); work(); }
    puts("done");
    return 7;
}
"""


def collected():
    """A collector reads the data of all libraries, as it found them when it began, while a thread waits."""
    for name, text in (("collector.c", COLLECTOR), ("collected.c", COLLECTED)):
        with open(name, "w") as file:
            file.write(text)
    subprocess.run(["gcc", "-O1", "-w", "-shared", "-fPIC", "collector.c", "-o", "libgc.so.1"], check=True)
    subprocess.run(["gcc", "-O1", "-w", "-pthread", "collected.c", "./libgc.so.1", "-o", "collected"], check=True)
    process = begin_own(["./collected"])
    for i in range(ROUNDS):
        tracer = trace(process.pid, "--module", "*", "--duration", f"{rng.randrange(50, 300)}ms")
        if status_of(tracer):
            fail("it was not traced")
        time.sleep(0.1)
        if process.poll() is not None:
            fail(f"it ended with {process.poll()} in round {i}")
        if not re.search("the tracing agent stays in process .* garbage collector", open("err").read()):
            fail("the agent was unloaded")
    open("end", "w").close()
    if status_of(process) != 7 or open("out").read() != "done\n":
        fail(f"it ended with {process.returncode}")
    print(f"{ROUNDS} of {ROUNDS} traced, with the agent left in it")


cases = {"text": text, "kill": kill, "halted": halted, "collected": collected, "controlled": controlled,
         "left": left, "lent": lent_all, "opened": opened, "waits": waits, "pauses": pauses, "beginning": beginning, "both": both, "passed": passed, "joins": joins, "calls": calls, "users": users, "mallocs": mallocs, "leftover": leftover, "handler": handler, "removed": removed, "ended": ended, "closed": closed, "filtered": filtered, "strict": strict, "shared": shared, "rings": rings, "refused": refused, "executes": executes}
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    if targets.case in cases:
        cases[targets.case]()
    else:
        attach_while_running(own_program(400) if targets.case == "own" else targets.real_program(targets.case, 4))
