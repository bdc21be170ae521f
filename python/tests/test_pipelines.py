"""Pipelines inside of kernels (`pltpu.emit_pipeline`): as a longer grid where a kernel is one, else as "pipelines", or as the loop that one stands for."""

import json
import linecache
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.pallas.mosaic import tpu_info
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import kernels
import test_emit
import tileproof
from tileproof import fields, pipelines
from tileproof import jaxpr as jx

F32 = jnp.float32
FAR = pl.BlockSpec(memory_space=pl.ANY)


def call(kernel, *args, out, grid=(), scratch=(), tables=0, semantics=None):
    """A pallas_call whose arrays stay in HBM; the first `tables` arguments are prefetched."""
    outs = [jax.ShapeDtypeStruct(s, F32) for s in out]
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=tables, grid=grid, in_specs=[FAR] * (len(args) - tables), out_specs=[FAR] * len(outs), scratch_shapes=scratch)
    results = pl.pallas_call(kernel, grid_spec=spec, out_shape=outs, compiler_params=pltpu.CompilerParams(dimension_semantics=semantics))(*args)
    return results[0] if len(outs) == 1 else results


def product(x_ref, y_ref, o_ref, acc_ref, k=None, init=True):
    """A step of a product: acc starts at the first block along K, o is its last value. `k`: how many elements of K there are."""
    step, steps = pl.program_id(2), pl.num_programs(2)
    if init:
        pl.when(step == 0)(lambda: acc_ref.__setitem__(..., jnp.zeros_like(acc_ref)))
    x, y = x_ref[...], y_ref[...]
    if k is not None:
        inside = step * x.shape[1] + jax.lax.broadcasted_iota(jnp.int32, x.shape, 1) < k
        x = jnp.where(inside, x, 0)
        y = jnp.where(step * y.shape[0] + jax.lax.broadcasted_iota(jnp.int32, y.shape, 0) < k, y, 0)
    acc_ref[...] += jnp.dot(x, y, preferred_element_type=F32)
    if acc_ref is not o_ref:
        pl.when(step == steps - 1)(lambda: o_ref.__setitem__(..., acc_ref[...]))


def blocks(m, n, k, at=lambda i: i, more=0):
    """Grid and BlockSpecs of a product by blocks of 128."""
    grid = (pl.cdiv(m, 128), pl.cdiv(n, 128), pl.cdiv(k, 128) + more)
    return {"grid": grid, "in_specs": [pl.BlockSpec((128, 128), lambda i, j, k: (i, at(k))), pl.BlockSpec((128, 128), lambda i, j, k: (at(k), j))],
            "out_specs": [pl.BlockSpec((128, 128), lambda i, j, k: (i, j))]}


def matmul(x, y, mask=False, init=True, scoped=False, **how):
    """All of the kernel is a pipeline; its accumulator is scratch of the call, or of a scope."""
    m, k, n = *x.shape, y.shape[1]

    def kernel(x_hbm, y_hbm, o_hbm, *acc):
        def run(acc):
            pltpu.emit_pipeline(lambda *refs: product(*refs, k=k if mask else None, init=init), **blocks(m, n, k, **how))(x_hbm, y_hbm, o_hbm, scratches=[acc])

        pl.run_scoped(run, pltpu.VMEM((128, 128), F32)) if scoped else run(*acc)

    return call(kernel, x, y, out=[(m, n)], scratch=[] if scoped else [pltpu.VMEM((128, 128), F32)])


def products(x, y, init=True, by_view=False, semantics=None, **how):
    """A product for each step of the call, whose output is its accumulator."""
    (_, m, k), n = x.shape, y.shape[2]

    def kernel(x_hbm, y_hbm, o_hbm):
        b, given = pl.program_id(0), blocks(m, n, k, **how)
        if by_view:
            refs = [r.at[b] for r in (x_hbm, y_hbm, o_hbm)]
        else:
            refs = [x_hbm, y_hbm, o_hbm]
            given |= {key: [pl.BlockSpec((None, 128, 128), lambda i, j, k, f=s.index_map: (b, *f(i, j, k))) for s in given[key]] for key in ("in_specs", "out_specs")}
        pltpu.emit_pipeline(lambda x_ref, y_ref, o_ref: product(x_ref, y_ref, o_ref, o_ref, init=init), **given)(*refs)

    return call(kernel, x, y, out=[(x.shape[0], m, n)], grid=(x.shape[0],), semantics=semantics)


ROWS = pl.BlockSpec((16, 128), lambda i: (i, 0))


