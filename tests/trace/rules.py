#!/usr/bin/env python3
"""Random programs' kept calls are those of their whole logs, filtered: with all rules.

rules.py SEED PROGRAMS SPROF [JOBS]

The programs are those of jumps.py, in C or C++, some with threads or coroutines, whose functions take and return
values of some type, and set errno. They note arguments, results and exceptions, too. Each is traced twice with the
same random rules: so that calls which meet none leave no row; and with all calls in the recording; some with figures
by caller or path, or with a log, too, in which each kept call has its one row. What depends on no time follows from the notes alone, in both. Times and ranks by time are
those of the rows: of the whole log all calls' rules follow from it. It prints how many programs were equal. So many
jobs check programs at once: one, if none are given."""
import concurrent.futures
import functools
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import jumps

# Notes: as those of jumps.py; behind ENTER stand a tag, the depth, `a` and `k`; behind RETURN the result and errno; behind CATCH which
# exception it was.
NOTES = """
static const int ERRORS[] = {0, 2, 9, 11};
#define MAKE(type, value) ((type)(long)((long)((value) % 71) - 25))
static inline void put_long(struct state *s, unsigned long word)
{
    put(s, (unsigned)word);
    put(s, (unsigned)(word >> 32));
}
static inline unsigned long bits_of_K(K value) { K_BITS }
static inline unsigned long bits_of_R(RESULT value) { R_BITS }
static inline void enter(struct state *s, unsigned function, unsigned long a, long depth, long tag, K k)
{
    note(s, ENTER, function << 1 | (unsigned)(tag & 1));
    put(s, (unsigned)tag);
    put(s, (unsigned)depth);
    put_long(s, a);
    put_long(s, bits_of_K(k));
    HERE->level += !(tag & 1);
}
static inline unsigned long returned(struct state *s, RESULT result)
{
    const int error = errno;
    note(s, RETURN, 0);
    put_long(s, bits_of_R(result));
    put(s, (unsigned)error);
    HERE->level--;
    return bits_of_R(result) >> 3;
}
static inline void caught(struct state *s, unsigned level, unsigned kind)
{
    note(s, CATCH, level << 1 | kind);
    put(s, s->thrown);
    HERE->level = level;
}
static inline RESULT result_of(struct state *s, unsigned long a, int error)
{
    if (error >= 0)
        errno = ERRORS[error];
    return MAKE(RESULT, a);
}
"""
DECLARED = """
#include <errno.h>
#include <stdbool.h>
#define RESULT %(result)s
typedef %(argument)s K;
#define PARAMETERS struct state *s, unsigned long a, long depth, long tag, K k
#define ARGUMENTS(a, depth, is_jump) a, depth, ((s - states) << 26 | (s->tags += 2) | is_jump), MAKE(K, (a) / 5)
"""
THROWN = ("int", "Bad", "std::out_of_range")
INTEGERS = {"unsigned long": (64, False), "long": (64, True), "int": (32, True), "short": (16, True), "unsigned char": (8, False), "bool": (1, False)}
REALS = {"double": "d", "float": "f"}
OPERATORS = {"=": lambda x, v: x == v, "!=": lambda x, v: x != v, "<": lambda x, v: x < v, "<=": lambda x, v: x <= v,
             ">": lambda x, v: x > v, ">=": lambda x, v: x >= v}


def bits(kind):
    return "double wide = value; unsigned long word; memcpy(&word, &wide, 8); return word;" if kind in REALS else "return (unsigned long)(long)value;"


def value_of(kind, word):
    if kind in REALS:
        return struct.unpack("<d", struct.pack("<Q", word))[0]
    width, is_signed = INTEGERS[kind]
    word &= (1 << width) - 1
    return word - (1 << width) if is_signed and word >> (width - 1) else word


