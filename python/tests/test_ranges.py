"""Inputs that are labels, indices, probabilities: judged on numbers of that kind alone."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import kernels
import tileproof

LOGITS = np.random.default_rng(0).standard_normal((16, 128)).astype(np.float32)
LABELS = np.random.default_rng(1).integers(0, 128, (16, 1)).astype(np.int32)


def cross_entropy(logits, labels, beyond=0):
    def body(x_ref, y_ref, o_ref):
        x = x_ref[...]
        top = jnp.max(x, axis=1, keepdims=True)
        hit = jax.lax.broadcasted_iota(jnp.int32, x.shape, 1) == y_ref[...] + beyond
        total = jnp.log(jnp.sum(jnp.exp(x - top), axis=1, keepdims=True)) + top
        o_ref[...] = total - jnp.sum(jnp.where(hit, x, 0), axis=1, keepdims=True)

    rows, column = pl.BlockSpec((8, 128), lambda i: (i, 0)), pl.BlockSpec((8, 1), lambda i: (i, 0))
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((16, 1), jnp.float32), grid=(2,), in_specs=[rows, column], out_specs=column)(logits, labels)


def naive(logits, labels):
    return jax.nn.logsumexp(logits, axis=1, keepdims=True) - jnp.take_along_axis(logits, labels, axis=1)


def embedding(rows, table):
    def body(row_ref, w_ref, o_ref):
        def one(t, _):
            o_ref[pl.ds(t, 1), :] = w_ref[pl.ds(row_ref[t], 1), :]

        jax.lax.fori_loop(0, 8, one, None)

    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32), in_specs=[
        pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)], name="embedding")(rows, table)


def test_integers_lie_between_what_the_arrays_hold():
    report = tileproof.verify(cross_entropy, naive, LOGITS, LABELS)
    assert report.ok, report
    assert f"{LABELS.min()} <= y <= {LABELS.max()}, as in the arrays of this call" in str(report)
    wrong = tileproof.verify(lambda x, y: cross_entropy(x, y, 1), naive, LOGITS, LABELS)
    assert not wrong.equivalence and any(f.rule == "TP701" for f in wrong.of("violated")), wrong


@pytest.mark.parametrize("reference, proven", [
    (lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y, axis=1), True),
    (lambda x, y: -jax.nn.log_softmax(x)[jnp.arange(16), y[:, 0]][:, None], True),
    (lambda x, y: jax.nn.logsumexp(x, axis=1, keepdims=True) - x[jnp.arange(16)[:, None], y], True),
    (lambda x, y: -jnp.sum(jax.nn.one_hot(y[:, 0], 128) * jnp.log(jax.nn.softmax(x)), axis=1, keepdims=True), True),
    (lambda x, y: -jax.nn.log_softmax(x)[jnp.arange(16)[::-1], y[:, 0]][:, None], False),
    (lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y ^ 1, axis=1), False)],
    ids=["along", "rows", "rows and columns", "one hot", "other rows", "another label"])
def test_a_reference_picks_by_labels(reference, proven):
    report = tileproof.verify(cross_entropy, reference, LOGITS, LABELS)
    assert any(t.name == "all sizes" and t.verdict == "proven" for t in report.tiers) == proven, report
    assert report.ok == proven, report


def test_rows_are_proven_by_what_is_said_of_them():
    rows, table = np.array([3, 1, 0, 31, 7, 7, 2, 30], np.int32), np.zeros((32, 128), np.float32)
    assert tileproof.verify(embedding, lambda r, w: w[r], rows, table).ok
    shapes = jax.ShapeDtypeStruct((8,), jnp.int32), jax.ShapeDtypeStruct((32, 128), jnp.float32)
    assert tileproof.check(embedding, *shapes, values={"row": (0, 31)}).of("unknown") == []
    assert [f.rule for f in tileproof.check(embedding, *shapes, values={"row": (0, 32)}).of("unknown")] == ["TP102"]
    assert [f.rule for f in tileproof.check(embedding, *shapes).of("unknown")] == ["TP102"]


def test_a_range_of_no_input_is_refused():
    with pytest.raises(tileproof.TileproofError, match="values= names `rows`; the inputs and tables of the kernels are row, w"):
        tileproof.check(embedding, jax.ShapeDtypeStruct((8,), jnp.int32), jax.ShapeDtypeStruct((32, 128), jnp.float32), values={"rows": (0, 31)})


def log_of(p):
    def body(p_ref, o_ref):
        o_ref[...] = jnp.log(jnp.maximum(p_ref[...], 1e-6))

    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(p.shape, p.dtype))(p)


def test_floats_by_what_the_caller_says():
    p = np.random.default_rng(2).uniform(0.01, 1, (8, 128)).astype(np.float32)
    assert not tileproof.verify(log_of, lambda p: jnp.log(jnp.abs(p)), p).ok
    assert tileproof.verify(log_of, lambda p: jnp.log(jnp.abs(p)), p, values={"p": (1e-6, 1)}).ok


def gate(x, first=True):
    def body(x_ref, w_ref, i_ref):
        x = x_ref[...]
        lane = jax.lax.broadcasted_iota(jnp.int32, x.shape, 1)
        top = jnp.max(x, axis=1, keepdims=True)
        where = jnp.min(jnp.where(x == top, lane, 128), 1, keepdims=True) if first else jnp.max(jnp.where(x == top, lane, -1), 1, keepdims=True)
        second = jnp.max(jnp.where(lane == where, -jnp.inf, x), axis=1, keepdims=True)
        w_ref[...] = 1 / (1 + jnp.exp(second - top))
        i_ref[...] = where

    out = [jax.ShapeDtypeStruct((8, 1), jnp.float32), jax.ShapeDtypeStruct((8, 1), jnp.int32)]
    return pl.pallas_call(body, out_shape=out)(x)


def naive_gate(x):
    w, i = jax.lax.top_k(jax.nn.softmax(x, axis=-1), 2)
    return w[:, :1] / jnp.sum(w, axis=1, keepdims=True), i[:, :1].astype(jnp.int32)


@pytest.mark.parametrize("x", [LOGITS[:8, :16], jax.ShapeDtypeStruct((8, 16), jnp.float32)], ids=["array", "shape"])
def test_what_orders_is_compared_with_ties(x):
    assert tileproof.verify(gate, naive_gate, x).ok
    last = tileproof.verify(lambda x: gate(x, first=False), naive_gate, x)
    assert not last.ok and "each second element of a row is equal to the one before it" in str(last), last


@pytest.mark.parametrize("reference", [
    lambda i, g: jnp.zeros((16, 128), jnp.float32).at[i].add(g),
    lambda i, g: jax.ops.segment_sum(g, i, 16),
], ids=["add", "segment_sum"])
def test_references_scatter_rows(reference):
    def body(id_ref, g_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        def one(t, _):
            o_ref[pl.ds(id_ref[t], 1), :] += g_ref[pl.ds(t, 1), :]

        jax.lax.fori_loop(0, 8, one, None)

    def scatter(i, g):
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32), in_specs=[
            pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)], name="scatter")(i, g)

    report = tileproof.verify(scatter, reference, np.array([3, 1, 0, 3, 15, 3, 2, 0], np.int32), LOGITS[:8])
    assert report.ok and report.compared["scatter"] == "tested", report


def test_what_is_executed_is_filled_inside():
    def around(rows, table):
        return embedding(rows, table) * 2

    shapes = jax.ShapeDtypeStruct((8,), jnp.int32), jax.ShapeDtypeStruct((32, 128), jnp.float32)
    report = tileproof.verify(around, lambda r, w: w[r] * 2, *shapes, values={"row": (0, 31)})
    assert report.ok and report.compared["around()"] == "tested", report


def loss(logits, labels):
    def body(x_ref, y_ref, o_ref):
        x = x_ref[...]
        hit = jax.lax.broadcasted_iota(jnp.int32, x.shape, 1) == y_ref[...]
        o_ref[...] = -jnp.sum(jnp.where(hit, x, 0), axis=1, keepdims=True)

    n, v = logits.shape
    rows, column = pl.BlockSpec((8, v), lambda i: (i, 0)), pl.BlockSpec((8, 1), lambda i: (i, 0))
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((n, 1), jnp.float32), grid=(n // 8,), in_specs=[rows, column], out_specs=column)(logits, labels)


def test_ends_are_expressions_over_sizes():
    report = tileproof.verify(lambda x, y: loss(x, y) + 1, lambda x, y: 1 - jnp.take_along_axis(x, y, axis=1), "f32[64,V]", "i32[64,1]",
                              sizes={"V": 256}, values={"y": (0, "V - 1")}, seconds=10)
    assert report.equivalence, report
    assert report.reports[0]["specs"][0]["domain"]["values"] == ["0 <= y <= V - 1"]


def gathered(rows, table):
    def body(row_ref, w_ref, o_ref):
        o_ref[...] = w_ref[...]

    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=rows.shape, in_specs=[pl.BlockSpec((1, 1, 128), lambda i, r: (r[i], 0, 0))],
                                        out_specs=pl.BlockSpec((1, 1, 128), lambda i, r: (i, 0, 0)))
    return pl.pallas_call(body, grid_spec=grid, out_shape=jax.ShapeDtypeStruct((rows.shape[0], 1, 128), jnp.float32))(rows, table)


def test_tables_of_which_only_the_shape_is_given():
    """values= says what they hold, as the help of the finding wants; the ends may be sizes."""
    shapes = jax.ShapeDtypeStruct((16,), jnp.int32), jax.ShapeDtypeStruct((50, 1, 128), jnp.float32)
    ask = lambda **given: tileproof.verify(gathered, lambda rows, table: table[rows], *shapes, **given)  # noqa: E731
    free = ask()
    assert not free.ok and [f.rule for f in free.of("violated")] == ["TP101"] and any("open" in t for t in free.assumed)
    assert 'declare what `row` holds: `values={"row": (0, 49)}`' in str(free), free
    within = ask(values={"row": (0, 49)})
    assert within.ok and not within.assumed and ("all sizes", "proven") in [(t.name, t.verdict) for t in within.tiers], within
    assert not ask(values={"row": (0, 50)}).ok
    with pytest.raises(tileproof.TileproofError, match="the inputs and tables of the kernels are w, row"):
        ask(values={"rows": (0, 49)})
    sizes = tileproof.verify(gathered, lambda rows, table: table[rows], "i32[N]", "f32[V,1,128]", sizes={"N": 8, "V": 50}, values={"row": (0, "V - 1")})
    assert sizes.ok, sizes


def test_advice_is_told():
    """What overflows where the reference does not is ok, and said: count, place and fix, in text and table."""
    def softmax(x):
        def body(x_ref, o_ref):
            e = jnp.exp(x_ref[...])
            o_ref[...] = e / jnp.sum(e, axis=1, keepdims=True)

        rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, jnp.float32), grid=(2,), in_specs=[rows], out_specs=rows)(x)

    report = tileproof.verify(softmax, lambda x: jax.nn.softmax(x, axis=1), jax.ShapeDtypeStruct((16, 128), jnp.float32))
    text, table = str(report), report._repr_html_()
    assert report.ok and "advice[TP703]" in text and "subtract the maximum first" in text and "; overflows in the only case" in text, text
    assert " advice" in text.splitlines()[0] and "advice[TP703]" in table, text


def picked(labels, x):
    def body(y_ref, x_ref, o_ref):
        o_ref[...] = jnp.sum(jnp.where(jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 1) == y_ref[...], x_ref[...], 0), axis=1, keepdims=True)

    column = pl.BlockSpec((8, 1), lambda i: (i, 0))
    return pl.pallas_call(body, grid=(pl.cdiv(x.shape[0], 8),), in_specs=[column, pl.BlockSpec((8, 128), lambda i: (i, 0))], out_specs=column,
                          out_shape=jax.ShapeDtypeStruct((x.shape[0], 1), jnp.float32))(labels, x)


def wrapped(labels, x):
    return picked(labels[:, None], x)[:, 0]


@pytest.mark.parametrize("fn, reference, labels", [
    (picked, lambda y, x: jnp.take_along_axis(x, y, axis=1), "i32[N,1]"),
    (wrapped, lambda y, x: jnp.take_along_axis(x, y[:, None], axis=1)[:, 0], "i32[N]")])
def test_ranges_hold_where_a_call_moves_its_arguments_and_at_sizes_that_are_left_out(fn, reference, labels):
    report = tileproof.verify(fn, reference, labels, "f32[N,128]", sizes={"N": 32}, values={"y": (0, 127)})
    assert report.ok, report


def test_where_the_reference_is_nan_nothing_is_compared():
    def guarded(y, x):
        return jnp.where((y >= 0) & (y < 128), jnp.take_along_axis(x, y, axis=1), jnp.nan)

    rows = np.ones((16, 128), np.float32)
    one = np.where(np.arange(16) == 3, -1, LABELS[:, 0])[:, None].astype(np.int32)
    assert tileproof.assert_equivalent(picked, guarded, one, rows) == 1
    report = tileproof.verify(picked, guarded, LABELS + 128, rows)
    assert not report.ok and "is compared with nothing: the reference is nan everywhere" in str(report)


def test_integers_in_smem_are_those_of_the_call():
    def scatter(rows, x):
        def body(row_ref, x_ref, o_ref):
            def one(t, _):
                o_ref[pl.ds(row_ref[t], 1), :] = x_ref[pl.ds(t, 1), :]

            jax.lax.fori_loop(0, 8, one, None)

        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                              in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)])(rows, x)

    x, order = np.ones((8, 128), np.float32), np.array([3, 1, 0, 2, 7, 6, 5, 4], np.int32)
    assert tileproof.verify(scatter, lambda rows, x: jnp.zeros_like(x).at[rows].set(x), order, x).ok
    assert [f.rule for f in tileproof.check(scatter, order.clip(1), x).of("violated")] == ["TP401"]


SEGMENTS = np.sort(np.random.default_rng(2).integers(0, 8, 64)).astype(np.int32)


def by_segment(segments, x, shift=0):
    def kernel(segments, x, o):
        here = jax.lax.broadcasted_iota(jnp.int32, (8, 64), 0) == segments[...][None, :] + shift
        o[...] = here.astype(jnp.float32) @ x[...]

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(segments, x)


@pytest.mark.parametrize("reference", [lambda s, x: jax.ops.segment_sum(x, s, num_segments=8), lambda s, x: jnp.zeros((8, 128), x.dtype).at[s].add(x)])
def test_sums_by_segment_are_proven(reference):
    x = kernels.array(64, 128)
    assert "all sizes: proven" in str(tileproof.verify(by_segment, reference, SEGMENTS, x))
    assert not tileproof.verify(functools.partial(by_segment, shift=1), reference, SEGMENTS, x).ok


def test_rows_that_are_taken_in_a_kernel_are_proven():
    def taken(rows, table):
        def kernel(rows, table, o):
            o[...] = jnp.take(table[...], rows[...], axis=0)

        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32))(rows, table)

    assert "all sizes: proven" in str(tileproof.verify(taken, lambda rows, table: table[rows], SEGMENTS, kernels.array(8, 128)))
