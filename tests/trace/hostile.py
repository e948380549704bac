#!/usr/bin/env python3
"""A program writes whatever comes into the memory that it shares with sprof: its own figures mean nothing then, and nobody else
is harmed. sprof ends in time and needs no more memory than it does, and leaves the program as it found it.

hostile.py launched|attached|kill|another|fresh|back SPROF [SEED [ROUNDS]]

`launched`: in each mode, to the end. `attached`: the probes are taken out meanwhile. `kill`: sprof is killed, and its keeper takes
them out by what stands in that memory. `another`: the program names a process that is not traced as one of its own. `fresh`: its
threads begin when what places of figures follow from is written over, and go on. `back`: counts go back."""
import os
import re
import subprocess
import tempfile
import time

import targets
from targets import HERE, case, ctl, fail, has_ended, keeper_of, rng, seed, sprof, wait_for

ROUNDS = targets.rounds(1 if case == "back" else 2)
MOST_KIB, MOST_SECONDS = 1 << 20, 60  # an hour's trace needs a tenth; a round takes two seconds, ten with the address sanitizer
OPTIONS = {
    "stats": [],
    "callers": ["--callers"],
    "paths": ["--paths"],
    "log": ["--mode", "log"],
    "coverage": ["--mode", "coverage"],
    "warnings": ["--warn-over", "1us", "--watchdog", "50ms", "--stack-check", "10%", "--heap-check", "^work$"],
    "memory": ["--memory", "1M"],
    "governed": ["--max-overhead", "2%"],
    "resting": ["--rest", "50ms", "--max-overhead", "1%"],
}
CHOSEN = ["--function", "^(work|leaf|again|stays)$"]


def compile_program(*flags):
    subprocess.run(["gcc", "-D_GNU_SOURCE", f'-DSPROF_ARCH_HEADER="arch/{os.uname().machine}/machine.h"', "-O1", "-g", "-w", "-pthread", f"-I{HERE}/../..", f"{HERE}/hostile.c", *flags, "-o", "hostile"], check=True)


def program():
    for name in ("go", "end"):
        if os.path.exists(name):
            os.unlink(name)
    return ["./hostile", str(rng.randrange(1 << 30)), str(rng.randrange(300, 900))]


def back():
    fresh([("log", "back")])


def fresh(kinds=[(mode, "fresh") for mode in ("stats", "callers", "paths", "log", "coverage", "memory")]):
    for mode, kind in kinds:
        program()
        tracer = targets.trace(open("out", "w"), *CHOSEN, *OPTIONS[mode], "--", "./hostile", kind, "-")
        wait_for(says("begun"), "the program", tracer)
        touch("go")
        wait_for(says("written"), f"its threads' calls: {mode}", tracer)
        touch("end")
        status = end_of(tracer, mode)
        if status != 3:
            fail(f"{mode}: the command ended with {status}")
        said = open("err").read()
        if kind == "fresh" and ("figures are not reliable" not in said or re.search("threads found no room|[0-9]{5}[.][0-9]+ µs a call", said)):
            fail(f"{mode}: impossible figures are believed")
        read_back(mode)


def touch(name):
    open(name, "w").close()


def says(what):
    return lambda: what in open("out").read()