class Program(jumps.Program):
    entering = "a, depth, tag, k"
    rounds = 8  # coroutines end with the eighth

    def __init__(self, seed):
        chance = random.Random(f"kind{seed}")
        super().__init__(chance.choice(("c", "c++")), seed, chance.random() < 0.3)
        self.compiler = chance.choice(("g++", "clang++") if self.is_cxx else ("gcc", "clang"))
        if not shutil.which(self.compiler):
            self.compiler = "g++" if self.is_cxx else "gcc"
        self.threads = chance.choice((1, 1, 3))
        self.types = {name: chance.choice([*INTEGERS, *REALS]) for name in ("result", "k")}
        self.types |= {"a": "unsigned long", "depth": "long"}
        self.declared = DECLARED % {"result": self.types["result"], "argument": self.types["k"]}
        if self.is_cxx:
            self.declared = "#include <stdexcept>\nstruct Bad { int n; };\n" + self.declared
        self.notes = NOTES.replace("K_BITS", bits(self.types["k"])).replace("R_BITS", bits(self.types["result"]))
        self.jumping = set()  # functions that may jump to another

    def result(self, value):
        return f"result_of(s, {value}, {self.rng.randrange(-3, 4)})"

    def thrown(self):
        kind = self.rng.randrange(len(THROWN))
        what = ("(int)(a % 100)", "Bad{1}", 'std::out_of_range("far")')[kind]
        return f"{{ s->thrown = {kind}; throw {what}; }}"

    def function(self, i):
        text = super().function(i)
        if re.search(r"depth, 1\)\);", text):
            self.jumping.add(i)
        return text


# == Rules ==

def callers_of(call):
    """As long as their coroutines are in the chain."""
    while call.above:
        call = call.above
        yield call


