#!/usr/bin/env python3
"""Bytes that look like jumps into the agent, when sprof is killed: what it leaves is found by looking at the code.

alike.py kill|thunks SPROF [SEED [ROUNDS]]

kill: bytes before functions look so once the functions begin with jumps. They stand in a library. Nothing is left free
below the libraries but what lies so far before them as such a jump would lead, so that the agent comes there.

thunks: the addresses in thunks look so, for the program lies where they end with the first byte of a jump. It is in
functions all the time, and must find its way out of them."""
import os
import re
import subprocess
import tempfile

import targets
from targets import check_text, ctl, fail, has_ended, keeper_of, mappings, status_of, wait_for

ALIKE = """
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#define F(step) \\
    __asm__(".p2align 4\\n.byte 0xcc, 0xe9, 0, 0, " #step "\\n.globl f" #step "\\n.type f" #step ", @function\\n" \\
            "f" #step ": .cfi_startproc\\n mov $" #step ", %eax\\n add $1, %eax\\n ret\\n.cfi_endproc\\n.size f" #step ", . - f" #step "\\n"); \\
    int f##step(void);
#define ALL F(0) F(16) F(32) F(48) F(64) F(80) F(96) F(112) F(128) F(144) F(160) F(176) F(192) F(208) F(224) F(240)
ALL
#undef F
#define F(step) sum += f##step();
enum { STEP = 1 << 20, AWAY = 0x16000000, ABOVE = 64 << 20 };
int run(void)
{
    int sum = 0;
    const uintptr_t low = (uintptr_t)f0 / STEP * STEP - AWAY;
    for (uintptr_t at = low + AWAY + ABOVE; at >= low; at -= STEP)
        mmap((void *)at, STEP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    puts("begun");
    fflush(stdout);
    while (access("end", F_OK)) {
        sum = 0;
        ALL
        usleep(1000);
    }
    printf("%d\\n", sum);
    return sum == 1936 ? 9 : 1;
}
"""


NESTED = """
#include <stdio.h>
#include <unistd.h>
#define NI __attribute__((noinline))
NI long leaf(long n) { return n * 7 + 1; }
NI long nest(long n) { return n < 2 ? leaf(n) : nest(n - 1) + nest(n - 2); }
int main(void)
{
    long sum = 0, wrong = 0;
    puts("begun");
    fflush(stdout);
    while (access("end", F_OK)) {
        sum = nest(12);
        wrong += sum != 1241;
    }
    return wrong ? 1 : 9;
}
"""


def count_alike(pid):
    """Where bytes of the file and the first of a jump behind them look like a jump into the agent."""
    agent = [tuple(int(part, 16) for part in line[0].split("-")) for line in mappings(pid)
             if "libsprof-probe" in line[-1] and "x" in line[1]]
    count = 0
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in mappings(pid):
            if "libalike" not in line[-1] or "x" not in line[1]:
                continue
            start, end = (int(part, 16) for part in line[0].split("-"))
            memory.seek(start)
            code = memory.read(end - start)
            for at in (match.start() for match in re.finditer(rb"\xcc\xe9\0\0.\xe9", code, re.DOTALL)):
                target = start + at + 6 + int.from_bytes(code[at + 2:at + 6], "little", signed=True)
                count += any(low <= target < high for low, high in agent)
    return count


def kill_tracers(rounds, count):
    """The sum of what is counted in the processes of the program, each time before its tracer is killed."""
    counted = 0
    for _ in range(rounds):
        process = targets.begin(["./alike"], stdout=open("out", "w"))
        wait_for(lambda: process.poll() is not None or "begun" in open("out").read(), "it to begin")
        tracer = targets.trace(subprocess.DEVNULL, "-p", str(process.pid), "--module", "*alike*")
        wait_for(lambda: ctl("-p", str(process.pid), "status").returncode == 0, "the trace", tracer)
        counted += count(process.pid)
        keeper = keeper_of(tracer.pid)
        tracer.kill()
        status_of(tracer)
        wait_for(lambda: has_ended(keeper), "the keeper's end")
        check_text(process.pid)
        open("end", "w").close()
        status = status_of(process)
        os.unlink("end")
        if status != 9:
            fail(f"the program ended with {status}")
    return counted


def count_low(pid):
    """How many mappings of moved instructions have addresses that begin with the first byte of a jump."""
    return sum("x" in line[1] and len(line) < 6 and int(line[0].split("-")[0], 16) >> 16 == 0xe9 for line in mappings(pid))


def thunks(rounds):
    subprocess.run(["gcc", "-O1", "-w", "-no-pie", "-Wl,-Ttext-segment=0xe98000", "-x", "c", "-", "-o", "alike"],
                   check=True, text=True, input=NESTED)
    if kill_tracers(rounds, count_low) != rounds:
        fail("the moved instructions do not lie where they should")


def kill(rounds):
    with open("alike.c", "w") as file:
        file.write(ALIKE)
    subprocess.run(["gcc", "-O1", "-g", "-w", "-shared", "-fPIC", "-Wl,-Bsymbolic", "alike.c", "-o", "libalike.so"], check=True)
    subprocess.run(["gcc", "-x", "c", "-", "-L.", "-lalike", "-Wl,-rpath,$ORIGIN", "-o", "alike"], check=True, text=True,
                   input="int run(void); int main(void) { return run(); }")
    alike = kill_tracers(rounds, count_alike)
    if not alike:
        fail("nothing looked like a jump into the agent")
    print(f"{alike} places looked like jumps into the agent")


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    {"kill": kill, "thunks": thunks}[targets.case](targets.rounds(5))
