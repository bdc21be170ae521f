"""Defects planted in the source of kernels that JAX ships, and variants that
are right: verify is not ok, and ok."""

import importlib
import importlib.util
import pathlib
import sys

import jax
import jax.numpy as jnp
import kernels
import pytest
from jax.experimental.pallas.ops.tpu import flash_attention, matmul

import tileproof
from tileproof import places

grouped = importlib.import_module("jax.experimental.pallas.ops.tpu.megablox.gmm")  # the package has a function of that name
X, Y = kernels.array(256, 256), kernels.array(256, 128, seed=1)
Q, K, V = (kernels.array(1, 1, 256, 128, seed=n) for n in range(3))
# text of the source, what stands in its place, the rule that says it; with * at that statement
PRODUCTS = [
    ("pl.program_id(2) == 0", "pl.program_id(2) == 1", "TP701*"), ("pl.program_id(2) == 0", "pl.program_id(1) == 0", "TP701*"),
    ("acc_ref[...] + jnp.dot(", "jnp.dot(", "TP701*"), ("acc_ref[...] + jnp.dot(", "acc_ref[...] - jnp.dot(", "TP701*"),
    ("jnp.zeros_like(acc_ref)", "jnp.ones_like(acc_ref)", "TP701*"), ("o_tile_ref[...] = acc_ref", "o_tile_ref[...] = x_tile_ref", "TP701*"),
    ("lambda i, _, k: (i, k)", "lambda i, _, k: (i + 1, k)", "TP101*"), ("lambda i, _, k: (i, k)", "lambda i, _, k: (i, 0)", "TP701*"),
    ("lambda i, _, k: (i, k)", "lambda i, _, k: (k, i)", "TP701*"), ("lambda _, j, k: (k, j)", "lambda _, j, k: (0, j)", "TP701*"),
    ("lambda i, j, k: (i, j)", "lambda i, j, k: (j, i)", "TP101*"), ("lambda i, j, k: (i, j)", "lambda i, j, k: (0, j)", "TP403*"),
    ("x.shape[1] // block_k)", "x.shape[1] // block_k - 1)", "TP701*"), ("x.shape[1] // block_k)", "x.shape[1] // block_k + 1)", "TP101*"),
    ("x.shape[0] // l,", "x.shape[0] // l - 1,", "TP401*"),
]
ATTENTIONS = [
    ("s *= sm_scale", "s *= sm_scale * 1.01", "TP701*"), ("causal_mask = col_ids <= row_ids", "causal_mask = col_ids < row_ids", "TP701*"),
    ("def start_new_sequence():\n    m_scratch_ref", "def start_new_sequence():\n   if False:\n    m_scratch_ref", "TP404"), ("l_corr = alpha * l_prev", "l_corr = l_prev", "TP701"),
    ("alpha = jnp.exp(m_prev - m_next)", "alpha = jnp.exp(m_next - m_prev)", "TP701*"), ("((r + 1) * r_blk_size - 1)", "(r * r_blk_size - 1)", "TP701"),
    ("kv_seq_idx == 0)", "kv_seq_idx == 1)", "TP701*"),
    ("row_ids += q_seq_idx * block_q", "row_ids += q_seq_idx", "TP701*"), ("(kv_seq_len // block_k_major) - 1)", "(kv_seq_len // block_k_major) - 2)", "TP701*"),
    ("return (batch_index, head_index, next_kv_index, 0)", "return (batch_index, head_index, next_kv_index + 1, 0)", "TP101*"),
    ("acc_scratch_ref[batch_idx] += o_curr * l_broadcast(l_next_inv_safe)", "acc_scratch_ref[batch_idx] += o_curr", "TP701"),
]
# rows of groups: the last group is empty, one begins inside of a tile
GROUPED = [
    ("k_i == 0)", "k_i == 1)", "TP701*"), ("acc_scratch[...] += lax.dot_general(", "acc_scratch[...] = lax.dot_general(", "TP701*"), ("k_i == tiles_k - 1,", "k_i == tiles_k - 2,", "TP701*"),
    ("return m_tile_ids[grid_id], k_i", "return m_tile_ids[grid_id], 0", "TP701*"), ("return m_tile_ids[grid_id], n_i", "return m_tile_ids[grid_id] + 1, n_i", "TP101*"),
    ("return group_ids[grid_id] - group_offset[0], k_i, n_i", "return group_ids[grid_id] + 2 - group_offset[0], k_i, n_i", "TP101*"),
    ("mask[...], to_store,", "~mask[...], to_store,", "TP701*"), ("out[...].astype(jnp.float32)", "jnp.zeros_like(to_store)", "TP701*"), ("iota >= group_start", "iota > group_start", "TP404"),
]
SAME_PRODUCTS = [
    ("", ""), ("acc_ref[...] + jnp.dot(", "jnp.zeros_like(acc_ref) + acc_ref[...] + jnp.dot("), ("pl.program_id(2) == 0", "pl.program_id(2) < 1"),
    ("lambda i, _, k: (i, k)", "lambda i, j, k: (i + 0 * j, k)"), ("x.shape[1] // block_k)", "-(-x.shape[1] // block_k))"),
]
SAME_PRODUCTS += [
    ("jnp.zeros_like(acc_ref)", "0 * jnp.ones_like(acc_ref)"), ("lambda _, j, k: (k, j)", "lambda i, j, k: (k + i - i, j)"), ("lambda i, j, k: (i, j)", "lambda i, j, k: (i * 1, j)"),
    ("x.shape[0] // l,", "(x.shape[0] + l - 1) // l,"), ("acc_ref[...] + jnp.dot(", "1 * acc_ref[...] + jnp.dot("),
]
SAME_ATTENTIONS = [
    ("", ""), ("s *= sm_scale", "s = sm_scale * s"), ("causal_mask = col_ids <= row_ids", "causal_mask = ~(col_ids > row_ids)"),
    ("alpha = jnp.exp(m_prev - m_next)", "alpha = 1 / jnp.exp(m_next - m_prev)") , ("kv_seq_idx == 0)", "kv_seq_idx < 1)"), ("l_corr = alpha * l_prev", "l_corr = l_prev * alpha"),
    ("m_next = jnp.maximum(m_prev, m_curr)", "m_next = jnp.maximum(m_curr, m_prev)"), ("row_ids += q_seq_idx * block_q", "row_ids += block_q * q_seq_idx"),
    ("s = s if mask is None else s + jnp.where(mask, 0.0, mask_value)", "s = s if mask is None else jnp.where(mask, s, mask_value)"),
    ("jnp.zeros(l_scratch_ref", "jnp.ones(l_scratch_ref"),  # times exp(-inf)
    ("(kv_seq_len // block_k_major) - 1)", "(kv_seq_len - 1) // block_k_major)"), ("kv_seq_idx * block_k_major + start_k", "start_k + block_k_major * kv_seq_idx"),
]
SAME_GROUPED = [
    ("iota < group_end", "iota <= group_end"),  # the group that comes next writes that row over
    ("", ""), ("acc_scratch[...] += lax.dot_general(", "acc_scratch[...] = acc_scratch[...] + lax.dot_general("), ("k_i == tiles_k - 1,", "k_i >= tiles_k - 1,"),
    ("k_i == 0)", "k_i < 1)"), ("jnp.zeros_like(acc_scratch)", "0 * jnp.ones_like(acc_scratch)"), ("to_store = acc_scratch[...]", "to_store = 1 * acc_scratch[...]"),
    ("iota >= group_start, iota < group_end", "group_start <= iota, ~(iota >= group_end)"), ("return m_tile_ids[grid_id], k_i", "return m_tile_ids[grid_id] + 0, k_i"),
    ("(tm, tn), 0) + m_id", "(tm, tn), 0) + m_tile_ids[grid_id] * tm"), ("return group_ids[grid_id] - group_offset[0], k_i, n_i", "return group_ids[grid_id] + 0 - group_offset[0], k_i, n_i"),
]