class Rule:
    """`tests` are of one call; `counts` and `times` need others, or its time."""

    def __init__(self, chance, program):
        self.tests, self.text, self.functions = [], [], None
        self.over = self.own = self.every = self.first = self.next = self.slowest = 0
        self.throws = self.thrown = self.load = self.never = self.below = self.called = None
        kind = chance.choice(["value", "value", "value", "throws", "over", "self", "slowest", "first", "every", "next", "load"])
        if kind in ("value", "every", "next", "first"):
            for _ in range(chance.choice((1, 1, 2, 3)) if kind == "value" else chance.choice((0, 1))):
                self.add_test(chance, program.types)
        if kind == "throws":
            self.throws = True
            self.text.append("throws")
            if program.is_cxx and chance.random() < 0.7:
                self.thrown = chance.choice(("^int$", "Bad", "out", "i", "none"))
                self.text[-1] = f'throws "{self.thrown}"' if chance.random() < 0.5 else f"throws {self.thrown}"
            if chance.random() < 0.3:
                kind = "every"
        if kind == "over":
            self.over = chance.choice((200, 500, 1000, 3000, 20000, 10 ** 9))
            self.text.append(f"over {self.over}ns")
        if kind == "self" or (kind == "over" and chance.random() < 0.3):
            self.own = chance.choice((100, 200, 1000, 5000))
            self.text.append(f"self over {self.own}ns")
        if kind == "load":
            load, self.never = chance.choice((("rss > 1KiB", False), ("open > 1000000", True), ("cpu > 100000 %", True), ("calls/s > 1000000000", True)))
            self.text.append("over 0ns")
            self.load = f" while {load}"
        for name, text, most in ("slowest", "slowest {}", 16), ("every", "every {}", 9), ("first", "first {} a second", 6), ("next", "next {}", 20):
            if kind == name:
                setattr(self, name, chance.randrange(1, most + 1))
                self.text.append(text.format(getattr(self, name)))
        if not self.slowest:  # which is about all calls of a function
            self.add_names(chance, program)
        self.takes_time = bool(self.over or self.own or self.slowest or self.first or self.load)
        self.counts = bool(self.every or self.next)
        self.name(chance, program)

    def add_names(self, chance, program):
        """Functions in whose calls it must be, and those that it must be of."""
        for name in ("below", "call"):
            if chance.random() < 0.25:
                functions = set(chance.sample(range(program.count), min(program.count, chance.randrange(1, 5 if name == "below" else 9))))
                text = name + " ^f(" + "|".join(map(str, sorted(functions))) + r")\b"
                self.text.insert(chance.randrange(len(self.text) + 1), text)
                if name == "below":
                    self.below = functions
                else:
                    self.called = functions

    def add_test(self, chance, types):
        """Those of exit.NAME are decided by the recorder."""
        what = chance.choice(("returns", "returns", "k", "depth", "errno", "arg2", "exit.k", "exit.depth", "exit.a"))
        kind = types.get({"returns": "result", "arg2": "a"}.get(what, what.removeprefix("exit.")), "int")
        value = chance.choice((0, 2, 9, 11)) if what == "errno" else chance.randrange(-1, 9) if "depth" in what else chance.randrange(-30, 50)
        operator = chance.choice(list(OPERATORS))
        text = f"{what} {operator} {value}"
        test = lambda x, operator=operator, value=value: OPERATORS[operator](x, value)
        if chance.random() < 0.25:
            high = value + chance.randrange(20)
            is_out = chance.random() < 0.3
            text = f"{what} {'!=' if is_out else '='} {value}..{high}"
            test = lambda x, value=value, high=high, is_out=is_out: (value <= x <= high) != is_out
        elif what == "returns" and chance.random() < 0.2:
            word = chance.choice(("null", "true", "false"))
            text = f"returns {word}"
            test = lambda x, word=word: (x != 0) == (word == "true")
        self.text.append(text)
        self.tests.append((what, test))

    def name(self, chance, program):
        """A row of a call that has jumped, or whose coroutine was suspended, does not show which call it is. So times are of functions
        that do not jump; and in programs with coroutines only the whole log shows them."""
        functions = [i for i in range(program.count) if not self.is_open(program) or i not in program.jumping]
        self.functions = set(chance.sample(functions, min(len(functions), chance.randrange(1, 6)))) if self.is_open(program) or chance.random() < 0.8 else None
        self.rule = " and ".join(self.text) + (self.load or "")
        if self.load:  # stands behind the functions
            self.rule = " and ".join(self.text)
        if self.functions is not None:
            self.rule += " : ^f(" + "|".join(map(str, sorted(self.functions))) + r")\b"
        self.rule += self.load or ""

    def is_open(self, program):
        return self.takes_time or (self.counts and program.threads > 1)

    def is_late(self):
        """Whether the recorder decides it: the program sends it each call that may meet it."""
        return bool(self.thrown) or any(what.startswith("exit.") for what, _ in self.tests)

    def holds(self, call, how, leaving, has_words, in_program=False):
        """Whether a call meets what depends on it alone, or as much of it as the program decides."""
        if self.functions is not None and call.function not in self.functions:
            return False
        if self.throws and (how != "exception" or (self.thrown and not in_program and not re.search(self.thrown, THROWN[leaving["thrown"]]))):
            return False
        if self.called is not None and call.function not in self.called:
            return False
        if self.below is not None and not any(above.function in self.below for above in callers_of(call)):
            return False
        has_result = how in ("return", "tail")
        for what, test in self.tests:
            if in_program and what.startswith("exit."):
                continue
            known = has_result if what in ("returns", "errno") else has_words
            if not known or not test({"returns": leaving.get("result"), "errno": leaving.get("errno")}.get(what) if what in ("returns", "errno")
                                     else call.values["a" if what == "arg2" else what.removeprefix("exit.")]):
                return False
        return True


# == What a program has noted ==

