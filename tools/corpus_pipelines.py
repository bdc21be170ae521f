"""Cases of tools/corpus.py: pipelines inside of kernels (`emit_pipeline`), latent attention of DeepSeek, and packages of one kernel."""

import functools
import importlib
import types

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from corpus_packages import normal

SIZES = jnp.array([100, 60, 0, 96], jnp.int32)
LEFT, RIGHT = normal(0, 256, 256), normal(1, 4, 256, 128)


def ints(*values):
    return jnp.array(values, jnp.int32)


def grouped(a, b):
    return jax.lax.ragged_dot(a, b, SIZES)


def by_group(a, b):
    """The transposed product: one matrix for each group of rows."""
    starts = np.concatenate([[0], np.cumsum(np.asarray(SIZES))])
    return jnp.stack([a[lo:hi].T @ b[lo:hi] for lo, hi in zip(starts[:-1], starts[1:], strict=True)])


def ring():
    m = importlib.import_module("ringattention.ringattention_pallas_tpu")

    def call(*args, compiler_params, **how):
        return pl.pallas_call(*args, compiler_params=pltpu.CompilerParams(**compiler_params["mosaic"]), **how)

    # as JAX before 0.4.31 has them
    m.pl = types.SimpleNamespace(**{**vars(pl), "BlockSpec": lambda index_map, block: pl.BlockSpec(block, index_map), "pallas_call": call})
    q, k, v = (normal(n, 1, 2, 256, 128, scale=0.3) for n in range(3))
    none = jnp.zeros((1, 2, 256, 128)), jnp.zeros((1, 2, 256)), jnp.full((1, 2, 256), -jnp.inf)
    here = jnp.int32(0)

    def attention(q, k, v, causal):
        s = 0.1 * jnp.einsum("bhqd,bhkd->bhqk", q, k)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((256, 256), bool)), s, -jnp.inf) if causal else s, -1), v)

    for causal in (None, 1):
        yield f"ring attention, one chunk{', causal' if causal else ''}", (
            lambda q, k, v, c=causal: m._flash_attention_impl(q, k, v, none, here, here, None, None, False, c, 0.1, 1, 128, 128, 128, False)), (q, k, v), (
                functools.partial(attention, causal=causal))


def cache():
    m = importlib.import_module("sgl_jax.srt.mem_cache.memory_pool")
    m.pltpu = types.SimpleNamespace(**{**vars(pltpu), "MemorySpace": types.SimpleNamespace(ANY=pl.ANY)})  # as JAX before 0.8 has it
    slices = ints([3, 16, 40, 0], [0, 5, 6, 0], [5, 1, 8, 0])
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("tensor",))

    def update(new, slices, cache, n):
        with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
            return m.kv_cache_update(new, slices, cache, n, page_size=8, num_slices_per_block=2)

    yield "update of the cache", update, (normal(0, 16, 2, 128), slices, normal(1, 64, 2, 128), ints(3))


def decode_gpu():
    m = importlib.import_module("ejkernel.kernels._pallas.gpu.ragged_decode_attention._pallas_impl_fwd")
    q, k, v = normal(0, 16, 64), normal(1, 256, 64), normal(2, 256, 64)
    yield "ragged decode", lambda q, k, v: m.decode_attn_sequence(q, k, v, None, None, 0.125, 16, 64, 2, 4, 2), (q, k, v)
    yield "ragged decode, from 10 to 200", lambda q, k, v, a, b: m.decode_attn_sequence(q, k, v, a, b, 0.125, 16, 64, 2, 4, 2), (q, k, v, jnp.int32(10), jnp.int32(200))