def changed(module, folder, old, new):
    """The module with a text of its source changed once, and the line of the change."""
    source = pathlib.Path(module.__file__).read_text()
    assert old in source
    path = folder / f"changed_{module.__name__.split('.')[-1]}.py"
    path.write_text(source.replace(old, new, 1))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made, source[:source.index(old)].count("\n") + 1


def product(module):
    return tileproof.verify(lambda x, y: module.matmul(x, y, block_shape=(128, 128), block_k=128), jnp.matmul, X, Y)


def attention(module):
    sizes = module.BlockSizes(block_q=128, block_k_major=128, block_k=128, block_b=1)

    def naive(q, k, v):
        s = jnp.where(jnp.tril(jnp.ones((256, 256), bool)), jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.125, -1e30)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s, -1), v)

    return tileproof.verify(lambda q, k, v: module.flash_attention(q, k, v, causal=True, sm_scale=0.125, block_sizes=sizes), naive, Q, K, V)


def groups(module):
    sizes = [100, 60, 96, 0]
    w = kernels.array(4, 256, 128, seed=3)

    def naive(x, w):
        ends = [sum(sizes[:n]) for n in range(5)]
        return jnp.concatenate([x[a:b] @ w[n] for n, (a, b) in enumerate(zip(ends, ends[1:], strict=False))])

    return tileproof.verify(lambda x, w: module.gmm(x, w, jnp.array(sizes, jnp.int32), tiling=(128, 128, 128)), naive, X, w)


KERNELS = [(product, matmul, PRODUCTS, SAME_PRODUCTS), (attention, flash_attention, ATTENTIONS, SAME_ATTENTIONS), (groups, grouped, GROUPED, SAME_GROUPED)]


@pytest.mark.parametrize(("judge", "module", "old", "new", "rule"), [(judge, module, *d) for judge, module, defects, _ in KERNELS for d in defects])
def test_a_defect(tmp_path, judge, module, old, new, rule):
    made, line = changed(module, tmp_path, old, new)
    report = judge(made)
    named = [(f.rule, place) for f in report.of("violated") for place in (f.python, f.grid) if place]
    assert not report.ok and rule.rstrip("*") in {r for r, _ in named}, report
    assert not rule.startswith("TP7") or not report.equivalence
    assert pathlib.Path(made.__file__).name + ":" in str(report)  # a statement of the module: that one, or the store that it spoils
    planted = [f"{made.__file__}:{n}" for n in range(line, line + new.count("\n") + 1)]
    same = {places.statement(p) for p in planted}
    near = [p for r, p in named if r == rule.rstrip("*") and abs(int(p.rpartition(":")[2]) - line) < 8 and places.statement(p) in same]
    assert near or not rule.endswith("*"), report


@pytest.mark.parametrize(("judge", "module", "old", "new"), [(judge, module, *v) for judge, module, _, variants in KERNELS for v in variants])
def test_a_variant_that_is_right(tmp_path, judge, module, old, new):
    report = judge(changed(module, tmp_path, old, new)[0])
    assert report.ok and not report.of("violated"), report
