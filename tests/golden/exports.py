#!/usr/bin/env python3
"""Exports and other views of threads.txt, compared with what is expected.
    exports.py SPROF FORMAT|annotate [update]
    exports.py SPROF filters|diff|kinds|page|sources
"update" writes the expected text anew: read the diff before committing it. Files and lines, the kind of the code made at run
time, a host, and two phases are put into the imported recording, since `perf script` prints none of them.
"""
import csv
import difflib
import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "system"))
from protobuf import packed, pairs

# Function: its file and line. A frame's line is that of the function and the sixteenth part of its offset.
PLACES = {"main": ("main.c", 10), "walk": ("walk.c", 20), "outer": ("outer.c", 30), "inner": ("inner.h", 5),
          "leaf": ("walk.c", 40), "turn": ("walk.c", 50), "work": ("work.c", 60)}
JIT = 4
MARK_NS = 3_000_000  # the second phase begins


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr.decode()}")
    return done.stdout


def recording(sprof, path):
    shutil.copy(os.path.join(HERE, "threads.txt"), "threads.txt")
    run(sprof, "import", "threads.txt", "-o", path)
    with sqlite3.connect(path) as db:
        for name, (file, line) in PLACES.items():
            db.execute("UPDATE function SET file = ?, line = ? WHERE name = ?", (file, line, name))
            db.execute("UPDATE frame SET file = ?, line = ? + file_offset % 256 / 16 WHERE function_id IN "
                       "(SELECT id FROM function WHERE name = ?)", (file, line, name))
        db.execute("UPDATE module SET kind = ?, build_id = NULL WHERE name LIKE 'perf-%'", (JIT,))
        db.execute("UPDATE module SET build_id = '00112233445566778899aabbccddeeff00112233' WHERE name = 'app'")
        db.execute("UPDATE run SET frequency_hz = 500, host = 'here', start_realtime_ns = 1700000000250000000")
        db.execute("UPDATE thread SET end_ns = 6000000 WHERE name = 'worker'")


def put_phases(path):
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM phase")
        columns = "run_id, mode, app_interior, frequency_hz, stack_bytes, paused"
        for start, end, mark in ((0, MARK_NS, "early"), (MARK_NS, None, "late")):
            db.execute(f"INSERT INTO phase ({columns}, start_ns, end_ns, mark) VALUES (1, 1, 0, 500, 0, 0, ?, ?, ?)",
                       (start, end, mark))


# == pprof ==

def pprof_text(data):
    """What profile.proto means by the fields, spelt out."""
    profile = {}
    for number, value in pairs(gzip.decompress(data)):
        profile.setdefault(number, []).append(value)
    texts = [value.decode() for value in profile[6]]

    def messages(number):
        return [dict(pairs(value)) for value in profile.get(number, [])]
    functions = {m[1]: f"{texts[m[2]]} ({texts[m.get(4, 0)] or '?'}:{m.get(5, 0)})" for m in messages(5)}
    mappings = {m[1]: texts[m[5]] + (f" {texts[m[6]]}" if m.get(6) else "") for m in messages(3)}
    places = {}
    for value in profile[4]:
        facts = dict(pairs(value))
        lines = [dict(pairs(line)) for number, line in pairs(value) if number == 4]
        places[facts[1]] = [f"{functions[line[1]]} at {line.get(2, 0)} [{mappings.get(facts.get(2), '?')} {facts.get(3, 0):#x}]"
                            + (" inlined" if i + 1 < len(lines) else "") for i, line in enumerate(lines)]
    types = [" ".join(texts[m.get(key, 0)] for key in (1, 2)) for m in messages(1)]
    yield f"types {', '.join(types)}; default {texts[profile[14][0]]}; period {profile.get(12, [0])[0]}"
    yield f"time {profile[9][0]}; first mapping {mappings[dict(pairs(profile[3][0]))[1]]}"
    for value in profile[2]:
        labels = [dict(pairs(label)) for number, label in pairs(value) if number == 3]
        sample = dict(pairs(value))
        yield ", ".join(map(str, packed(sample[2]))) + "; " + ", ".join(
            f"{texts[label[1]]} {texts[label[2]] if label.get(2) else label.get(3, 0)}" for label in labels)
        for location in packed(sample[1]):
            yield from ("    " + line for line in places[location])


# == Comparing ==

def normal(format, data):
    """The export as text whose lines can be compared."""
    if format == "pprof":
        return "\n".join(pprof_text(data)) + "\n"
    text = data.decode()
    if format in ("speedscope", "firefox", "chrome"):
        text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
        # Lists of numbers on one line, which keeps the expected files short.
        text = re.sub(r"\[\s+([-\d.,\snulltrefas]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]", text) + "\n"
    return text


