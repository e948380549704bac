#!/usr/bin/env python3
"""Kills sprof or the command that it traces, at random moments.

kill.py recorder|held|target|children SPROF [SEED]

The command must not notice that its tracer is gone: it prints and ends as it does untraced. What was
recorded stays readable, whoever was killed. The command that is held is linked statically, and the recorder killed."""
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import targets
from targets import PATIENCE, command_of, rng, seed, sprof

side = targets.case
flags, options = [], []
if side == "held":  # how often the C library, which is in the program, calls what, is not always the same
    flags, options = ["-static"], ["--function", "^(leaf|fib|jump|work|main)$"]
kills_recorder = side in ("recorder", "held")
ROUNDS = 10
PR_SET_CHILD_SUBREAPER = 36
NOT_STARTED = 127

PROGRAM = """
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#define NI __attribute__((noinline))
NI long leaf(long n) { return n * 7 + 1; }
NI long fib(long n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
NI void jump(jmp_buf *back, long n) { if (n) jump(back, n - 1); else longjmp(*back, 1); leaf(n); }
NI void *work(void *end)
{
    jmp_buf back;
    volatile long sum = 0;
    for (volatile long i = 0; i < 150; i++) {
        if (!setjmp(back))
            jump(&back, i % 10);
        sum += fib(13);
    }
    *(long *)end = sum;
    return end;
}
int main(int count, char **words)
{
    long sum = 0;
    (void)words;
    for (int round = 0; round < 60 * (count > 1 ? 1000 : 1); round++) {
        pthread_t threads[3];
        long sums[3];
        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], 0, work, &sums[i]);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], 0);
        sum += sums[0] + sums[1] + sums[2];
    }
    printf("%ld\\n", sum);
    return 7;
}
"""


def fail(text):
    sys.exit(f"FAILED: seed {seed}: {text}")


