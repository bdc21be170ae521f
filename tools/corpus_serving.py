"""Cases of tools/corpus.py: kernels that move their own data by copies, attention over pages of a cache above all."""

import functools
import importlib
import inspect
import types

import jax
import jax.numpy as jnp
import numpy as np

from corpus_packages import normal

LENGTHS, PAGES = jnp.array([13, 27], jnp.int32), jnp.array([[3, 1, 4, 2], [5, 9, 2, 6]], jnp.int32)


SCALE = {"tpu_inference": "sm_scale", "ejkernel": "softmax_scale"}


def scaled(reference, **how):
    """The package's own reference, with the scale of the cases."""
    return functools.partial(reference, **{"softmax_scale" if "softmax_scale" in inspect.signature(reference).parameters else "sm_scale": 0.1}, **how)


def ints(*values):
    return jnp.array(values, jnp.int32)


def ragged_v2(module, **how):
    """Three sequences of 5, 1 and 9 new tokens over pages of 8."""
    q, pages = normal(0, 16, 8, 128), normal(1, 12, 8, 4, 128)
    table = jnp.array([[3, 1, 4], [5, 9, 2], [6, 7, 8]], jnp.int32)
    return functools.partial(module.ragged_paged_attention, num_kv_pages_per_block=2, num_queries_per_block=8, **how), (
        q, pages, ints(18, 9, 20), table, ints(0, 5, 6, 15), ints(3))


def jax_serving():
    base = "jax.experimental.pallas.ops.tpu."
    paged = importlib.import_module(base + "paged_attention.paged_attention_kernel")
    k, v = normal(1, 1, 10, 8, 128), normal(2, 1, 10, 8, 128)
    attend = functools.partial(paged.paged_attention, pages_per_compute_block=2)
    yield "paged attention", attend, (normal(0, 2, 8, 128), k, v, LENGTHS, PAGES)
    yield "paged attention, steps for pages", functools.partial(attend, inline_seq_dim=False), (normal(0, 2, 8, 128), k, v, LENGTHS, PAGES)
    yield "paged attention, two heads of keys", attend, (normal(0, 2, 16, 128), normal(1, 2, 10, 8, 128), normal(2, 2, 10, 8, 128), LENGTHS, PAGES)
    ragged = importlib.import_module(base + "ragged_paged_attention.kernel")
    for name, how in {"": {}, ", window": {"sliding_window": 8}, ", soft cap": {"soft_cap": 2.0}}.items():
        yield f"ragged paged attention{name}", *ragged_v2(ragged, **how), functools.partial(ragged.ref_ragged_paged_attention, **how)


def rpa_v3(module, cases="dpm", heads=(4, 2), head_dim=128, dtype=jnp.float32, name="ragged_paged_attention", **how):
    """Two sequences that decode one token, and two mixed ones, over pages of 8."""
    q_heads, kv_heads = heads
    tokens, page_size, pages_per_seq = 16, 8, 4
    lens, starts = ints(13, 9, 20, 7), ints(0, 1, 2, 8, 15)
    cache = normal(3, *module.get_kv_cache_shape(20, page_size, kv_heads, head_dim, dtype), dtype=dtype)
    table = jnp.asarray(np.random.default_rng(0).permutation(20)[:16], jnp.int32)
    return functools.partial(getattr(module, name), **{SCALE[module.__name__.split(".")[0]]: 0.1}, **how), (
        normal(0, tokens, q_heads, head_dim, dtype=dtype), normal(1, tokens, kv_heads, head_dim, dtype=dtype), normal(2, tokens, kv_heads, head_dim, dtype=dtype),
        cache, lens, table, starts, ints(2, 2, 4))


def mla(module, name, dtype=jnp.float32, **how):
    tokens, heads, lkv, rope = 16, 8, 128, 64
    cache = normal(3, *module.get_kv_cache_shape(20, 8, lkv + 128, dtype), dtype=dtype)
    table = jnp.asarray(np.random.default_rng(0).permutation(20)[:16], jnp.int32)
    return functools.partial(getattr(module, name), **{SCALE[module.__name__.split(".")[0]]: 0.1}, **how), (
        normal(0, tokens, heads, lkv, dtype=dtype), normal(1, tokens, heads, rope, dtype=dtype), normal(2, tokens, lkv, dtype=dtype), normal(4, tokens, rope, dtype=dtype),
        cache, ints(13, 9, 20, 7), table, ints(0, 1, 2, 8, 15), ints(2, 2, 4))


