#!/bin/bash
# The build refuses BPF programs whose stacks do not fit Linux 6.1: calls and callbacks count, each rounded up to 32 bytes.
#     bpf_stack.sh CLANG CHECK
set -u
clang=$1 check=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    cat "$work/log" >&2
    exit 1
}

# compile CALLER-BYTES CALLEE-BYTES: a program that calls a function, and hands over another.
compile() {
    cat >"$work/p.c" <<END_OF_PROGRAM
static long (*const loop)(unsigned, void *, void *, unsigned long) = (void *)181;
static long (*const print)(const char *, unsigned, ...) = (void *)6;
static long back(unsigned index, void *at)
{
    volatile char room[$3] = {0};
    return room[index & 7];
}
__attribute__((noinline)) int called(int value)
{
    volatile char room[$2] = {0};
    loop(1, back, 0, 0);
    return room[value & 7];
}
__attribute__((section("perf_event"))) int program(int *context)
{
    volatile char room[$1] = {0};
    return called(*context) + room[*context & 7];
}
END_OF_PROGRAM
    "$clang" -target bpf -mcpu=v3 -O2 -g -w -c "$work/p.c" -o "$work/p.o" 2>"$work/log" || fail "clang compiles nothing"
}

compile 160 192 160
"$check" "$work/p.o" >"$work/log" 2>&1 || fail "512 bytes are refused"
compile 160 200 160
"$check" "$work/p.o" >"$work/log" 2>&1 && fail "544 bytes in a callback's chain are not refused"
grep -q 'add up to 544 bytes, of 512: program .* called .* back' "$work/log" || fail "the chain is not named"
compile 448 96 8
"$check" "$work/p.o" >"$work/log" 2>&1 && fail "a call's 576 bytes are not refused"
exit 0
