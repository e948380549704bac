#!/bin/bash
# Rows for a fleet's database: what is exported comes back with the same numbers, and what is wrong with rows is said.
#   rows.sh worked|program|windows|fleet|machine|chance|labels|selection|traces|refused
set -uf
. "$(dirname "$0")/lib.sh"

# Two threads, templates, inlined and static functions of one name, and a library that calls back.
build() {
    command -v g++ >/dev/null || skip "no g++"
    mkdir -p a b
    for part in a b; do
        cat >$part/same.cc <<END
static __attribute__((noinline)) unsigned same(unsigned n)
{
	unsigned sum = 1;
	for (unsigned i = 0; i < n; i++)
		sum += sum / (i | 1);
	return sum;
}
unsigned from_$part(unsigned n) { return same(n) + 1; }
END
        [ $part = a ] || sed -i '1i // in another line' $part/same.cc
    done
    cat >program.cc <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <thread>
unsigned from_a(unsigned), from_b(unsigned);
static volatile unsigned sink;
template <class T> __attribute__((noinline)) T step(T n)
{
	T sum = 1;
	for (T i = 0; i < n; i++)
		sum = sum * 3 + sum / (i | 1);
	return sum;
}
static __attribute__((noinline)) void recurse(int depth)
{
	sink = sink + (unsigned)step<unsigned long>(2000);
	if (depth)
		recurse(depth - 1);
}
static int compare(const void *a, const void *b)
{
	sink = sink + step<unsigned>(20);
	return *(const int *)a - *(const int *)b;
}
static void work()
{
	timespec spent;
	do {
		int values[64];
		for (int i = 0; i < 64; i++)
			values[i] = i * 7919 % 101;
		qsort(values, 64, sizeof *values, compare);
		sink = sink + from_a(3000) + from_b(3000);
		recurse(3);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	} while (spent.tv_sec == 0 && spent.tv_nsec < 150000000);
}
int main()
{
	std::thread other([] { pthread_setname_np(pthread_self(), "other"); work(); });
	work();
	other.join();
	return 0;
}
END
    g++ -O1 -g -Wl,--build-id program.cc a/same.cc b/same.cc -o program -pthread || fail "g++"
}

# Each number of a recording's reports, sorted: functions of one name are told apart by their files' last parts.
numbers() { # RECORDING [OPTION …]
    local recording=$1 view
    shift
    for view in "" --inclusive --modules "--by process" --edges --tree; do
        # shellcheck disable=SC2086
        "$SPROF" report "$recording" $view "$@" -n 0 --format csv 2>err || fail "report $recording $view"
    done | python3 -c '
import csv, sys
rows, heading = [], []
for row in csv.reader(sys.stdin):
    if any(word in ("samples", "exclusive_samples", "inclusive_samples") for word in row):
        heading = row
        continue
    taken = [(key, value) for key, value in zip(heading, row)
             if key in ("function", "module", "kind", "caller", "callee", "process", "depth") or key.endswith("samples") or key.endswith("weight")]
    rows.append(str(taken))
print("\n".join(sorted(rows)))'
    "$SPROF" export -f folded "$recording" "$@" -o - 2>err | sort
}

equal() { # RECORDING RECORDING [OPTION …]
    numbers "$1" "${@:3}" >was
    numbers "$2" "${@:3}" >now
    [ -s was ] || fail "no numbers of $1"
    diff was now >out || fail "$1 and $2 differ"
}

round_trip() { # RECORDING NEW [OPTION …]
    "$SPROF" export -f rows "$1" -o "$2.rows" "${@:3}" 2>err || fail "export of $1"
    "$SPROF" import "$2.rows" -o "$2" 2>err || fail "import of $2.rows"
}

refused() { # WORDS FILE … : the import of these is refused with these words, and the recording stays
    echo before >kept.db
    "$SPROF" import -f rows "${@:2}" -o kept.db 2>err && fail "taken: $1"
    grep -q -- "$1" err || fail "not said: $1"
    [ "$(cat kept.db)" = before ] || fail "the file that was there is gone"
}

