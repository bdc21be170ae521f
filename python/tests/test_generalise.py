"""Symbolic sizes from several calls."""

import dataclasses
import random

import jax
import jax.numpy as jnp
import kernels
import numpy as np
import pytest
from jax import ShapeDtypeStruct as Shape
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu import flash_attention as fa

import tileproof
from tileproof import binary, command, domain, symbolic

F32 = jnp.float32


def matmul(x, y, steps=pl.cdiv):
    if x.shape[1] % 128:
        raise ValueError("k must be a multiple of 128")
    return kernels.matmul(x, y, steps)


def norm(x):
    def kernel(x_ref, o_ref):
        v = x_ref[...]
        o_ref[...] = v * jax.lax.rsqrt(jnp.mean(v * v, -1, keepdims=True) + 1e-6)

    block = pl.BlockSpec((64, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(kernel, out_shape=Shape(x.shape, F32), grid=(pl.cdiv(x.shape[0], 64),), in_specs=[block], out_specs=block)(x)


def unrolled(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = sum(x_ref[t:t + 8, :] for t in range(0, x.shape[0], 8))

    return pl.pallas_call(kernel, out_shape=Shape((8, 128), F32))(x)


def operands(M, N, K):
    return Shape((M, K), F32), Shape((K, N), F32)


def verified(spec):
    return binary.run("verify", "-q", "--target", "none", "-", text=binary.text_of(spec))


def test_matmul():
    spec, = tileproof.generalise(matmul, operands, lambda x, y: x @ y, M=512, N=512, K=512)
    assert spec["sizes"] == {"M": {"min": 1, "max": 65536}, "N": {"min": 1, "max": 65536}, "K": {"min": 128, "max": 65536, "multiple_of": 128}}
    assert [a["steps"] for a in spec["grid"]] == ["cdiv(M, 128)", "cdiv(N, 128)", "cdiv(K, 128)"]
    assert len(spec["x-python"]["inferred"]["checked"]) >= 12
    report = binary.report("lint", spec)
    assert report["specs"][0]["domain"]["origin"] == "inferred" and report["summary"]["assumed"] == len(spec["sizes"])
    done = verified(spec)
    assert done.returncode == 0, done.stdout


def test_sizes_in_the_body():
    spec, = tileproof.generalise(norm, lambda M, N: (Shape((M, N), F32),), lambda x: x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6),
                                 M=512, N=256)
    assert any("/ N" in line for line in spec["kernel"])
    assert verified(spec).returncode == 0


def mean(x):
    """Of all elements; the size of the array is a float of the body."""
    n, d = x.shape

    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[0, 0] = 0.0
        rows = pl.program_id(0) * 32 + jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
        o_ref[0, 0] += jnp.sum(jnp.where(rows < n, x_ref[...], 0.0)) / (n * d)

    return pl.pallas_call(kernel, out_shape=Shape((1, 1), F32), grid=(pl.cdiv(n, 32),), in_specs=[pl.BlockSpec((32, d), lambda i: (i, 0))],
                          out_specs=pl.BlockSpec(memory_space=pltpu.SMEM))(x)


def test_products_and_multiples_of_sizes_are_floats_of_the_body():
    spec, *_ = tileproof.generalise(mean, lambda N, D: (Shape((N, D), F32),), N=70, D=128)
    assert " / (N * D)" in "".join(spec["kernel"])
    spec, = tileproof.generalise(lambda x: rows(x, 8, x.shape[0] // 8, lambda v: v / x.shape[0]), lambda C: (Shape((32 * C, 128), F32),), C=5)
    assert " / (32 * C)" in "".join(spec["kernel"])


def test_a_floor_in_the_grid_is_found_for_all_sizes():
    spec, = tileproof.generalise(lambda x, y: matmul(x, y, steps=lambda a, b: a // b), operands, M=512, N=512, K=512)
    done = binary.run("lint", "-", text=binary.text_of(spec))
    assert done.returncode == 1 and "TP401" in done.stdout and "N = 129" in done.stdout


def test_flash_attention():
    sizes = fa.BlockSizes(block_q=128, block_k_major=128, block_k=128, block_b=1)
    spec, = tileproof.generalise(lambda q, k, v: fa.flash_attention(q, k, v, causal=True, block_sizes=sizes),
                                 lambda B, L: (Shape((B, 2, L, 128), F32),) * 3, B=2, L=512)
    assert spec["sizes"]["L"]["multiple_of"] == 128
    assert binary.run("lint", "-q", "--target", "none", "-", text=binary.text_of(spec)).returncode == 0


def rows(x, block, steps, body=lambda v: v + 1):
    def kernel(x_ref, o_ref):
        o_ref[...] = body(x_ref[...])

    spec = pl.BlockSpec((block, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(kernel, out_shape=Shape(x.shape, F32), grid=(steps,), in_specs=[spec], out_specs=spec)(x)


def near(limits, blocks):
    """A block for each range of rows."""
    def fn(x):
        n = x.shape[0]
        block = next((b for at, b in zip(limits, blocks) if n <= at), blocks[-1])
        return rows(x, block, pl.cdiv(n, block))
    return fn


def halo(x):
    n = x.shape[0] // 32

    def kernel(a_ref, b_ref, o_ref):
        o_ref[...] = a_ref[...] + b_ref[...]

    block = pl.BlockSpec((32, 128), lambda i: (i, 0))
    after = pl.BlockSpec((32, 128), lambda i: (jnp.minimum(i + 1, n - 1), 0))
    return pl.pallas_call(kernel, out_shape=Shape(x.shape, F32), grid=(n,), in_specs=[block, after], out_specs=block)(x, x)


def mask(x):  # the width is written in the body: no number of digits makes another form
    def kernel(x_ref, o_ref):
        row = pl.program_id(0) * 128 + jax.lax.broadcasted_iota(jnp.int32, (128, x.shape[1]), 0)
        o_ref[...] = jnp.where(jax.lax.broadcasted_iota(jnp.int32, (128, x.shape[1]), 1) <= row, x_ref[...], -1.0)

    block = pl.BlockSpec((128, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(kernel, out_shape=Shape(x.shape, F32), grid=(pl.cdiv(x.shape[0], 128),), in_specs=[block], out_specs=block)(x)


def largest_divisor(x):
    block = next(b for b in (512, 256, 128, 64, 32, 16, 8) if x.shape[0] % b == 0)
    return rows(x, block, x.shape[0] // block)


LINES = {  # a function of n rows, the typical n, the domains, the steps of the first
    "a floor": (lambda x: rows(x, 32, x.shape[0] // 32), 512, [(1, 65536)], "L // 32"),
    "a quarter": (lambda x: rows(x, x.shape[0] // 4, 4), 512, [(1, 65536)], 4),
    "the smaller": (lambda x: rows(x, min(x.shape[0], 256), pl.cdiv(x.shape[0], min(x.shape[0], 256))), 128, [(1, 65536)], "cdiv(L, 256)"),
    "a power of two": (lambda x: rows(x, pl.next_power_of_2(x.shape[0]), 1), 512, [(1, 65536)], 1),
    "two blocks": (near([1024], [128, 512]), 512, [(1, 1024), (1025, 65536)], "cdiv(L, 128)"),
    "three blocks": (near([256, 1024], [64, 128, 512]), 512, [(257, 1024), (1025, 65536), (1, 256)], "cdiv(L, 128)"),
    "neighbours": (halo, 512, [(32, 65536), (1, 31)], "L // 32"),
    "a divisor": (largest_divisor, 512, [(512, 65536)], "cdiv(L, 512)"),
    "two programs": (lambda x: rows(x, min(x.shape[0], 512), pl.cdiv(x.shape[0], 512), lambda v: v - v.max() if x.shape[0] <= 512 else v * 2), 2048,
                     [(513, 65536), (1, 512)], "cdiv(L, 512)"),
}


@pytest.fixture
def refuted(monkeypatch):
    """What fresh calls make of every domain that was inferred: the sizes that are not as expected."""
    made, bad = [], []
    instance = symbolic._Inference.instance

    def keep(self, which, formulas, steps, ends, *more):
        made.append((self, which, formulas, steps, ends))
        return instance(self, which, formulas, steps, ends, *more)

    monkeypatch.setattr(symbolic._Inference, "instance", keep)

    def ask(count=10):
        rng = random.Random(5)
        for inference, which, formulas, steps, (least, most) in made:
            for n in range(count):
                at = {k: [rng.randint(least[k] // d, most[k] // d) * d, int(least[k] // d * (most[k] / least[k]) ** rng.random()) * d, least[k], most[k]][min(n, 3) if n < 3 else rng.randint(0, 3)]
                      for k, d in steps.items()}
                forms = inference.forms_at(at)
                if not forms or not all(symbolic._same(f.value(at), v) for f, v in zip(formulas, forms[which].numbers, strict=True)):
                    bad.append(at)
        return bad
    return ask


@pytest.mark.parametrize("name", LINES)
def test_what_is_fitted_holds_for_fresh_calls(name, refuted):
    fn, typical, domains, steps = LINES[name]
    specs = tileproof.generalise(fn, lambda L: (Shape((L, 128), F32),), L=typical)
    assert [(s["sizes"]["L"]["min"], s["sizes"]["L"]["max"]) for s in specs] == domains
    assert specs[0]["grid"][0]["steps"] == steps and not refuted()


def grid_of(steps, shape, block, index, out=None, body=lambda v: v * 2):
    """A kernel of one operand with one block for each step."""
    def fn(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = body(x_ref[...])

        given = pl.BlockSpec(block(x), index)
        return pl.pallas_call(kernel, out_shape=Shape((out or shape)(x), F32), grid=steps(x), in_specs=[given], out_specs=given)(x)
    return fn


def jax_matmul(x, y):
    from jax.experimental.pallas.ops.tpu import matmul as m

    return m.matmul(x, y, block_shape=(128, 128), block_k=128)


def jax_grouped(kind):
    import importlib

    module = importlib.import_module("jax.experimental.pallas.ops.tpu.megablox.gmm")
    return lambda x, w, sizes: getattr(module, kind)(x, w, sizes, tiling=(128, 128, 128))


def flash(causal, gradients=False):
    sizes = fa.BlockSizes(**{f.name: 1 if f.name == "block_b" else 128 for f in dataclasses.fields(fa.BlockSizes)})
    fn = lambda q, k, v: fa.flash_attention(q, k, v, causal=causal, block_sizes=sizes)  # noqa: E731
    return jax.grad(lambda *a: fn(*a).sum(), argnums=(0, 1, 2)) if gradients else fn


def one(shape):
    return lambda L: (Shape(shape(L), F32),)


FUNCTIONS = {  # a function, its arguments, typical sizes
    "matmul": (matmul, operands, {"M": 512, "N": 512, "K": 512}),
    "matmul of JAX": (jax_matmul, operands, {"M": 512, "N": 512, "K": 512}),
    "gmm of JAX": (jax_grouped("gmm"), lambda M: (Shape((M, 256), F32), Shape((4, 256, 128), F32), Shape((4,), jnp.int32)), {"M": 512}),
    "tgmm of JAX": (jax_grouped("tgmm"), lambda M: (Shape((256, M), F32), Shape((M, 128), F32), Shape((4,), jnp.int32)), {"M": 512}),
    "flash": (flash(False), lambda L: (Shape((1, 2, L, 128), F32),) * 3, {"L": 512}),
    "flash causal": (flash(True), lambda L: (Shape((1, 2, L, 128), F32),) * 3, {"L": 512}),
    "flash causal, gradients": (flash(True, gradients=True), lambda L: (Shape((1, 1, L, 128), F32),) * 3, {"L": 512}),
    "norm": (norm, lambda M, N: (Shape((M, N), F32),), {"M": 512, "N": 256}),
    "a mask": (mask, lambda L: (Shape((L, L), F32),), {"L": 512}),
    "columns": (grid_of(lambda x: (pl.cdiv(x.shape[1], 128),), lambda x: x.shape, lambda x: (x.shape[0], 128), lambda j: (0, j)), lambda M, N: (Shape((M, N), F32),), {"M": 64, "N": 512}),
    "rows from the end": (lambda x: grid_of(lambda x: (pl.cdiv(x.shape[0], 64),), lambda x: x.shape, lambda x: (64, 128),
                                            lambda i, n=pl.cdiv(x.shape[0], 64): (n - 1 - i, 0))(x), one(lambda L: (L, 128)), {"L": 512}),
    "both axes": (grid_of(lambda x: (pl.cdiv(x.shape[0], 32), x.shape[1] // 128), lambda x: x.shape, lambda x: (32, 128), lambda i, j: (i, j)), lambda M, N: (Shape((M, 128 * N), F32),), {"M": 512, "N": 4}),
    "a batch": (grid_of(lambda x: (x.shape[0], pl.cdiv(x.shape[1], 64)), lambda x: x.shape, lambda x: (None, 64, 128), lambda b, i: (b, i, 0)), lambda B, L: (Shape((B, L, 128), F32),), {"B": 4, "L": 512}),
    "twice the rows": (grid_of(lambda x: (pl.cdiv(x.shape[0], 64),), lambda x: x.shape, lambda x: (64, 128), lambda i: (i, 0)), one(lambda L: (2 * L, 128)), {"L": 256}),
    "seven rows more": (grid_of(lambda x: (pl.cdiv(x.shape[0], 64),), lambda x: x.shape, lambda x: (64, 128), lambda i: (i, 0)), one(lambda L: (L + 7, 128)), {"L": 256}),
    "a scale": (lambda x: rows(x, 64, pl.cdiv(x.shape[0], 64), lambda v: v / x.shape[0]), one(lambda L: (L, 128)), {"L": 512}),
    "a root": (lambda x: rows(x, 64, pl.cdiv(x.shape[0], 64), lambda v: v * x.shape[0] ** -0.5), one(lambda L: (L, 128)), {"L": 512}),
    "at least 128": (lambda x: rows(x, max(x.shape[0], 128), 1), one(lambda L: (L, 128)), {"L": 512}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_fresh_call_refutes_a_domain(name, refuted):
    fn, arguments, sizes = FUNCTIONS[name]
    specs = tileproof.generalise(fn, arguments, **sizes)
    assert specs and all(s["sizes"][n]["min"] <= v <= s["sizes"][n]["max"] for s in specs[:1] for n, v in sizes.items()) and not refuted()


def test_digits_make_no_other_form(refuted):
    spec, = tileproof.generalise(mask, lambda L: (Shape((L, L), F32),), L=512)
    assert spec["sizes"]["L"] == {"min": 1, "max": 65536} and not refuted()


def test_a_fresh_call_can_refute(refuted, monkeypatch):
    monkeypatch.setattr(domain, "infer", lambda holds, base, steps, *_: ({"L": 1}, {"L": 4096}))
    monkeypatch.setattr(domain, "mixed", lambda *_: [])
    tileproof.generalise(near([1024], [128, 512]), lambda L: (Shape((L, 128), F32),), L=512)
    assert refuted()


def test_an_unrolled_loop_is_refused():
    with pytest.raises(tileproof.Unsupported, match="another one when M changes.*leave M a number"):
        tileproof.generalise(unrolled, lambda M: (Shape((M, 128), F32),), M=64)


def test_other_sizes_are_refused_in_the_words_of_the_function():
    with pytest.raises(ValueError, match="multiple of 128"):
        tileproof.generalise(matmul, operands, M=512, N=512, K=100)


LIMIT = 3000


def threshold(n):
    """Another kernel from one size on, written in several ways."""
    return {"written": lambda x: x.shape[0] >= 5000, "a name": lambda x: x.shape[0] > LIMIT, "only one": lambda x: x.shape[0] == 777,
            "a power": lambda x: x.shape[0] > 4096, "both": lambda x: x.shape[0] * x.shape[1] > 1 << 20, "below": lambda x: x.shape[0] <= 200}[n]


@pytest.mark.parametrize("name, least, most", [("written", 1, 4999), ("a name", 1, LIMIT), ("only one", 1, 776), ("a power", 1, 4096), ("below", 201, 65536)])
def test_the_domain_ends_where_the_kernel_changes(name, least, most):
    spec, *beside = tileproof.generalise(two_kernels(threshold(name)), lambda M: (Shape((M, 128), F32),), M=512)
    assert all(s["sizes"]["M"]["max"] < least or s["sizes"]["M"]["min"] > most for s in beside)
    assert spec["sizes"] == {"M": {"min": least, "max": most}}
    domain = binary.report("lint", spec)["specs"][0]["domain"]
    assert domain["origin"] == "inferred" and f"M <= {most}" in binary.run("lint", "-", text=binary.text_of(spec)).stdout


def two_kernels(other):
    def fn(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...] + 1 if not other(x) else jnp.tanh(x_ref[...])

        block = pl.BlockSpec((64, x.shape[1]), lambda i: (i, 0))
        return pl.pallas_call(kernel, out_shape=Shape(x.shape, F32), grid=(pl.cdiv(x.shape[0], 64),), in_specs=[block], out_specs=block)(x)
    return fn


def test_a_residue_ends_the_domain():
    spec, *beside = tileproof.generalise(two_kernels(lambda x: x.shape[0] % 96 == 0), lambda M: (Shape((M, 128), F32),), M=700)
    assert spec["sizes"] == {"M": {"min": 673, "max": 767}}
    assert all(s["sizes"]["M"]["max"] <= 672 or s["sizes"]["M"]["min"] >= 768 for s in beside)


def test_a_threshold_of_two_sizes_ends_the_domain():
    spec, *_ = tileproof.generalise(two_kernels(threshold("both")), lambda M, N: (Shape((M, N), F32),), M=256, N=256)
    assert spec["sizes"]["M"]["max"] * spec["sizes"]["N"]["max"] <= 1 << 20


def test_sizes_that_allocate_are_not_made():
    spec, = tileproof.generalise(norm, lambda M, N: (jnp.zeros((M, N)),), M=512, N=256)
    assert spec["sizes"]["M"]["max"] == 65536
    spec, = tileproof.generalise(norm, lambda M, N: (np.zeros((M, N), np.float32),), M=64, N=128)
    assert spec["sizes"] == {"M": {"min": 1, "max": 256}, "N": {"min": 1, "max": 512}}


def test_numbers_of_functions_behind_a_function():
    import functools

    assert {5000, 777, 4096} <= domain.numbers_in(jax.jit(functools.partial(lambda f, x: threshold("written")(x) + f, 777)))


def test_the_command_says_how_far(capsys, tmp_path, monkeypatch):
    (tmp_path / "own_norm.py").write_text("import test_generalise\n\n\ndef fn(x):\n    return test_generalise.norm(x)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert command.main(["import", "own_norm:fn", "--arg", "f32[M,256]", "--sym", "M=512"]) == 0
    said = capsys.readouterr()
    assert '"max": 65536' in said.out and "1 <= M <= 65536; others were not looked at" in said.err