class Thread(jumps.Thread):
    """`decide` says of a call and its number of rule whether it meets one that holds; `sends`, whether the program sends one of which
    the recorder decides that. Ends are in `all`, as they came."""

    def __init__(self, rules, decide, sends):
        super().__init__(rules)
        self.decide, self.sends, self.entering, self.leaving, self.all = decide, sends, None, {}, []

    def enter(self, function):
        call = super().enter(function)
        call.values = self.entering
        return call

    def meets(self, call, how):
        held = [number for number, rule in enumerate(self.rules) if rule.holds(call, how, self.leaving, self.has_words)]
        self.all.append((call, set(held)))
        return [number for number in range(len(self.rules)) if self.decide(call, number, number in held)]

    def may_meet(self, call, how, met):
        return any([bool(met)] + [self.sends(number) for number, rule in enumerate(self.rules)
                                  if rule.is_late() and rule.holds(call, how, self.leaving, self.has_words, True)])


def follow(path, program, rules, decide, sends=lambda number: True):
    data = memoryview(open(path, "rb").read()).cast("I")
    threads, at = [], 0
    def long_at(place):
        return data[place] | data[place + 1] << 32
    while at < len(data):
        end, thread = at + 1 + data[at], Thread(rules, decide, sends)
        at += 1
        while at < end:
            event, at = data[at], at + 1
            what = event >> 24
            if what == jumps.ENTER:
                thread.entering = {"tag": data[at], "depth": value_of("int", data[at + 1]), "a": long_at(at + 2),
                                   "k": value_of(program.types["k"], long_at(at + 4))}
                at += 6
            elif what == jumps.RETURN:
                thread.leaving = {"result": value_of(program.types["result"], long_at(at)), "errno": data[at + 2]}
                at += 3
            elif what == jumps.CATCH:
                thread.leaving = {"thrown": data[at]}
                at += 1
            thread.take(event)
        assert not any(thread.stacks.values()), "calls are open at the end"
        threads.append(thread)
    return threads


class Counter:
    """Rules that count, in the order of ends of a program with one thread."""

    def __init__(self, rules):
        self.rules, self.seen = rules, [0] * len(rules)

    def takes(self, number):
        rule = self.rules[number]
        self.seen[number] += 1
        if rule.every and self.seen[number] % rule.every:
            return False
        return not rule.next or self.seen[number] // max(rule.every, 1) <= rule.next


# == Checks ==

def check_pruned(sprof, what, program, rules, options):
    """Of rules that depend on time the rows say which calls have met them; all else follows from the notes."""
    jumps.run_traced(sprof, "kept", *options, "--args")
    known = {int(row["tag"]): int(row["rules"]) for row in
             jumps.rows(sprof, "kept", "SELECT v.value AS tag, c.rules FROM call_value v JOIN kept_call c ON c.run_id = v.run_id AND c.number = v.call_number WHERE v.name = 'tag' "
                        "AND v.value GLOB '[0-9]*'")}
    def model(rests_after):
        """`rests_after`: how many calls were sent for rules with `next` when these had taken all, until the recorder let them rest."""
        counter, sent = Counter(rules), [0]
        def decide(call, number, holds):
            rule = rules[number]
            if not rule.is_open(program):
                return holds and (not rule.counts or counter.takes(number))
            is_met = known.get(call.values["tag"], 0) >> number & 1
            if is_met and not holds:
                jumps.fail(f"{what}: a call of f{call.function} has met '{rule.rule}'")
            return is_met
        def sends(number):
            if not 0 < rules[number].next <= counter.seen[number]:
                return True
            sent[0] += 1
            return sent[0] <= rests_after
        return follow("kept", program, rules, decide, sends), sent[0]
    def models():
        threads, sent = model(1 << 30)
        yield threads
        for rests_after in range(sent):
            yield model(rests_after)[0]
    pairs = jumps.compare_kept(sprof, what, "kept", models())
    if pairs is None:
        return 0
    check_values(sprof, what, program, pairs)
    if "log" in options:
        check_log(sprof, what, "kept")
    return sum(map(len, pairs))


