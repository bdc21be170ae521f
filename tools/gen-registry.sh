#!/bin/sh
# List the drop-in files of a folder: one X(name) per name.c, sorted.
# usage: gen-registry.sh FOLDER
set -eu
for f in $(ls "$1"/*.c | LC_ALL=C sort); do
    n=${f##*/}
    echo "X(${n%.c})"
done
