#!/bin/sh
# A first look: a kernel with a bug, a correct one, its run on arrays.
set -u
tileproof=${1:-build/tileproof}
out=${2:-build/quickstart}
mkdir -p "$out"
step() { printf '\n\033[1m$ %s\033[0m\n' "$*" | { [ -t 1 ] && cat || sed 's/\x1b\[[0-9;]*m//g'; }; "$@"; }
expect() { [ "$1" = "$2" ] || { echo "quickstart: expected exit $2, got $1" >&2; exit 1; }; }

echo "1. A kernel with a bug: its index map is in elements, where Pallas wants blocks."
step "$tileproof" lint examples/broken/index_in_elements.tile.json
expect $? 1
echo
echo "2. A correct kernel, proven for every M, N and K."
step "$tileproof" lint matmul_relu
expect $? 0
echo
echo "3. Executed block by block and compared with the naive reference."
step "$tileproof" verify matmul_relu --receipt "$out/receipt.json" -o "html=$out/report.html"
expect $? 0
echo
echo "4. Run on arrays, by the receipt of step 3."
step "$tileproof" run matmul_relu --receipt "$out/receipt.json" --input x=examples/data/x.npy --input y=examples/data/y.npy --output "o=$out/o.npy"
expect $? 0
echo
echo "The report of step 3, for a browser: $out/report.html"
echo "Next: tileproof --help; tileproof explain TP101; docs/SPEC.md to write a spec of your own."
