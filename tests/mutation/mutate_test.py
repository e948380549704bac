#!/usr/bin/env python3
"""dev/mutate: which places it chooses. Nothing is built.
    mutate_test.py SOURCE BUILD
"""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

source, build = sys.argv[1:]
script = os.path.join(source, "dev", "mutate")
loader = importlib.machinery.SourceFileLoader("mutate", script)
sys.dont_write_bytecode = True
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)


def listed(*words):
    return subprocess.run([sys.executable, script, "--list", *words], check=True, stdout=subprocess.PIPE).stdout.decode()


# Each kind finds its places, and none in comments, texts, preprocessor lines and assertions.
SAMPLE = r"""
#define MOST (1 + 1)
/* if (a == b) return a - b; */
static int f(const struct options *options, int *list, int a, int b)
{
    assert(a == b && list[0] == 1);
    int sum = 0, found[4]; // a - b
    puts("a == b && x + 1");
    if (a == 1 || b >= 70)
        sum = a - b;
    while (' ')
        ;
    g(a, b);
    list[0] += options->limit + 1;
    return sum;
}
"""
EXPECTED = {
    "off by one": {">= → >", "1 → 2"},
    "condition negated": {"a == 1 || b >= 70 → !(a == 1 || b >= 70)", "' ' → !(' ')"},
    "comparison": {"== → !="},
    "and, or": {"|| → &&"},
    "plus, minus": {"- → +", "+ → -"},
    "operands exchanged": {"a - b → b - a"},
    "arguments exchanged": {"a, b → b, a"},
    "assignment dropped": {"sum = a - b; → ;", "list[0] += options->limit + 1; → ;"},
    "constant": {"70 → 700", "70 → 7"},
    "wrong index": {"0 → 1"},
    "option ignored": {"options->limit → 0"},
}
found = {}
for fault in mutate.faults_of("x.c", SAMPLE):
    found.setdefault(fault.kind, set()).add(f"{SAMPLE[fault.start:fault.end]} → {fault.text}")
assert found == EXPECTED, {kind: (found.get(kind), EXPECTED.get(kind)) for kind in EXPECTED.keys() | found.keys() if found.get(kind) != EXPECTED.get(kind)}

# The same of the same seed, others of another, as many as asked for, of every kind.
first = listed("60", "7")
assert first == listed("60", "7") and first != listed("60", "8")
places = re.findall(r"^\d+ (\S+?):(\d+): (.*)$", first, re.M)
assert len(places) == 60 and len({kind for _, _, kind in places}) > 6, places
assert listed("20", "7") == "".join(first.splitlines(keepends=True)[:60])
for path, number, _ in places:
    with open(os.path.join(source, path)) as file:
        line = file.read().splitlines()[int(number) - 1].strip()
    assert line and not line.startswith(("/*", "* ", "*/", "//", "#")), (path, number, line)

# A change of one file moves few places of others.
with tempfile.TemporaryDirectory() as copy:
    for path in ["cmake/layers", *mutate.sources(source)]:
        os.makedirs(os.path.dirname(os.path.join(copy, path)), exist_ok=True)
        shutil.copy(os.path.join(source, path), os.path.join(copy, path))
    with open(os.path.join(copy, "base", "bytes.c"), "a") as file:
        file.write(SAMPLE)
    moved = {(fault.path, fault.kind) for fault in mutate.chosen(copy, 60, 7)[:60]}
there = {(path, kind) for path, _, kind in places}
assert len(there & moved) > 0.9 * len(there), there - moved

# Each source has tests that exist.
names = re.findall(r"^ *Test *#\d+: (\S+)$", subprocess.run(["ctest", "--test-dir", build, "-N"], check=True, stdout=subprocess.PIPE).stdout.decode(), re.M)
rows = mutate.read_table("map", 3)
for path in mutate.sources(source):
    mutate.tests_of(path, rows)
