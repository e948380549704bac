#!/bin/bash
# Recursion 10, 100 and 1000 calls deep, 1:2:5 of the time: every stack whole, its depth exact.
. "$(dirname "$0")/lib.sh"
expect 0 "$SPROF" record -o t.db -- "$PROGRAMS/depths" 12000

# The three most frequent depths, smallest first.
read -r a b c all < <(sql t.db "WITH d AS (SELECT depth, count(*) AS n FROM v_sample
    WHERE leaf = 'bottom' GROUP BY depth), top AS (SELECT * FROM d ORDER BY n DESC LIMIT 3)
    SELECT group_concat(depth || ':' || n, ' ') || ' ' || (SELECT sum(n) FROM d)
    FROM (SELECT * FROM top ORDER BY depth)")
echo "depth:samples $a $b $c of $all"
[ $((${b%:*} - ${a%:*})) = 90 ] && [ $((${c%:*} - ${b%:*})) = 900 ] || fail "other depths"
holds "${a#*:} + ${b#*:} + ${c#*:} >= 0.99 * $all" "samples with an exact depth"
"$PROGRAMS/chi_square" 1e-4 "${a#*:}:1" "${b#*:}:2" "${c#*:}:5" || fail "the split is another one"
IFS='|' read -r user whole < <(sql t.db "SELECT user_stacks, whole_stacks FROM v_quality")
holds "$whole >= 0.99 * $user" "whole stacks"