case $1 in
worked)
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o a.db --system-module lib.so 2>err || fail "import"
    round_trip a.db b.db -l service.name=shop -l service.version=7 -l host.name=one -l "team=a'b\\c"
    equal a.db b.db
    "$SPROF" report b.db --format csv >out 2>err || fail "report"
    grep -q ',S2,lib.so,' out || fail "no S2"
    grep -q 'intervals take' err && fail "intervals of samples that weigh the same"
    sqlite3 b.db "UPDATE event SET varying = 1" || fail "sqlite3"
    "$SPROF" report b.db >out 2>err || fail "report of weights that vary"
    grep -q 'intervals take the samples of an imported row as equal' out err || fail "intervals: nothing said"
    sql b.db "SELECT command, host, source FROM run" >out
    [ "$(cat out)" = 'shop 7|one|import of rows' ] || fail "the run is another"
    grep -qF "{'team':'a\\\\'b" b.db.rows/run.tsv || grep -qF "{'team':'a\\'b" b.db.rows/run.tsv || fail "no label"
    # A stream holds the same tables, one behind the other, and rows of rows are the same rows.
    "$SPROF" export -f rows a.db -o - -l service=shop -l version=7 -l host=one >stream 2>err || fail "export -o -"
    "$SPROF" import - -o c.db <stream 2>err || fail "import -"
    equal a.db c.db
    "$SPROF" export -f rows c.db -o d.rows -l service=shop -l version=7 2>err || fail "export of an import"
    for table in function path; do
        cmp <(sort d.rows/$table.tsv) <(sort b.db.rows/$table.tsv) || fail "$table"
    done
    ;;
program)
    build
    "$SPROF" record -F 997 -o a.db -- ./program >out 2>err || fail "record"
    round_trip a.db b.db --window 1s
    equal a.db b.db
    # Intervals are as wide: weights vary by as much as they did.
    for file in a b; do
        "$SPROF" report $file.db --format json 2>err | grep -oE '"effective_samples": *[0-9.]+' | grep -oE '[0-9.]+$' >$file.effective
    done
    holds "$(cat a.effective) > 1 && ($(cat a.effective) - $(cat b.effective))^2 < 1e-6 * $(cat a.effective)^2" "effective samples"
    equal a.db b.db --thread other
    equal a.db b.db --hide 'step'
    "$SPROF" report b.db --format csv -n 0 >out 2>err || fail "report"
    [ "$(grep -c ',same(' out)" = 2 ] || fail "functions of one name are not apart"
    # Read as another mode, too: which modules are the application is kept.
    equal a.db b.db --mode app
    "$SPROF" export -f rows a.db --mode app -o app.rows 2>err || fail "export --mode app"
    "$SPROF" import -f rows app.rows -o app.db 2>err || fail "import"
    numbers a.db --mode app >was
    numbers app.db >now
    diff was now >out || fail "mode app differs"
    for format in pprof speedscope firefox callgrind chrome svg dot; do
        "$SPROF" export -f $format b.db -o x 2>err || fail "export -f $format"
    done
    "$SPROF" html b.db -o x.html 2>err || fail "html"
    ;;
windows)
    # Each sample counts in the window of its time, also where the sums that are stored lie in two windows.
    for ((i = 0; i < 4500; i++)); do
        printf 'loop 7/7 %d.%06d: 1000000 cpu-clock:\n\t1%d00 f%d+0x0 (/bin/loop)\n\n' $((100 + i / 1000)) $((i % 1000 * 1000)) $((i / 7 % 3)) $((i / 7 % 3))
    done >script
    expect 0 "$SPROF" import -f perf-script script -o a.db
    # Windows begin within slots.
    sqlite3 a.db 'UPDATE run SET start_realtime_ns = 1700000000035000000' || fail sqlite3
    [ "$(sqlite3 a.db 'SELECT slot_ns FROM event_cost')" = 100000000 ] || fail "no sums by slot"
    for window in 1 2; do
        sqlite3 -csv a.db "SELECT (start_realtime_ns + time_ns) / 1000000000 / $window * $window AS at, sum(count), sum(weight)
            FROM sample JOIN run ON run.id = run_id GROUP BY at ORDER BY at" >wanted
        "$SPROF" export -f rows a.db -o - --window ${window}s 2>err | python3 -c '
