#!/usr/bin/env python3
"""Time on pages: slots, threads, waits, and what began before it was recorded.
time_test.py CASE"""
import json
import os
import re
import shlex
import subprocess
import sys

from page import compare, main, make_page, Page, plain, PROGRAMS, report, SPLIT, sprof, table_of


def time(browser, work):
    """Time has slots as fine as the recording bears, rows by process with its command, and stacks in its order."""
    recording = os.path.join(work, "two.db")
    half = " ".join(SPLIT) + " 150"
    sprof("record", "-o", recording, "--", "sh", "-c", f"{half}; {half}; :")
    page = Page(browser, make_page(work, recording))
    slot_ns, duration_ns = browser.run("return [sprof.run().slotNs, sprof.run().durationNs]")
    if slot_ns != (1e6 if duration_ns <= 2e9 else 1e7):
        raise SystemExit(f"slots of {slot_ns} ns for {duration_ns} ns")
    browser.click(".timeline-head .quiet")
    rows = browser.run("""return sprof.timeline.rowsShown().map(({process, thread}) =>
        process === undefined ? ['thread', sprof.data.threads[thread].process] : ['process', process])""")
    process = None
    for kind, index in rows:
        if kind == "thread" and index != process:
            raise SystemExit(f"the rows of the strip are {rows}: a thread stands below another process")
        process = index
    known = "SELECT count(*) AS n FROM process WHERE command IS NOT NULL AND command <> ''"
    expected = int(json.loads(sprof("sql", "-i", recording, "--format", "json", known).stdout)[0]["n"])
    commands = browser.run("return sprof.data.processes.map(({command}) => command).filter(Boolean)")
    if rows[0][0] != "process" or len(commands) != expected or not any("150" in command.split() for command in commands):
        raise SystemExit(f"of {expected} commands that are known the page has {commands}")
    page.tab("order")
    bands = browser.run("""return sprof.views.find(view => view.id === 'order').object.bands.map(({thread, boxes}) =>
        [thread, boxes.filter(box => box.depth === 0).map(({from, to}) => [from, to]).sort((a, b) => a[0] - b[0])])""")
    # A step of some slots is filled where one of them has a sample, so that names find room.
    slots = browser.run("""const {data} = sprof, {slot, lane, samples} = data.cells, seen = {};
        const {step} = sprof.views.find(view => view.id === 'order').object;
        for (let i = 0; i < data.cells.count; i++)
            if (samples[i])
                (seen[data.lanes[lane[i]][1]] ||= {})[Math.floor(slot[i] / step)] = 1;
        return Object.fromEntries(Object.entries(seen).map(([thread, steps]) => [thread, step * Object.keys(steps).length]))""")
    for thread, boxes in bands:
        covered = sum(end - start for start, end in boxes)
        overlaps = any(a[1] > b[0] + 1e-6 for a, b in zip(boxes, boxes[1:]))
        if abs(covered - slots[str(thread)]) > 0.01 or overlaps:
            raise SystemExit(f"thread {thread} has samples in {slots[str(thread)]} slots, and boxes {boxes}")
    browser.run("""const view = sprof.views.find(view => view.id === 'order').object, box = view.bands[0].boxes[0];
        view.chart.actions.clicked(box);""")
    if browser.run("return sprof.state.slots") is None:
        raise SystemExit("a click on a box does not lead to its time")


def attached(browser, work):
    """A recording of a process that ran already is called by its command; the heat map has a scale, the graph its total."""
    recording = os.path.join(work, "attached.db")
    with subprocess.Popen([*SPLIT, "60000"], stdout=subprocess.DEVNULL) as process:
        sprof("record", "-p", str(process.pid), "--duration", "1", "-o", recording)
        process.kill()
    page = Page(browser, make_page(work, recording))
    name = browser.run("return document.querySelector('.command').textContent")
    if not name.startswith(SPLIT[0]) or not name.endswith(f"({process.pid})") or not browser.run("return document.title").startswith(SPLIT[0]):
        raise SystemExit(f"of an attached process the page is called {name}")
    page.tab("heat")
    scale, most = browser.run("""const {map} = sprof.views.find(view => view.id === 'heat').object;
        return [document.querySelector('.heat-scale').textContent, formatted(Math.max(...[...Array(map.costs.slots).keys()].map(slot => map.value(slot))))];
        function formatted(ns) { return `${(ns / 1e6).toFixed(1)} ms`; }""")
    if scale != f"0  {most} in a row":
        raise SystemExit(f"the heat map's scale is '{scale}', its most {most}")
    page.tab("flame")
    root, total = browser.run("""const {graph} = sprof.views.find(view => view.id === 'flame').object;
        return [graph.label(graph.root), document.querySelector('.facts b').textContent]""")
    if root != f"all: {total}":
        raise SystemExit(f"the graph's root says '{root}', the header {total}")


