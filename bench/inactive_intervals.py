"""inactive_intervals.py LOAD…: for bench/trace_inactive, differences and their intervals from rows as inactive_load prints them,
in files SIZE.LOAD.PART."""
import random
import sys

ROLES = ("resting", "off", "plain again", "a hundredth more")
FIGURES = ("throughput", "time", "p99", "p99 of all")
MORE = 3  # the role that is to be seen
rng = random.Random(1)


def middle(values):
    """The mean of the middle three fifths."""
    values = sorted(values)
    cut = len(values) // 5
    kept = values[cut:len(values) - cut]
    return sum(kept) / len(kept)


def differences(parts):
    """Of each role and figure the mean over the parts, of the middle of their rows."""
    middles = [[middle(column) for column in list(zip(*rows))[:16]] for rows in parts]
    return [sum(column) / len(column) for column in zip(*middles)]


def show(parts, good):
    """Adds to `good`, by role and figure, whether the interval is within half a percent, or for MORE does not hold 0."""
    rows = [row for part in parts for row in part]
    rate, time, usual, every = (sorted(row[at] for row in rows)[len(rows) // 2] for at in range(16, 20))
    slow = " ".join(f"{100 * middle([row[at] for row in rows]):.2f}" for at in range(20, 25))
    print(f"{rate:.0f} a second, {time:.0f} ns for one, p99 {usual / 1e3:.2f} us, of all {every / 1e3:.2f} us; {len(rows)} rows; slower than usual {slow} %")
    found, again = differences(parts), [differences([rng.choices(part, k=len(part)) for part in parts]) for _ in range(400)]
    for role, title in enumerate(ROLES):
        print(f"      {title + ':':18}", end="")
        for figure, what in enumerate(FIGURES):
            of = sorted(one[4 * role + figure] for one in again)
            low, high = of[10], of[389]
            is_good = low * high > 0 if role == MORE else -0.5 <= low and high <= 0.5
            good.setdefault((role, figure), []).append(is_good)
            word = "" if not is_good else " seen" if role == MORE else " within 0.5"
            print(f"  {what} {found[4 * role + figure]:+.2f} % ({low:+.2f} to {high:+.2f}){word}", end="")
        print()


good = {}
for size in (64, 16384):
    print(f"requests of {size} bytes:")
    for load in sys.argv[1:]:
        print(f"{load:>4} % load: ", end="")
        show([[[float(word) for word in line.split()] for line in open(f"{size}.{load}.{part}")] for part in range(4)], good)
for role, title in enumerate(ROLES):
    counts = ", ".join(f"{what} {sum(good[role, figure])}" for figure, what in enumerate(FIGURES))
    print(f"{title}: {'seen' if role == MORE else 'within 0.5 %'} in so many of {len(good[role, 0])}: {counts}")
