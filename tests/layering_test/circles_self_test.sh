#!/bin/bash
# Checks circles.py itself with three small files, two of which call each other.
#   circles_self_test.sh CIRCLES.PY C-COMPILER
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

compile() { # NAME CODE
    mkdir -p "$work/x" "$work/sprof_x.dir/x"
    printf '%s\n' "$2" >"$work/x/$1.c"
    "$compiler" -c -o "$work/sprof_x.dir/x/$1.c.o" "$work/x/$1.c" || exit 1
}

# expect STATUS WORDS: runs it with the list, and compares its exit status and what it prints.
expect() {
    local output status
    output=$("$circles" "$work" "$work" "$work/list" 2>&1)
    status=$?
    [ "$status" = "$1" ] && grep -qF -- "$2" <<<"$output" && return
    echo "with the list '$(cat "$work/list")': exit $status, not $1 with '$2': $output" >&2
    failures=$((failures + 1))
}

circles=$1 compiler=$2
compile a 'int b(void); int a(void) { return b(); }'
compile b 'int a(void); int c(void); int b(void) { return a() + c(); }'
compile c 'int c(void) { return 1; }'

: >"$work/list"
expect 1 'x/a.c -> x/b.c: b'
echo 'x/a.c x/b.c' >"$work/list"
expect 0 '1 circles, the largest of 2 files'
echo 'x/a.c x/b.c x/c.c' >"$work/list"
expect 1 'no longer a circle as listed: x/a.c x/b.c x/c.c'
"$circles" "$work" "$work" "$work/list" --write >"$work/out" || failures=$((failures + 1))
[ "$(grep -v '^#' "$work/list")" = 'x/a.c x/b.c' ] || { echo "not shrunk: $(cat "$work/list")" >&2; failures=$((failures + 1)); }
# The tracing agent is read, too, with its assembly, and both of its builds are one set of files.
mkdir -p "$work/sprof-probe.dir/y" "$work/sprof-probe-mapped.dir/y" "$work/y"
echo 'int from_assembly(void); int d(void) { return from_assembly(); }' >"$work/y/d.c"
printf '.globl from_assembly\nfrom_assembly: call d@PLT\n ret\n.section .note.GNU-stack,"",@progbits\n' >"$work/y/e.S"
for build in sprof-probe sprof-probe-mapped; do
    "$compiler" -c -o "$work/$build.dir/y/d.c.o" "$work/y/d.c" || exit 1
    "$compiler" -c -o "$work/$build.dir/y/e.S.o" "$work/y/e.S" || exit 1
done
expect 1 'y/d.c -> y/e.S: from_assembly'
rm -r "$work"/sprof-probe*.dir

# A call through a table is an arc as well.
compile c 'int a(void); int (*table[])(void) = {a}; int c(void) { return table[0](); }'
expect 1 'x/c.c -> x/a.c: a'
[ "$failures" = 0 ]
