#!/usr/bin/env python3
"""Traces programs that run already and load libraries later: every call of these is counted, from their constructors on.

late.py loaded|again|replaced|renamed|copied|twice|lower|nameless|unreadable|storm|kill SPROF [SEED [ROUNDS]]

The program does what it is told, line by line, and answers each. `again`: a library that was there is unloaded and
loaded again. `replaced`: another file is in its place by then. `storm`: three threads load and unload at the moments
at which probes come and go. `kill`: sprof is killed while they do.
`copied`: the program puts memory without a file in the place of a library's code, as for large pages. `twice`: a
library is there twice, by two names of its file. `lower`: files are mapped as code a second time, below what runs of them.
`nameless`: a library is loaded from memory, by a user who is not root. `unreadable`: its code may be executed only."""
import csv
import os
import re
import signal
import subprocess
import tempfile
import time

import targets
from targets import check_text, fail, files_of, has_ended, keeper_of, rng, sprof, status_of, wait_for

ROUNDS = targets.rounds(4)

PLUGIN = """
#define NI __attribute__((noinline))
static int ready;
NI void prepare%(name)s(void) { ready++; __asm__ volatile("nop; nop; nop; nop; nop"); }
__attribute__((constructor)) static void construct%(name)s(void) { prepare%(name)s(); }
__attribute__((destructor)) static void destruct%(name)s(void) { prepare%(name)s(); }
NI int inner%(name)s(int n) { __asm__ volatile("" : "+r"(n)); return n + ready; }
int plugin_run(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += inner%(name)s(i); return sum; }
"""

HOST = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *handles[4];
static volatile int is_calm;

static int load(int which)
{
    char path[32];
    snprintf(path, sizeof path, "./plugin%d.so", which);
    return (handles[which] = dlopen(path, RTLD_NOW)) != NULL;
}

static int run(int which, int count)
{
    return ((int (*)(int))dlsym(handles[which], "plugin_run"))(count);
}

static void *work(void *number)
{
    const int which = (int)(long)number;
    long wrong = 0;
    while (!is_calm)
        wrong += !load(which) + (run(which, 10) != 55) + (dlclose(handles[which]) != 0);
    return (void *)wrong;
}

static int load_again(int which)
{
    char path[32];
    snprintf(path, sizeof path, "./hard%d.so", which);
    return (handles[which + 1] = dlmopen(LM_ID_NEWLM, path, RTLD_NOW)) != NULL;
}

/* The code of a library. */
static int find_code(int which, char **start, size_t *size)
{
    unsigned long first, last, function = (unsigned long)dlsym(handles[which], "plugin_run");
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &first, &last) == 2 && first <= function && function < last)
            break;
    *start = (char *)first;
    *size = last - first;
    return fclose(maps);
}

static int copy(int which)
{
    char *start;
    size_t size;
    find_code(which, &start, &size);
    char *place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(place, start, size);
    return !mprotect(place, size, PROT_READ | PROT_EXEC) &&
           mremap(place, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) == start;
}

static int hide(int which)
{
    char *start;
    size_t size;
    find_code(which, &start, &size);
    return !mprotect(start, size, PROT_EXEC);
}

