#!/bin/bash
# Recordings of several hosts and builds in one file.
#   merging.sh builds|appended|brackets
set -uf
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "no gcc"

# A program and its library, built anew: `in_library` is in both builds, and so are the names of the files.
build() { # NUMBER
    cat >library.c <<EOF
__attribute__((noinline)) unsigned in_library(unsigned n)
{
	unsigned x = $1;
	while (n--)
		x = x * 5 + (x >> $1);
	return x;
}
EOF
    cat >program.c <<'EOF'
#include <time.h>
unsigned in_library(unsigned n);
int main(void)
{
	unsigned x = 0;
	while (clock() < CLOCKS_PER_SEC / 5)
		x += in_library(20000);
	return x == 1;
}
EOF
    gcc -O2 -g -Wl,--build-id -shared -fPIC -o liblibrary.so library.c &&
        gcc -O2 -g -Wl,--build-id "-DBUILD=$1" -o program program.c -L. -llibrary -Wl,-rpath,"$PWD" || fail "gcc"
}

report() {
    "$SPROF" report -n 0 --format csv "$@" 2>err || fail "report $*"
}

# The samples of a CSV's rows in which a column has a value; of all of them without one.
samples() { # [COLUMN VALUE] : of standard input
    python3 -c '
import csv, sys
print(sum(int(row["inclusive_samples" if "host" in row else "exclusive_samples"]) for row in csv.DictReader(sys.stdin)
          if len(sys.argv) == 1 or row[sys.argv[1]] == sys.argv[2]))' "$@"
}