def convolved(x, states, w, _, starts, slots, __, known):
    """Each sequence is convolved behind the rows of its state, which are zeros where nothing is known of it; the last rows are its next one."""
    out = []
    for lo, hi, slot, has in zip(starts[:-1], starts[1:], slots, known, strict=True):
        rows = jnp.concatenate([jnp.where(has, states[slot], 0), x[lo:hi]])
        out.append(sum(rows[t:t + hi - lo] * w[:, 0, t] for t in range(w.shape[2])))
        states = states.at[slot].set(rows[-states.shape[1]:])
    return jnp.concatenate(out), states


def tpu_inference():
    base = "tpu_inference.kernels."
    v2 = importlib.import_module(base + "ragged_paged_attention.v2.kernel")
    for name, how in {"": {}, ", window": {"sliding_window": 8}, ", soft cap": {"soft_cap": 2.0}}.items():
        yield f"ragged paged attention v2{name}", *ragged_v2(v2, **how)
    update = importlib.import_module(base + "ragged_paged_attention.v2.ragged_kv_cache_update")
    slices = jnp.array([[3, 16, 40], [0, 5, 6], [5, 1, 8]], jnp.int32)
    slices = jnp.pad(slices, ((0, 0), (0, 1)))
    yield "cache update", functools.partial(update.kv_cache_update, page_size=8, num_slices_per_block=2), (normal(0, 16, 4, 128), slices, normal(1, 64, 4, 128), ints(3))
    v3 = importlib.import_module(base + "ragged_paged_attention.v3.kernel")
    sizes = {f"{c}_block_sizes": (8, 16, 8, 16) for c in "pm"} | {"d_block_sizes": (1, 16, 1, 16)}
    for name, how in {"": {}, ", window": {"sliding_window": 8}, ", no update": {"update_kv_cache": False}, ", bfloat16": {"dtype": jnp.bfloat16}}.items():
        ref = [scaled(v3.ref_ragged_paged_attention, sliding_window=how.get("sliding_window"))] if "update_kv_cache" not in how else []
        yield f"ragged paged attention v3{name}", *rpa_v3(v3, **sizes, **how), *ref
    h64 = importlib.import_module(base + "ragged_paged_attention.v3.kernel_hd64")
    yield "ragged paged attention v3, heads of 64", *rpa_v3(h64, name="ragged_paged_attention_hd64", head_dim=64, num_kv_pages_per_block=2, num_queries_per_block=8), (
        scaled(h64.ref_ragged_paged_attention_hd64))
    one, two = (importlib.import_module(base + f"mla.v{n}.kernel") for n in (1, 2))
    yield "mla v1", *mla(one, "mla_ragged_paged_attention", num_kv_pages_per_block=2, num_queries_per_block=8), scaled(one.ref_mla_ragged_paged_attention)
    fn, (nope, *rest) = mla(two, "mla_ragged_paged_attention", s_dtype=jnp.float32, num_kv_pages_per_block=2, num_queries_per_block=8)
    yield "mla v2", fn, (jnp.swapaxes(nope, 0, 1), *rest), lambda q, *a: jnp.swapaxes(scaled(one.ref_mla_ragged_paged_attention)(jnp.swapaxes(q, 0, 1), *a)[0], 0, 1)
    conv = importlib.import_module(base + "causal_conv1d.causal_conv1d")
    yield "causal conv", functools.partial(conv.ragged_causal_conv1d, kernel_size=4, tile_size=8), (
        normal(0, 16, 128), normal(1, 5, 3, 128), normal(2, 128, 1, 4), None, ints(0, 1, 2, 8, 15), ints(1, 2, 3, 4), ints(2, 2, 4), jnp.array([True, False, True, True])), convolved


def beside(q, k, v, pages, starts, _, n, lengths, **how):
    """JAX's reference, with the pages of each sequence in a row of its own."""
    rows = jnp.stack([pages[:3], jnp.append(pages[3:5], 0), pages[5:8]])
    reference = importlib.import_module("jax.experimental.pallas.ops.tpu.ragged_paged_attention.kernel").ref_ragged_paged_attention
    return reference(q, jnp.stack([k, v], 3).reshape(*k.shape[:2], -1, k.shape[-1]), lengths, rows, starts, n, **how)


def sglang():
    flash = importlib.import_module("sgl_jax.srt.layers.attention.flash_attn_kernel.flash_attention")
    for name, how in {"": {}, ", window": {"sliding_window": 8}, ", soft cap": {"soft_cap": 2.0}}.items():
        yield f"ragged paged attention{name}", functools.partial(flash.ragged_paged_attention, num_kv_pages_per_block=2, num_queries_per_block=8, **how), (
            normal(0, 16, 8, 128), normal(1, 12, 8, 2, 128), normal(2, 12, 8, 2, 128), ints(3, 1, 4, 5, 9, 6, 7, 8), ints(0, 5, 6, 15), ints(0, 24, 40, 64), ints(3), ints(18, 9, 20)), functools.partial(beside, **how)


