#!/usr/bin/env python3
"""Uses pages of one run as a person would, and compares what they show with the text reports.
page_test.py CASE"""
import json
import os
import re
import subprocess
import sys
import time

from page import (compare, GOLDEN, main, make_page, MODES, number, Page, page_of_stacks, plain, report, SPLIT,
                  sprof, SPROF, table_of)


def worked_example(browser, work):
    """The worked example of the design, in every mode, in all tables."""
    recording = os.path.join(work, "worked.db")
    sprof("import", "--folded", os.path.join(GOLDEN, "worked.folded"), "-o", recording,
          "--system-module", "lib.so")
    page = Page(browser, make_page(work, recording))
    for mode, arguments in MODES.items():
        page.mode(mode)
        page.tab("functions")
        compare(f"functions, {mode}", page.table("functions", plain), report(recording, *arguments))
        page.tab("modules")
        compare(f"modules, {mode}", page.table("modules", plain),
                report(recording, "--modules", *arguments))
    page.mode("full")
    browser.run("sprof.openFunction(sprof.data.functions.names.indexOf('A2'))")
    callers, callees = page.rows("callers")
    found = ([row[0].lstrip("▾▸") for row in callers], [row[1:] for row in callers])
    if found != (["A1", "A3"], [["60 %", "50 %", "3", "20 %"], ["40 %", "33 %", "2", "20 %"]]):
        raise SystemExit(f"callers of A2: {found}")
    found = ([row[0].lstrip("▾▸") for row in callees], [row[1:] for row in callees])
    if found != (["S1", "S2"], [["60 %", "50 %", "3", "0 %"], ["60 %", "50 %", "3", "60 %"]]):
        raise SystemExit(f"callees of A2: {found}")


def recorded_program(browser, work):
    """A recording of a real program: modes, search, a range of time, bottom-up, keys, the address."""
    use_page(browser, work, *SPLIT, "1200", function="spin")


def recorded_shell(browser, work):
    """The same of a program of the system, with processes that begin and end."""
    loop = "for i in $(seq 150); do seq 20000 | sort -n | tail -n 1 >/dev/null; done"
    use_page(browser, work, "sh", "-c", loop, function="main")


def use_page(browser, work, *command, function):
    recording = os.path.join(work, "program.db")
    sprof("record", "-o", recording, "--", *command)
    page = Page(browser, make_page(work, recording))
    for mode in ("app", "pc", "full"):
        page.mode(mode)
        page.tab("functions")
        compare(f"functions, {mode}", page.table("functions", plain), report(recording, *MODES[mode]),
                whole=False)
    everything = sum(cost[1] for cost in report(recording).values())
    browser.type(".search input", function)
    matched = browser.run("return document.querySelector('.share').textContent")
    if not matched.endswith("%"):
        raise SystemExit(f"the share of a search is '{matched}'")
    browser.run("sprof.set({search: ''})")
    # A range of time drops what lies outside of it, in the address, too.
    width = browser.run("return document.querySelector('.timeline canvas').clientWidth")
    browser.drag(".timeline canvas", [width * 0.25, 20], [width * 0.6, 20])
    slots = browser.run("return sprof.state.slots")
    if not slots or f"slots={slots[0]}-{slots[1]}" not in browser.run("return location.hash"):
        raise SystemExit(f"dragging selected {slots}")
    slot_ns = browser.run("return sprof.run().slotNs")
    inside = json.loads(sprof("sql", "-i", recording, "--format", "json", "SELECT coalesce(sum(count), 0) AS n FROM sample "
                              f"WHERE time_ns >= {slots[0] * slot_ns} AND time_ns < {slots[1] * slot_ns}").stdout)
    shown = browser.run("return sprof.profile.costs.samples[0]")
    if not 0 < shown < everything or shown != int(inside[0]["n"]):
        raise SystemExit(f"{shown} samples in the range, but {inside} in the recording")
    # The text report of the snapped range has the same numbers, row by row.
    time = ",".join(str(slot * slot_ns / 1e9) for slot in slots)
    if f"--time {time.replace('.0,', ',').removesuffix('.0')}" not in browser.run(
            "return document.querySelector('.timeline .chip').title"):
        raise SystemExit(f"the page does not say that it shows --time {time}")
    page.tab("functions")
    compare(f"functions, --time {time}", page.table("functions", plain), report(recording, "--time", time),
            whole=False)
    browser.click(".chip")
    if browser.run("return sprof.profile.costs.samples[0]") != everything:
        raise SystemExit("the range was not given up")
    # Both directions of the flame graph show the same total; zooming is kept in the address.
    page.tab("flame")
    for inverted in ("false", "true"):
        browser.run(f"sprof.set({{inverted: {inverted}}})")
        total = browser.run("""const graph = sprof.views.find(view => view.id === 'flame').object.graph;
            return graph.root.children().reduce((sum, child) => sum + child.samples, 0)""")
        if total != everything:
            raise SystemExit(f"inverted {inverted}: {total} of {everything} samples")
    browser.run("sprof.set({inverted: false})")
    browser.run("""const graph = sprof.views.find(view => view.id === 'flame').object.graph;
        graph.zoom(graph.root.children()[0])""")
    address = browser.run("return location.href")
    browser.open("about:blank")
    browser.open(address)
    browser.until("return window.sprof !== undefined")
    if browser.run("return sprof.state.zoom.length") != 1:
        raise SystemExit("the zoom was not kept in the address")


