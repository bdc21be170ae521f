#!/bin/sh
# usage: tests/extensions/run.sh
# Does docs/HACKING.md say all of it? Adds a primitive, a rule, a dtype and a tier
# to a copy of the tree by the files that its table names and no other, and demands
# that what was forgotten is named by the compiler or a guard, that what nobody
# listed is unknown, and that the addition works.
set -eu
here=$PWD room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
say() { echo "extensions: $*"; }
fail() { say "$*"; [ ! -s said ] || sed 's/^/    /' said | tail -20; exit 1; }
copy() {
    rm -rf "$room/tree"
    mkdir "$room/tree"
    tar cf - --exclude=./build --exclude=./.git -C "$here" . | tar xf - -C "$room/tree"
    mkdir "$room/tree/build"
    for built in release gen tileproof; do [ ! -e "$here/build/$built" ] || cp -a "$here/build/$built" "$room/tree/build/"; done
    cd "$room/tree"
}
build() { ${MAKE:-make} --no-print-directory -s all >said 2>&1 || fail "$1 does not build"; }
demand() { # STATUS WORDS COMMAND...: exit status, and words of the output
    status=$1 words=$2 code=0
    shift 2
    "$@" >said 2>&1 || code=$?
    [ $code = "$status" ] || fail "$* exits with $code, not $status"
    grep -qF -- "$words" said || fail "$* does not say \"$words\""
}
silent() { ! grep -qF -- "$1" said || fail "said: \"$1\""; }

# ---- an elementwise primitive: a row, an example, and what strict names ----
copy
awk '/^UNARY\(RSQRT,/ { print "UNARY(CBRT, \"cbrt\", FLOATS, SAME, cbrt(x), 0, NONE, ULPS(8), CONTINUOUS, REALS, \"cbrt\", \"jnp.cbrt(x)\")" } { print }' spec/prims.def >row && mv row spec/prims.def
sed -i 's/^FUNCTION1(tanh, .*)$/&\nFUNCTION1(cbrt, u10)/; s/^#define tanh(x).*/&\n#define cbrt(x) NAME(cbrt)(x)/; s/^#undef tanh$/&\n#undef cbrt/' spec/elementary_set.h
build "a row of spec/prims.def"
for place in domains/degree.c domains/field.c domains/rounding_strip.c analyzer/equality/laws.c; do
    grep -q "^$place:.*TP_P_CBRT.*not handled" said || fail "nothing says that $place does not know the row"
done
[ "$(grep -c "TP_P_CBRT.*not handled" said)" = 4 ] || fail "other places than these four ask for the row"
demand 2 'TP_P_CBRT' ${MAKE:-make} --no-print-directory -s MODE=strict build/strict/domains/field.o
demand 2 'primitive cbrt: no example' ${MAKE:-make} --no-print-directory -s check-tables
spec() { # REFERENCE TARGET
    cat >planted.tile.json <<END
{"tileproof": 1, "name": "planted", "target": "$2", "sizes": {"M": {"min": 1, "max": 4096}},
 "grid": [{"axis": "i", "steps": "cdiv(M, 8)", "semantics": "parallel"}],
 "inputs": [{"name": "x", "dtype": "float32", "shape": ["M", 128], "block_shape": [8, 128], "index_map": ["i", "0"]}],
 "outputs": [{"name": "o", "dtype": "float32", "shape": ["M", 128], "block_shape": [8, 128], "index_map": ["i", "0"]}],
 "kernel": ["o[...] = cbrt(x[...]) * 2"], "reference": ["$1"]}
END
}
spec 'o = cbrt(x) + cbrt(x)' tpu-v5e
demand 0 'the primitive was not measured' build/tileproof lint planted.tile.json
spec 'o = cbrt(x) + cbrt(x)' none
demand 0 'all sizes  proven' build/tileproof verify planted.tile.json
spec 'o = cbrt(x) + cbrt(x + 0.01)' none # nobody said how an error passes through it: no bound, so no verdict
demand 4 'TP702' build/tileproof verify planted.tile.json
silent 'TP701'
spec 'o = tanh(x) * 2' none # operands as they were read: the row says how exact the function itself is
demand 1 'TP701' build/tileproof verify planted.tile.json

# ---- a rule: a file with its descriptor, tests ----
copy
cat >analyzer/rules/tp199_planted.c <<'END'
#include "analyzer/claim/claim.h"

