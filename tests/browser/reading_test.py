#!/usr/bin/env python3
"""Reads pages as a person would: short names, what the header says, and how much room it takes.
reading_test.py CASE"""
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys

from page import compare, main, make_page, Page, page_of_stacks, plain, report, SPLIT, sprof, table_of

VECTOR = "std::vector<double, std::allocator<double> >::"
LONG = "shop::ledger::" + "nested_scope_with_a_long_name::" * 6 + "the_last_component"
WIDE = "shop::" + "last_component_of_a_great_width_" * 6 + "end"
STACKS = [f"main;{VECTOR}push_back(double&&) 5", f"main;{VECTOR}_M_insert_aux(double*, double&&) 4",
          "main;shop::price(int) 3", "main;shop::price(double) 2", f"main;{LONG} 1", f"main;{WIDE} 1"]


def names(browser, work):
    """Names are short and unique, in full where the pointer rests and where that is chosen, and found by both."""
    page = page_of_stacks(browser, work, STACKS)
    page.tab("functions")
    shown = lambda: {plain(row[0]) for row in page.rows("functions")[0]}
    full = {name.rsplit(" ", 1)[0].split(";")[1] for name in STACKS} | {"main"}
    short = {"std::vector::push_back", "std::vector::_M_insert_aux", "shop::price(int)", "shop::price(double)", LONG, WIDE, "main"}
    if shown() != short:
        raise SystemExit(f"the table shows {shown()}")
    tips = browser.run("return [...document.querySelectorAll('[data-view=functions] .rows .name')].map(cell => cell.title)")
    if set(tips) != full:
        raise SystemExit(f"the pointer shows {tips}")
    for text, expected in (("allocator<double>", 2), ("vector::push", 1), ("/vector::_M_insert_aux$/", 1), ("/allocator<double> >::_M/", 1)):
        browser.run("sprof.set({search: arguments[0]})", text)
        browser.until("return document.querySelector('.share').textContent.endsWith('%')")
        if len(shown()) != expected:
            raise SystemExit(f"{text} finds {shown()}")
    browser.run("sprof.set({search: ''})")
    # The last component is what stays where there is no room, in a table and in a box of the graph.
    browser.resize(500, 900)
    cut = browser.settled("""return [...document.querySelectorAll('[data-view=functions] .rows .last')].filter(
        last => !last.textContent.startsWith('last_component_of_a_great_width') && last.scrollWidth > last.clientWidth + 1).map(last => last.textContent).join(', ')""")
    if cut:
        raise SystemExit(f"at 500 pixels these last components are cut: {cut}")
    # A name that is too long in any case takes no room from the bars of a wide table.
    browser.resize(1400, 900)
    bars = browser.settled("""const {table} = sprof.views.find(view => view.id === 'functions').object, {columns, scroller} = table.table || table;
        const widths = getComputedStyle(scroller.querySelector('.row')).gridTemplateColumns.split(' ');
        return columns.map((column, i) => column.bar && parseFloat(widths[i]) < 110 ? `${column.title}: ${widths[i]}` : '').filter(Boolean).join(', ')""")
    if bars:
        raise SystemExit(f"the bars of a wide table have no room: {bars}")
    page.tab("flame")
    boxes = browser.run("""const graph = sprof.views.find(view => view.id === 'flame').object.graph;
        return [10, 18, 24, 40].map(most => graph.fit(null, 'shop::ledger::entry::the_end', (most + 0.5) * graph.charWidth, 21))""")
    page.tab("functions")
    if boxes != ["the_end", "shop::ledg…the_end", "shop::ledger::en…the_end", "shop::ledger::entry::the_end"]:
        raise SystemExit(f"boxes of 10, 18, 24 and 40 characters show {boxes}")
    browser.resize(1400, 900)
    browser.click(".menu summary")
    browser.click(".full-names")
    if shown() != full or "names=full" not in browser.run("return location.hash"):
        raise SystemExit(f"in full the names are {shown()}")
    for tab in ("summary", "tree", "callers", "flame"):
        page.tab(tab)
        browser.type("body", "n")
    if browser.run("return sprof.state.fullNames") is not True:
        raise SystemExit("n does not switch between short and full names")


