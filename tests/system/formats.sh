#!/bin/bash
# What other tools write and read, of a program that was really recorded.
#   formats.sh import_back|import_perf|chrome_bounded|same_numbers
set -uf
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
. "$here/subject.sh"

case $1 in
import_back)
    # What was exported comes back with the same numbers, by every way to count that the format holds.
    record_subject
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o w.db --system-module lib.so 2>err || fail "import"
    for recording in a w; do
        "$SPROF" report $recording.db -n 0 --format csv >functions.csv 2>err || fail "report"
        for format in folded pprof; do
            "$SPROF" export -f $format $recording.db -o x.$format 2>err || fail "export $format"
            "$SPROF" import x.$format -o back.db --system-module lib.so 2>err || fail "import $format"
            grep -q "($format)" err || fail "$format was not recognized"
            views=("" --inclusive --tree --bottom-up --edges)
            [ $format = folded ] || views+=(--modules --threads --processes)
            for view in "${views[@]}"; do
                for file in $recording back; do
                    "$SPROF" report $file.db $view -n 0 --format csv >$file.csv 2>err || fail "report $view"
                done
                python3 - $format $recording.csv back.csv <<'EOF' || fail "$recording as $format: report $view"
import collections, csv, sys
def rows(path):
    return csv.DictReader(open(path, encoding="utf-8", newline=""))
# Functions of one name in two modules (clock_gettime of libc calls that of the vdso) are one in folded stacks.
modules = collections.Counter(row["function"] for row in rows("functions.csv"))
def table(path):
    sums = {}
    for row in rows(path):
        if sys.argv[1] == "folded" and any(modules[row[key]] > 1 for key in ("function", "caller", "callee") if key in row):
            continue
        # Folded stacks have neither modules nor weights; ± needs the weight of each sample.
        words = tuple(row[key] for key in ("function", "caller", "callee", "thread", "tid", "process", "pid", "depth") if key in row)
        if sys.argv[1] != "folded":
            words += tuple(value for key, value in row.items() if "module" in key)
        numbers = [int(value) for key, value in row.items()
                   if key.endswith("samples") or (sys.argv[1] == "pprof" and key.endswith("weight"))]
        sums[words] = [a + b for a, b in zip(sums.get(words, [0] * len(numbers)), numbers)]
    # Time without a sample, where samples were lost, has none in folded stacks.
    return {words: numbers for words, numbers in sums.items() if sys.argv[1] != "folded" or any(numbers)}
was, now = table(sys.argv[2]), table(sys.argv[3])
if not was or was != now:
    sys.exit(str(set(map(str, was.items())) ^ set(map(str, now.items()))))
EOF
            done
        done
    done
    # From standard input, too.
    "$SPROF" import - -o piped.db <x.pprof 2>err || fail "import -"
    "$SPROF" import -f pprof x.folded -o piped.db 2>err && fail "folded stacks taken for a profile"
    grep -q 'no pprof profile' err || fail "$(cat err)"
    ;;
import_perf)
    command -v perf >/dev/null || skip "no perf"
    # Of user code, with build ids where files are mapped: Debian's perf aborts on other ones, and, beside
    # sprof's recordings, on what it finds without.
    perf record --buildid-mmap -N -e cpu-clock:u -c 1003009 -g -o p.data ./subject >out 2>err || skip "perf: $(tail -n1 err)"
    perf script -i p.data --no-inline >p.txt 2>err || fail "perf script"
    samples=$(grep -c 'cpu-clock' p.txt)
    work=$(awk '/cpu-clock/ { getline; if ($2 ~ /^work/) n++ } END { print n }' p.txt)
    [ "$work" -gt 0 ] || fail "no sample in work"
    for input in p.data p.txt; do
        "$SPROF" import $input -o p.db 2>err || fail "import $input: $(cat err)"
        "$SPROF" report p.db --inclusive -n 0 --format csv | python3 -c '