for place, _, tests in rows:
    assert any(re.search(tests, name) for name in names), f"no test is called {tests}"
    assert any(path.startswith(place) for path in mutate.sources(source)), f"there is no {place}"

# Faults that are called equivalent can be planted still.
for path, was, became, reason in mutate.read_table("equivalent", 4):
    with open(os.path.join(source, path)) as file:
        text = file.read()
    assert any(mutate.lines_of(text, fault) == (was, became) for fault in mutate.faults_of(path, text)), f"{path} has no more: {was}"

# What hangs is ended with all that it started, in process groups of their own, too.
marked = "import os, time; os.setpgid(0, 0); print(os.getpid(), flush=True); time.sleep(600)"
with tempfile.NamedTemporaryFile("r") as file:
    assert mutate.run_within(["sh", "-c", f"{sys.executable} -c '{marked}' >{file.name} & sleep 600"], 10, os.environ)[0] is None
    pid = int(file.read())
for _ in range(50):
    try:
        with open(f"/proc/{pid}/stat") as file:
            if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                break
    except FileNotFoundError:
        break
    time.sleep(0.1)
else:
    sys.exit("what hung is still there")
assert mutate.run_within(["sh", "-c", "echo said; exit 3"], 60, os.environ)[:2] == (3, "said\n")


# Unit tests come first. What fails without a fault is left out, and a test that fails once by chance kills none.
class Tried(mutate.Tree):
    def __init__(self, *answers):
        super().__init__("/none")
        self.answers, self.seen = list(answers), []

    def run_tests(self, tests, limit, *options):
        self.seen.append((tests, *options))
        return self.answers.pop(0), 1, []

    def make(self, targets):
        return subprocess.CompletedProcess(targets, 0, "")

    def names_of(self, tests):
        return ["unit_a", "b", "c"]


def tried(*answers, left_out=()):
    tree = Tried(*answers)
    name, *_ = tree.failed("x", 60, left_out)
    assert not tree.answers, tree.answers
    return name, tree.seen


unit, rest = ("x", "--stop-on-failure", "-L", "^unit$"), ("x", "--stop-on-failure", "-LE", "^unit$")
assert tried(["unit_a"]) == ("unit_a", [unit])
assert tried([], ["b"], ["b"]) == ("b", [unit, rest, ("^(b)$",)])
assert tried([], ["b"], [], []) == (None, [unit, rest, ("^(b)$",), (*rest, "-E", "^(b)$")])
assert tried([], [], left_out=["c"]) == (None, [(*unit, "-E", "^(c)$"), (*rest, "-E", "^(c)$")])
assert tried([], None)[0] == "not ended within 60 s"
assert Tried(["b", "c"], ["c"]).check([], "x") == (34, ["c"])
assert Tried([]).check([], "x") == (34, [])
assert Tried(["unit_a", "b", "c"], ["unit_a", "b", "c"]).check([], "x")[0] == 0

# A fault whose tests all skip is told apart from one that a test let pass.
with tempfile.TemporaryDirectory() as root:
    def judged(first, second, left_out=()):
        os.makedirs(os.path.join(root, "build", "release"), exist_ok=True)
        with open(os.path.join(root, "build", "release", "CTestTestfile.cmake"), "w") as file:
            file.write(f'add_test(a sh -c "exit {first}")\nset_tests_properties(a PROPERTIES LABELS unit SKIP_RETURN_CODE 77)\n'
                       f'add_test(b sh -c "exit {second}")\nset_tests_properties(b PROPERTIES SKIP_RETURN_CODE 77)\n')
        name, _, all_skip = mutate.Tree(root).failed("^(a|b)$", 60, left_out)
        return name, all_skip

    assert judged(77, 77) == (None, True)
    assert judged(0, 77) == judged(77, 0) == (None, False)
    assert judged(77, 1) == ("b", False)
    assert judged(77, 1, ["b"]) == (None, True)
