#!/usr/bin/env python3
"""Traces programs in surroundings of which sprof may know nothing: they go on as untraced, and sprof ends soon.

surroundings.py name|vforks|frozen|rights|sealed|window|descriptors|locked SPROF [SEED [ROUNDS]]

`name`: a program that is called like what stands behind a name in /proc."""
import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import targets
from targets import check_text, fail, files_of, sprof, status_of, wait_for

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
__attribute__((noipa)) long work(long n) { return n * 3 + 1; }
static void begin(void);
int main(void)
{
    begin();
    puts("ready");
    fflush(stdout);
    for (long sum = 0; access("end", F_OK); usleep(1000))
        sum = work(sum);
    puts("ended");
    return 5;
}
"""


def compile_c(name, text, *flags):
    with open(f"{name}.c", "w") as file:
        file.write(text)
    if subprocess.run(["gcc", "-O1", "-g", "-w", "-pthread", *flags, f"{name}.c", "-o", name]).returncode:
        print("SKIPPED: no compiler for this")
        sys.exit(targets.NO_PROGRAM)
    return [f"./{name}"]


def begin(name, beginning, *flags):
    """The program, which does that before it says that it is ready."""
    command = compile_c(name, PROGRAM + "static void begin(void) { " + beginning + " }", *flags)
    for file in ("out", "end"):
        if os.path.exists(file):
            os.unlink(file)
    process = targets.begin(command, stdout=open("out", "w"))
    wait_for(lambda: process.poll() is not None or "ready" in open("out").read(), "the program")
    return process


def trace(process, *options):
    return targets.trace(subprocess.DEVNULL, "-p", str(process.pid), "--function", "^work$", *options)


def end(process):
    open("end", "w").close()
    status = status_of(process)
    if status != 5 or "ended" not in open("out").read():
        fail(f"the program ended with {status}")


def check_traced(process, before, *options):
    """Traced, and as it was before."""
    status = status_of(trace(process, "--backend", "inject", "--duration", "200ms", *options))
    if status or "stays" in open("err").read():
        fail(f"the trace ended with {status}")
    check_left(process, before)


def check_left(process, before):
    if files_of(process.pid) != before:
        fail(f"mappings differ: {sorted(set(files_of(process.pid)) ^ set(before))}")
    check_text(process.pid)


def refused(process, before, seconds, *texts):
    """In that time, for these reasons, and nothing is left in it."""
    began = time.monotonic()
    status = status_of(trace(process, "--backend", "inject", "--duration", "200ms"))
    took = time.monotonic() - began
    said = open("err").read()
    if status != 1 or not all(text in said for text in texts):
        fail(f"the trace ended with {status}")
    if took > seconds:
        fail(f"the trace took {took} s to be refused")
    check_left(process, before)


def begin_traced(process):
    tracer = trace(process, "--backend", "inject")
    wait_for(lambda: targets.ctl("-i", "t.db", "status").returncode == 0, "the trace", tracer)
    wait_for(lambda: " 0 calls" not in targets.ctl("-i", "t.db", "status").stdout, "calls", tracer)
    return tracer


def end_traced(tracer, seconds):
    """Returns what it says; in that time."""
    began = time.monotonic()
    tracer.send_signal(signal.SIGINT)
    status_of(tracer)
    took = time.monotonic() - began
    if took > seconds:
        fail(f"the trace took {took} s to end")
    return open("err").read()


def name():
    for flags in ((), ("-static",)):
        process = begin("called", r'prctl(PR_SET_NAME, "a\n1) Z 1");', *flags)
        before = files_of(process.pid)
        check_traced(process, before)
        check_traced(process, before)
        end(process)


VFORKS = r"""
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_child, NULL);
    while (access("forked", F_OK))
        usleep(1000);