import calendar, collections, csv, sys, time
sums = collections.defaultdict(lambda: [0, 0])
heading = []
for row in csv.reader(sys.stdin, delimiter="\t", quoting=csv.QUOTE_NONE):
    if "path_key" in row or "labels_key" in row or "function_key" in row:
        heading = row
    elif "thread" in heading:
        of = dict(zip(heading, row))
        at = calendar.timegm(time.strptime(of["time"], "%Y-%m-%d %H:%M:%S"))
        sums[at][0] += int(of["samples"])
        sums[at][1] += int(of["weight"])
for at in sorted(sums):
    print(at, *sums[at], sep=",")' >found
        cmp wanted found || fail "windows of $window s: $(diff wanted found)"
    done
    [ "$(wc -l <wanted)" -gt 1 ] || fail "one window only: $(cat wanted)"
    # Rows from sums are those from samples: windows end in a slot's first and second half, and beyond the run.
    for start in 35 85; do
        sqlite3 a.db "UPDATE run SET start_realtime_ns = 1700000000000000000 + ${start}000000" || fail sqlite3
        for window in 1 2 86400; do
            "$SPROF" export -f rows a.db -o sums --window ${window}s 2>err || fail "export: $(cat err)"
            "$SPROF" export -f rows a.db -o samples --time 0,1000 --window ${window}s 2>err || fail "export: $(cat err)"
            cmp sums/cost.tsv samples/cost.tsv || fail "windows of $window s from $start ms on: $(diff sums/cost.tsv samples/cost.tsv)"
        done
    done
    # Sums that are less than their samples are damaged.
    cp a.db less.db
    sqlite3 less.db "UPDATE slot_cost SET weight = 1" || fail sqlite3
    run "$SPROF" export -f rows less.db -o - --window 1s
    [ "$status" = 1 ] && grep -q 'the recording is damaged' err || fail "sums that are too small: $status, $(cat err)"
    # Where slots of a hostile file end, as many windows as it likes, or behind all times, takes no time.
    for slot_ns in 400000000 4999999999; do
        sqlite3 a.db "UPDATE event_cost SET slot_ns = $slot_ns; UPDATE slot_cost SET slot = 4294967295 WHERE slot = (SELECT max(slot) FROM slot_cost)" || fail sqlite3
        for window in 1 10; do
            run timeout 20 "$SPROF" export -f rows a.db -o - --window ${window}s
            [ "$status" = 0 ] || { [ "$status" = 1 ] && grep -q '^sprof: ' err; } ||
                fail "slots of $slot_ns ns, windows of $window s: exit status $status: $(tail -n 3 err)"
        done
    done
    ;;
fleet)
    # Two hosts with two runs each, two of them in one file: as merged, so imported.
    for number in 1 2 3; do
        printf 'main;parse;get%s %s\nmain;work %s\nmain 1\n' $number $number $((number * 3)) >$number.folded
        "$SPROF" import --folded $number.folded -o $number.db 2>err || fail "import"
        host=$([ $number = 3 ] && echo two || echo one)
        "$SPROF" export -f rows $number.db -o $number.rows -l host.name=$host -l service=s -l version=$number 2>err || fail "export"
    done
    "$SPROF" merge 1.db 2.db 3.db -o merged.db 2>err || fail "merge"
    "$SPROF" import -f rows 1.rows 2.rows 3.rows -o fleet.db 2>err || fail "import"
    grep -q 'of 3 runs' err || fail "not three runs"
    equal merged.db fleet.db --run all
    "$SPROF" report fleet.db --by host --run all --format csv >out 2>err || fail "report --by host"
    grep -q ',14,one' out && grep -q ',13,two' out || fail "hosts"
    "$SPROF" import -f rows 1.rows -o x.db 2>err && "$SPROF" import -f rows 3.rows -o y.db 2>err || fail "import"
    "$SPROF" diff x.db y.db >was 2>err || fail "diff of rows"
    "$SPROF" diff 1.db 3.db >now 2>err || fail "diff"
    diff <(grep -E 'work|get|parse|main' was) <(grep -E 'work|get|parse|main' now) >out || fail "differences differ"
    # One run, where the query leaves the columns out.
    cat {1,2,3}.rows/{function,path}.tsv >stream
    for number in 1 2 3; do
        cut -f4- $number.rows/cost.tsv >>stream
    done
    "$SPROF" import stream -o one.db 2>err || fail "import"
    [ "$(sql one.db "SELECT count(*) FROM run")" = 1 ] || fail "not one run"
    "$SPROF" export -f folded one.db -o - 2>err | sort >now
    "$SPROF" export -f folded merged.db --run all -o - 2>err | sort >was
    cmp was now || fail "one run has other numbers"
    ;;