def put_sources(directory):
    """A file for each of the places, whose lines say where they are; older than the recording."""
    os.mkdir(directory)
    for name in {file for file, _ in PLACES.values()}:
        path = os.path.join(directory, name)
        with open(path, "w") as file:
            file.writelines(f"{name} line {number}\n" for number in range(1, 80))
        os.utime(path, (1_600_000_000, 1_600_000_000))


# What `sprof annotate` shows: lines of recursion once for a sample, so many lines around, and no program of that name.
ANNOTATED = (("walk", "-C", "2", "--format", "csv"), ("walk", "-C", "1"), ("walk", "--no-instructions"), ("main", "-C", "0", "--format", "csv"),
             ("main", "-C", "0", "--format", "csv", "--thread", "other"), ("main", "-C", "0", "--format", "csv", "--focus", "turn"),
             ("main", "-C", "0", "--format", "csv", "--cpu", "1"), ("main", "-C", "0", "--format", "csv", "--time", "0,0.0011"),
             ("main", "-C", "0", "--format", "csv", "--event", "cache-misses"), ("main", "-C", "0", "--format", "csv", "--phase", "2"),
             ("main", "-C", "0", "--format", "csv", "--mark", "early", "--process", "app"), ("walk", "-C", "0", "--format", "csv", "--mode", "pc"),
             ("inner", "-C", "0"), ("outer", "-C", "0"))


def annotated(sprof):
    put_sources("there")
    for words in ANNOTATED:
        yield f"$ sprof annotate {' '.join(words)}\n".encode()
        yield run(sprof, "annotate", words[0], "t.db", "--source", "there", *words[1:]).replace(b"\r", b"")


def compare(sprof, format, update):
    expected = os.path.join(HERE, "expected", "export-" + format)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        recording(sprof, "t.db")
        if format == "annotate":
            put_phases("t.db")
        text = normal(format, b"".join(annotated(sprof)) if format == "annotate" else
                      run(sprof, "export", "-f", format, "t.db", "-o", "-"))
    if update:
        with open(expected, "w") as file:
            file.write(text)
        return
    with open(expected) as file:
        difference = list(difflib.unified_diff(file.read().splitlines(), text.splitlines(), "expected", "found", lineterm=""))
    if difference:
        sys.exit("\n".join(difference))


# What each filter of `sprof export` and `sprof script` leaves, as {leaf: samples}.
ALL = {"inner": 2, "leaf": 3, "walk": 1, "sys_read": 1, "compiled": 1, "work": 1}
FILTERS = {
    (): ALL,
    ("--phase", "1"): {"inner": 2, "leaf": 2, "compiled": 1, "work": 1},
    ("--phase", "2"): {"leaf": 1, "walk": 1, "sys_read": 1},
    ("--mark", "ear*"): {"inner": 2, "leaf": 2, "compiled": 1, "work": 1},
    ("--cpu", "1,3"): {"leaf": 1, "walk": 1, "sys_read": 1},
    ("--cpu", "2-3"): {"leaf": 2},
    ("--event", "cache-misses"): {"leaf": 1},
    ("--host", "here"): ALL,
    ("--time", "0,0.0011"): {"inner": 2, "compiled": 1},
    ("--time", "0.004,1"): {"walk": 1, "sys_read": 1},
    ("--thread", "worker"): {"compiled": 1, "work": 1},
    ("--thread", "200"): {"leaf": 2},
    ("--process", "other"): {"leaf": 2},
    ("--module", "app"): {"inner": 2, "leaf": 3, "walk": 1, "work": 1},
    ("--focus", "^turn$"): {"walk": 1, "sys_read": 1},
    ("--ignore", "^turn$"): {"inner": 2, "leaf": 3, "compiled": 1, "work": 1},
    ("--hide", "^(leaf|inner|compiled)$"): {"outer": 2, "walk": 2, "main": 2, "sys_read": 1, "work": 2},
    ("-m", "app"): {"inner": 2, "leaf": 3, "walk": 1, "turn": 1, "compiled": 1, "work": 1},
    ("-m", "app", "--system-module", "perf-*"): {"inner": 2, "leaf": 3, "walk": 1, "turn": 1, "work": 2},
    ("-m", "app", "--app-module", "libc*"): {"inner": 2, "leaf": 3, "walk": 1, "read": 1, "compiled": 1, "work": 1},
    ("--show-from", "^walk$"): None,  # by its stacks below
}


