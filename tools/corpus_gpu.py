"""Cases of tools/corpus.py: kernels for GPUs by Triton."""

import functools
import importlib
import types
import unittest.mock

import jax
import jax.numpy as jnp

from corpus_packages import normal, total


def jax_gpu():
    base = "jax.experimental.pallas.ops.gpu."
    softmax, rms, layer, attention, decode, paged = (
        importlib.import_module(base + n) for n in ("softmax", "rms_norm", "layer_norm", "attention", "decode_attention", "paged_attention"))
    yield "softmax", softmax.softmax, (normal(0, 8, 256),)
    yield "softmax, 200 columns", softmax.softmax, (normal(0, 8, 200),)
    for name, norm in {"rms norm": rms.rms_norm, "layer norm": layer.layer_norm}.items():
        for columns in (256, 200):
            args = (normal(0, 2, 16, columns), normal(1, columns), normal(2, columns))
            yield f"{name}, {columns} columns", norm, args
            yield f"{name}, {columns} columns, gradients", total(norm, 3), args
    q = tuple(normal(n, 1, 256, 2, 64) for n in range(3))
    ids = jnp.repeat(jnp.arange(2, dtype=jnp.int32), 128)[None]
    blocks = attention.BlockSizes(block_q=64, block_k=64, block_q_dkv=32, block_kv_dkv=32, block_q_dq=32, block_kv_dq=32)
    for name, how in {"": {}, " causal": {"causal": True}}.items():
        for segments, given in {"": None, " segments": ids}.items():
            attend = functools.partial(lambda q, k, v, g, h: attention.mha(q, k, v, g, block_sizes=blocks, sm_scale=0.1, **h), g=given, h=how)
            yield f"attention{name}{segments}, gradients", total(attend, 3), q
    yield "decode attention", decode.mqa, (normal(0, 1, 16, 64), normal(1, 1, 256, 64), normal(2, 1, 256, 64))
    yield "decode attention, 8 heads", decode.mqa, (normal(0, 1, 8, 64), normal(1, 1, 256, 64), normal(2, 1, 256, 64))
    yield "decode attention, lengths", lambda q, k, v, a, b: decode.gqa(q, k, v, a, b), (
        normal(0, 2, 32, 64), normal(1, 2, 256, 2, 64), normal(2, 2, 256, 2, 64), jnp.array([0, 30], jnp.int32), jnp.array([100, 256], jnp.int32))
    tables = jnp.arange(16, dtype=jnp.int32).reshape(2, 8)[:, ::-1]
    yield "paged attention", functools.partial(paged.paged_attention, pages_per_compute_block=2, k_splits=2), (
        normal(0, 2, 8, 64), normal(1, 2, 16, 16, 64), normal(2, 2, 16, 16, 64), tables, jnp.array([100, 37], jnp.int32))


def gated(activation, x, w):
    return (activation or (lambda y: y))(x @ w[:, 0]) * (x @ w[:, 1])


def capped(q, k, v):
    """Causal attention whose logits stay within 10."""
    n = q.shape[1]
    s = 10 * jnp.tanh(jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[3] ** -0.5 / 10)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((n, n), bool)), s, -jnp.inf), -1), v)


def tokamax_gpu():
    base = "tokamax._src.ops."

    def op(module, name, **how):
        """An operation as it runs on a GPU: whether this machine has one is not asked."""
        made = getattr(importlib.import_module(base + module), name)
        return type(name, (made,), {"supported_on": lambda self, device: True})(**how)

    # kernels ask how many programs run at a time
    importlib.import_module("tokamax._src.pallas.grid").jax = unittest.mock.MagicMock(wraps=jax, devices=lambda: [types.SimpleNamespace(core_count=132)])
    norm = importlib.import_module(base + "normalization.pallas_triton_config")
    back = importlib.import_module(base + "normalization.pallas_triton_vjp_config")
    vjp = op("normalization.pallas_triton_vjp", "PallasTritonNormalizationVjp", config=back.Config(block_m=16, block_n=None, num_warps=4))
    for columns in (256, 200):
        args = (normal(0, 64, columns), normal(1, columns), normal(2, columns))
        for mean in (True, False):
            f = functools.partial(op("normalization.pallas_triton", "PallasTritonNormalization", config=norm.Config(block_m=16, block_n=None, num_warps=4), vjp=vjp), subtract_mean=mean)
            yield f"normalisation of {columns}{'' if mean else ', no mean'}", f, args
            yield f"normalisation of {columns}{'' if mean else ', no mean'}, gradients", total(f, 3), args
    glu = importlib.import_module(base + "gated_linear_unit.pallas_triton")
    config = glu.Config(block_m=32, block_n=64, block_k=32, num_warps=4, num_stages=2)
    for name, activation in {"swish": jax.nn.swish, "none": None}.items():
        f = functools.partial(op("gated_linear_unit.pallas_triton", "PallasTritonGatedLinearUnit", config=config), activation=activation)
        yield f"gated linear unit, {name}", f, (normal(0, 64, 128), normal(1, 128, 2, 128)), functools.partial(gated, activation)
    yield "gated linear unit, ragged", functools.partial(op("gated_linear_unit.pallas_triton", "PallasTritonGatedLinearUnit", config=config), activation=jax.nn.swish), (
        normal(0, 50, 120), normal(1, 120, 2, 100)), functools.partial(gated, jax.nn.swish)
    fa = importlib.import_module(base + "attention.pallas_triton")
    q = tuple(normal(n, 1, 128, 2, 64) for n in range(3))
    config = fa.Config(block_q=64, block_k=64, num_warps=4, num_stages=2)
    attend = op("attention.pallas_triton", "PallasTritonFlashAttention", config=config)
    yield "attention", attend, q
    causal = functools.partial(jax.nn.dot_product_attention, is_causal=True)
    yield "attention causal", functools.partial(attend, is_causal=True), q, causal
    yield "attention causal, soft cap", functools.partial(attend, is_causal=True, logits_soft_cap=10.0), q, capped
    back = importlib.import_module(base + "attention.pallas_triton_vjp")
    config = fa.Config(block_q=64, block_k=64, num_warps=4, num_stages=2)
    vjp = op("attention.pallas_triton_vjp", "PallasTritonFlashAttentionVjp", config=back.Config(block_m1=32, block_n1=32, block_m2=32, block_n2=32, num_warps=4, num_stages=2))
    yield "attention causal, gradients", total(functools.partial(op("attention.pallas_triton", "PallasTritonFlashAttention", config=config, vjp=vjp), is_causal=True), 3), q, total(causal, 3)
    flex = importlib.import_module(base + "flex_attention.pallas_triton")
    f = op("flex_attention.pallas_triton", "PallasTritonFlexAttention", config=flex.Config(block_q=64, block_k=64, num_warps=4, num_stages=2))
    yield "flex attention", f, q
    ragged = importlib.import_module(base + "ragged_dot.pallas_triton")
    f = op("ragged_dot.pallas_triton", "PallasTritonRaggedDot", config=ragged.Config(block_m=32, block_n=64, block_k=32, split_k=1, num_warps=4, num_stages=2))
    yield "ragged dot", lambda a, b, n: f(a, b, group_sizes=n), (normal(0, 128, 64), normal(1, 4, 64, 128), jnp.array([50, 30, 0, 48], jnp.int32))


CASES = {"jax-gpu": jax_gpu, "tokamax-gpu": tokamax_gpu}