def namesakes(browser, work):
    """Functions of one name, in modules of one name or in one module, have the column that distinguishes them."""
    stacks = [f"main;/opt/{node}/bin/node!{name} {count}" for node, name, count in (("v18", "run", 9), ("v20", "run", 8), ("v20", "once", 7))]
    page = page_of_stacks(browser, work, stacks + ["main;lib.so!get 6", "main;lib.so!put 5"])
    page.tab("functions")
    def places():
        at = page.columns("functions").index("at")
        return sorted((plain(row[0]), row[at]) for row in page.rows("functions")[0] if row[at])
    if places() != [("run", "/opt/v18/bin/node"), ("run", "/opt/v20/bin/node")]:
        raise SystemExit(f"two modules of one name: {places()}")
    alike_elsewhere(page, "run", ["at v18/bin/node", "at v20/bin/node"])
    # Modules are whole where there is room, beside names of any length.
    with browser.emulated(1500, 900):
        alone = page_of_stacks(browser, work, [f"main;libstdc++.so.6.0.30!std::{letter * 90}::run 9" for letter in "ab"])
        alone.tab("functions")
        facts = browser.run("return document.querySelector('.facts').textContent")
        if "18 samples" not in facts:
            raise SystemExit(f"of 18 samples the header says {facts}")
        cut = browser.settled("""return [...document.querySelectorAll('[data-view=functions] .rows .row > .cell:last-child')]
            .filter(cell => cell.scrollWidth > cell.clientWidth).map(cell => cell.textContent)""")
        if cut:
            raise SystemExit(f"modules are cut: {cut}")
        facts = page_of_stacks(browser, work, ["main 1"]).browser.run("return document.querySelector('.facts').textContent")
        if "1 sample" not in facts or "1 samples" in facts:
            raise SystemExit(f"of one sample the header says {facts}")
    page = page_of_stacks(browser, work, stacks + ["main;lib.so!get 6", "main;lib.so!put 5"])
    page.tab("functions")
    # Those of a search alone do not look alike, and the column goes.
    browser.run("sprof.set({search: 'get'})")
    browser.until("return document.querySelector('.share').textContent.endsWith('%')")
    if "at" in page.columns("functions"):
        raise SystemExit("there is a column that distinguishes nothing")
    # Rows sorted by a column that goes are sorted as without a choice.
    browser.run("sprof.set({search: ''})")
    browser.until("return document.querySelector('.share').textContent === ''")
    browser.run("[...document.querySelectorAll('[data-view=functions] .head .cell')].find(cell => cell.textContent === 'at').click()")
    browser.run("sprof.set({search: '/once|get|put|main/'})")
    browser.until("return document.querySelector('.share').textContent.endsWith('%')")
    order = browser.run("return sprof.views.find(view => view.id === 'functions').object.table.rows.map(row => row.selfSamples)")
    if order != [7, 6, 5, 0] or "at" in page.columns("functions"):
        raise SystemExit(f"without the column by which they were sorted rows have {order} samples")
    # In one module, by where they are declared.
    recording = os.path.join(work, "stacks.db")
    with sqlite3.connect(recording) as database:
        database.execute("UPDATE function SET name = 'get', file = '/src/' || name || '.c', line = 7 WHERE name IN ('get', 'put')")
    database.close()
    page = Page(browser, make_page(work, recording))
    page.tab("functions")
    if [place for place in places() if place[0] == "get"] != [("get", "/src/get.c:7"), ("get", "/src/put.c:7")]:
        raise SystemExit(f"one module: {places()}")
    alike_elsewhere(page, "get", ["at get.c:7", "at put.c:7"])
    # Without debug information, by where they begin, and be that where the kernel's functions do.
    for first in (0, -0x7f000000):
        with sqlite3.connect(recording) as database:
            database.execute("UPDATE function SET file = NULL, line = NULL, start = ? + 3 * id WHERE name = 'get'", (first,))
            starts = [f"+0x{start % 2 ** 64:x}" for start, in database.execute("SELECT start FROM function WHERE name = 'get'")]
        database.close()
        page = Page(browser, make_page(work, recording))
        page.tab("functions")
        if len(starts) != 2 or sorted(place[1] for place in places() if place[0] == "get") != sorted(starts):
            raise SystemExit(f"without debug information: {places()}, and they begin at {starts}")


def alike_elsewhere(page, name, places):
    """Summary, call tree and callees have beside the name what distinguishes functions that look alike."""
    for tab, selector, lists in (("summary", ".list .name", 2), ("tree", ".name", 1), ("callers", "section + section .name", 1)):
        page.browser.run("sprof.set({tab: arguments[0], function: sprof.data.functions.names.indexOf('main')})", tab)
        if tab == "tree":  # open below the root alone
            page.browser.run("""const view = sprof.views.find(view => view.id === 'tree').object, [root] = view.table.rows;
                view.table.open(root);
                view.table.refresh();""")
        shown = page.browser.run("return [...document.querySelectorAll(`[data-view=${arguments[0]}] ${arguments[1]}`)].map(cell => cell.textContent)", tab, selector)
        found = sorted(text[text.index(name):].replace("inlined", "") for text in shown if name in text and " " in text)
        if found != sorted(name + place for place in places * lists):
            raise SystemExit(f"{tab}: of functions that look alike it has {found}")
    page.tab("functions")