def leaves(stacks):
    counts = {}
    for functions, samples in stacks:
        counts[functions[-1]] = counts.get(functions[-1], 0) + samples
    return counts


def folded(sprof, *words):
    lines = run(sprof, "export", "-f", "folded", "t.db", "-o", "-", *words).decode().splitlines()
    return [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in lines]


def scripted(sprof, *words):
    words += () if "--event" in words else ("--event", "cpu-clock")
    rows = csv.DictReader(io.StringIO(run(sprof, "script", "t.db", "--format", "csv", *words).decode()))
    return [(row["stack_leaf_first"].split(";")[::-1], int(row["count"])) for row in rows]


def filters(sprof):
    wrong = []
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        recording(sprof, "t.db")
        put_phases("t.db")
        for words, expected in FILTERS.items():
            for command in (folded, scripted):
                if command is scripted and "--show-from" in words:
                    continue
                stacks = command(sprof, *words)
                if expected is not None and leaves(stacks) != expected:
                    wrong.append(f"{command.__name__} {' '.join(words)}: {leaves(stacks)}, expected {expected}")
        shown = dict((";".join(functions), samples) for functions, samples in folded(sprof, "--show-from", "^walk$"))
        if {name: samples for name, samples in shown.items() if name.startswith("walk")} != {"walk;walk;leaf": 1, "walk;turn;walk": 1}:
            wrong.append(f"--show-from: {shown}")
    sys.exit("\n".join(wrong) or 0)


# == Comparisons ==

BY_FUNCTION = {"inner": 2, "leaf": 5, "walk": 1, "sys_read": 1, "work": 5, "compiled": 1}
BY_LINE = {"inner.h:6 inner": 2, "walk.c:41 leaf": 5, "walk.c:23 walk": 1, "sys_read": 1, "work.c:61 work": 5, "compiled": 1}
# Of a recursion a line counts once for each sample.
BY_LINE_INCLUSIVE = {"main.c:11 main": 2, "main.c:12 main": 4, "main.c:13 main": 3, "outer.c:31 outer": 2, "inner.h:6 inner": 2,
                     "walk.c:22 walk": 4, "walk.c:23 walk": 1, "walk.c:41 leaf": 5, "walk.c:51 turn": 1, "walk.c:52 turn": 1, "read": 1,
                     "sys_read": 1, "work.c:61 work": 6, "compiled": 1}
BY_PATH = {"main › outer › inner": 2, "main › walk › walk › leaf": 3, "main › walk › turn › walk": 1, "main › turn › read › sys_read": 1,
           "work": 5, "work › compiled": 1, "main › leaf": 2}
# Milliseconds of each row; the runs before took 2 s, and those after 8 s.
COMPARED = {
    ("function", "--per", "run"): (BY_FUNCTION, 1e6, 1e6),
    ("function", "--per", "second"): (BY_FUNCTION, 1e6 / 2, 1e6 / 8),
    ("function", "--per", "sample"): (BY_FUNCTION, 1 / 15, 1 / 15),
    ("function", "--per", "run", "--thread", "worker"): ({"work": 5, "compiled": 1}, 1e6, 1e6),
    ("line", "--per", "run"): (BY_LINE, 1e6, 1e6),
    ("line", "--per", "run", "--inclusive"): (BY_LINE_INCLUSIVE, 1e6, 1e6),
    ("path", "--per", "run"): (BY_PATH, 1e6, 1e6),
    ("module", "--per", "run"): ({"app": 13, "[kernel]": 1, "perf-100.map": 1}, 1e6, 1e6),
    ("module", "--per", "run", "--inclusive"): ({"app": 15, "[kernel]": 1, "libc.so.6": 1, "perf-100.map": 1}, 1e6, 1e6),
}


def diff(sprof):
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        # By way of pprof: an importer adds up lines that it is given.
        recording(sprof, "t.db")
        run(sprof, "export", "-f", "pprof", "t.db", "-o", "t.pprof")
        run(sprof, "import", "t.pprof", "-o", "before.db")
        shutil.copy("before.db", "after.db")
        for file, seconds in (("before.db", 2), ("after.db", 8)):
            with sqlite3.connect(file) as db:
                db.execute("UPDATE run SET duration_ns = ?", (seconds * 10**9,))

        def rows(by, *words):
            text = run(sprof, "diff", "before.db", "after.db", "--by", by, "--all", "--format", "csv", *words).decode()
            return {row[by]: (float(row["before_value"]), float(row["after_value"])) for row in csv.DictReader(io.StringIO(text))}
        for (by, *words), (milliseconds, before, after) in COMPARED.items():
            found = rows(by, *words)
            assert found.keys() == milliseconds.keys(), (by, words, found)
            for name, weight in milliseconds.items():
                near = [abs(value / (weight * unit) - 1) < 1e-6 for value, unit in zip(found[name], (before, after))]
                assert all(near), (by, words, name, found[name])
        assert len(rows("path", "-n", "3")) == 3 and len(rows("path", "-n", "0")) == len(BY_PATH)