import csv, sys
rows = [row for row in csv.DictReader(sys.stdin) if row["function"] == "work"]
samples, weight = (sum(int(row[key]) for row in rows) for key in ("exclusive_samples", "inclusive_weight"))
if samples != int(sys.argv[1]) or weight < samples * 1003009:
    sys.exit(f"{samples} samples of {sys.argv[1]}, weight {weight}")' "$work" || fail "$input: work"
        [ "$("$SPROF" sql p.db --format csv 'SELECT samples FROM v_quality' | tail -n 1 | tr -d '\r')" = "$samples" ] ||
            fail "$input: not $samples samples"
    done
    # perf is missing, or cannot read the file.
    mkdir bin
    sha256sum p.db >kept
    PATH=$PWD/bin "$SPROF" import p.data -o p.db 2>err && fail "without perf"
    grep -q 'linux-perf' err && grep -q 'perf script' err || fail "no cure: $(cat err)"
    printf '#!/bin/sh\necho "warning: old" >&2\necho "incompatible file format" >&2\nexit 255\n' >bin/perf
    chmod +x bin/perf
    PATH=$PWD/bin:$PATH "$SPROF" import p.data -o p.db 2>err && fail "another version"
    grep -q 'incompatible file format' err && grep -q 'another version' err || fail "no cure: $(cat err)"
    printf '#!/bin/sh\necho "what is this"\n' >bin/perf
    PATH=$PWD/bin:$PATH "$SPROF" import p.data -o p.db 2>err && fail "output that nobody knows"
    grep -q 'perf script:1:' err || fail "no line: $(cat err)"
    head -c 300 p.data >cut.data
    "$SPROF" import cut.data -o p.db 2>err && fail "a cut file"
    grep -q 'perf cannot read cut.data' err || fail "$(cat err)"
    "$SPROF" import - -o p.db <p.data 2>err && fail "perf.data from standard input"
    grep -q 'give its name' err || fail "$(cat err)"
    sha256sum -c kept >/dev/null || fail "the recording that was there has changed"
    ;;
chrome_bounded)
    # Stacks of 120 frames with nothing in common: two slices of a sample each, more than a viewer opens.
    python3 - >deep.txt <<'EOF'
for sample in range(18000):
    print(f"p 7 {1 + sample / 1000:.6f}: cycles:")
    for frame in range(120):
        print(f"\t{frame + 1} {'ab'[sample % 2]}{frame} (/p)")
    print()
EOF
    "$SPROF" import deep.txt -o deep.db 2>err || fail "import"
    "$SPROF" export -f chrome deep.db -o deep.json 2>err || fail "export"
    python3 - <<'EOF' || fail "not a bounded, nested trace"
import json, sys
trace = json.load(open("deep.json"))
stride = trace["otherData"]["one_sample_shown_in"]
open, begun = [], 0
for event in trace["traceEvents"]:
    if event["ph"] == "B":
        open.append(event["name"])
        begun += 1
    elif event["ph"] == "E" and open.pop() != event["name"]:
        sys.exit("an end without its beginning")
print(stride, begun)
sys.exit(bool(open) or stride < 2 or not 120 <= begun <= 2000000)
EOF
    # A recording of the usual kind is shown whole.
    record_subject
    "$SPROF" export -f chrome a.db -o - 2>err | grep -q '"one_sample_shown_in":1[^0-9]' || fail "samples left out"
    ;;
same_numbers)
    # One recording: whoever is asked, a function has the same samples.
    command -v node >/dev/null || skip "no node"
    record_subject
    "$SPROF" html a.db -o page.html 2>err && node "$here/page_numbers.js" page.html >page.json 2>err || fail "the page"
    python3 - <<'EOF' || fail "they differ"
import collections, csv, html, io, json, os, re, subprocess, sys
sprof = os.environ["SPROF"]