def maxtext_pipelines():
    g = importlib.import_module("maxtext.kernels.megablox.pallas_mosaic_tpu_v2_gmm_kernel")
    t = importlib.import_module("maxtext.kernels.megablox.pallas_mosaic_tpu_v2_tgmm_kernel")
    for name, rows in {"": 64, ", a tile for each group": 256}.items():
        yield f"gmm v2{name}", lambda a, b, n=rows: g.gmm_v2(a, b, SIZES, tile_info=g.TileSizes(n, 128, 128)), (LEFT, RIGHT), grouped
    yield "tgmm v2", lambda a, b: t.tgmm_v2(a, b, SIZES, 4, tile_info=g.TileSizes(64, 128, 128), preferred_element_type=jnp.dtype("float32")), (LEFT, normal(2, 256, 128)), by_group


def ejkernel_more():
    base = "ejkernel.kernels._pallas.tpu."
    g = importlib.import_module(base + "grouped_matmulv3._pallas_impl")
    for name, rows in {"": 64, ", a tile for each group": 256}.items():
        yield f"grouped matmul v3{name}", lambda a, b, n=rows: g.grouped_matmulv3_pallas_impl(a, b, SIZES, tile_info=g.TileSizes(n, 128, 128)), (LEFT, RIGHT), grouped
    d = importlib.import_module(base + "deepseek_attn._pallas_impl_fwd")
    m = importlib.import_module(base + "flash_mla._pallas_impl_fwd")
    q, latent, wk, wv = normal(0, 1, 2, 256, 128, scale=0.3), normal(1, 1, 256, 128, scale=0.3), normal(2, 2, 128, 128, scale=0.1), normal(3, 2, 128, 128, scale=0.1)
    chosen = jnp.tril(jnp.ones((1, 256, 256), jnp.float32))
    yield "sparse latent attention", lambda q, l, a, b: d._deepseek_attn_pallas_call(
        q, l, a, b, None, None, chosen, rope_mode=m.ROPE_NONE, causal=True, softmax_scale=0.1, block_b=1, block_q=128, block_k=128), (q, latent, wk, wv)


def tpu_inference_pipelines():
    base = "tpu_inference.kernels."
    v4 = base + "experimental.deepseek_v4."
    rope = importlib.import_module(v4 + "rope")
    x, at, turns = normal(0, 64, 8, 128, dtype=jnp.bfloat16), jnp.arange(64, dtype=jnp.int32)[::-1], normal(1, 128, 64)
    yield "rope", rope.rope, (x, at, turns)
    yield "rope, inverse", functools.partial(rope.rope, inverse=True), (x, at, turns)
    yield "norm and rope", rope.qnorm_rope, (x, at, turns)
    yield "rope, quantised", rope.rope_quant, (x, at, turns)
    out = importlib.import_module(v4 + "o_projection")
    yield "output projection", functools.partial(out.wo_a_projection, quantize_activations=False), (
        normal(0, 64, 16, 128, dtype=jnp.bfloat16), normal(1, 1024, 256, scale=0.1).astype(jnp.float8_e4m3fn), jnp.abs(normal(2, 256)), normal(3, 64, 256))
    yield "gathered turns", out.gather_cos_sin, (at, turns)
    two = importlib.import_module(base + "gdn.v2.gdn_decode_kernel")
    one, many = (importlib.import_module(base + f"gdn.v1.{n}") for n in ("fused_gdn_decode_kernel", "fused_gdn_recurrent_kernel"))
    heads = normal(0, 8, 2, 128, scale=0.1), normal(1, 8, 2, 128, scale=0.1), normal(2, 8, 4, 128)
    gate, states, slots, beta = -jnp.abs(normal(3, 8, 4, 128)), normal(4, 10, 4, 128, 128), ints(3, 1, 4, 5, 9, 2, 6, 8), normal(5, 8, 4, 128)
    for name, m in {"v1": one, "v2": two}.items():
        yield f"gated delta decode {name}", functools.partial(m.fused_decoding_gdn, scale=0.1), (*heads, gate, states, slots, ints(8, 8, 8), beta)
    yield "gated delta rule v1", lambda *a: many.fused_recurrent_gdn(*a[:8], ints(0, 1, 1), scale=0.1, use_qk_l2norm=True, distribution=ints(0, 3)), (
        *heads, ints(0, 3, 4, 8), gate, states, ints(3, 1, 4), beta)
    scan = importlib.import_module(base + "gdn.v2.recurrent_scan_v2")
    yield "gated delta scan v2", lambda *a: scan.recurrent_scan(*a, n_kq=2, n_v=4, d_k=128, d_v=128), (
        normal(0, 256, 2 * 2 * 128 + 4 * 128), normal(1, 256, 4), normal(2, 256, 4), normal(3, 5, 4, 128, 128), normal(4, 4), normal(5, 4), ints(0, 100, 256), ints(1, 3), ints(0, 2, 2))
    q = importlib.import_module(base + "quantized_matmul.blockwise_kernel")
    yield "blockwise quantised matmul", lambda x, w, s: q.quantized_matmul_kernel(x, w, s, block_size=128, x_q_dtype=jnp.int8), (
        normal(0, 128, 256, dtype=jnp.bfloat16), jnp.asarray(np.random.default_rng(0).integers(-127, 127, (256, 256)), jnp.int8), jnp.abs(normal(2, 2, 1, 256)))


