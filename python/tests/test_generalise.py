"""Symbolic sizes from several calls."""

import jax
import jax.numpy as jnp
import kernels
import pytest
from jax import ShapeDtypeStruct as Shape
from jax.experimental import pallas as pl
from jax.experimental.pallas.ops.tpu import flash_attention as fa

import tileproof
from tileproof import binary, importer

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
    return binary.run("verify", "-q", "--target", "none", "-", text=importer.text_of(spec))


def test_matmul():
    spec, = tileproof.generalise(matmul, operands, lambda x, y: x @ y, M=512, N=512, K=512)
    assert spec["sizes"] == {"M": {"min": 1}, "N": {"min": 1}, "K": {"min": 128, "multiple_of": 128}}
    assert [a["steps"] for a in spec["grid"]] == ["cdiv(M, 128)", "cdiv(N, 128)", "cdiv(K, 128)"]
    assert len(spec["x-python"]["inferred"]["checked"]) == 4
    assert binary.report("lint", spec)["specs"][0]["domain"]["origin"] == "inferred"
    done = verified(spec)
    assert done.returncode == 0, done.stdout


def test_sizes_in_the_body():
    spec, = tileproof.generalise(norm, lambda M, N: (Shape((M, N), F32),), lambda x: x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6),
                                 M=512, N=256)
    assert any("/ N" in line for line in spec["kernel"])
    assert verified(spec).returncode == 0


def test_a_floor_in_the_grid_is_found_for_all_sizes():
    spec, = tileproof.generalise(lambda x, y: matmul(x, y, steps=lambda a, b: a // b), operands, M=512, N=512, K=512)
    done = binary.run("lint", "-", text=importer.text_of(spec))
    assert done.returncode == 1 and "TP401" in done.stdout and "N = 129" in done.stdout


def test_flash_attention():
    sizes = fa.BlockSizes(block_q=128, block_k_major=128, block_k=128, block_b=1)
    spec, = tileproof.generalise(lambda q, k, v: fa.flash_attention(q, k, v, causal=True, block_sizes=sizes),
                                 lambda B, L: (Shape((B, 2, L, 128), F32),) * 3, B=2, L=512)
    assert spec["sizes"]["L"]["multiple_of"] == 128
    assert binary.run("lint", "-q", "--target", "none", "-", text=importer.text_of(spec)).returncode == 0


def test_an_unrolled_loop_is_refused():
    with pytest.raises(tileproof.Unsupported, match="another one when M changes.*leave M a number"):
        tileproof.generalise(unrolled, lambda M: (Shape((M, 128), F32),), M=64)


def test_other_sizes_are_refused_in_the_words_of_the_function():
    with pytest.raises(ValueError, match="multiple of 128"):
        tileproof.generalise(matmul, operands, M=512, N=512, K=100)