def header(browser, work):
    """The header takes little room, has the program's own numbers, and is orange where the numbers are not to be trusted."""
    recording = os.path.join(work, "split.db")
    sprof("record", "-o", recording, "--", *SPLIT, "300")
    page = Page(browser, make_page(work, recording))
    for width, tab in ((1500, "summary"), (1500, "functions"), (1500, "flame"), (1200, "flame"), (1200, "summary")):
        browser.resize(width, 900)
        page.tab(tab)
        top = browser.settled("const {top} = document.querySelector('main').getBoundingClientRect(); return top > 110 && top")
        if top:
            raise SystemExit(f"{tab} begins {top} pixels from the top of a window of {width}")
    facts = browser.run("return [...document.querySelectorAll('.facts > span')].map(fact => fact.textContent)")
    if len(facts) != 3 or not re.fullmatch(r"[\d.]+ (s|ms) CPU time, \d+ % of [\d.]+ (s|ms) of wall time", facts[0]) or not re.fullmatch(r"\d+ threads", facts[1]):
        raise SystemExit(f"the header says {facts}")
    # All threads are counted, also where some have no samples.
    with sqlite3.connect(recording) as database:
        database.execute("INSERT INTO thread (process_id, tid, start_ns, cpu_time_ns, samples, cpu_time_known) "
                         "SELECT process_id, 99999, start_ns, 0, 0, 1 FROM thread LIMIT 1")
    database.close()
    Page(browser, make_page(work, recording))
    threads, strip = (browser.run("return document.querySelector(arguments[0]).textContent", selector)
                      for selector in (".facts > span:nth-child(2)", ".timeline-head .quiet"))
    count = int(threads.split()[0])
    if strip != f"▸ {count - 1} of {count} threads":
        raise SystemExit(f"of {threads} the strip says {strip}")
    footer = sprof("report", recording).stdout
    if facts[0].split(" CPU")[0] + " of CPU time in" not in footer:
        raise SystemExit(f"the header says {facts[0]}, the report {footer}")
    with sqlite3.connect(recording) as database:
        database.execute("UPDATE ledger SET lost = 10 + delivered")
        database.execute("UPDATE run SET own_cpu_ns = target_cpu_ns")
    database.close()
    page = Page(browser, make_page(work, recording))
    # Other warnings may stand beside it.
    above, below = (browser.run("return [...document.querySelectorAll(arguments[0])].map(each => each.textContent)", selector)
                    for selector in (".quality.bad", ".trust.bad .warn"))
    lost = re.compile(r"[\d\u202f]+ lost")
    if len(above) != 1 or not any(map(lost.fullmatch, above[0].split(" · "))) or not any(map(lost.fullmatch, below)):
        raise SystemExit(f"of a recording that lost more than half the page says {above} and {below}")
    costly = "own cost 100.0 %"
    if costly not in above[0].split(" · ") or costly not in below:
        raise SystemExit(f"of a recording that cost as much as its program the page says {above} and {below}")
    # The lines that cost most, all and those of the program's own files.
    page.tab("lines")
    lines = lambda: browser.run("""return sprof.views.find(view => view.id === 'lines').object.table.rows.map(row =>
        [row.file, row.line, row.function, row.exclusive_percent, row.inclusive_percent])""")
    expected = [[row[key] for key in ("file", "line", "function", "exclusive_percent", "inclusive_percent")]
                for row in table_of("report", "--lines", recording) if row["file"] and row["line"]]
    if not expected or sorted(lines()) != sorted(expected):
        raise SystemExit(f"the page has the lines {lines()[:5]} …, the report {expected[:5]} …")
    browser.run("sprof.set({mineLines: true})")
    mine = lines()
    if not mine or any(row[0].startswith("/usr/") for row in mine) or "lines=mine" not in browser.run("return location.hash"):
        raise SystemExit(f"my own files have the lines {mine}")
    # One word for one thing: columns are called self and total.
    page.tab("functions")
    if page.columns("functions")[:3] != ["function", "self", "±"] or "total" not in page.columns("functions"):
        raise SystemExit(f"the columns are {page.columns('functions')}")
    words = browser.run("return document.body.innerText").lower()
    if "exclusive" in words or "inclusive" in words:
        raise SystemExit("the page speaks of exclusive or inclusive costs")