def check_log(sprof, what, file):
    """Each kept call has one row in the log, which has all calls."""
    one = jumps.rows(sprof, file, "SELECT (SELECT count(*) FROM v_call) AS logged, (SELECT sum(calls) FROM v_call_stats) AS calls, "
                     "(SELECT coalesce(sum(not_logged), 0) FROM probe_ledger) AS missing, count(*) AS kept, coalesce(sum(n = 1), 0) AS joined FROM "
                     "(SELECT (SELECT count(*) FROM v_call c WHERE c.thread_id = k.thread_id AND c.function_id = k.function_id AND c.start_ns = k.start_ns) "
                     "AS n FROM v_kept_call k)")[0]
    counts = {name: int(value) for name, value in one.items()}
    if counts["logged"] + counts["missing"] != counts["calls"] or not counts["kept"] - counts["missing"] <= counts["joined"] <= counts["kept"]:
        jumps.fail(f"{what}: {file}: the log and the kept calls differ: {counts}")


def check_values(sprof, what, program, pairs):
    shown = {(int(row["call_number"]), row["name"]): row["value"] for row in
             jumps.rows(sprof, "kept", "SELECT call_number, name, value FROM call_value WHERE name IN ('depth', 'a', 'k')")}
    for thread in pairs:
        for call, row in thread:
            for name in ("depth", "a", "k"):
                text = shown.get((int(row["call_id"]), name))
                if text is None or not re.fullmatch(r"[-0-9.e+]+", text):
                    continue
                wanted, seen = call.values[name], float(text) if program.types[name] in REALS else int(text)
                if wanted != seen:
                    jumps.fail(f"{what}: {name} of a call of f{call.function} is {seen}, not {wanted}")


def check_whole(sprof, what, program, rules, options):
    """With a row for each call, all rules are replayed."""
    jumps.run_traced(sprof, "whole", *options, "--keep", "every 1")
    threads = follow("whole", program, rules, lambda call, number, holds: True)
    pairs = jumps.compare_kept(sprof, what, "whole", [threads], 0)
    if pairs is None:
        return 0
    rows = {id(call): row for thread in pairs for call, row in thread}
    if "log" in options:
        check_log(sprof, what, "whole")
    for row in rows.values():
        if not int(row["rules"]) >> len(rules) & 1:
            jumps.fail(f"{what}: a call has not met 'every 1'")
    for number, rule in enumerate(rules):
        replay = Replay(what, program, number, rule)
        for thread in threads:
            replay.add([(call, rows[id(call)], number in held) for call, held in thread.all])
        replay.check()
    return len(rows)


