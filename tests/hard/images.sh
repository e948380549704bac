#!/bin/bash
# One program, linked, stripped, replaced and loaded in every way that makes its tables hard to find.
#   images.sh CASE
. "$(dirname "$0")/lib.sh"

# shapes OUTPUT COMPILER FLAGS…: the program with all ordinary shapes of stacks.
shapes() {
    local output=$1 compiler=$2
    shift 2
    build "$output" "$compiler" "${flags[@]}" "$PROGRAMS/shapes.c" "$@"
}

# What must hold of it by name.
shapes_chains() {
    chain recursion_leaf "$start(;recurse){50};recursion_leaf"
    chain callback_leaf "$start;sort(;$any){1,20};compare;callback_leaf"
    chain handler_leaf "$start;signalled(;$any){1,6};handler;handler_leaf"
    chain thread_leaf "$any;$any;thread_main;thread_leaf"
    edges shapes <<'END'
main recurse sort signalled with_thread atoi
recurse recurse recursion_leaf
compare callback_leaf
handler handler_leaf
thread_main thread_leaf
END
}

plain() {
    local options
    for options in -O2 '-O2 -fno-omit-frame-pointer' '-O3 -fomit-frame-pointer -no-pie' -Os; do
        echo "== $options"
        shapes shapes gcc $options
        record -- ./shapes 150
        whole
        roots
        shapes_chains
    done
}

attached() {
    shapes shapes gcc
    attach ./shapes 100000
    whole
    roots
    shapes_chains
}

static() {
    shapes shapes gcc -static
    record -- ./shapes 150
    whole
    roots
    shapes_static
}
static_pie() {
    shapes shapes gcc -static-pie
    record -- ./shapes 150
    whole
    roots
    shapes_static
}
# libc is in the program: its functions have names, and stand between the program's own.
shapes_static() {
    chain recursion_leaf "$start(;recurse){50};recursion_leaf"
    chain callback_leaf "$start;sort(;$any){1,20};compare;callback_leaf"
    chain handler_leaf "$start;signalled(;$any){1,6};handler;handler_leaf"
    chain thread_leaf "(__)?clone3?;start_thread;thread_main;thread_leaf"
}

