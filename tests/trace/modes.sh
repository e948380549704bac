# What tests of `sprof trace --mode` share. MODE is the mode that they are about.

# traced_in_mode NAME OPTION… -- COMMAND…: traced into NAME.db; prints and ends as it does untraced.
traced_in_mode() {
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    "$@" >want 2>want_err </dev/null
    local wanted=$?
    "$SPROF" trace --mode "$MODE" -o "$name.db" "${options[@]}" -- "$@" >got 2>got_err </dev/null
    status=$?
    cp got_err err
    [ $status = $wanted ] || fail "$name: exit status $status, untraced $wanted"
    cmp -s want got || fail "$name: other output than untraced"
    grep -v '^sprof: ' got_err | cmp -s - want_err || fail "$name: other errors than untraced"
}