machine)
    # Each process of a machine counts for its systemd unit, its container, or its program, in the build of its program.
    [ "$(id -u)" = 0 ] || skip "not root"
    cp "$(readlink -f "$(command -v dash)")" worker || skip "no dash"
    for number in 1 2 3 4 5; do
        ./worker -c 'while :; do :; done' &
        children+=($!)
    done
    "$SPROF" record --match worker -F 499 --duration 2s -o a.db 2>err || fail "record --match: $(cat err)"
    kill "${children[@]}"
    id=$(printf '1234567890ab%052x' 1)
    set -- $(sql a.db "SELECT id FROM process WHERE name = 'worker' ORDER BY id")
    [ $# -ge 5 ] || fail "not five workers"
    sqlite3 a.db "UPDATE process_origin SET cgroup = '/init.scope', container = NULL;
        UPDATE process_origin SET cgroup = '/system.slice/shop@2.service' WHERE process_id = $1;
        UPDATE process_origin SET cgroup = '/system.slice/docker.service/$id', container = '$id' WHERE process_id = $2;
        UPDATE process_origin SET cgroup = '/lxc/box/system.slice/inner.service/x', container = 'box' WHERE process_id = $3;
        UPDATE process_origin SET cgroup = '/user.slice/user@1000.service/app.slice' WHERE process_id = $4;
        UPDATE process_origin SET cgroup = '/system.slice/shop.service/session.scope' WHERE process_id = $5" || fail sqlite3
    # The first was another program at first, the last has forked and executed nothing.
    sqlite3 a.db "UPDATE mapping SET start_ns = start_ns + 1 WHERE process_id = $1;
        INSERT INTO module (key, path, name, build_id, kind, main_executable)
            SELECT 77, '/usr/bin/env', 'env', 'ffffffffffffffff', kind, 1 FROM module WHERE name = 'worker' LIMIT 1;
        INSERT INTO mapping (process_id, module_id, start, \"end\", file_offset, start_ns) VALUES ($1, last_insert_rowid(), 4096, 8192, 0, 0);
        DELETE FROM mapping WHERE process_id = $5;
        UPDATE process SET parent_id = $4 WHERE id = $5" || fail sqlite3
    "$SPROF" export -f rows a.db -o a.rows 2>err || fail "export: $(cat err)"
    column() { # FILE NAME…
        python3 - "$@" <<'END'
import csv, sys
for row in csv.DictReader(open(sys.argv[1], encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE):
    print(*(row[name] for name in sys.argv[2:]))
END
    }
    build=$(sql a.db "SELECT substr(build_id, 1, 12) FROM module WHERE name = 'worker' AND main_executable LIMIT 1")
    column a.rows/cost.tsv process service version | grep '^worker ' | sort -u >out
    printf '%s\n' "worker 1234567890ab $build" "worker inner $build" "worker shop $build" "worker worker $build" | cmp - out ||
        fail "$(cat out)"
    # Each service has rows of its own of its paths, once.
    column a.rows/path.tsv service path_key | sort >paths
    column a.rows/cost.tsv service path_key | sort -u | cmp - paths || fail "paths of services"
    [ "$(column a.rows/path.tsv path_key | sort | uniq -d)" ] || fail "no path of several services"
    ! column a.rows/cost.tsv service | grep -q / || fail "threads of the kernel are services of a CPU each"
    # `run` has a row for each service, which add up to the recording.
    for file in cost run; do
        column a.rows/$file.tsv service version samples weight | awk '{ key = NF == 4 ? $1 " " $2 : $1; n[key] += $(NF - 1); w[key] += $NF }
            END { for (key in n) print key, n[key], w[key] }' | sort >$file
    done
    cmp cost run || fail "sums of run: $(diff cost run)"
    [ "$(column a.rows/run.tsv run_key | sort | uniq -d)" = '' ] || fail "a key of two runs"
    [ "$(column a.rows/run.tsv target_cpu_ns | awk '{ sum += $1 } END { printf "%.0f", sum }')" = "$(sql a.db 'SELECT target_cpu_ns FROM run')" ] || fail "CPU time is not divided"
    "$SPROF" import -f rows a.rows -o b.db 2>err || fail "import: $(cat err)"
    for file in a b; do
        # Of two builds of a program that run at once, equal paths are two, and one among rows.
        "$SPROF" export -f folded $file.db --run all -o - 2>err |
            awk '{ n = $NF; $NF = ""; sum[$0] += n } END { for (path in sum) print path sum[path] }' | sort >$file.folded
    done
    cmp a.folded b.folded || fail "other paths: $(diff a.folded b.folded | head -n 5)"
    # All services of a host are one run of a comparison.
    for file in a b; do
        "$SPROF" diff $file.db $file.db --by module --per run --all -n 0 --format csv --fail-if 'grown > 1 %' 2>err | cut -d , -f 7- | sort >$file.diff
        grep -q 'needs 3 runs a side, and there are 1 and 1' err || fail "more than one run: $(cat err)"
    done
    cmp a.diff b.diff || fail "other costs of a run: $(diff a.diff b.diff)"
    # What only one of the services has is no reason to refuse the others; idle CPUs are such a service.
    sqlite3 b.db "UPDATE event SET name = 'idle' WHERE run_id = (SELECT min(id) FROM run)" || fail sqlite3
    "$SPROF" diff b.db b.db --per run --format csv >out 2>err || fail "with an idle part: $(cat err)"
    "$SPROF" diff b.db b.db --per run --process worker --format csv >out 2>err || fail "--process: $(cat err)"
    "$SPROF" diff b.db b.db --process none >out 2>err && fail "--process none"
    grep -q "no process is called" err || fail "--process none: $(cat err)"
    # What says nothing of a place gives it no name; what is given holds for all.
    "$SPROF" export -f rows --without cgroup,container a.db -o b.rows 2>err || fail "export: $(cat err)"
    [ "$(column b.rows/cost.tsv process service | grep '^worker' | sort -u)" = 'worker worker' ] || fail "$(column b.rows/cost.tsv process service | sort -u)"
    "$SPROF" export -f rows -l service.name=all a.db -o c.rows 2>err || fail "export: $(cat err)"
    [ "$(tail -n +2 c.rows/cost.tsv | cut -f1,2 | sort -u)" = $'all\t' ] || fail "$(cut -f1,2 c.rows/cost.tsv | sort -u)"
    [ "$(wc -l <c.rows/run.tsv)" = 2 ] || fail "more than one run"
    ;;
chance)
    # A run of which parts were recorded with different chances has that of all, also when it is exported again.
    printf 'main;work 30\n' >a.folded
    "$SPROF" import --folded a.folded -o a.db 2>err && "$SPROF" export -f rows a.db -l service=s -o a.rows 2>err || fail "$(cat err)"
    awk -F '\t' -v OFS='\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print; next }
        { $at["chance"] = 0.5; $at["samples"] = 10; print; $at["run_key"] = 1; $at["chance"] = 0.25; $at["samples"] = 20; print }' a.rows/run.tsv >run.tsv
    mv run.tsv a.rows/run.tsv
    "$SPROF" import -f rows a.rows -o b.db 2>err || fail "import: $(cat err)"
    [ "$(sql b.db "SELECT value FROM counter WHERE name = 'loop.chance_ppm'")" = 300000 ] || fail "the chance is not 30 of 100"
    "$SPROF" export -f rows b.db -l service=s -o b.rows 2>err || fail "export: $(cat err)"
    awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 2 { exit $at["chance"] != 0.3 }' b.rows/run.tsv || fail "$(cat b.rows/run.tsv)"
    # Samples are divided by it: the least one is a millionth, not 0.
    awk -F '\t' -v OFS='\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 { $at["chance"] = "0.000000001" } { print }' a.rows/run.tsv >run.tsv
    mv run.tsv a.rows/run.tsv
    "$SPROF" import -f rows a.rows -o c.db 2>err || fail "import: $(cat err)"
    [ "$(sql c.db "SELECT value FROM counter WHERE name = 'loop.chance_ppm'")" = 1 ] || fail "a small chance is not a millionth"
    ;;
labels)
    # Processes of three containers and two users: what belongs to which comes back, also in a part.
    "$SPROF" record -F 1997 -o a.db -- sh -c 'for n in 1 2 3; do (exec sh -c "i=0; while [ \$i -lt 40000 ]; do i=\$((i+1)); done"); done' 2>err ||
        fail "record: $(cat err)"
    sqlite3 a.db "INSERT OR REPLACE INTO process_origin SELECT id, 1000, iif(id % 2, 'anna', 'it''s \\b'), '/c' || (id % 3),
        CASE id % 3 WHEN 0 THEN NULL WHEN 1 THEN 'one' ELSE 'two,''x''' END FROM process" || fail sqlite3
    belongs() { # RECORDING KEY: samples and weight of each
        "$SPROF" report "$1" --by "$2" -n 0 --format csv 2>err || fail "report $1 --by $2"
    }
    belonging() { # RECORDING
        local key
        for key in user cgroup,container; do
            belongs "$1" $key | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    print(*sorted((key, value) for key, value in row.items() if key in ("user", "cgroup", "container") or key.endswith(("_samples", "_weight"))))'
        done | sort
    }
    samples_of() { # RECORDING USER
        belongs "$1" user | python3 -c '
import csv, sys
print(*[row["inclusive_samples"] for row in csv.DictReader(sys.stdin) if row["user"] == sys.argv[1]])' "$2"
    }
    round_trip a.db b.db -l team=x
    belonging a.db >was
    belonging b.db >now
    grep -q anna was && grep -q two, was || fail "labels: $(cat was)"
    diff was now >out || fail "labels differ: $(cat out)"
    for file in a b; do
        "$SPROF" export -f folded $file.db -o - 2>err | sort >$file.folded
    done
    cmp a.folded b.folded || fail "other paths"
    # A database without Maps takes them for texts: it undoes the escapes, and escapes the whole.
    sed "1!{s/\\\\\\(.\\)/\\1/g;s/['\\\\]/\\\\&/g}" b.db.rows/labels.tsv >labels.tsv
    (cd b.db.rows && "$SPROF" import -f rows function.tsv path.tsv cost.tsv run.tsv ../labels.tsv -o ../e.db) 2>err || fail "import: $(cat err)"
    belonging e.db >now
    diff was now >out || fail "labels of a text differ: $(cat out)"
    printf 'a\\b\\\\t;\\c;d 3\n' >bytes.folded
    "$SPROF" import --folded bytes.folded -o f.db 2>err || fail "import"
    round_trip f.db g.db
    for file in f g; do
        "$SPROF" export -f folded $file.db -o - 2>err | sort >$file.folded
    done
    cmp f.folded g.folded || fail "other names: $(cat f.folded g.folded)"
    round_trip a.db c.db --user anna
    [ "$(samples_of a.db anna)" = "$(samples_of c.db anna)" ] || fail "samples of a user: $(cat err)"
    [ -z "$(samples_of c.db "it's \\b")" ] || fail "another user is in the rows"
    round_trip a.db d.db --without user,container
    grep -rq anna d.db.rows && fail "a user was not left out"
    belongs d.db cgroup | grep -q /c1 || fail "no cgroups"
    "$SPROF" export -f rows a.db -o x --user nemo 2>err
    [ $? = 1 ] && grep -q nemo err || fail "no such user: $(cat err)"
    "$SPROF" export -f rows a.db -o a.db.rows 2>err && cksum a.db.rows/cost.tsv >was || fail "export: $(cat err)"
    "$SPROF" export -f rows a.db -o a.db.rows --user nemo 2>err && fail "rows of no such user"
    cksum a.db.rows/cost.tsv >now
    cmp was now || fail "an export without rows replaced a good one"
    ;;
selection)
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o a.db 2>err || fail "import"
    "$SPROF" export -f rows a.db -o r 2>err || fail "export"
    # Columns in another order, some left out, others added; tables in another order; times as numbers.
    awk -F'\t' -v OFS='\t' '{ print $13, NR == 1 ? "more" : "x", $12, $11 }' r/cost.tsv >cost
    cat cost r/function.tsv r/path.tsv >stream
    "$SPROF" import stream -o b.db 2>err || fail "import"
    grep -q 'no rows of the table .run' err || fail "a missing table is not said"
    "$SPROF" report b.db --format csv | cut -d, -f1-4 >now && "$SPROF" report a.db --format csv | cut -d, -f1-4 >was
    cmp was now || fail "numbers of a selection"
    # A part of the rows.
    head -n 3 r/cost.tsv >cost && cat r/path.tsv r/function.tsv r/run.tsv cost >stream
    "$SPROF" import stream -o b.db 2>err || fail "import"
    grep -q 'samples of these runs are here' err || fail "a part is not said to be one"
    # What rows do not hold.
    for command in "annotate -i b.db A2" "script b.db" "report b.db --by line" "report b.db --by address"; do
        # shellcheck disable=SC2086
        "$SPROF" $command >out 2>err && fail "$command: taken"
        grep -q 'rows' err || fail "$command: not said why"
    done
    ;;
traces)
    command -v gcc >/dev/null || skip "no gcc"
    cat >calls.c <<'END'