def painted(browser, selector):
    """How many colours a canvas shows."""
    return browser.run("""
        const canvas = document.querySelector(arguments[0]);
        const pixels = new Uint32Array(canvas.getContext('2d')
            .getImageData(0, 0, canvas.width, Math.min(canvas.height, 400)).data.buffer);
        return new Set(pixels).size""", selector)


def widths(browser, work):
    """Three widths, dark and light: nothing overflows the window, and the graph is drawn."""
    recording = os.path.join(work, "split.db")
    sprof("record", "-o", recording, "--", *SPLIT, "400")
    page = Page(browser, make_page(work, recording))
    for width in (1600, 1000, 520):
        browser.resize(width, 900)
        for theme in ("light", "dark"):
            browser.run(f"sprof.chosenTheme = '{theme}'; sprof.showTheme(); sprof.update()")
            for tab in ("summary", "flame", "tree", "functions", "modules", "callers", "source", "lines", "heat"):
                page.browser.run(f"sprof.set({{tab: '{tab}'}})")
                over = browser.settled("return Math.max(0, document.documentElement.scrollWidth - window.innerWidth)")
                if over > 0:
                    raise SystemExit(f"{tab}: {over} pixels wider than a window of {width}")
                page.nothing_cut(tab)
            browser.run("sprof.set({tab: 'flame'})")
            browser.until("return document.querySelector('.flame canvas').width > 100")
            page.laid_out()
            if painted(browser, ".flame canvas") < 4 or painted(browser, ".timeline canvas") < 3:
                raise SystemExit(f"nothing is drawn at {width} pixels, {theme}")
            # All tabs are in sight.
            with browser.emulated(400, 800):
                cut = browser.settled("""return [...document.querySelectorAll('nav button')].filter(tab => {
                    const {left, right, bottom} = tab.getBoundingClientRect(), line = tab.parentElement.getBoundingClientRect();
                    return left < line.left - 1 || right > Math.min(line.right, window.innerWidth) + 1 || bottom > line.bottom + 1;
                }).map(tab => tab.textContent)""")
            if cut:
                raise SystemExit(f"of the tabs {cut} are cut")
            # Names on coloured boxes can be read: WCAG's contrast of at least 4.5 for every kind of code.
            worst = browser.run("""
                const context = document.createElement('canvas').getContext('2d');
                const light = color => {
                    context.fillStyle = color;
                    context.fillRect(0, 0, 1, 1);
                    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map(value => {
                        const part = value / 255;
                        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
                    });
                    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
                };
                const {palette} = sprof, ink = light(palette.ink), boxes = [];
                for (const kind of ['app', 'system', 'kernel', 'jit'])
                    for (let shade = 0; shade <= 1; shade += 0.1)
                        boxes.push(palette.kind(kind, shade));
                for (let change = -1; change <= 1; change += 0.1)
                    boxes.push(palette.change(change, 'both'));
                boxes.push(palette.change(0, 'new'), palette.change(0, 'gone'));
                return boxes.map(box => light(box)).map(box => Math.max(box, ink) / Math.min(box, ink))
                    .reduce((least, ratio, i) => ratio < least[0] ? [ratio, boxes[i]] : least, [99, ''])""")
            if worst[0] < 4.5:
                raise SystemExit(f"{theme}: names on {worst[1]} have a contrast of {worst[0]:.1f}")
            if os.environ.get("PICTURES"):
                browser.screenshot(os.path.join(os.environ["PICTURES"], f"flame-{width}-{theme}.png"))
    # A telephone's width, which no window has.
    with browser.emulated(400, 800):
        for tab in ("tree", "functions", "modules", "callers"):
            page.browser.run(f"sprof.set({{tab: '{tab}'}})")
            over = browser.settled("""return Math.max(...[...document.querySelectorAll(`[data-view=${arguments[0]}] .table`)]
                .map(table => table.scrollWidth - table.clientWidth))""", tab)
            if over > 0:
                raise SystemExit(f"{tab}: a table is {over} pixels wider than a telephone's screen")


