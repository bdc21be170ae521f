#!/bin/sh
# A kernel of N statements, as unrolled loops are. usage: long_body.sh N
cat <<'EOF'
{
  "tileproof": 1, "name": "long", "target": "tpu-v5e",
  "grid": [{"axis": "i", "steps": 4}],
  "inputs": [
    {"name": "x", "dtype": "float32", "shape": [32, 128], "block_shape": [8, 128], "index_map": ["i", 0]},
    {"name": "y", "dtype": "float32", "shape": [32, 128], "block_shape": [8, 128], "index_map": ["i", 0]}
  ],
  "outputs": [{"name": "o", "dtype": "float32", "shape": [32, 128], "block_shape": [8, 128], "index_map": ["i", 0]}],
  "kernel": [
    "a0 = x[...]",
EOF
awk -v n="$1" 'BEGIN {
    for (i = 0; i < n / 2; i++) {
        printf "    \"t%d = a%d * %d.5 + where(x[...] > %d, %d, y[...]) - y[...]\",\n", i, i, i % 7 + 1, i, i % 9
        printf "    \"a%d = a%d + exp(t%d) * 0.5\",\n", i + 1, i, i
    }
    printf "    \"o[...] = a%d\"\n  ]\n}\n", n / 2
}'
