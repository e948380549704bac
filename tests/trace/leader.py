#!/usr/bin/env python3
"""Programs whose first thread has ended, by which the kernel names a process, while others of it work.

leader.py before|during|races|recorded SPROF [SEED [ROUNDS]]

It ends before or during the trace. Probes come, are switched, and go, and the program works as untraced; samples are whole."""
import os
import signal
import subprocess
import tempfile
import time

import targets
from targets import begin, check_text, ctl, fail, files_of, has_ended, keeper_of, status_of, wait_for

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#define NI __attribute__((noinline))
NI int leaf(int n) { volatile int at = n; return at + 1; }
NI int work(int n) { return leaf(n) + leaf(n); }
static void *on(void *first)
{
    for (int i = 0; ; i++) {
        if (work(3) != 8) abort();
        if (first && i % 10000 == 0 && !access("end", F_OK)) exit(3);
    }
}
int main(void)
{
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, on, (void *)!i);
    while (access("go", F_OK)) usleep(1000);
    pthread_exit(0);
}
"""


def let_go(process):
    open("go", "w").close()
    wait_for(lambda: has_ended(process.pid), "the first thread's end")


def living_thread(process):
    return max(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))


def begin_program():
    for name in "go", "end":
        if os.path.exists(name):
            os.unlink(name)
    return begin(["./program"])


def traced(when, how):
    process = begin_program()
    wait_for(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 3, "its threads")
    if when == "before":
        let_go(process)
    before = files_of(living_thread(process))
    tracer = targets.trace(subprocess.DEVNULL, "-p", str(process.pid), "--backend", "inject", "--function", "^(work|leaf|on)$")
    wait_for(lambda: ctl("-p", str(process.pid), "status").returncode == 0, "the trace", tracer)
    let_go(process)
    for words in (["off"], ["on"], ["probe", "-^leaf$"], ["probe", "+^leaf$"]):
        answer = ctl("-p", str(process.pid), *words)
        if answer.returncode:
            fail(f"{when}: ctl {words}: {answer.stderr}")
        time.sleep(0.05)
    keeper = keeper_of(tracer.pid)
    if how == "kill":
        tracer.kill()
        status_of(tracer)
        wait_for(lambda: has_ended(keeper), "the keeper's end")
    elif how == "interrupt":
        tracer.send_signal(signal.SIGINT)
    elif ctl("-p", str(process.pid), how).returncode:
        fail(f"{when}: {how} failed")
    if how != "kill" and status_of(tracer) not in (0, -signal.SIGINT, 128 + signal.SIGINT):
        fail(f"{when}, {how}: sprof ended with {tracer.returncode}")
    check_text(living_thread(process))
    if when == "before" and files_of(living_thread(process)) != before:
        fail(f"{how}: mappings differ: {set(files_of(living_thread(process))) ^ set(before)}")
    open("end", "w").close()
    if status_of(process) != 3:
        fail(f"{when}, {how}: the program ended with {process.returncode}")
    if how == "kill":
        return  # soon after the beginning no figures may have been written
    calls = subprocess.run([targets.sprof, "sql", "t.db", "SELECT min(calls) FROM v_call_stats WHERE function IN ('work', 'leaf')"],
                           capture_output=True, text=True).stdout.split()
    if int(calls[-1]) < 1000:
        fail(f"{when}, {how}: {calls} calls")


def races():
    """It ends at any moment, also while it is stopped, or borrowed for what it has the loader load."""
    for _ in range(targets.rounds(8)):
        process = begin_program()
        tracer = targets.trace(subprocess.DEVNULL, "-p", str(process.pid), "--backend", "inject", "--module", "*")
        time.sleep(targets.rng.random() * 0.5)
        let_go(process)
        wait_for(lambda: tracer.poll() is not None or ctl("-p", str(process.pid), "off").returncode == 0, "the trace")
        if tracer.poll() is None and subprocess.run([targets.sprof, "ctl", "-p", str(process.pid), "detach"], timeout=30).returncode:
            fail("it cannot be controlled")
        status_of(tracer)
        check_text(living_thread(process))
        open("end", "w").close()
        if status_of(process) != 3:
            fail(f"the program ended with {process.returncode}")


def uprobes():
    """The kernel looks for them in the memory of the first thread, and would find no call."""
    process = begin_program()
    let_go(process)
    status = status_of(targets.trace(subprocess.DEVNULL, "-p", str(process.pid), "--backend", "uprobe"))
    if status != 1 or f"by its first thread, and that of process {process.pid} has ended" not in open("err").read():
        fail(f"{status}: {open('err').read()}")
    process.kill()
    process.wait()


def recorded():
    process = begin_program()
    let_go(process)
    done = subprocess.run([targets.sprof, "record", "-m", "full", "-p", str(process.pid), "-o", "r.db", "--duration", "1s"], capture_output=True, text=True)
    if done.returncode:
        fail(done.stderr)
    paths = subprocess.run([targets.sprof, "export", "-f", "folded", "r.db", "-o", "-"], capture_output=True, text=True).stdout.splitlines()
    samples = {path: int(count) for path, count in (line.rsplit(" ", 1) for line in paths)}
    whole = sum(count for path, count in samples.items() if ";on;work" in path or path.endswith(";on"))
    if whole < 0.95 * sum(samples.values()):
        fail(f"{whole} of {sum(samples.values())} stacks are whole: {paths[:10]}\n{done.stderr}")
    process.kill()
    process.wait()


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    with open("program.c", "w") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-w", "-pthread", "program.c", "-o", "program"], check=True)
    if targets.case in ("races", "recorded"):
        {"races": races, "recorded": recorded}[targets.case]()
    else:
        for way in ("detach", "end", "interrupt", "kill"):
            traced(targets.case, way)
        if targets.case == "before":
            uprobes()
