#!/usr/bin/env python3
"""Switches probes on and off for as long as wanted, in programs of many kinds that work all the time.

soak.py MINUTES SPROF [SEED]

Each round begins a program, attaches to it at a random moment with all its functions and those of its libraries, sends a
random request of `sprof ctl` every 5 ms or so, and detaches, kills sprof, or lets the program end. It must print and end
as untraced; where probes were taken out its code is that of its files, and its mappings are those that it had. Several at
the same time, with their own seeds, make load. With LINK=-static in the environment programs of our own are linked so. Says what it did each minute, and stops at the first thing that is wrong.
    for i in 1 2; do tests/trace/soak.py 600 build/release/sprof & done; wait"""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import targets
from targets import check_text, ctl, fail, files_of, has_ended, keeper_of, own_program, rng, status_of, wait_for

END = time.monotonic() + 60 * float(targets.case)
BETWEEN = 0.005
# What sprof may say instead of tracing: the program came to its end first, or stood nowhere where it can be borrowed.
NOT_TRACED = "gone|ended|does not exist|executed|could be borrowed|zombie|no thread left"
REQUESTS = (["off"], ["on"], ["on"], ["off"], ["on", "20ms"], ["clear"], ["mark", "here"], ["mode", "coverage"], ["mode", "stats"], ["mode", "log"],
            ["probe", "-^[a-m]"], ["probe", "+^[a-m]"], ["probe", "-#1"], ["probe", "+#1"], ["probe", "-.*"], ["probe", "+.*"], ["status"], ["list"], ["stats"])
WAYS = ([], [], ["--paths"], ["--callers"], ["--mode", "log"], ["--mode", "coverage"], ["--warn-over", "1ms"], ["--watchdog", "5ms"], ["--stack-check", "90"],
        ["--max-overhead", "5%"], ["--rest", "10ms"], ["--rest", "off"], ["--paused"], ["--memory", "64M"])

C_SOURCE = "#include <stdio.h>\n" + "".join(f"int f{i}(int a) {{ for (int k = 0; k < a; k++) a ^= k * {i}; return a + {i}; }}\n" for i in range(4000))
PROGRAMS = {
    "perl": ["-e", "my %h; for my $i (1 .. 1500000) { $h{$i % 5000} .= chr(65 + $i % 26); } my $s = join '', map { length $h{$_} } sort keys %h; print length($s), qq(\\n); exit 5"],
    "node": ["-e", "let m = new Map(), s = 0; for (let i = 0; i < 3e6; i++) { m.set(i % 9999, 'x' + i); s += m.get((i * 7) % 9999)?.length ?? 0 } console.log(s); process.exit(6)"],
    "awk": ["BEGIN { for (i = 0; i < 3000000; i++) { a[i % 1000] += i; s = substr(\"abcdefgh\" i, 3, 4) } for (k in a) t += a[k]; print t, s; exit 7 }"],
    "openssl": ["dgst", "-sha3-256", "input"],
    "sha512sum": ["input"],
    "gzip": ["-9", "-k", "-c", "input"],
    "bzip2": ["-9", "-k", "-c", "input"],
    "zstd": ["-15", "-T2", "-q", "-c", "input"],
    "sort": ["--parallel=4", "-S", "4M", "words"],
    "git": ["-c", "pack.threads=2", "--no-optional-locks", "--git-dir=repository", "rev-list", "--objects", "--all", "--disk-usage"],
    "cc1": ["-quiet", "-O2", "-w", "source.c", "-o", "-"],
    "sed": ["-n", "s/\\([a-f]*\\)x\\([0-9]*\\)/\\2\\1/p", "words"],
    "grep": ["-c", "-E", "(a|b)+c?[0-9]*(x|y)$", "words"],
    "ocaml": ["work.ml"],
    "gdb": ["--batch", "-ex", "python print(sum(k * k for k in range(6000000)))"],
}


def make_files():
    with open("input", "wb") as file:
        file.write(rng.randbytes(4 << 20) + open(targets.sprof, "rb").read(20 << 20))
    with open("words", "w") as file:
        file.writelines(f"{rng.randrange(1 << 40):x}x{rng.randrange(1000)}\n" for _ in range(400000))
    with open("source.c", "w") as file:
        file.write(C_SOURCE)
    with open("work.ml", "w") as file:
        file.write("let () = let t = Hashtbl.create 9 in for i = 1 to 2000000 do Hashtbl.replace t (i mod 7777) (string_of_int i) done;\n"
                   "print_int (Hashtbl.fold (fun _ s n -> n + String.length s) t 0); print_newline (); exit 8")
    if shutil.which("git"):
        subprocess.run("git init -q there && cd there && for i in $(seq 40); do cp ../words .; echo $i >>words; git add -A; "
                       "git -c user.name=a -c user.email=a commit -qm $i; done; mv .git ../repository", shell=True, check=True)


def compiler():
    """Itself: gcc only starts it."""
    return subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()