def ask(*words):
    done = subprocess.run([sprof, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr.decode()}")
    return done.stdout.decode()

def rows(text, **how):
    return csv.DictReader(io.StringIO(text), **how)

def added(pairs):
    sums = collections.Counter()
    for name, samples in pairs:
        sums[name] += int(samples)
    return +sums

def by_leaf(stacks):  # (functions root first, samples)
    return added((stack[-1], samples) for stack, samples in stacks)

def by_any(stacks):
    return added((name, samples) for stack, samples in stacks for name in set(stack))

report = ("report", "a.db", "-n", "0")
exclusive = added((row["function"], row["exclusive_samples"]) for row in json.loads(ask(*report, "--format", "json"))["rows"])
inclusive = added((row["function"], row["inclusive_samples"])
                  for row in json.loads(ask(*report, "--inclusive", "--format", "json"))["rows"])
if exclusive["work"] < 10 or inclusive["main"] < exclusive["work"]:
    sys.exit(f"the recording is too small: {exclusive}")

answers = {"exclusive": {}, "inclusive": {}}
for measure, more in (("exclusive", ()), ("inclusive", ("--inclusive",))):
    answer = answers[measure]
    answer["csv"] = added((row["function"], row[measure + "_samples"]) for row in rows(ask(*report, *more, "--format", "csv")))
    shown = ask(*report, *more, "--show", f"function,{measure}_samples", "--columns", "500")
    answer["text"] = added((name, count.replace(" ", "")) for name, count in
                           re.findall(r"^  (\S.*?)  +(\d[\d \u202f\u00a0]*)$", shown, re.M))
    marked = ask(*report, *more, "--show", f"function,{measure}_samples", "--format", "markdown")
    answer["markdown"] = added((re.sub(r"\\(.)", r"\1", name).strip("`"), re.sub(r"\D", "", count)) for name, count in
                               re.findall(r"^\| *(.+?) *\| *(\d[^|]*?) *\|$", marked, re.M))
    apart = added((row["function"], row[measure + "_samples"]) for row in
                  json.loads(ask(*report, *more, "--no-join-parts", "--format", "json"))["rows"])
    stored = added((row["function"], row["n"]) for row in rows(ask(
        "sql", "a.db", "--format", "csv", f"SELECT function, sum({measure}_samples) AS n FROM v_function GROUP BY function")))
    if stored != apart: # tables hold parts of functions apart
        sys.exit(f"{measure} of sql: {stored - apart} too many, {apart - stored} missing")

# Stacks, each way to have them; all but these name functions as tables do.
def of_tree(text, leaf_first):
    parents, stacks = {}, []
    for row in json.loads(text)["rows"]:
        parents[row["id"]] = (row["parent"], row["function"])
        stack, at = [], row["id"]
        while at:
            at, name = parents[at]
            stack.append(name)
        samples = row["inclusive_samples"] if leaf_first else row["exclusive_samples"]
        stacks.append((stack if leaf_first else stack[::-1], samples, row["parent"]))
    return stacks

tree = [(stack, n) for stack, n, _ in of_tree(ask("report", "a.db", "--tree", "--format", "json"), False) if n]
turned = of_tree(ask("report", "a.db", "--bottom-up", "--format", "json"), True)
folded = [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1]))
          for line in ask("export", "-f", "folded", "a.db", "-o", "-").splitlines()]
tsv = [(row["stack_root_first"].split(";"), int(row["samples"])) for row in
       rows(ask("export", "-f", "tsv", "a.db", "-o", "-"), delimiter="\t", quoting=csv.QUOTE_NONE)]
for name, stacks in (("tree", tree), ("folded", folded), ("tsv", tsv)):
    answers["exclusive"][name], answers["inclusive"][name] = by_leaf(stacks), by_any(stacks)
answers["exclusive"]["bottom-up"] = added((stack[0], n) for stack, n, parent in turned if not parent)
for format in ("pprof", "folded"):
    ask("export", "-f", format, "a.db", "-o", "x." + format)
    ask("import", "x." + format, "-o", format + ".db")
    for measure in answers:
        answers[measure][format + ", imported"] = added((row["function"], row[measure + "_samples"]) for row in rows(
            ask("report", format + ".db", "-n", "0", "--inclusive", "--format", "csv")))
listed = list(rows(ask("script", "a.db", "--format", "csv")))
script = [(row["stack_leaf_first"].split(";")[::-1], row["count"]) for row in listed]
answers["exclusive"]["script"], answers["inclusive"]["script"] = by_leaf(script), by_any(script)

# Formats that hold every sample. Firefox's stacks name the one outside them by their distance to it.
firefox = json.loads(ask("export", "-f", "firefox", "a.db", "-o", "-"))
shared, stacks, samples = firefox["shared"], [], []
for number, (frame, distance) in enumerate(zip(shared["stackTable"]["frame"], shared["stackTable"]["prefixOffset"])):
    name = shared["stringArray"][shared["funcTable"]["name"][shared["frameTable"]["func"][frame]]]
    stacks.append((stacks[number - distance] if distance else []) + [name])
