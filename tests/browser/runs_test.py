#!/usr/bin/env python3
"""Uses pages of several runs, modes and phases, and of the difference between two recordings.
runs_test.py CASE"""
import os
import shlex
import sqlite3
import sys

from page import compare, main, make_page, Page, plain, report, SPLIT, sprof, SPROF, table_of


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
    now, before = browser.run("return [sprof.profile, sprof.base].map(side => side.costs.samples[0])")
    root = browser.run("""const root = sprof.views.find(view => view.id === 'compare').object.root;
        return [root.samples, root.beforeSamples]""")
    if root != [now, before]:
        raise SystemExit(f"the comparison has {root}, the runs {now} and {before}")


def comparison(browser, work):
    """Two files side by side have the numbers of sprof diff, absolute and proportional."""
    folded = {"before": "main;same 500\nmain;grown 100\nmain;gone 40\nmain;shrunk;same 60\n",
              "after": "main;same 500\nmain;grown 300\nmain;new 80\nmain;shrunk;same 20\n"}
    files = []
    for name, text in folded.items():
        path = os.path.join(work, name)
        with open(path + ".folded", "w", encoding="utf-8") as file:
            file.write(text)
        sprof("import", "--folded", path + ".folded", "-o", path + ".db")
        files.append(path + ".db")
    with sqlite3.connect(files[1]) as database:  # debug information that the other side had not
        database.execute("UPDATE function SET file = '/src/same.c', line = 3 WHERE name = 'same'")
    database.close()
    browser.resize(1800, 900)
    page = Page(browser, make_page(work, *files))
    if browser.run("return sprof.state.tab") != "compare":
        raise SystemExit("two recordings are not compared at once")
    for absolute, per in (("true", "run"), ("false", "sample")):
        browser.run(f"sprof.set({{absolute: {absolute}}})")
        shown = browser.run("""const view = sprof.views.find(view => view.id === 'compare').object;
            return Object.fromEntries(view.table.rows.map(row => [sprof.profile.nameOf(row.id),
                [100 * row.change / sprof.comparison.total, stateOf(row)]]));
            function stateOf({now, before}) { return before ? (now ? 'both' : 'gone') : 'new'; }""")
        rows = table_of("diff", *files, "--per", per, "--all")
        for row in rows:
            change, state = shown.pop(row["function"])
            own = row["own_change"] if row["own_change"] in ("new", "gone") else "both"
            if abs(change - row["change_percent_of_all"]) > 0.01 or state != own:
                raise SystemExit(f"--per {per}: {row['function']} changed by {change:.3f}, {state}; sprof diff: {row}")
        if len(rows) < 4 or shown:
            raise SystemExit(f"--per {per}: only the page has {shown}")
    graph = browser.run("""const root = sprof.views.find(view => view.id === 'compare').object.root;
        return root.children()[0].children().map(entry => [sprof.profile.nameOf(entry.function), entry.beforeSamples, entry.samples])""")
    if sorted(graph) != [["gone", 40, 0], ["grown", 100, 300], ["new", 0, 80], ["same", 500, 500], ["shrunk", 60, 20]]:
        raise SystemExit(f"the graph of both has {graph}")
    # The call tree and the callers and callees show both sides: of it, before, now.
    columns = lambda rows: sorted([row[0].lstrip("▾▸"), *row[3:6]] for row in rows)
    browser.run("sprof.set({absolute: true, tab: 'tree'})")
    leaves = [["gone", "gone", "40", "0"], ["grown", "+200.0 %", "100", "300"], ["new", "new", "0", "80"],
              ["same", "+0.0 %", "500", "500"], ["shrunk", "−66.7 %", "60", "20"]]
    shown = [rows for rows in page.rows("tree") if rows and len(rows[0]) == 7]
    if columns(shown[0][1:]) != leaves or columns(shown[0][:1]) != [["main", "+28.6 %", "700", "900"]]:
        raise SystemExit(f"the call tree of both has {shown}")
    browser.run("sprof.openFunction(sprof.data.functions.names.indexOf('same'))")
    callers = [rows for rows in page.rows("callers") if rows and len(rows[0]) == 7]
    if columns(callers[0]) != [["main", "+0.0 %", "500", "500"], ["shrunk", "−66.7 %", "60", "20"]]:
        raise SystemExit(f"the callers of both are {callers}")
    browser.run("sprof.openFunction(sprof.data.functions.names.indexOf('main'))")
    callees = [rows for rows in page.rows("callers") if rows and len(rows[0]) == 7]
    if columns(callees[0]) != leaves:
        raise SystemExit(f"the callees of both are {callees}")
    browser.click("[data-view=callers] .segments button:nth-child(2)")
    proportional = browser.run("""return Object.fromEntries([...document.querySelectorAll('[data-view=callers] .rows .row')].map(
        row => [row.children[0].textContent, row.children[1].textContent]))""")
    if proportional.get("same") != "−15.87 %" or proportional.get("new") != "+8.89 %":
        raise SystemExit(f"in proportion the callees are {proportional}")


