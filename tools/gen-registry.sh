#!/bin/sh
# The registry of a drop-in folder: each name.c of it defines the descriptor TYPE_name. Declares them and lists them in REGISTRY,
# sorted by file name.
# usage: gen-registry.sh FOLDER TYPE
set -eu
names=$(cd "$1" && ls *.c | LC_ALL=C sort | sed 's/\.c$//')
echo "/* the files of $1, by tools/gen-registry.sh */"
for n in $names; do echo "extern const $2 $2_$n;"; done
echo "static const $2 *const REGISTRY[] = {"
for n in $names; do echo "    &$2_$n,"; done
echo "};"
echo "enum { REGISTRY_SIZE = sizeof REGISTRY / sizeof *REGISTRY };"
