#!/bin/sh
# usage: check-layers.sh BUILD
# The include table of docs/DESIGN.md: each folder and what it may include; and,
# of what must be trusted, what its object files under BUILD refer to.
set -eu
build=$1
status=0
allow() {
    folder=$1; shift
    for file in $(find "$folder" -name '*.[ch]' -o -name '*.def' | sort); do
        for to in $(sed -n 's|^#include "\([a-z]*\)/.*|\1|p' "$file" | sort -u); do
            case " $folder $* " in
            *" $to "*) ;;
            *) echo "$file includes $to/, which $folder/ may not"; status=1 ;;
            esac
        done
    done
}
allow base
allow spec base
allow emit spec base
allow smt spec base
allow analyzer smt spec base
allow domains spec base
allow reference domains spec base
allow demand domains spec base
allow kernels domains spec base reference
allow report analyzer smt kernels domains spec base
allow verify report analyzer smt kernels demand domains reference spec base
allow lib verify report analyzer smt kernels demand domains reference spec base include
allow lsp verify report analyzer smt kernels spec base
allow cli lsp verify report emit analyzer smt kernels domains reference spec base
# inside kernels/ one file knows the references
for file in $(grep -l '"reference/' kernels/*.[ch]); do
    [ "$file" = kernels/trial.c ] || { echo "$file includes reference/; only kernels/trial.c may"; status=1; }
done
for file in $(grep -rl '<z3\.h>' --include='*.[ch]' .  | sed 's|^\./||' | grep -v '^build/'); do
    [ "$file" = smt/z3.c ] || { echo "$file includes z3.h; only smt/z3.c may"; status=1; }
done
# what must be trusted: includes base/, expressions, JSON and itself, and no
# function from anywhere else comes in behind a declaration
for file in smt/trust/*.[ch]; do
    for to in $(sed -n 's|^#include "\([a-z0-9_./]*\)".*|\1|p' "$file"); do
        case $to in
        base/* | spec/expr.h | spec/json.h | smt/trust/*) ;;
        *) echo "$file includes $to, which smt/trust/ may not"; status=1 ;;
        esac
    done
done
room="$build/smt/trust/*.o" below="$build/base/*.o $build/spec/expr.o $build/spec/json.o"
known=$(nm --defined-only $room $below | awk 'NF == 3 { print $3 }' | sort -u)
foreign=$(nm --undefined-only $room | awk 'NF == 2 && $2 ~ /^tp_/ { print $2 }' | sort -u | while read -r symbol; do
    echo "$known" | grep -qx "$symbol" || echo "$symbol"
done)
for symbol in $foreign; do
    echo "smt/trust/ uses $symbol, which is neither its own nor of base/, spec/expr.c or spec/json.c"
    status=1
done
exit $status
