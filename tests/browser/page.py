"""A page of `sprof html` in a headless Chromium: how tests open it, read its tables, and compare them with
the text reports.
Environment: SPROF, the binary; PROGRAMS, the directory of the test programs; GOLDEN, folded stacks."""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

from webdriver import Browser

SPROF, PROGRAMS, GOLDEN = (os.environ[name] for name in ("SPROF", "PROGRAMS", "GOLDEN"))
SPLIT = [os.path.join(PROGRAMS, "split"), "threads", "2"]
ROWS = """
    const view = document.querySelector(`[data-view=${arguments[0]}]`);
    return [...view.querySelectorAll('.table:not([hidden]) > .rows')].map(rows => [...rows.querySelectorAll('.row')].map(
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


class Costs(dict):
    """name -> (inclusive, exclusive) samples; of the names in `several`, of several rows together."""
    several = frozenset()


def report(recording, *arguments):
    """The costs of functions or modules, as the text reports count."""
    tables = [json.loads(sprof("report", "-i", recording, "--format", "json", *more, *arguments).stdout)
              for more in (["--inclusive"], [])]
    key = "module" if "--modules" in arguments else "function"
    costs, rows = {}, collections.Counter()
    for index, (table, column) in enumerate(zip(tables, ("inclusive_samples", "exclusive_samples"))):
        for row in table["rows"]:
            name = row[key] if key == "module" else (row[key], row["module"])
            costs.setdefault(name, [0, 0])[index] += row[column]
            rows[name, index] += 1
    found = Costs((name, tuple(cost)) for name, cost in costs.items() if any(cost))
    found.several = {name for (name, _), count in rows.items() if count > 1}
    return found


def number(text):
    return int(text.replace("\u202f", ""))


class Page:
    def __init__(self, browser, path):
        self.browser = browser
        browser.open("about:blank")
        browser.open("file://" + path)
        browser.until("return window.sprof !== undefined")

    def laid_out(self):
        """The graph's boxes are laid out as long as there is time, and the rest later."""
        self.browser.until("""const {graph} = sprof.views.find(view => view.id === 'flame').object;
            return graph.rows?.length > 1 && !graph.level.length""")

    def nothing_cut(self, view):
        """Numbers, line numbers and modules that tell namesakes apart are whole, whatever the width."""
        cut = self.browser.settled("""return [...document.querySelectorAll(`[data-view=${arguments[0]}] :is(.row .cell.number, .whole, .of)`)]
            .filter(cell => cell.scrollWidth > cell.clientWidth + 1 && cell.clientWidth).map(cell => cell.textContent).slice(0, 5)""", view)
        if cut:
            raise SystemExit(f"{view}: {cut} are cut")

    def rows(self, view):
        return self.browser.run(ROWS, view)

    def tab(self, name):
        self.browser.click(f"[data-tab={name}]")

    def mode(self, name):
        self.browser.run("document.querySelector(`[data-mode=${arguments[0]}]`).click()", name)

    def columns(self, view):
        return self.browser.run("""return [...document.querySelectorAll(`[data-view=${arguments[0]}] .head .cell`)]
            .map(cell => cell.textContent.replace(/ [↓↑]$/, ''))""", view)

    def table(self, view, key):
        """name -> (inclusive, exclusive) samples of the rows in sight of a table."""
        titles = self.columns(view)
        counts = [titles.index(word + " samples") for word in ("total", "self")]
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
    """Where not the whole table is in sight, some of the rows of one name may be out of it."""
    missing = {name: cost for name, cost in expected.items() if whole and name not in shown}
    other = {name: (cost, expected.get(name)) for name, cost in shown.items()
             if expected.get(name) != cost and (whole or name not in getattr(expected, "several", ()))}
    if missing or other:
        raise SystemExit(f"{what}: the page lacks {missing}, and differs in {other}")


def make_page(directory, *recordings):
    path = os.path.join(directory, "page.html")
    sprof("html", *recordings, "-o", path)
    return path


def page_of_stacks(browser, work, stacks):
    """The page of folded stacks, a line each."""
    folded, recording = os.path.join(work, "stacks.folded"), os.path.join(work, "stacks.db")
    with open(folded, "w", encoding="utf-8") as file:
        file.writelines(stack + "\n" for stack in stacks)
    sprof("import", "--folded", folded, "-o", recording)
    return Page(browser, make_page(work, recording))


def table_of(*arguments):
    """The rows of a text report's table."""
    return json.loads(sprof(*arguments, "--format", "json").stdout)["rows"]


def main(*cases):
    """Runs the case that the command names, each a function of a browser and a directory."""
    for tool in ("chromium", "chromedriver", "pdftotext"):
        if not shutil.which(tool):
            print(f"SKIPPED: {tool} is not installed")
            return 77
    # Processes of the browser may still write into its profile when it has ended.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        browser = Browser(os.path.join(work, "profile"))
        try:
            status = {case.__name__: case for case in cases}[sys.argv[1]](browser, work) or 0
            errors = browser.errors()
            if errors:
                raise SystemExit(f"the page complained: {errors}")
        finally:
            browser.close()
    return status
