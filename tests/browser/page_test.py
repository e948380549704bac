#!/usr/bin/env python3
"""Opens pages of `sprof html` in a headless Chromium, uses them as a person would, and compares what
they show with the text reports.   page_test.py CASE
Environment: SPROF, the binary; PROGRAMS, the directory of the test programs; GOLDEN, folded stacks."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from webdriver import Browser  # noqa: E402

SPROF, PROGRAMS, GOLDEN = (os.environ[name] for name in ("SPROF", "PROGRAMS", "GOLDEN"))
SPLIT = [os.path.join(PROGRAMS, "split"), "threads", "2"]
ROWS = """
    const view = document.querySelector(`[data-view=${arguments[0]}]`);
    return [...view.querySelectorAll('.rows')].map(rows => [...rows.querySelectorAll('.row')].map(
        row => [...row.querySelectorAll('.cell')].map(cell => cell.textContent.trim())));
"""
MODES = {"full": [], "app": ["-m", "app"], "app-drop": ["-m", "app", "--app-interior", "drop"],
         "pc-app": ["-m", "pc", "--frame", "app"], "pc": ["-m", "pc"]}


def sprof(*arguments, check=True):
    done = subprocess.run([SPROF, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if check and done.returncode:
        raise SystemExit(f"sprof {' '.join(arguments)}: {done.stderr}")
    return done


def report(recording, *arguments):
    """name -> (inclusive, exclusive) samples of functions or modules, as the text reports count."""
    tables = [json.loads(sprof("report", "-i", recording, "--format", "json", *more, *arguments).stdout)
              for more in (["--inclusive"], [])]
    key = "module" if "--modules" in arguments else "function"
    costs = {}
    for index, (table, column) in enumerate(zip(tables, ("inclusive_samples", "exclusive_samples"))):
        for row in table["rows"]:
            name = row[key] if key == "module" else (row[key], row["module"])
            costs.setdefault(name, [0, 0])[index] += row[column]
    return {name: tuple(cost) for name, cost in costs.items() if any(cost)}


def number(text):
    return int(text.replace("\u202f", ""))


class Page:
    def __init__(self, browser, path):
        self.browser = browser
        browser.open("about:blank")
        browser.open("file://" + path)
        browser.until("return window.sprof !== undefined")

    def rows(self, view):
        return self.browser.run(ROWS, view)

    def tab(self, name):
        self.browser.click(f"[data-tab={name}]")

    def columns(self, view):
        return self.browser.run("""return [...document.querySelectorAll(`[data-view=${arguments[0]}] .head .cell`)]
            .map(cell => cell.textContent.replace(/ [↓↑]$/, ''))""", view)

    def table(self, view, key):
        """name -> (inclusive, exclusive) samples of the rows in sight of a table."""
        titles = self.columns(view)
        counts = [i for i, title in enumerate(titles) if title == "samples"]
        module = titles.index("module")
        costs = {}
        for row in self.rows(view)[0]:
            name = (key(row[0]), row[module]) if view == "functions" else key(row[0])
            cost = costs.setdefault(name, [0, 0])
            cost[0] += number(row[counts[0]])
            cost[1] += number(row[counts[1]])
        return {name: tuple(cost) for name, cost in costs.items()}


def plain(name):
    return name[:-len("inlined")] if name.endswith("inlined") else name


def compare(what, shown, expected, whole=True):
    missing = {name: cost for name, cost in expected.items() if whole and name not in shown}
    other = {name: (cost, expected.get(name)) for name, cost in shown.items() if expected.get(name) != cost}
    if missing or other:
        raise SystemExit(f"{what}: the page lacks {missing}, and differs in {other}")


def make_page(directory, recording):
    path = os.path.join(directory, "page.html")
    sprof("html", recording, "-o", path)
    return path


def worked_example(browser, work):
    """The worked example of the design, in every mode, in all tables."""
    recording = os.path.join(work, "worked.db")
    sprof("import", "--folded", os.path.join(GOLDEN, "worked.folded"), "-o", recording,
          "--system-module", "lib.so")
    page = Page(browser, make_page(work, recording))
    for mode, arguments in MODES.items():
        browser.click(f"[data-mode={mode}]")
        page.tab("functions")
        compare(f"functions, {mode}", page.table("functions", plain), report(recording, *arguments))
        page.tab("modules")
        compare(f"modules, {mode}", page.table("modules", plain),
                report(recording, "--modules", *arguments))
    browser.click("[data-mode=full]")
    browser.run("sprof.openFunction(sprof.data.functions.names.indexOf('A2'))")
    callers, callees = page.rows("callers")
    found = ([row[0].lstrip("▾▸") for row in callers], [row[1:] for row in callers])
    if found != (["A1", "A3"], [["60 %", "50 %", "3"], ["40 %", "33 %", "2"]]):
        raise SystemExit(f"callers of A2: {found}")
    found = ([row[0].lstrip("▾▸") for row in callees], [row[1:] for row in callees])
    if found != (["S1", "S2"], [["60 %", "50 %", "3"], ["60 %", "50 %", "3"]]):
        raise SystemExit(f"callees of A2: {found}")


def recorded_program(browser, work):
    """A recording of a real program: modes, search, a range of time, bottom-up, keys, the address."""
    recording = os.path.join(work, "split.db")
    sprof("record", "-o", recording, "--", *SPLIT, "1200")
    page = Page(browser, make_page(work, recording))
    for mode in ("app", "pc", "full"):
        browser.click(f"[data-mode={mode}]")
        page.tab("functions")
        compare(f"functions, {mode}", page.table("functions", plain), report(recording, *MODES[mode]),
                whole=False)
    everything = sum(cost[1] for cost in report(recording).values())
    browser.type(".search input", "spin")
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
            browser.run(f"sprof.setTheme('{theme}'); sprof.palette.setTheme('{theme}' === 'dark'); sprof.update()")
            for tab in ("summary", "flame", "tree", "functions", "modules", "callers", "heat"):
                page.browser.run(f"sprof.set({{tab: '{tab}'}})")
                over = browser.run("return document.documentElement.scrollWidth - window.innerWidth")
                if over > 0:
                    raise SystemExit(f"{tab}: {over} pixels wider than a window of {width}")
            browser.run("sprof.set({tab: 'flame'})")
            browser.until("return document.querySelector('.flame canvas').width > 100")
            if painted(browser, ".flame canvas") < 4 or painted(browser, ".timeline canvas") < 3:
                raise SystemExit(f"nothing is drawn at {width} pixels, {theme}")
            if os.environ.get("PICTURES"):
                browser.screenshot(os.path.join(os.environ["PICTURES"], f"flame-{width}-{theme}.png"))


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
    for tab in ("summary", "flame", "tree", "functions", "callers", "heat"):
        page.tab(tab)
    if browser.run("return window.broken"):
        raise SystemExit("a name was run as a script")


def two_runs(browser, work):
    """Two runs in one recording: each can be chosen, and compared with the other."""
    recording = os.path.join(work, "two.db")
    for more in ([], ["--append"]):
        sprof("record", "-o", recording, *more, "--", *SPLIT, "400")
    page = Page(browser, make_page(work, recording))
    for event in (0, 1):
        browser.run(f"sprof.set({{event: {event}, tab: 'functions'}})")
        compare(f"run {event + 1}", page.table("functions", plain),
                report(recording, "--run", str(event + 1)), whole=False)
    browser.run("sprof.set({base: 0, tab: 'compare'})")
    if not page.rows("compare")[0]:
        raise SystemExit("the comparison is empty")
    now, before = browser.run("return [sprof.profile.total, sprof.base.costs.samples[0]]")
    root = browser.run("""const root = sprof.views.find(view => view.id === 'compare').object.root;
        return [root.now, root.beforeSamples]""")
    if root != [now, before]:
        raise SystemExit(f"the comparison has {root}, the runs {now} and {before}")


CASES = {case.__name__: case for case in (worked_example, recorded_program, widths, hostile_names, two_runs)}


def main():
    for tool in ("chromium", "chromedriver"):
        if not shutil.which(tool):
            print(f"SKIPPED: {tool} is not installed")
            return 77
    with tempfile.TemporaryDirectory() as work:
        browser = Browser(os.path.join(work, "profile"))
        try:
            CASES[sys.argv[1]](browser, work)
            errors = browser.errors()
            if errors:
                raise SystemExit(f"the page complained: {errors}")
        finally:
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
