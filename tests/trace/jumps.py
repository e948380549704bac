#!/usr/bin/env python3
"""Random programs whose functions jump to others at their ends, and leave frames, are traced as they say.

jumps.py c|c++ COMPILER [coroutines] SPROF [SEED [PROGRAMS]]

Each program notes what it does: which function is entered, by a call or by a jump, what returns, what is caught and where, which
stack it runs on. From that `follow` knows, without any address, how each call has to end, in which order, and below which other:
rows of the log, figures, paths and kept calls must be that. LINK of the environment says how programs are linked: -static, say."""
import collections
import csv
import io
import os
import random
import re
import subprocess
import sys
import tempfile

COROUTINES, THREADS, JUMPERS = 4, 3, 64
ENTER, RETURN, CATCH, SWITCH = 1, 2, 3, 4

HEAD = """
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
enum { COUNT = %(count)d, COROUTINES = %(coroutines)d, THREADS = %(threads)d, ROUNDS = %(rounds)d, EVENTS = 1 << 20, STACK = 256 << 10 };
enum { ENTER = 1, RETURN, CATCH, SWITCH };
struct stack {
    ucontext_t context;
    jmp_buf *jump;
    char *memory;
    unsigned level, resumer, is_begun, is_over, is_waiting;
};
struct state {
    unsigned *events, count;
    long budget, is_finishing, tags;
    unsigned stack, thrown;
    struct stack stacks[1 + COROUTINES];
    unsigned long sum;
};
static struct state states[THREADS];
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")
#define HERE (&s->stacks[s->stack])
static inline void put(struct state *s, unsigned word)
{
    if (s->count == EVENTS)
        abort();
    s->events[s->count++] = word;
}
static inline void note(struct state *s, unsigned what, unsigned value)
{
    put(s, what << 24 | value);
}
"""

NOTES = """
static inline void enter(struct state *s, unsigned function, long is_jump)
{
    note(s, ENTER, function << 1 | (unsigned)is_jump);
    HERE->level += !is_jump;
}
static inline unsigned long returned(struct state *s, unsigned long result)
{
    note(s, RETURN, 0);
    HERE->level--;
    return result;
}
static inline void caught(struct state *s, unsigned level, unsigned kind)
{
    note(s, CATCH, level << 1 | kind);
    HERE->level = level;
}
"""

# A coroutine's own frames are no functions that are traced.
COROUTINE = """
NI static void switch_to(struct state *s, unsigned to)
{
    struct stack *from = HERE;
    note(s, SWITCH, to);
    s->stack = to;
    swapcontext(&from->context, &HERE->context);
}
static void begin(unsigned high, unsigned low)
{
    struct state *s = (struct state *)((unsigned long)high << 32 | low);
    jmp_buf here;
    HERE->jump = &here;
    TRY
    if (!setjmp(here)) {
        s->sum += returned(s, functions[s->sum % COUNT](s, ARGUMENTS(s->sum % 1000, 9, 0)));
    } else
        caught(s, 0, 1);
    CATCH(caught(s, 0, 0))
    HERE->is_over = 1;
    switch_to(s, HERE->resumer);
}
NI static void resume(struct state *s, unsigned long which)
{
    struct stack *stack = &s->stacks[1 + which % COROUTINES];
    if (stack->is_over || (stack->is_begun && !stack->is_waiting))
        return;
    stack->resumer = s->stack;
    stack->is_waiting = 0;
    if (!stack->is_begun) {
        stack->is_begun = 1;
        stack->memory = (char *)malloc(STACK);
        getcontext(&stack->context);
        stack->context.uc_stack.ss_sp = stack->memory;
        stack->context.uc_stack.ss_size = STACK;
        makecontext(&stack->context, (void (*)(void))begin, 2, (unsigned)((unsigned long)s >> 32), (unsigned)(unsigned long)s);
    }
    switch_to(s, (unsigned)(stack - s->stacks));
}
NI static void yield(struct state *s)
{
    if (!s->stack || s->is_finishing)
        return;
    HERE->is_waiting = 1;
    switch_to(s, HERE->resumer);
}
"""

