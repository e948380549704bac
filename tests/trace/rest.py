#!/usr/bin/env python3
"""Probes that have been off for a while rest: the functions' code is that of their files, until they are on again.

rest.py text|counts|ranges|given|replaced|toggled|fork|load|waiting|kill|c|c++ SPROF [SEED [ROUNDS]]

`text`: all pages, attached and launched. `counts`: what is called over on, rest and on again, with calls in flight.
`kill`: sprof is killed while probes go to rest or come back. `c`, `c++`: programs of generate.py."""
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import targets
from targets import HERE, check_text, ctl, fail, has_ended, keeper_of, mappings, own_program, rng, sprof, status_of, trace, wait_for

PAGE, JUMP = 4096, 5
ROUNDS = targets.rounds(6)

PROGRAM = """
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
static void serve(void);
static jmp_buf back;
NI void work(void) { KEEP; }
NI void other(void) { KEEP; }
NI void nest(int n) { if (n) nest(n - 1); else serve(); KEEP; }
static void give(void *code) { if (madvise((void *)((long)code & -4096), 4096, MADV_DONTNEED)) puts("bad"); }
static void answer(const char *with) { puts(with); fflush(stdout); }
static void serve(void)
{
    char line[16];
    int status = 0;
    while (fgets(line, sizeof line, stdin)) {
        switch (*line) {
        case 'i': answer("done"); nest(2); break;
        case 'o': return;
        case 'j': longjmp(back, 1);
        case 'w': work(); break;
        case 'm': give(nest); give(work); give(other); give(longjmp); break;
        case 'x': other(); break;
        case 'f':
            if (!fork()) { work(); other(); _exit(3); }
            wait(&status);
            if (WEXITSTATUS(status) != 3) { answer("bad"); continue; }
            break;
        }
        answer("done");
    }
}
int main(void) { if (setjmp(back)) answer("done"); serve(); return 9; }
"""


def compile_program(text, name="told", *flags, compiler="gcc"):
    with open(f"{name}.c", "w") as file:
        file.write(text)
    subprocess.run([compiler, "-O1", "-g", "-w", "-pthread", "-fno-optimize-sibling-calls", *flags, f"{name}.c", "-o", name],
                   check=True)
    return f"./{name}"


