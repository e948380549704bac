#!/bin/bash
# `cpack -G DEB` makes a package that is installed beside another program of the name, upgraded and removed. It happens in a copy
# of this system that is not written back (an overlay in a mount namespace of its own). dpkg's database is a copy, since an overlay
# whose lower files are changed by another dpkg fails.
#     package.sh SOURCE BUILD
set -u
build=$2
if [ "$(id -u)" != 0 ]; then
    echo "SKIPPED: packages are installed by root only"
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# In the namespace: what is installed where, and what is there afterwards.
inside() {
    set -e
    mount -t tmpfs none "$work"
    mkdir "$work/upper" "$work/work" "$work/root"
    mount -t overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" none "$work/root"
    mount -t proc proc "$work/root/proc"
    mount -t tmpfs none "$work/root/tmp"
    cp -a /var/lib/dpkg "$work/dpkg"
    mount --bind "$work/dpkg" "$work/root/var/lib/dpkg"
    cp "$work.deb" "$work/root/tmp/sprof.deb"
    cp "$work.later.deb" "$work/root/tmp/later.deb"
    cat >"$work/root/tmp/steps" <<'END'
set -e
export DEBIAN_FRONTEND=noninteractive
page=/usr/share/man/man1/sprof.1.gz
ln -sf /bin/true /usr/bin/mandb # whose trigger reads every manual page of the system, each time
echo force-unsafe-io >>/etc/dpkg/dpkg.cfg
other() { printf '#!/bin/sh\necho another\n'; }
dpkg-query -S /usr/bin/sprof >/dev/null 2>&1 || { other >/usr/bin/sprof; chmod +x /usr/bin/sprof; }
[ -e $page ] || echo another >$page
cp /usr/bin/sprof $page /tmp
ours() {
    /usr/bin/sprof --version | grep -q '^sprof [0-9]'
    cmp -s /tmp/sprof /usr/bin/sprof.glibc
    cmp -s /tmp/sprof.1.gz /usr/share/man/man1/sprof.glibc.1.gz
}
dpkg -i /tmp/sprof.deb
ours
cd /tmp
sprof trace -o a.db -- true
sprof stats -i a.db >/dev/null
sprof record -o b.db --source sigprof -- true
sprof report -i b.db >/dev/null
sprof help | grep -q '^ *record '
man -l /usr/share/man/man1/sprof-record.1.gz | grep -q 'sprof.record'
bash -c '. /usr/share/bash-completion/completions/sprof; complete -p sprof' >/dev/null
[ -s /usr/share/zsh/vendor-completions/_sprof ] && [ -s /usr/share/fish/vendor_completions.d/sprof.fish ]
off() { # the unit is there, and nothing starts it
    [ -s /lib/systemd/system/sprof.service ] || [ -s /usr/lib/systemd/system/sprof.service ]
    [ -z "$(find /etc/systemd /var/lib/systemd -name 'sprof.service*')" ]
}
off
dpkg -i /tmp/sprof.deb # over itself
ours
dpkg -i /tmp/later.deb
ours
off
dpkg-query -W -f '${Version}' sprof | grep -q '+later$'
dpkg -r sprof
cmp /tmp/sprof /usr/bin/sprof
cmp /tmp/sprof.1.gz $page
! [ -e /usr/bin/sprof.glibc ]
! [ -e /usr/libexec/sprof ]
[ -z "$(dpkg-divert --list '*sprof*')" ]
dpkg -i /tmp/sprof.deb
dpkg -P sprof
cmp /tmp/sprof /usr/bin/sprof
END
    chroot "$work/root" sh -x /tmp/steps
}

(cd "$build" && cpack -G DEB -B "$work/made") >"$work/log" 2>&1 || fail "cpack: $(cat "$work/log")"
mv "$work"/made/sprof_*.deb "$work.deb"
trap 'rm -rf "$work" "$work.deb" "$work.later.deb"' EXIT
dpkg-deb -R "$work.deb" "$work/later"
sed -i 's/^Version: .*/&+later/' "$work/later/DEBIAN/control"
dpkg-deb -Znone -b "$work/later" "$work.later.deb" >"$work/log" || fail "$(cat "$work/log")"
rm -r "$work/later"
export work
export -f inside
unshare --mount bash -c inside >"$work.log" 2>&1 || { tail -n 30 "$work.log" >&2; rm -f "$work.log"; fail "the package"; }
rm -f "$work.log"

if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error "$work.deb" >&2 || fail "lintian finds errors"
else
    fail "there is no lintian (dev/setup test)"
fi
