# security_lib.sh: another user, and files of root's that must stay as they are.
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
    [ $# = 0 ] || cp "$@" "$work/user/"
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

# swap KIND NAME FILE: the other user exchanges NAME in a directory of theirs.
swap() {
    (cd theirs && exec "${as_other[@]}" ../user/swapper "$@") &
    child=$!
    children+=("$child")
}
