#!/bin/bash
# sprof probes: its tables, and bad input.
#     probes.sh CASE
set -u
work=$(mktemp -d) || exit 1
child=
trap '[ -z "$child" ] || kill $child; rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CACHE_HOME=$work/cache

fail() {
    echo "$*" >&2
    [ ! -s output ] || cat output >&2
    exit 1
}

expect() { # STATUS COMMAND …: the status; what it printed is in `output`
    local status=$1 got
    shift
    "$@" >output 2>&1
    got=$?
    [ $got = "$status" ] || fail "status $got instead of $status: $*"
}

has() { # a pattern in the output
    grep -qE -- "$1" output || fail "not in the output: $1"
}

make_program() { # [OPTION …]
    cat >program.c <<'END'
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>
jmp_buf place;
__attribute__((noipa)) void *where_from(void) { return __builtin_return_address(0); }
__attribute__((noipa)) int leaf(int a) { return a * 3 + 1; }
__attribute__((noipa)) int inner(int a) { return leaf(a) + leaf(a + 1); }
int main(int argc, char **argv)
{
    (void)argv;
    printf("%d %p\n", inner(argc), where_from());
    fflush(stdout);
    if (argc > 1)
        pause();
    return 0;
}
END
    gcc -O2 -g "$@" -o program program.c || fail "no compiler"
}

case $1 in
summary)
    make_program
    expect 0 "$SPROF" probes program
    has '^program: [0-9]+ functions, [0-9]+ places where a probe could be: placed [0-9]+ · not needed [0-9]+ · refused 0'
    has 'by prologue [0-9]+ · entry only 1'
    has 'direct calls [1-9]'
    cp output first
    expect 0 "$SPROF" probes program # from the cache
    cmp -s first output || fail "the stored plan is another"
    expect 0 "$SPROF" probes program --no-cache
    cmp -s first output || fail "made anew it is another"
    expect 0 "$SPROF" probes program --flags gcc
    has '^program: gcc -fpatchable-function-entry=5$'
    has 'CMake: target_compile_options'
    make_program -fpatchable-function-entry=5
    expect 0 "$SPROF" probes program
    has 'by sled [1-9]'
    make_program -fcf-protection
    expect 0 "$SPROF" probes program --flags clang
    has 'clang -fpatchable-function-entry=16$'
    # Other compilers than those of C say so in the file.
    ! grep -qE 'rustc|fpc' output || fail "a C program is told of other compilers"
    # Units say what made them; notes also name what is linked in with nothing of it, and can be taken out.
    echo '__asm__(".section .comment\n.string \"rustc version 1.63.0\"\n.previous"); int main(void) { return 0; }' >noted.c
    gcc -g -O1 noted.c -o noted || fail "no compiler"
    expect 0 "$SPROF" probes noted --flags gcc
    has '^noted: made by GNU C[0-9]* [0-9.]* \(1 unit\)$'
    ! grep -q rustc output || fail "a note was believed where units say otherwise"
    strip -g noted
    expect 0 "$SPROF" probes noted --flags gcc
    has '^noted: rustc has no such option'
    ! grep -q 'made by' output || fail "units without debug information"
    echo 'int other(void); int main(void) { return other(); }' >first.c
    echo 'int other(void) { return 0; }' >second.c
    if clang -g -c second.c -o second.o 2>err && gcc -g first.c second.o -o both && objcopy -R .comment both; then
        expect 0 "$SPROF" probes both --flags gcc
        has 'made by GNU C.* \(1 unit\) · .*clang version [0-9.]* .*\(1 unit\)$'
        has '^both: clang -fpatchable-function-entry=5, for its units$'
        expect 0 "$SPROF" probes both --flags clang
        has '^both: gcc -fpatchable-function-entry=5, for its units$'
        ! grep -q 'clang .*for its units' output || fail "clang was told twice"
    fi
    if command -v rustc >/dev/null && echo 'fn main() {}' >rust.rs && rustc rust.rs -o rust 2>err; then
        expect 0 "$SPROF" probes rust --flags gcc
        has "^rust: rustc has no such option but nightly's.*-Zpatchable-function-entry=5$"
    fi
    if command -v fpc >/dev/null && echo 'program pascal; begin end.' >pascal.pas && fpc -v0 pascal.pas >out 2>err; then
        expect 0 "$SPROF" probes pascal --flags gcc
        has '^pascal: fpc has no such option'
    fi
    ;;
