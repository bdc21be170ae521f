#!/bin/sh
# Speed, as medians and ratios of one run on this machine.
set -eu
mkdir -p build/bench
sleef=$(echo '#include <sleef.h>' | ${CC:-cc} -x c -fsyntax-only - 2>/dev/null && echo -lsleef)
build() {
    ${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I. -Ibuild/gen -o "build/bench/$1" "bench/$1.c" build/release/internal.a -lz3 -ljson-c -lmd -lgmp $sleef ${2:-} -lm
}
build lint
gallery=$(ls examples/*/*.tile.json | grep -v /broken/)
build/bench/lint build/tileproof "${REPEATS:-21}" $gallery
build obligations
status=0
build/bench/obligations bench/proof-speed.tsv gallery $gallery || status=1
build/bench/obligations bench/proof-speed.tsv rules tests/rules/*/*.tile.json || status=1
build scale
build/bench/scale > build/bench/scale.txt || status=1
cat build/bench/scale.txt
build specs -lcmocka
python3 bench/many.py build/tileproof build/bench/specs > build/bench/many.md && cat build/bench/many.md || status=1
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
if [ -x build/venv/bin/python ]; then
    build/venv/bin/python bench/references.py || status=1
    build/venv/bin/python bench/reading.py build/bench/long.tile.json
    build/venv/bin/python bench/engine.py
    build/venv/bin/python bench/gallery.py --json build/bench/gallery.json --markdown build/bench/PERFORMANCE.md --svg build/bench/performance.svg
    build/venv/bin/python bench/copies.py > build/bench/copies.md || status=1
    cat build/bench/copies.md
    { printf '\n## Kernels with copies\n\nMade by `bench/copies.py`: the engine beside others, CPU time, with the spread of the rounds.\n\n'; cat build/bench/copies.md; echo; cat build/bench/many.md; printf '```\n'; cat build/bench/scale.txt; printf '```\n'; } >> build/bench/PERFORMANCE.md
else
    echo "skipped: the comparison with JAX (make test-jax makes build/venv)"
fi
sh bench/folder.sh build/tileproof
make -s build/release/tests/test_lsp && build/release/tests/test_lsp 2>/dev/null | grep "^lsp:"
exit $status
