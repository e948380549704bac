"""Programs that probes are put into and taken out of while they run, and what must be true of them then."""
import atexit
import os
import random
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 200  # seconds, for what takes one or two
NO_PROGRAM = 77  # as ctest knows that a test was skipped

case, sprof = sys.argv[1], os.path.abspath(sys.argv[2])
# The same each time, so that a repeat meets what failed: SPROF_TEST_SEED=random, or a number, chooses others.
FIXED = 20230731
wanted = sys.argv[3] if len(sys.argv) > 3 else os.environ.get("SPROF_TEST_SEED") or FIXED
seed = random.randrange(1 << 30) if wanted == "random" else int(wanted)
print(f"seed {seed}", flush=True)
rng = random.Random(seed)


def rounds(usual):
    return int(sys.argv[4]) if len(sys.argv) > 4 else usual


started = []  # processes that must not outlive a test that fails


@atexit.register
def kill_started():
    """Whoever waits for the end of the test's output waits for them, too."""
    for process in started:
        process.kill()


def fail(text):
    kill_started()
    for name in ("err", "out"):
        if os.path.exists(name):
            print(f"--- {name}\n" + open(name, errors="replace").read()[-2000:])
    sys.exit(f"FAILED: seed {seed}: {text}")


def wait_for(condition, what, tracer=None, seen=lambda: ""):
    """A tracer that ends before has failed. `seen`: what is said where it fails."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ended = tracer and tracer.poll() is not None
        value = condition()
        if value:
            return value
        if ended:
            fail(f"the tracer ended with {tracer.returncode} before {what}: {seen()}")
        time.sleep(0.005)
    fail(f"waited in vain for {what}: {seen()}")


def used_by(process):
    """Ticks of the processor's time."""
    try:
        with open(f"/proc/{process.pid}/stat") as file:
            return sum(int(field) for field in file.read().rpartition(")")[2].split()[11:13])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def status_of(process):
    """One that works on, where many others do, has more time."""
    for _ in range(5):
        used = used_by(process)
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            if used_by(process) < used + 100:
                break
    fail(f"{process.args[0]} does not end")


def begin(command, **files):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **files)
    started.append(process)
    return process


LINK = os.environ.get("LINK", "").split()  # how programs of our own are linked: -static, say


def trace(out, *arguments):
    for name in os.listdir("."):
        if name.startswith("t.db"):
            os.unlink(name)
    return begin([sprof, "trace", "-o", "t.db", *arguments], stdout=out, stderr=open("err", "w"))


def ctl(*words, program=sprof, **user):
    """`user`: whose trace it is, with a sprof of that user's: root finds no traces of others by -p."""
    return subprocess.run([program, "ctl", *words], capture_output=True, text=True, **user)


def wait_for_trace(tracer, *words, **user):
    """Until the trace answers. What it says last stands beside a failure."""
    last = []

    def answers():
        answer = ctl(*words, "status", **user)
        last[:] = [answer.stderr]
        if "is not a recorder of yours" in answer.stderr:
            fail(f"sprof ctl is refused: {answer.stderr}")
        return answer.returncode == 0

    wait_for(answers, "the trace", tracer, lambda: last[0] if last else "")


# == Other users ==

os.umask(0o022)  # they run what is compiled here


def install(place):
    """Copies sprof with what it loads into programs, for all to read. Returns its path there."""
    shutil.copytree(f"{os.path.dirname(sprof)}/libexec", f"{place}/libexec")
    shutil.copy(sprof, place)
    subprocess.run(["chmod", "-R", "a+rX", place], check=True)
    return os.path.abspath(f"{place}/sprof")


def ordinary_user():
    """The options of subprocess for a user who is not root, and a sprof that it may run: the one under test may lie where
    only root gets. The working directory is open to all from then on."""
    if os.geteuid():
        return {}, sprof
    user = {"user": 65534, "group": 65534, "extra_groups": []}
    os.chmod(".", 0o777)
    own = install("installed")
    if subprocess.run(["test", "-x", own], **user).returncode:
        print(f"SKIPPED: no other user may enter {os.getcwd()}: set TMPDIR to where all may")
        sys.exit(NO_PROGRAM)
    return user, own