def several_runs(browser, work):
    """All runs of two recordings are compared as sprof diff does it, with its verdicts; modules may have other names."""
    sides = []
    for side, grown in (("before", 100), ("after", 260)):
        runs = []
        for run in range(3):
            path = os.path.join(work, f"{side}{run}")
            with open(path + ".folded", "w", encoding="utf-8") as file:
                file.write(f"main;same {500 + run}\nmain;grown {grown + 2 * run}\nmain;rare {3 - run}\n" + ("main;new 40\n" if grown > 100 else ""))
            sprof("import", "--folded", path + ".folded", "-o", path + ".db")
            runs.append(path + ".db")
        sides.append(os.path.join(work, side + ".db"))
        sprof("merge", "-o", sides[-1], *runs)
    with sqlite3.connect(sides[0]) as database:
        database.execute("UPDATE module SET name = 'lib-old.so'")
        name = database.execute("SELECT name FROM module").fetchone()[0]
    database.close()
    with sqlite3.connect(sides[1]) as database:
        database.execute("UPDATE module SET name = 'lib-new.so'")
    database.close()
    page = Page(browser, make_page(work, *sides, "--map", f"{name}=lib-new.so"))
    for per in ("run", "sample"):
        for total in (False, True):
            browser.run("""const view = sprof.views.find(view => view.id === 'compare').object;
                view.inclusive = arguments[1];
                sprof.set({absolute: arguments[0] === 'run'})""", per, total)
            shown = browser.run("""const {comparison, profile, views} = sprof, percent = value => 100 * value / comparison.total;
                return Object.fromEntries(views.find(view => view.id === 'compare').object.table.rows.map(row =>
                    [profile.nameOf(row.id), [percent(row.change), percent(row.interval), row.verdict]]))""")
            rows = table_of("diff", *sides, "--per", per, "--all", "--map", f"{name}=lib-new.so", *["--inclusive"] * total)
            for row in rows:
                change, interval, verdict = shown.pop(row["function"])
                if abs(change - row["change_percent_of_all"]) > 0.01 or abs(interval - (row["change_interval"] or 0)) > 0.01 or verdict != row["verdict"]:
                    raise SystemExit(f"--per {per}: {row['function']} has {change:.3f} ± {interval:.3f}, {verdict}; sprof diff: {row}")
            if len(rows) < 4 or shown:
                raise SystemExit(f"--per {per}: only the page has {shown}, sprof diff {len(rows)} rows")
    if not page.rows("compare")[0] or browser.run("return document.querySelector('main').getBoundingClientRect().top") > 110:
        raise SystemExit("the header of a comparison takes too much room")
    words = shlex.split(browser.run("return document.querySelector('[data-view=compare] code').textContent"))
    if words[:2] != ["sprof", "diff"] or table_of(*words[1:], "--all", "--inclusive") != rows:
        raise SystemExit(f"{words} shows something else than the page")
    # What the header says of a side is of all of its runs, as the tables are; files are called by their last names.
    facts, samples, labels = browser.run("""return [document.querySelector('header .facts').textContent.replace(/\\s/g, ''),
        sprof.profile.costs.samples[0], [...document.querySelectorAll('.choices option')].map(option => option.textContent)]""")
    if "3runs" not in facts or f"{samples}samples" not in facts or "after.db, 3 runs" not in labels:
        raise SystemExit(f"a side of {samples} samples in three runs has the header {facts}, the choices are {labels}")
    with browser.emulated(400, 800):
        over = browser.settled("const table = document.querySelector('[data-view=compare] .table'); return Math.max(0, table.scrollWidth - table.clientWidth)")
        if over:
            raise SystemExit(f"in a narrow window the table is {over} pixels too wide")
    # One run a side has no verdicts.
    browser.run("sprof.set({event: 0, base: 3})")
    if browser.run("return sprof.views.find(view => view.id === 'compare').object.table.rows.some(row => row.verdict)"):
        raise SystemExit("single runs have verdicts")


