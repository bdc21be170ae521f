#!/bin/sh
# usage: check-layers.sh BUILD
# Each folder uses what tools/layers.txt lets it use, and no other: by what its
# files include, and by what its objects under BUILD refer to, since a
# declaration of one's own needs no include.
set -eu
build=$1
status=0
say() { echo "$*"; status=1; }
sources() { find "$@" \( -name '*.[ch]' -o -name '*.def' \) | sort; }
# FILE FOLDER/REST of every include that names a folder, whatever its quotes and blanks
includes() { sed -n "s|^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*[\"<]\([^\">]*/[^\">]*\)[\">].*|$1 \1|p" "$1"; }
allowed() { sed -n "s|^$1:||p" tools/layers.txt; }
lists() { case " $1 " in *" $2 "*) ;; *) return 1 ;; esac }

layers=$(sed -n 's|^\([a-z]*\):.*|\1|p' tools/layers.txt | tr '\n' ' ')
for file in *.[ch] */*.[ch] */*/*.[ch]; do
    folder=${file%%/*}
    case $file in '*'* | build/* | tests/* | examples/*) ;; *) lists "$layers" "$folder" || say "$file: $folder/ is in no row of tools/layers.txt" ;; esac
done
for folder in $layers; do
    may="$folder $(allowed "$folder")"
    for file in $(sources "$folder"); do
        for to in $(includes "$file" | sed 's|^[^ ]* ||'); do
            case $to in json-c/* | sys/* | Random123/*) continue ;; openssl/*) [ "$file" != cli/signature.c ] || continue ;; esac
            lists "$may" "${to%%/*}" || say "$file includes $to, which $folder/ may not"
        done
    done
done

# one file knows the references, one knows Z3, one OpenSSL, and the trusted part knows what it needs
for file in $(sources kernels); do
    [ "$file" = kernels/trial.c ] || [ -z "$(includes "$file" | grep ' reference/')" ] || say "$file includes reference/; only kernels/trial.c may"
done
for file in $(sources $layers); do
    [ "$file" = smt/z3.c ] || ! grep -q '^[[:blank:]]*#[[:blank:]]*include.*z3\.h' "$file" || say "$file includes z3.h; only smt/z3.c may"
done
for file in $(sources smt/trust); do
    for to in $(includes "$file" | sed 's|^[^ ]* ||'); do
        case $to in base/* | spec/limits.h | spec/expr.h | spec/json.h | smt/trust/* | json-c/*) ;; *) say "$file includes $to, which smt/trust/ may not" ;; esac
    done
done

# The same of the objects: "defined FILE NAME" and "wanted FILE NAME".
symbols() {
    for folder in $layers; do [ ! -d "$build/$folder" ] || find "$build/$folder" -name '*.o'; done | sort |
        xargs nm -A -g | awk -v build="$build/" '{
            file = substr($1, length(build) + 1); sub(/:.*/, "", file); name = $NF; kind = $(NF - 1)
            if (name ~ /^(tp_|tileproof_)/) print (kind == "U" ? "wanted" : "defined"), file, name
            if (name ~ /^Z3_/ && kind == "U" && file != "smt/z3.o") print "solver", file, name }'
}
found=$(symbols | awk '
    FILENAME == "tools/layers.txt" { if (/^[a-z]+:/) { f = $1; sub(/:/, "", f); may[f] = " " f " "; for (i = 2; i <= NF; i++) may[f] = may[f] $i " " }; next }
    $1 == "defined" { at[$3] = $2 }
    $1 == "wanted" { want[++n] = $2 " " $3 }
    $1 == "solver" { print $2 " calls " $3 "; only smt/z3.c may" }
    END {
        for (i = 1; i <= n; i++) {
            split(want[i], w, " "); to = at[w[2]]; from = w[1]; folder = from; sub(/\/.*/, "", folder); room = to; sub(/\/.*/, "", room)
            if (to == "") continue
            if (index(may[folder], " " room " ") == 0) print from " uses " w[2] " of " to ", which " folder "/ may not"
            if (from ~ /^smt\/trust\// && to !~ /^(base\/|smt\/trust\/|spec\/expr\.o|spec\/json\.o)/) print from " uses " w[2] " of " to ", which smt/trust/ may not"
            if (folder == "kernels" && room == "reference" && from != "kernels/trial.o") print from " uses " w[2] "; only kernels/trial.c may"
        }
    }' tools/layers.txt - | sort)
[ -z "$found" ] || say "$found"
[ -d "$build/smt/trust" ] || say "$build holds no objects: build first"
exit $status