def hostile_names(browser, work):
    """Names that would break a page that was made by gluing texts together."""
    names = ["</script><script>window.broken=1</script>", "a\"b'c&d<e>", "@HEADER@", "x" * 4000,
             "<img src=x onerror=window.broken=1>", "${1}`", "\\u0000"]
    folded = os.path.join(work, "hostile.folded")
    with open(folded, "wb") as file:
        for index, name in enumerate(names):
            file.write(f"root;{name} {index + 1}\n".encode())
        file.write("root;bad\u2028bytes ".encode() + b"\xff\xfe\x01\x7f 9\n")
    recording = os.path.join(work, "hostile.db")
    sprof("import", "--folded", folded, "-o", recording)
    page = Page(browser, make_page(work, recording))
    shown = browser.run("return sprof.data.functions.names")
    for name in names:
        if name not in shown:
            raise SystemExit(f"{name!r} is not shown as it is: {shown}")
    for tab in ("summary", "flame", "tree", "functions", "callers"):
        page.tab(tab)
    browser.run("sprof.openFunction(sprof.data.functions.names.findIndex(name => name.length === 4000))")
    over = browser.run("return document.documentElement.scrollWidth - window.innerWidth")
    if over > 0:
        raise SystemExit(f"a name of 4000 characters makes the page {over} pixels too wide")
    if browser.run("return window.broken"):
        raise SystemExit("a name was run as a script")