def traces(browser, work):
    """A trace has what is known of calls and nothing that has no meaning there; a recording without calls says why."""
    recording = os.path.join(work, "trace.db")
    sprof("trace", "-o", recording, "--", *SPLIT, "100")
    page = Page(browser, make_page(work, recording))
    if browser.run("return document.querySelectorAll('[data-mode]').length"):
        raise SystemExit("the page of a trace offers modes")
    page.tab("functions")
    columns = page.columns("functions")
    if columns != ["function", "self+outside", "self+outside time", "total", "total time", "calls", "outside", "average", "p50", "p99", "max", "module"]:
        raise SystemExit(f"the columns of a trace are {columns}")
    browser.resize(1200, 900)
    browser.until("return document.querySelector('[data-view=functions] .table').clientWidth < 1200")
    columns = browser.settled("""const columns = [...document.querySelectorAll('[data-view=functions] .head > *')].map(each => each.textContent.replace(/ [↓↑]/, ''));
        return !['calls', 'average', 'p50', 'p99', 'max'].every(name => columns.includes(name)) && columns""")
    if columns:
        raise SystemExit(f"the columns of a trace in a window of 1200 are {columns}")
    # In a narrow one modules and medians go first.
    browser.resize(800, 900)
    browser.until("return document.querySelector('[data-view=functions] .table').clientWidth < 800")
    columns = browser.settled("""const columns = [...document.querySelectorAll('[data-view=functions] .head > *')].map(each => each.textContent.replace(/ [↓↑]/, ''));
        return String(columns) !== 'function,self+outside,total,calls,average,p99,max' && columns""")
    if columns:
        raise SystemExit(f"the columns of a trace in a window of 800 are {columns}")
    page.nothing_cut("functions")
    browser.resize(1400, 900)
    query = "SELECT function, average_ns, p50_ns, p99_ns, max_ns FROM v_call_stats"
    expected = {row["function"]: [row[key] and int(float(row[key])) for key in ("average_ns", "p50_ns", "p99_ns", "max_ns")]
                for row in json.loads(sprof("sql", "-i", recording, "--format", "json", query).stdout)}
    shown = browser.run("""return Object.fromEntries([...sprof.profile.figures].map(([fn, {average, p50, p99, most}]) =>
        [sprof.data.functions.names[fn], [average, p50, p99, most]]))""")
    if not expected or shown != expected:
        raise SystemExit(f"the page has the figures {shown}, the recording {expected}")
    browser.run("sprof.openFunction(0)")
    if browser.run("return sprof.state.tab") != "functions":
        raise SystemExit("a function leads to a view that is not there")
    used = os.path.join(work, "used.db")
    sprof("trace", "--heap", "--stack", "-o", used, "--", *SPLIT, "10")
    browser.resize(2400, 900)
    page = Page(browser, make_page(work, used))
    page.tab("functions")
    missing = {"stack", "heap self", "heap total", "allocations"} - set(page.columns("functions"))
    if missing:
        raise SystemExit(f"the page has no columns {missing}, but {page.columns('functions')}")
    query = "SELECT function, stack_bytes, heap_self_bytes, heap_total_bytes, allocations FROM v_call_stats"
    expected = {row["function"]: [int(row[key]) for key in ("stack_bytes", "heap_self_bytes", "heap_total_bytes", "allocations")]
                for row in json.loads(sprof("sql", "-i", used, "--format", "json", query).stdout)}
    shown = browser.run("""return Object.fromEntries([...sprof.profile.figures].map(([fn, {stack, heapSelf, heapTotal, blocks}]) =>
        [sprof.data.functions.names[fn], [stack, heapSelf, heapTotal, blocks]]))""")
    if not expected or shown != expected:
        raise SystemExit(f"the page has {shown} of what calls use, the recording {expected}")
    # Bars give way to the last components of names, but not the numbers on them, nor titles.
    with sqlite3.connect(recording) as database:
        database.execute("UPDATE function SET name = 'shop::ledger::the_function_of_number_' || id")
    database.close()
    page = Page(browser, make_page(work, recording))
    page.tab("functions")
    for width in 800, 1400:
        browser.resize(width, 900)
        cut = browser.settled("""const names = [...document.querySelectorAll('[data-view=functions] .rows .last')];
            return names.length ? names.filter(last => last.scrollWidth > last.clientWidth + 1).map(last => last.textContent).join() : 'no name'""")
        if cut:
            raise SystemExit(f"of functions of a trace in a window of {width} these last components are cut: {cut}")
        page.nothing_cut("functions")
    sprof("trace", "--mode", "coverage", "-o", recording, "--", *SPLIT, "10")
    page = Page(browser, make_page(work, recording))
    tabs = browser.run("return [...document.querySelectorAll('[data-tab]')].map(tab => tab.dataset.tab)")
    if tabs != ["summary", "coverage"] or browser.run("return sprof.state.tab") != "coverage":
        raise SystemExit(f"a recording of coverage has the views {tabs}")
    rows = json.loads(sprof("sql", "-i", recording, "--format", "json", "SELECT function, executed FROM v_coverage").stdout)
    text = browser.run("return document.querySelector('[data-view=coverage] .bar-line').innerText")
    called = sum(int(row["executed"]) for row in rows)
    if not text.startswith(f"{called} of {len(rows)} functions were called"):
        raise SystemExit(f"the page says '{text}' of {called} of {len(rows)} functions")
    header = " ".join(browser.run("return document.querySelector('.facts').innerText").split())
    if f"{called} of {len(rows)} functions were called" not in header or " calls" in header:
        raise SystemExit(f"the header of a page of coverage: {header}")
    for width in 400, 800:
        with browser.emulated(width, 800):
            cut = browser.settled("""const names = [...document.querySelectorAll('[data-view=coverage] .last')];
                return names.length ? names.filter(last => last.scrollWidth > last.clientWidth + 1).map(last => last.textContent) : ['no name']""")
            if cut:
                raise SystemExit(f"in a window of {width} last components of functions and files that are covered are cut: {cut}")
    for choice, executed in ("missed", 0), ("called", 1):
        browser.run("sprof.set({covered: arguments[0]})", choice)
        shown = browser.run("return sprof.views.find(view => view.id === 'coverage').object.table.rows.map(row => row.full)")
        if sorted(shown) != sorted(row["function"] for row in rows if int(row["executed"]) == executed):
            raise SystemExit(f"{choice}: {shown}")