def waits(browser, work):
    """What is read of waits, alone and with the time on a CPU, is what reports say; threads' bands show both states, and what woke them."""
    recording = os.path.join(work, "waits.db")
    done = sprof("record", "--off-cpu=0", "--wakers", "-o", recording, "--", os.path.join(PROGRAMS, "wakes"), "pipes", "60", check=False)
    if done.returncode:
        print(f"SKIPPED: {done.stderr}")
        return 77
    page = Page(browser, make_page(work, recording))
    # What mostly waits is shown by the program's own functions at first, not by those of the kernel.
    first, mode, filters = browser.run("return [sprof.event().name, sprof.state.mode, sprof.state.filters]")
    if (first == "wall") != (mode == "app" and len(filters) == 1):
        raise SystemExit(f"the page begins with {first} in mode {mode}, {filters}")
    browser.run("sprof.set({mode: 'full', filters: []})")
    # In the graph of all time, waiting, ready and running have colours of their own, and nearly all is another than all of it.
    browser.run("sprof.set({tab: 'flame'})")
    colors, said = browser.run("""const {graph} = sprof.views.find(view => view.id === 'flame').object, last = graph.describe?.(sprof.profile, graph.root).at(-1);
        return [[[['run', 1]], [['wait', 1]], [['ready', 1]], [['run', 0.05], ['wait', 0.95]]].map(shares => sprof.palette.mixed(shares)), last?.textContent]""")
    channels = [[int(part) for part in color[4:-1].split()] for color in colors]
    apart = [max(abs(a - b) for a, b in zip(one, other)) for at, one in enumerate(channels) for other in channels[:at]]
    if first == "wall" and (min(apart) < 10 or abs(sum(map(float, re.findall(r"[\d.]+", said))) - 100) > 2):
        raise SystemExit(f"the colours of states are {colors}; {said}")
    for event, idle in (("wall", False), ("wall", True), ("off-cpu", False), ("off-cpu:ready", False)):
        known = browser.run("""const event = sprof.data.events.findIndex(({name}) => name === arguments[0]);
            if (event >= 0)
                sprof.set({tab: 'functions', event, idle: arguments[1]});
            return event""", event, idle)
        if known < 0:
            if event.startswith("off-cpu"):  # there may have been one kind alone
                continue
            raise SystemExit(f"the page does not have the event {event}")
        compare(f"{event}, idle {idle}", page.table("functions", plain), report(recording, "--event", event, *["--idle"] * idle), whole=False)
        command = shlex.split(browser.run("return document.querySelector('.filters code').textContent"))
        if command[2:] != ["--event", event] + ["--idle"] * idle:
            raise SystemExit(f"the command for {event} is {command}")
    browser.run("sprof.set({event: sprof.data.events.findIndex(({name}) => name === 'wall'), idle: true, tab: 'order'})")
    states, overlaps, lines, named = browser.run("""const {bands, chart} = sprof.views.find(view => view.id === 'order').object, {wakes} = sprof.waits();
        const outer = bands.map(band => band.boxes.filter(box => !box.depth).sort((a, b) => a.from - b.from));
        return [[...new Set(outer.flat().map(box => box.state || 'on'))].sort(),
            outer.some(boxes => boxes.some((box, i) => i && box.from < boxes[i - 1].to - 1e-6)),
            wakes.filter(([thread, woken, ran, waker]) => waker !== undefined && woken <= ran).length,
            wakes.every(([thread, woken, ran, waker]) => sprof.data.threads[thread] && (waker === undefined || sprof.data.threads[waker]))]""")
    if "on" not in states or "wait" not in states or overlaps or not lines or not named:
        raise SystemExit(f"bands have {states}, overlaps {overlaps}, {lines} lines from threads to those that they woke, known {named}")
    # The strip shows no more threads at a time than there are, but for a sample or two of their time, and all of that.
    most, threads, shown, total = browser.run("""const {timeline, timeCosts: {perKind, threads}, profile} = sprof, {slotNs} = timeline;
        const all = Object.values(perKind), columns = all.map(values => timeline.columns(values, timeline.canvas.clientWidth));
        const sums = [...columns[0]].map((none, at) => columns.reduce((sum, values) => sum + values[at], 0));
        return [Math.max(...sums) / slotNs, threads.size, all.reduce((sum, values) => sum + values.reduce((a, b) => a + b), 0), profile.total]""")
    if most > 1.02 * threads or abs(shown - total) > 1e-6 * total:
        raise SystemExit(f"the strip shows {most} of {threads} threads at a time, and {shown} of {total} ns")
    first, on, off = browser.run("""const {data} = sprof, {lane, weight, count} = data.cells, sums = {on: 0, off: 0};
        for (let i = 0; i < count; i++)
            if (!data.lanes[lane[i]][2])
                sums[data.events[data.lanes[lane[i]][0]].time] += weight[i];
        return [data.events[data.firstEvent].name, sums.on, sums.off]""")
    if (first == "wall") != (off > on):
        raise SystemExit(f"with {on} ns on a CPU and {off} ns of waits the page begins with {first}")
    page.tab("flame")
    waiting, everything, color = browser.run("""const {graph} = sprof.views.find(view => view.id === 'flame').object;
        return [sprof.profile.states[0].weight[0], sprof.profile.total, graph.colorOf(graph.root)]""")
    if not 0 < waiting < everything or not color:
        raise SystemExit(f"of {everything} ns threads wait {waiting}, in the colour {color}")
    # Sums of events have no lines, so nothing leads to them.
    page.tab("callers")
    if browser.errors() or browser.run("return [...document.querySelectorAll('[data-view=callers] button')].some(button => button.textContent === 'source')"):
        raise SystemExit("callers of a sum of events lead to source lines")
    # Choices that a narrow line has no room for are in the menu.
    with browser.emulated(800, 900):
        apart = browser.settled("""const [choices, menu] = ['.choices', '.views > .menu'].map(each => document.querySelector(each).getBoundingClientRect());
            return choices.height > 40 || Math.abs(choices.top - menu.top) > 12 ? `${choices.top} and ${menu.top}, ${choices.height} high` : ''""")
        if apart:
            raise SystemExit(f"choices and their menu do not stand in one line: {apart}")
    page.tab("waits")
    # In a narrow window the functions stay, and all columns are in sight.
    with browser.emulated(400, 800):
        cut = browser.settled("""const table = document.querySelector('[data-view=waits] .table'), lasts = [...table.querySelectorAll('.last')];
            return table.scrollWidth > table.clientWidth ? ['the table'] : lasts.filter(last => last.scrollWidth > last.clientWidth + 1 &&
                last.textContent.length < 12).map(last => last.textContent)""")
        if cut:
            raise SystemExit(f"of the waits {cut} are cut")
    for option, chains in (("--wakers", False), ("--wait-chains", True)):
        browser.run("sprof.set({chains: arguments[0]})", chains)
        shown = browser.run("return sprof.views.find(view => view.id === 'waits').object.table.rows.map(row => [row.waits, row.waiting, row.woken_by])")
        expected = [[row["waits"], row["waiting"], row["woken_by"]] for row in table_of("report", option, recording)]
        if sorted(shown) != sorted(expected):
            raise SystemExit(f"{option}: the page has {shown}, the report {expected}")
    return 0