/* A file, to read it, where nothing else is. */
static int map_below(const char *path)
{
    static char *below = (char *)0x10000000;
    const int fd = open(path, O_RDONLY);
    const size_t size = (lseek(fd, 0, SEEK_END) + 4095) / 4096 * 4096;
    char *at = mmap(below, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
    const int done = at == below;
    below += size;
    return !close(fd) && done;
}

/* Its descriptor, or 0. */
static int load_from_memory(int which)
{
    char path[32], bytes[4096];
    snprintf(path, sizeof path, "./plugin%d.so", which);
    const int from = open(path, O_RDONLY), to = memfd_create("plugin", 0);
    for (ssize_t got; (got = read(from, bytes, sizeof bytes)) > 0;)
        if (write(to, bytes, got) != got)
            return 0;
    close(from);
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    return (handles[which] = dlopen(path, RTLD_NOW)) ? to : 0;
}

/* Until the next line comes. Returns how much went wrong. */
static long storm(void)
{
    pthread_t threads[3];
    long sum = 0;
    is_calm = 0;
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    while (getchar() != '\\n')
        ;
    is_calm = 1;
    for (int i = 0; i < 3; i++) {
        void *part;
        pthread_join(threads[i], &part);
        sum += (long)part;
    }
    return sum;
}

int main(void)
{
    char line[64], path[64];
    int which, count;
    setlinebuf(stdout);
    puts("ready");
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\\n")) {
        if (sscanf(line, "load %d", &which) == 1)
            printf("%d\\n", load(which));
        else if (sscanf(line, "run %d %d", &which, &count) == 2)
            printf("%d\\n", run(which, count));
        else if (sscanf(line, "unload %d", &which) == 1)
            printf("%d\\n", dlclose(handles[which]));
        else if (sscanf(line, "again %d", &which) == 1)
            printf("%d\\n", load_again(which));
        else if (sscanf(line, "copy %d", &which) == 1)
            printf("%d\\n", copy(which));
        else if (sscanf(line, "hide %d", &which) == 1)
            printf("%d\\n", hide(which));
        else if (sscanf(line, "below %63s", path) == 1)
            printf("%d\\n", map_below(path));
        else if (sscanf(line, "memory %d", &which) == 1)
            printf("%d\\n", load_from_memory(which) > 0);
        else if (!strcmp(line, "storm\\n"))
            printf("%ld\\n", storm());
    }
    return 7;
}
"""


def compile(name, text, *flags):
    with open(f"{name}.c", "w") as file:
        file.write(text)
    subprocess.run(["gcc", "-O1", "-g", *flags, f"{name}.c", "-o", name], check=True)


def compile_plugin(which, text=PLUGIN):
    """Never written in place: the program may have it mapped."""
    compile("new.so", text % {"name": which}, "-shared", "-fPIC")
    os.rename("new.so", f"plugin{which}.so")


class Host:
    def __init__(self, program=sprof, **user):
        self.own = {"program": program, **user}
        self.process = subprocess.Popen(["./host"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, **user)
        targets.started.append(self.process)
        self.pid = self.process.pid
        self.expect("ready")

    def expect(self, answer):
        line = self.process.stdout.readline().strip()
        if line != str(answer):
            fail(f"the program answers {line!r}, not {answer!r}")

    def tell(self, line):
        self.process.stdin.write(line + "\n")

    def do(self, line, answer):
        self.tell(line)
        self.expect(answer)

    def quit(self):
        self.tell("quit")
        if status_of(self.process) != 7:
            fail(f"the program ended with {self.process.returncode}")

    def trace(self, *options):
        return self.wait_for_trace(targets.trace(subprocess.DEVNULL, "-p", str(self.pid), *options))

    def wait_for_trace(self, tracer):
        targets.wait_for_trace(tracer, "-p", str(self.pid), **self.own)
        return tracer

    def ctl(self, *words):
        return targets.ctl("-p", str(self.pid), *words, **self.own)

    def end(self, tracer, how="detach"):
        answer = self.ctl(how)
        if answer.returncode or status_of(tracer):
            fail(f"ctl {how}: {answer.stderr}")


def runs(count, ready):
    """What plugin_run answers when constructor and destructor have run so often."""
    return sum(range(count)) + count * ready


def check_calls(**wanted):
    text = subprocess.run([sprof, "stats", "-i", "t.db", "--format", "csv", "-n", "1000"], capture_output=True, text=True).stdout
    found = {}
    for row in csv.DictReader(text.splitlines()):
        found[row["function"]] = found.get(row["function"], 0) + int(row["calls"])
    if "together" in wanted:  # names that may be one
        names = wanted.pop("together")
        found[names[0]] = sum(found.pop(name, 0) for name in names)
    if found != wanted:
        fail(f"found {found}, not {wanted}")


def notes():
    return open("err").read()


def loaded():
    """Nothing that is asked for is there at first; ranges find its functions once it is."""
    for how in ("end", "detach"):
        host = Host()
        before = files_of(host.pid)
        tracer = host.trace("--module", "plugin*")
        if not re.search("'plugin.*' matches nothing that the process has loaded: only what it loads later", notes()):
            fail("it is not said that nothing is there yet")
        if host.ctl("probe", "-inner0").returncode != 2:
            fail("a function that is not there is found")
        host.do("load 0", 1)
        host.do("run 0 10", runs(10, 1))
        if host.ctl("probe", "-inner0").returncode:
            fail("a function of the library is not found")
        host.do("run 0 100", runs(100, 1))
        if host.ctl("probe", "-#2").returncode:
            fail("its range cannot be switched off")
        host.do("run 0 1000", runs(1000, 1))
        if host.ctl("probe", "-inner").returncode:
            fail("no function of the library is found")
        host.do("load 1", 1)  # a range that was there before it
        host.do("run 1 5", runs(5, 1))
        host.do("unload 0", 0)
        host.end(tracer, how)
        host.do("run 1 5", runs(5, 1))
        host.do("unload 1", 0)
        check_calls(construct0=1, destruct0=1, prepare0=2, plugin_run=4, inner0=1010, construct1=1, prepare1=1)
        for which in (0, 1):
            if len(re.findall(f"plugin{which}.so was loaded after .* s: 5 probes, from its constructors on", notes())) != 1:
                fail("it is not said once from when on it is traced")
        if files_of(host.pid) != before:
            fail(f"mappings differ: {sorted(set(files_of(host.pid)) ^ set(before))}")
        print(how, check_text(host.pid), "bytes of code compared")
        host.quit()


def again():
    """Its functions keep their numbers and figures; what the program has mapped in its place meanwhile is left alone."""
    host = Host()
    host.do("load 0", 1)
    tracer = host.trace("--module", "plugin*")
    host.do("run 0 10", runs(10, 1))
    for i in range(ROUNDS):
        host.do("unload 0", 0)
        host.do("load 1", 1)
        host.do("run 1 3", runs(3, 1))
        host.do("load 0", 1)
        host.do("run 0 10", runs(10, 1))
        host.do("unload 1", 0)
    host.end(tracer)
    check_text(host.pid)
    host.do("run 0 10", runs(10, 1))
    times = 2 * ROUNDS + 1
    check_calls(plugin_run=times, inner0=10 * (ROUNDS + 1), construct0=ROUNDS, destruct0=ROUNDS, prepare0=2 * ROUNDS,
                inner1=3 * ROUNDS, construct1=ROUNDS, destruct1=ROUNDS, prepare1=2 * ROUNDS)
    host.quit()


def replaced():
    """The file of a library that runs is another one: its probes go with those of all others. What is loaded
    instead has its own functions."""
    host = Host()
    host.do("load 0", 1)
    tracer = host.trace("--module", "plugin*")
    compile_plugin(0, PLUGIN.replace("ready++", "ready += 5").replace("inner", "other"))
    host.do("load 1", 1)  # the loader tells of this one, and sprof looks at all
    host.do("run 0 10", runs(10, 1))
    host.do("unload 0", 0)
    host.do("load 0", 1)
    host.do("run 0 20", runs(20, 5))
    host.do("unload 1", 0)
    host.do("run 0 10", runs(10, 5))
    host.end(tracer)
    host.do("run 0 10", runs(10, 5))
    # Which file a library is of is found out beside the trace: where it went before that, its names are the new one's.
    check_calls(together=("inner0", "other0"), plugin_run=3, inner0=40, construct0=1, destruct0=1, prepare0=2, construct1=1, destruct1=1, prepare1=2)
    host.do("unload 0", 0)
    check_text(host.pid)
    host.quit()


def renamed():
    """A library whose file is renamed while it is loaded has not come anew: its probes are placed once, and go."""
    host = Host()
    host.do("load 0", 1)
    tracer = host.trace("--module", "plugin*")
    host.do("load 2", 1)
    for which in (0, 2):
        os.rename(f"plugin{which}.so", f"kept{which}.so")
    host.do("load 1", 1)  # the loader tells of this one, and sprof looks at all
    host.do("run 0 10", runs(10, 1))
    host.do("run 2 10", runs(10, 1))
    host.do("unload 1", 0)
    host.do("unload 2", 0)
    os.rename("kept2.so", "plugin2.so")
    host.do("load 2", 1)
    host.do("run 2 20", runs(20, 1))
    host.end(tracer)
    host.do("run 0 10", runs(10, 1))
    host.do("run 2 10", runs(10, 1))
    check_text(host.pid)
    host.quit()
    os.rename("kept0.so", "plugin0.so")
    check_calls(inner0=10, construct1=1, destruct1=1, prepare1=2, inner2=30, construct2=2,
                destruct2=1, prepare2=3, plugin_run=3)


def killed(host, tracer):
    keeper = keeper_of(tracer.pid)
    tracer.kill()
    status_of(tracer)
    wait_for(lambda: has_ended(keeper), "the keeper's end")


def copied():
    """Jumps that were copied with the code are taken out of the copy, also where sprof is killed and no file has it."""
    for how in ("detach", "kill"):
        host = Host()
        host.do("load 0", 1)
        tracer = host.trace("--module", "plugin*")
        host.do("copy 0", 1)
        host.do("run 0 10", runs(10, 1))
        host.do("load 1", 1)  # the loader tells of this one, and sprof looks at all
        host.do("run 0 10", runs(10, 1))
        host.do("unload 1", 0)
        if how == "kill":
            killed(host, tracer)
        else:
            host.end(tracer)
            check_calls(inner0=20, plugin_run=2, construct1=1, destruct1=1, prepare1=2)
        if any("sprof-probe" in line[-1] for line in targets.mappings(host.pid)):
            fail(f"{how}: probes were left")
        host.do("run 0 10", runs(10, 1))
        host.quit()
    # What rested comes back into the copy.
    host = Host()
    host.do("load 0", 1)
    tracer = host.trace("--module", "plugin*", "--rest", "100ms")
    host.do("copy 0", 1)
    host.ctl("off")
    wait_for(lambda: "5 probes rest" in host.ctl("status").stdout, "rest")
    if host.ctl("on").returncode:
        fail("probes that rested do not come back")
    host.do("run 0 10", runs(10, 1))
    host.end(tracer)
    check_calls(inner0=10, plugin_run=1)
    host.do("run 0 10", runs(10, 1))
    host.quit()


def twice():
    """Both have probes, which go when the other one is unloaded."""
    os.link("plugin0.so", "hard0.so")
    for how in ("detach", "kill"):
        for gone in (0, 1):
            host = Host()
            host.do("load 0", 1)
            host.do("again 0", 1)
            tracer = host.trace("--module", "*.so")
            host.do(f"unload {gone}", 0)
            host.do("load 2", 1)  # the loader tells of this one, and sprof looks at all
            host.do(f"run {1 - gone} 10", runs(10, 1))
            if how == "kill":
                killed(host, tracer)
            else:
                host.end(tracer)
            check_text(host.pid)
            host.do(f"run {1 - gone} 10", runs(10, 1))
            host.quit()
    os.unlink("hard0.so")


def lower():
    """What the loader has loaded is traced, also where it comes later, and a thread is borrowed by the code that runs."""
    libc = [line[-1].strip() for line in targets.mappings(os.getpid()) if "/libc.so.6" in line[-1] or "/libc-2" in line[-1]]
    for first in True, False:
        host = Host()
        if first:
            host.do("load 0", 1)
        for name in ["plugin0.so", "./host", *libc[:1]]:
            host.do(f"below {name}", 1)
        tracer = host.trace("--module", "plugin*", "--function", "^(plugin_run|inner.)$")
        if not first:
            host.do("load 0", 1)
        host.do("run 0 10", runs(10, 1))
        host.end(tracer)
        host.do("run 0 10", runs(10, 1))
        check_text(host.pid)
        host.quit()
        check_calls(plugin_run=1, inner0=10)


def nameless():
    user, user_sprof = targets.ordinary_user()
    for first in True, False:
        host = Host(user_sprof, **user)
        if first:
            host.do("memory 0", 1)
        if os.path.exists("t.db"):
            os.unlink("t.db")
        command = [user_sprof, "trace", "-o", "t.db", "-p", str(host.pid), "--module", "*plugin"]
        tracer = host.wait_for_trace(targets.begin(command, **user, stdout=subprocess.DEVNULL, stderr=open("err", "w")))
        if not first:
            host.do("memory 0", 1)
        host.do("run 0 10", runs(10, 1))
        host.end(tracer)
        host.do("run 0 10", runs(10, 1))
        host.quit()
        calls = 11 if first else 13  # with its constructor and what that calls
        if f"{calls} calls in" not in notes():
            fail(f"not {calls} calls: {notes()}")


def unreadable():
    host = Host()
    host.do("load 0", 1)
    host.do("hide 0", 1)
    tracer = host.trace("--module", "plugin*")
    host.do("run 0 10", runs(10, 1))
    host.end(tracer)
    host.do("run 0 10", runs(10, 1))
    check_text(host.pid)
    host.quit()
    check_calls(inner0=10, plugin_run=1)


def storm():
    host = Host()
    host.tell("storm")
    traced = calls = 0
    for i in range(ROUNDS):
        tracer = targets.trace(subprocess.DEVNULL, "-p", str(host.pid), "--module", "plugin*", "--duration", f"{rng.randrange(1, 300)}ms")
        status = status_of(tracer)
        traced += status == 0
        calls += int((re.findall("([0-9]+) calls? in", notes()) or [0])[0])
        if status and not re.search("could be borrowed|chosen functions? can have (a|no) probe", notes()):
            fail("it was not traced")
    host.do("calm", 0)
    check_text(host.pid)
    host.quit()
    print(f"{calls} calls in {traced} traces while libraries came and went")


def kill():
    """The program goes on, and its keeper takes all probes out, that of the loader, too."""
    for i in range(ROUNDS):
        host = Host()
        before = files_of(host.pid)
        tracer = host.trace("--module", "plugin*")
        host.tell("storm")
        time.sleep(rng.random() * 0.1)
        keeper = keeper_of(tracer.pid)
        if i % 2:
            os.kill(keeper, signal.SIGKILL)
        tracer.kill()
        status_of(tracer)
        wait_for(lambda: has_ended(keeper), "the keeper's end")
        if i % 2 and host.ctl("detach").returncode:
            fail("what was left could not be taken out")
        host.do("calm", 0)
        if files_of(host.pid) != before:
            fail(f"mappings differ: {sorted(set(files_of(host.pid)) ^ set(before))}")
        check_text(host.pid)
        host.do("load 3", 1)
        host.do("run 3 10", runs(10, 1))
        host.quit()


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    compile("host", HOST, "-pthread")
    for which in range(4):
        compile_plugin(which)
    {"loaded": loaded, "again": again, "replaced": replaced, "renamed": renamed,
     "copied": copied, "twice": twice, "lower": lower, "nameless": nameless, "unreadable": unreadable, "storm": storm, "kill": kill}[targets.case]()
