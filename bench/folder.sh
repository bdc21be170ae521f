#!/bin/sh
# A folder of 200 specs, 10 % broken, linted as CI does it: time, the second
# run with a cache, the same bytes whatever -j.
set -eu
tileproof=$1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
good=$(ls examples/*/*.tile.json | grep -v /broken/)
broken=$(ls examples/broken/*.tile.json)
i=0
while [ $i -lt 200 ]; do
    if [ $((i % 10)) = 9 ]; then list=$broken; at=$((i / 10)); else list=$good; at=$i; fi
    set -- $list
    shift $((at % $#))
    sed "0,/\"name\": \"/s//\"name\": \"k${i}_/" "$1" >"$room/k$i.tile.json"
    i=$((i + 1))
done
ms() { start=$(date +%s%N); "$@" >"$room/out" 2>"$room/err" || true; echo $((($(date +%s%N) - start) / 1000000)); }
median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }
lint() { "$tileproof" lint --config none "$@" --format github -o sarif="$room/r.sarif" "$room"; }
a=$(ms lint -j2) b=$(ms lint -j2) c=$(ms lint -j2) d=$(ms lint -j2) e=$(ms lint -j2)
plain=$(median "$a" "$b" "$c" "$d" "$e")
cp "$room/out" "$room/j2"; cp "$room/r.sarif" "$room/j2.sarif"
ms lint -j1 >/dev/null
cmp -s "$room/out" "$room/j2" && cmp -s "$room/r.sarif" "$room/j2.sarif" && same=identical || same=DIFFERENT
ms lint -j2 --cache "$room/cache" >/dev/null
a=$(ms lint -j2 --cache "$room/cache") b=$(ms lint -j2 --cache "$room/cache") c=$(ms lint -j2 --cache "$room/cache")
cached=$(median "$a" "$b" "$c")
cmp -s "$room/out" "$room/j2" || same=DIFFERENT
echo "folder of 200 specs, 10 % broken: ${plain} ms with -j2, ${cached} ms with a cache; -j1, -j2 and the cache: $same"
