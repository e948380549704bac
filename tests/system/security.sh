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

# A recording to export, in `keep.db`.
make_recording() {
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o keep.db 2>import.err || fail "import: $(cat import.err)"
}

# swap KIND NAME FILE: the other user exchanges NAME in a directory of theirs.
swap() {
    (cd theirs && exec "${as_other[@]}" ../user/swapper "$@") &
    child=$!
    children+=("$child")
}

# Pages and exports go into a directory of the other user, who puts links there: none is followed.
outputs() {
    prepare "$PROGRAMS/swapper"
    make_recording
    swap fifo out.txt "$victim"
    start "${as_other[@]}" sh -c "cd theirs && while :; do cat out.txt; done >/dev/null 2>&1"
    local end=$((SECONDS + 6))
    while [ $SECONDS -lt $end ]; do
        timeout 5 "$SPROF" export -f folded -i keep.db -o theirs/out.txt 2>/dev/null
        unharmed "a FIFO or a link"
    done
    for kind in way file; do
        mkdir "root/$kind" && cp "$victim" "root/$kind/out.txt"
        swap $kind $kind.d "$work/root/$kind"
        end=$((SECONDS + 3))
        while [ $SECONDS -lt $end ]; do
            timeout 5 "$SPROF" export -f folded -i keep.db -o "theirs/$kind.d$([ $kind = file ] || echo /out.txt)" 2>/dev/null
            [ "$(ls "root/$kind")" = out.txt ] && cmp -s "root/$kind/out.txt" before || fail "$kind: root's directory was written"
        done
        end_child
    done
    umask 022
    for format in folded pprof; do
        "$SPROF" export -f $format -i keep.db -o own.out 2>err || fail "export"
        [ "$(stat -c %a own.out)" = 600 ] || fail "others can read an export"
    done
    "$SPROF" html -i keep.db -o own.html >out 2>err || fail "html"
    [ "$(stat -c %a own.html)" = 600 ] || fail "others can read a page"
    # What a user has use of: links of their own, descriptors, pipes.
    "$SPROF" export -f folded -i keep.db -o - 2>err >want
    ln -s own.out own.link
    "$SPROF" export -f folded -i keep.db -o own.link 2>err && [ -L own.link ] && cmp -s own.out want || fail "through a link of one's own"
    "$SPROF" export -f folded -i keep.db -o /dev/stdout 2>err | cmp -s - want || fail "/dev/stdout"
    "$SPROF" export -f folded -i keep.db -o /dev/fd/7 2>err 7>seventh && cmp -s seventh want || fail "/dev/fd/7"
    mkfifo own.fifo
    cat own.fifo >through &
    "$SPROF" export -f folded -i keep.db -o own.fifo 2>err && wait $! && cmp -s through want || fail "a FIFO"
}

# Recordings are made there, too: nothing but a new file of root's own is written.
recordings() {
    prepare "$PROGRAMS/swapper"
    local end empty=$work/root/empty other=$work/root/other.db
    : >"$empty"
    chmod 600 "$empty"
    make_recording
    cp keep.db "$other"
    sha256sum "$other" >sums
    for kind in file log; do
        for target in "$victim" "$empty" "$other"; do
            swap $kind sprof.db "$target"
            end=$((SECONDS + 3))
            while [ $SECONDS -lt $end ]; do
                timeout 20 "$SPROF" import --folded "$GOLDEN/worked.folded" -o theirs/sprof.db >out 2>err
                timeout 20 "$SPROF" report -i theirs/sprof.db >/dev/null 2>&1
                unharmed "$kind"
                [ ! -s "$empty" ] || fail "$kind: an empty file of root's was written"
                sha256sum -c sums >/dev/null 2>&1 || fail "$kind: a database of root's was written"
            done
            end_child
            rm -rf theirs/*
        done
    done
    # Without an attack it works there, and what is beside it goes away.
    "$SPROF" import --folded "$GOLDEN/worked.folded" -o theirs/quiet.db 2>err || fail "into another user's directory: $(cat err)"
    [ "$(ls theirs)" = quiet.db ] && [ "$(stat -c '%a %u' theirs/quiet.db)" = "600 0" ] || fail "the recording is not root's own: $(ls -l theirs)"
}

case $1 in
lying_agent | shrinking | old_kernel | outputs | recordings) "$1" ;;
*) fail "no such case: $1" ;;
esac