def end_of(tracer, what):
    """Its exit status, in time, and with what it may need."""
    begin = time.monotonic()
    while True:
        pid, status, usage = os.wait4(tracer.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() - begin > MOST_SECONDS:
            fail(f"{what}: sprof does not end")
        time.sleep(0.01)
    tracer.returncode = os.waitstatus_to_exitcode(status)
    if usage.ru_maxrss > MOST_KIB:
        fail(f"{what}: sprof has needed {usage.ru_maxrss} KiB")
    if "Sanitizer" in open("err", errors="replace").read() or "runtime error" in open("err", errors="replace").read():
        fail(f"{what}: see its errors")
    return tracer.returncode


# What a reader may say instead of a table.
NOTHING = re.compile("written down|no samples|no warnings|none of the|not a log|holds no|no run|mode coverage|measured without")


def read_back(what):
    for words in (["stats"], ["script", "-n", "10"], ["report"], ["stats", "--warnings"]):
        status = subprocess.run([sprof, *words, "-i", "t.db"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        is_refused = status.returncode == 1 and NOTHING.search(status.stderr)
        if status.returncode and not is_refused or "Sanitizer" in status.stderr or "runtime error" in status.stderr:
            fail(f"{what}: {words} ends with {status.returncode}: {status.stderr}")


def disturb(*options):
    """What is asked for while it goes on."""
    for _ in range(rng.randrange(5)):
        ctl(*options, *rng.choice([["stop"], ["start"], ["clear"], ["stats"], ["list"], ["probe", "-^leaf"], ["probe", "+^leaf"], ["mark", "one"],
                                   ["status"], ["mode", "log"], ["mode", "stats"]]))
        time.sleep(rng.random() * 0.1)


def launched():
    for mode, options in [*OPTIONS.items(), ("children", ["--children", "--paths"]), ("children covered", ["--children", "--mode", "coverage"])]:
        command = program()
        tracer = targets.trace(open("out", "w"), *CHOSEN, *options, "--", *command)
        wait_for(says("begun"), "the program", tracer)
        touch("go")
        disturb("-i", "t.db")
        wait_for(says("written"), f"what it writes: {mode}", tracer)
        touch("end")
        status = end_of(tracer, mode)
        if status != 3:
            fail(f"{mode}: the command ended with {status}: {command}")
        read_back(mode)


def attached():
    for mode, options in OPTIONS.items():
        command = program()
        process = targets.begin(command, stdout=open("out", "w"))
        wait_for(says("begun"), "the program")
        tracer = targets.trace(subprocess.DEVNULL, *CHOSEN, *options, "-p", str(process.pid))
        wait_for(lambda: ctl("-p", str(process.pid), "status").returncode == 0, "the trace", tracer)
        touch("go")
        if rng.random() < 0.5:
            wait_for(says("written"), "what it writes")
        else:
            time.sleep(rng.random())
        disturb("-i", "t.db")
        ctl("-i", "t.db", rng.choice(["end", "detach"]))
        status = end_of(tracer, mode)
        if status not in (0, 1):
            fail(f"{mode}: sprof ended with {status}: {command}")
        read_back(mode)
        ends_well(process, mode, command)


def ends_well(process, what, command):
    wait_for(lambda: says("written")() or has_ended(process.pid), "what it writes")
    touch("end")
    if targets.status_of(process) != 3:
        fail(f"{what}: the program ended with {process.returncode}: {command}")


def kill():
    for mode, options in OPTIONS.items():
        command = [*program(), "spares"]  # a program that changes what it is to be left by harms itself
        process = targets.begin(command, stdout=open("out", "w"))
        wait_for(says("begun"), "the program")
        tracer = targets.trace(subprocess.DEVNULL, *CHOSEN, *options, "-p", str(process.pid))
        wait_for(lambda: ctl("-p", str(process.pid), "status").returncode == 0, "the trace", tracer)
        keeper = keeper_of(tracer.pid)
        touch("go")
        wait_for(says("found"), "what it shares with sprof", tracer)
        time.sleep(rng.random())
        tracer.kill()
        tracer.wait()
        wait_for(lambda: has_ended(keeper), f"the keeper's end: {mode}")
        ctl("-p", str(process.pid), "detach")
        ends_well(process, mode, command)


def text_of(pid):
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        found = []
        for line in targets.mappings(pid):
            if "x" in line[1] and len(line) > 5 and line[5].startswith("/"):
                start, end = (int(part, 16) for part in line[0].split("-"))
                memory.seek(start)
                found.append(memory.read(end - start))
        return found


def another():
    """Its code has the same addresses, and what is done to the processes of the program is not done to it."""
    program()
    tracer = targets.trace(open("out", "w"), "--function", "^(work|leaf|again|never)$", "--children", "--mode", "coverage", "--", "sh", "-c",
                           "while [ ! -e number ]; do sleep 0.05; done; exec ./hostile pid $(cat number)")
    wait_for(lambda: ctl("-i", "t.db", "status").returncode == 0, "the trace", tracer)
    process = targets.begin(["./hostile", "by"], stdout=open("other", "w"))  # younger than sprof, as the program's are
    wait_for(lambda: "begun" in open("other").read(), "the other process")
    before = text_of(process.pid)
    with open("new", "w") as file:
        file.write(str(process.pid))
    os.rename("new", "number")
    wait_for(says("begun"), "the program", tracer)
    touch("go")
    wait_for(says("written"), "what it writes", tracer)
    time.sleep(1)  # probes leave with their first call
    for words in (["mode", "stats"], ["mode", "coverage"], ["clear"], ["mode", "stats"]):
        ctl("-i", "t.db", *words)
        time.sleep(0.2)
    if process.poll() is not None or text_of(process.pid) != before:
        fail(f"another process is changed: {process.poll()}")
    touch("end")
    if end_of(tracer, "another") != 3 or targets.status_of(process) != 3:
        fail(f"ended with {tracer.returncode} and {process.returncode}")
    for name in ("number", "go", "end"):
        os.unlink(name)


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    os.environ["XDG_CACHE_HOME"] = directory
    compile_program(*(["-no-pie"] if case == "another" else []))
    for _ in range(ROUNDS):
        {"launched": launched, "attached": attached, "kill": kill, "another": another, "fresh": fresh, "back": back}[case]()
    for process in targets.started:
        process.kill()
    print(f"{ROUNDS} rounds, seed {seed}")
    os.chdir("/")
