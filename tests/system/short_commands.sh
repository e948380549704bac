#!/bin/bash
# Commands that end before sprof's BPF programs are loaded, and others: each is recorded as a whole, and nothing of
# sprof stays in the kernel.
. "$(dirname "$0")/lib.sh"
needs_root "to see loaded programs"
bpftool prog list > programs 2>&1 || skip "no bpftool for this kernel"

loaded() {
    bpftool prog list | grep -c 'name take_sample'
}

before=$(loaded)
for ((i = 0; i < 40; i++)); do
    expect 0 "$SPROF" record --no-symbolize -o t.db -- true
    IFS='|' read -r processes lost status < <(sql t.db "SELECT (SELECT count(*) FROM process),
        (SELECT coalesce(sum(value), 0) FROM counter WHERE name = 'sampler.lost_others'), wait_status FROM run")
    [ "$processes|$lost|$status" = "1|0|0" ] || fail "$processes processes, $lost lost records, wait status $status"
done
for ((i = 0; i < 300; i++)); do # the kernel frees them a little later
    [ "$(loaded)" -gt "$before" ] || exit 0
    sleep 0.1
done
fail "$before programs were loaded before, $(loaded) are now"