MAIN = """
static void *run(void *number)
{
    struct state *s = &states[(long)number];
    for (unsigned long round = 0; round < ROUNDS; round++) {
        jmp_buf here;
        s->budget = 200;
        HERE->jump = &here;
        TRY
        if (!setjmp(here)) {
            s->sum += returned(s, functions[round % COUNT](s, ARGUMENTS(round + (unsigned long)number, 12, 0)));
        } else
            caught(s, 0, 1);
        CATCH(caught(s, 0, 0))
        memset(&s->stacks[0].level, 0, sizeof s->stacks[0].level);
        if (round % 8 == 7)
            FINISH
    }
    return 0;
}
int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    unsigned long sum = 0;
    for (long i = 0; i < THREADS; i++)
        states[i].events = (unsigned *)malloc(EVENTS * sizeof(unsigned));
    for (long i = 1; i < THREADS; i++)
        pthread_create(&threads[i], 0, run, (void *)i);
    run(0);
    for (long i = 1; i < THREADS; i++)
        pthread_join(threads[i], 0);
    FILE *out = count > 1 ? fopen(arguments[1], "wb") : 0;
    for (int i = 0; i < THREADS && out; i++) {
        fwrite(&states[i].count, sizeof(unsigned), 1, out);
        fwrite(states[i].events, sizeof(unsigned), states[i].count, out);
        sum ^= states[i].sum * (unsigned long)(i + 1);
    }
    printf("%lu\\n", sum);
    return 0;
}
"""

FINISH = """{
            s->is_finishing = 1;
            for (unsigned k = 0; k < COROUTINES; k++) {
                s->budget = 60;
                resume(s, k);
                free(s->stacks[1 + k].memory);
                memset(&s->stacks[1 + k], 0, sizeof s->stacks[1 + k]);
            }
            s->is_finishing = 0;
        }"""


class Program:
    """`notes` are C functions that note what happens, and what is passed beside `s`, by ARGUMENTS, and declared by PARAMETERS."""
    notes = NOTES
    declared = ("#define RESULT unsigned long\n#define PARAMETERS struct state *s, unsigned long a, long depth, long is_jump\n"
                "#define ARGUMENTS(a, depth, is_jump) a, depth, is_jump\n")
    entering = "is_jump"
    rounds, threads = 40, THREADS

    def __init__(self, language, seed, with_coroutines):
        self.rng = random.Random(seed)
        self.is_cxx = language == "c++"
        self.with_coroutines = with_coroutines
        self.count = self.rng.choice((5, 12, 30, 90))

    def callee(self, caller, is_jump):
        """A direct jump to its own entry is a loop."""
        rng = self.rng
        if rng.random() < 0.3:
            return f"functions[(a + {rng.randrange(99)}) % COUNT]"
        return f"f{(caller + rng.randrange(1, self.count)) % self.count}"

    def call(self, caller):
        return f"{self.callee(caller, False)}(s, ARGUMENTS(a * {self.rng.randrange(3, 99) | 1}, depth - 1, 0))"

    def result(self, value):
        return value

    def thrown(self):
        return "throw (int)(a % 100);"

    def switching(self):
        if not self.with_coroutines or self.rng.random() < 0.5:
            return ""
        return self.rng.choice(("    yield(s);\n", f"    resume(s, a + {self.rng.randrange(9)});\n"))

    def function(self, i):
        rng = self.rng
        text = f"NI RESULT f{i}(PARAMETERS)\n{{\n    enter(s, {i}, {self.entering});\n"
        kind = rng.random()
        if kind < 0.45:  # a call before the jump, perhaps
            text += f"    if (s->budget-- <= 0)\n        return {self.result(f'a + {i}')};\n"
            if rng.random() < 0.4:
                text += f"    if (depth > 0)\n        a += returned(s, {self.call(i)});\n"
            text += self.switching()
            return text + f"    return {self.callee(i, True)}(s, ARGUMENTS(a * 3 + {rng.randrange(1000)}, depth, 1));\n}}\n"
        text += f"    if (depth <= 0 || s->budget-- <= 0)\n        return {self.result(f'a + {i}')};\n"
        if kind < 0.6:
            text += f"    if (a % {rng.randrange(2, 6)} == 0)\n"
            text += f"        {self.thrown()}\n" if self.is_cxx and rng.random() < 0.6 else "        longjmp(*HERE->jump, 1);\n"
        if kind > 0.8:
            text += "    jmp_buf here, *outer = HERE->jump;\n    const unsigned level = HERE->level;\n    volatile unsigned long kept = a;\n    HERE->jump = &here;\n"
            text += "    try {\n" if self.is_cxx else ""
            text += f"    if (!setjmp(here))\n        kept += returned(s, {self.call(i)});\n    else\n        caught(s, level, 1);\n"
            text += "    } catch (...) {\n        caught(s, level, 0);\n        kept += 3;\n    }\n" if self.is_cxx else ""
            text += "    HERE->jump = outer;\n    a = kept;\n"
        for _ in range(rng.randrange(1, 3)):
            text += self.switching()
            text += f"    a += returned(s, {self.call(i)});\n"
        return text + f"    s->sum += a;\n    KEEP;\n    return {self.result('a')};\n}}\n"

    def text(self):
        main = COROUTINE + MAIN if self.with_coroutines else MAIN
        parts = [HEAD % {"count": self.count, "coroutines": COROUTINES, "threads": self.threads, "rounds": self.rounds}, self.declared, self.notes]
        parts += [f"NI RESULT f{i}(PARAMETERS);\n" for i in range(self.count)]
        parts.append("typedef RESULT (*function)(PARAMETERS);\nstatic const function functions[COUNT] = {"
                     + ", ".join(f"f{i}" for i in range(self.count)) + "};\n")
        if self.with_coroutines:
            parts.append("NI static void resume(struct state *s, unsigned long which);\nNI static void yield(struct state *s);\n")
        parts += [self.function(i) for i in range(self.count)]
        parts.append("#define TRY try {\n#define CATCH(what) } catch (...) { what; }\n" if self.is_cxx else "#define TRY\n#define CATCH(what)\n")
        parts.append(main.replace("FINISH", FINISH if self.with_coroutines else ";"))
        return "".join(parts)


