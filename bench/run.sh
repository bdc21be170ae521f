#!/bin/sh
# Speed, as medians and ratios of one run on this machine; with JAX in build/venv it writes docs/PERFORMANCE.md. Exit 1
# where a part fails or a bar of bench/bars.py is missed. ROUNDS=9, BODIES=100000 (0: none).
set -eu
mkdir -p build/bench
rm -f build/bench/*.json build/bench/scale.txt build/bench/copies.md
rounds=${ROUNDS:-9} python=python3
[ ! -x build/venv/bin/python ] || python=build/venv/bin/python
sleef=$(echo '#include <sleef.h>' | ${CC:-cc} -x c -fsyntax-only - 2>/dev/null && echo -lsleef)
build() {
    ${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I. -Ibuild/gen -o "build/bench/$1" "bench/$1.c" build/release/internal.a -lz3 -ljson-c -lmd -lgmp $sleef ${2:-} -lm
}
status=0
# part NAME COMMAND…: what it prints is the piece NAME of the page
part() {
    piece=build/bench/$1
    shift
    "$@" >"$piece" || status=1
    [ -s "$piece" ] || rm -f "$piece"
}
build peaks
if [ $python = python3 ]; then
    echo "skipped: the comparison with JAX (make test-jax makes build/venv)"
else
    $python bench/gallery.py --rounds "$rounds" --json build/bench/gallery.json || status=1
    part copies.md $python bench/copies.py
fi
[ "${BODIES:=100000}" = 0 ] || part answers.json tools/answers.sh "$BODIES"
part verified.json python3 bench/verified.py --rounds "$rounds"
build scale
part scale.txt build/bench/scale
build specs -lcmocka
part many.json python3 bench/many.py build/tileproof build/bench/specs --rounds "$rounds"

build lint
gallery=$(ls examples/*/*.tile.json | grep -v /broken/)
build/bench/lint build/tileproof "${REPEATS:-21}" $gallery
build obligations
build/bench/obligations bench/proof-speed.tsv gallery $gallery || status=1
build/bench/obligations bench/proof-speed.tsv rules tests/rules/*/*.tile.json || status=1
build reading
bench/long_body.sh 32000 > build/bench/long.tile.json
build/bench/reading build/bench/long.tile.json
build domains
build/bench/domains \
    examples/matmul/matmul.tile.json M=512 N=512 K=512 bk=256 -- \
    examples/matmul/swiglu.tile.json M=256 N=256 K=512 bm=128 -- \
    examples/attention/flash_attention.tile.json Hk=1 G=2 S=512 bq=256 -- \
    examples/reduction/softmax_rows.tile.json M=1024 N=1024 -- \
    examples/reduction/rmsnorm.tile.json M=1024 N=1024 -- \
    examples/elementwise/bias_gelu.tile.json M=1024 N=1024 -- \
    examples/elementwise/add_2d.tile.json M=1024 N=1024
build references
if [ $python != python3 ]; then
    $python bench/references.py || status=1
    $python bench/reading.py build/bench/long.tile.json
    $python bench/engine.py
fi
sh bench/folder.sh build/tileproof
make -s build/release/tests/test_lsp && build/release/tests/test_lsp 2>/dev/null | grep "^lsp:"

$python bench/page.py build/bench --docs docs || status=1
exit $status
