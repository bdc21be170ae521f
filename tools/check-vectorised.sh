#!/bin/sh
# usage: tools/check-vectorised.sh BUILD
# Does each function that is compiled for several instruction sets (base/vectorised.h) compute in vectors of each set? A
# loop that the compiler leaves as it is gives the same bits, later: no test tells. First the same question about two
# loops, of which one is a chain that no set has a vector for.
set -u
build=$1 cc=${CC:-cc}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

# Clones in these objects whose code, parts that were split off included, has no instruction that computes or chooses on
# whole vectors, nor goes to a clone that has; and how many clones there are. (Bytes and words have no larger registers
# than %ymm by AVX-512F alone.)
scalar() {
    objdump -d --no-show-raw-insn "$@" | awk '
        function clone_of(s) { # NAME.SET, without what follows
            if (!match(s, /\.(avx512f|avx2|fma)(\.|$)/)) return ""
            end = substr(s, RSTART + 1); sub(/\..*/, "", end)
            return file substr(s, 1, RSTART + length(end))
        }
        / file format / { file = $1 }
        /^[0-9a-f]+ <.*>:$/ { name = clone_of(substr($2, 2, length($2) - 3)); if (name) seen[name] += 0 }
        $2 ~ /^v(pxor|xorp)/ { split($3, x, ","); if (x[1] == x[2]) next } # 0
        name && $2 ~ /^v/ && /%[yz]mm/ && ($2 !~ /^v(mov|p?broadcast|zero)/ || /[{]%k/) { seen[name]++ }
        name && $2 ~ /^(jmp|call)/ && match($0, /<[^+>]*>/) { goes[name, clone_of(substr($0, RSTART + 1, RLENGTH - 2))] }
        END {
            for (pair in goes) { split(pair, p, SUBSEP); if (p[2] != p[1]) seen[p[1]] += seen[p[2]] }
            for (f in seen) { n++; if (f && !seen[f]) print f }
            print n + 0
        }'
}

echo | $cc -dM -E -x c - | grep -q __clang__ && { echo "vectorised: clang makes no clones; skipped"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "vectorised: no clones for this processor; skipped"; exit 0; }
cat >"$room/planted.c" <<'C'
#include "base/vectorised.h"
TP_VECTORISED void by_vectors(int n, const float *x, float *restrict r);
TP_VECTORISED void one_by_one(int n, const float *x, float *restrict r);
TP_VECTORISED void by_vectors(int n, const float *x, float *restrict r)
{
    for (int i = 0; i < n; i++)
        r[i] = x[i] * x[i];
}
TP_VECTORISED void one_by_one(int n, const float *x, float *restrict r)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        r[i] = sum = sum * x[i] + 1;
}
C
$cc -O3 -I. -c -o "$room/planted.o" "$room/planted.c" || exit 1
[ "$(cd "$room" && scalar planted.o | sort | tr '\n' ' ')" = "4 planted.o:one_by_one.avx2 planted.o:one_by_one.avx512f " ] || {
    echo "vectorised: a planted loop that is not vectorised is not seen" >&2
    exit 1
}
objects=$(grep -rl --include='*.o' -F .avx512f "$build" | grep -v whole)
[ "$objects" ] || { echo "vectorised: $build has no clones" >&2; exit 1; }
scalar $objects >"$room/found"
sed '/^#/d' tools/vectorised.txt >"$room/known"
grep ':' "$room/found" | grep -vEf "$room/known" | sort | sed 's/^/vectorised: nothing is computed by vectors in /' | tee "$room/wrong" >&2
[ -s "$room/wrong" ] && exit 1
echo "vectorised: of $(tail -n 1 "$room/found") clones, all but $(grep -c ':' "$room/found") that tools/vectorised.txt names compute by vectors"
