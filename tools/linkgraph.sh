#!/bin/sh
# usage: linkgraph.sh BUILD check|text|dot|folders
# Who uses whom, from the object files under BUILD (and, for "check", from what
# sources include): see tools/linkgraph.awk. "folders": those of tools/layers.txt.
set -eu
build=$1 show=$2
folders=$(sed -n '/^most:/d; s|^\([a-z0-9]*\)[:/].*|\1|p' tools/layers.txt | sort -u | tr '\n' ' ')
[ "$show" != folders ] || { echo "$folders"; exit; }
[ -d "$build/smt/trust" ] || { echo "$build holds no objects: build first"; exit 1; }
{
    # every include that names a folder of ours, whatever its quotes and blanks
    [ "$show" != check ] || find $folders -name '*.[ch]' -o -name '*.def' | sort | xargs awk -v ours="$folders" '
        BEGIN { split(ours, list, " "); for (i in list) own[list[i]] = 1 }
        /^[ \t]*#[ \t]*include[ \t]*["<]/ {
            to = $0; sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", to); sub(/[">].*/, "", to); folder = to; sub(/\/.*/, "", folder)
            from = FILENAME; sub(/\.[a-z]*$/, "", from); path = to; sub(/\.[a-z]*$/, "", path)
            if (to ~ /\// && folder in own) print "includes", from, path, to
        }'
    # objects of sources that are there: others are left from before a move
    find $folders -name '*.c' | sort | sed "s|^|$build/|; s|c$|o|" | xargs ls 2>/dev/null | xargs nm -A -g | awk -v build="$build/" '{
        file = substr($1, length(build) + 1); sub(/\.o:.*/, "", file)
        print ($(NF - 1) == "U" ? "wanted" : "defined"), file, $NF }'
} | awk -v show="$show" -f tools/linkgraph.awk tools/layers.txt -
