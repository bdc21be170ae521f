"""Defects planted in the source of kernels that JAX ships, and variants that
are right: verify is not ok, and ok."""

import importlib.util
import pathlib
import sys

import jax
import jax.numpy as jnp
import kernels
import pytest
from jax.experimental.pallas.ops.tpu import flash_attention, matmul

import tileproof

X, Y = kernels.array(256, 256), kernels.array(256, 128, seed=1)
Q, K, V = (kernels.array(1, 1, 256, 128, seed=n) for n in range(3))
# text of the source, what stands in its place, the rule where one says it (with * when at that line)
PRODUCTS = [
    ("pl.program_id(2) == 0", "pl.program_id(2) == 1", ""), ("pl.program_id(2) == 0", "pl.program_id(1) == 0", ""),
    ("acc_ref[...] + jnp.dot(", "jnp.dot(", ""), ("acc_ref[...] + jnp.dot(", "acc_ref[...] - jnp.dot(", ""),
    ("jnp.zeros_like(acc_ref)", "jnp.ones_like(acc_ref)", ""), ("o_tile_ref[...] = acc_ref", "o_tile_ref[...] = x_tile_ref", ""),
    ("lambda i, _, k: (i, k)", "lambda i, _, k: (i + 1, k)", "TP101*"), ("lambda i, _, k: (i, k)", "lambda i, _, k: (i, 0)", ""),
    ("lambda i, _, k: (i, k)", "lambda i, _, k: (k, i)", ""), ("lambda _, j, k: (k, j)", "lambda _, j, k: (0, j)", ""),
    ("lambda i, j, k: (i, j)", "lambda i, j, k: (j, i)", "TP101*"), ("lambda i, j, k: (i, j)", "lambda i, j, k: (0, j)", "TP403"),
    ("x.shape[1] // block_k)", "x.shape[1] // block_k - 1)", ""), ("x.shape[1] // block_k)", "x.shape[1] // block_k + 1)", "TP101"),
    ("x.shape[0] // l,", "x.shape[0] // l - 1,", "TP401"),
]
ATTENTIONS = [
    ("s *= sm_scale", "s *= sm_scale * 1.01", ""), ("causal_mask = col_ids <= row_ids", "causal_mask = col_ids < row_ids", ""),
    ("def start_new_sequence():\n    m_scratch_ref", "def start_new_sequence():\n   if False:\n    m_scratch_ref", "TP404"), ("l_corr = alpha * l_prev", "l_corr = l_prev", ""),
]
SAME_PRODUCTS = [
    ("", ""), ("acc_ref[...] + jnp.dot(", "jnp.zeros_like(acc_ref) + acc_ref[...] + jnp.dot("), ("pl.program_id(2) == 0", "pl.program_id(2) < 1"),
    ("lambda i, _, k: (i, k)", "lambda i, j, k: (i + 0 * j, k)"), ("x.shape[1] // block_k)", "-(-x.shape[1] // block_k))"),
]
SAME_ATTENTIONS = [("", ""), ("s *= sm_scale", "s = sm_scale * s"), ("causal_mask = col_ids <= row_ids", "causal_mask = ~(col_ids > row_ids)")]


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


@pytest.mark.parametrize(("judge", "module", "old", "new", "rule"), [(product, matmul, *d) for d in PRODUCTS] + [(attention, flash_attention, *d) for d in ATTENTIONS])
def test_a_defect(tmp_path, judge, module, old, new, rule):
    made, line = changed(module, tmp_path, old, new)
    report = judge(made)
    violated = {f.rule: f.python for f in report.of("violated")}
    assert not report.ok and rule.rstrip("*") in {*violated, ""}, report
    assert rule or not report.equivalence
    assert not rule.endswith("*") or violated[rule[:-1]].endswith(f":{line}"), report


@pytest.mark.parametrize(("judge", "module", "old", "new"), [(product, matmul, *s) for s in SAME_PRODUCTS] + [(attention, flash_attention, *s) for s in SAME_ATTENTIONS])
def test_a_variant_that_is_right(tmp_path, judge, module, old, new):
    report = judge(changed(module, tmp_path, old, new)[0])
    assert report.ok and not report.of("violated"), report