def wait_for(pid):
    """The exit status of a child, which may be one that was left to us."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    fail(f"process {pid} does not end")


# What the reports say of a recording that was begun and has no run yet.
NOTHING_YET = re.compile("there is no recording|holds no recording|holds no run|no run of the recording")


def stats():
    """The number of calls that the recording has; -1: none yet."""
    result = subprocess.run([sprof, "stats", "-i", "t.db", "--format", "csv"], capture_output=True, text=True)
    if result.returncode == 1 and NOTHING_YET.search(result.stderr):
        return -1
    if result.returncode:
        fail(f"stats ended with {result.returncode}: {result.stderr}")
    lines = result.stdout.splitlines()
    column = lines[0].split(",").index("calls")
    return sum(int(line.split(",")[column]) for line in lines[1:])


def launch(*command):
    for name in os.listdir("."):
        if name.startswith("t.db"):
            os.unlink(name)
    return subprocess.Popen([sprof, "trace", "-o", "t.db", *options, *(command or ("--", "./program"))], stdout=open("out", "w"),
                            stderr=open("err", "w"), stdin=subprocess.DEVNULL)


def kill_recorder(after, wanted):
    recorder = launch()
    target = 0
    end = time.monotonic() + after
    while time.monotonic() < end:
        target = target or command_of(recorder.pid)
        time.sleep(0.001)
    target = target or command_of(recorder.pid)
    gone = recorder.poll() is not None
    recorder.kill()
    recorder.wait()
    if not gone and target:
        try:
            status = wait_for(target)
        except ChildProcessError:  # the recorder had waited for its end
            status = 7
        output = open("out").read()
        began = status != NOT_STARTED or output
        if began and (status != 7 or output != wanted):
            fail(f"killed after {after:.3f} s: the command ended with {status} and printed {output!r}")
    return stats()


def says_that_nothing_is_there():
    """Killed while the first file is planned, it has measured nothing, and the reports say why."""
    recorder = launch("--no-cache", "--module", "*", "--", "./program")
    targets.wait_for(lambda: os.path.exists("t.db") and stats() == 0 or recorder.poll() is not None, "a recording")
    target = command_of(recorder.pid)
    recorder.kill()
    if recorder.wait() == -signal.SIGKILL and target in targets.children_of(os.getpid()):
        wait_for(target)
    said = subprocess.run([sprof, "stats", "-i", "t.db"], capture_output=True, text=True).stdout
    if "main" not in said and "incomplete from the start: sprof was killed" not in said:
        fail(f"nothing was measured, and stats says {said!r}")
    said = subprocess.run([sprof, "report", "-i", "t.db"], capture_output=True, text=True).stdout
    if "main" not in said and "incomplete from the start: sprof was killed" not in said:
        fail(f"nothing was measured, and report says {said!r}")


def kill_with_children():
    """What the command has forked and executed must not notice either."""
    command = ["bash", "-c", "for i in 1 2 3; do (./program; echo $?) & done; wait; ./program | cat; exit 6"]
    want = sorted(subprocess.run(command, capture_output=True, text=True).stdout.split())
    for i in range(6):
        recorder = launch("--children", "--module", "*", "--", *command)
        time.sleep(rng.random() * 2)
        target, keeper = command_of(recorder.pid), targets.keeper_of(recorder.pid)
        began = recorder.poll() is None and target and os.path.exists("t.db")
        recorder.kill()
        recorder.wait()
        try:
            status = wait_for(target) if target else NOT_STARTED
        except ChildProcessError:  # the recorder had waited for its end
            status = 6
        out = sorted(open("out").read().split())
        if began and status != NOT_STARTED and (status != 6 or out != want):
            fail(f"the command ended with {status} and printed {out}")
        targets.wait_for(lambda: not keeper or targets.has_ended(keeper), "the keeper's end")
    print("6 commands and their children lived")


def kill_target(after):
    recorder = launch()
    time.sleep(after)
    target = command_of(recorder.pid)
    try:
        if target:
            os.kill(target, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return wait_for(recorder.pid), stats()


ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    with open("program.c", "w") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-w", "-pthread", *flags, "program.c", "-o", "program"], check=True)
    if side == "children":
        kill_with_children()
        sys.exit(0)
    untraced = subprocess.run("./program", capture_output=True, text=True)
    begin = time.monotonic()
    recorder = launch()
    if wait_for(recorder.pid) != 7 or open("out").read() != untraced.stdout:
        fail("the command does something else when it is traced: " + open("err").read())
    whole, all_calls = time.monotonic() - begin, stats()
    for i in range(ROUNDS):
        after = rng.random() * whole * (0.2 if i % 2 else 1)
        if kills_recorder:
            calls = kill_recorder(after, untraced.stdout)
        else:
            status, calls = kill_target(after)
            if status not in (7, 1, -signal.SIGKILL, 128 + signal.SIGKILL):
                fail(f"killed after {after:.3f} s: sprof ended with {status}: {open('err').read()}")
        if calls > all_calls:
            fail(f"{calls} calls of {all_calls}")
        print(f"after {after:.3f} of {whole:.3f} s: {calls} of {all_calls} calls recorded")
    if kills_recorder:
        says_that_nothing_is_there()
    # Figures can be seen while it runs, rows being written each second, and then they stay.
    recorder = launch("--", "./program", "long")
    end = time.monotonic() + PATIENCE
    seen = 0
    target = 0
    while seen <= 0 and recorder.poll() is None and time.monotonic() < end:
        target = target or command_of(recorder.pid)
        seen = stats() if os.path.exists("t.db") else 0
    try:
        if recorder.poll() is None:
            os.kill(recorder.pid if kills_recorder else target, signal.SIGKILL)
    except ProcessLookupError:
        pass
    # Told that its command was killed sprof ends so, too; and one that had seen the command's end may have ended the run.
    was_killed = recorder.wait() == -signal.SIGKILL and kills_recorder
    was_tracing = was_killed and target in targets.children_of(os.getpid())
    if was_tracing:
        os.kill(target, signal.SIGKILL)
        wait_for(target)
    if seen <= 0:
        fail("nothing was recorded of a command before it ended")
    if stats() < seen:
        fail(f"{stats()} calls of {seen} that were there")
    for command in ("stats", "report"):
        said = subprocess.run([sprof, command, "-i", "t.db"], capture_output=True, text=True).stdout
        is_said = "incomplete: sprof was killed, or its disk was full, and what came after" in said
        if is_said and not was_killed or was_tracing and not is_said:
            fail(f"killed: {was_killed}, while it traced: {was_tracing}, but {command} says {said}")
    print(f"{seen} calls seen, {stats()} stayed")
