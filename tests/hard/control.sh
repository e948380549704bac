#!/bin/bash
# Stacks that are not a plain sequence of calls: handlers, callbacks, jumps, exceptions, coroutines,
# moving stack pointers, and the instructions where a frame comes into being.
#   control.sh CASE
. "$(dirname "$0")/lib.sh"

# The C program of that name, compiled as usual, recorded; $@ are its arguments.
recorded() {
    local name=$1
    shift
    build "$name" gcc "${flags[@]}" "$PROGRAMS/$name.c"
    record -- "./$name" "$@"
}

altstack() {
    recorded altstack
    whole
    roots
    chain handler_leaf "$start(;interrupted)?;$signal;on_timer;handler_leaf"
    chain handler_leaf "$start;interrupted;$signal;on_timer;handler_leaf" 0.9
    chain on_trap "$start;trapping;trap_first;$signal;on_trap"
    chain interrupted "$start;interrupted(;$signal;on_timer(;handler_leaf)?)?"
    edges altstack <<'END'
_start
main install interrupted trapping
trapping trap_first
on_timer handler_leaf
END
}

vfork() {
    recorded vfork /bin/true
    # A process of a millisecond may end before a page of its stack that was not there can be read.
    whole 0.997
    roots
    chain child_leaf "$start;launch;child;child_leaf"
    chain parent_leaf "$start;parent_leaf"
    chain launch "$start;launch"
    edges vfork <<'END'
main launch parent_leaf
launch child
child child_leaf
END
    # Most of the children's work was seen, in processes of their own.
    local processes
    processes=$(query "SELECT count(DISTINCT pid) FROM v_sample WHERE leaf = 'child_leaf'")
    [ "$processes" -ge 60 ] || fail "child_leaf in only $processes processes"
}

callback() {
    recorded callback
    whole
    roots
    chain compare_leaf "$start;(sort_all(;$any){1,40}|search_all;bsearch);compare;compare_leaf"
    chain sort_all "$start;sort_all(;$any)*"
    chain clocks "$start;clocks(;$any){0,3}"
    [ "$(query "SELECT count(*) FROM v_sample WHERE path GLOB '*;clocks;*' AND module = '[vdso]'")" \
        -ge 50 ] || fail "no samples in the vdso"
    edges callback <<'END'
main sort_all search_all clocks
search_all bsearch
bsearch compare
compare compare_leaf
END
}

longjmp() {
    recorded longjmp
    whole
    roots
    chain jump_leaf "$start;loop;first;second;third;jump_leaf"
    chain second "$start;loop;first;second(;third(;$any){0,4})?"
    edges longjmp <<'END'
main loop
loop first
first second
second third
third jump_leaf
END
}

exceptions() {
    needs g++ g++
    build exceptions g++ "${flags[@]}" "$PROGRAMS/exceptions.cc"
    record -- ./exceptions
    # While libgcc installs the context of a landing pad, one frame's return address already belongs
    # to another: no table can describe that. About one sample in a hundred of this loop.
    whole 0.97
    roots 0.998
    local call='\([^;]*\)' cold='( \[clone \.cold\])?'
    chain "thrower(unsigned long)" \
        "$start;catcher$call;outer$call;middle$call;thrower$call$cold(;$any)*"
    chain _Unwind_RaiseException \
        "$start;catcher$call;outer$call;middle$call;thrower$call$cold;__cxa_throw;_Unwind_RaiseException(;$any)*" 0.95
    chain _Unwind_Resume \
        "$start;catcher$call;outer$call;middle$call$cold;_Unwind_Resume(;$any)*" 0.93
    query "SELECT caller, callee FROM v_edge WHERE caller_module = 'exceptions'
        AND callee_module = 'exceptions' AND samples > (SELECT 0.03 * sum(count) FROM sample)" | sed 's/([^)]*)//g; s/ \[clone .cold\]//g' | sort -u >edges.plain
    printf '%s\n' 'catcher|outer' 'main|catcher' 'middle|guard::~guard' 'middle|thrower' \
        'outer|middle' >edges.expected
    local impossible
    impossible=$(grep -vxFf edges.expected edges.plain)
    [ -z "$impossible" ] || fail "impossible calls: $impossible"
    # Each stack that was kept, for it was not whole, is unwound again.
    local kept again
    kept=$(query "SELECT count(*) FROM failed_sample")
    again=$("$SPROF" unwind-replay -i t.db | awk '{ sum += $1 } END { print sum + 0 }')
    [ "$kept" = "$again" ] || fail "$again of $kept kept stacks were unwound again"
}