PER_SLOT = """const {data, state, timeCosts: {perKind}} = sprof, {lane, slot, weight, count} = data.cells;
    const shown = perKind.app.map((none, at) => Object.values(perKind).reduce((sum, values) => sum + values[at], 0)), held = shown.map(() => 0);
    for (let i = 0; i < count; i++)
        if (data.lanes[lane[i]][0] === state.event)
            held[slot[i]] += weight[i];
    return [[...shown], [...held], sprof.run().slotNs]"""


def crowds(browser, work):
    """What is called a thread but is several stands where it was recorded; costs of one thread take no time to place."""
    recording, rows, imported, machine = (os.path.join(work, name) for name in ("own.db", "own.rows", "imported.db", "machine.db"))
    sprof("record", "-o", recording, "--", *SPLIT, "400")
    sprof("export", "-f", "rows", recording, "-o", rows, "--window", "1s")
    sprof("import", rows, "-o", imported)
    pages = [(imported, None)]
    if not sprof("record", "-a", "--duration", "1", "-o", machine, check=False).returncode and \
            any(row["name"] == "[idle]" for row in json.loads(sprof("sql", "-i", machine, "--format", "json", "SELECT name FROM event").stdout)):
        pages.append((machine, "[idle]"))
    for path, event in pages:
        page = Page(browser, make_page(work, path))
        browser.run("""if (arguments[0])
            sprof.set({event: sprof.data.events.findIndex(({name}) => name === arguments[0])})""", event)
        shown, held, slot_ns = browser.run(PER_SLOT)
        if not any(shown) or any(abs(a - b) > 1e-6 * max(a, b) for a, b in zip(shown, held)):
            raise SystemExit(f"{event or 'an import'} costs {held} in slots, the page shows {shown}")
        if not event and max(held) <= slot_ns:
            raise SystemExit(f"no slot of the import has more than a thread's time: {held}")
    # A thread of which all cells stand in one slot of many, as a damaged recording may have them.
    page = Page(browser, make_page(work, recording))
    took, most, slot_ns, total = browser.run("""const {data} = sprof, run = sprof.run(), count = 50000, slots = 60000, lane = data.lanes.findIndex(([event]) => event === sprof.state.event);
        const filled = value => new Float64Array(count).fill(value), node = data.cells.node[0];
        run.slots = slots;
        data.cells = {count, lane: filled(lane), slot: filled(0), node: filled(node), samples: filled(1), weight: filled(0.9 * run.slotNs)};
        data.laneStarts = undefined;
        const began = performance.now();
        sprof.set({thread: data.lanes[lane][1]});
        const sums = sprof.timeCosts.threads.get(data.lanes[lane][1]);
        return [performance.now() - began, Math.max(...sums), run.slotNs, sums.reduce((a, b) => a + b) / count / run.slotNs]""")
    if took > 5000 or most > slot_ns * (1 + 1e-6) or abs(total - 0.9) > 1e-6:
        raise SystemExit(f"to place 50,000 costs took {took} ms; {most} of {slot_ns} ns in a slot, {total} of 0.9 of all")


if __name__ == "__main__":
    sys.exit(main(time, attached, waits, crowds))
