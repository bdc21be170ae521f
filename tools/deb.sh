#!/bin/sh
# build/deb/*.deb from the files that git tracks, by debhelper; lintian has to be silent. The maintainer is
# DEBFULLNAME <DEBEMAIL>, else the author of the last commit.
set -eu
cd "$(dirname "$0")/.."
command -v dh >/dev/null && command -v lintian >/dev/null || { echo "deb: apt-get install debhelper lintian" >&2; exit 2; }
version=$(sed -n 's/^#define TP_VERSION "\(.*\)"/\1/p' base/version.h)
maintainer="${DEBFULLNAME:-$(git log -1 --format=%an)} <${DEBEMAIL:-$(git log -1 --format=%ae)}>"
room=build/deb tree=build/deb/tileproof-$version
rm -rf $room && mkdir -p "$tree"
git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$tree"
cp -r tools/debian "$tree/debian"
sed -i "s|@MAINTAINER@|$maintainer|" "$tree/debian/control"
printf 'tileproof (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' "$version" "$maintainer" "$(git log -1 --format=%aD)" >"$tree/debian/changelog"
chmod +x "$tree/debian/rules"
(cd "$tree" && CC="${CC:-cc}" DEB_BUILD_OPTIONS=parallel=2 dpkg-buildpackage -us -uc -b) >$room/log 2>&1 || { tail -20 $room/log >&2; exit 1; }
rm -rf "$tree"
lintian --fail-on error,warning $room/*.changes
ls $room/*.deb
