"""What evaluating a reference costs, beside the same text in NumPy: one thread, float64, CPU time, medians. Each of the
programs computes with 10^7 elements or multiplies and adds as often. Exit code 1 where one costs more than `--most` times NumPy's.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import numpy as np  # noqa: E402

ROWS, WIDE, TALL = {"x": (3200, 3200)}, {"x": (1000, 10000)}, {"x": (100000, 100)}
PAIR = ROWS | {"y": (3200, 3200)}
# name, inputs, output, program
PROGRAMS = [
    ("sum_axis_0", ROWS, (3200,), ["o = x.sum(axis=0)"]),
    ("sum_axis_1", TALL, (100000,), ["o = x.sum(axis=1)"]),
    ("sum_of_all", ROWS, (), ["o = x.sum()"]),
    ("max_axis_0", TALL, (100,), ["o = x.max(axis=0)"]),
    ("sum_of_middle", {"x": (100, 1000, 100)}, (100, 100), ["o = x.sum(axis=1)"]),
    ("sum_of_outer", {"x": (100, 100, 1000)}, (100,), ["o = x.sum(axis=(0, 2))"]),
    ("argmax_rows", ROWS, (3200,), ["o = np.argmax(x, axis=1)"]),
    ("cumsum_rows", ROWS, (3200, 3200), ["o = np.cumsum(x, axis=1)"]),
    ("cumsum_axis_0", ROWS, (3200, 3200), ["o = np.cumsum(x, axis=0)"]),
    ("add", PAIR, (3200, 3200), ["o = x + y"]),
    ("roll", ROWS, (3200, 3200), ["o = np.roll(x, 1, axis=0)"]),
    ("roll_last", ROWS, (3200, 3200), ["o = np.roll(x, 1, axis=1)"]),
    ("concatenate", PAIR, (6400, 3200), ["o = np.concatenate([x, y], axis=0)"]),
    ("concatenate_last", PAIR, (3200, 6400), ["o = np.concatenate([x, y], axis=1)"]),
    ("transpose", PAIR, (3200, 3200), ["o = x.T + y"]),
    ("causal_mask", ROWS, (3200, 3200), ["o = np.where(np.arange(3200)[:, None] >= np.arange(3200)[None, :], x, 0.0)"]),
    ("window_mask", ROWS, (3200, 3200), ["i, j = np.arange(3200)[:, None], np.arange(3200)[None, :]", "o = np.where((i >= j) & (i - j < 128), x, -np.inf)"]),
    ("stencil", ROWS, (3198, 3198), ["o = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4 - x[1:-1, 1:-1]"]),
    ("polynomial", ROWS, (3200, 3200), ["o = ((((x * 0.5 + 1.0) * x - 2.0) * x + 0.25) * x - 1.5) * x + 3.0"]),
    ("gelu", ROWS, (3200, 3200), ["o = 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))"]),
    ("rope", PAIR, (3200, 3200), ["a, b = x[:, :1600], x[:, 1600:]", "c, s = y[:, :1600], y[:, 1600:]",
                                  "o = np.concatenate([a * c - b * s, b * c + a * s], axis=1)"]),
    ("adamw", PAIR | {"m": (3200, 3200), "v": (3200, 3200)}, (3200, 3200),
     ["m2 = 0.9 * m + 0.1 * y", "v2 = 0.999 * np.abs(v) + 0.001 * y * y",
      "o = x - 0.001 * (m2 / 0.1 / (np.sqrt(v2 / 0.001) + 1e-8) + 0.01 * x)"]),
    ("layernorm", ROWS | {"g": (3200,), "b": (3200,)}, (3200, 3200),
     ["mean = x.mean(axis=-1, keepdims=True)", "var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)",
      "o = (x - mean) / np.sqrt(var + 1e-5) * g + b"]),
    ("rmsnorm", WIDE | {"g": (10000,)}, (1000, 10000), ["o = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * g"]),
    ("batchnorm", TALL, (100000, 100), ["o = (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)"]),
    ("softmax", ROWS, (3200, 3200), ["e = np.exp(x - x.max(axis=-1, keepdims=True))", "o = e / e.sum(axis=-1, keepdims=True)"]),
    ("softmax_short_rows", TALL, (100000, 100), ["e = np.exp(x - x.max(axis=-1, keepdims=True))", "o = e / e.sum(axis=-1, keepdims=True)"]),
    ("cross_entropy", WIDE, (1000,), ["m = x.max(axis=1)", "o = np.log(np.exp(x - m[:, None]).sum(axis=1)) + m - x[:, 0]"]),
    ("matmul", {"x": (512, 512), "y": (512, 512)}, (512, 512), ["o = x @ y"]),
    ("matrix_vector", ROWS | {"g": (3200,)}, (3200,), ["o = x @ g"]),
    ("vector_matrix", ROWS | {"g": (3200,)}, (3200,), ["o = g @ x"]),
    ("thin_matmul", {"x": (20000, 64), "y": (64, 16)}, (20000, 16), ["o = x @ y"]),
    ("weight_gradient", {"x": (4000, 256), "y": (4000, 256)}, (256, 256), ["o = x.T @ y"]),
    ("gather_rows", TALL, (100000, 100), ["o = x[(np.arange(100000) * 7919) % 100000]"]),
    ("softplus", ROWS, (3200, 3200), ["o = np.log1p(np.exp(x))"]),
    ("power", PAIR, (3200, 3200), ["o = np.power(np.abs(x) + 1.0, y)"]),
    ("blocks_of_rows", {"x": (1000, 100, 100)}, (1000, 100), ["for b in range(1000):", "    o[b] = x[b].max(axis=-1) - x[b].sum(axis=0)"]),
    ("token_by_token", {"q": (100, 64), "k": (2000, 64), "v": (2000, 64)}, (100, 64),
     ["for i in range(100):", "    s = k @ q[i]", "    p = np.exp(s - s.max())", "    o[i] = (p[:, None] * v).sum(axis=0) / p.sum()"]),
    ("attention", {"q": (8, 256, 64), "k": (8, 256, 64), "v": (8, 256, 64)}, (8, 256, 64),
     ["s = np.einsum('hqd,hkd->hqk', q, k) / 8.0", "s = np.where(np.tril(np.ones((256, 256))) > 0, s, -np.inf)",
      "p = np.exp(s - s.max(axis=-1, keepdims=True))", "o = (p / p.sum(axis=-1, keepdims=True)) @ v"]),
    ("recurrence", {"a": (1000, 10000), "x": (1000, 10000)}, (1000, 10000),
     ["h = np.zeros(10000)", "for t in range(1000):", "    h = a[t] * h + x[t]", "    o[t] = h"]),
    ("conv1d", {"x": (10000, 300), "w": (4, 300)}, (9997, 300), ["o = sum(x[i:i + 9997] * w[i] for i in range(4))"]),
]


def medians(folder, name, inputs, output, program, repeats):
    """CPU milliseconds of the evaluator and of NumPy."""
    floats = {"dtype": "float64"}
    spec = {"tileproof": 1, "name": name, "target": "none", "reference": program,
            "inputs": [{"name": n, "shape": list(s)} | floats for n, s in inputs.items()],
            "outputs": [{"name": "o", "shape": list(output)} | floats]}
    path = folder / f"{name}.tile.json"
    path.write_text(json.dumps(spec))
    ours = subprocess.run(["build/bench/references", path, str(repeats)], check=True, capture_output=True, text=True).stdout
    random = np.random.default_rng(1)
    space = {n: random.standard_normal(s) for n, s in inputs.items()}
    code, theirs = compile("\n".join(program), name, "exec"), []
    for _ in range(repeats):
        start = time.process_time()
        exec(code, space | {"np": np, "o": np.zeros(output)})  # noqa: S102  of our own
        theirs.append((time.process_time() - start) * 1e3)
    return statistics.median(map(float, ours.split())), statistics.median(theirs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--most", type=float, default=3.0)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    worst = 0.0
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS:
            if options.names and program[0] not in options.names:
                continue
            ours, theirs = medians(pathlib.Path(folder), *program, options.repeats)
            print(f"  {program[0]:20} {ours:8.1f} ms   NumPy {theirs:8.1f} ms   {ours / theirs:5.2f}x", flush=True)
            worst = max(worst, ours / theirs)
    print(f"references: at most {worst:.1f}x NumPy, one thread, float64")
    return worst > options.most


if __name__ == "__main__":
    sys.exit(main())
