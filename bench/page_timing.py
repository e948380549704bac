#!/usr/bin/env python3
"""How long a page takes in a headless Chromium: until the first picture, and from a click to its picture.
    bench/page_timing.py PAGE…
Prints medians of five: the time that passed, and the CPU time of the page's thread, which other programs on
the machine do not add to. The reach is 1 s for the first picture and 0.1 s for a click."""
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "browser"))
from webdriver import Browser  # noqa: E402

TIMED = """
    const start = performance.now();
    if ((() => { %s })() === false)
        return null;
    return new Promise(done => {
        const drawn = () => document.querySelector('.share')?.textContent === 'searching …' ? setTimeout(drawn, 1)
            : requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
        drawn();
    })"""

# What a person does, by the same events. False: the page has nothing to do it with.
HELPERS = """
    window.press = selector => { const found = document.querySelector(selector); found?.click(); return Boolean(found); };
    window.shownView = () => [...document.querySelectorAll('.view')].find(view => !view.hidden);
    window.pick = (label, text) => {
        const found = [...document.querySelectorAll('.views label')].find(each => each.firstChild.textContent === label)
            ?.querySelector('select');
        if (!found)
            return false;
        found.selectedIndex = text === 'last' ? found.options.length - 1 : 0;
        found.dispatchEvent(new Event('change'));
    };
    window.range = (from, to) => {
        const canvas = document.querySelector('.timeline canvas'), box = canvas.getBoundingClientRect();
        for (const [type, at] of [['pointerdown', from], ['pointermove', to], ['pointerup', to]])
            canvas.dispatchEvent(new PointerEvent(type, {clientX: box.left + at * box.width, clientY: box.top + 20, pointerId: 1}));
    };
    window.look = text => {
        const input = document.querySelector('.search input');
        input.value = text;
        input.dispatchEvent(new Event('input'));
    };
    Element.prototype.setPointerCapture = () => {};
"""
CLICKS = [
    ("call tree", "return press('[data-tab=tree]')"),
    ("expand a node", "return press('[data-view=tree] .rows .row:nth-child(3) .twist')"),
    ("functions", "return press('[data-tab=functions]')"),
    ("sort by name", "return press('[data-view=functions] .head .cell')"),
    ("select a function", "document.querySelector('[data-view=functions] .rows .row').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"),
    ("modules", "return press('[data-tab=modules]')"),
    ("source", "return press('[data-tab=source]')"),
    ("heat map", "return press('[data-tab=heat]')"),
    ("flame graph", "return press('[data-tab=flame]')"),
    ("zoom", "const graph = sprof.views.find(view => view.id === 'flame').object.graph; graph.zoom(graph.root.children()[0])"),
    ("zoom out", "sprof.views.find(view => view.id === 'flame').object.graph.reset()"),
    ("search", "look('7')"),
    ("search, regular expression", "look('/number_[0-9]*3/')"),
    ("search given up", "look('')"),
    ("inverted", "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'i', bubbles: true}))"),
    ("range, inverted", "range(0.3, 0.6)"),
    ("all of the time, inverted", "return press('.timeline .chip')"),
    ("upright again", "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'i', bubbles: true}))"),
    ("as a flame", "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'f', bubbles: true}))"),
    ("range", "range(0.2, 0.7)"),
    ("range moved", "range(0.3, 0.8)"),
    ("phase", "return pick('Phase', 'last')"),
    ("all of the time", "return press('.timeline .chip')"),
    ("thread", "return pick('Thread', 'last')"),
    ("all threads", "return pick('Thread', 'first')"),
    ("process", "return pick('Process', 'last')"),
    ("all processes", "return pick('Process', 'first')"),
    ("mode app", "return press('[data-mode=app]')"),
    ("mode app, no interior", "return press('[data-mode=app-drop]')"),
    ("mode app frame", "return press('[data-mode=pc-app]')"),
    ("mode pc", "return press('[data-mode=pc]')"),
    ("mode full", "return press('[data-mode=full]')"),
    ("run", "return pick('Run', 'last')"),
    ("first run", "return pick('Run', 'first')"),
    ("comparison", "return pick('Compared with', 'last')"),
    ("comparison, proportional", "return press('[data-view=compare] .segments button:nth-child(2)')"),
]


def cpu(browser):
    metrics = browser.devtools("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def look(browser, page, results):
    browser.open("about:blank")
    browser.open("file://" + os.path.abspath(page))
    browser.until("return window.sprof !== undefined")
    first = browser.run("return new Promise(done => requestAnimationFrame(() => setTimeout(() => done(sprof.shownAt))))")
    results.setdefault("first picture", []).append((first / 1000, cpu(browser)))
    browser.run(HELPERS)
    browser.run("return new Promise(done => setTimeout(done, 1500))")  # a person looks, too, before the first click
    for name, script in CLICKS:
        before = cpu(browser)
        passed = browser.run(TIMED % script)
        if passed is not None:
            results.setdefault(name, []).append((passed / 1000, cpu(browser) - before))


def main():
    with tempfile.TemporaryDirectory() as work:
        browser = Browser(os.path.join(work, "profile"))
        try:
            browser.devtools("Performance.enable", timeDomain="threadTicks")
            for page in sys.argv[1:]:
                results = {}
                for _ in range(5):
                    look(browser, page, results)
                print(f"{page}: {os.path.getsize(page) / 1e6:.1f} MB")
                for name, times in results.items():
                    passed, used = (statistics.median(column) for column in zip(*times))
                    print(f"    {name:28} {passed:6.3f} s {used:6.3f} s CPU")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
