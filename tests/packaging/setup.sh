#!/bin/bash
# dev/setup never lets apt remove a package: it stops, and says what excludes what. The package tools are
# stand-ins that note how they were called.
#     setup.sh SOURCE
set -u
source=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
cd "$work" || exit 1

fail() {
    echo "$*" >&2
    cat "$work/output" >&2
    exit 1
}

# Everything is installed but libunwind-dev and what $missing names.
cat >bin/dpkg-query <<'END'
#!/bin/sh
for name; do :; done
case " libunwind-dev $missing " in
*" $name "*) exit 1 ;;
esac
printf 'install ok installed'
END
cat >bin/apt-get <<'END'
#!/bin/sh
echo "$*" >>"$calls"
case "$*" in
*update*) exit 0 ;;
*"-s "*) echo "Remv libunwind-14-dev [1:14.0.6-12]" ;;
*--no-remove*) exit "$refuses" ;;
*) echo "would remove" >>"$removed" ;;
esac
END
printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
chmod +x bin/*

run() { # MISSING REFUSES
    rm -f calls removed
    calls=$work/calls removed=$work/removed missing=$1 refuses=$2 PATH=$work/bin:$PATH "$source/dev/setup" >output 2>&1
}

run "" 100 && fail "setup went on although a package is missing"
[ -e removed ] && fail "apt-get was called without --no-remove"
grep -q -- '--no-remove install libunwind-dev' calls || fail "libunwind-dev was not asked for"
grep -q 'exclude what is installed: libunwind-14-dev' output || fail "it does not say what is in the way"
grep -q 'apt-get remove libunwind-14-dev' output || fail "it does not say what helps"
grep -q 'cmake --build --preset release' output || fail "it does not say how to do without"

run "cmake" 0 || fail "setup failed where apt-get did not"
grep -q -- 'install cmake libunwind-dev' calls || fail "not all that is missing was asked for"
