#!/usr/bin/env bash
# Names that are prepared while a recording goes on are those that are found afterwards, wherever its end comes.
. "$(dirname "$0")/lib.sh"

# Many functions with inlined ones, all of them run, until so much CPU time is used (0: until it is stopped).
build() {
    awk 'BEGIN {
        print "#include <time.h>\n#include <stdlib.h>\nvolatile unsigned sink;"
        for (i = 0; i < 150; i++) {
            printf "static inline unsigned inner%d(unsigned x) { for (int k = 0; k < 60; k++) { x ^= x >> %d; x *= %du; } return x; }\n", i, i % 13 + 1, 2 * i + 3
            printf "static inline unsigned outer%d(unsigned x) { unsigned s = sink;\n for (int k = 0; k < 3; k++)\n s += inner%d(x + k);\n return s; }\n", i, i
            printf "__attribute__((noinline)) void work%d(unsigned x) {\n sink += outer%d(x);\n sink ^= inner%d(x * 7); }\n", i, i, (i + 1) % (i ? i : 1)
        }
        print "int main(int argc, char **argv) { double most = argc > 1 ? atof(argv[1]) : 0;"
        print "do {"
        for (i = 0; i < 150; i++)
            printf "work%d(sink);\n", i
        print "} while (most == 0 || (double)clock() / CLOCKS_PER_SEC < most); return 0; }"
    }' >many.c
    cc -O1 -g -o many many.c || fail "cannot compile"
}

# All names of a recording, whatever numbers its rows have.
names() {
    sql "$1" "SELECT f.module_id, f.file_offset, inline_depth, u.name, u.linkage_name, u.file, u.line, f.file, f.line,
        u.start, u.size FROM frame f JOIN function u ON u.id = f.function_id ORDER BY 1, 2, 3"
}

# The recording in $1 has the names that are found anew of a copy.
check() {
    [ "$(sql "$1" "SELECT state FROM v_run")" = complete ] || fail "$1 is not complete"
    [ "$(sql "$1" "SELECT count(*) > 0 FROM v_function WHERE function LIKE 'inner%' AND exclusive_samples > 0")" = 1 ] ||
        fail "no inlined function in $1"
    cp "$1" anew.db
    expect 0 "$SPROF" symbolize --again -i anew.db
    names "$1" >early
    names anew.db >late
    [ "$(wc -l <early)" -gt 200 ] || fail "few names: $(wc -l <early)"
    cmp early late || fail "other names: $(diff early late | head -5)"
}

build
export XDG_CACHE_HOME=$work/cache
expect 0 "$SPROF" record -o t.db -- ./many 1.1
check t.db
expect 0 "$SPROF" record --no-cache -o t.db -- ./many 2.2
check t.db
rm -rf cache

# Nobody prepares what nobody asks for.
expect 0 "$SPROF" record --no-symbolize -o t.db -- ./many 1.5
[ "$(sql t.db "SELECT value FROM counter WHERE name = 'names.prepared'")" = 0 ] || fail "prepared with --no-symbolize"
