#!/bin/sh
# tests/unit/test_answers.c in builds for three sets of instructions: each agrees with itself in all ways of the engine, and
# all have the same outputs. Prints what was compared as JSON, and on standard error what each build says.
# usage: tools/answers.sh BODIES
set -eu
code=0 digests='' builds=''
for mode in release avx2 baseline; do
    program=build/$mode/tests/test_answers
    env -u MAKEFLAGS make -s -j"$(nproc)" MODE=$mode "$program" >&2
    said=$(TEST_TRIALS=$1 TEST_ELEMENTS=524288 "$program" 2>&1) || { code=1; printf '%s\n' "$said" >&2; }
    printf '%s\n' "$said" | sed -n "s/^answers:/$mode:/p" >&2
    kernels=$(printf '%s\n' "$said" | sed -n 's/^answers: \([0-9]*\) kernels.*/\1/p')
    bodies=$(printf '%s\n' "$said" | sed -n 's/^answers: \([0-9]*\) random.*/\1/p')
    digests="$digests$(printf '%s\n' "$said" | sed -n 's/^answers: digest //p')
"
    builds="$builds${builds:+, }\"$mode\""
done
own=$([ $code = 0 ] && echo true || echo false)
same=false
if [ "$(printf '%s' "$digests" | sort -u | wc -l)" = 1 ]; then same=true; else code=1; fi
printf '{"kernels": %s, "bodies": %s, "same": %s, "builds": [%s], "same_in_all": %s}\n' "${kernels:-0}" "${bodies:-0}" "$own" "$builds" "$same"
exit $code