__attribute__((noinline)) int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
__attribute__((noinline)) int twice(int n) { return leaf(n) + leaf(n + 1); }
__attribute__((noinline)) int fall(int n) { return n ? fall(n - 1) + twice(n) : leaf(n); }
int odd(int n);
__attribute__((noinline)) int even(int n) { return n ? odd(n - 1) + leaf(n) : 1; }
__attribute__((noinline)) int odd(int n) { return n ? even(n - 1) + twice(n) : 0; }
__attribute__((noinline)) void end(int n) { n ? end(n - 1) : exit(0); leaf(n); }
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 100; i++)
		sum += fall(4) + even(7) + odd(5) + twice(i);
	usleep(sum ? 1000 : 0);
	end(sum == 1 ? 1 : 3);
}
END
    gcc -O1 -g -fno-ipa-sra -fno-optimize-sibling-calls -include stdlib.h -include unistd.h calls.c -o calls || fail "gcc"
    "$SPROF" trace --paths -o a.db --function '^(leaf|twice|fall|even|odd|end|main)$' -- ./calls >out 2>err || skip "no trace here: $(cat err)"
    round_trip a.db b.db
    equal a.db b.db
    # Averages are of outermost calls; calls that never end have none.
    for file in a b; do
        sql $file.db "SELECT function, calls, in_flight, counted, self_average_ns, average_ns FROM v_call_stats ORDER BY 1" >$file.averages
    done
    [ "$(grep -cE '^(twice|fall|even|odd)[|].*[|][1-9][0-9.]*$' a.averages)" = 4 ] || fail "averages: $(cat a.averages)"
    grep -qx 'end|4|4|0||' a.averages || fail "calls in flight: $(cat a.averages)"
    cmp a.averages b.averages || fail "other averages: $(diff a.averages b.averages)"
    # Functions outside of the traced modules are in the tree alone, also where rows of rows are read.
    round_trip b.db again.db
    equal a.db again.db
    [ "$(sql again.db "SELECT path, exclusive_samples FROM v_call_tree WHERE function = 'usleep'")" = 'main;usleep|1' ] || fail "no path outside"
    sql again.db "SELECT function, calls, in_flight, counted, self_average_ns, average_ns FROM v_call_stats ORDER BY 1" | cmp a.averages - ||
        fail "other averages of rows of rows"
    # Rows from sums are those from samples: windows begin at the last samples, and between these and the run's end.
    cp a.db c.db
    last=$(sql a.db "SELECT max(time_ns) FROM v_sample")
    [ "$(sqlite3 a.db 'SELECT slot_ns FROM event_cost')" = 100000000 ] || fail "no sums by slot"
    for behind in 0 1; do
        sqlite3 c.db "UPDATE run SET start_realtime_ns = 1700000000000000000 - $last - $behind" || fail sqlite3
        "$SPROF" export -f rows c.db -o sums --window 1s 2>err || fail "export: $(cat err)"
        "$SPROF" export -f rows c.db -o samples --time 0,1000 --window 1s 2>err || fail "export: $(cat err)"
        cmp sums/cost.tsv samples/cost.tsv || fail "windows that begin $behind ns behind: $(diff sums/cost.tsv samples/cost.tsv)"
    done
    [ "$(tail -n +2 sums/cost.tsv | cut -f4 | sort -u | wc -l)" = 2 ] || fail "times of calls are not in the last window"
    # Calls that were only counted have no times.
    cp a.db c.db
    python3 -c '