class Replay:
    """What a rule has to have taken of all calls. Ticks are no whole nanoseconds: some comparisons decide nothing."""

    def __init__(self, what, program, number, rule):
        self.what, self.program, self.number, self.rule, self.threads = what, program, number, rule, []
        self.counter = Counter([rule])

    def fail(self, call, row):
        jumps.fail(f"{self.what}: whole: '{self.rule.rule}': f{call.function}, {row['duration_ns']} ns, self {row['self_ns']} ns, exit {row['exit']}, "
                   f"{call.values}: {'not ' if not self.has(row) else ''}met")

    def has(self, row):
        return int(row["rules"]) >> self.number & 1

    def add(self, calls):
        for call, row, holds in calls:
            if not holds and self.has(row):
                self.fail(call, row)
        self.threads.append([(call, row) for call, row, holds in calls if holds])

    def by_time(self, row):
        """True, False, or None where that is not known."""
        total, own = int(row["duration_ns"]), int(row["self_ns"])
        if total < self.rule.over - 2 or (own < self.rule.own - 2 and own < total):
            return False
        return None if total < self.rule.over + 2 or own < self.rule.own + 2 else True

    def check(self):
        rule, has_one_thread = self.rule, len(self.threads) == 1
        calls = [pair for thread in self.threads for pair in thread]
        met = sum(self.has(row) for _, row in calls)
        if rule.load:
            self.check_load()
        elif rule.slowest:
            self.check_slowest(calls, has_one_thread)
        elif rule.first:
            if met < min(rule.first, len(calls)) or (has_one_thread and not all(self.has(row) for _, row in calls[:rule.first])):
                jumps.fail(f"{self.what}: whole: '{rule.rule}': {met} of {len(calls)} calls, not the first ones")
            elif met > rule.first * (2 + max((int(row["start_ns"]) for _, row in calls), default=0) // 10 ** 9):
                jumps.fail(f"{self.what}: whole: '{rule.rule}': {met} of {len(calls)} calls are too many")
        elif rule.counts and not has_one_thread:
            wanted = len(calls) // rule.every if rule.every else min(rule.next, len(calls))
            if met != wanted:
                jumps.fail(f"{self.what}: whole: '{rule.rule}': {met} of {len(calls)} calls, not {wanted}")
        else:
            for call, row in calls:
                wanted = self.counter.takes(0) if rule.counts else self.by_time(row) if rule.takes_time else True
                if wanted is not None and wanted != self.has(row):
                    self.fail(call, row)

    def check_load(self):
        """What rests from the start on may hold later, and then holds for good."""
        for thread in self.threads:
            bits = [self.has(row) for _, row in thread]
            if self.rule.never and any(bits) or sorted(bits) != bits:
                jumps.fail(f"{self.what}: whole: '{self.rule.rule}': met by {sum(bits)} of {len(bits)} calls")

    def check_slowest(self, calls, has_one_thread):
        before = {}
        for call, row in calls:
            took = before.setdefault(call.function, [])
            time = max(1, int(row["duration_ns"]))
            surely = sum(other > time + 2 for other in took)
            perhaps = sum(other >= time - 2 for other in took)
            took.append(time)
            wanted = True if perhaps < self.rule.slowest else False if surely >= self.rule.slowest else None
            if has_one_thread and wanted is not None and wanted != self.has(row):
                self.fail(call, row)
        for call, row in calls:
            longer = sum(other >= int(row["duration_ns"]) - 2 for other in before[call.function])
            if longer <= self.rule.slowest and not self.has(row):
                self.fail(call, row)


def options_of(rules):
    return [option for rule in rules for option in ("--keep", rule.rule)]


def check(sprof, seed):
    """How many calls had the rows that they should have."""
    program, chance = Program(seed), random.Random(f"rules{seed}")
    source = f"program.{'cc' if program.is_cxx else 'c'}"
    with open(source, "w") as file:
        file.write(program.text())
    if subprocess.run([program.compiler, "-O2", "-g", "-w", "-pthread", source, "-o", "program"]).returncode:
        jumps.fail(f"seed {seed} does not compile")
    rules = [Rule(chance, program) for _ in range(chance.randrange(1, 9))]
    what = f"seed {seed}"
    known = [rule for rule in rules if not rule.is_open(program) or not program.with_coroutines]
    counted = random.Random(f"counted{seed}").choice(((), ("--callers",), ("--paths",), ("--mode", "log")))
    return ((check_pruned(sprof, what, program, known, [*options_of(known), *counted]) if known else 0) +
            check_whole(sprof, what, program, rules, [*options_of(rules), *counted]))


def check_one(sprof, seed):
    """None where the program was not equal."""
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            return check(sprof, seed)
        except SystemExit:
            return None
        finally:
            os.chdir("/")


def main():
    first, programs, sprof = int(sys.argv[1]), int(sys.argv[2]), os.path.abspath(sys.argv[3])
    jobs = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:  # it fails where a process of it is killed
        rows = list(pool.map(functools.partial(check_one, sprof), range(first, first + programs)))
    equal = sum(row is not None for row in rows)
    rows = sum(row or 0 for row in rows)
    print(f"{equal} of {programs} random programs have the rows of their whole logs, filtered ({rows} rows)")
    sys.exit(equal != programs or not rows)


if __name__ == "__main__":
    main()