class Call:
    """`below` is the call below which it began; None: no call that is traced."""

    def __init__(self, function, below):
        self.function, self.below = function, below
        self.above = below  # as below, until its coroutine leaves the chain
        self.caller = None  # at the moment when it was noted as a caller of a call that may be kept
        self.is_noted = self.is_caller = False
        self.has_row = None  # as long as it is open
        self.number = 0
        self.depth = below.depth + 1 if below else 1
        self.path = below.path + (function,) if below else (function,)


class Thread:
    """What calls there are: on each stack activations, each with the calls that have jumped and the one that they have jumped
    to; and `chain`, those that are open below each other. Calls on other stacks than the thread's own leave it when a call
    begins, or goes on, below them."""

    def __init__(self, rules=()):
        self.stacks = collections.defaultdict(list)
        self.stack = 0
        self.chain = []  # (call, stack)
        self.ended = []  # (function, depth, exit)
        self.paths = collections.Counter()
        self.rules = rules
        self.kept = []  # (call, exit, rules, caller)
        self.count = 0
        self.has_words = True  # of the arguments of the call that ends

    def meets(self, call, how):
        """The numbers of the rules that a call meets."""
        return [number for number, rule in enumerate(self.rules) if rule(call.function, how)]

    def may_meet(self, call, how, met):
        """Whether the program alone cannot exclude that a call meets a rule."""
        return bool(met)

    def keep(self, call, how):
        """The pruned tree: what meets a rule, and all that has called it. A coroutine may leave the chain between a call that may
        be kept and one that is; then callers are those that were noted. It may go on in a call below it: what is noted stays."""
        met = self.meets(call, how)
        at = call.above if self.may_meet(call, how, met) and not call.is_noted else None
        while at and not at.is_noted:
            at.is_noted, at.caller = True, at.above
            at = at.above
        call.has_row = bool(met) or call.is_caller
        if not call.has_row:
            return
        noted = call.caller if call.caller and call.caller.has_row is not False else None
        at = caller = noted if call.is_noted else call.above
        while at and at.has_row is None and not at.is_caller:
            at.is_caller, at = True, at.caller
        self.kept.append((call, how, met, caller))

    def end(self, call, how):
        self.ended.append((call.function, call.depth, how))
        self.keep(call, how)

    def enter(self, function):
        call = Call(function, self.chain[-1][0] if self.chain else None)
        self.count += 1
        call.number = self.count
        self.chain.append((call, self.stack))
        self.paths[call.path] += 1
        return call

    def drop(self):
        """The innermost call leaves the chain; what has jumped to it stays with it."""
        call, stack = self.chain.pop()
        for activation in self.stacks[stack]:
            if call in activation[1:]:
                return
        call.above = None

    def begin(self, function):
        while self.stack == 0 and self.chain and self.chain[-1][1] != 0:
            self.drop()
        return self.enter(function)

    def uncover(self, call):
        if not any(entry[0] is call for entry in self.chain):
            return False
        while self.chain[-1][0] is not call:
            self.drop()
        return True

    def end_activation(self, activation, how):
        is_in = self.uncover(activation[-1])
        for call in reversed(activation):
            self.has_words = is_in and call is activation[-1]
            self.end(call, how if how != "tail" else "return" if call is activation[-1] else "tail")
            if is_in:
                self.chain.pop()

    def jump(self, function):
        activation = self.stacks[self.stack][-1]
        jumper = activation[-1]
        self.has_words = self.uncover(jumper)
        if not self.has_words:
            activation[0].above = self.chain[-1][0] if self.chain else None
            self.chain += [(call, self.stack) for call in activation]
        before = [call.function for call in activation[:-1]]
        if function == jumper.function or jumper.function in before or function in before or len(before) == JUMPERS:
            self.end(jumper, "tail-cut")
            self.chain.pop()
            activation.pop()
        activation.append(self.enter(function))

    def take(self, event):
        what, value = event >> 24, event & 0xffffff
        activations = self.stacks[self.stack]
        if what == ENTER and value & 1:
            self.jump(value >> 1)
        elif what == ENTER:
            activations.append([self.begin(value >> 1)])
        elif what == RETURN:
            self.end_activation(activations.pop(), "tail")
        elif what == CATCH:
            while self.stack == 0 and self.chain and self.chain[-1][1] != 0:
                self.drop()
            while len(activations) > value >> 1:
                self.end_activation(activations.pop(), "longjmp" if value & 1 else "exception")
        elif what == SWITCH:
            self.stack = value


