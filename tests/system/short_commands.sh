#!/bin/bash
# Commands that end before sprof's BPF programs are loaded, and others: each is recorded as a whole, and nothing of
# sprof stays in the kernel.
. "$(dirname "$0")/lib.sh"
needs_root "to see loaded programs"
bpftool prog list > programs 2>&1 || skip "no bpftool for this kernel"

# The programs of sprof that no process holds; other recordings may run meanwhile.
left_over() {
    # in this order: a program that is loaded in between is in neither list, or held alone
    bpftool prog list | sed -n 's/^\([0-9]*\): .* name take_sample .*/\1/p' | sort >loaded
    cat /proc/[0-9]*/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:[[:space:]]*//p' | sort -u >held
    comm -23 loaded held
}

left_over >before
for ((i = 0; i < 40; i++)); do
    expect 0 "$SPROF" record --no-symbolize -o t.db -- true
    IFS='|' read -r processes lost status < <(sql t.db "SELECT (SELECT count(*) FROM process),
        (SELECT coalesce(sum(value), 0) FROM counter WHERE name = 'sampler.lost_others'), wait_status FROM run")
    [ "$processes|$lost|$status" = "1|0|0" ] || fail "$processes processes, $lost lost records, wait status $status"
done
for ((i = 0; i < 100; i++)); do # the kernel frees them a little later
    left_over >after
    [ -n "$(comm -13 before after)" ] || exit 0
    sleep 0.1
done
fail "programs without a process that holds them: $(comm -13 before after | tr '\n' ' ')"
