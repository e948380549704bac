#!/usr/bin/env python3
"""Takes probes out of programs while they run, at random moments.

detach.py text|kill|own|throws|python|sqlite|xz|bash SPROF [SEED [ROUNDS]]

A program prints and ends as it does untraced. `text`: afterwards its code is that of its files, no page
of it is the process's own, and nothing that was mapped for probes is left. `kill`: sprof is killed
while it takes them out."""
import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

case, sprof = sys.argv[1:3]
seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
rng = random.Random(seed)
here = os.path.dirname(os.path.abspath(__file__))
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 6
PATIENCE = 200  # seconds, for what takes one or two
PR_SET_CHILD_SUBREAPER = 36


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


def child_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return next((int(child) for child in file.read().split()), 0)
    except FileNotFoundError:
        return 0


def ctl(word):
    return subprocess.run([sprof, "ctl", "-i", "t.db", word], capture_output=True, text=True)


def launch(command, options=("--module", "*")):
    for name in os.listdir("."):
        if name.startswith("t.db"):
            os.unlink(name)
    tracer = subprocess.Popen([sprof, "trace", "-o", "t.db", *options, "--", *command], stdout=open("out", "w"),
                              stderr=open("err", "w"), stdin=subprocess.DEVNULL)
    # It runs, or has ended, once it has been asked.
    wait_for(lambda: tracer.poll() is not None or ctl("status").returncode == 0, "the control socket")
    return tracer


def status_of(tracer):
    return wait_for(lambda: (tracer.poll() is not None and [tracer.poll()]) or None, "the end of the command")[0]


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


def own_program(rounds, *rest):
    subprocess.run(["g++", "-O1", "-g", "-w", "-pthread", f"{here}/detach.cc", "-o", "program"], check=True)
    return ["./program", str(rounds), *rest]


def mappings(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return [line.split(None, 5) for line in maps.read().splitlines()]


def check_text(pid):
    """Code is as in the files, and shared with them; there is nothing else that can be executed."""
    compared = 0
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in mappings(pid):
            path = line[5] if len(line) > 5 else ""
            start, end = (int(part, 16) for part in line[0].split("-"))
            if 0x570000000000 <= start < 0x770000000000 and end - start > 1 << 40:
                fail(f"the records are still mapped: {line}")
            if "sprof-probe" in path and "memfd" in path:
                fail(f"shared memory is still mapped: {line}")
            if "x" not in line[1] or path.startswith("[") or "libsprof-probe" in path:
                continue
            if not path.startswith("/"):
                fail(f"code that nobody's file holds: {line}")
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
            elif line.startswith("Anonymous:") and path.startswith("/") and "libsprof-probe" not in path:
                if line.split()[1] != "0":
                    fail(f"{path}: {line.split()[1]} KiB are the process's own")
    return compared


def text():
    command = own_program(40, "end")
    want = subprocess.run(own_program(40), capture_output=True, text=True)
    for i in range(ROUNDS):
        tracer = launch(command)
        time.sleep(rng.random())
        answer = ctl("detach")
        if answer.returncode:
            fail(f"detach: {answer.stderr}")
        target = wait_for(lambda: child_of(tracer.pid), "the command")
        if "stays" not in open("err").read():
            print(f"{check_text(target)} bytes of code compared;{answer.stdout.split(';')[1].rstrip()}")
        # A second trace is another matter: there is nothing to control any more.
        if ctl("status").returncode != 1:
            fail("the trace goes on")
        open("end", "w").close()
        if status_of(tracer) != want.returncode or open("out").read() != want.stdout:
            fail("it does something else")
        os.unlink("end")


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
                for (int i = 0; i < 12000; i++)
                    try { deep(60); } catch (int) { ++*(long *)caught; }
                return nullptr;
            }
            int main()
            {
                pthread_t threads[3];
                long caught[3] = {};
                for (int i = 0; i < 3; i++) pthread_create(&threads[i], nullptr, work, &caught[i]);
                for (auto thread : threads) pthread_join(thread, nullptr);
                return caught[0] + caught[1] + caught[2] == 36000 ? 6 : 1;
            }""")
    subprocess.run(["g++", "-O1", "-g", "-w", "-pthread", "throws.cc", "-o", "throws"], check=True)
    detach_while_running(["./throws"])


def kill():
    """Kills sprof while it takes probes out, and the command in every fourth round."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    command = own_program(300)
    want = subprocess.run(command, capture_output=True, text=True)
    for i in range(3 * ROUNDS):
        tracer = launch(command)
        target = child_of(tracer.pid)
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
    elif case == "throws":
        throws()
    elif case == "own":
        detach_while_running(own_program(800))
    elif case == "python":
        detach_while_running([program, "-c", """
import json, threading
def work():
    for i in range(200): json.loads(json.dumps({str(k): [k] * 5 for k in range(200)}))
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print("done"); raise SystemExit(9)"""])
    elif case == "sqlite":
        detach_while_running([program, ":memory:", """WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL
            SELECT x + 1 FROM c WHERE x < 400000) SELECT count(*), sum(x), max(x % 7) FROM c;"""])
    elif case == "xz":
        with open("input", "wb") as file:
            file.write(rng.randbytes(1 << 20) + bytes(1 << 20) + open(sprof, "rb").read(2 << 20))
        detach_while_running([program, "-T2", "-3", "-k", "-f", "input"])
    elif case == "bash":
        detach_while_running([program, "-c", "for i in {1..400}; do x=$(echo $i); done; echo $x; (exit 3); echo $?; exit 4"])
