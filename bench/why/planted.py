#!/usr/bin/env python3
"""How often `sprof why -p` names what was planted.

  planted.py [SPROF] [--runs N] [--seed FIRST] [--kinds a,b,…,flat] [--minutes MOST] [--keep DIRECTORY]

Each program has some 300 functions in ten levels, of which each calls three of the next one now and then; a request comes down from
main in one thread, beside one that waits for events. One function at depth 8, reached by one way of many, takes a fifth to a half of
the time in a way of its own:

  a  a loop                               f  it allocates and frees memory
  b  many calls of a small function       g  it touches new memory
  c  it sleeps, in a helper               h  a loop, in one of six threads
  d  it waits for a lock of another       i  it writes to the disk and waits
     thread                               j  nothing: no function may be named
  e  one request of a hundred is slow, which has a value of its own, by a loop, by sleep in a helper, or by many calls of one
     (with --slow)

Right is a first line with that function (b: and the small one; c: the helper, with the function as its caller; d: and the holder;
e: and the value, as in a, c or b; h: and its thread). `flat` is another name of j. Programs of one seed are the same each time: a run has the
seed after that of the run before. Printed of each kind: in how many of its runs the first line was right, medians of seconds and of the
longest stop, and the load of the machine: a busy one gives threads no CPU, and then that is the right answer. After so many minutes no run
begins, and runs that were left out are not counted.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time

KINDS = "abcdefghij"
LONGEST_S = 90  # of an answer
LEVELS = (1, 4, 8, 16, 30, 40, 50, 60, 60, 40)
DEPTH = 8
VERBS = "read write parse find check build merge split apply route scan fold pack load store send pick rank join trim walk plan".split()
NOUNS = "order item user page row key index cart price stock label field block chunk query token batch group event state frame".split()

HEAD = """
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
struct request { unsigned long id, x, sum; int shard, fd, kind; };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long *served; /* requests, in a file of that name */
static inline __attribute__((always_inline)) void work(struct request *r, unsigned long turns)
{
    unsigned long x = r->x;
    for (unsigned long i = 0; i < turns; i++)
        x = x * 6364136223846793005ul + 1442695040888963407ul;
    r->x = x | 1;
}
static inline __attribute__((always_inline)) int happens(const struct request *r, unsigned long salt, unsigned of_1024)
{
    return ((r->id * 0x9e3779b97f4a7c15ul ^ salt) * 0xbf58476d1ce4e5b9ul >> 40 & 1023) < of_1024;
}
"""


class Program:
    """The source of one program, and what is planted in it."""

    def __init__(self, kind, seed):
        self.kind, self.chance, self.names = kind, random.Random(f"{kind}{seed}"), set()
        self.levels = [[self.name() for _ in range(width)] for width in LEVELS]
        self.way = [self.levels[0][0]] + [self.chance.choice(level) for level in self.levels[1:DEPTH + 1]]
        self.culprit = self.way[-1]
        self.helper, self.holder = self.name(), self.name()
        self.share = self.chance.uniform(0.25, 0.5)
        self.turns = int(400000 * self.share / (1 - self.share))  # the rest of a request has some 400 000
        self.pauses = self.chance.random() < 0.5
        self.value = self.chance.randrange(20, 100)
        self.variant = seed % 3

    def name(self):
        while True:
            name = f"{self.chance.choice(VERBS)}_{self.chance.choice(NOUNS)}_{self.chance.randrange(100)}"
            if name not in self.names:
                self.names.add(name)
                return name

    def planted(self):
        turns = self.turns
        return {
            "a": f"work(r, {turns});",
            "b": f"for (int i = 0; i < {turns // 4}; i++) r->sum += {self.helper}(r, i);",
            "c": f"r->sum += {self.helper}(r, {max(200, turns // 400)});",
            "d": "pthread_mutex_lock(&mutex); r->sum++; pthread_mutex_unlock(&mutex);",
            "e": f"if (r->kind == {self.value}) {{ {self.slow()} }}",
            "f": f"for (int i = 0; i < {turns // 60}; i++) {{ static __thread char *kept[64]; unsigned k = i * 7 & 63;"
                 " free(kept[k]); if ((kept[k] = malloc(1100 + (i * 40503u) % 3000))) *kept[k] = 1; }",
            "g": f"size_t size = 4096ul * {max(16, turns // 2500)}; char *m = mmap(0, size, 3, 34, -1, 0);"
                 " for (size_t i = 0; i < size; i += 4096) m[i] = 1; r->sum += m[0]; munmap(m, size);",
            "h": f"if (r->shard == 3) work(r, {turns * 4});",
            "i": "char bytes[200]; memset(bytes, 7, 200); if (pwrite(r->fd, bytes, 200, 0) > 0) r->sum += fsync(r->fd);",
            "j": "",
        }[self.kind]

    def slow(self):
        turns = self.turns * 30
        return (f"work(r, {turns});", f"r->sum += {self.helper}(r, {max(3000, turns // 1000)});",
                f"for (int i = 0; i < {turns // 4}; i++) r->sum += {self.helper}(r, i);")[self.variant]

    def function(self, level, name):
        lines = [f"work(r, {self.chance.randrange(1000, 2600)});"]
        if level + 1 < len(LEVELS):
            for callee in self.chance.sample(self.levels[level + 1], 3):
                lines.append(f"if (happens(r, {self.chance.randrange(1 << 30) | 1}ul, {self.chance.randrange(360, 460)})) {callee}(r, 0);")
        if name in self.way[:-1]:
            lines.append(f"if (hot) {self.way[self.way.index(name) + 1]}(r, 1);")
        if name == self.culprit:
            lines.append(f"if (hot) {{ {self.planted()} }}")
        if self.kind == "e" and not level:  # the one that has the value as an argument
            return (f"APART void {name}(struct request *r, int hot, int kind)\n{{\n    r->kind = kind;\n    " + "\n    ".join(lines) +
                    "\n    r->sum++;\n}\n")
        return f"APART void {name}(struct request *r, int hot)\n{{\n    " + "\n    ".join(lines) + "\n    r->sum++;\n}\n"

    def source(self):
        everything = [(level, name) for level, names in enumerate(self.levels) for name in names]
        text = [HEAD] + [f"void {name}(struct request *, int{', int' if self.kind == 'e' and not level else ''});\n"
                         for level, name in everything]
        sleeps = "usleep(i);" if self.kind == "c" or (self.kind == "e" and self.variant == 1) else "for (int k = 0; k < 4; k++) r->x += i * k;"
        text.append(f"APART unsigned long {self.helper}(struct request *r, unsigned i)\n{{\n    {sleeps}\n    return r->x & 3;\n}}\n")
        text.append(f"APART void {self.holder}(struct request *r)\n{{\n    pthread_mutex_lock(&mutex);\n    work(r, 3000000);\n"
                    "    pthread_mutex_unlock(&mutex);\n    r->sum++;\n}\n")
        text += [self.function(level, name) for level, name in everything]
        holds = f"{self.holder}(r); usleep(3000);" if self.kind == "d" else "usleep(50000);"
        pause = "usleep(1000);" if self.pauses or self.kind == "h" else ""
        kind = f", r->id % 100 == 17 ? {self.value} : (int)(r->id % 13)" if self.kind == "e" else ""
        text.append(f"""