for thread in firefox["threads"]:
    samples += [(stacks[stack], weight) for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"])]
answers["exclusive"]["firefox"], answers["inclusive"]["firefox"] = by_leaf(samples), by_any(samples)

# Speedscope's file has CPU time: of all threads together, and thread by thread.
speedscope = json.loads(ask("export", "-f", "speedscope", "a.db", "-o", "-"))
names = [frame["name"] for frame in speedscope["shared"]["frames"]]
table = list(rows(ask(*report, "--inclusive", "--format", "csv")))
of_one = {name for name, count in collections.Counter(row["function"] for row in table).items() if count == 1}
weighed = collections.Counter()

def timed(measure):
    return added((row["function"], row[measure + "_weight"]) for row in table if row["function"] in of_one)

def unique(sums):
    return added((name, time) for name, time in sums.items() if name in of_one)
for number, profile in enumerate(speedscope["profiles"]):
    stacks = [([names[frame] for frame in stack], weight) for stack, weight in zip(profile["samples"], profile["weights"])]
    if profile["unit"] != "nanoseconds" or profile["endValue"] - profile["startValue"] != sum(profile["weights"]):
        sys.exit(f"speedscope: {profile['name']} is not as long as its samples")
    if number:
        weighed += by_leaf(stacks)
    elif unique(by_leaf(stacks)) != timed("exclusive") or unique(by_any(stacks)) != timed("inclusive"):
        sys.exit(f"speedscope has {unique(by_any(stacks))}, the report {timed('inclusive')}")
# Time that has no sample is of all threads: it has no place in the order of one.
by_thread = timed("exclusive")
by_thread.pop("[not sampled]", None)
if unique(weighed) != by_thread:
    sys.exit(f"speedscope has {unique(weighed)} by thread, the report {by_thread}")

# Chrome's slices: what is open when a sample is taken is its stack.
trace = [event for event in json.loads(ask("export", "-f", "chrome", "a.db", "-o", "-"))["traceEvents"] if event["ph"] in "BE"]
taken = {(int(row["tid"]), int(row["time_ns"])): stack for row, (stack, count) in zip(listed, script) if int(count)}
opened, at = {}, 0
for (tid, time_ns), stack in sorted(taken.items(), key=lambda item: item[0][1]):
    while at < len(trace) and round(trace[at]["ts"] * 1000) <= time_ns:
        event, at = trace[at], at + 1
        slices = opened.setdefault(event["tid"], [])
        if event["ph"] == "B":
            slices.append(event["name"])
        elif slices.pop() != event["name"]:
            sys.exit(f"chrome: {event} ends another slice")
    if opened[tid] != stack:
        sys.exit(f"chrome has {opened[tid]} at {time_ns}, the sample {stack}")

# Titles of the picture are inclusive; a block that is too narrow to be seen is not drawn.
drawn = collections.Counter()
for name, samples in re.findall(r"<title>(.*?) \((\d[^ ]*) samples?, [\d.]+ %\) in", ask("export", "-f", "svg", "a.db", "-o", "-")):
    drawn[html.unescape(name)] += int(re.sub(r"\D", "", samples))
recursive = {name for stack, _ in tree for name in stack if stack.count(name) > 1}
boxes, wide, total = {}, collections.Counter(), 0
for row in rows(ask("export", "-f", "tsv", "a.db", "-o", "-"), delimiter="\t", quoting=csv.QUOTE_NONE):
    path, total = (), total + int(row["weight"])
    for name in row["stack_root_first"].split(";"):
        path += name,
        box = boxes.setdefault(path, [0, 0])
        box[0] += int(row["weight"])
        box[1] += int(row["samples"])
for path, (weight, samples) in boxes.items():
    if weight > total / 3000: # a third of a pixel
        wide[path[-1]] += samples
for name, samples in inclusive.items():
    if name not in recursive and not wide[name] <= drawn[name] <= samples:
        sys.exit(f"svg has {drawn[name]} samples of {name}, {wide[name]} in blocks that can be seen, the report {samples}")
if drawn.keys() - inclusive.keys():
    sys.exit(f"svg has {drawn.keys() - inclusive.keys()}, which the report has not")
calls = collections.Counter()
for row in json.loads(ask("report", "a.db", "--edges", "-n", "0", "--format", "json"))["rows"]:
    calls[row["caller"], row["callee"]] += next(value for key, value in row.items() if key.endswith("samples"))
for stack, n in tree:
    for call in set(zip(stack, stack[1:])):
        calls[call] -= n
if any(calls.values()):
    sys.exit(f"edges and the tree differ in {dict(+calls)}, {dict(-calls)}")
# Values of callgrind behind each line number are the function's own, or what a call passes on; its viewers add
# both up. In recursion they meet a sample more than once.
names, own, passed, skip = {}, collections.Counter(), collections.Counter(), False
for line in ask("export", "-f", "callgrind", "a.db", "-o", "-").splitlines():
    match = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line)
    if match:
        names.setdefault(match[2], match[3])
        current = names[match[2]] if match[1] == "fn" else current
    elif line.startswith("calls="):
        skip = True
    elif re.match(r"[+\-*\d]", line):
        (passed if skip else own)[current] += int(line.split()[1])
        skip = False
