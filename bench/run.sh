#!/bin/sh
# Speed, as medians and ratios of one run on this machine.
set -eu
mkdir -p build/bench
${CC:-cc} -std=c11 -O2 -Wall -Wextra -o build/bench/lint bench/lint.c
gallery=$(ls examples/*/*.tile.json | grep -v /broken/)
build/bench/lint build/tileproof "${REPEATS:-21}" $gallery
${CC:-cc} -std=c11 -O2 -Wall -Wextra -I. -o build/bench/obligations bench/obligations.c build/release/libtileproof.a -lz3 -ljson-c -lmd -lgmp -lm
build/bench/obligations $gallery
build/bench/obligations tests/rules/*/*.tile.json
${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_DEFAULT_SOURCE -I. -o build/bench/reading bench/reading.c build/release/libtileproof.a -lz3 -ljson-c -lmd -lgmp -lm
bench/long_body.sh 32000 > build/bench/long.tile.json
build/bench/reading build/bench/long.tile.json
if [ -x build/venv/bin/python ]; then
    build/venv/bin/python bench/reading.py build/bench/long.tile.json
    build/venv/bin/python bench/engine.py
else
    echo "skipped: the comparison with JAX (make test-jax makes build/venv)"
fi
