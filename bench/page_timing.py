#!/usr/bin/env python3
"""How long a page takes in a headless Chromium: until the first picture, and from a click to its picture.
    bench/page_timing.py PAGE…      (medians of five; the reach is 1 s and 0.1 s)"""
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "browser"))
from webdriver import Browser  # noqa: E402

TIMED = """
    const change = arguments[0], start = performance.now();
    sprof.set(change);
    return new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))))"""
CLICKS = {
    "call tree": {"tab": "tree"}, "functions": {"tab": "functions"}, "modules": {"tab": "modules"},
    "callers": {"tab": "callers"}, "source": {"tab": "source"}, "heat map": {"tab": "heat"},
    "flame graph": {"tab": "flame", "inverted": False}, "flame graph, bottom-up": {"tab": "flame", "inverted": True},
    "as a flame": {"tab": "flame", "flame": True}, "half of the time": {"slots": "half"},
    "all of the time": {"slots": None}, "one thread": {"thread": 1}, "all threads": {"thread": -1},
    "mode app": {"mode": "app"}, "mode pc": {"mode": "pc"}, "mode full": {"mode": "full"}, "search": {"search": "1"},
}


def look(browser, page, results):
    browser.open("about:blank")
    browser.open("file://" + os.path.abspath(page))
    browser.until("return window.sprof !== undefined")
    results.setdefault("first picture", []).append(
        browser.run("return new Promise(done => requestAnimationFrame(() => setTimeout(() => done(sprof.shownAt))))"))
    browser.run("return new Promise(done => setTimeout(done, 3000))")  # a person looks, too, before the first click
    for name, change in CLICKS.items():
        if change.get("slots") == "half":
            change = {"slots": [0, browser.run("return Math.ceil(sprof.run().slots / 2)")]}
        results.setdefault(name, []).append(browser.run(TIMED, change))


def main():
    with tempfile.TemporaryDirectory() as work:
        browser = Browser(os.path.join(work, "profile"))
        try:
            for page in sys.argv[1:]:
                results = {}
                for _ in range(5):
                    look(browser, page, results)
                print(f"{page}: {os.path.getsize(page) / 1e6:.1f} MB")
                for name, times in results.items():
                    print(f"    {name:28} {statistics.median(times) / 1000:6.2f} s")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