answers["exclusive"]["callgrind"] = +own
for name, samples in inclusive.items():
    if name not in recursive and own[name] + passed[name] != samples:
        sys.exit(f"callgrind adds up to {own[name] + passed[name]} samples of {name}, the report has {samples}")

# The graph for Graphviz has percentages of the functions that are large enough.
dot = ask("export", "-f", "dot", "a.db", "-o", "-")
keyed = [((row["function"], row["module"]), row) for row in rows(ask(*report, "--inclusive", "--format", "csv"))]
keys = collections.Counter(key for key, _ in keyed)
labels = re.findall(r'\\n([\d.]+) % of ([\d.]+) %".*tooltip="((?:[^"\\]|\\.)*) · ((?:[^"\\]|\\.)*)"', dot)
drawn = {(re.sub(r"\\(.)", r"\1", name), re.sub(r"\\(.)", r"\1", module)): (float(own), float(all))
         for own, all, name, module in labels}
for key, row in keyed:
    if keys[key] > 1: # static functions of one name
        continue
    expected_percent = float(row["exclusive_percent"]), float(row["inclusive_percent"])
    if key in drawn:
        if any(abs(a - b) > 0.051 for a, b in zip(drawn[key], expected_percent)):
            sys.exit(f"dot says {drawn[key]} of {key}, the report {expected_percent}")
    elif expected_percent[1] > 0.55:
        sys.exit(f"dot lacks {key}")
if not drawn.keys() <= keys.keys():
    sys.exit(f"dot has {drawn.keys() - keys.keys()}, which the report has not")

# The page's own script, without a browser: functions in each mode, modules, both trees, threads, and a range of time.
page = json.load(open("page.json"))

def of_page(listed):
    return {measure: added((row["name"], row[measure]) for row in listed) for measure in answers}

def times_of_page(listed):
    return {measure: added((row["name"], row[measure + "Time"]) for row in listed) for measure in answers}

def of_report(key, column, *more):
    listed = list(rows(ask(*report, "--inclusive", "--format", "csv", *more)))
    return {measure: added((row[key], row[f"{measure}_{column}"]) for row in listed) for measure in answers}

how = {"full": (), "app": ("-m", "app"), "app-drop": ("-m", "app", "--app-interior", "drop"),
       "pc-app": ("-m", "pc", "--frame", "app"), "pc": ("-m", "pc")}
if page["pruned"] or page["modes"].keys() != how.keys():
    sys.exit(f"the page is pruned or has the modes {page['modes'].keys()}")
pairs = [(f"functions in mode {mode}", of_page(page["modes"][mode]), of_report("function", "samples", *words))
         for mode, words in how.items()]
pairs += [("their times", times_of_page(page["modes"]["full"]), of_report("function", "weight")),
          ("modules", of_page(page["modules"]), of_report("module", "samples", "--modules")),
          ("the times of modules", times_of_page(page["modules"]), of_report("module", "weight", "--modules")),
          ("a range of time", of_page(page["ofTime"]), of_report("function", "samples", "--time", "{},{}".format(*page["time"]))),
          ("threads", added(page["threads"]), added((int(row["tid"]), row["inclusive_samples"]) for row in rows(
              ask(*report, "--threads", "--format", "csv")))),
          ("stacks top-down", added((tuple(stack), n) for stack, n in page["topDown"]), added((tuple(stack), n) for stack, n in tree)),
          ("stacks bottom-up", added((tuple(stack), n) for stack, n in page["bottomUp"]),
           added((tuple(stack[::-1]), n) for stack, n, _ in turned))]
for what, found, expected_there in pairs:
    if found != expected_there:
        sys.exit(f"the page has as {what} {found}, the report {expected_there}")

# Two functions of one name (libc's and the vdso's clock_gettime) are one where modules are not told.
names = collections.Counter(row["function"] for row in rows(ask(*report, "--inclusive", "--format", "csv")))
wrong = False
for measure, expected in (("exclusive", exclusive), ("inclusive", inclusive)):
    for name, answer in answers[measure].items():
        for twice in [function for function, count in names.items() if count > 1]:
            answer.pop(twice, None)
            expected.pop(twice, None)
        if answer != expected:
            print(f"{measure} of {name}: {dict(answer - expected)} too many, {dict(expected - answer)} missing")
            wrong = True
sys.exit(wrong)
EOF
    ;;
*) fail "no case $1" ;;
esac
exit 0
