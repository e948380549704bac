#!/bin/bash
# security.sh CASE: another user's program, directory, recording or peer attacks sprof, which root runs. Each case keeps a
# promise of docs/security.md. Attackers run as an ordinary user; where the attack is a race it is tried for some seconds.
. "$(dirname "$0")/lib.sh"

needs_root "another user attacks what root runs"
victim=$work/root/secret

# A file that only root may read, and a directory that belongs to the other user.
prepare() {
    mkdir -m 700 "$work/root"
    printf 'the secret of root\n' >"$victim"
    chmod 600 "$victim"
    cp "$victim" "$work/before"
    install -d -m 755 -o 65534 -g 65534 "$work/theirs"
    mkdir -p "$work/user"
    cp "$@" "$work/user/"
    chmod -R a+rX "$work/user"
}

# The words in front of what the other user runs, without a shell in between.
as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups)

end_child() {
    kill -9 "$child"
    wait "$child" 2>/dev/null || true
}

# The file is as it was: content, size, mode and owner.
unharmed() {
    cmp -s "$victim" "$work/before" || fail "$1: root's file was changed, it has $(stat -c %s "$victim") bytes"
    [ "$(stat -c '%a %u' "$victim")" = "600 0" ] || fail "$1: root's file has another mode or owner"
}

# A traced process answers a descriptor of its choice for the shared memory: nothing is written through it.
lying_agent() {
    prepare "$PROGRAMS/lying_agent"
    mkdir -m 711 "$work/open" && cp -p "$victim" "$work/open/secret" && victim=$work/open/secret
    install -m 600 -o 65534 "$work/before" "$work/theirs/file"
    for mode in path file huge; do
        for _ in 1 2 3; do
            start "${as_other[@]}" "$work/user/lying_agent" "$mode" \
                "$([ "$mode" = path ] && echo "$victim" || echo "$work/theirs/file")"
            sleep 0.1
            run timeout 20 "$SPROF" trace -p "$child" --function '^work$' --duration 0.2 -o trace.db
            unharmed "$mode"
            cmp -s "$work/theirs/file" "$work/before" || fail "$mode: the file of the process was changed"
            end_child
            [ "$status" != 0 ] || continue
            grep -q 'is not the new shared memory' err || fail "$mode: exit status $status for another reason"
            refusals=$((${refusals-0} + 1))
        done
    done
    [ "${refusals-0}" -ge 3 ] || fail "the agent was replaced ${refusals-0} times of 9: nothing was attacked"
}

# It changes the size of the shared memory until that is sealed: sprof refuses or works, and never ends by SIGBUS.
shrinking() {
    prepare "$PROGRAMS/lying_agent"
    for _ in 1 2 3 4 5 6 7 8; do
        start "${as_other[@]}" "$work/user/lying_agent" shrink -
        sleep 0.1
        run timeout 20 "$SPROF" trace -p "$child" --function '^work$' --duration 0.1 -o trace.db
        [ "$status" -lt 124 ] || fail "sprof ended by a signal or not at all: $status"
        end_child
    done
}

# Where the kernel cannot copy descriptors of processes, `trace -p` refuses and says so.
old_kernel() {
    prepare "$PROGRAMS/lying_agent"
    start "${as_other[@]}" "$work/user/lying_agent" none -
    sleep 0.1
    expect 1 "$PROGRAMS/refuse" pidfd_getfd ENOSYS "$SPROF" trace -p "$child" --function '^work$' --duration 0.1 -o trace.db
    said 'Linux 5.6'
}

case $1 in
lying_agent | shrinking | old_kernel) "$1" ;;
*) fail "no such case: $1" ;;
esac