def changes(pid):
    """Where code is not that of its file: (path, address), a place each. Not: the loader's function that says when libraries
    come, and what lies in two pages, where no probe is put while a program runs."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in mappings(pid):
            path = line[5].strip() if len(line) > 5 else ""
            if "x" not in line[1] or not path.startswith("/") or "libsprof-probe" in path:
                continue
            start, end = (int(part, 16) for part in line[0].split("-"))
            memory.seek(start)
            there = memory.read(end - start)
            with open(path, "rb") as file:
                file.seek(int(line[2], 16))
                original = file.read(end - start).ljust(end - start, b"\0")
            at = 0
            while there != original and at < len(there):
                if there[at] == original[at]:
                    at += 1
                    continue
                # The first byte of a jump may be as it was.
                if "/ld-linux" not in path and (start + at) // PAGE == (start + at + JUMP - 1) // PAGE:
                    found.append((path, start + at))
                at += JUMP
    return found


def status_fields(pid):
    answer = ctl("-p", str(pid), "status", "--format", "csv")
    lines = answer.stdout.splitlines()
    return dict(zip(lines[0].split(","), lines[1].split(","))) if answer.returncode == 0 and len(lines) > 1 else {}


def resting(pid):
    return int(status_fields(pid).get("probes_resting", 0))


def says(pid, text, *words, status=0):
    answer = ctl("-p", str(pid), *words)
    if answer.returncode != status or not re.search(text, answer.stdout + answer.stderr):
        fail(f"{words}: {answer.returncode} {answer.stdout}{answer.stderr}")


def rows():
    """What the recording has of each function."""
    result = subprocess.run([sprof, "stats", "-i", "t.db", "--format", "csv"], capture_output=True, text=True)
    return {row["function"].split("(")[0]: row for row in csv.DictReader(result.stdout.splitlines())}


class Told:
    """A program that does what it is told, traced from its start or attached to."""

    def __init__(self, attached, *options):
        program = compile_program(PROGRAM) if not os.path.exists("told") else "./told"
        for name in os.listdir("."):
            if name.startswith("t.db"):
                os.unlink(name)
        tracing = [sprof, "trace", "-o", "t.db", *options]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        if attached:
            self.process = subprocess.Popen([program], **pipes)
            targets.started.append(self.process)
            self.pid = self.process.pid
            self.say("w")
            self.tracer = targets.begin([*tracing, "-p", str(self.pid)], stdout=subprocess.DEVNULL, stderr=open("err", "w"))
        else:
            self.process = self.tracer = subprocess.Popen([*tracing, "--", program], stderr=open("err", "w"), **pipes)
            targets.started.append(self.process)
        wait_for(lambda: self.tracer.poll() is not None or ctl("-i", "t.db", "status").returncode == 0, "the trace")
        if not attached:
            self.say("w")
            self.pid = targets.command_of(self.tracer.pid)

    def say(self, what, answers=1):
        self.process.stdin.write(what + "\n")
        for _ in range(answers):
            if self.process.stdout.readline() != "done\n":
                fail(f"the program does not answer to {what}")

    def end(self):
        self.process.stdin.close()
        if status_of(self.process) != 9:
            fail("another exit status than untraced")
        if status_of(self.tracer) not in (0, 9):
            fail("the trace failed")

    def is_calls(self, function, **wanted):
        row = rows().get(function, {"calls": "0"})
        for name, value in wanted.items():
            if row.get(name) != str(value):
                fail(f"{function}: {name} is {row.get(name)}, not {value}")


def text():
    for attached in (True, False):
        told = Told(attached, "--module", "*", "--function", "!^main$", "--paused", "--rest", "50ms")
        if not attached:
            wait_for(lambda: resting(told.pid), "rest")
        probes = resting(told.pid)
        if probes < 1000 or changes(told.pid):
            fail(f"paused from the start: {probes} probes rest; {changes(told.pid)[:9]} differ")
        says(told.pid, f"{probes} probes rest", "status")
        for i in range(3):
            says(told.pid, "being measured", "on")
            told.say("w")
            if resting(told.pid) or len(changes(told.pid)) < probes * 0.99:
                fail(f"on: {resting(told.pid)} rest, {len(changes(told.pid))} have jumps")
            says(told.pid, "no calls", "off")
            told.say("w")
            wait_for(lambda: resting(told.pid) == probes, "rest")
            told.say("w")
            # What sees how frames are left stays while there may be some: calls that were in flight end by the next line.
            wait_for(lambda: not changes(told.pid), f"code that is as it was: {changes(told.pid)[:9]}")
        before = [line[:2] for line in mappings(told.pid)]
        told.say("w")
        if [line[:2] for line in mappings(told.pid)] != before:
            fail("mappings change at rest")
        if attached:
            says(told.pid, "the probes are out", "detach")
            check_text(told.pid)
        told.end()
        print(f"{'attached' if attached else 'launched'}: {probes} probes rested 4 times")


def counts():
    """They are passed at first, by a byte of their jumps, and rest then."""
    for attached in (True, False):
        told = Told(attached, "--function", "^(nest|work|other)$", "--rest", "500ms", "--paused")
        told.say("w")
        says(told.pid, "being measured", "on")
        told.say("w")
        told.say("i")  # three calls, one within the other
        says(told.pid, "", "off")
        wait_for(lambda: resting(told.pid) == 3, "rest")
        told.say("w")
        told.say("o")  # one ends while the probes rest …
        told.say("i")  # … and others begin
        told.say("w")
        says(told.pid, "being measured", "on")
        told.say("x")
        told.say("o")  # of those that nobody counts
        told.say("i")
        says(told.pid, "", "off")
        wait_for(lambda: resting(told.pid) == 3, "rest")
        told.say("j")  # all are left
        told.say("i")
        says(told.pid, "being measured", "on")
        told.say("w")
        told.say("o")
        told.end()
        told.is_calls("nest", calls=6, in_flight=0, recursive=4)
        told.is_calls("work", calls=2)
        told.is_calls("other", calls=1)
        print(f"{'attached' if attached else 'launched'}: as it was called")


def ranges():
    """Single functions rest; a deadline ends a time; --rest off keeps them as they are."""
    told = Told(True, "--function", "^(nest|work|other)$", "--rest", "50ms")
    says(told.pid, "2 probes are on", "probe", "-^other$")
    wait_for(lambda: resting(told.pid) == 1, "rest")
    told.say("w")
    told.say("x")
    says(told.pid, "3 probes are on", "probe", "+^other$")
    told.say("x")
    if resting(told.pid):
        fail("it rests, and is on")
    says(told.pid, "", "off")
    wait_for(lambda: resting(told.pid) == 3, "rest")
    says(told.pid, "for 0.2 s", "on", "200ms")
    told.say("x")
    wait_for(lambda: resting(told.pid) == 3, "rest behind the deadline")
    says(told.pid, " 3 ", "list")
    says(told.pid, "", "mode", "coverage")
    told.say("w")
    says(told.pid, "", "on")
    told.say("x")
    says(told.pid, "", "end")
    told.end()
    told.is_calls("other", calls=2)
    told.is_calls("work", calls=1)
    told = Told(True, "--function", "^(nest|work|other)$", "--rest", "off", "--paused")
    time.sleep(0.5)
    if resting(told.pid) or not changes(told.pid):
        fail("probes rest with --rest off")
    told.end()
    for bad in ("soon", "-1s", "0"):
        answer = subprocess.run([sprof, "trace", "--rest", bad, "--", "true"], capture_output=True, text=True)
        if answer.returncode != 2 or "--rest" not in answer.stderr:
            fail(f"--rest {bad}: {answer.returncode} {answer.stderr}")


def given():
    """A program gives back pages of its code: the jumps are gone with them, and back soon; with --rest off they are not."""
    for attached in (True, False):
        told = Told(attached, "--function", "^(nest|work|other)$")
        said = changes(told.pid)
        for i in range(3):
            told.say("w")
            told.say("i")
            told.say("m")
            wait_for(lambda: changes(told.pid) == said, "the probes")
            told.say("w")
            told.say("j")  # its probe sees three calls left
        says(told.pid, "", "off")
        told.say("m")
        says(told.pid, "", "on")
        wait_for(lambda: changes(told.pid) == said, "the probes")
        told.say("x")
        told.end()
        told.is_calls("work", calls=6 if attached else 7)  # one, before it is told of anything
        told.is_calls("other", calls=1)
        told.is_calls("nest", calls=9, abnormal=9)
        if len(re.findall("given back pages of its code", open("err").read())) != 1:
            fail("it is not said, or more than once")
    told = Told(True, "--function", "^(nest|work|other)$", "--rest", "off")
    said = changes(told.pid)
    told.say("m")
    time.sleep(2.5)
    if len(changes(told.pid)) > len(said) - 3:
        fail("a process is stopped with --rest off")
    told.end()


def replaced():
    """A program whose file is renamed, replaced, or removed, as by a build, has executed nothing for that."""
    for attached in (True, False):
        told = Told(attached, "--function", "^(work|other)$", "--rest", "50ms", "--paused")
        shutil.copy("told", "kept")
        for change in (lambda: os.rename("told", "moved"), lambda: os.replace(shutil.copy("kept", "new"), "moved"),
                       lambda: os.unlink("moved")):
            wait_for(lambda: resting(told.pid) == 2, "rest")
            change()
            time.sleep(0.5)  # it looks ten times a second
            says(told.pid, "being measured", "on")
            told.say("w")
            says(told.pid, "", "off")
        shutil.move("kept", "told")  # names are read at the end
        told.end()
        told.is_calls("work", calls=3)
        if "executed" in open("err").read():
            fail("it is said to have executed something")


def toggled():
    """What is switched often does not rest in between."""
    told = Told(True, "--function", "^(nest|work|other)$", "--rest", "30s")
    said = len(changes(told.pid))
    for i in range(60):
        says(told.pid, "", "off" if i % 2 == 0 else "on")
        if i % 10 < 2:
            told.say("w")
    if resting(told.pid) or len(changes(told.pid)) != said:
        fail("they rest")
    told.end()
    told.is_calls("work", calls=6)


def fork():
    """A process that is forked while probes rest has none, and its parent has them again."""
    for attached in (True, False):
        told = Told(attached, "--function", "^(nest|work|other)$", "--rest", "50ms", "--paused")
        for i in range(3):
            told.say("f")
            says(told.pid, "", "on")
            told.say("w")
            told.say("f")
            says(told.pid, "", "off")
            told.say("f")
            wait_for(lambda: resting(told.pid) == 3, "rest")
        told.end()
        told.is_calls("work", calls=3)


LOADS = """
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    char line[16];
    void *library = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (*line == 'l') library = dlopen("./libloaded.so", RTLD_NOW);
        if (*line == 'c') ((void (*)(void))dlsym(library, "loaded"))();
        if (*line == 'u') dlclose(library);
        puts("done");
        fflush(stdout);
    }
    return 9;
}
"""


def load():
    """Libraries come and go while probes rest."""
    with open("loaded.c", "w") as file:
        file.write("__attribute__((noinline)) void loaded(void) { __asm__ volatile(\"nop; nop; nop; nop; nop\" ::: \"memory\"); }")
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "loaded.c", "-o", "libloaded.so"], check=True)
    compile_program(LOADS)
    for attached in (True, False):
        told = Told(attached, "--function", "^(main|loaded)$", "--module", "*told", "--module", "*libloaded.so", "--rest", "50ms",
                    "--paused")
        told.say("l")
        if any("libloaded" in path for path, _ in changes(told.pid)):
            fail("a library that came at rest has probes in place")
        told.say("c")
        says(told.pid, "", "on")
        told.say("c")
        told.say("u")
        told.say("l")
        told.say("c")
        says(told.pid, "", "off")
        wait_for(lambda: not changes(told.pid), "rest")
        told.say("u")
        told.say("l")
        told.say("c")
        told.say("u")
        says(told.pid, "", "on")
        told.say("l")
        told.say("c")
        says(told.pid, "", "off")
        wait_for(lambda: not changes(told.pid), "rest")
        told.say("u")
        says(told.pid, "", "on")
        says(told.pid, "", "off")
        told.say("l")
        says(told.pid, "", "on")
        told.say("c")
        told.end()
        told.is_calls("loaded", calls=4)


WAITS = """
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void work(void) { __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory"); }
static void *spawn(void *unused)
{
    if (!vfork()) {
        while (access("go on", F_OK)) usleep(1000);
        _exit(0);
    }
    return unused;
}
int main(void)
{
    char line[16];
    pthread_t thread;
    while (fgets(line, sizeof line, stdin)) {
        if (*line == 'v') pthread_create(&thread, 0, spawn, 0);
        if (*line == 'w') work();
        puts("done");
        fflush(stdout);
    }
    return 9;
}
"""


def waiting():
    """A thread that waits for a child of vfork cannot be stopped: others do not stand still for that, and `on` says so."""
    compile_program(WAITS)
    for attached in (True, False):
        told = Told(attached, "--function", "^work$", "--rest", "50ms", "--paused")
        told.say("v")
        wait_for(lambda: any(" D " in open(f"/proc/{told.pid}/task/{tid}/stat").read()
                             for tid in os.listdir(f"/proc/{told.pid}/task")), "a thread that waits")
        says(told.pid, "not yet those of [0-9]+ functions", "on", status=1)
        told.say("w")
        if not resting(told.pid):
            fail("nothing rests")
        open("go on", "w").close()
        wait_for(lambda: not resting(told.pid), "probes")
        told.say("w")
        os.kill(told.pid, signal.SIGSTOP)
        wait_for(lambda: " T " in open(f"/proc/{told.pid}/stat").read(), "its stop")
        says(told.pid, "", "off")
        wait_for(lambda: resting(told.pid), "rest")
        says(told.pid, "being measured", "on")
        if resting(told.pid) or " T " not in open(f"/proc/{told.pid}/stat").read():
            fail("it goes on, or probes rest")
        os.kill(told.pid, signal.SIGCONT)
        told.say("w")
        told.end()
        told.is_calls("work", calls=2)
        os.unlink("go on")


def kill():
    """At any moment of going to rest and of coming back; what it leaves is taken out."""
    want = subprocess.run(own_program(1000), capture_output=True, text=True)
    for i in range(ROUNDS):
        process = targets.begin(own_program(1000, "end"), stdout=open("out", "w"))
        wait_for(lambda: process.poll() is not None or len(os.listdir(f"/proc/{process.pid}/task")) > 1, "its threads")
        time.sleep(rng.random() * 0.05)
        before = targets.files_of(process.pid)
        pid = str(process.pid)
        tracer = trace(subprocess.DEVNULL, "-p", pid, "--module", "*", "--rest", "1ms", *(["--paused"] if i % 2 else []))
        wait_for(lambda: ctl("-p", pid, "status").returncode == 0, "the trace", tracer)
        for again in range(rng.randrange(2)):
            ctl("-p", pid, "on")
            ctl("-p", pid, "off")
            wait_for(lambda: resting(process.pid) > 1000, "rest", tracer)
        keeper = keeper_of(tracer.pid)
        if rng.random() < 0.5:  # it comes back
            asking = subprocess.Popen([sprof, "ctl", "-p", pid, "on"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.random() ** 2 * 0.08)
        else:
            ctl("-p", pid, "on")
            asking = subprocess.Popen([sprof, "ctl", "-p", pid, "off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.random() * 0.25)
        tracer.kill()
        status_of(tracer)
        asking.wait()
        wait_for(lambda: has_ended(keeper), "the keeper's end")
        check_text(process.pid)
        if targets.files_of(process.pid) != before:
            fail("mappings differ")
        open("end", "w").close()
        status = status_of(process)
        os.unlink("end")
        # The last line counts waits that ended by a stop, as one may where sprof is killed just then.
        if status != want.returncode or open("out").read().split("\n")[:-2] != want.stdout.split("\n")[:-2]:
            fail(f"the program ended with {status}")
    print(f"{ROUNDS} of {ROUNDS} lived, and had nothing left in them")


def random_programs(language):
    """Whole runs that begin when the probes come back count everything; others that are switched meanwhile no more than that."""
    for i in range(ROUNDS):
        number = rng.randrange(1 << 30)
        text = subprocess.run([sys.executable, f"{HERE}/generate.py", language, str(number)], capture_output=True, text=True).stdout
        text = text.replace("int main(int count, char **arguments)\n{", "int main(int count, char **arguments)\n{ getchar();")
        text = text.replace("round < 150", "round < 20000" if i % 2 else "round < 150")
        if text.count("getchar") != 1:
            fail("the generator is another one")
        level = rng.choice(("-O1", "-O2", "-O3"))
        name = "random.cc" if language == "c++" else "random.c"
        with open(name, "w") as file:
            file.write(text)
        subprocess.run([rng.choice(("g++", "clang++") if language == "c++" else ("gcc", "clang")), level, "-g", "-w", "-pthread",
                        name, "-o", "random"], check=True)
        want = subprocess.run(["./random", "want"], input="\n", capture_output=True, text=True)
        for name in os.listdir("."):
            if name.startswith("t.db"):
                os.unlink(name)
        launched = bool(rng.randrange(2))
        tracing = [sprof, "trace", "-o", "t.db", "--module", "*" if rng.randrange(2) else "*random", "--rest", "1ms", "--paused"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = subprocess.Popen([*(tracing + ["--"] if launched else []), "./random", "got"], stderr=open("err", "w"), **pipes)
        targets.started.append(process)
        tracer = process if launched else targets.begin([*tracing, "-p", str(process.pid)], stdout=subprocess.DEVNULL,
                                                        stderr=open("err", "w"))
        wait_for(lambda: ctl("-i", "t.db", "status").returncode == 0 or tracer.poll() is not None, "the trace")
        if launched:
            wait_for(lambda: "rest" in ctl("-i", "t.db", "status").stdout, "rest", tracer)
        if ctl("-i", "t.db", "on").returncode:
            fail("it is not on")
        process.stdin.write("\n")
        process.stdin.flush()
        switched = 0
        while i % 2 and ctl("-i", "t.db", "off" if switched % 2 == 0 else "on").returncode == 0:
            time.sleep(rng.random() * (0.4 if switched % 2 == 0 else 0.05))
            switched += 1
        out, _ = process.communicate(timeout=targets.PATIENCE)
        status_of(tracer)
        if (process.returncode, out) != (want.returncode, want.stdout):
            fail(f"program {number} {level}: ended with {process.returncode}, printed {out!r} instead of {want.stdout!r}")
        truth = dict(line.split() for line in open("got").read().splitlines())
        found = {name: row["calls"] for name, row in rows().items() if re.match(r"f\d+$", name)}
        known = {name: calls for name, calls in truth.items() if i % 2 == 0}
        for name in known:
            if name in found and found[name] != known[name]:
                fail(f"program {number} {level}: {name} was called {known[name]} times, found are {found[name]}")
        if i % 2 == 0 and len(found) < len(known) * 0.5:
            fail(f"program {number} {level}: {len(found)} of {len(known)} functions have calls")
        for name, calls in found.items():
            if int(calls) > int(truth.get(name, 0)):
                fail(f"program {number} {level}: {name} was called {truth.get(name)} times, found are {calls}")
        print(f"{number} {level} {'launched' if launched else 'attached'}: {len(found)} functions, switched {switched} times")


cases = {"text": text, "counts": counts, "ranges": ranges, "given": given, "replaced": replaced, "toggled": toggled, "fork": fork, "load": load, "waiting": waiting, "kill": kill}
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    if targets.case in cases:
        cases[targets.case]()
    else:
        random_programs(targets.case)
