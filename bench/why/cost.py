#!/usr/bin/env python3
"""What `sprof why -p` costs a server: CPU time per request.

  cost.py SPROF [--pairs N] [--kind a] [--slow]

The server is a program of planted.py that counts its requests. A pair is a stretch of time in which it is left alone and one as long in which
`sprof why -p` looks at it; which comes first alternates. Printed: the median of the pairs' ratios with and without, its interval of 95 % by the
sign test, and seconds and longest stop of the answers. On a busy machine (the load is printed) caches are shared with others: the interval says
how far that can be trusted.
"""
import argparse
import json
import math
import os
import statistics
import struct
import subprocess
import tempfile
import time

from planted import Program, build


def served(directory):
    with open(f"{directory}/served", "rb") as file:
        return struct.unpack("Q", file.read(8))[0]


def cpu_ns(pid):
    """Of all threads, as the scheduler has it."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def measure(pid, directory, run):
    """CPU time per request while `run` does."""
    requests, cpu = served(directory), cpu_ns(pid)
    run()
    return (cpu_ns(pid) - cpu) / max(1, served(directory) - requests)


def interval(ratios):
    """The order statistics between which the median lies with 95 %; (0, inf) where there are too few."""
    count, ratios = len(ratios), sorted(ratios)
    for rank in range(count // 2, -1, -1):
        outside = 2 * sum(math.comb(count, k) for k in range(rank + 1)) / 2 ** count
        if outside <= 0.05:
            return ratios[rank], ratios[count - 1 - rank]
    return 0, math.inf


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sprof")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--kind", default="a")
    parser.add_argument("--slow", action="store_true")
    arguments = parser.parse_args()
    sprof, ratios, seconds, stops = os.path.abspath(arguments.sprof), [], [], []
    with tempfile.TemporaryDirectory() as directory:
        program = Program("e" if arguments.slow else arguments.kind, 0)
        build(program, directory)
        options = ["--slow", f"^{program.way[0]}$"] if arguments.slow else []
        target = subprocess.Popen(["./program"], cwd=directory)
        time.sleep(1)

        def why():
            begin = time.monotonic()
            run = subprocess.run([sprof, "why", "-p", str(target.pid), "--format", "json", *options], cwd=directory, capture_output=True, text=True)
            seconds.append(time.monotonic() - begin)
            stops.append(json.loads(run.stdout).get("stopped_ns", 0) / 1e6)

        for pair in range(arguments.pairs):
            alone = (lambda: time.sleep(seconds[-1] if seconds else 5))
            if pair % 2:
                looked = measure(target.pid, directory, why)
                left = measure(target.pid, directory, alone)
            else:
                left = measure(target.pid, directory, alone)
                looked = measure(target.pid, directory, why)
            ratios.append(looked / left)
        target.kill()
        target.wait()
    low, high = interval(ratios)
    print(f"CPU per request {100 * (statistics.median(ratios) - 1):+.1f} % ({100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} %, "
          f"{len(ratios)} pairs), {statistics.median(seconds):.1f} s, longest stop {statistics.median(stops):.1f} ms (median), "
          f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()}")


if __name__ == "__main__":
    main()