def follow(path, rules=()):
    """The threads of a program, as it has noted them. A rule says of a function and an exit whether a call is kept."""
    data = memoryview(open(path, "rb").read()).cast("I")
    threads, at = [], 0
    while at < len(data):
        count = data[at]
        thread = Thread(rules)
        for event in data[at + 1:at + 1 + count]:
            thread.take(event)
        assert not any(thread.stacks.values()), "calls are open at the end"
        threads.append(thread)
        at += 1 + count
    return threads


def fail(message):
    print(f"FAIL: {message} (in {os.getcwd()})", file=sys.stderr)
    sys.exit(1)


def run_traced(sprof, name, *options):
    wanted = subprocess.run(["./program", "untraced"], capture_output=True, text=True, check=True).stdout
    done = subprocess.run([sprof, "trace", "-o", f"{name}.db", "--function", "^f[0-9]", *options, "--", "./program", name],
                          capture_output=True, text=True)
    if done.returncode or done.stdout != wanted:
        fail(f"{name}: status {done.returncode}: {done.stderr[-2000:]}")


def trace(sprof, name, *options, rules=()):
    run_traced(sprof, name, *options)
    return follow(name, rules)


def rows(sprof, name, query):
    text = subprocess.run([sprof, "sql", f"{name}.db", "--format", "csv", query], capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


def number(function):
    return int(function.split("(")[0][1:])


def check_log(sprof, what):
    wanted = sorted(thread.ended for thread in trace(sprof, "log", "--mode", "log"))
    found = collections.defaultdict(list)
    for row in rows(sprof, "log", "SELECT tid, function, depth, exit FROM v_call ORDER BY call_id"):
        found[row["tid"]].append((number(row["function"]), int(row["depth"]), row["exit"]))
    found = sorted(found.values())
    missing = rows(sprof, "log", "SELECT coalesce(sum(not_logged), 0) AS n FROM v_not_logged")[0]["n"]
    if missing != "0":
        return 0  # for want of room in the ring
    for one, other in zip(wanted, found):
        for i, (call, seen) in enumerate(zip(one, other)):
            if call != seen:
                fail(f"{what}: log: call {i} of {len(one)} ends as {call}, not as {seen}; before it {one[max(0, i - 5):i]}")
    if [len(calls) for calls in wanted] != [len(calls) for calls in found]:
        fail(f"{what}: log: {[len(calls) for calls in wanted]} calls, not {[len(calls) for calls in found]}")
    return sum(map(len, wanted))


def check_figures(sprof, what):
    """Counts of all kinds; and self times add up to the total of what is called by nobody."""
    wanted = collections.defaultdict(lambda: [0, 0, 0, 0])
    for thread in trace(sprof, "stats"):
        for function, _, how in thread.ended:
            figures = wanted[function]
            figures[0] += 1
            figures[1] += how in ("tail", "tail-cut")
            figures[2] += how == "tail-cut"
            figures[3] += how in ("exception", "longjmp")
    found = {}
    for row in rows(sprof, "stats", "SELECT function, calls, tails, tail_cuts, abnormal, in_flight FROM v_call_stats"):
        found[number(row["function"])] = [int(row[name]) for name in ("calls", "tails", "tail_cuts", "abnormal")]
        if row["in_flight"] != "0":
            fail(f"{what}: {row['in_flight']} calls of {row['function']} are open at the end")
    for function in wanted.keys() | found.keys():
        if wanted.get(function) != found.get(function):
            fail(f"{what}: f{function}: calls, tails, cuts, abnormal are {found.get(function)}, not {wanted.get(function)}")


def check_paths(sprof, what):
    wanted = collections.Counter()
    for thread in trace(sprof, "paths", "--paths"):
        wanted += thread.paths
    tree = {row["path_id"]: row for row in rows(sprof, "paths", "SELECT path_id, parent_id, function, exclusive_samples FROM v_call_tree")}
    found = collections.Counter()
    for row in tree.values():
        if not re.match(r"f\d", row["function"]):  # it is of a library
            continue
        path, at = [], row
        while at:
            path.insert(0, number(at["function"]))
            at = tree.get(at["parent_id"])
        if int(row["exclusive_samples"]):
            found[tuple(path)] = int(row["exclusive_samples"])
    if wanted != found:
        differing = sorted(path for path in wanted.keys() | found.keys() if wanted[path] != found[path])
        fail(f"{what}: {len(differing)} paths differ: {[(path, wanted[path], found[path]) for path in differing[:3]]}")


def kept_rows(sprof, name):
    """The rows of each thread, by begin."""
    found = collections.defaultdict(list)
    for row in rows(sprof, name, "SELECT v.tid, v.function, v.exit, c.rules, v.call_id, v.caller_id, v.start_ns, c.duration_ns, c.self_ns "
                    "FROM v_kept_call v JOIN kept_call c ON c.run_id = v.run_id AND c.number = v.call_id"):
        found[row["tid"]].append(row)
    for kept in found.values():
        by_id = {row["call_id"]: row for row in kept}
        def depth(row):  # where a counter has coarse steps a call and its caller begin at the same time
            steps = 0
            while row["caller_id"]:
                row, steps = by_id[row["caller_id"]], steps + 1
                if steps > len(by_id):  # a list is empty while it is sorted
                    fail(f"{name}: callers of call {row['call_id']}, f{number(row['function'])}, are a circle")
            return steps
        kept.sort(key=lambda row: (int(row["start_ns"]), depth(row)))
    return list(found.values())


def compare_kept(sprof, what, name, models, compared=~0):
    """Compares rows with what was to be kept by one of some models, and these rules that they met. Returns for each thread pairs of
    a call and its row; None where some found no room."""
    dropped = rows(sprof, name, "SELECT sum(dropped) AS n FROM keep_rule")[0]["n"]
    if dropped != "0":
        return None
    kept, problem = kept_rows(sprof, name), ""
    for threads in models:
        pairs, other = pair_kept(kept, threads, compared)
        if not other:
            return pairs
        problem = problem or other
    fail(f"{what}: {name}: {problem}")


def pair_kept(by_thread, threads, compared):
    """Returns pairs of a call and its row, and what differs."""
    def order(threads):
        return sorted(threads, key=lambda thread: [(*call[:3], -1 if call[3] is None else call[3]) for call in thread[0]])
    wanted, found = [], []
    for thread in threads:
        calls = sorted(thread.kept, key=lambda kept: kept[0].number)
        places = {id(kept[0]): place for place, kept in enumerate(calls)}
        wanted.append(([(call.function, how, sum(1 << number for number in met) & compared, places[id(caller)] if caller else None)
                        for call, how, met, caller in calls], [kept[0] for kept in calls]))
    for kept in by_thread:
        places = {row["call_id"]: place for place, row in enumerate(kept)}
        found.append(([(number(row["function"]), row["exit"], int(row["rules"]) & compared, places.get(row["caller_id"])) for row in kept], kept))
    wanted, found = order(thread for thread in wanted if thread[0]), order(found)
    for (one, _), (other, _) in zip(wanted, found):
        for i, (call, seen) in enumerate(zip(one, other)):
            if call != seen:
                return [], f"call {i} of {len(one)} is {seen}, not {call}; before it {one[max(0, i - 5):i]}"
    if [len(thread[0]) for thread in wanted] != [len(thread[0]) for thread in found]:
        return [], f"{[len(thread[0]) for thread in found]} calls, not {[len(thread[0]) for thread in wanted]}"
    return [list(zip(one[1], other[1])) for one, other in zip(wanted, found)], ""


def check_kept(sprof, what, rng, count):
    """What is kept while a program runs is what its whole log would be, filtered. The conditions do not depend on time."""
    some, others = ({rng.randrange(count) for _ in range(rng.randrange(1, 4))} for _ in range(2))
    names = ["^f(" + "|".join(map(str, sorted(numbers))) + r")\b" for numbers in (some, others)]
    # A function with one rule has its rows written in another way than one with several.
    for_all = rng.choice(["over 1000s", f"over 1000s : {names[1]}"])
    options = ["--keep", f"over 0ns : {names[0]}", "--keep", for_all, "--keep", f"throws : {names[1]}"]
    rules = [lambda function, how: function in some, lambda function, how: False,
             lambda function, how: function in others and how == "exception"]
    if compare_kept(sprof, what, "kept", [trace(sprof, "kept", *options, rules=rules)]) is None:
        fail(f"{what}: kept calls found no room")


def main():
    arguments = sys.argv[1:]
    language, compiler = arguments[:2]
    with_coroutines = arguments[2] == "coroutines"
    sprof, *rest = arguments[2 + with_coroutines:]
    first, programs = int(rest[0]) if rest else 1, int(rest[1]) if len(rest) > 1 else 4
    if subprocess.run(["sh", "-c", f"command -v {compiler}"], capture_output=True).returncode:
        print(f"SKIP: no {compiler}", file=sys.stderr)
        sys.exit(77)
    sprof = os.path.abspath(sprof)
    kept = os.getcwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for seed in range(first, first + programs):
            source = f"program.{'cc' if language == 'c++' else 'c'}"
            with open(source, "w") as file:
                program = Program(language, seed, with_coroutines)
                file.write(program.text())
            flags = ["-O2", "-g", "-w", "-pthread", *os.environ.get("LINK", "").split()]
            if subprocess.run([compiler, *flags, source, "-o", "program"]).returncode:
                fail("it does not compile")
            what = f"seed {seed}"
            check_log(sprof, what)
            check_figures(sprof, what)
            check_paths(sprof, what)
            check_kept(sprof, what, random.Random(seed), program.count)
        os.chdir(kept)


if __name__ == "__main__":
    main()