def deepseek_v4():
    """Latent attention over a cache of bytes: two sequences that decode one token, and two mixed ones, over pages of 8."""
    base = "tpu_inference.kernels.experimental.deepseek_v4."
    pltpu.reciprocal = pl.reciprocal  # as later versions of JAX name it
    q, wide = (normal(0, 16, 8, n, dtype=jnp.bfloat16) for n in (256, 512))
    pages = jnp.asarray(np.random.default_rng(0).integers(40, 60, (20, 16, 4, 128)), jnp.uint8)
    lens, starts, table = ints(13, 9, 20, 7), ints(0, 1, 2, 8, 15), jnp.asarray(np.random.default_rng(0).permutation(20)[:16], jnp.int32)
    attended = ints(13, 9, 15, 16, 17, 18, 19, 20, 1, 2, 3, 4, 5, 6, 7, 0)
    m = importlib.import_module(base + "core_attention.mla")
    yield "latent attention", functools.partial(m.mla_ragged_paged_attention, sm_scale=0.1, num_kv_pages_per_block=2, num_queries_per_block=8), (
        wide, pages, lens, attended, table, starts, ints(2, 2, 4), normal(1, 8), normal(2, 16, 8, 512, dtype=jnp.bfloat16), jnp.abs(normal(3, 16, 8)), normal(4, 16, 8))
    w = importlib.import_module(base + "core_attention.mla_swa")
    yield "latent attention, window", functools.partial(
        w.mla_sliding_window_ragged_paged_attention, sm_scale=0.1, sliding_window=8, logical_page_size=8, num_kv_pages_per_block=2, num_queries_per_block=8), (
        q, normal(5, 16, 256, dtype=jnp.bfloat16), jnp.asarray(np.random.default_rng(0).integers(40, 60, (20, 8, 4, 128)), jnp.uint8), lens, table, starts, ints(2, 2, 4), normal(1, 8))
    t = importlib.import_module(base + "indexer.streamindex_topk")
    yield "chosen tokens", functools.partial(t.streamindex_topk, k=4, compression_ratio=1, num_kv_pages_per_block=2, num_queries_per_block=8), (
        normal(0, 16, 8, 128, dtype=jnp.bfloat16), normal(1, 16, 8), jnp.asarray(np.random.default_rng(0).integers(40, 60, (8, 16, 4, 256)), jnp.uint8), lens,
        jnp.arange(8, dtype=jnp.int32), starts, ints(2, 2, 4))


CASES = {"deepseek-v4": deepseek_v4, "ringattention": ring, "sglang-jax-cache": cache, "ejkernel-gpu": decode_gpu, "maxtext-pipelines": maxtext_pipelines, "ejkernel-more": ejkernel_more,
         "tpu-inference-pipelines": tpu_inference_pipelines}
