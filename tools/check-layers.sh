#!/bin/sh
# usage: check-layers.sh BUILD
# Each room uses what tools/layers.txt lets it use, and no other: by what its
# files include, and by what its objects under BUILD refer to, since a
# declaration of one's own needs no include. Rooms stand in an order, and files
# that need each other are few (tools/linkgraph.awk).
set -eu
build=$1
status=0
say() { echo "$*"; status=1; }
folders=$(tools/linkgraph.sh "$build" folders)
lists() { case " $1 " in *" $2 "*) ;; *) return 1 ;; esac }
for file in *.[ch] */*.[ch] */*/*.[ch]; do
    case $file in '*'* | build/* | tests/* | examples/*) ;; *) lists "$folders" "${file%%/*}" || say "$file: ${file%%/*}/ is in no row of tools/layers.txt" ;; esac
done

# libraries: one file knows Z3, one OpenSSL, one the sanitizers
others=$(find $folders -name '*.[ch]' -o -name '*.def' | sort | xargs awk -v ours="$folders" '
    BEGIN { split(ours, list, " "); for (i in list) own[list[i]] = 1; split("json-c sys Random123", list, " "); for (i in list) own[list[i]] = 1 }
    /^[ \t]*#[ \t]*include[ \t]*["<]/ {
        to = $0; sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", to); sub(/[">].*/, "", to); folder = to; sub(/\/.*/, "", folder)
        if (to ~ /z3\.h$/) { if (FILENAME != "smt/z3.c") print FILENAME " includes " to "; only smt/z3.c may" }
        else if (folder == "openssl") { if (FILENAME != "cli/signature.c") print FILENAME " includes " to "; only cli/signature.c may" }
        else if (folder == "sanitizer") { if (FILENAME != "base/assert.h") print FILENAME " includes " to "; only base/assert.h may" }
        else if (to ~ /\// && !(folder in own) && !(folder == "tests" && FILENAME ~ /^bench\//)) print FILENAME " includes " to ", which is none of ours"
    }')
solver=$(find $folders -name '*.c' | sort | sed "s|^|$build/|; s|c$|o|" | xargs ls 2>/dev/null | xargs nm -A -u |
    sed -n "s|^$build/\(.*\): .* \(Z3_.*\)|\1 calls \2; only smt/z3.c may|p" | grep -v '^smt/z3.o') || :
for found in "$others" "$solver"; do [ -z "$found" ] || say "$found"; done
tools/linkgraph.sh "$build" check || status=1
tools/linkgraph.sh "$build" text | cmp -s - docs/house.txt || say "docs/house.txt is not what the objects say: make house"
exit $status