import sqlite3
with sqlite3.connect("c.db") as file:
    file.execute("UPDATE call_cost SET counted = 1 WHERE calls > 1 + in_flight")' || fail "no table"
    round_trip c.db d.db
    for file in c d; do
        sql $file.db "SELECT function, counted, self_average_ns, average_ns FROM v_call_stats ORDER BY 1" >$file.averages
    done
    grep -q '|1|[1-9]' c.averages || fail "counted: $(cat c.averages)"
    cmp c.averages d.averages || fail "other averages: $(diff c.averages d.averages)"
    # Rows of before have no such columns: then there are no averages.
    cut -f1-14 b.db.rows/cost.tsv >cost.tsv && mv cost.tsv b.db.rows/cost.tsv
    "$SPROF" import b.db.rows -o e.db 2>err || fail "import without outermost calls"
    [ "$(sql e.db "SELECT sum(calls) > 0, count(average_ns), count(self_average_ns) > 0 FROM v_call_stats")" = '1|0|1' ] || fail "averages of nothing known"
    "$SPROF" trace --mode coverage -o c.db -- ./calls >out 2>err || fail "coverage"
    "$SPROF" export -f rows c.db -o x.rows 2>err && fail "coverage was exported"
    grep -q 'lcov' err || fail "$(cat err)"
    ;;