musl_static_pie() {
    needs musl-gcc musl-tools
    local libraries gcc_files
    libraries=/usr/lib/x86_64-linux-musl
    [ -e "$libraries/rcrt1.o" ] || skip "no $libraries/rcrt1.o: apt-get install musl-dev"
    gcc_files=$(dirname "$(gcc -print-file-name=crtbeginS.o)")
    # The specs of Debian's musl-gcc know no -static-pie.
    shapes shapes musl-gcc -static -fPIE -Wl,-pie,--no-dynamic-linker -nostartfiles \
        "$libraries/rcrt1.o" "$libraries/crti.o" "$gcc_files"/crt{begin,end}S.o "$libraries/crtn.o"
    readelf -hW shapes | grep -q 'DYN ' || fail "no position-independent program"
    ! readelf -lW shapes | grep -q INTERP || fail "it asks for a dynamic linker"
    musl_checks
}
musl_dynamic() {
    needs musl-gcc musl-tools
    shapes shapes musl-gcc
    musl_checks
}
musl_checks() {
    local start="$any(;$any){0,3};main"
    record -- ./shapes 150
    # Code without tables is followed to its return: pthread_exit, where threads end, has none, and neither has the start
    # of the dynamic linker. How large a part of the time that is depends on the processor; the program has no part in it.
    local without
    without=$(query "SELECT total(count) FROM v_sample WHERE end_reason NOT IN ('root', 'no-stack')
        AND ';' || path || ';' NOT GLOB '*;main;*' AND path NOT GLOB '*thread_main*'")
    echo "not whole, outside the program: $without"
    holds "$without < 0.1 * $(query 'SELECT total(count) FROM v_sample')" "stacks outside the program"
    whole 0.999 "$without"
    roots
    chain recursion_leaf "$start(;recurse){50};recursion_leaf"
    chain callback_leaf "$start;sort(;$any){1,20};compare;callback_leaf"
    chain handler_leaf "$start;signalled(;$any){1,6};handler;handler_leaf"
    chain thread_leaf "$any;$any;thread_main;thread_leaf"
}

# Without symbols: the same stacks, as many frames deep, of functions without a name.
stripped() {
    shapes shapes gcc -s
    readelf -SW shapes | grep -q ' \.symtab ' && fail "not stripped"
    record -- ./shapes 150
    whole
    roots
    [ "$(query "SELECT sum(count) FROM v_sample WHERE leaf LIKE 'shapes+0x%' AND depth = 55")" -ge 100 ] ||
        fail "no stacks of the recursion's depth"
    # Every function of the recursion is one row, not one a return address.
    [ "$(query "SELECT count(DISTINCT function) FROM v_function WHERE module = 'shapes'")" -le 20 ] ||
        fail "functions without symbols fall to pieces"
}

no_eh_frame_hdr() {
    shapes shapes gcc -Wl,--no-eh-frame-hdr
    readelf -SW shapes | grep -q ' \.eh_frame_hdr ' && fail "there is an .eh_frame_hdr"
    record -- ./shapes 150
    whole
    roots
    shapes_chains
}

# Only the start files have .eh_frame then.
debug_frame() {
    shapes shapes gcc -fno-asynchronous-unwind-tables -fno-unwind-tables
    readelf -SW shapes | grep -q ' \.debug_frame ' || fail "there is no .debug_frame"
    readelf -wf shapes | awk '/\.eh_frame/ { eh = 1 } /\.debug_frame/ { eh = 0 }
        / FDE / && eh { n++ } END { exit n > 6 }' || fail "there is more in .eh_frame"
    record -- ./shapes 150
    whole
    roots
    shapes_chains
}

# No tables of any kind for the program: its frame pointers, or its code, must do.
frame_pointers_only() {
    shapes shapes gcc -O1 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables
    without_tables
}
no_tables() {
    shapes shapes gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables
    without_tables
}
without_tables() {
    strip -g shapes
    readelf -SW shapes | grep -q ' \.debug_frame ' && fail "there is a .debug_frame"
    record -- ./shapes 150
    whole 0.99
    roots
    chain_share=0.98
    shapes_chains
}

by_clang() {
    needs clang clang
    shapes shapes clang -O2
    record -- ./shapes 150
    whole
    roots
    shapes_chains
}

# ---- Files that come and go -------------------------------------------------------------------

# A library, closed, and another where it was.
reused_address() {
    build one.so gcc "${flags[@]}" -shared -fPIC "$PROGRAMS/library_one.c"
    build two.so gcc "${flags[@]}" -shared -fPIC "$PROGRAMS/library_two.c"
    build host gcc "${flags[@]}" "$PROGRAMS/host.c" -ldl
    record -- ./host ./one.so ./two.so
    whole
    roots
    chain one_leaf "$start;work_in;one_outer;one_leaf" 0.999 300
    chain two_leaf "$start;work_in;two_outer;two_middle;two_leaf" 0.999 300
    chain work_in "$start;work_in(;$any)*"
    [ "$(query "SELECT count(*) FROM mapping a JOIN module m ON m.id = a.module_id,
            mapping b JOIN module n ON n.id = b.module_id
        WHERE m.name = 'one.so' AND n.name = 'two.so' AND a.start = b.start
            AND a.end_ns <= b.start_ns")" -ge 1 ] || fail "not at one address, one after the other"
}

# self OUTPUT NAME PAD
self() {
    build "$1" gcc "${flags[@]}" -DNAME="$2" -DPAD="$3" "$PROGRAMS/self.c"
}
self_holds() { # NAME
    whole
    roots
    chain "$1" "$start;between;$1" 0.999 300
    [ "$(query "SELECT count(*) FROM v_function WHERE module LIKE 'self%' AND function = '$1'
        AND named")" = 1 ] || fail "no name for $1"
}

deleted_launched() {
    self self before 40
    cp self kept
    image_of() { [ "${1##*/}" != self ] && echo "$1" || echo "$work/kept"; }
    record -- ./self unlink
    [ ! -e self ] || fail "it did not delete itself"
    self_holds before
}

deleted_attached() {
    self self before 40
    cp self kept
    image_of() { [[ ${1##*/} != self* ]] && echo "$1" || echo "$work/kept"; }
    before_attach='rm self'
    attach ./self
    self_holds before
}

# Another program under the same name, with other frames: not that one's tables and names.
rebuilt() {
    self self before 40
    cp self kept
    image_of() { [[ ${1##*/} != self* ]] && echo "$1" || echo "$work/kept"; }
    before_attach=rebuild
    attach ./self
    self_holds before
    [ "$(query "SELECT count(*) FROM function WHERE name = 'after'")" = 0 ] ||
        fail "names of the file that took the place"
}
rebuild() {
    self self after 900
}
replaced() {
    self self before 40
    self other after 900
    cp self kept
    image_of() { [[ ${1##*/} != self* ]] && echo "$1" || echo "$work/kept"; }
    before_attach='mv other self'
    attach ./self
    self_holds before
}

# ---- Another word size ------------------------------------------------------------------------

# Whether the kernel runs such programs. Bash takes no file with zero bytes for a script, as other shells do.
runs32() {
    gcc -m32 -x c - -o empty32 <<<'int main(void) { return 0; }' && ./empty32 2>/dev/null
}

# Only the program counter is sampled, and that is said.
bits32() {
    gcc -m32 -I"$PROGRAMS" -O2 -g "$PROGRAMS/bits32.c" -o bits32 2>build.log ||
        skip "gcc cannot build 32-bit programs: apt-get install gcc-multilib"
    runs32 || skip "the kernel runs no 32-bit programs"
    local randomized all leaf lost
    # Without randomization the stack ends where addresses of user mode do, and every record has an
    # alignment of its own.
    for randomized in '' 'setarch -R'; do
        record -- $randomized ./bits32
        IFS='|' read -r all leaf < <(query "SELECT sum(count), sum(count * (module = 'bits32'))
            FROM v_sample")
        lost=$(query "SELECT lost FROM v_quality")
        echo "bits32: $leaf of $all in the program, $lost lost"
        holds "$leaf >= 0.9 * $all && $all > 100 && 4 * $lost <= $all" "samples in the program"
    done
    [ "$(query "SELECT count(*) FROM sample WHERE user_stack AND end_reason = 0")" -le 20 ] ||
        fail "a 32-bit stack is called whole"
    cat "$work/err"
    grep -qi '32-bit' "$work/err" || [ -n "$(query "SELECT 1 FROM module
        WHERE problem LIKE '%32-bit%'")" ] || fail "it is not said that there are no stacks"
}

"$1"