coroutines() {
    recorded coroutines
    # Half way through swapcontext the registers are of two contexts: one to three samples in a thousand.
    whole 0.99
    # Stripped libraries do not name the start of a coroutine: the program tells where one returns to.
    ./coroutines root >extra_roots || fail "coroutines root"
    roots 0.99
    chain worker_leaf "$any;worker;step;worker_leaf"
    chain yield "$any;worker;step;yield(;$any){0,3}"
    edges coroutines <<'END'
main make schedule
worker step
step worker_leaf yield
END
}

tail_calls() {
    recorded tail
    whole
    roots
    chain tail_last "$start;caller;tail_last"
    chain caller "$start;caller(;tail_(first|second|last))?"
    edges tail <<'END'
main caller
caller tail_first tail_second tail_last
END
}

# Records of odd sizes: without randomization the stack ends where addresses of user mode do.
misaligned() {
    build misaligned gcc "${flags[@]}" -mno-red-zone "$PROGRAMS/misaligned.c"
    record -- setarch -R ./misaligned
    whole
    roots
    chain misaligned "$start;misaligned"
    [ "$(query "SELECT lost FROM v_quality")" = 0 ] || fail "samples were lost"
}

# Code without tables that keeps the stack pointer in a register or in memory.
kernels() {
    local kernel
    build kernels gcc "${flags[@]}" "$PROGRAMS/kernels.c"
    record -- ./kernels
    whole
    roots
    for kernel in in_rbx on_stack above_locals; do
        chain "$kernel" "$start;middle;$kernel"
    done
}

# How functions begin and end: as each compiler and each way of keeping frames lays them out.
edges_check() {
    whole
    roots
    local inner='(leaf_bare|saves_registers(;leaf_bare)?|frame_pointer(;leaf_bare)?|early_return(;leaf_bare)?)'
    chain hot "$start;hot(;$inner)?"
    edges edges <<'END'
main hot
hot saves_registers frame_pointer early_return
saves_registers leaf_bare
frame_pointer leaf_bare
early_return leaf_bare
END
}
prologues() {
    local options
    for options in -O2 '-O2 -fno-omit-frame-pointer' '-O0' '-O1 -fcf-protection -fstack-protector-all'; do
        echo "== gcc $options"
        build edges gcc -g $options "$PROGRAMS/edges.c"
        record -- ./edges
        edges_check
    done
}
prologues_clang() {
    needs clang clang
    local options
    for options in -O2 '-O2 -fno-omit-frame-pointer' '-O0'; do
        echo "== clang $options"
        build edges clang -g $options "$PROGRAMS/edges.c"
        record -- ./edges
        edges_check
    done
}

plt() {
    local options
    for options in -Wl,-z,lazy -Wl,-z,now '-Wl,-z,lazy -fcf-protection=full -Wl,-z,ibtplt' -no-pie; do
        echo "== $options"
        build libsmall.so gcc -O2 -g -shared -fPIC ${options#-no-pie} "$PROGRAMS/plt_library.c"
        build plt gcc -O2 -g -fplt $options "$PROGRAMS/plt.c" -L. -lsmall -Wl,-rpath,.
        record -- ./plt
        whole
        roots
        chain hot "$start;hot(;[^;]*small_(one|two)[^;]*|;[^;]*plt[^;]*|;plt\+$any)?"
        [ "$(query "SELECT count(*) FROM v_sample s WHERE path GLOB '*;hot;*' AND module = 'plt'")" \
            -ge 50 ] || fail "no samples in the procedure linkage table"
    done
}

drap() {
    local options
    for options in -O2 '-O2 -mstackrealign -fno-omit-frame-pointer' '-O1 -fstack-protector-all'; do
        echo "== $options"
        build drap gcc -g $options "$PROGRAMS/drap.c"
        readelf -wf drap | grep -q DW_CFA_def_cfa_expression ||
            fail "the compiler needed no expression: this tests nothing"
        record -- ./drap
        whole
        roots
        chain drap_leaf "$start(;moving){1,6};realigned;drap_leaf"
        edges drap <<'END'
main moving
moving moving realigned
realigned drap_leaf
END
    done
}

"$1"
