#!/bin/sh
# The packages of build/deb in a clean root: installed with what they depend on and nothing more, used, removed.
set -eu
cd "$(dirname "$0")/.."
ls build/deb/*.deb >/dev/null 2>&1 || { echo "test-deb: build/deb has no packages: make deb" >&2; exit 2; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
tools/clean-root.sh "$root/root" 'apt-get install -y -qq --no-install-recommends /packages/tileproof_*.deb /packages/libtileproof*0_*.deb' build/deb/*.deb
in_root() { chroot "$root/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
fail() { echo "test-deb: $*" >&2; exit 1; }
# by its path: a name is found through /proc, which the root lacks
in_root tileproof verify -q /usr/share/tileproof/examples/reduction/softmax_rows.tile.json | grep -q '28 proven, 0 unknown, 38 tested' || fail "verify does not say what it says here"
cp examples/broken/index_plus_one.tile.json "$root/root/packages/"
in_root tileproof lint -q /packages/index_plus_one.tile.json | grep -q 'error\[TP101\]' || fail "lint does not find the defect"
for library in libtileproof libtileproof-verify; do
    ! in_root sh -c "ldd /usr/lib/*/$library.so.0" | grep 'not found' || fail "$library.so.0 is not whole"
done
[ -z "$(in_root dpkg --audit)" ] || fail "dpkg --audit has complaints"
in_root apt-get purge -y -qq tileproof libtileproof0 libtileproof-verify0 >/dev/null 2>&1 || fail "the packages cannot be removed"
left=$(in_root sh -c 'find / -xdev -path /packages -prune -o -path /proc -prune -o -name "*tileproof*" -print')
[ -z "$left" ] || fail "left behind: $left"
echo "test-deb: installed in a clean root, used and removed"
