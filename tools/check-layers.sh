#!/bin/sh
# The include table of docs/DESIGN.md: each folder and what it may include.
set -eu
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
allow kernels domains spec base reference
allow report analyzer smt kernels domains spec base
allow verify report analyzer smt kernels domains reference spec base
allow lib verify report analyzer smt kernels domains reference spec base include
allow lsp verify report analyzer smt kernels spec base
allow cli lsp verify report emit analyzer smt kernels domains reference spec base
# inside kernels/ one file knows the references
for file in $(grep -l '"reference/' kernels/*.[ch]); do
    [ "$file" = kernels/trial.c ] || { echo "$file includes reference/; only kernels/trial.c may"; status=1; }
done
for file in $(grep -rl '<z3\.h>' --include='*.[ch]' .  | sed 's|^\./||' | grep -v '^build/'); do
    [ "$file" = smt/z3.c ] || { echo "$file includes z3.h; only smt/z3.c may"; status=1; }
done
exit $status