CALLS = """const {singles: {texts, calls}} = sprof.views.find(view => view.id === 'calls').object, {data} = sprof;
    return [...calls.start.keys()].map(i => [data.threads[calls.thread[i]].tid, data.functions.names[calls.function[i]], calls.start[i],
        calls.duration[i] || null, calls.duration[i] ? calls.self[i] : null, texts[calls.exit[i] - 1], calls.caller[i] ? calls.start[calls.caller[i] - 1] : null])"""
CALL_FIELDS = "tid, function, start_ns, duration_ns, self_ns, exit"


def open_calls(browser, recording, query):
    """The page at its calls, which must be those of the query."""
    page = Page(browser, make_page(os.path.dirname(recording), recording))
    page.tab("calls")
    texts = lambda row: [None if value in (None, "") else str(value) for value in row]
    shown = sorted(map(texts, browser.run(CALLS)), key=str)
    expected = sorted((texts(row.values()) for row in json.loads(sprof("sql", "-i", recording, "--format", "json", query).stdout)), key=str)
    if not expected or shown != expected:
        raise SystemExit(f"the page has the calls {shown[:5]} …, the recording {expected[:5]} …")
    return page


def single_calls(browser, work):
    """Calls that were logged or kept one by one are a tree and a chart by thread, and are found by name, thread and time."""
    recording, logged = os.path.join(work, "trace.db"), os.path.join(work, "logged.db")
    sprof("trace", "--mode", "log", "-o", logged, "--", *SPLIT, "30")
    open_calls(browser, logged, f"""SELECT {CALL_FIELDS}, (SELECT max(u.start_ns) FROM v_call u WHERE u.thread_id = c.thread_id
        AND u.depth = c.depth - 1 AND u.start_ns <= c.start_ns) AS above FROM v_call c""")
    sprof("trace", "--keep", "slowest 3", "--args", "-o", recording, "--", *SPLIT, "30")
    page = open_calls(browser, recording, f"""SELECT {CALL_FIELDS},
        (SELECT u.start_ns FROM v_kept_call u WHERE u.call_id = c.caller_id) AS above FROM v_kept_call c""")
    # What is known of no argument is said once.
    none, some = browser.run("""const view = sprof.views.find(view => view.id === 'calls').object, {texts, calls} = view.singles, at = calls.arguments[0];
        const shown = text => {
            texts.push(text);
            calls.arguments[0] = texts.length;
            const value = view.values(0);
            texts.pop();
            calls.arguments[0] = at;
            return value;
        };
        return [shown('this = not saved, size = not saved'), shown('this = not saved, size = 7')]""")
    if not none.startswith("(arguments not saved)") or not some.startswith("(this = not saved, size = 7)"):
        raise SystemExit(f"arguments that are not saved are shown as {none} and {some}")
    view = "const view = sprof.views.find(view => view.id === 'calls').object, boxes = view.bands.flatMap(band => band.boxes);"
    everything = browser.run(view + "return boxes.length")
    # Arguments and results stand behind the name, and are found.
    query = "SELECT k.start_ns, k.function, v.position, v.name, v.value FROM v_call_value v JOIN v_kept_call k USING (run_id, call_id) ORDER BY k.start_ns, v.position"
    values = {}
    for row in json.loads(sprof("sql", "-i", recording, "--format", "json", query).stdout):
        text = (f"{row['name']} = " if int(row["position"]) and row["name"] else "") + row["value"][:120]
        values.setdefault(f"{row['start_ns']} {row['function']}", {})[int(row["position"])] = text
    def listed(texts, least, most, form):
        chosen = [text for position, text in texts.items() if least <= position <= most]
        return form.format(", ".join(chosen)) if chosen else ""
    expected = {call: listed(texts, 1, 255, "({})") + listed(texts, 0, 0, " = {}") + listed(texts, 256, 65534, " [{}]") for call, texts in values.items()}
    shown = browser.run(view + "return Object.fromEntries(boxes.map(box => [`${box.from} ${sprof.data.functions.names[box.function]}`, view.values(box.index)]).filter(each => each[1]))")
    if not expected or shown != expected:
        raise SystemExit(f"calls have the values {shown} instead of {expected}")
    wanted = next(text for texts in values.values() for position, text in texts.items() if position)
    browser.run("sprof.set({search: arguments[0]})", wanted)
    found = browser.run(view + "return boxes.filter(box => box.found && view.values(box.index).includes(arguments[0])).length", wanted)
    if found != sum(wanted in text for text in expected.values()):
        raise SystemExit(f"{wanted} finds {found} calls")
    browser.run("sprof.set({search: ''})")
    name = browser.run(view + "return sprof.data.functions.names[boxes.find(box => box.depth > 0).function]")
    browser.run("sprof.set({search: arguments[0]})", name)
    found = browser.run(view + """const {calls} = view.singles, wanted = arguments[0];
        const isWanted = i => i >= 0 && (sprof.data.functions.names[calls.function[i]].includes(wanted) || isWanted(calls.caller[i] - 1));
        const hits = [...calls.start.keys()].filter(isWanted), all = new Set(hits);
        hits.forEach(i => view.wayTo(i).forEach(each => all.add(each)));
        return [boxes.map(box => box.index).sort().join(), [...all].sort().join()]""", name)
    if found[0] != found[1]:
        raise SystemExit(f"{name} finds the calls {found[0]} instead of {found[1]}")
    # A call that is chosen is marked in both, with its callers open, and a link keeps it.
    browser.run(view + "sprof.set({search: '', order: 'duration'}); view.chart.actions.clicked(boxes.find(box => box.depth > 0))")
    browser.run("sprof.set({span: [0, sprof.run().durationNs]})")
    link = browser.run("return location.href")
    browser.open("about:blank")
    browser.open(link)
    browser.until("return window.sprof !== undefined")
    chosen = browser.run(view + """const row = view.table.rows[view.table.table.at];
        return [view.chart.chosen.index, sprof.state.call, row.entry.index, row.level > 0, boxes.length]""")
    if len(set(chosen[:3])) != 1 or not chosen[3] or chosen[4] != everything:
        raise SystemExit(f"of {everything} calls the link leads to {chosen}")
    browser.run(view + "const {from, to} = view.chart.chosen; sprof.set({span: [from, to]})")
    inside = browser.run(view + "return [boxes.length, boxes.every(({from, to}) => from < view.app.state.span[1] && to >= view.app.state.span[0])]")
    if inside[0] > everything or not inside[1] or "span=" not in browser.run("return location.hash"):
        raise SystemExit(f"the time of a call has {inside} calls of {everything}")
    browser.click("[data-view=calls] .chip")
    if browser.run("return sprof.state.span") is not None or not page.rows("calls")[0]:
        raise SystemExit("all of the time does not come back")
    # Where callers are a circle, as damaged recordings may have, the tree has all calls.
    with sqlite3.connect(recording) as database:
        database.execute("UPDATE kept_call SET caller = (SELECT min(c.number) FROM kept_call c WHERE c.caller = kept_call.number) WHERE caller IS NULL")
    database.close()
    Page(browser, make_page(work, recording)).tab("calls")
    shown = browser.run(view + """const below = i => (view.lists.get(i + 1) || []).reduce((sum, each) => sum + 1 + below(each), 0);
        return [below(-1), view.singles.count]""")
    if shown[0] != shown[1]:
        raise SystemExit(f"with a circle of callers {shown[0]} of {shown[1]} calls are in the tree")


