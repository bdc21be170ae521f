"""Kernels that copy their blocks themselves, in the checked engine: a double-buffered product beside the same product by
windows, and JAX's attention over pages, as it is imported, beside pltpu.InterpretParams(). CPU time in one process on
one core, interleaved: medians of the rounds' ratios with their spread, as Markdown. Exit 1 where a median misses its
bar: 1.3 times the windowed product, a twentieth of the interpreter. Needs build/venv.

    python bench/copies.py [--rounds 9]
"""

import argparse
import functools
import importlib
import json
import os
import pathlib
import statistics
import sys
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402

from tileproof import binary, capture, engine, importer  # noqa: E402
from tileproof.library import compile as compile_kernel  # noqa: E402

jax.config.update("jax_platforms", "cpu")

WINDOWED, INTERPRETER = 1.3, 0.05
OPS = "jax.experimental.pallas.ops.tpu."


def cpu_ms(f):
    start = time.process_time()
    f()
    return (time.process_time() - start) * 1e3


def beside(ours, other, rounds):
    """Times of each, turn by turn, and their ratios, sorted."""
    pairs = [(cpu_ms(ours), cpu_ms(other)) for _ in range(rounds)]
    return (*map(statistics.median, zip(*pairs)), sorted(a / b for a, b in pairs))


def said(what, ours, other, ratios, bar):
    """Prints a row; whether it keeps its bar."""
    print(f"- {what}: {ours:.1f} ms beside {other:.1f}, {statistics.median(ratios):.3f} [{ratios[0]:.3f}, {ratios[-1]:.3f}]; at most {bar}", flush=True)
    return statistics.median(ratios) <= bar


def windowed(spec):
    """The double-buffered product with windows in place of its copies."""
    blocks = {"x": ["i", "k"], "y": ["k", "j"]}
    return spec | {
        "grid": [*spec["grid"], {"axis": "k", "steps": "K // 128", "semantics": "arbitrary"}],
        "inputs": [{k: v for k, v in x.items() if k != "memory_space"} | {"block_shape": [128, 128], "index_map": blocks[x["name"]]} for x in spec["inputs"]],
        "scratch": [s for s in spec["scratch"] if s["name"] == "acc"],
        "kernel": ["if k == 0:", "    acc[...] = 0", "acc[...] += dot(x[...], y[...])", "if k == num_programs(k) - 1:", "    o[...] = acc[...]"]}


def product(rounds, n=1024):
    by_hand = json.loads((ROOT / "examples/matmul/matmul_double_buffered.tile.json").read_text())
    x, y = (np.random.default_rng(s).standard_normal((n, n), dtype=np.float32) for s in (1, 2))
    kernels = [compile_kernel(s, unchecked=True, sizes={"M": n, "N": n, "K": n}, threads=1) for s in (by_hand, windowed(by_hand))]
    out = [k(x, y) for k in kernels]
    assert (out[0] == out[1]).all()
    return said(f"`matmul_double_buffered` of {n}, beside the same blocks as windows", *beside(*(lambda k=k, o=o: k(x, y, out=o) for k, o in zip(kernels, out)), rounds), WINDOWED)


def normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


def paged():
    """Four sequences, up to 512 keys in pages of 16."""
    attend = importlib.import_module(OPS + "paged_attention.paged_attention_kernel").paged_attention
    pages = jnp.asarray(np.random.default_rng(3).permutation(128).reshape(4, 32).astype(np.int32))
    return lambda *a: attend(*a, pages_per_compute_block=8), (normal(0, 4, 8, 128), normal(1, 1, 128, 16, 128), normal(2, 1, 128, 16, 128), jnp.array([512, 100, 300, 407], jnp.int32), pages)


def ragged():
    """Three sequences of 32, 1 and 31 new tokens over up to 256 keys in pages of 16. With more rows than lanes or heads in a masked store the
    interpreter fails: it takes every dimension's bound for rows (0.10.2)."""
    attend = importlib.import_module(OPS + "ragged_paged_attention.kernel").ragged_paged_attention
    pages = jnp.asarray(np.random.default_rng(3).permutation(48).reshape(3, 16).astype(np.int32))
    return lambda *a: attend(*a, num_kv_pages_per_block=8, num_queries_per_block=8), (
        normal(0, 64, 8, 128), normal(1, 48, 16, 2, 128), jnp.array([256, 180, 120], jnp.int32), pages, jnp.array([0, 32, 33, 64], jnp.int32), jnp.array([3], jnp.int32))


def attention(name, case, rounds):
    """The call as it is imported, beside the interpreter on what `emit pallas` writes of it: that on JAX's own text of the ragged one fails at
    reshapes of refs (0.10.2). Both results are those of the engine."""
    fn, arrays = case()
    specs = []

    def run(eqn, operands, used):
        specs.append(importer.from_equation(eqn, operands, used))
        return engine.run(specs[-1], eqn, operands)

    call, = capture.calls(fn, *arrays, run=run)
    spec, text = specs[0], {}
    exec(binary.run("emit", "pallas", "-", text=binary.text_of(spec)).stdout, text)  # noqa: S102
    on_device = [jnp.asarray(x) for x in call.operands]
    program = jax.jit(functools.partial(text[spec["name"]], interpret=pltpu.InterpretParams())).lower(*on_device).compile()
    tables = len(spec.get("scalar_prefetch", []))
    ours = [*call.operands[tables:], *call.operands[:tables]]
    kernel = compile_kernel(spec, unchecked=True, threads=1)
    got = kernel(*ours)
    assert np.allclose(got[0] if isinstance(got, tuple) else got, program(*on_device)[0], 1e-3, 1e-3, equal_nan=True), name
    return said(f"{name}, beside `InterpretParams()`", *beside(lambda: kernel(*ours), lambda: jax.block_until_ready(program(*on_device)), rounds), INTERPRETER)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=9)
    rounds = p.parse_args().rounds
    kept = [product(rounds), attention("JAX's paged attention", paged, 3), attention("JAX's ragged paged attention", ragged, 3)]
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