refused)
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o a.db 2>err || fail "import"
    "$SPROF" export -f rows a.db -o r 2>err || fail "export"
    cat r/function.tsv r/path.tsv r/cost.tsv r/run.tsv >all
    refused 'no line of column names' <(tail -n +2 r/cost.tsv)
    refused 'was cut' <(head -c -5 all)
    refused 'fields where the table' <(sed '3s/\t/ /' all)
    refused 'column .line.: no whole number' <(awk -F'\t' -v OFS='\t' 'NR == 2 { $7 = "x" } 1' all)
    refused 'has no column .samples.' <(cut -f1-11 r/cost.tsv) r/path.tsv
    refused 'has no row in the table .path' r/cost.tsv r/function.tsv
    refused 'has no row in the table .function' r/cost.tsv r/path.tsv
    refused 'holds no rows of the table .cost' r/function.tsv r/path.tsv
    refused 'stands for two functions' all <(sed '2s/\tA1\t/\tB1\t/' r/function.tsv)
    refused 'stands for two call paths' all <(sed '3s/\[/[1,/' r/path.tsv)
    refused 'written \[KEY,KEY\]' <(sed 's/\[/(/' r/path.tsv)
    refused 'cannot open' missing
    refused 'cannot open' .
    "$SPROF" export -f folded a.db -o x --window 5s 2>err && fail "--window with folded"
    grep -q 'window belongs to -f rows' err || fail "$(cat err)"
    "$SPROF" export -f rows a.db -o http://127.0.0.1:9 2>err && fail "an address is a directory"
    grep -q 'is an address, and -o names a file; `sprof push --to' err || fail "$(cat err)"
    "$SPROF" export -f rows --native a.db -o - >out 2>err && fail "--native as a stream"
    grep -q 'a file for each table' err || fail "$(cat err)"
    "$SPROF" export -f folded a.db -o x --native 2>err && fail "--native with folded"
    grep -q 'native belongs to' err || fail "$(cat err)"
    "$SPROF" export -f folded a.db -o x -l a=b 2>err && fail "--label with folded"
    grep -q 'label belongs to -f rows, otlp-profiles and otlp-traces' err || fail "$(cat err)"
    "$SPROF" export -f folded a.db -o x --user root 2>err && fail "--user with folded"
    "$SPROF" export -f rows a.db -o x --without user,host 2>err && fail "--without host"
    grep -q 'user, cgroup or container' err || fail "$(cat err)"
    printf "labels_key\tlabels\n1\t{'process.owner':'b'}\n1\t{'process.owner':'a'}\n1\t{'\n" >labels
    refused 'stands for two sets of labels' all labels
    "$SPROF" export -f rows a.db -o x --window 100ms 2>err && fail "--window 100ms"
    grep -q 'whole seconds' err || fail "$(cat err)"
    "$SPROF" export -f rows a.db -o x -l nothing 2>err && fail "-l without a value"
    grep -q 'KEY=VALUE' err || fail "$(cat err)"
    : >file
    "$SPROF" export -f rows a.db -o file 2>err && fail "-o of a file"
    grep -q 'no directory' err || fail "$(cat err)"
    ;;
esac
exit 0