def ejkernel():
    base = "ejkernel.kernels._pallas.tpu."
    page = importlib.import_module(base + "page_attention._interface")
    q, k, v = normal(0, 2, 8, 128), normal(1, 1, 10, 8, 128), normal(2, 1, 10, 8, 128)
    yield "page attention", functools.partial(page.page_attention, pages_per_compute_block=2), (q, k, v, LENGTHS, PAGES)
    yield "page attention, steps for pages", functools.partial(page.page_attention, pages_per_compute_block=2, inline_seq_dim=False), (q, k, v, LENGTHS, PAGES)
    fill = importlib.import_module(base + "prefill_page_attention._interface")
    yield "prefill page attention", fill.prefill_page_attention, (normal(0, 16, 8, 128), normal(1, 1, 12, 8, 128), normal(2, 1, 12, 8, 128), ints(29), ints(3, 1, 4, 2))
    v2 = importlib.import_module(base + "ragged_page_attention_v2._interface")
    fn, args = ragged_v2(types.SimpleNamespace(ragged_paged_attention=v2.ragged_page_attention_v2), softmax_scale=0.1)
    yield "ragged page attention v2", fn, args
    v3 = importlib.import_module(base + "ragged_page_attention_v3._pallas_impl_fwd")
    chip = importlib.import_module(base + "ragged_page_attention_v3._utils")
    chip.get_device_name, chip.get_tpu_version = lambda *_: "TPU v5", lambda: 5
    yield "ragged page attention v3", *rpa_v3(v3, num_kv_pages_per_block=2, num_queries_per_block=8), scaled(v3.ref_ragged_paged_attention)
    h64 = importlib.import_module(base + "ragged_page_attention_v3._pallas_impl_fwd_h64")
    yield "ragged page attention v3, heads of 64", *rpa_v3(h64, head_dim=64, num_kv_pages_per_block=2, num_queries_per_block=8), scaled(h64.ref_ragged_paged_attention_hd64)
    one = importlib.import_module(base + "multi_latent_ragged_page_attention._pallas_impl_fwd")
    yield "mla", *mla(one, "mla_ragged_paged_attention", num_kv_pages_per_block=2, num_queries_per_block=8), scaled(one.ref_mla_ragged_paged_attention)
    two = importlib.import_module(base + "multi_latent_ragged_page_attention_v2._pallas_impl_fwd")
    yield "mla v2", *mla(two, "mla_ragged_paged_attention_v2", num_kv_pages_per_block=2, num_queries_per_block=8), lambda *a: scaled(one.ref_mla_ragged_paged_attention)(*a)[0]
    ce = importlib.import_module(base + "fused_cross_entropy._pallas_impl_fwd")
    logits, labels = normal(0, 16, 512), jnp.arange(16, dtype=jnp.int32) * 30
    for name, how in {"": {}, ", smoothing and z loss": {"label_smoothing": 0.1, "z_loss": 1e-3}}.items():
        yield f"cross entropy{name}, gradients", jax.grad(lambda x, y, h=how: ce.fused_cross_entropy_pallas(x, y, **h)[0]), (logits, labels)
    kl = importlib.import_module(base + "fused_kl_divergence._pallas_impl_fwd")
    for direction in ("forward", "reverse"):
        yield f"kl divergence {direction}, gradients", jax.grad(lambda a, b, d=direction: jax.tree_util.tree_leaves(kl.fused_kl_divergence_pallas(a, b, direction=d))[0].sum()), (
            logits, normal(1, 16, 512))
    heads = normal(0, 1, 2, 128, 128), normal(1, 1, 2, 128, 128), normal(2, 1, 2, 128, 128), jax.nn.sigmoid(normal(3, 1, 2, 128)), -jnp.abs(normal(4, 1, 2, 128))
    rule = importlib.import_module(base + "gated_delta_rule._interface").gated_delta_rule
    turned = tuple(jnp.swapaxes(t, 1, 2) for t in heads)
    yield "gated delta rule, one token", lambda *a: rule(*a[:5], initial_state=a[5]), (*(t[:, :1] for t in turned), normal(9, 1, 2, 128, 128))


CASES = {"ejkernel-serving": ejkernel, "jax-serving": jax_serving, "tpu-inference-serving": tpu_inference, "sglang-jax": sglang}
