#!/bin/bash
# Deep stacks: each class of the program's samples must have exactly its depth.
#   depth.sh CASE
. "$(dirname "$0")/lib.sh"

# stacks SELECT: with `down`, a row for each stack of a leaf_N: its node, its class N, and how many
# calls of descend* there are on it.
stacks() {
    query "WITH RECURSIVE named(id, name) AS (
            SELECT f.id, fn.name FROM frame f JOIN function fn ON fn.id = f.function_id),
        down(node, calls, class) AS (
            SELECT n.id, name GLOB 'descend*', 0 FROM stack_node n JOIN named ON named.id = n.frame_id
            WHERE n.parent_id IS NULL
            UNION ALL
            SELECT n.id, calls + (name GLOB 'descend*'),
                CASE WHEN name GLOB 'leaf_*' THEN CAST(substr(name, 6) AS INTEGER) ELSE class END
            FROM down JOIN stack_node n ON n.parent_id = down.node JOIN named ON named.id = n.frame_id)
        $1"
}

exact_classes() {
    stacks "SELECT class, sum(count), sum(count * (calls = class AND end_reason = 0)),
            min(calls), max(calls), sum(stitched)
        FROM sample JOIN down ON node = node_id WHERE class > 0 GROUP BY class ORDER BY class" >rows
    echo 'depth|samples|exact|least|most|stitched'
    cat rows
    [ "$(wc -l <rows)" = 5 ] || fail "not five classes"
    while IFS='|' read -r class samples _; do
        [ "$samples" -ge 50 ] || fail "only $samples samples of class $class"
    done <rows
    awk -F '|' '{ all += $2; exact += $3 } END { exit !(exact >= 0.98 * all) }' rows ||
        fail "less than 98 % have their exact depth"
}

classes_edges() {
    edges classes <<'END'
main descend rest atoi
descend descend_8 descend_40 descend_104 leaf_100 leaf_300 leaf_1000 leaf_3000 leaf_10000
descend_8 descend leaf_100 leaf_300 leaf_1000 leaf_3000 leaf_10000
descend_40 descend leaf_100 leaf_300 leaf_1000 leaf_3000 leaf_10000
descend_104 descend leaf_100 leaf_300 leaf_1000 leaf_3000 leaf_10000
END
}

rate=997
classes() {
    build classes gcc "${flags[@]}" "$PROGRAMS/classes.c"
    record -- ./classes 500 2 150
    exact_classes
    whole
    roots
    by_rules
    classes_edges
}

classes_attached() {
    build classes gcc "${flags[@]}" "$PROGRAMS/classes.c"
    attach ./classes 150 1000 40 # all five within the recording, also on a processor that takes twice as long
    exact_classes
    whole
    roots
    classes_edges
}

classes_frame_pointers() {
    build classes gcc "${flags[@]}" -fno-omit-frame-pointer "$PROGRAMS/classes.c"
    record -- ./classes 400 2 150
    exact_classes
    whole
    roots
}

# The stack changes from class to class every two milliseconds: what lies beyond the slice may be gone
# when it is read. As root the kernel copies it at the moment of the sample, but where sprof has no CPU to give back the
# memory for that in time. Elsewhere such stacks are cut, more of them the busier the machine is; but none may be wrong
# and called whole.
classes_fast() {
    build classes gcc "${flags[@]}" "$PROGRAMS/classes.c"
    rate=2999
    record -- ./classes 2 250 0
    if [ "$(id -u)" = 0 ]; then
        IFS='|' read -r captured dropped < <(query "SELECT sum(value * (name = 'sampler.tails_with_sample')),
            sum(value * (name = 'sampler.tails_dropped')) FROM counter")
        echo "captured with the sample: $captured, without memory: $dropped"
        holds "$captured >= 50" "stacks that were captured"
        whole 0.99 "$dropped"
    else
        whole 0.9
    fi
    roots
    classes_edges
    stacks "SELECT sum(count), sum(count * (calls <> class)) FROM sample JOIN down ON node = node_id
        WHERE class > 0 AND end_reason = 0" >wrong
    IFS='|' read -r all wrong <wrong
    echo "whole but of another depth: $wrong of $all"
    holds "$wrong <= 0.001 * $all" "whole stacks of another depth"
}

# A thread that is deep before there is a table of the library it is in: its first samples wait, and
# each has its exact depth all the same, for its stack was captured as far as it goes and no further.
deep_start() {
    gcc -c -DBULK=100000 "$PROGRAMS/deep_bulk.S" &&
        gcc -O1 -fPIC -g -fno-optimize-sibling-calls -c "$PROGRAMS/deep_levels.c" &&
        gcc -shared -Wl,--build-id=none -o libdriver.so deep_levels.o deep_bulk.o || fail "gcc"
    build deep_start gcc -O1 -g -Wl,--build-id=none -Wl,-rpath,"$PWD" "$PROGRAMS/deep_start.c" -L. -ldriver -pthread
    rate=2999
    for how in "" --per-thread; do
        rm -rf cache
        XDG_CACHE_HOME=$PWD/cache record $how -- ./deep_start
        query "SELECT name, value FROM counter WHERE name GLOB '*tails*' OR name = 'samples.waited'"
        holds "$(query "SELECT value FROM counter WHERE name = 'samples.waited'") >= 10" \
            "samples of a library without a table"
        whole 0.99
        stacks "SELECT sum(count), sum(count * (calls = 251)) FROM sample JOIN down ON node = node_id
            WHERE end_reason = 0 AND calls > 200" >exact
        IFS='|' read -r all exact <exact
        echo "of exact depth: $exact of $all"
        [ "${all:-0}" -ge 200 ] || fail "only ${all:-0} deep stacks"
        [ -n "$how" ] || holds "$exact >= 0.98 * $all" "stacks of exact depth"
    done
}

"$1"
