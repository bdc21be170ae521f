#!/bin/sh
# The same bytes under load: 20 runs over the gallery and the rules' examples
# beside one busy process per core.
set -eu
tileproof=${1:-build/tileproof}
folder=$(mktemp -d)
loads=
for core in $(seq "$(nproc)"); do
    sh -c 'while :; do :; done' &
    loads="$loads $!"
done
trap 'kill $loads 2>/dev/null; rm -rf "$folder"' EXIT
for run in $(seq 20); do
    "$tileproof" lint --format json examples tests/rules >"$folder/$run" || true
    cmp -s "$folder/1" "$folder/$run" || {
        echo "steady: run $run differs from the first:" >&2
        diff "$folder/1" "$folder/$run" | head -20 >&2
        exit 1
    }
done
echo "steady: 20 runs under load, $(wc -c <"$folder/1") equal bytes each"