def renamed(browser, work):
    """Programs of which each is in one recording alone may be one: the page says how to compare them."""
    files = []
    for name in ("old", "new"):
        path = os.path.join(work, name)
        with open(path + ".folded", "w", encoding="utf-8") as file:
            file.write(f"{name}!main;{name}!work 500\n")
        sprof("import", "--folded", path + ".folded", "-o", path + ".db", "--app-module", "*")
        files.append(path + ".db")
    for arguments, expected in (([], ["old=new"]), (["--map", "old=new"], [])):
        Page(browser, make_page(work, *files, *arguments))
        hints = browser.run("return [...document.querySelectorAll('[data-view=compare] .warning')].map(hint => hint.textContent)")
        if [hint.split("--map ")[1].split()[0] for hint in hints] != expected:
            raise SystemExit(f"with {arguments} the comparison says {hints}")


def different_modes(browser, work):
    """Runs of different modes are read in the least detailed; where there is none, that is said."""
    full, pc, app = (os.path.join(work, name + ".db") for name in ("full", "pc", "app"))
    for path, mode in ((full, "full"), (pc, "pc"), (app, "app")):
        sprof("record", "-m", mode, "-o", path, "--", *SPLIT, "200")
    Page(browser, make_page(work, full, pc))
    shown = browser.run("return [sprof.comparing, sprof.state.mode, sprof.modes()]")
    if shown != [True, "pc", ["pc"]]:
        raise SystemExit(f"full and pc are compared as {shown}")
    Page(browser, make_page(work, full, app))
    if browser.run("return [sprof.comparing, sprof.state.mode]") != [True, "app"]:
        raise SystemExit("full and app are not compared as app")
    Page(browser, make_page(work, app, pc))
    if browser.run("return [sprof.comparing, document.querySelector('.warning') !== null]") != [False, True]:
        raise SystemExit("app and pc have no mode in common, but that is not said")


def phases(browser, work):
    """A phase chosen in the page is the range of slots that covers it; its mark stands in the timeline."""
    recording = os.path.join(work, "marked.db")
    half = " ".join(SPLIT) + " 400"
    sprof("record", "-o", recording, "--", "sh", "-c", f"{half}; {SPROF} ctl -i {recording} mark second; {half}")
    Page(browser, make_page(work, recording))
    run = browser.run("return sprof.run()")
    marks = [phase["mark"] for phase in run["phases"]]
    if marks != [None, "second"]:
        raise SystemExit(f"the page has the phases {marks}")
    chosen = browser.run("""
        const select = [...document.querySelectorAll('.views label')].find(label => label.textContent.startsWith('Phase'))
            .querySelector('select');
        select.value = '1';
        select.dispatchEvent(new Event('change'));
        return sprof.state.slots""")
    phase = run["phases"][1]
    if abs(chosen[0] * run["slotNs"] - phase["from"]) > run["slotNs"] or chosen[1] > run["slots"]:
        raise SystemExit(f"{chosen} were chosen for {phase}")
    samples = browser.run("return sprof.profile.costs.samples[0]")
    time = f"{chosen[0] * run['slotNs'] / 1e9},{chosen[1] * run['slotNs'] / 1e9}"
    expected = sum(cost[1] for cost in report(recording, "--time", time).values())
    if not samples or samples != expected:
        raise SystemExit(f"{samples} samples in the phase, but sprof report --time {time} has {expected}")


if __name__ == "__main__":
    sys.exit(main(two_runs, comparison, several_runs, renamed, different_modes, phases))