def twice(x, steps=0, late=0):
    """Two pipelines, one after the other: the second one reads what the first one wrote."""
    n = pl.cdiv(x.shape[0], 16)

    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    def increase(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    def kernel(x_hbm, between, o_hbm):
        pltpu.emit_pipeline(double, grid=(n + steps,), in_specs=[ROWS], out_specs=[ROWS])(x_hbm, between)
        pltpu.emit_pipeline(increase, grid=(n,), in_specs=[pl.BlockSpec((16, 128), lambda i: (i + late, 0))], out_specs=[ROWS])(between, o_hbm)

    return call(kernel, x, out=[x.shape, x.shape])


def grouped(starts, x, w, at=lambda g, t, first: first // 16 + t, semantics=None):
    """Rows from starts[g] below starts[g + 1] times matrix g: a pipeline over the tiles of each group, where groups begin at tiles."""
    groups, k, n = w.shape

    def kernel(starts, x_hbm, w_hbm, o_hbm):
        g = pl.program_id(0)
        first, end = starts[g], starts[g + 1]

        def body(x_ref, w_ref, o_ref):
            o_ref[...] = jnp.dot(x_ref[...], w_ref[0], preferred_element_type=F32)

        pltpu.emit_pipeline(body, grid=((end - first) // 16,),
                            in_specs=[pl.BlockSpec((16, k), lambda t: (at(g, t, first), 0)), pl.BlockSpec((1, k, n), lambda t: (g, 0, 0))],
                            out_specs=[pl.BlockSpec((16, n), lambda t: (at(g, t, first), 0))])(x_hbm, w_hbm, o_hbm)

    return call(kernel, starts, x, w, out=[(x.shape[0], n)], grid=(groups,), tables=1, semantics=semantics)


def summed(segment, x, init=True):
    """Blocks of rows that a table names are summed: steps of one segment, one after the other, share the window of the output. Which is which
    the table says alone, and a pipeline before this one keeps both from being the grid."""
    steps, segments = segment.shape[0], 3

    def kernel(segment, x_hbm, o_hbm, seen_hbm):
        def add(x_ref, o_ref):
            i = pl.program_id(0)
            if init:
                pl.when((i == 0) | (segment[i] != segment[jnp.maximum(i - 1, 0)]))(lambda: o_ref.__setitem__(..., jnp.zeros_like(o_ref)))
            o_ref[...] += x_ref[...]

        def copy(x_ref, o_ref):
            o_ref[...] = x_ref[...]

        pltpu.emit_pipeline(copy, grid=(steps,), in_specs=[ROWS], out_specs=[ROWS])(x_hbm, seen_hbm)
        pltpu.emit_pipeline(add, grid=(steps,), in_specs=[ROWS], out_specs=[pl.BlockSpec((16, 128), lambda i: (segment[i], 0))])(x_hbm, o_hbm)

    return call(kernel, segment, x, out=[(16 * segments, 128), x.shape], tables=1)


def in_memory(x):
    """A pipeline in a scope, over buffers that are where its windows would be."""
    def kernel(x_hbm, o_hbm):
        def scope(x_ref, o_ref):
            pltpu.sync_copy(x_hbm, x_ref)
            o_ref[...] = jnp.zeros_like(o_ref)
            all_of = pl.BlockSpec(x.shape, lambda i: (0, 0), memory_space=pltpu.VMEM)
            pltpu.emit_pipeline(lambda x, o: o.__setitem__(..., o[...] + x[...]), grid=(3,), in_specs=[all_of], out_specs=[all_of])(x_ref, o_ref)
            pltpu.sync_copy(o_ref, o_hbm)

        pl.run_scoped(scope, pltpu.VMEM(x.shape, F32), pltpu.VMEM(x.shape, F32))

    return call(kernel, x, out=[x.shape])


def by_count(count, x):
    """As many blocks as a table says, by all of the kernel."""
    def kernel(count, x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2

        pltpu.emit_pipeline(body, grid=(count[0],), in_specs=[ROWS], out_specs=[ROWS])(x_hbm, o_hbm)

    return call(kernel, count, x, out=[x.shape], tables=1)


def gathered(ids, count, x, ahead=True, behind=False):
    """Blocks that a table names; table and count are no prefetched scalars but inputs in SMEM, perhaps behind the array, and blocks are fetched as soon
    as a buffer is free."""
    mode = pl.Buffered(3, use_lookahead=True) if ahead else None

    def kernel(*refs):
        count, ids, x_hbm, o_hbm = refs if not behind else (*refs[1:3], refs[0], refs[3])

        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2

        pltpu.emit_pipeline(body, grid=(count[0],), in_specs=[pl.BlockSpec((16, 128), lambda i: (ids[i], 0), pipeline_mode=mode)], out_specs=[ROWS])(x_hbm, o_hbm)

    small = pl.BlockSpec(memory_space=pltpu.SMEM)
    specs, args = ([small, small, FAR], (count, ids, x)) if not behind else ([FAR, small, small], (x, count, ids))
    return pl.pallas_call(kernel, in_specs=specs, out_specs=FAR, out_shape=jax.ShapeDtypeStruct(x.shape, F32))(*args)


def bounded(starts, x, more=0):
    """Rows of groups of any length, each of which fits a window."""
    def kernel(starts, x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2

        spec = pl.BlockSpec((pl.BoundedSlice(16), 8, 128), lambda g: (pl.ds(starts[g], starts[g + 1] - starts[g] + more), 0, 0))
        pltpu.emit_pipeline(body, grid=(starts.shape[0] - 1,), in_specs=[spec], out_specs=[spec])(x_hbm, o_hbm)

    return call(kernel, starts, x, out=[x.shape], tables=1)


def reshaped(starts, x):
    """The same over a view that makes groups of eight rows of a matrix."""
    def kernel(starts, x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2

        spec = pl.BlockSpec((pl.BoundedSlice(4), 8, 128), lambda g: (pl.ds(starts[g], starts[g + 1] - starts[g]), 0, 0))
        pltpu.emit_pipeline(body, grid=(starts.shape[0] - 1,), in_specs=[spec], out_specs=[spec])(x_hbm.reshape(-1, 8, 128), o_hbm.reshape(-1, 8, 128))

    return call(kernel, starts, x, out=[x.shape], tables=1)


def divided(x):
    """Two cores share the steps of a pipeline."""
    def kernel(x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] + pl.program_id(0).astype(F32)

        pltpu.emit_pipeline(body, grid=(x.shape[0] // 16,), in_specs=[ROWS], out_specs=[ROWS], core_axis=0, dimension_semantics=(pltpu.PARALLEL,))(x_hbm, o_hbm)

    return call(kernel, x, out=[x.shape], grid=(2,), semantics=("parallel",))


def nested(x, bias):
    """A pipeline over rows in one over matrices, which adds what the outer window holds."""
    b, m, n = x.shape

    def kernel(x_hbm, bias_hbm, o_hbm):
        def matrix(bias_ref):
            at = pl.program_id(0)

            def rows(x_ref, o_ref, factor):
                o_ref[...] = x_ref[...] * factor[0] + bias_ref[0] + pl.program_id(0).astype(F32)

            factor = jnp.full((1,), 2, F32)
            pltpu.emit_pipeline(rows, grid=(m // 16,), in_specs=[ROWS], out_specs=[ROWS])(x_hbm.at[at], o_hbm.at[at], scratches=[factor])

        pltpu.emit_pipeline(matrix, grid=(b,), in_specs=[pl.BlockSpec((1, 1, n), lambda i: (i, 0, 0))])(bias_hbm)

    return call(kernel, x, bias, out=[x.shape])


def in_place(x, blocks=4, later=0, rounds=1):
    """A pipeline over one array: what comes in at block b goes out at block b + later, and that in so many rounds."""
    def kernel(x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2

        pltpu.sync_copy(x_hbm, o_hbm)
        pltpu.emit_pipeline(body, grid=(rounds, blocks), in_specs=[pl.BlockSpec((16, 128), lambda r, i: (i, 0))],
                            out_specs=[pl.BlockSpec((16, 128), (lambda r, i: (i + later, 0)) if later else lambda r, i: (i, 0))])(o_hbm, o_hbm)

    return call(kernel, x, out=[x.shape])


def halves(x):
    """Both windows of the output are over one array."""
    def kernel(x_hbm, o_hbm):
        def body(x_ref, upper_ref, lower_ref):
            upper_ref[...] = x_ref[...]
            lower_ref[...] = x_ref[...] + 1

        pltpu.emit_pipeline(body, grid=(2,), in_specs=[ROWS], out_specs=[ROWS, pl.BlockSpec((16, 128), lambda i: (i + 2, 0))])(x_hbm, o_hbm, o_hbm)

    return call(kernel, x, out=[x.shape])


def counted_halves(count, x):
    """The same for as many steps as a table says, which an index map asks for."""
    def kernel(count, x_hbm, o_hbm):
        def body(x_ref, upper_ref, lower_ref):
            upper_ref[...] = x_ref[...]
            lower_ref[...] = x_ref[...] + 1

        behind = pl.BlockSpec((16, 128), lambda i: (i + pl.num_programs(0), 0))
        pltpu.emit_pipeline(body, grid=(count[0],), in_specs=[ROWS], out_specs=[ROWS, behind])(x_hbm, o_hbm, o_hbm)

    return call(kernel, count, x, out=[x.shape], tables=1)


def allocated(x, lanes=128, fill=True):
    """Its buffers are those that the caller makes. The last blocks may hang over."""
    def kernel(x_hbm, o_hbm):
        def body(x_ref, o_ref):
            pl.when(fill | (pl.program_id(0) > 0))(lambda: o_ref.__setitem__(..., x_ref[...]))

        rows = pl.BlockSpec((16, lanes), lambda i, j: (i, j))
        run, buffers = pltpu.emit_pipeline_with_allocations(body, grid=(pl.cdiv(x.shape[0], 16), pl.cdiv(x.shape[1], lanes)), in_specs=[rows], out_specs=[rows])
        pl.run_scoped(lambda made: run(x_hbm, o_hbm, allocations=made), buffers(x_hbm, o_hbm))

    return call(kernel, x, out=[x.shape])


def by_turns(flags, x):
    """For each matrix of a loop one of two pipelines, which count from the last block on; by what a table says."""
    n = x.shape[1] // 16

    def kernel(flags, x_hbm, o_hbm):
        def turn(e, _):
            def double(x_ref, o_ref):
                o_ref[...] = x_ref[...] * 2

            def number(x_ref, o_ref):
                o_ref[...] = x_ref[...] + (10 * pl.num_programs(0) + pl.program_id(0)).astype(F32)

            def run(body, back):
                at = pl.BlockSpec((16, 128), lambda t: (pl.num_programs(0) - 1 - t, 0))
                pltpu.emit_pipeline(body, grid=(n,), in_specs=[at], out_specs=[at if back else ROWS])(x_hbm.at[e], o_hbm.at[e])

            pl.when(flags[e] > 0)(lambda: run(double, True))
            pl.when(flags[e] <= 0)(lambda: run(number, False))

        jax.lax.fori_loop(0, x.shape[0], turn, None)

    return call(kernel, flags, x, out=[x.shape], tables=1)


def halo(x, small, buffers=3, ahead=True):
    """Windows that overlap, fetched ahead; and scalars in SMEM, one row for each step."""
    def kernel(x_hbm, small_hbm, seen_hbm, o_hbm):
        def rows(x_ref, s_ref, o_ref):
            o_ref[...] = x_ref[:16] + x_ref[8:] * s_ref[0, 1].astype(F32)

        pltpu.sync_copy(small_hbm, seen_hbm)
        pltpu.emit_pipeline(rows, grid=(x.shape[0] // 16,), out_specs=[pl.BlockSpec((16, 128), lambda i: (i, 0))],
                            in_specs=[pl.BlockSpec((pl.Element(24), pl.Element(128)), lambda i: (i * 16, 0), pipeline_mode=pl.Buffered(buffers, use_lookahead=ahead)),
                                      pl.BlockSpec((1, 2), lambda i: (i, 0), memory_space=pltpu.SMEM)])(x_hbm, small_hbm, o_hbm)

    outs = [jax.ShapeDtypeStruct(small.shape, small.dtype), jax.ShapeDtypeStruct((x.shape[0] // 16 * 16, 128), F32)]
    return pl.pallas_call(kernel, in_specs=[FAR] * 2, out_specs=[FAR] * 2, out_shape=outs)(x, small)


def gated(count, x, y):
    """Two sums over as many blocks as a table says, into one accumulator; its first step empties it."""
    def kernel(count, x_hbm, y_hbm, o_ref, acc_ref):
        def sum_of(first):
            def add(block_ref):
                if first:
                    pl.when(pl.program_id(0) == 0)(lambda: acc_ref.__setitem__(..., jnp.zeros_like(acc_ref)))
                acc_ref[...] += block_ref[...]

            return add

        for n, ref in enumerate((x_hbm, y_hbm)):
            pltpu.emit_pipeline(sum_of(n == 0), grid=(count[n],), in_specs=[pl.BlockSpec((16, 128), lambda step: (step, 0), pipeline_mode=pl.Buffered(3))])(ref)
        o_ref[...] = acc_ref[...]

    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(), in_specs=[FAR] * 2, out_specs=pl.BlockSpec(memory_space=pltpu.VMEM), scratch_shapes=[pltpu.VMEM((16, 128), F32)])
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((16, 128), F32))(count, x, y)


X, Y = kernels.array(256, 256), kernels.array(256, 384, seed=1)
RAGGED = kernels.array(248, 200), kernels.array(200, 160, seed=1)
BATCHES = kernels.array(2, 128, 256), kernels.array(2, 256, 128, seed=1)
STARTS = jnp.array([0, 32, 32, 64], jnp.int32)
SEGMENT = jnp.array([0, 0, 1, 2], jnp.int32)
R = kernels.array(64, 128)
RIGHT = {
    "a product": (matmul, (X, Y)), "in a scope": (lambda x, y: matmul(x, y, scoped=True), (X, Y)), "ragged": (lambda x, y: matmul(x, y, mask=True), RAGGED),
    "in a grid": (products, BATCHES), "in a parallel grid": (lambda x, y: products(x, y, semantics=("parallel",)), BATCHES),
    "of views": (lambda x, y: products(x, y, by_view=True), BATCHES),
    "two of them": (twice, (R,)), "two ragged ones": (twice, (R[:56],)),
    "of groups": (grouped, (STARTS, R, kernels.array(3, 128, 128, seed=1))), "of groups in parallel": (lambda s, x, w: grouped(s, x, w, semantics=("parallel",)), (STARTS, R, kernels.array(3, 128, 128, seed=1))),
    "in one another": (nested, (kernels.array(2, 32, 128), kernels.array(2, 1, 128, seed=1))), "into segments": (summed, (SEGMENT, R)), "over inputs in SMEM": (gathered, (jnp.array([3, 0, 1, 1], jnp.int32), jnp.array([4], jnp.int32), R)), "over inputs in SMEM behind it": (lambda i, n, x: gathered(i, n, x, behind=True), (jnp.array([3, 0, 1, 1], jnp.int32), jnp.array([4], jnp.int32), R)),
    "of bounded slices": (bounded, (jnp.array([0, 16, 16, 21, 32], jnp.int32), kernels.array(32, 8, 128))),
    "on two cores": (divided, (R,)),
    "in place": (in_place, (R,)), "in place, in two rounds": (lambda x: in_place(x, rounds=2), (R,)), "of two windows of the output": (halves, (R,)), "of two windows, by a table": (counted_halves, (jnp.array([2], jnp.int32), R)),
    "in buffers of the caller": (allocated, (R,)), "in buffers of the caller, ragged": (lambda x: allocated(x, 256), (kernels.array(56, 384),)),
    "in a scope over its buffers": (in_memory, (R,)), "by a table": (by_count, (jnp.array([4], jnp.int32), R)),
    "in turns and branches": (by_turns, (jnp.array([1, 0, 1], jnp.int32), kernels.array(3, 48, 128))),
    "over windows that overlap, and in SMEM": (halo, (kernels.array(72, 128), jnp.arange(8, dtype=jnp.int32).reshape(4, 2))),
    "into an accumulator": (gated, (jnp.array([4, 2], jnp.int32), R, kernels.array(32, 128, seed=1))),
}
# What stays a pipeline: its name, its axes with their steps, and what it is over. Names are those of the body and of its parameters.
KEPT = {
    "two of them": [("double", {"i": 4}, ["x", "o"]), ("increase", {"i": 4}, ["x_2", "o_2"])],
    "two ragged ones": [("double", {"i": 4}, ["x", "o"]), ("increase", {"i": 4}, ["x_2", "o_2"])],
    "of groups": [("body", {"t": "(starts[i + 1] - v1) // 16"}, ["x", "w", "o"])],
    "of groups in parallel": [("body", {"t": "(starts[i + 1] - v1) // 16"}, ["x", "w", "o"])],
    "in one another": [("rows", {"i_2": 2}, ["x", "o"])],  # the outer one is the grid
    "into segments": [("copy_2", {"i": 4}, ["x", "o"]), ("add", {"i": 4}, ["x_2", "o_2"])],
    "in turns and branches": [("double", {"t": 3}, ["x", "o"]), ("number", {"t": 3}, ["x_2", "o_2"])],
    "over windows that overlap, and in SMEM": [("rows", {"i": 4}, ["x", "s", "o"])],
    "in place": [("body", {"r": 1, "i": 4}, ["x", "o"])],
    "into an accumulator": [("add", {"step": "count[0]"}, ["block"]), ("add_2", {"step": "count[1]"}, ["block_2"])],
}
# What is a loop, and why.
LOOPS = {
    "of bounded slices": "bounded slices of `x_hbm`", "on two cores": "a pipeline that cores divide among them",
    "in place, in two rounds": "`o_hbm` comes in and goes out in one pipeline, which is not supported",
    "of two windows, by a table": "`o_hbm` goes out by two windows of one pipeline, which is not supported",
    "of two windows of the output": "`o_hbm` goes out by two windows of one pipeline, which is not supported", "in a scope over its buffers": "a pipeline that moves nothing",
}
LONGER = {"a product", "in a scope", "ragged", "in a grid", "in a parallel grid", "of views", "by a table", "over inputs in SMEM", "over inputs in SMEM behind it"}  # a grid; the others are loops
SPELLED = {"in buffers of the caller", "in buffers of the caller, ragged"}  # by JAX, before the importer sees them


@pytest.fixture(autouse=True)
def chip(monkeypatch):
    """Tracing a pipeline asks which TPU this is."""
    monkeypatch.setitem(tpu_info.registry, "cpu", lambda: tpu_info._get_tpu_info_impl(tpu_info.ChipVersion.TPU_V5E, 1))


def interpreted(fn, *args):
    """What JAX's interpreter for TPUs makes of them."""
    with pltpu.force_tpu_interpret_mode(pltpu.InterpretParams(buffer_bounds="padded")):
        got = jax.tree.map(np.asarray, jax.jit(lambda *a: fn(*a))(*args))
    jax.clear_caches()
    return got


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_proven_and_computes_what_the_interpreter_for_tpus_does(name):
    """What lies behind the end of an array is its padding there, as on a TPU, which JAX's copies of cut-off blocks reach."""
    fn, args = RIGHT[name]
    [spec] = tileproof.from_pallas(fn, *args)
    assert ("pipelines" not in spec["x-python"]) == (name in LONGER | SPELLED), spec
    assert [(p["name"], {a["axis"]: a["steps"] for a in p["grid"]}, [w["name"] for w in p.get("inputs", []) + p.get("outputs", [])])
            for p in spec.get("pipelines", [])] == KEPT.get(name, []), spec
    assert [n["why"] for n in spec["x-python"].get("pipelines", []) if "why" in n] == ([LOOPS[name]] if name in LOOPS else []), spec
    report = tileproof.check(fn, *args)
    assert report.ok and not report.of("unknown"), report
    assert tileproof.assert_equivalent(fn, lambda *_: interpreted(fn, *args), *args, rtol=1e-5, atol=1e-5) == 1


WRONG = [
    (lambda x, y: matmul(x, y, at=lambda k: k + 1), (X, Y), "TP101"), (lambda x, y: matmul(x, y, more=1), (X, Y), "TP101"), (lambda x, y: matmul(x, y, init=False), (X, Y), "TP404"),
    (lambda x, y: matmul(x, y, more=-1), (X, Y), "TP701"), (matmul, RAGGED, "TP501"),
    (lambda x, y: products(x, y, init=False), BATCHES, "TP404"), (lambda x, y: products(x, y, at=lambda k: k + 1), BATCHES, "TP101"),
    (lambda x, y: products(x, y, by_view=True, init=False), BATCHES, "TP404"), (lambda x, y: products(x, y, by_view=True, at=lambda k: k + 1), BATCHES, "TP101"),
    (lambda x: twice(x, steps=1), (R,), "TP102"), (lambda x: twice(x, steps=-1), (R,), "TP404"), (lambda x: twice(x, late=1), (R,), "TP102"),
    (lambda s, x, w: grouped(s, x, w, at=lambda g, t, first: first // 16 + t + 1), RIGHT["of groups"][1], "TP102"),
    (lambda s, x, w: grouped(s, x, w, at=lambda g, t, first: t), RIGHT["of groups"][1], "TP401"), (lambda s, x: summed(s, x, init=False), (SEGMENT, R), "TP404"),
    (bounded, (jnp.array([0, 16, 16, 20, 31], jnp.int32), kernels.array(32, 8, 128)), "TP401"), (bounded, (jnp.array([0, 17, 32], jnp.int32), kernels.array(32, 8, 128)), "TP102"),
    (lambda s, x: bounded(s, x, more=1), (jnp.array([0, 9, 16, 21, 31], jnp.int32), kernels.array(32, 8, 128)), "TP504"),
    (gathered, (jnp.array([3, 0, 4, 1], jnp.int32), jnp.array([4], jnp.int32), R), "TP101"),
    (lambda x: in_place(x, 3, later=1), (R,), "TP504"), (lambda x: allocated(x, fill=False), (R,), "TP404"),
    (summed, (jnp.array([0, 1, 3, 2], jnp.int32), R), "TP102"), (by_count, (jnp.array([3], jnp.int32), R), "TP401"), (by_count, (jnp.array([5], jnp.int32), R), "TP101"),
]


@pytest.mark.parametrize("fn, args, rule", WRONG, ids=range(len(WRONG)))
def test_a_defect_is_found(fn, args, rule):
    reference = {"TP701": lambda x, y: x @ y}.get(rule)
    report = tileproof.verify(fn, reference, *args) if reference else tileproof.check(fn, *args)
    assert rule in {f.rule for f in report.of("violated")}, report


def test_a_view_by_reshape():
    """No interpreter of JAX runs it."""
    starts = jnp.array([0, 4, 4, 5, 8], jnp.int32)
    report = tileproof.check(reshaped, starts, R)
    assert report.ok and not report.of("unknown"), report
    assert tileproof.assert_equivalent(reshaped, lambda _, x: x * 2, starts, R) == 1


def emitted(spec, folder):
    path = folder / f"{spec['name']}.tile.json"
    path.write_text(json.dumps(spec))
    return test_emit.emitted(path, folder)


def test_the_loop_is_emitted_as_one(tmp_path):
    fn, args = RIGHT["of bounded slices"]
    [spec] = tileproof.from_pallas(fn, *args)
    again = emitted(spec, tmp_path)
    assert tileproof.assert_equivalent(fn, lambda *_: interpreted(again, *args)[0], *args) == 1


@pytest.mark.parametrize("name", [n for n in KEPT if n != "in one another"])  # of which the emitted one is a grid
def test_a_pipeline_is_emitted_and_comes_back(name, tmp_path):
    fn, args = RIGHT[name]
    [spec] = tileproof.from_pallas(fn, *args)
    again = emitted(spec, tmp_path)
    got = interpreted(again, *args)
    assert tileproof.assert_equivalent(fn, lambda *_: got[0] if len(spec["outputs"]) == 1 else list(got), *args, rtol=1e-5, atol=1e-5) == 1
    [back] = tileproof.from_pallas(again, *args)
    assert windows_of(back) == windows_of(spec)


def windows_of(spec):
    """Everything that is said of pipelines but the statements of their steps."""
    return [{key: value for key, value in p.items() if key != "kernel"} for p in spec["pipelines"]]


BY_HAND = [p for p in test_emit.GALLERY + test_emit.SEMANTICS if json.loads(p.read_text()).get("pipelines")]


def at_one_size(spec):
    """The spec with numbers for its sizes, and a statement in front, without which a lone pipeline would be a grid."""
    sizes = {n: s if isinstance(s, (int, str)) else s.get("in", [512])[-1] for n, s in spec.get("sizes", {}).items()}
    rest = {key: value for key, value in spec.items() if key not in ("cases", "reference")}
    return rest | {"sizes": sizes, "scratch": [*spec.get("scratch", []), {"name": "apart", "dtype": "float32", "shape": [1, 1]}], "kernel": ["apart[...] = 0", *spec["kernel"]]}


def meant(spec, pipeline):
    """Names, steps, blocks and indices of a pipeline, evaluated at some step of it."""
    pipelines = spec["pipelines"]
    steps = {a["axis"]: a["steps"] for p in [spec, *pipelines] for a in p.get("grid", [])}
    at = {a: n + 1 for n, a in enumerate(steps)}  # two axes, two numbers
    names = {n: s for n, s in spec.get("sizes", {}).items() if isinstance(s, int)} | at | {"cdiv": lambda a, b: -(-a // b)}
    names |= {t["name"]: list(range(3, 99)) for t in spec.get("scalar_prefetch", [])}
    names["num_programs"] = lambda v: value(next(steps[a] for a in at if at[a] == v))

    def value(x):
        if isinstance(x, dict):
            return {key: value(v) for key, v in x.items()}
        return [value(v) for v in x] if isinstance(x, list) else eval(x, names) if isinstance(x, str) else x

    def window(w):
        return w | {key: value(w[key]) for key in ("block_shape", "index_map") if key in w}

    return {"name": pipeline["name"], "grid": [(a["axis"], value(a["steps"])) for a in pipeline.get("grid", [])],
            **{key: [window(w) for w in pipeline.get(key, [])] for key in ("inputs", "outputs")}}


@pytest.mark.parametrize("path", BY_HAND, ids=lambda p: p.name.split(".")[0])
def test_a_pipeline_that_was_written_by_hand_comes_back(path, tmp_path):
    """With its names, blocks, index maps and buffers. One that two statements run comes back as two."""
    spec = at_one_size(json.loads(path.read_text()))
    names = {n: s for n, s in spec["sizes"].items() if isinstance(s, int)}
    dtypes = {name: choices[-1] for name, choices in spec.get("dtypes", {}).items()}
    [back] = tileproof.from_pallas(emitted(spec, tmp_path), *(jax.ShapeDtypeStruct(tuple(eval(str(d), {}, names) for d in o["shape"]), jnp.dtype(dtypes.get(o["dtype"], o["dtype"])))
                                                              for o in spec.get("scalar_prefetch", []) + spec["inputs"]))
    runs = [line.strip().partition("(")[0] for body in [spec, *spec["pipelines"]] for line in body["kernel"]]
    assert len(back["pipelines"]) == sum(runs.count(p["name"]) for p in spec["pipelines"])
    found = {p["name"]: meant(back, p) for p in back["pipelines"]}
    assert [found[p["name"]] for p in spec["pipelines"]] == [meant(spec, p) for p in spec["pipelines"]]


def running(x):
    """Of the second pipeline a step has what Mosaic does not lower, and what may overflow."""
    def kernel(x_hbm, between, o_hbm):
        def copy(x_ref, o_ref):
            o_ref[...] = x_ref[...]

        def sums(x_ref, o_ref):
            _, rows = jax.lax.scan(lambda sum, row: (sum + row, sum), jnp.zeros((128,), F32), x_ref[...])
            o_ref[...] = rows

        pltpu.emit_pipeline(copy, grid=(4,), in_specs=[ROWS], out_specs=[ROWS])(x_hbm, between)
        pltpu.emit_pipeline(sums, grid=(4,), in_specs=[ROWS], out_specs=[ROWS])(between, o_hbm)

    return call(kernel, x, out=[x.shape, x.shape])


@pytest.mark.parametrize("fn, rule, line", [(lambda x: twice(x, late=1), "TP102", "late"), (running, "TP204", "jax.lax.scan(")])
def test_a_finding_names_its_line_of_python(fn, rule, line):
    [finding, *_] = [f for f in tileproof.check(fn, R).of("violated") if f.rule == rule]
    assert line in linecache.getline(*(lambda file, at: (file, int(at)))(*finding.python.rsplit(":", 1))), finding


def over(*specs, refs=lambda x, o: (x, o), body=lambda x, o: o.__setitem__(..., x[...]), grid=(4,), **how):
    def fn(x):
        return call(lambda x_hbm, o_hbm: pltpu.emit_pipeline(body, grid=grid, in_specs=specs[:1], out_specs=specs[1:])(*refs(x_hbm, o_hbm), **how), x, out=[x.shape])

    return fn


def by_its_other_name(x, first):
    """The body changes rows of the array that comes in, by the output that is in its place."""
    def kernel(x_hbm, same_hbm, o_hbm, rows, sem):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2
            rows[...] = x_ref[...]
            copy = pltpu.make_async_copy(rows, same_hbm.at[pl.ds(first, 16)], sem)
            copy.start()
            copy.wait()

        pltpu.emit_pipeline(body, grid=(4,), in_specs=[ROWS], out_specs=[ROWS])(x_hbm, o_hbm)

    out = jax.ShapeDtypeStruct(x.shape, F32)
    return pl.pallas_call(kernel, in_specs=[FAR], out_specs=[FAR, FAR], out_shape=[out, out], input_output_aliases={0: 0},
                          scratch_shapes=[pltpu.VMEM((16, 128), F32), pltpu.SemaphoreType.DMA])(x)


REFUSED = {
    "a pipeline of copies ahead whose last block of `x_hbm` ends within a tile is not supported": lambda x: allocated(x[:52]),
    "a pipeline over a view of `x_hbm` through reshape": over(ROWS, ROWS, refs=lambda x, o: (x.reshape(4, 2, 8, 128).reshape(64, 128), o)),
    "an index map of a pipeline that asks for a program id": over(pl.BlockSpec((16, 128), lambda i: (pl.program_id(0), 0)), ROWS),
    "an Element block with padding in a pipeline": over(pl.BlockSpec((pl.Element(16, (0, 8)), pl.Element(128)), lambda i: (i * 16, 0)), ROWS),
    "blocks of 12 in 64 elements: where one is cut off, JAX needs blocks of a multiple of 8": over(pl.BlockSpec((12, 128), lambda i: (i, 0)), pl.BlockSpec((12, 128), lambda i: (i, 0))),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_read_is_refused_by_name(what):
    with pytest.raises(tileproof.Unsupported, match=re.escape(what)):
        tileproof.from_pallas(REFUSED[what], R)


def test_parameters_of_the_primitive_are_listed():
    closed = jx.trace(matmul, (X, Y))
    [pipeline] = [e for s in jx.sites(closed) for e in jx.equations(s.equation.params["jaxpr"])]
    assert set(pipeline.params) == set(fields.EMIT_PIPELINE)


def test_what_the_caller_runs_afterwards_is_what_jax_makes():
    """JAX keeps what it has traced: not what was traced to be read."""
    fn = jax.jit(matmul)
    tileproof.from_pallas(fn, X, Y)
    text = str(jax.make_jaxpr(fn)(X, Y))
    assert "emit_pipeline[" not in text and "dma_start" in text


@pytest.mark.parametrize("first, wrong", [(0, set()), (16, {"TP504"})])
def test_what_a_body_writes_while_copies_run_ahead_is_seen(first, wrong):
    """Of the first block all is there when the body begins; the second one is on its way."""
    def fn(x):
        return by_its_other_name(x, first)

    [spec] = tileproof.from_pallas(fn, R)
    assert any("copy_start" in line for line in spec["kernel"])
    assert {f.rule for f in tileproof.check(fn, R).of("violated")} == wrong


def test_a_jax_without_the_primitive_spells_its_pipelines_out(monkeypatch):
    monkeypatch.setattr(pipelines, "emitter", None)
    [spec] = tileproof.from_pallas(twice, R)
    assert any("copy_start" in line for line in spec["kernel"])
    report = tileproof.check(twice, R)
    assert report.ok and not report.of("unknown"), report


def test_a_product_is_proven_for_all_sizes():
    report = tileproof.verify(lambda x, y: matmul(x, y, mask=True), lambda x, y: x @ y, "f32[M,K]", "f32[K,N]", sizes={"M": 256, "N": 384, "K": 256})
    assert report.ok and "all sizes" in str(report), report


def scaled(s, x, grid=()):
    """A pipeline beside a scalar in SMEM."""
    def kernel(s_ref, x_hbm, o_hbm):
        rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
        pltpu.emit_pipeline(lambda x, o: o.__setitem__(..., x[...] * s_ref[...]), grid=(4,), in_specs=[rows], out_specs=[rows])(x_hbm, o_hbm)

    return pl.pallas_call(kernel, grid=grid, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), FAR], out_specs=FAR, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(s, x)


@pytest.mark.parametrize("s", [jnp.float32(2), jnp.int32(2)])
def test_a_scalar_in_smem_is_legal_where_the_call_has_no_grid(s):
    x = kernels.array(32, 128)
    assert tileproof.verify(scaled, lambda s, x: x * s, s, x).ok
    assert [f.rule for f in tileproof.check(lambda s, x: scaled(s, x, (2,)), s, x).of("violated")] == ["TP201"]
