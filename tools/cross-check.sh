#!/bin/sh
# Do others agree? Obligations of the gallery, of the rules' examples and of the
# random tests, with what we found in (set-info :status …), go to every solver
# at hand (cvc5 and z3 on the PATH, the z3 of build/venv), and the certificates
# to their checker. Fails when one says sat where we say unsat, or the reverse.
set -eu
tileproof=${1:-build/tileproof}
tests=${2:-build/release/tests}
folder=build/cross-check
rm -rf "$folder"
mkdir -p "$folder/obligations"
"$tileproof" lint -q examples tests/rules --emit-smt2 "$folder/obligations" --certificates "$folder/certificates" >/dev/null || true
TEST_SMT2="$folder/obligations" TEST_SEED=50000 TEST_TRIALS=600 "$tests/test_prover" >/dev/null
code=0
"$tileproof" recheck "$folder/certificates" || code=1

ask() { # name, program and arguments
    name=$1
    shift
    export SOLVER="$*"
    find "$folder/obligations" -name '*.smt2' | sort | xargs -P 2 -n 40 sh -c '
for f; do
    want=$(sed -n "s/^(set-info :status \(.*\))$/\1/p" "$f")
    got=$(timeout 20 $SOLVER "$f" 2>/dev/null | grep -E "^(sat|unsat)$" | head -1)
    echo "$want ${got:-unknown} $f"
done' sh >"$folder/answers" 2>/dev/null
    awk -v name="$name" '
        { n++; same += $1 == $2; open += $2 == "unknown"; more += $1 == "unknown" && $2 != "unknown" }
        $1 != "unknown" && $2 != "unknown" && $1 != $2 { wrong++; print "  we say " $1 ", it says " $2 ": " $3 }
        END {
            printf "%s: %d obligations, %d agree, %d it leaves open, %d that we leave open, %d disagree\n", name, n, same, open, more, wrong
            exit wrong > 0
        }' "$folder/answers" || code=1
}

asked=0
if command -v cvc5 >/dev/null; then
    ask "$(cvc5 --version | sed -n 's/^This is cvc5 version \([0-9.]*\).*/cvc5 \1/p')" cvc5 --lang=smt2 --tlimit=3000
    asked=1
fi
for z3 in "$(command -v z3 || true)" build/venv/bin/z3; do
    [ -x "$z3" ] || continue
    ask "$("$z3" --version | cut -d' ' -f1-3)" "$z3" -T:3
    asked=1
done
[ $asked = 1 ] || echo "cross-check: neither cvc5 nor z3 is installed; only certificates were checked"
exit $code
