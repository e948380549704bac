# What tests of commands that sample themselves share.
. "$(dirname "$0")/lib.sh"
: "${SUBJECT:?a program that does what is hard for an agent}" "${AGENT:?the library}"
refuse=("$PROGRAMS/refuse" perf_event_open EPERM)
export XDG_RUNTIME_DIR=$work/run # of this test alone, to see what is left over in it
mkdir -m 700 "$XDG_RUNTIME_DIR"
record=("$SPROF" record --source sigprof -o t.db)

value() { # COLUMN OF v_quality
    sql t.db "SELECT $1 FROM v_quality"
}

counter() {
    sql t.db "SELECT value FROM counter WHERE name = '$1'"
}

# Weight of samples over CPU time that was used, as a share; what was booked on [not sampled] apart.
sampled_weight() {
    sql t.db "SELECT coalesce(sum(exclusive_weight), 0) / 1e9 FROM v_function
        WHERE function <> '[not sampled]'"
}

whole() { # LEAST SAMPLES, LEAST SHARE
    local samples lost user whole
    IFS='|' read -r samples lost user whole < <(sql t.db \
        "SELECT samples, lost, user_stacks, whole_stacks FROM v_quality")
    echo "$samples samples, $lost lost, $whole of $user stacks whole"
    holds "$samples >= $1" "samples"
    holds "4 * $lost <= $samples" "lost samples" # where sprof did not run for as long as the rings last
    holds "$whole >= $2 * $user" "whole stacks"
}