case $1 in
builds)
    for number in 1 2; do
        build $number
        "$SPROF" record -o $number.db -- ./program >out 2>err || fail "record"
        # Two machines, as far as a recording tells.
        sqlite3 $number.db "UPDATE run SET host = 'host$number'" || fail "sqlite3"
    done
    "$SPROF" merge 1.db 2.db -o all.db >out 2>err || fail "merge"
    report 1.db >1.csv && report 2.db >2.csv
    for number in 1 2; do
        # A run of the merged file says what its own file says, chosen by number or by host.
        for choice in "--run $number" "--host host$number" "--host *$number"; do
            for view in "" --inclusive --lines --edges "--by module"; do
                report $number.db $view >own.csv
                report all.db $choice $view >merged.csv
                diff <(sort own.csv) <(sort merged.csv) >differences || fail "of $choice: $(head -5 differences)"
            done
        done
    done
    report all.db --run all --by host >hosts.csv
    for number in 1 2; do
        [ "$(samples host host$number <hosts.csv)" = "$(samples <$number.csv)" ] ||
            fail "host$number has $(samples host host$number <hosts.csv), its own file $(samples <$number.csv)"
    done
    # Builds of one library are two modules, whose ids tell them apart, and in_library of both is one function.
    report all.db --run all --by module >modules.csv
    [ "$(grep -c ',liblibrary.so,app,.*/liblibrary.so,[0-9a-f]\+' modules.csv)" = 2 ] || fail "not two builds: $(cat modules.csv)"
    expect 0 "$SPROF" report all.db --run all --by module
    grep -q 'build id' out || fail "people are not told the builds apart"
    expect 0 "$SPROF" report 1.db --by module
    ! grep -q 'build id' out || fail "build ids where there is one build"
    both=$(($(samples function in_library <1.csv) + $(samples function in_library <2.csv)))
    found=$("$SPROF" report all.db --run all --callees in_library --format json | python3 -c '
import json, sys
print(json.load(sys.stdin)["rows"][0]["exclusive_samples"])')
    [ "$both" = "$found" ] || fail "in_library has $both samples in the files, $found in the merged one"
    expect 0 "$SPROF" report all.db --run all
    grep -q '^2 of 2 runs; --run N chooses one' out || fail "the report says of one run that it is all"
    [ "$(grep -c ' in_library .* liblibrary.so .*[0-9a-f…]\{9\}$' out)" = 2 ] && grep -q ' build id$' out ||
        fail "in_library of two builds cannot be told apart: $(cat out)"
    expect 0 "$SPROF" report all.db --run 1
    ! grep -q 'build id' out || fail "a function table has build ids where there is one build"
    expect 0 "$SPROF" diff all.db:1 all.db:2
    grep -q 'the newest run of the second side, 2 of 2 in its file; FILE:RUN chooses' out && ! grep -q -e '--run' out ||
        fail "diff says something else of its runs: $(tail -3 out)"
    expect 2 "$SPROF" annotate in_library all.db --run all
    said_only 'several builds of liblibrary.so.*--run'
    expect 1 "$SPROF" report all.db --host elsewhere
    said_only "no run was recorded on a host 'elsewhere'"
    # Both hosts are sides of a comparison, of which in_library is matched across builds.
    # Rows of the same change stand in any order.
    "$SPROF" diff all.db:1 all.db:2 --all --format csv >rows.csv 2>err || fail "diff"
    sort rows.csv >diff.csv
    [ "$(grep -c ',in_library,' diff.csv)" = 1 ] || fail "in_library of two builds is not matched: $(cat diff.csv)"
    "$SPROF" diff 1.db 2.db --all --format csv >rows.csv 2>err || fail "diff of the files"
    sort rows.csv >files.csv
    cmp diff.csv files.csv || fail "runs of one file differ otherwise than files: $(diff diff.csv files.csv)"
    ;;
appended)
    # Three runs of two builds on two hosts, recorded with --append; and each of them alone, cut out of that file.
    for number in 1 2 1; do
        build $number
        "$SPROF" record --append -o all.db -- ./program >out 2>err || fail "record --append"
    done
    sqlite3 all.db "UPDATE run SET host = 'elsewhere' WHERE id = 2" || fail "sqlite3"
    tables=$(sqlite3 all.db "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c
                             WHERE m.type = 'table' AND c.name = 'run_id'") && [ "$tables" ] || fail "no tables"
    for number in 1 2 3; do
        cp all.db $number.db
        {
            for table in $tables; do
                echo "DELETE FROM $table WHERE run_id <> $number;"
            done
            echo "DELETE FROM run WHERE id <> $number;
                  DELETE FROM mapping WHERE process_id NOT IN (SELECT id FROM process);
                  DELETE FROM thread WHERE process_id NOT IN (SELECT id FROM process);
                  DELETE FROM process_origin WHERE process_id NOT IN (SELECT id FROM process);"
        } | sqlite3 $number.db || fail "sqlite3"
    done
    "$SPROF" merge 1.db 2.db 3.db -o merged.db >out 2>err || fail "merge"
    same_answers() { # WORD ... : rows of the same cost stand in any order
        "$SPROF" "$1" all.db "${@:2}" >one 2>err || fail "of the appended: $*"
        "$SPROF" "$1" merged.db "${@:2}" >two 2>err || fail "of the merged: $*"
        [ "$(wc -l <one)" -gt 1 ] || fail "nothing to compare: $*"
        diff <(sort one) <(sort two) >differences || fail "$*: $(head -5 differences)"
    }
    for view in "" --inclusive --lines --edges --threads --processes --tree --bottom-up "--callers in_library" \
        "--callees in_library" "--by module" "--by file" "--by address" "--by host" "--by run" "--by host,module" \
        "--by run,function" "--by cpu" "--by event" "-m app --tree" "-m pc" "--time 10%,90%"; do
        same_answers report --run all --format csv -n 0 $view
    done
    for choice in "--run 2" "--host elsewhere"; do
        for view in "" --lines --tree "--by address"; do
            same_answers report --format csv -n 0 $choice $view
        done
    done
    for format in folded tsv; do
        same_answers export -f $format --run all -o -
    done
    "$SPROF" diff all.db:1 all.db:2 --all --format csv >one 2>err && "$SPROF" diff merged.db:1 merged.db:2 --all --format csv >two 2>err ||
        fail "diff"
    diff <(sort one) <(sort two) >differences || fail "diff: $(head -5 differences)"
    ;;
brackets)
    # "[odd]" is a name of five letters, and as a pattern one letter of three.
    echo '#include <time.h>
int main(void) { volatile unsigned n = 0; while (clock() < CLOCKS_PER_SEC / 5) for (n = 0; n < 100000; n++); return 0; }' >odd.c
    gcc -O1 -g odd.c -o '[odd]' || fail "gcc"
    "$SPROF" record -o a.db -- './[odd]' >out 2>err || fail "record"
    expect 0 "$SPROF" report a.db --module '[odd]'
    grep -q 'main' out || fail "nothing in the module"
    ;;
*) fail "no case $1" ;;
esac
exit 0
