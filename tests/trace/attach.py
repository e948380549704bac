#!/usr/bin/env python3
"""Traces programs that run already: attaches at random moments, detaches, attaches again.

attach.py text|own|kill|controlled|refused|python|sqlite|xz|bash SPROF [SEED [ROUNDS]]

A program prints and ends as it does untraced. `text`: afterwards its code is that of its files, and it
has the mappings that it had but for those of malloc and of its threads. `kill`: sprof is killed at any
moment."""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

case, sprof = sys.argv[1], os.path.abspath(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
rng = random.Random(seed)
here = os.path.dirname(os.path.abspath(__file__))
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 5
PATIENCE = 200  # seconds, for what takes one or two


def fail(text):
    for name in ("err", "out"):
        if os.path.exists(name):
            print(f"--- {name}\n" + open(name, errors="replace").read()[-2000:])
    sys.exit(f"FAILED: seed {seed}: {text}")


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    fail(f"waited in vain for {what}")


def status_of(process):
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        fail(f"{process.args[0]} does not end")


def begin(command, **more):
    return subprocess.Popen(command, stdout=open("out", "w"), stdin=subprocess.DEVNULL, **more)


def trace(pid, *options):
    for name in os.listdir("."):
        if name.startswith("t.db"):
            os.unlink(name)
    return subprocess.Popen([sprof, "trace", "-p", str(pid), "-o", "t.db", *options], stderr=open("err", "w"),
                            stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def ctl(pid, *words):
    return subprocess.run([sprof, "ctl", "-p", str(pid), *words], capture_output=True, text=True)


def own_program(rounds, *rest):
    if not os.path.exists("program"):
        subprocess.run(["g++", "-O1", "-g", "-w", "-pthread", f"{here}/detach.cc", "-o", "program"], check=True)
    return ["./program", str(rounds), *rest]


def mappings(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return [line.split(None, 5) for line in maps.read().splitlines()]


def begin_own(command):
    """Goes on when the program's threads are there, and so all its files."""
    process = begin(command)
    wait_for(lambda: process.poll() is not None or len(os.listdir(f"/proc/{process.pid}/task")) > 1, "its threads")
    return process


def files_of(pid):
    """What is mapped of files, and what can be executed."""
    return sorted((line[0], line[1], line[2], *line[5:]) for line in mappings(pid)
                  if (len(line) > 5 and line[5].startswith("/")) or "x" in line[1])


def check_text(pid):
    compared = 0
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in mappings(pid):
            path = line[5].strip() if len(line) > 5 else ""
            if "x" not in line[1] or not path.startswith("/"):
                continue
            start, end = (int(part, 16) for part in line[0].split("-"))
            memory.seek(start)
            with open(path, "rb") as file:
                file.seek(int(line[2], 16))
                if memory.read(end - start) != file.read(end - start).ljust(end - start, b"\0"):
                    fail(f"{path} differs")
            compared += end - start
    with open(f"/proc/{pid}/smaps") as smaps:
        path = ""
        for line in smaps:
            if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
                fields = line.split(None, 5)
                path = fields[5].strip() if len(fields) > 5 and "x" in fields[1] else ""
            elif line.startswith("Anonymous:") and path.startswith("/") and line.split()[1] != "0":
                fail(f"{path}: {line.split()[1]} KiB are the process's own")
    return compared


def check_same(process, want):
    """`want`: of the program, untraced."""
    status = status_of(process)
    out = open("out").read()
    if (status, out) != (want.returncode, want.stdout):
        fail(f"ended with {status}, untraced {want.returncode}; output {'as' if out == want.stdout else 'not as'} untraced")


def text():
    command = own_program(40, "end")
    want = subprocess.run(own_program(40), capture_output=True, text=True)
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
        open("end", "w").close()
        check_same(process, want)
        os.unlink("end")


def kill():
    """Kills sprof at any moment; what is left of it is taken out in every second round."""
    command = own_program(6000)
    want = subprocess.run(command, capture_output=True, text=True)
    process = begin_own(command)
    begun = time.monotonic()
    status_of(trace(process.pid, "--module", "*", "--duration", "1ms"))
    attaching = time.monotonic() - begun
    status_of(process)
    left = 0
    for i in range(4 * ROUNDS):
        process = begin_own(command)
        time.sleep(rng.random() * 0.05)
        tracer = trace(process.pid, "--module", "*", "--duration", "50ms")
        time.sleep(rng.random() * attaching * 1.5)
        tracer.kill()
        status_of(tracer)
        if i % 2 and process.poll() is None:
            answer = ctl(process.pid, "detach")
            left += answer.returncode == 0
        status = status_of(process)
        # Waits that end by a stop are made again by sprof alone: the last line counts them.
        if status != want.returncode or open("out").read().split("\n")[:-2] != want.stdout.split("\n")[:-2]:
            fail(f"the program ended with {status}")
    print(f"{4 * ROUNDS} of {4 * ROUNDS} lived, {left} times probes were taken out afterwards")


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

    says(ctl(process.pid, "status"), 1, "is not being traced")
    for how in ("end", "detach", "kill"):
        tracer = trace(process.pid, "--module", "*")
        wait_for(lambda: ctl(process.pid, "status").returncode == 0, "the trace")
        says(second(), 1, "is being traced already, into .*/t.db by process [0-9]+\n.*sprof ctl -p [0-9]+ probe")
        says(ctl(process.pid, "probe", "-leaf"), 0, "probes are on")
        says(ctl(process.pid, "list"), 0, "-leaf")
        if how == "kill":
            tracer.kill()
            status_of(tracer)
            says(second(), 1, "a trace that was killed\n.*detach. takes them out")
            says(ctl(process.pid, "stats"), 1, "was killed\n.*detach. takes the probes out")
            says(ctl(process.pid, "detach"), 0, "the probes are out")
        else:
            says(ctl(process.pid, how), 0, "")
            if status_of(tracer):
                fail("the trace failed")
        if files_of(process.pid) != before:
            fail(f"{how}: mappings differ: {sorted(set(files_of(process.pid)) ^ set(before))}")
        print(how, check_text(process.pid), "bytes of code compared")
    open("end", "w").close()
    check_same(process, want)


def refused():
    """Says why, and leaves the process as it is."""
    with open("plain.c", "w") as file:
        file.write("#include <unistd.h>\nint main(void) { for (;;) pause(); }")

    def says(pid, text, *options):
        answer = subprocess.run([sprof, "trace", "-p", str(pid), "-o", "u.db", *options], capture_output=True, text=True)
        if answer.returncode not in (1, 2) or not re.search(text, answer.stderr) or os.path.exists("u.db"):
            fail(f"{answer.returncode}: {answer.stderr}")

    def running(*flags):
        subprocess.run(["gcc", *flags, "plain.c", "-o", "plain"], check=True)
        return subprocess.Popen(["./plain"])

    process = running("-static")
    says(process.pid, "is linked statically")
    process.kill()
    process.wait()
    process = running("-fsanitize=address")
    says(process.pid, "sanitizer")
    process.kill()
    process.wait()
    process = running()
    says(process.pid, "finds none of", "--function", "no_such_function")
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
    process.kill()
    wait_for(lambda: " Z " in open(f"/proc/{process.pid}/stat").read(), "its end")
    says(process.pid, "has ended|zombie")
    process.wait()
    says(process.pid, "does not exist")
    says(f"{os.getpid()},1", "one process")
    says(os.getpid(), "either a command or -p", "--", "true")


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


if case in ("python", "sqlite", "xz", "bash"):
    program = shutil.which({"python": "python3", "sqlite": "sqlite3"}.get(case, case), path="/usr/bin:/bin")
    if not program:
        print(f"SKIPPED: no {case}")
        sys.exit(77)
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    if case == "text":
        text()
    elif case == "kill":
        kill()
    elif case == "controlled":
        controlled()
    elif case == "refused":
        refused()
    elif case == "own":
        attach_while_running(own_program(400))
    elif case == "python":
        attach_while_running([program, "-c", """
import json, threading
def work():
    for i in range(400): json.loads(json.dumps({str(k): [k] * 5 for k in range(200)}))
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print("done"); raise SystemExit(9)"""])
    elif case == "sqlite":
        attach_while_running([program, ":memory:", """WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL
            SELECT x + 1 FROM c WHERE x < 1200000) SELECT count(*), sum(x), max(x % 7) FROM c;"""])
    elif case == "xz":
        with open("input", "wb") as file:
            file.write(rng.randbytes(3 << 20) + bytes(1 << 20) + open(sprof, "rb").read(4 << 20))
        attach_while_running([program, "-T2", "-6", "-k", "-f", "input"])
    elif case == "bash":
        attach_while_running([program, "-c", "for i in {1..600}; do x=$(echo $i); done; echo $x; (exit 3); echo $?; exit 4"])
