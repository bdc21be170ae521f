#!/bin/sh
# usage: check-format.sh TILEPROOF
# C as clang-format 14 writes it (others differ, and are not asked), specs in canonical form.
set -eu
tileproof=$1
status=0
format=$(command -v clang-format-14 || command -v clang-format || true)
if [ -n "$format" ] && "$format" --version | grep -q 'version 14\.'; then
    find . \( -path ./build -o -path ./.git \) -prune -o -type f -name '*.[ch]' -print0 | xargs -0 "$format" --dry-run -Werror || status=1
    [ $status = 1 ] || echo "format: sources as .clang-format says"
else
    echo "format: clang-format 14 is not installed; sources were not looked at"
fi
"$tileproof" fmt --check examples tests/rules tests/semantics || status=1
exit $status