functions)
    make_program
    expect 0 "$SPROF" probes program --function inner
    has '^program!inner: 0x[0-9a-f]+, [0-9]+ bytes: prologue at 0x'
    has '  calls leaf$'
    printf '#include <ios>\nvoid fails(int n) { if (n) throw std::ios_base::failure("no"); }\n' >fails.cc
    g++ -O1 -shared -fPIC fails.cc -o libfails.so || fail "no compiler"
    expect 0 "$SPROF" probes libfails.so --function fails
    has '  calls std::.*ios_base::failure' && ! grep -q ' _ZN' output || fail "imported functions are not named for people"
    expect 0 "$SPROF" probes program --function where_from
    has 'entry only: needs its own return address'
    expect 0 "$SPROF" probes program --refused
    has 'needs its own return address +where_from$'
    grep -q ' inner$' output && fail "inner is listed as refused"
    expect 0 "$SPROF" probes program --all
    has ' inner$'
    ;;
formats)
    make_program
    expect 0 "$SPROF" probes program --format csv
    has '^module,address,bytes,mechanism,exits,site,'
    has '^program,0x[0-9a-f]+,[0-9]+,prologue,yes,.*,inner.?$'
    expect 0 "$SPROF" probes program --format json
    python3 -c '
import json, sys
rows = {row["function"]: row for row in json.load(open("output"))}
assert rows["inner"]["mechanism"] == "prologue" and rows["inner"]["calls"] == 2, rows["inner"]
assert rows["where_from"]["exits"] == "no", rows["where_from"]
' || fail "the JSON says something else"
    ;;
process)
    make_program
    mkfifo pipe
    ./program wait >pipe &
    child=$!
    read -r _ <pipe # it runs now
    expect 0 "$SPROF" probes -p $child
    has '^program: '
    has '^libc\.so\.6: '
    has 'of the dynamic loader'
    expect 0 "$SPROF" probes -p $child --refused
    has '^  0x[0-9a-f]+ .* libc.so.6!setjmp$' # which of the files
    expect 0 "$SPROF" probes -p $child --function inner
    has '^program!inner: '
    ;;
refused_input)
    make_program
    expect 2 "$SPROF" probes
    has 'give one file, or a process'
    expect 2 "$SPROF" probes program -p $$
    expect 2 "$SPROF" probes program --flags tcc
    has 'gcc or clang'
    expect 2 "$SPROF" probes program --format yaml
    for others in '--all --refused' '--flags gcc --all' '--function inner --refused'; do
        expect 2 "$SPROF" probes program $others
        has 'give one of them'
    done
    echo 'int main(void) { return 0; }' | gcc -O2 -xc - -o empty || fail "no compiler"
    expect 0 "$SPROF" probes empty --refused
    has '^all functions can have probes that see their exits$'
    expect 1 "$SPROF" probes program --function inne
    has 'there is no function `inne`; near it: .*inner'
    # Names of a stripped file are not found because it has none.
    strip -o stripped program
    expect 1 "$SPROF" probes stripped --function main
    has 'there is no function `main`; none of them has a name: install debug symbols'
    expect 1 "$SPROF" trace -o none.db --function '^main$' -- ./stripped
    has "finds none of [0-9]* functions; none of them has a name: install debug symbols"
    expect 1 "$SPROF" trace -o none.db --children-of '^main$' -- ./stripped
    has "finds none of [0-9]* functions; none of them has a name: install debug symbols"
    expect 1 "$SPROF" probes missing
    has '^sprof: there is no file missing$'
    echo text >text
    expect 1 "$SPROF" probes text
    has 'not an ELF file'
    cp program other
    printf '\267\0' | dd of=other bs=1 seek=18 conv=notrunc status=none # e_machine: aarch64
    expect 1 "$SPROF" probes other
    has 'other'
    head -c 3000 program >cut
    expect 1 "$SPROF" probes cut
    has 'cut is cut off'
    chmod +x cut
    for bytes in 60 200 3000; do
        head -c $bytes program >cut
        expect 1 "$SPROF" trace -o u.db -- ./cut
        has 'cannot trace ./cut: it is a damaged ELF file, or one that is cut off'
        [ ! -e u.db ] || fail "a recording was left"
    done
    expect 1 "$SPROF" probes -p 999999999
    echo 'int data;' >data.c
    gcc -c data.c -o data.o || fail "no compiler"
    expect 1 "$SPROF" probes data.o
    ;;
*) fail "no case $1" ;;
esac
exit 0
