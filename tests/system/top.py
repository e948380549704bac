#!/usr/bin/env python3
"""What `sprof top` shows in a terminal, what its keys do, and what it leaves behind.
    top.py CASE
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from screen import LONGEST_S, Program

sprof = os.environ["SPROF"]
work = tempfile.TemporaryDirectory()
temporary = os.path.join(work.name, "temporary")
BUSY = ["sh", "-c", "while :; do :; done"]
SELF = r"^ +self +.* function"


def start(*arguments, **options):
    environment = dict(TMPDIR=temporary, NO_COLOR=None, XDG_CACHE_HOME=os.path.join(work.name, "cache"))
    environment.update(options.pop("environment", {}))
    return Program([sprof, "top", *arguments], environment=environment, **options)


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def ends(program, status, *said):
    """It ends with this status, says this, gives the screen back, and leaves no file."""
    check(program.wait() == status, f"exit status {program.status} instead of {status}:\n{program.screen.text()}")
    text = program.raw.decode().replace("\r\n", " ")
    for wanted in said:
        check(re.search(wanted, text), f"it did not say {wanted}:\n{program.screen.text()}")
    check(1049 not in program.screen.modes, "the screen is not given back")
    check(25 in program.screen.modes or b"\x1b[?25" not in program.raw, "the cursor is not given back")
    check(os.listdir(temporary) == [], f"files are left: {os.listdir(temporary)}")


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def keys():
    program = start("--", *BUSY)
    program.until(r"^sprof top · sh -c while", "the first line")
    program.until(rf"\A.*\n[\d ]+ samples · .* of CPU time (.|\n)*^Functions by self time(.|\n)*{SELF}", "functions")
    program.keys("s")
    program.until("^Functions by total time", "functions by total")
    program.keys("t")
    program.until("^Call paths", "the tree")
    program.keys("i")
    program.until("^Functions, and the ways into them", "the inverted tree")
    program.keys("T")
    program.until(r"^Threads(.|\n)*^ +100 % .* sh ", "threads")
    program.keys("\r")
    program.until(r"^sprof top · thread \d+(.|\n)*^Functions by total", "functions of a thread")
    program.keys("\x1b")
    program.until(r"^sprof top · sh(.|\n)*^Threads", "threads again")
    program.keys("m")
    program.until("^Modules by self", "modules")
    program.keys("?")
    program.until("^  z +freeze", "help")
    program.keys("\x1b")
    program.until("^Modules by self", "modules again")
    program.keys("f/\x7fnothing-of-this-name")
    program.until("^search: nothing-of-this-name$", "what is typed")
    program.keys("\r")
    program.until("`nothing-of-this-name` is in none of these rows", "that nothing was found")
    program.keys("z")
    program.until("^sprof top · frozen", "that it is frozen")
    program.keys("q")
    ends(program, 0)


def grows():
    program = start("--interval", "200ms", "--", *BUSY)
    program.until(SELF, "functions")
    second = lambda text: text.split("\n")[1]
    before = second(program.until(r"\A.*\n[\d ]+ samples", "how many samples there are"))
    program.until(lambda text: second(text) != before, "another number")
    program.keys("q")
    ends(program, 0)


def attached():
    target = subprocess.Popen(BUSY)
    try:
        program = start("-p", str(target.pid))
        program.until(rf"^sprof top · PID {target.pid}$", "the first line")
        program.until(SELF, "functions")
        program.keys("q")
        ends(program, 0)
        check(target.poll() is None, "the process goes on")
    finally:
        target.kill()
        target.wait()


def kept():
    file = os.path.join(work.name, "kept.db")
    program = start("-v", "-o", file, "--", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo these words; exit 3")
    program.until("the command has ended with status 3; q quits", "the end")
    program.keys("q")
    ends(program, 0, "these words", "the recording is .*kept.db", r"\d+ readings, median \d+\.\d+ ms of CPU")
    report = subprocess.run([sprof, "report", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    check(b"Functions by self" in report.stdout and not report.stderr, report)


def saved():
    file = os.path.join(work.name, "saved.db")
    program = start("--", *BUSY)
    program.until(SELF, "functions")
    program.keys("S" + "\x7f" * 8 + file + "\r")
    program.until("^at the end the recording will be ", "the answer")
    program.keys("q")
    ends(program, 0, "the recording is .*saved.db")
    report = subprocess.run([sprof, "report", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    check(b"Functions by self" in report.stdout and not report.stderr, report)


def code():
    program = start("--", *BUSY)
    program.until(r"^ .* (dash|bash|busybox|sh|libc\.so\.6)$", "functions of the shell")
    program.keys("a")
    program.until(lambda text: not re.search("^Functions by|^reading the code", text, re.M), "the code, or why there is none")
    program.keys("\x1b")
    program.until(SELF, "functions again")
    program.keys("q")
    ends(program, 0)


def waits():
    if os.geteuid():
        print("SKIPPED: only root measures waits")
        sys.exit(77)
    program = start("--off-cpu", "--", "sh", "-c", "while :; do sleep 0.01; done")
    program.until(SELF, "functions")
    program.keys("w")
    program.until(r"^Events(.|\n)* off-cpu:sleep$", "kinds of waits")
    program.keys("/:sleep\r\r")
    program.until(r"^sprof top · event off-cpu:sleep(.|\n)*^Call paths", "the paths of one kind")
    program.keys("\x1b")
    program.until("^Events", "kinds of waits again")
    program.keys("q")
    ends(program, 0)


def marked():
    file = os.path.join(work.name, "marked.db")
    program = start("-o", file, "--", *BUSY)
    program.until(SELF, "functions")
    program.keys("Mwarm up\r")
    program.until("^a phase begins: warm up$", "the answer")
    time.sleep(1)  # the phase has samples, also where other programs take the CPUs
    program.keys("q")
    ends(program, 0)
    report = subprocess.run([sprof, "report", "--by", "phase", file], stdout=subprocess.PIPE, check=True)
    check(b"warm up" in report.stdout, report)


def ended():
    """By a signal, by a failure of the recorder, by the terminal's end: nothing is left, not even the command."""
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        program = start("--", *BUSY)
        program.until("^sprof top", "the screen")
        program.signal(number)
        ends(program, 0)
    program = start("--", *BUSY)
    program.until("^sprof top", "the screen")
    with open(f"/proc/{program.pid}/task/{program.pid}/children") as file:
        recorder = int(file.read().split()[0])
    with open(f"/proc/{recorder}/task/{recorder}/children") as file:
        command = int(file.read().split()[0])
    os.kill(recorder, signal.SIGKILL)
    program.until("the process that records was ended", "why there are no more samples")
    os.kill(command, signal.SIGKILL)
    program.keys("q")
    ends(program, 1, "the process that records was ended")
    program = start("--", *BUSY)
    program.until("^sprof top", "the screen")
    with open(f"/proc/{program.pid}/task/{program.pid}/children") as file:
        recorder = int(file.read().split()[0])
    program.signal(signal.SIGKILL)
    end = time.monotonic() + LONGEST_S
    while lives(recorder):
        check(time.monotonic() < end, "the recorder goes on alone")
        time.sleep(0.05)
    for name in os.listdir(temporary):
        subprocess.run(["rm", "-r", os.path.join(temporary, name)], check=True)


