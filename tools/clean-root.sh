#!/bin/sh
# clean-root.sh ROOT COMMAND FILE…: a clean root of this Debian in the folder ROOT (mmdebstrap, as root; its packages from this machine's sources), with
# the files in its /packages, where COMMAND was run with the network.
set -eu
root=$1 command=$2 && shift 2
command -v mmdebstrap >/dev/null || { echo "clean-root: apt-get install mmdebstrap" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "clean-root: needs root" >&2; exit 2; }
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
sources=$(mktemp) given=$(mktemp -d)
trap 'rm -rf "$sources" "$given"' EXIT
cp -r "$@" "$given/"
printf 'cd /packages\n%s\n' "$command" >"$given/command"
{ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; } 2>/dev/null >"$sources" || :
mmdebstrap --quiet --mode=root --variant=minbase --skip=check/qemu \
    --customize-hook="mkdir \"\$1/packages\" && cp -r $given/. \"\$1/packages\"" \
    --customize-hook='chroot "$1" sh -c "sh /packages/command >/packages/log 2>&1 || { cat /packages/log; exit 1; }"' \
    "$suite" "$root" "$sources"
! chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c 'command -v cc || command -v gcc' || { echo "clean-root: the root has a compiler" >&2; exit 1; }
