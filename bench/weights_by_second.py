#!/usr/bin/python3
"""Holds what samples weigh against the CPU time that the threads of tests/programs/seconds had, second by second.
    weights_by_second.py LINES SAMPLES PERIOD_MS
LINES are the program's; SAMPLES are lines `tid,time,weight`, in nanoseconds of CLOCK_MONOTONIC. A sample stands for
the time right before it, part of which may lie in the second before. Prints what all seconds together are off by, how
many seconds are off by more than a period, and those seconds with what others did on the CPU then."""
import collections, sys

PERIOD_NS = float(sys.argv[3]) * 1e6
lines, samples = collections.defaultdict(list), collections.defaultdict(list)
for line in open(sys.argv[1]):
    tid, *values = map(int, line.split())
    lines[tid].append(values)
for line in open(sys.argv[2]):
    fields = line.strip().split(",")
    if fields[0].isdigit():
        samples[int(fields[0])].append((int(fields[1]), int(fields[2])))

off, outside = [], []
total_cpu = total_weight = 0
for tid, looks in lines.items():
    ends, at = sorted(samples[tid]), 0
    for before, after in zip(looks, looks[1:]):
        cpu = after[1] - before[1]
        while at < len(ends) and ends[at][0] <= before[0]:
            at += 1
        weight = 0
        for time, weighs in ends[at:]:
            if time - weighs >= after[0] and time > after[0] + 10 * PERIOD_NS:
                break
            weight += max(0, min(time, after[0]) - max(time - weighs, before[0]))
        total_cpu, total_weight = total_cpu + cpu, total_weight + weight
        off.append((weight - cpu) / PERIOD_NS)
        if abs(off[-1]) > 1:
            wall = after[0] - before[0]
            outside.append(f"{off[-1]:+.1f} periods: {after[2] - before[2]} times without the CPU, "
                           f"{(wall - cpu) / 1e6:.1f} ms in all, {after[3] - before[3]} ticks stolen")
off.sort()
print(f"{100 * (total_weight - total_cpu) / total_cpu:+.3f} % of {total_cpu / 1e9:.1f} s; of {len(off)} seconds "
      f"{len(outside)} off by more than a period, the median {off[len(off) // 2]:+.2f}, "
      f"from {off[0]:+.2f} to {off[-1]:+.2f} periods" if off else "no seconds")
for text in outside[:12]:
    print("    " + text)