def source(browser, work):
    """Lines and instructions of the hottest functions have the costs that sprof annotate gives."""
    recording = os.path.join(work, "split.db")
    sprof("record", "-o", recording, "--", *SPLIT, "600")
    page = Page(browser, make_page(work, recording))
    page.tab("source")
    rows = page.rows("source")[0]
    if not rows:
        raise SystemExit("no function has a source")
    compared = 0
    names = browser.run("return sprof.data.functions.names")
    for name in sorted(set(plain(row[0]) for row in rows[:12])):
        if names.count(name) > 1:  # static functions of several files, which annotate shows together
            continue
        found = sprof("annotate", name, recording, "--format", "json", check=False)
        if found.returncode:  # the name is another function's, too
            continue
        expected = {"source": {}, "instruction": {}}
        for row in json.loads(found.stdout)["rows"]:
            cost = [row["exclusive_samples"], row["inclusive_samples"]]
            if any(cost):
                key = row["address"] if row["kind"] == "instruction" else f"{row['file']}:{row['line']}"
                expected[row["kind"]][key] = cost
        shown = browser.run("""
            sprof.set({tab: 'source', function: sprof.data.functions.names.indexOf(arguments[0])});
            const view = sprof.views.find(view => view.id === 'source').object, files = sourceFiles();
            function sourceFiles() { return sprof.data.sources[0].files.map(file => file.path); }
            const costs = (table, key) => Object.fromEntries(table.rows.filter(row => row.totalSamples)
                .map(row => [key(row), [row.samples, row.totalSamples]]));
            return {source: costs(view.lines, row => files[row.file - 1] + ':' + row.line),
                    instruction: costs(view.code, row => '0x' + row.address.toString(16))}""", name)
        for kind in expected:
            if shown[kind] != expected[kind]:
                raise SystemExit(f"{kind} of {name}: {shown[kind]}, but sprof annotate says {expected[kind]}")
            compared += len(expected[kind])
    if compared < 5:
        raise SystemExit(f"only {compared} lines and instructions could be compared")
    # The lines themselves are there, and a line leads to its instructions.
    text = browser.run("""
        sprof.set({function: sprof.data.functions.names.findIndex(name => name.startsWith('spin'))});
        const view = sprof.views.find(view => view.id === 'source').object;
        const row = view.lines.rows.find(row => row.totalSamples);
        view.link(row, view.code);
        return [row.text, view.code.rows.filter(row => view.code.isMarked(row)).length]""")
    if not text[0].strip() or not text[1]:
        raise SystemExit(f"a line with a cost shows {text}")
    path = os.path.join(work, "bare.html")
    sprof("html", recording, "--no-source", "-o", path)
    page = Page(browser, path)
    if browser.run("return document.querySelector('[data-tab=source]') !== null || sprof.data.sources.length > 0 || sprof.data.lines.length > 0"):
        raise SystemExit("--no-source left a source in the page")
    with open(os.path.join(work, "page.html"), encoding="utf-8") as with_source, open(path, encoding="utf-8") as without:
        if len(without.read()) >= len(with_source.read()):
            raise SystemExit("the page with sources is not larger than the one without")


def wheel(browser, work):
    """Ctrl and the wheel lead nearer and farther in the graph and in the strip of time."""
    recording = os.path.join(work, "split.db")
    sprof("record", "-o", recording, "--", *SPLIT, "800")
    page = Page(browser, make_page(work, recording))
    page.tab("flame")
    browser.run("sprof.set({flame: false})")
    turn = """
        const canvas = document.querySelector(arguments[0]), box = canvas.getBoundingClientRect();
        const event = new WheelEvent('wheel', {clientX: box.left + arguments[1], clientY: box.top + arguments[2], deltaY: arguments[3],
            ctrlKey: arguments[4], cancelable: true, bubbles: true});
        canvas.dispatchEvent(event);
        return [event.defaultPrevented, sprof.state.zoom.length, sprof.state.slots]"""
    for amount, ctrl, expected in ((-1, False, [False, 0]), (-1, True, [True, 1]), (-1, True, [True, 2]), (1, True, [True, 1]),
                                   (1, True, [True, 0])):
        page.laid_out()
        found = browser.run(turn, ".flame canvas", 30, 19 * 4 + 10, amount, ctrl)
        if found[:2] != expected:
            raise SystemExit(f"the wheel in the graph by {amount}, ctrl {ctrl}: {found}, expected {expected}")
    slots, width = browser.run("return [sprof.run().slots, document.querySelector('.timeline canvas').clientWidth]")
    near = browser.run(turn, ".timeline canvas", width / 2, 20, -1, True)[2]
    if not near or abs(near[1] - near[0] - slots / 2) > 1 or not near[0] <= slots / 2 <= near[1]:
        raise SystemExit(f"the wheel in the strip of {slots} slots leads to {near}")
    if browser.run(turn, ".timeline canvas", width / 2, 20, 1, True)[2] is not None:
        raise SystemExit("the wheel does not lead back to all of the time")