def kinds(sprof):
    """--app-module and --system-module, of which the last match wins, as `sprof import` takes them; `sprof symbolize` says that it
    cannot."""
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        shutil.copy(os.path.join(HERE, "threads.txt"), "threads.txt")
        for words, leaf in (((), "turn"), (("--app-module", "libc*"), "read"), (("--app-module", "libc*", "--system-module", "libc.so.6"), "turn")):
            run(sprof, "import", "threads.txt", "-o", "t.db", *words)
            stacks = folded(sprof, "-m", "app")
            assert [";".join(functions) for functions, _ in stacks if functions[-1] in ("read", "turn")] == [
                "main;turn" + (";read" if leaf == "read" else "")], (words, stacks)
        done = subprocess.run([sprof, "symbolize", "t.db", "--app-module", "libc*"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0 and b"run 1 was imported" in done.stderr and b"`sprof import`" in done.stderr, done


# == The page, by its own script ==

# Seconds and milliseconds of weight of samples in main;walk;walk;leaf.
TIMES = ((10.0, 1), (10.05, 2), (11.31, 4), (12.62, 8))


def of_page(file, *words):
    node = shutil.which("node")
    if not node:
        print("SKIPPED: no node")
        sys.exit(77)
    return json.loads(run(node, os.path.join(HERE, "page.js"), file, *words))


def page(sprof):
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        with open("times.txt", "w") as file:
            for seconds, weight_ms in TIMES:
                frames = (("410 leaf+0x10", "220 walk+0x20", "220 walk+0x20", "120 main+0x20") if seconds < 12 else ("130 main+0x30",))
                file.write(f"app 100/100 [000] {seconds:.6f}: {weight_ms}000000 cpu-clock:\n" +
                           "".join(f"\t{frame} (/opt/app)\n" for frame in frames) + "\n")
        run(sprof, "import", "times.txt", "-o", "t.db")
        run(sprof, "html", "t.db", "-o", "t.html")
        shown = of_page("t.html", "walk", "leaf", "main", "nothing")
    # A sample that a search matches twice counts once.
    expected = {"walk": 7_000_000, "leaf": 7_000_000, "main": 15_000_000, "nothing": 0}
    assert shown["total"] == 15_000_000 and shown["found"] == expected, shown["found"]
    # A column a second, a row for each slot of it, and as dark as it is busy: 95 % light where idle, 50 % at most.
    slots = {}
    for seconds, weight_ms in TIMES:
        slot = int((seconds - TIMES[0][0]) * 1e9 / shown["slotNs"] + 1e-6)
        slots[slot] = slots.get(slot, 0) + weight_ms
    per_second = round(1e9 / shown["slotNs"])
    assert len(slots) == len(TIMES) and len(shown["cells"]) >= max(slots) + 1, (slots, len(shown["cells"]))
    for number, cell in enumerate(shown["cells"]):
        weight_ms = slots.get(number, 0)
        expected = {"column": number // per_second, "row": number % per_second, "slot": number,
                    "lightness": 95 - 45 * weight_ms / max(slots.values())}
        assert all(abs(cell[key] - value) < 0.01 for key, value in expected.items()), (cell, expected)
        said = f"{weight_ms}.0 ms" if weight_ms else "0 ns"
        assert cell["said"].endswith(": " + said) and cell["said"].startswith(f"{number * shown['slotNs'] / 1e9:.2f} "), cell


def sources(sprof):
    """`sprof html --source`: the page has the text of the lines, and without it has none."""
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        recording(sprof, "t.db")
        put_sources("there")
        for words, there in (((), False), (("--source", "there"), True)):
            run(sprof, "html", "t.db", "-o", "t.html", *words)
            lines = of_page("t.html")["lines"]
            assert lines, "the page has no lines"
            for file, number, text in lines:
                assert text == (f"{file} line {number}" if there else ""), (words, file, number, text)


def main(sprof, what, update=""):
    sprof = os.path.abspath(sprof)
    if what in ("filters", "diff", "kinds", "page", "sources"):
        globals()[what](sprof)
    else:
        compare(sprof, what, update == "update")


if __name__ == "__main__":
    main(*sys.argv[1:])
