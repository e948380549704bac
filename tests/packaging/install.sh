#!/bin/bash
# `cmake --install` puts binary, manual page and documents where they belong, /usr/local by default, and
# leaves another program of the name alone.
#     install.sh SOURCE BUILD SPROF
set -u
build=$2 sprof=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
[ "$prefix" = /usr/local ] || fail "the default prefix is $prefix"

DESTDIR=$work/root cmake --install "$build" --component Unspecified >"$work/log" 2>&1 ||
    fail "install: $(cat "$work/log")"
root=$work/root/usr/local
cmp -s "$root/bin/sprof" "$sprof" || "$root/bin/sprof" --version >/dev/null || fail "no binary"
[ -f "$root/include/sprof.h" ] || fail "no header for programs"
for file in share/bash-completion/completions/sprof share/zsh/vendor-completions/_sprof share/fish/vendor_completions.d/sprof.fish \
        share/man/man1/sprof.1 share/man/man1/sprof-record.1 share/man/man1/sprof-html.1 share/man/man7/sprof-guide.7 share/man/man7/sprof-schema.7 lib/systemd/system/sprof.service share/doc/sprof/guide.md share/doc/sprof/pictures/why.png share/doc/sprof/schema.md \
        share/doc/sprof/design/overview.md share/doc/sprof/design/decisions/README.md share/doc/sprof/glossary.md share/doc/sprof/README.md share/doc/sprof/LICENSE; do
    [ -s "$root/$file" ] || fail "$file is missing"
done

# A second time, over our own.
DESTDIR=$work/root cmake --install "$build" --component Unspecified >"$work/log" 2>&1 ||
    fail "over itself: $(cat "$work/log")"

# Where parts are missing, the cure named is one of the place: building, or installing.
mkdir "$work/alone"
cp "$sprof" "$work/alone/"
(cd "$work/alone" && ./sprof trace -o a.db -- true) >"$work/log" 2>&1 && fail "sprof traces without its agent"
grep -q 'install sprof with `cmake --install`' "$work/log" || fail "no cure outside of a build: $(cat "$work/log")"
touch "$work/alone/CMakeCache.txt"
(cd "$work/alone" && ./sprof trace -o a.db -- true) >"$work/log" 2>&1 && fail "sprof traces without its agent"
grep -qF "cmake --build $work/alone --target sprof" "$work/log" || fail "no cure in a build: $(cat "$work/log")"

# Over another program, as glibc's.
mkdir -p "$work/usr/bin"
printf '#!/bin/sh\necho "sprof (Debian GLIBC 2.36) 2.36"\n' >"$work/usr/bin/sprof"
chmod +x "$work/usr/bin/sprof"
cp "$work/usr/bin/sprof" "$work/theirs"
cmake --install "$build" --component Unspecified --prefix "$work/usr" >"$work/log" 2>&1 &&
    fail "another program was overwritten"
grep -q 'is another program' "$work/log" || fail "no reason given: $(cat "$work/log")"
cmp -s "$work/theirs" "$work/usr/bin/sprof" || fail "another program was changed"