def nothing(browser, work):
    """A page of a selection, a function or a search without anything says so instead of staying blank."""
    recording = os.path.join(work, "worked.db")
    sprof("import", "--folded", os.path.join(GOLDEN, "worked.folded"), "-o", recording)
    page = Page(browser, make_page(work, recording))
    if browser.run("return document.querySelector('.timeline').offsetParent") is not None:
        raise SystemExit("an import without times has a strip of time")
    browser.run("sprof.openFunction(sprof.data.functions.names.indexOf('S2'))")
    texts = lambda: browser.run("return [...document.querySelectorAll('.empty')].filter(each => each.offsetParent).map(each => each.textContent)")
    if texts() != ["it was not seen to call anything"]:
        raise SystemExit(f"the callees of a leaf are {texts()}")
    page.tab("functions")
    browser.run("sprof.set({search: 'there is no such function'})")
    if len(texts()) != 1 or browser.run("return document.querySelector('.share').textContent") != "0 %":
        raise SystemExit(f"a search without a match shows {texts()}")
    browser.run("sprof.set({search: '/(/'})")
    if browser.run("return document.querySelector('.share').textContent") != "not valid":
        raise SystemExit("an expression that does not compile is not called that")
    recording = os.path.join(work, "split.db")
    sprof("record", "-o", recording, "--", "sh", "-c", "sleep 0.9; " + " ".join(SPLIT) + " 100")
    Page(browser, make_page(work, recording))
    shown = lambda: browser.run("return document.querySelector('main > .warning').offsetParent !== null")
    empty = browser.run("""
        for (let slot = 0; slot < sprof.run().slots; slot++) {
            sprof.set({slots: [slot, slot + 1]});
            if (!sprof.profile.total)
                return slot;
        }
        return -1""")
    if empty < 0 or not shown():
        raise SystemExit(f"slot {empty} is empty, and the page says nothing of it")
    browser.run("sprof.set({slots: null})")
    if shown():
        raise SystemExit("the page says that nothing was recorded in all of the time")


