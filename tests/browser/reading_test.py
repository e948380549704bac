#!/usr/bin/env python3
"""Reads pages as a person would: short names, what the header says, and how much room it takes.
reading_test.py CASE"""
import sys

from page import main, page_of_stacks, plain

VECTOR = "std::vector<double, std::allocator<double> >::"
LONG = "shop::ledger::" + "nested_scope_with_a_long_name::" * 6 + "the_last_component"
STACKS = [f"main;{VECTOR}push_back(double&&) 5", f"main;{VECTOR}_M_insert_aux(double*, double&&) 4",
          "main;shop::price(int) 3", "main;shop::price(double) 2", f"main;{LONG} 1"]


def names(browser, work):
    """Names are short and unique, in full where the pointer rests and where that is chosen, and found by both."""
    page = page_of_stacks(browser, work, STACKS)
    page.tab("functions")
    shown = lambda: {plain(row[0]) for row in page.rows("functions")[0]}
    full = {name.rsplit(" ", 1)[0].split(";")[1] for name in STACKS} | {"main"}
    short = {"std::vector::push_back", "std::vector::_M_insert_aux", "shop::price(int)", "shop::price(double)", LONG, "main"}
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
    cut = browser.run("""return [...document.querySelectorAll('[data-view=functions] .rows .last')].filter(
        last => last.scrollWidth > last.clientWidth + 1).map(last => last.textContent)""")
    if cut:
        raise SystemExit(f"at 500 pixels these last components are cut: {cut}")
    page.tab("flame")
    boxes = browser.run("""const graph = sprof.views.find(view => view.id === 'flame').object.graph;
        return [10, 18, 24, 40].map(most => graph.fit(null, 'shop::ledger::entry::the_end', (most + 0.5) * graph.charWidth, 21))""")
    page.tab("functions")
    if boxes != ["the_end", "shop::ledg…the_end", "shop::ledger::en…the_end", "shop::ledger::entry::the_end"]:
        raise SystemExit(f"boxes of 10, 18, 24 and 40 characters show {boxes}")
    browser.resize(1400, 900)
    browser.click(".full-names")
    if shown() != full or "names=full" not in browser.run("return location.hash"):
        raise SystemExit(f"in full the names are {shown()}")
    for tab in ("summary", "tree", "callers", "flame"):
        page.tab(tab)
        browser.type("body", "n")
    if browser.run("return sprof.state.fullNames") is not True:
        raise SystemExit("n does not switch between short and full names")


if __name__ == "__main__":
    sys.exit(main(names))