static void *tend(void *unused) {{ struct request all = {{.x = 5}}, *r = &all; for (;;) {{ r->id++; {holds} }} return unused; }}
static void *listens(void *unused) {{ int p[2]; if (pipe(p)) return unused; struct pollfd f = {{p[0], POLLIN, 0}}; for (;;) poll(&f, 1, -1); }}
static void *serve(void *shard)
{{
    struct request all = {{.x = 99, .shard = (int)(long)shard, .fd = open("data", O_RDWR | O_CREAT, 0600)}}, *r = &all;
    for (;;) {{ r->id++; {self.levels[0][0]}(r, 1{kind}); __atomic_add_fetch(served, 1, __ATOMIC_RELAXED); {pause} }}
    return NULL;
}}
int main(void)
{{
    pthread_t thread;
    int file = open("served", O_RDWR | O_CREAT, 0600);
    if (ftruncate(file, sizeof *served) || (served = mmap(0, sizeof *served, 3, MAP_SHARED, file, 0)) == MAP_FAILED) return 1;
    pthread_create(&thread, NULL, tend, NULL);
    pthread_create(&thread, NULL, listens, NULL);
    for (long i = 1; i < {6 if self.kind == "h" else 1}; i++) pthread_create(&thread, NULL, serve, (void *)i);
    serve(NULL);
}}
""")
        return "".join(text)

    def is_right(self, answer):
        function, calls, holder = answer.get("function"), answer.get("calls") or {}, answer.get("holder") or {}
        if self.kind == "j":
            return answer["answer"] in ("flat", "too-few")
        if self.kind == "b":
            return (calls.get("many_by"), calls.get("many_of")) == (self.culprit, self.helper)
        if self.kind == "c":
            return function == self.helper and answer["callers"][0] == self.culprit
        if self.kind == "d":
            return function == self.culprit and holder.get("function") == self.holder
        if self.kind == "e":
            slow = answer.get("slow") or {}
            named = (function == self.culprit, function == self.helper and answer["callers"][0] == self.culprit,
                     (calls.get("many_by"), calls.get("many_of")) == (self.culprit, self.helper))[self.variant] if function else False
            return named and (slow.get("name"), slow.get("condition"), slow.get("value")) == ("kind", "=", str(self.value))
        if self.kind == "h":
            return function == self.culprit and "only_thread" in answer
        return function == self.culprit


def build(program, directory):
    with open(f"{directory}/program.c", "w") as file:
        file.write(program.source())
    subprocess.check_call(["gcc", "-O1", "-g" if program.kind == "e" else "-g1", "-fno-inline", "-pthread", "-o", "program", "program.c"], cwd=directory)


def ask(sprof, directory, options):
    """The answer about a program that has run for a moment, and its seconds. None: it has none."""
    target = subprocess.Popen(["./program"], cwd=directory)
    try:
        time.sleep(0.5)
        begin = time.monotonic()
        run = subprocess.run([sprof, "why", "-p", str(target.pid), "--format", "json", *options], cwd=directory, capture_output=True, text=True,
                             timeout=LONGEST_S)
        seconds = time.monotonic() - begin
    except subprocess.TimeoutExpired:
        return None, LONGEST_S, f"no answer in {LONGEST_S} s"
    finally:
        target.kill()
        target.wait()
    if not run.stdout:
        return None, seconds, f"status {run.returncode}: {run.stderr.strip()}"
    answer = json.loads(run.stdout)
    return answer, seconds, answer["headline"]


class Judged:
    """Runs of one kind."""

    def __init__(self, kind):
        self.kind, self.right, self.runs, self.seconds, self.stops, self.loads, self.wrong = kind, 0, 0, [], [], [], []

    def run(self, sprof, seed, keep):
        with tempfile.TemporaryDirectory() as directory:
            program = Program(self.kind, seed)
            build(program, directory)
            answer, seconds, text = ask(sprof, directory, ["--slow", f"^{program.way[0]}$"] if self.kind == "e" else [])
            self.runs += 1
            self.seconds.append(seconds)
            self.stops.append((answer or {}).get("stopped_ns", 0) / 1e6)
            self.loads.append(os.getloadavg()[0])
            if answer and program.is_right(answer):
                self.right += 1
                return
            self.wrong.append(f"{seed}: {text} (planted: {program.culprit if self.kind != 'j' else 'nothing'})")
            if keep:
                shutil.copytree(directory, f"{keep}/{self.kind}{seed}", dirs_exist_ok=True)

    def show(self):
        if not self.runs:
            print(f"{self.kind}  no run: the time is over", flush=True)
            return
        print(f"{self.kind}  first line right {self.right:2} of {self.runs:2}   {statistics.median(self.seconds):5.1f} s   "
              f"stop {statistics.median(self.stops):6.1f} ms   load {min(self.loads):.1f} to {max(self.loads):.1f}", flush=True)
        for text in self.wrong:
            print(f"      {text}", flush=True)


def kinds_of(text):
    """Letters, or names with commas between them."""
    names = text.split(",") if "," in text or text == "flat" else list(text)
    kinds = ["j" if name == "flat" else name for name in names]
    unknown = [kind for kind in kinds if kind not in KINDS or len(kind) != 1]
    if unknown:
        raise argparse.ArgumentTypeError(f"no kind {unknown[0]!r}: {', '.join(KINDS)}, flat")
    return kinds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sprof", nargs="?", default=f"{os.path.dirname(os.path.abspath(__file__))}/../../build/release/sprof")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", type=kinds_of, default=list(KINDS))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    sprof, end = os.path.abspath(arguments.sprof), time.monotonic() + arguments.minutes * 60
    for kind in arguments.kinds:
        judged = Judged(kind)
        for seed in range(arguments.seed, arguments.seed + arguments.runs):
            if time.monotonic() < end:
                judged.run(sprof, seed, arguments.keep)
        judged.show()


if __name__ == "__main__":
    main()