# Three calls below `handle` one takes nearly all the time, by the CPU's clock.
DRILLED = """#include <time.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
static volatile unsigned long sum;
NI void culprit(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do { for (int i = 0; i < 2000; i++) sum += i; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); }
    while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < 1500);
}
""" + "".join(f"NI void small_{i}(void) {{ for (int k = 0; k < {40 + i}; k++) sum += k; }}\n" for i in range(8)) + """
NI void second(void) { small_4(); small_5(); small_6(); small_7(); culprit(); sum++; }
NI void first(void) { small_0(); small_1(); small_2(); small_3(); second(); sum++; }
NI void handle(void) { first(); sum++; }
int main(void) { for (;;) { handle(); usleep(500); } }
"""


def drill(browser, work):
    """The way of a drill-down: its steps with their probes, as the recording has them, and a link to each function."""
    program, recording = os.path.join(work, "drilled"), os.path.join(work, "drilled.db")
    with open(program + ".c", "w", encoding="utf-8") as file:
        file.write(DRILLED)
    subprocess.run(["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "-o", program, program + ".c"], check=True)
    with subprocess.Popen([program]) as running:
        while os.readlink(f"/proc/{running.pid}/exe") != program:
            pass
        sprof("trace", "-o", recording, "-p", str(running.pid), "--adaptive", "--step", "300ms", "--root", "^handle$")
        running.kill()
    ask = lambda query: [list(row.values()) for row in json.loads(sprof("sql", "-i", recording, "--format", "json", query).stdout)]
    page = Page(browser, make_page(work, recording))
    page.tab("drill")
    rows = """const view = document.querySelector('[data-view=drill]');
        view.querySelectorAll('.drill-more').forEach((_, i) => [...view.querySelectorAll('.drill-more')].find(each => each.textContent !== 'fewer')?.click());
        return [...view.querySelectorAll('.drill-row')].map(row => [row.querySelector('.name').textContent, [...row.classList].pop()])"""
    shown = dict(browser.run(rows))
    known = {name for name, in ask("SELECT DISTINCT function FROM v_probe_event WHERE what = 'in'")}
    if set(shown) != known:
        raise SystemExit(f"the way has the probes {sorted(shown)} instead of {sorted(known)}")
    marks = [mark.split(":")[0] for mark, in ask("SELECT mark FROM v_phase WHERE mark LIKE 'step %' ORDER BY start_ns")]
    steps = browser.run("return [...document.querySelectorAll('.drill-step-step b')].map(each => each.textContent)")
    if not marks or steps != marks:
        raise SystemExit(f"the steps are {steps} instead of {marks}")
    named = {mark.split(": ")[-1].replace("below ", "") for mark, in ask("SELECT mark FROM v_phase WHERE mark LIKE 'step %' OR mark LIKE 'culprit: %'")}
    if any(shown[name] != "drill-is-way" for name in named) or shown.get("small_0") == "drill-is-way":
        raise SystemExit(f"{named} are on the way: {shown}")
    for width in 1500, 800, 500:
        browser.resize(width, 900)
        wide = browser.settled("const all = document.querySelector('[data-view=drill] .scroll'); return all.scrollWidth - all.clientWidth")
        if wide:
            raise SystemExit(f"in a window of {width} the way is {wide} pixels too wide")
    browser.click(".drill-row .name button")
    if browser.run("return sprof.data.functions.names[sprof.state.function]") != "handle":
        raise SystemExit("a click at a function does not open it")
    # Marks hold at most 200 bytes of a name; each root has a culprit.
    long = "n::" + "ü" * 120
    way, line = browser.run("""const view = sprof.views.find(view => view.id === 'drill').object, [name, cut] = arguments;
        const steps = [[5, `step 1: below ${cut}`], [9, `culprit: ${cut}`], [9, 'culprit: second']];
        const probes = [[name, null, 1, null, 3, 30, 3], ['second', null, 1, null, 3, 30, 3], ['other', null, 6, null, 3, 2, 2]];
        view.draw({drill: () => ({steps, probes}), run: () => sprof.run()});
        return [view.groups.flatMap(group => group.probes.map(probe => [probe.name, probe.isOnWay])), view.line.textContent]""",
        long, long.encode()[:200].decode(errors="replace"))
    if way != [[long, True], ["second", True], ["other", False]] or f"culprit: {long}, itself 10 % of its 30 ns; second, itself" not in line:
        raise SystemExit(f"of a long name the way is {way}: {line}")


MENU = """
    const row = [...document.querySelectorAll('[data-view=functions] .rows .row')].find(row => row.textContent.startsWith(arguments[0]));
    row.querySelector('.cell').dispatchEvent(new MouseEvent('contextmenu', {bubbles: true, cancelable: true, button: 2, clientX: 300, clientY: 300}));
    const item = [...document.querySelectorAll('.function-menu button')].find(item => item.textContent.startsWith(arguments[1]));
    item.click();"""


def filters(browser, work):
    """Focus, ignore, hide and my code are what the command beside them shows in a terminal; undo and links keep them."""
    page = page_of_stacks(browser, work, ["main;parse;read_all 5", "main;work;walk;walk;leaf 7", "main;work;parse;leaf 2", "main;std::sort;leaf 3",
                                          "main 1"])
    recording = os.path.join(work, "stacks.db")
    page.tab("functions")

    def expect(what):
        words = shlex.split(browser.run("return document.querySelector('.filters code').textContent"))
        if words[:2] != ["sprof", "report"]:
            raise SystemExit(f"{what}: the command is {words}")
        compare(f"{what}, {words}", page.table("functions", plain), report(recording, *words[2:]))
        return words[2:]

    whole = report(recording)
    for function, item, options in (("work", "Focus", ["--focus"]), ("walk", "Hide", ["--focus", "--hide"]),
                                    ("parse", "Ignore", ["--focus", "--ignore", "--hide"])):
        browser.run(MENU, function, item)
        if expect(item)[::2] != options:
            raise SystemExit(f"after {item} the command has other options than {options}")
    address = browser.run("return location.href")
    for _ in range(3):
        browser.type("body", "u")
    compare("after three steps back", page.table("functions", plain), whole)
    browser.open("about:blank")
    browser.open(address)
    browser.until("return window.sprof !== undefined")
    expect("a link")
    browser.run("sprof.set({filters: []})")
    browser.run(MENU, "walk", "Collapse")
    rows = {name: cost for (name, _), cost in page.table("functions", plain).items()}
    depth = browser.run("return sprof.profile.tree.nodesOf(sprof.data.functions.names.indexOf('walk')).length")
    if depth != 1 or rows["walk"] != whole["walk", "[none]" if ("walk", "[none]") in whole else next(m for n, m in whole if n == "walk")]:
        raise SystemExit(f"collapsed, walk stands {depth} times in the tree, with {rows['walk']}")
    browser.type("body", "u")
    browser.run("document.querySelector('.mine').click()")
    if expect("my code")[-2] != "--hide" or "std::sort" in {name for name, _ in page.table("functions", plain)}:
        raise SystemExit("my code has the standard library")
    # One way to read stacks is chosen at a time; another one leaves it.
    chosen = "return [...document.querySelectorAll('.choices [aria-pressed=true]')].map(button => button.textContent)"
    mine = browser.run(chosen)
    browser.run("document.querySelector('[data-mode=app]').click()")
    if mine != ["my code"] or browser.run(chosen) != ["application"] or browser.run("return sprof.state.filters.length"):
        raise SystemExit(f"of the choices {mine} are pressed, then {browser.run(chosen)}")
    # All functions that a search finds, as one.
    browser.run("sprof.set({filters: [], collapse: false, mode: 'full', search: '/parse|walk/', tab: 'callers', peek: true})")
    browser.until("return document.querySelector('.share').textContent.endsWith('%')")
    shown = browser.run("""const {callers, callees, center} = sprof.views.find(view => view.id === 'callers').object;
        const top = (role, {rows}) => rows.filter(row => !row.level).map(row => [role, sprof.data.functions.names[row.entry.function], row.entry.samples]);
        return [[...top('caller', callers), ...top('callee', callees)], center.textContent]""")
    words = shlex.split(browser.run("return document.querySelector('.filters code').textContent"))
    rows = table_of(*words[1:], recording)
    expected = [[row["role"], row["function"], row["inclusive_samples"]] for row in rows if row["role"] in ("caller", "callee")]
    here = next(row["inclusive_samples"] for row in rows if row["role"] == "here")
    if not expected or sorted(shown[0]) != sorted(expected) or f" {here} of " not in shown[1]:
        raise SystemExit(f"{words}: the page has {shown}, the report {expected}, {here} in all")


if __name__ == "__main__":
    sys.exit(main(names, namesakes, header, traces, single_calls, drill, filters))
