#!/bin/bash
# A program whose call tree has a known split, recorded in one way: one chi-square test at 1e-4.
#   split.sh MODE HOW      MODE: full, app, app-drop, pc, pc-app
#                          HOW: launched, attached, threads, attached-threads, processes, per-thread,
#                               agent, agent-fine, agent-threads, agent-processes, machine, cgroup
. "$(dirname "$0")/lib.sh"
mode=$1 how=$2

# Options of `sprof record` for each mode. The library counts as the system's.
declare -A options=(
    [full]="-m full"
    [app]="-m app --system-module *libknown*"
    [app-drop]="-m app --app-interior drop --system-module *libknown*"
    [pc]="-m pc"
    [pc-app]="-m pc --frame app --system-module *libknown*"
)

# What each class of samples is called in a mode, and its share: a path's end and the samples in and
# below it, or a function and the samples on it. `a-b` is a without what is below in b.
paths="one_round;alpha 1
one_round;beta-one_round;beta;delta 2
one_round;beta;delta 2
one_round;delta 2"
functions="alpha 1
beta 2
delta 4
callback 2"
declare -A classes=(
    [full]="$paths
one_round;omega;library_spin 1
one_round;theta;library_call;callback 2"
    [app]="$paths
one_round;omega 1
one_round;theta;library_call;callback 2"
    [app-drop]="$paths
one_round;omega 1
one_round;theta;callback 2"
    [pc]="$functions
library_spin 1"
    [pc-app]="$functions
omega 1"
)

count_path() { # END OF PATH
    sql t.db "SELECT coalesce(sum(inclusive_samples), 0) FROM v_call_tree
        WHERE path = '$1' OR path LIKE '%;' || replace('$1', '_', '\\_') ESCAPE '\\'"
}

count_function() {
    sql t.db "SELECT coalesce(sum(exclusive_samples), 0) FROM v_function WHERE function = '$1'"
}

count_class() {
    case $mode in
    pc | pc-app) count_function "$1" ;;
    *)
        local of=${1%%-*} without=0
        [ "$of" = "$1" ] || without=$(count_path "${1#*-}")
        echo $(($(count_path "$of") - without))
        ;;
    esac
}

record() {
    set -f
    expect "$1" "$SPROF" record ${options[$mode]} -o t.db "${@:2}"
    set +f
}

attach() { # ARGUMENTS OF split
    start "$PROGRAMS/split" "$@" >split.out
    sleep 0.3
    record 0 -p "$child" --duration 4s
    [[ $(state_of "$child") == [RS] ]] || fail "the target no longer runs: $(state_of "$child")"
}

case $how in
launched) record 0 -- "$PROGRAMS/split" once 14000 ;;
attached) attach forever ;;
attached-threads) attach threads 2 60000 ;;
threads) record 0 -- "$PROGRAMS/split" threads 2 8000 ;;
processes) record 0 -- "$PROGRAMS/split" processes 2 8000 ;;
per-thread) record 0 --per-thread -- "$PROGRAMS/split" threads 2 8000 ;;
agent) record 0 --source sigprof -- "$PROGRAMS/split" once 14000 ;;
agent-fine) record 0 --source sigprof --agent-clock fine -- "$PROGRAMS/split" threads 2 8000 ;;
agent-threads) record 0 --source sigprof -- "$PROGRAMS/split" threads 2 8000 ;;
agent-processes) record 0 --source sigprof -- "$PROGRAMS/split" processes 2 8000 ;;
machine) # chosen among all that runs beside it
    needs_root "the whole machine"
    record 0 -a --match split -- "$PROGRAMS/split" once 14000
    ;;
cgroup) # below the one that is named
    needs_root "cgroups"
    name=sprof_split_$$ root=$(cgroup_root)
    [ -n "$root" ] && mkdir -p "$root/$name/below" 2>/dev/null || skip "no cgroup can be made"
    run "$SPROF" record ${options[$mode]} --cgroup "$name" -o t.db -- sh -c "echo \$\$ >$root/$name/below/cgroup.procs
        $PROGRAMS/split once 14000; echo \$\$ >$root/cgroup.procs"
    rmdir "$root/$name/below" "$root/$name"
    [ "$status" = 0 ] || fail "exit status $status"
    ;;
*) fail "unknown: $how" ;;
esac

counts=() sum=0
while read -r class share; do
    count=$(count_class "$class")
    counts+=("$count:$share")
    sum=$((sum + count))
done <<<"${classes[$mode]}"
total=$(sql t.db "SELECT sum(samples) FROM v_thread WHERE process = 'split'")
echo "$mode $how: ${counts[*]}, $sum of $total samples"
holds "$sum > 200" "samples"
holds "$sum >= 0.9 * $total" "samples on the known paths"
"$PROGRAMS/chi_square" 1e-4 "${counts[@]}" || fail "the split is another one"
