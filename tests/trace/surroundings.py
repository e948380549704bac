#!/usr/bin/env python3
"""Traces programs in surroundings of which sprof may know nothing: they go on as untraced, and sprof ends soon.

surroundings.py name|window|descriptors SPROF [SEED [ROUNDS]]

`name`: a program that is called like what stands behind a name in /proc."""
import os
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


def name():
    for flags in ((), ("-static",)):
        process = begin("called", r'prctl(PR_SET_NAME, "a\n1) Z 1");', *flags)
        before = files_of(process.pid)
        check_traced(process, before)
        check_traced(process, before)
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


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    {"name": name, "window": window, "descriptors": descriptors}[targets.case]()