static void check(tp_analysis *a)
{
    bool planted = tp_str_is(a->k->name, "planted");
    tp_add_finding(a, planted ? TP_VIOLATED : TP_PROVEN, a->k->name, a->k->doc->loc, TP_S("the name of the kernel"));
}

const tp_rule tp_rule_tp199_planted = {
    .code = "TP199",
    .slug = "planted",
    .title = "No kernel is named planted",
    .severity = TP_ERROR,
    .why = "A test of the tree.",
    .bad = "\"name\": \"planted\"",
    .good = "\"name\": \"sown\"",
    .jax = "Nothing is reported.",
    .check = check,
};
END
build "a file in analyzer/rules/"
demand 2 'bad_*.tile.json is missing' ${MAKE:-make} --no-print-directory -s check-tables
spec 'o = tanh(x) * 2' none
sed -i 's/cbrt/tanh/' planted.tile.json
demand 1 'error[TP199]' build/tileproof lint planted.tile.json
demand 0 'TP199' build/tileproof rules
demand 0 'TP199 planted' build/tileproof lint examples/matmul/matmul.tile.json
mkdir -p tests/rules/planted
build/tileproof fmt planted.tile.json >/dev/null
expecting() { sed "\$s/}\$/, \"x-test\": {\"command\": \"lint\", \"exit\": $1, \"rule\": \"TP199\"}}/" planted.tile.json; }
expecting 1 >tests/rules/planted/bad_name.tile.json
expecting 0 | sed 's/"name": "planted"/"name": "sown"/' >tests/rules/planted/ok_name.tile.json
demand 2 'docs/RULES.md is not what the tables say' ${MAKE:-make} --no-print-directory -s check-tables
${MAKE:-make} --no-print-directory -s docs >said 2>&1 || fail "make docs"
demand 0 '' ${MAKE:-make} --no-print-directory -s check-tables

# ---- a dtype: a row; the rules know it, the engines refuse it ----
copy
awk '/^X\(U4,/ { print; print "X(I2, \"int2\", \"i2\", 2, TP_KIND_INT, NONE, 0, 0, 0, NONE)"; next } { print }' base/dtypes.def >row && mv row base/dtypes.def
build "a row of base/dtypes.def"
cat >planted.tile.json <<'END'
{"tileproof": 1, "name": "planted", "target": "tpu-v5e", "sizes": {"M": {"min": 1, "max": 4096}},
 "grid": [{"axis": "i", "steps": "cdiv(M, 128)", "semantics": "parallel"}],
 "inputs": [{"name": "x", "dtype": "int2", "shape": ["M", 128], "block_shape": [128, 128], "index_map": ["i", "0"]}],
 "outputs": [{"name": "o", "dtype": "int2", "shape": ["M", 128], "block_shape": [128, 128], "index_map": ["i", "0"]}]}
END
demand 0 '4.0 KiB' build/tileproof lint planted.tile.json # 128 x 128 elements of 2 bits
# ---- a tier: a file with its descriptor, its name, its row ----
copy
cat >kernels/trial/e0_planted.c <<'END'
/* Tier E0: some case was executed. */
#include "kernels/trial/trial.h"

static bool holds(const tp_equiv *e)
{
    return e->cases.len > 0;
}

static tp_str missing(const tp_equiv *e, const tp_kernel *k)
{
    (void)e, (void)k;
    return TP_S("no case was executed");
}

const tp_tier_evidence tp_tier_e0 = {"planted=E0", NULL, holds, missing};
END
sed -i 's/^extern const tp_tier_evidence tp_tier_e1/extern const tp_tier_evidence tp_tier_e0, tp_tier_e1/' kernels/trial/equiv.h
sed -i 's/^static const tp_tier_evidence \*const EXECUTED\[\] = {/&\&tp_tier_e0, /' verify/evidence.c
demand 2 'TP_NEVIDENCE counts' ${MAKE:-make} --no-print-directory -s build/release/verify/evidence.o
sed -i 's/TP_NEVIDENCE = 5/TP_NEVIDENCE = 6/' verify/verify.h
build "a file in kernels/trial/"
demand 0 'ok' build/tileproof verify --require planted=E0,algebra=E5 examples/elementwise/add_2d.tile.json
demand 4 'planted=E0 was required and not reached' build/tileproof verify --cases 0 --box 0 --require planted=E0 examples/elementwise/add_2d.tile.json
demand 2 'there are planted=E0, rounding=E1' build/tileproof verify --require planted=E9 examples/elementwise/add_2d.tile.json
say "a primitive, a rule, a dtype and a tier: added by what docs/HACKING.md names; the rest was named, and unknown until then"
