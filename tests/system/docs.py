#!/usr/bin/env python3
"""Checks what the documents refer to: links, sections, files and benches exist; pages and lines keep their bounds.
    docs.py SOURCE"""
import fnmatch
import os
import re
import sys

source = sys.argv[1]
SKIPPED = {".git", "build"}
SOURCES = ("c", "h", "S", "cc", "py", "sh", "sql", "md", "cmake", "js", "proto")
LINES = {"docs/design/overview.md": 250}  # others of docs/design: 300
COLUMNS = 199
PLACEHOLDER = r"NAME|LIBRARY|^cpu(_\w+)?/"  # the last: an event of the processor

files = set()
for place, directories, names in os.walk(source):
    directories[:] = [name for name in directories if name not in SKIPPED]
    files.update(os.path.relpath(os.path.join(place, name), source) for name in names)
directories = {part for name in files for part in [os.path.dirname(name)]}
directories |= {"/".join(name.split("/")[:depth]) for name in directories for depth in range(1, name.count("/") + 1)}
ends = {"/".join(name.split("/")[first:]) for name in files | {name + "/" for name in directories} for first in range(name.count("/") + 1)}
problems = []


def is_there(path, page):
    """A path from the top, from the page, or the end of one: `probe/start.c` for `agent/probe/start.c`."""
    beside = os.path.normpath(os.path.join(os.path.dirname(page), path))
    return path in ends or beside in files or "*" in path and any(fnmatch.fnmatch(name, path) for name in ends)


def sections(page):
    text = open(os.path.join(source, page)).read()
    return {line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")} | set(re.findall(r"\*\*([^*]+?)\.?\*\*", text))


def check(page):
    text = open(os.path.join(source, page)).read()
    prose = re.sub(r"(?m)^    .*$", "", re.sub(r"(?ms)^```.*?^```$", "", text))
    for target, after in re.findall(r"\]\(([^)#:]+)\)(, \"[^\"]+\")?", prose):
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        if path not in files:
            problems.append(f"{page}: the link {target} leads nowhere")
        elif after and after[3:-1] not in sections(path):
            problems.append(f"{page}: {path} has no section {after[2:]}")
    for path in re.findall(r"`([\w./*-]+)`", prose):
        is_source = re.fullmatch(r"[\w./*-]+\.(%s)" % "|".join(SOURCES), path)
        if not re.search(PLACEHOLDER, path) and (is_source or path.endswith("/") and path.count("/") and not path.startswith("/")) and not is_there(path, page):
            problems.append(f"{page}: there is no {path}")
    for bench, part in re.findall(r"`(?:[A-Z_]+=\S+ )*(bench/[a-z_]+)(?: ([a-z0-9]+))?`", prose):
        if bench not in files:
            problems.append(f"{page}: there is no {bench}")
        elif part and not re.search(r"^\s*%s(\(\)|\))|= %s \]" % (part, part), open(os.path.join(source, bench)).read(), re.M):
            problems.append(f"{page}: {bench} has no part {part}")
    lines = text.splitlines()
    if page.startswith("docs/design/"):
        if len(lines) > LINES.get(page, 300):
            problems.append(f"{page} has {len(lines)} lines: at most {LINES.get(page, 300)}")
        problems.extend(f"{page}:{number} has {len(line)} columns" for number, line in enumerate(lines, 1)
                        if len(line) > COLUMNS and not line.startswith("|"))


pages = sorted(name for name in files if name.endswith(".md") and (name.startswith("docs/") or "/" not in name))
if len(pages) < 8:
    sys.exit(f"only these pages were found: {pages}")
for page in pages:
    check(page)
print("\n".join(problems) or f"{len(pages)} pages")
sys.exit(bool(problems))
