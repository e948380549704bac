#!/usr/bin/env python3
"""Finds circles of files that call each other, by the symbols of their object files.

    circles.py SOURCE_DIRECTORY OBJECT_DIRECTORY LIST [--write]

An arc leads from each object to the objects of the libraries that define its undefined symbols. A circle is a strongly
connected set of at least two files. LIST names the circles that exist, one a line; it may only shrink: a circle that
is not part of one of its lines is a failure, and so is a line that no longer is a circle as it stands (--write, which
refuses to let it grow, brings it up to date).
"""
import os
import subprocess
import sys
from collections import defaultdict

# Names of libc that a library stands in for: a call of them is none of that library. symbolize/module.h says why.
OF_LIBC = {"open"}


def object_files(source_directory, directory):
    """Yields (object path, source path) of all objects of the libraries and agents whose sources are still there."""
    for target in sorted(os.listdir(directory)):
        if not (target.startswith(("sprof_", "sprof-agent", "sprof-probe")) and target.endswith(".dir")):
            continue
        top = os.path.join(directory, target)
        for folder, _, names in os.walk(top):
            for name in sorted(names):
                path = os.path.join(folder, name)
                source = os.path.relpath(path, top)[: -len(".o")]
                if name.endswith((".c.o", ".S.o")) and os.path.exists(os.path.join(source_directory, source)):
                    yield path, source


def symbols_of(paths):
    """Returns for each path its defined and its undefined global symbols."""
    defined, undefined = defaultdict(set), defaultdict(set)
    output = subprocess.run(["nm", "-A", "-g", *paths], capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        path, rest = line.rsplit(":", 1) if line.count(":") == 1 else line.split(".o:", 1)
        path = path if path.endswith(".o") else path + ".o"
        kind, name = rest.split()[-2:]
        (undefined if kind in "Uw" else defined)[path].add(name)
    return defined, undefined


def arcs_between(objects):
    defined, undefined = symbols_of([path for path, _ in objects])
    source = dict(objects)
    owner = {name: source[path] for path in defined for name in defined[path] - OF_LIBC}
    arcs = defaultdict(lambda: defaultdict(set))
    for path, names in undefined.items():
        for name in names:
            if owner.get(name, source[path]) != source[path]:
                arcs[source[path]][owner[name]].add(name)
    return arcs


def circles_of(arcs):
    """Strongly connected components of two or more nodes (Tarjan 1972, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in sorted(arcs):
        if root in index:
            continue
        work = [(root, iter(sorted(arcs[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(arcs[target] if target in arcs else ()))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    circle = set()
                    while node not in circle:
                        circle.add(stack.pop())
                    on_stack -= circle
                    if len(circle) > 1:
                        found.append(sorted(circle))
    return sorted(found, key=lambda circle: (-len(circle), circle))


def read_list(path):
    with open(path, encoding="utf-8") as file:
        return [line.split() for line in file if line.strip() and not line.startswith("#")]


def grown(circles, listed):
    """The circles that are part of no listed one."""
    return [circle for circle in circles if not any(set(circle) <= set(line) for line in listed)]


def describe(circle, arcs):
    lines = [f"a circle of {len(circle)} files that call each other:"]
    for a in circle:
        for b in circle:
            if b in arcs[a]:
                lines.append(f"    {a} -> {b}: {' '.join(sorted(arcs[a][b]))}")
    return "\n".join(lines)


HEADER = """\
# Circles of files that call each other, one a line, as tests/layering_test/circles.py finds them. The list only shrinks.
"""


def main():
    objects, path = list(object_files(sys.argv[1], sys.argv[2])), sys.argv[3]
    if not objects:
        print(f"circles.py: no object files below {sys.argv[2]}", file=sys.stderr)
        return 1
    arcs = arcs_between(objects)
    circles = circles_of(arcs)
    listed = read_list(path)
    new = grown(circles, listed)
    for circle in new:
        print(describe(circle, arcs), file=sys.stderr)
    if new:
        return 1
    gone = [line for line in listed if line not in circles]
    if gone and "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEADER + "".join(" ".join(circle) + "\n" for circle in circles))
    elif gone:
        for line in gone:
            print(f"no longer a circle as listed: {' '.join(line)}", file=sys.stderr)
        print(f"circles.py: run it with --write to shrink {path}", file=sys.stderr)
        return 1
    print(f"{len(circles)} circles, the largest of {max(map(len, circles), default=0)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