def resized():
    program = start("--", *BUSY)
    program.until("^sprof top", "the screen")
    program.resize(10, 50)
    program.until(r"\A.{1,50}\n(.*\n){8}t tree .*…\Z", "the smaller screen")
    program.resize(6, 30)
    program.until(r"\Atoo small: 40 columns and 8 r…", "that it is too small")
    program.resize(40, 120)
    program.until(r"\A(.*\n){39}t tree .*q quit\Z", "the larger screen")
    program.keys("q")
    ends(program, 0)


def terminals():
    for kind in "xterm-256color", "screen", "tmux", "linux", "vt100":
        program = start("--", *BUSY, environment={"TERM": kind})
        program.until("^sprof top", f"the screen on {kind}")
        program.keys("?")
        program.until("^  z +freeze", f"help on {kind}")
        program.keys("q")
        check(program.wait() == 0, f"exit status {program.status} on {kind}")
        check(bool(re.search(rb"\x1b\[3[36]m", program.raw)) == (kind != "vt100"), f"colours on {kind}")
    program = start("--", *BUSY, environment={"NO_COLOR": "1"})
    program.until("^sprof top", "the screen")
    program.keys("q")
    ends(program, 0)
    check(not re.search(rb"\x1b\[(\d+;)*[34][0-7]m", program.raw), "colours in spite of NO_COLOR")
    program = start("--", *BUSY, environment={"LC_ALL": "C"})
    program.until("^sprof top - sh -c", "the first line in ASCII")
    program.keys("q")
    check(program.wait() == 0 and all(byte < 128 for byte in program.raw), "ASCII alone")


def refused():
    def says(status, words, *arguments, **options):
        program = start(*arguments, **options)
        ends(program, status, *words)
        check(b"\x1b[?1049h" not in program.raw, "the screen was not taken")

    says(2, [r"nothing to record: give a command \(`sprof top -- PROGRAM`\)"])
    says(2, ["-p and -t exclude each other"], "-p", str(os.getpid()), "-t", "1")
    says(2, ["--overwrite belongs to -o FILE"], "--overwrite", "-a")
    says(2, ["--clock wall looks at the threads of a command"], "-a", "--clock", "wall")
    says(2, ["`sprof record -o FILE …`, and `sprof report --follow FILE`"], "--", "true", environment={"TERM": "no-such-terminal"})
    says(2, ["TERM=.* is not known"], "--", "true", environment={"TERM": None})
    says(2, ["TERM=dumb. is not known, or has no screen"], "--", "true", environment={"TERM": "dumb"})
    says(1, ["the terminal has 30 columns and 10 rows: make it larger"], "--", "true", rows=10, columns=30)
    says(127, ["command not found"], "--", "no-such-command")
    says(1, ["no process 4194303|4194303"], "-p", "4194303")
    says(1, ["cannot make a directory"], "--", "true", environment={"TMPDIR": "/no/such/directory"})
    for name, streams in ("output", {"stdout": subprocess.PIPE}), ("input", {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}):
        done = subprocess.run([sprof, "top", "--", "true"], stderr=subprocess.PIPE, **streams)
        check(done.returncode == 2 and b"is no terminal, which `sprof top` needs" in done.stderr, done)


os.mkdir(temporary)
CASES = {case.__name__: case for case in (keys, grows, attached, kept, saved, code, waits, marked, ended, resized, terminals, refused)}
if len(sys.argv) == 2 and sys.argv[1] in CASES:
    if "built without ncurses" in subprocess.run([sprof, "top", "-a"], stderr=subprocess.PIPE).stderr.decode():
        print("SKIPPED: sprof was built without ncurses")
        sys.exit(77)
    CASES[sys.argv[1]]()
else:
    sys.exit(f"usage: top.py {'|'.join(CASES)}")