def patterns(browser, work):
    """Regular expressions: found as by the text reports, and given up when one takes too long."""
    page = page_of_stacks(browser, work, (f"main;{'a' * 40}{index};leaf_{index % 7} 2" for index in range(300)))
    page.tab("functions")
    share = "return document.querySelector('.share').textContent"
    search = lambda text: browser.run("sprof.set({search: arguments[0]})", text)
    shown = lambda: {row[0] for row in page.rows("functions")[0]}

    def found(text):
        """On a busy machine any expression may take too long: then it is looked for again."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            search("")
            search(text)
            browser.until("return document.querySelector('.share').textContent !== 'searching …'")
            if browser.run(share) != "takes too long":
                return
        raise SystemExit(f"{text} takes too long again and again")

    found("/leaf_[12]$/")
    if shown() != {"leaf_1", "leaf_2"}:
        raise SystemExit(f"/leaf_[12]$/ finds {shown()}")
    # Asked in the same step: two seconds later it is given up.
    at_once = browser.run("sprof.set({search: arguments[0]}); return [document.querySelector('.share').textContent, sprof.state.tab]", "/(a+)+!/")
    if at_once != ["searching …", "functions"]:
        raise SystemExit(f"the page does not say that it searches, but {at_once}")
    browser.until("return document.querySelector('.share').textContent === 'takes too long'")
    search("/(a+)+!/ and more")
    search("leaf_3")
    if shown() != {"leaf_3"} or not browser.run(share).endswith("%"):
        raise SystemExit(f"after an expression that was given up leaf_3 finds {shown()}, {browser.run(share)}")
    found("/LEAF_4/")
    if shown() != {"leaf_4"}:
        raise SystemExit(f"/LEAF_4/ finds {shown()}")


def theme(browser, work):
    """The page is dark or light as the screen is, also when that changes, until somebody chooses."""
    page_of_stacks(browser, work, ["main;work 3"])

    def expect(wanted, why):
        shown = "return [document.documentElement.dataset.theme, sprof.palette.dark ? 'dark' : 'light'].join()"
        browser.until(f"return (() => {{ {shown} }})() === '{wanted},{wanted}'", seconds=30)
        chosen = browser.run("return new URLSearchParams(location.hash.slice(1)).get('theme')")
        if chosen != why:
            raise SystemExit(f"the address says {chosen} of the theme, not {why}")

    def screen(value):
        browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    screen("light")
    expect("light", None)
    screen("dark")
    expect("dark", None)
    browser.type("body", "d")
    expect("light", "light")
    screen("light")
    screen("dark")
    expect("light", "light")
    browser.type("body", "d")
    expect("dark", None)
    screen("light")
    expect("light", None)
    browser.run("location.hash = 'theme=dark'")
    expect("dark", "dark")


def paper(browser, work):
    """Printed tables hold their rows, which on the screen exist only where they are in sight."""
    page = page_of_stacks(browser, work, (f"main;function_{index:04} {2000 - index}" for index in range(1000)))
    page.tab("functions")
    before = len(page.rows("functions")[0])
    printed = os.path.join(work, "page.pdf")
    browser.paper(printed)
    text = subprocess.run(["pdftotext", "-layout", printed, "-"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [index for index in range(1000) if f"function_{index:04}" in text]
    if len(found) < 390 or found != list(range(len(found))) or f"{1001 - 400} more rows" not in text:
        raise SystemExit(f"paper holds {len(found)} functions, the last {found[-1:]}: {text[-300:]}")
    if browser.settled("return arguments[0] - document.querySelectorAll('[data-view=functions] .table:not([hidden]) > .rows .row').length", before):
        raise SystemExit("after printing the screen has another number of rows")


def calls(browser, work):
    """A trace counts calls: they are called that, have the numbers of the report, and no views of stacks or of time."""
    recording = os.path.join(work, "trace.db")
    done = subprocess.run([SPROF, "trace", "-o", recording, "--", *SPLIT, "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"sprof trace: {done.stderr}")
    page = Page(browser, make_page(work, recording))
    page.tab("functions")
    titles = page.columns("functions")
    if "calls" not in titles or "samples" in titles:
        raise SystemExit(f"the columns of a trace are {titles}")
    rows = table_of("report", recording)
    expected = {row["function"]: row["exclusive_samples"] for row in rows if row["exclusive_samples"]}
    shown = {plain(row[0]): number(row[titles.index("calls")]) for row in page.rows("functions")[0]}
    if not expected or {name: shown.get(name) for name in expected} != expected:
        raise SystemExit(f"the page has the calls {shown}, the report {expected}")
    # What functions take with all that they call is known, of modules it is not.
    totals = {row["function"]: float(row["inclusive_percent"]) for row in table_of("report", recording, "--inclusive")}
    shown = {plain(row[0]): row[titles.index("total")] for row in page.rows("functions")[0]}
    if any(abs(float(shown.get(name, "-1 %").split()[0]) - total) > 0.6 for name, total in totals.items()):
        raise SystemExit(f"the page has the total times {shown}, the report {totals}")
    page.tab("modules")
    modules = page.columns("modules")
    if any(row[modules.index("total")] != "–" for row in page.rows("modules")[0]):
        raise SystemExit(f"the page makes up total times of modules: {page.rows('modules')[0]}")
    tabs = browser.run("return [...document.querySelectorAll('[data-tab]')].map(tab => tab.dataset.tab)")
    if tabs != ["summary", "functions", "modules"] or browser.run("return document.querySelector('.timeline').offsetParent") is not None:
        raise SystemExit(f"a trace has the views {tabs}")
    page.tab("summary")
    if "samples" in browser.run("return document.querySelector('#app').innerText"):
        raise SystemExit("the summary of a trace speaks of samples")
    base = browser.run("return document.querySelector('.base')?.textContent")
    if not re.fullmatch(r"% of [\d.]+ (s|ms|µs) in probed functions", base or ""):
        raise SystemExit(f"the summary of a trace does not say what its percentages are of, but {base}")
    # With --paths it is known who made them.
    done = subprocess.run([SPROF, "trace", "--paths", "-o", recording, "--", *SPLIT, "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"sprof trace --paths: {done.stderr}")
    page = Page(browser, make_page(work, recording))
    tabs = browser.run("return [...document.querySelectorAll('[data-tab]')].map(tab => tab.dataset.tab)")
    if tabs != ["summary", "flame", "tree", "functions", "modules", "callers"]:
        raise SystemExit(f"a trace with paths has the views {tabs}")
    for tab in ("flame", "tree", "callers"):
        page.tab(tab)
        text = browser.run("return document.querySelector('#app').innerText")
        if "samples" in text or (tab != "flame" and "calls" not in text):
            raise SystemExit(f"the view {tab} of a trace speaks of samples: {text[:300]}")


def keyboard(browser, work):
    """Everything can be reached by keys, has a name for screen readers, and is printed in light colours."""
    recording = os.path.join(work, "worked.db")
    sprof("import", "--folded", os.path.join(GOLDEN, "worked.folded"), "-o", recording)
    page = Page(browser, make_page(work, recording))
    state = lambda name: browser.run("return sprof.state[arguments[0]]", name)
    steps = [("body", "2", "tab", "flame"), ("body", "i", "inverted", True), ("body", "f", "flame", True),
             ("body", "i", "inverted", False), ("body", "m", "mode", "app"), ("body", "3", "tab", "tree"),
             ("[role=tab][aria-selected=true]", "\ue014", "tab", "functions"),
             ("[role=tab][aria-selected=true]", "\ue012", "tab", "tree")]
    for selector, keys, name, expected in steps:
        browser.type(selector, keys)
        if state(name) != expected:
            raise SystemExit(f"'{keys}' in {selector} leads to {name} = {state(name)}, not {expected}")
    browser.type("body", "/")
    if browser.run("return document.activeElement.type") != "search":
        raise SystemExit("/ does not lead to the search")
    browser.run("document.activeElement.blur(); sprof.set({mode: 'full'})")
    # In the tree: down, open, and to callers and callees; in the graph: to the widest box and into it.
    page.tab("tree")
    browser.type("[data-view=tree] .table", "\ue015\ue007")
    if state("tab") != "callers":
        raise SystemExit("Enter in the call tree does not lead to callers and callees")
    page.tab("flame")
    outward, inward = "\ue013", "\ue015"
    browser.run("sprof.set({flame: false})")
    page.laid_out()
    browser.type(".flame canvas", inward + inward + outward + "\ue007")
    if len(state("zoom")) != 1:
        raise SystemExit(f"keys in the graph zoom to {state('zoom')}")
    for tab in ("summary", "flame", "tree", "functions", "modules", "callers"):
        page.tab(tab)
        nameless = browser.run("""return [...document.querySelectorAll('button, input, select, canvas, [role=tabpanel]')]
            .filter(each => each.offsetParent && !(each.textContent.trim() || each.getAttribute('aria-label') || each.title ||
                                                   each.closest('label'))).map(each => each.outerHTML)""")
        if nameless:
            raise SystemExit(f"{tab}: these have no name: {nameless}")
    themes = browser.run("""
        sprof.chosenTheme = 'dark';
        const themes = ['beforeprint', 'afterprint'].map(name => {
            window.dispatchEvent(new Event(name));
            return document.documentElement.dataset.theme;
        });
        return themes""")
    if themes != ["light", "dark"]:
        raise SystemExit(f"before and after printing the page is {themes}")


if __name__ == "__main__":
    sys.exit(main(worked_example, recorded_program, recorded_shell, widths, hostile_names, source, wheel, nothing,
         patterns, paper, calls, keyboard, theme))