def random_program(language):
    driver = "gcc" if language == "c" else "g++"
    name, number = f"random.{len(language)}", rng.randrange(1 << 30)
    text = subprocess.run([f"{targets.HERE}/generate.py", language, str(number)], capture_output=True, text=True, check=True).stdout
    subprocess.run([driver, rng.choice(["-O0", "-O1", "-O2", "-O3"]), "-w", "-pthread", *targets.LINK, "-x", language, "-", "-o", name], input=text, text=True, check=True)
    return ["/bin/sh", "-c", f"exec ./{name} counted"]


def kinds():
    made = {"own": lambda: own_program(rng.choice([200, 600, 1500])), "random c": lambda: random_program("c"), "random c++": lambda: random_program("c++")}
    if targets.LINK:  # the system's programs are linked as they are
        return made
    for name in "python", "sqlite", "xz", "bash":
        if shutil.which({"python": "python3", "sqlite": "sqlite3"}.get(name, name)):
            made[name] = lambda name=name: targets.real_program(name, 12)
    for name, words in PROGRAMS.items():
        program = compiler() if name == "cc1" else shutil.which(name, path="/usr/bin:/bin")
        if program:
            made[name] = lambda program=program, words=words: [program, *words]
    return made


def run_alone(command):
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, time.monotonic() - begun


def sum_up(rounds, requests, by_kind):
    print(f"{rounds} rounds, {requests} requests; " + ", ".join(f"{name} {count}" for name, count in sorted(by_kind.items())), flush=True)


def is_over(process, tracer):
    return process.poll() is not None or tracer.poll() is not None


def attach(process):
    """None: it was not traced."""
    tracer = targets.trace(subprocess.DEVNULL, "-p", str(process.pid), "--module", "*", *rng.choice(WAYS))
    wait_for(lambda: is_over(process, tracer) or ctl("-p", str(process.pid), "status").returncode == 0, "the trace")
    if tracer.poll() and process.poll() is None and not re.search(NOT_TRACED, open("err").read()):
        fail(f"sprof ended with {tracer.returncode}")
    return tracer


def switch(process, tracer, until):
    requests = 0
    while time.monotonic() < until and not is_over(process, tracer):
        words = rng.choice(REQUESTS)
        answer = ctl("-p", str(process.pid), *words)
        if answer.returncode < 0 or answer.returncode > 2:
            fail(f"ctl {words} ended with {answer.returncode}: {answer.stderr}")
        requests += 1
        time.sleep(BETWEEN * rng.random())
    return requests


def leave(process, tracer, before):
    """By one of the ways in which a trace ends while its program goes on, which is returned."""
    way = rng.choice(["detach", "detach", "end", "interrupt", "kill"])
    compiles = os.path.basename(process.args[0]) == "node"
    keeper = keeper_of(tracer.pid)
    if way in ("detach", "end"):
        ctl("-p", str(process.pid), way)
    elif way == "interrupt":
        tracer.send_signal(signal.SIGINT)
    else:
        tracer.kill()
    status_of(tracer)
    if way == "kill" and keeper:
        wait_for(lambda: has_ended(keeper), "the keeper's end")
    if process.poll() is not None:
        return way
    try:
        check_text(process.pid, compiles)
        after = files_of(process.pid)
    except (FileNotFoundError, ProcessLookupError, OSError):
        return way  # it ended meanwhile
    if way != "kill" and "stays" in open("err").read():
        return way
    ours = [line for line in set(after) - set(before) if "sprof" in line[-1] or "x" in line[1] and line[-1][0] not in "/[" and not compiles]
    if ours and process.poll() is None:
        fail(f"{way}: mappings were left: {ours}")
    return way


def one_round(command, want):
    status, out, seconds = want
    process = targets.begin(command, stdout=open("out", "wb"), stderr=subprocess.DEVNULL)
    time.sleep(rng.random() * seconds * 0.3)
    requests, way = 0, None
    if process.poll() is None:
        try:
            before = files_of(process.pid)
        except (FileNotFoundError, ProcessLookupError):
            before = []
        tracer = attach(process)
        requests = switch(process, tracer, time.monotonic() + rng.random() * max(1.0, seconds))
        if tracer.poll() is None and process.poll() is None and rng.random() < 0.8:
            way = leave(process, tracer, before)
        ended = status_of(process)
        status_of(tracer)
    ended, printed = status_of(process), open("out", "rb").read()
    if way == "kill" and "program" in command[0]:  # its last line counts waits that ended by a stop in which sprof was killed
        printed, out = (text.split(b"\n")[:-2] for text in (printed, out))
    if (ended, printed) != (status, out):
        fail(f"{command[0]} ended with {ended}, untraced {status}, after {way}; output {'as' if printed == out else 'not as'} untraced")
    targets.started.clear()
    return requests


def main():
    make_files()
    made = kinds()
    rounds = requests = 0
    by_kind = dict.fromkeys(made, 0)
    told = time.monotonic()
    while time.monotonic() < END:
        name = rng.choice(list(made))
        command = made[name]()
        want = run_alone(command)
        for _ in range(3):
            print(f"{rounds}: {name}: {' '.join(command)[:80]}", file=open("log", "a"))
            requests += one_round(command, want)
            rounds += 1
            by_kind[name] += 1
            if time.monotonic() > END:
                break
        if time.monotonic() > told + 60:
            sum_up(rounds, requests, by_kind)
            told = time.monotonic()
    sum_up(rounds, requests, by_kind)


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    main()