# == Processes ==


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def keeper_of(tracer):
    """It is made first."""
    return (children_of(tracer) or [0])[0]


def command_of(tracer):
    return (children_of(tracer) + [0, 0])[1]


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def mappings(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return [line.split(None, 5) for line in maps.read().splitlines()]


def files_of(pid):
    """What is mapped of files, and what can be executed."""
    return sorted((line[0], line[1], line[2], *line[5:]) for line in mappings(pid)
                  if (len(line) > 5 and line[5].startswith("/")) or "x" in line[1])


def file_of(pid, addresses, path):
    """The mapped file itself, removed or elsewhere as it may be, where that may be opened."""
    link = f"/proc/{pid}/map_files/{addresses}"
    return link if os.path.exists(link) else path


def check_text(pid, compiles=False, shares=True):
    """Code is as in the files, and shared with them; there is nothing else that can be executed but what a program that
    `compiles` has made itself, and nothing that was mapped for probes. The agent stays in a program that was launched
    with it. Not `shares`: pages may be its own."""
    compared = 0
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in mappings(pid):
            path = line[5].strip() if len(line) > 5 else ""
            start, end = (int(part, 16) for part in line[0].split("-"))
            if 0x440000000000 <= start < 0x540000000000 and end - start > 1 << 40:
                fail(f"the records are still mapped: {line}")
            if "sprof-probe" in path and "memfd" in path:
                fail(f"shared memory is still mapped: {line}")
            if "x" not in line[1] or path.startswith("[") or "libsprof-probe" in path:
                continue
            if not path and compiles:
                continue
            if not path.startswith("/"):
                fail(f"code that nobody's file holds: {line}")
            memory.seek(start)
            with open(file_of(pid, line[0], path), "rb") as file:
                file.seek(int(line[2], 16))
                there, wanted = memory.read(end - start), file.read(end - start).ljust(end - start, b"\0")
            if has_ended(pid) or not there:  # its memory goes before it is seen to have ended
                raise ProcessLookupError
            if there != wanted:
                fail(f"{path} differs, first at {next((hex(i) for i, (a, b) in enumerate(zip(there, wanted)) if a != b), len(there))}")
            compared += end - start
    with open(f"/proc/{pid}/smaps") as smaps:
        path = ""
        for line in smaps:
            if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
                fields = line.split(None, 5)
                path = fields[5].strip() if len(fields) > 5 and "x" in fields[1] else ""
            elif line.startswith("Anonymous:") and path.startswith("/") and "libsprof-probe" not in path:
                if shares and line.split()[1] != "0":
                    fail(f"{path}: {line.split()[1]} KiB are the process's own")
    return compared


# == Programs ==


def own_program(count, *rest):
    if not os.path.exists("program"):
        subprocess.run(["g++", "-O1", "-g", "-w", "-pthread", *LINK, f"{HERE}/detach.cc", "-o", "program"], check=True)
    return ["./program", str(count), *rest]


def real_program(name, size):
    """One of the system's, with work that takes about `size` tenths of a second."""
    program = shutil.which({"python": "python3", "sqlite": "sqlite3"}.get(name, name), path="/usr/bin:/bin")
    if not program:
        print(f"SKIPPED: no {name}")
        sys.exit(NO_PROGRAM)
    if name == "python":
        return [program, "-c", f"""
import json, threading
def work():
    for i in range({100 * size}): json.loads(json.dumps({{str(k): [k] * 5 for k in range(200)}}))
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print("done"); raise SystemExit(9)"""]
    if name == "sqlite":
        return [program, ":memory:", f"""WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL
            SELECT x + 1 FROM c WHERE x < {200000 * size}) SELECT count(*), sum(x), max(x % 7) FROM c;"""]
    if name == "xz":
        with open("input", "wb") as file:
            file.write(rng.randbytes(size << 19) + bytes(1 << 20) + open(sprof, "rb").read(size << 20))
        return [program, "-T2", "-3", "-k", "-f", "input"]
    return [program, "-c", f"for i in {{1..{150 * size}}}; do x=$(echo $i); done; echo $x; (exit 3); echo $?; exit 4"]