"""

CHILD = r"""
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static void *wait_for_child(void *unused)
{
    if (!vfork()) {
        close(creat("forked", 0600));
        while (access("let", F_OK))
            usleep(1000);
        _exit(0);
    }
    return unused;
}
"""


def vforks():
    """A thread waits for a child of vfork until somebody lets that go."""
    global PROGRAM
    PROGRAM = CHILD + PROGRAM
    process = begin("vforks", VFORKS)
    before = files_of(process.pid)
    refused(process, before, 30, "does not stop", "try again when that is over")
    open("let", "w").close()
    wait_for(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 1, "the end of its thread")
    check_traced(process, before)
    end(process)


def freezers():
    """Of both versions that can be used here: a directory, and a function that freezes all in it or lets them go."""
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file]
    for fields in mounts:
        kind, options = fields[fields.index("-") + 1], fields[-1]
        group = os.path.join(fields[4], f"sprof-{os.getpid()}")
        if kind == "cgroup2":
            control, words = "cgroup.freeze", ("0", "1")
        elif kind == "cgroup" and "freezer" in options.split(","):
            control, words = "freezer.state", ("THAWED", "FROZEN")
        else:
            continue
        try:
            os.mkdir(group)
        except OSError:
            continue
        atexit.register(lambda group=group: os.rmdir(group))

        def freeze(on, path=os.path.join(group, control), words=words):
            with open(path, "w") as file:
                file.write(words[on])
            time.sleep(0.1)
        if os.path.exists(os.path.join(group, control)):
            yield group, freeze


def frozen():
    """Before it is traced, and while it is: sprof ends, and takes everything out once it goes on."""
    found = 0
    for group, freeze in freezers():
        found += 1
        process = begin("frozen", "")
        before = files_of(process.pid)
        with open(os.path.join(group, "cgroup.procs"), "w") as file:
            file.write(str(process.pid))
        freeze(True)
        try:
            refused(process, before, 60, "frozen", "its cgroup")
            freeze(False)
            check_traced(process, before)
            tracer = begin_traced(process)
            freeze(True)
            said = end_traced(tracer, 60)
        finally:
            freeze(False)
        if "detach" not in said:
            fail("nobody says how the probes are taken out")
        wait_for(lambda: targets.ctl("-p", str(process.pid), "detach").returncode == 0, "its probes to be out")
        check_left(process, before)
        end(process)
        wait_for(lambda: not open(os.path.join(group, "cgroup.procs")).read(), "the end of the group")
    if not found:
        print("SKIPPED: no cgroup can be made in which a process can be frozen")
        sys.exit(targets.NO_PROGRAM)


def rights():
    """A process lets nobody but root look into it while an ordinary user traces it."""
    if os.geteuid():
        print("SKIPPED: not root, who takes the probes out")
        sys.exit(targets.NO_PROGRAM)
    global PROGRAM
    PROGRAM = PROGRAM.replace("sum = work(sum);", 'sum = work(sum), access("forbid", F_OK) || prctl(PR_SET_DUMPABLE, 0);')
    os.chmod(".", 0o777)
    shutil.copytree(os.path.join(os.path.dirname(sprof), "libexec"), "libexec")
    shutil.copy(sprof, "sprof")
    subprocess.run(["chmod", "-R", "a+rX", "."], check=True)
    user = {"user": 65534, "group": 65534, "extra_groups": []}
    command = compile_c("forbids", PROGRAM + "static void begin(void) { }")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=open("out", "w"), **user)
    targets.started.append(process)
    wait_for(lambda: "ready" in open("out").read(), "the program")
    before = files_of(process.pid)
    os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = os.getcwd()
    tracer = subprocess.Popen(["./sprof", "trace", "-o", "t.db", "-p", str(process.pid), "--function", "^work$"],
                              stdin=subprocess.DEVNULL, stderr=open("err", "w"), **user)
    targets.started.append(tracer)
    wait_for(lambda: targets.ctl("-i", "t.db", "status").returncode == 0, "the trace", tracer)
    open("forbid", "w").close()
    time.sleep(0.2)
    said = end_traced(tracer, 30)
    if f"as root `sprof ctl -p {process.pid} detach`" not in said:
        fail("nobody says how the probes are taken out")
    answer = targets.ctl("-p", str(process.pid), "detach")
    if answer.returncode:
        fail(f"the probes are not taken out: {answer.stderr}")
    check_left(process, before)
    end(process)


SEALS = r"""
#include <stdlib.h>
static void seal_all(void)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && rights[2] == 'x' && strchr(line, '/') &&
            syscall(462, start, end - start, 0))
            exit(77);
    }
    fclose(maps);
}
"""


def sealed():
    """A program that has sealed all of its code is traced as others are; what it seals of the agent stays, which is said."""
    global PROGRAM
    PROGRAM = PROGRAM.replace("int main", SEALS + "int main").replace(
        "sum = work(sum);", 'sum = work(sum), access("seal", F_OK) || (seal_all(), unlink("seal"));')
    process = begin("seals", "seal_all();")
    if process.poll() == 77:
        print("SKIPPED: this kernel seals no memory")
        sys.exit(targets.NO_PROGRAM)
    before = files_of(process.pid)
    check_traced(process, before)
    tracer = begin_traced(process)
    open("seal", "w").close()
    wait_for(lambda: not os.path.exists("seal"), "the program")
    said = end_traced(tracer, 30)
    if "the tracing agent stays" not in said or "sealed" not in said:
        fail("nobody says that the agent stays")
    if status_of(trace(process, "--backend", "inject", "--duration", "200ms")):
        fail("it cannot be traced again")
    end(process)


def window():
    """Memory where there can be no records, as allocators of sanitizers have: no call is kept there."""
    process = begin("window", "for (char *at = (char *)0x640000000000; at; at = NULL) { "
                    "mmap(at, 8192, 3, 0x100032, -1, 0) == at ? memset(at, 1, 8192) : (void *)0; }")
    if not any(line[0] == "640000000000-640000002000" for line in targets.mappings(process.pid)):
        fail("the program has not got its memory")
    check_traced(process, files_of(process.pid))
    end(process)


def descriptors():
    process = begin("descriptors", "struct rlimit none = {3, 1024}; setrlimit(RLIMIT_NOFILE, &none);")
    before = files_of(process.pid)
    refused(process, before, 30, "has no descriptor free", "prlimit --nofile=1024")
    subprocess.run(["prlimit", "--nofile=1024", "-p", str(process.pid)], check=True)
    check_traced(process, before)
    end(process)
    # One for the agent's socket, and none for what comes by it.
    untraced = begin("limited", "")
    end(untraced)
    status = status_of(targets.trace(open("out", "w"), "--children", "--function", "^work$", "--",
                                     "prlimit", "--nofile=4", "./limited"))
    said = open("err").read()
    if status != 5 or "has no descriptor free; see `ulimit -n`" not in said:
        fail(f"the command ended with {status}")


def locked():
    """A copy with probes that listens, whose agent has given up the right to lock more than `ulimit -l`."""
    command = compile_c("locked", PROGRAM + "static void begin(void) { mlockall(MCL_CURRENT | MCL_FUTURE); }")
    subprocess.run([sprof, "probes", "locked", "--function", "^work$", "--embed", "-o", "copy"], check=True, stdout=subprocess.DEVNULL)
    library = os.path.join(os.path.dirname(sprof), "libexec/sprof/libsprof-probe.so")
    process = targets.begin(["env", "SPROF_PROBE=listen", f"LD_PRELOAD={library}", "./copy"],
                            stdout=open("out", "w"))
    wait_for(lambda: process.poll() is not None or "ready" in open("out").read(), "the program")
    if process.poll() is not None or "VmLck:\t       0" in open(f"/proc/{process.pid}/status").read():
        print("SKIPPED: mlockall is not permitted")
        sys.exit(targets.NO_PROGRAM)
    status = status_of(trace(process, "--duration", "200ms"))
    if status != 1 or "does not answer" not in open("err").read() or "`ulimit -l`" not in open("err").read():
        fail(f"the trace ended with {status}")
    end(process)


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    {"name": name, "vforks": vforks, "frozen": frozen, "rights": rights, "sealed": sealed, "window": window,
     "descriptors": descriptors, "locked": locked}[targets.case]()
