#!/usr/bin/env python3
"""Takes probes out of programs while they run, at random moments.

detach.py text|copies|kill|own|throws|python|sqlite|xz|bash SPROF [SEED [ROUNDS]]

A program prints and ends as it does untraced. `text`: afterwards its code is that of its files, no page
of it is the process's own, and nothing that was mapped for probes is left. `kill`: sprof is killed
while it takes them out."""
import ctypes
import os
import re
import signal
import subprocess
import tempfile
import time

import targets
from targets import check_text, command_of, fail, own_program, rng, sprof, status_of, wait_for

ROUNDS = targets.rounds(6)
PR_SET_CHILD_SUBREAPER = 36


def ctl(word):
    return targets.ctl("-i", "t.db", word)


def launch(command):
    tracer = targets.trace(open("out", "w"), "--module", "*", "--", *command)
    # It runs, or has ended, once it has been asked.
    wait_for(lambda: tracer.poll() is not None or ctl("status").returncode == 0, "the control socket")
    return tracer


def detach_while_running(command):
    untraced = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    begin = time.monotonic()
    status_of(launch(command))
    whole = time.monotonic() - begin
    detached = 0
    for i in range(ROUNDS):
        tracer = launch(command)
        time.sleep(rng.random() * whole * 0.4)
        answer = ctl("detach")
        if answer.returncode == 0:
            detached += 1
        elif not re.search("not being recorded|is gone|no thread left|has executed", answer.stderr):
            fail(f"detach: {answer.stderr}")
        status, out = status_of(tracer), open("out").read()
        if (status, out) != (untraced.returncode, untraced.stdout):
            fail(f"ended with {status}, untraced {untraced.returncode}; output {'as' if out == untraced.stdout else 'not as'} untraced")
    print(f"{detached} of {ROUNDS} detached while it ran{'' if detached else ': ' + answer.stderr}")


def text():
    command = own_program(40, "end")
    want = subprocess.run(own_program(40), capture_output=True, text=True)
    for i in range(ROUNDS):
        tracer = launch(command)
        time.sleep(rng.random())
        answer = ctl("detach")
        if answer.returncode:
            fail(f"detach: {answer.stderr}")
        target = wait_for(lambda: command_of(tracer.pid), "the command")
        if "stays" not in open("err").read():
            print(f"{check_text(target)} bytes of code compared;{answer.stdout.split(';')[1].rstrip()}")
        # A second trace is another matter: there is nothing to control any more.
        if ctl("status").returncode != 1:
            fail("the trace goes on")
        open("end", "w").close()
        if status_of(tracer) != want.returncode or open("out").read() != want.stdout:
            fail("it does something else")
        os.unlink("end")


def copies():
    """A thread that works all the time has copies of its return addresses on its stack, and nobody unwinds that."""
    with open("copies.c", "w") as file:
        file.write("""#define _GNU_SOURCE
            #include <link.h>
            #include <stdio.h>
            __attribute__((noinline)) static void copy(volatile long *to)
            {
                const volatile long *frame = __builtin_frame_address(0);
                for (int i = 0; i < 24; i++) to[i] = frame[i];
            }
            __attribute__((noinline)) static long work(void)
            {
                volatile long kept[24], n = 0;
                copy(kept);
                puts("works");
                fflush(stdout);
                while (n >= 0) n = (n + 1) & 0xffff;
                return kept[1];
            }
            #ifdef ASKS
            static int note(struct dl_phdr_info *file, size_t size, void *count) { return ++*(int *)count < 0; }
            #endif
            int main(void)
            {
                int files = 1;
            #ifdef ASKS
                dl_iterate_phdr(note, &files);
            #endif
                return files && work() == 1;
            }""")
    # The second asks where files lie, as unwinders do, and has none.
    for flags in [], ["-DASKS"]:
        subprocess.run(["gcc", "-O1", "-g", "-w", *flags, "copies.c", "-o", "copies"], check=True)
        tracer = targets.trace(open("out", "w"), "--", "./copies")
        wait_for(lambda: "works" in open("out").read(), "the program's work", tracer)
        answer = ctl("detach")
        if answer.returncode:
            fail(f"detach: {answer.stderr}")
        target = wait_for(lambda: command_of(tracer.pid), "the command")
        print(f"{check_text(target)} bytes of code compared")
        os.kill(target, signal.SIGKILL)
        status_of(tracer)


def throws():
    """All threads handle exceptions all the time: who unwinds a stack reads what detaching changes."""
    with open("throws.cc", "w") as file:
        file.write("""#include <pthread.h>
            __attribute__((noinline)) static void deep(int n)
            {
                if (!n) throw n;
                deep(n - 1);
                __asm__ volatile("nop; nop; nop; nop; nop");
            }
            static void *work(void *caught)
            {
                for (int i = 0; i < 5000; i++)
                    try { deep(60); } catch (int) { ++*(long *)caught; }
                return nullptr;
            }
            int main()
            {
                pthread_t threads[3];
                long caught[3] = {};
                for (int i = 0; i < 3; i++) pthread_create(&threads[i], nullptr, work, &caught[i]);
                for (auto thread : threads) pthread_join(thread, nullptr);
                return caught[0] + caught[1] + caught[2] == 15000 ? 6 : 1;
            }""")
    # The others have an unwinder of their own, with its names and without.
    for flags in ["-g"], ["-static-libgcc", "-static-libstdc++"], ["-static-libgcc", "-static-libstdc++", "-s"]:
        subprocess.run(["g++", "-O1", *flags, "-w", "-pthread", "throws.cc", "-o", "throws"], check=True)
        detach_while_running(["./throws"])


def kill():
    """Kills sprof while it takes probes out, and the command in every fourth round."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    command = own_program(300)
    want = subprocess.run(command, capture_output=True, text=True)
    for i in range(3 * ROUNDS):
        tracer = launch(command)
        target = command_of(tracer.pid)
        controller = subprocess.Popen([sprof, "ctl", "-i", "t.db", "detach"], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * 0.3)
        if i % 4 == 3:
            if target and os.path.exists(f"/proc/{target}"):
                try:
                    os.kill(target, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if status_of(tracer) not in (want.returncode, -signal.SIGKILL, 128 + signal.SIGKILL, 1):
                fail(f"sprof ended with {tracer.returncode}")
            controller.wait()
            continue
        ended = tracer.poll() is not None or not target
        if not ended:
            tracer.kill()
        status = status_of(tracer)
        if not ended:
            # Left to us, where it had not been waited for.
            def reap():
                try:
                    done, waited = os.waitpid(target, os.WNOHANG)
                except ChildProcessError:
                    return [want.returncode]
                return [os.waitstatus_to_exitcode(waited)] if done else None

            status = wait_for(reap, "the end of the command")[0]
        # Who is killed while threads stand still cannot repair the waits that end by that: the last line.
        if status != want.returncode or open("out").read().split("\n")[:-2] != want.stdout.split("\n")[:-2]:
            fail(f"the command ended with {status}")
        controller.wait()


cases = {"text": text, "copies": copies, "kill": kill, "throws": throws}
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    if targets.case in cases:
        cases[targets.case]()
    else:
        detach_while_running(own_program(800) if targets.case == "own" else targets.real_program(targets.case, 2))
