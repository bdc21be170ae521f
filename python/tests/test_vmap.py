"""vmap and dynamic grid bounds: the grid and the operands of the call are
those of the kernel as it was batched, program_id counts the kernel's own axes."""

import jax
import jax.numpy as jnp
import kernels
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import tileproof
from tileproof import capture

F32, I32 = jnp.float32, jnp.int32
TILE = pl.BlockSpec((8, 128), lambda i: (i, 0))


def numbered(x, semantics=None):
    """Adds the number of the step and of the steps."""
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + (10 * pl.program_id(0) + pl.num_programs(0)).astype(F32)

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(x.shape[0] // 8,), in_specs=[TILE], out_specs=TILE,
                          compiler_params=pltpu.CompilerParams(dimension_semantics=semantics))(x)


def scaled(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] * y_ref[...] + pl.program_id(0).astype(F32)

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(x.shape[0] // 8,), in_specs=[TILE, TILE], out_specs=TILE)(x, y)


def far_read(x):
    """Reads one row per step: there are eight steps and eight rows."""
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(pl.program_id(0), 1), :]

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(8,), in_specs=[pl.BlockSpec((4, 128), lambda i: (0, 0))],
                          out_specs=pl.BlockSpec((1, 128), lambda i: (i, 0)))(x)


def race(x):
    """Every step of a parallel axis writes one block."""
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype), grid=(1, x.shape[0] // 8),
                          in_specs=[pl.BlockSpec((8, 128), lambda i, j: (j, 0))], out_specs=pl.BlockSpec((8, 128), lambda i, j: (0, 0)),
                          compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary", "parallel")))(x)


def first_of_batch(x):
    """The index map itself asks for the number of the step."""
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(x.shape[0] // 8,),
                          in_specs=[pl.BlockSpec((8, 128), lambda i: (pl.num_programs(0) - 1 - pl.program_id(0), 0))], out_specs=TILE)(x)


def interpreted(fn, *args):
    return capture.calls(fn, *args).value


X3 = kernels.array(3, 16, 128)
VMAPPED = {
    "one axis": (jax.vmap(numbered), (X3,)),
    "with semantics": (jax.vmap(lambda x: numbered(x, ("parallel",))), (X3,)),
    "nested": (jax.vmap(jax.vmap(numbered)), (kernels.array(2, 3, 16, 128),)),
    "not the first axis": (jax.vmap(numbered, in_axes=1, out_axes=2), (kernels.array(16, 3, 128),)),
    "one operand shared": (jax.vmap(scaled, in_axes=(0, None)), (X3, kernels.array(16, 128, seed=1))),
    "the other shared": (jax.vmap(scaled, in_axes=(None, 1)), (kernels.array(16, 128), kernels.array(16, 2, 128, seed=1))),
    "nested, each operand once": (jax.vmap(jax.vmap(scaled, in_axes=(0, None)), in_axes=(None, 0)), (X3, kernels.array(2, 16, 128, seed=1))),
    "matmul": (jax.vmap(kernels.matmul), (kernels.array(2, 256, 128), kernels.array(2, 128, 256, seed=1))),
    "a scratch that is carried": (jax.vmap(jax.vmap(kernels.matmul)), (kernels.array(2, 1, 128, 256), kernels.array(2, 1, 256, 128, seed=1))),
    "in place": (jax.vmap(kernels.in_place), (X3,)),
    "prefetched tables": (jax.vmap(kernels.gather, in_axes=(0, None)), (jnp.array([[2, 0, 2], [1, 1, 0]], I32), kernels.array(3, 1, 128))),
    "a shared table": (jax.vmap(kernels.gather, in_axes=(None, 0)), (jnp.array([2, 0, 2], I32), kernels.array(2, 3, 1, 128))),
    "a map that counts": (jax.vmap(first_of_batch), (X3,)),
    "under jit and scan": (lambda x: jax.lax.scan(lambda c, _: (jax.jit(jax.vmap(numbered))(c), None), x, None, length=2)[0], (X3,)),
}


@pytest.mark.parametrize("name", VMAPPED)
def test_vmap(name):
    fn, args = VMAPPED[name]
    want = interpreted(fn, *args)
    count = tileproof.assert_equivalent(fn, lambda *_: want, *args, rtol=2e-5, atol=2e-5)
    assert count == {"prefetched tables": 2, "under jit and scan": 2}.get(name, 1)
    report = tileproof.check(fn, *args, target="none")
    assert report.ok and not report.of("unknown"), report


def test_the_axis_of_vmap_is_not_the_kernels():
    spec, = tileproof.from_pallas(jax.vmap(lambda x: numbered(x, ("arbitrary",))), X3)
    assert spec["grid"] == [{"axis": "batch", "steps": 3, "semantics": "parallel"}, {"axis": "i", "steps": 2}]
    assert any("i * 10" in line or "10 * i" in line for line in spec["kernel"])


def test_a_read_out_of_bounds_is_seen_below_vmap():
    rules = {f.rule for f in tileproof.check(jax.vmap(far_read), kernels.array(2, 8, 128), target="none").of("violated")}
    assert "TP102" in rules


def test_a_race_is_seen_below_vmap():
    assert "TP403" in {f.rule for f in tileproof.check(race, kernels.array(16, 128), target="none").of("violated")}
    assert "TP403" in {f.rule for f in tileproof.check(jax.vmap(race), kernels.array(2, 16, 128), target="none").of("violated")}


def test_semantics_of_another_length_are_refused():
    with pytest.raises(tileproof.Unsupported, match="dimension_semantics of 2 words for a grid of 1 axes"):
        tileproof.check(lambda x: numbered(x, ("parallel", "arbitrary")), kernels.array(16, 128))


def bounded(n, x, y, aliased=0, table=None):
    """Steps known at run time; the output starts as x or as y, of one shape."""
    tables = [] if table is None else [table]

    def kernel(*refs):
        x_ref, y_ref, o_ref = refs[-3:]
        o_ref[...] = x_ref[...] * 2 + y_ref[...] + (refs[0][0] if tables else 0)

    spec = pl.BlockSpec((8, 128), lambda i, *_: (i, 0))
    grid_spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=len(tables), grid=(n,), in_specs=[spec, spec], out_specs=spec)
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid_spec=grid_spec,
                          input_output_aliases={len(tables) + aliased: 0})(*tables, x, y)


@pytest.mark.parametrize("with_table", [False, True])
@pytest.mark.parametrize("aliased", [0, 1])
def test_aliases_beside_dynamic_bounds(aliased, with_table):
    x, y, table = kernels.array(24, 128), kernels.array(24, 128, seed=1), jnp.array([3], I32) if with_table else None

    def fn(n, x, y):
        return bounded(n, x, y, aliased, table)

    specs = tileproof.from_pallas(fn, jnp.int32(2), x, y)
    assert specs[0]["outputs"][0]["alias"] == specs[0]["inputs"][aliased]["name"]
    want = np.array((x, y)[aliased])
    want[:16] = np.array(x[:16] * 2 + y[:16] + (3 if with_table else 0))
    assert tileproof.assert_equivalent(fn, lambda *_: want, jnp.int32(2), x, y) == 1


def test_a_dynamic_bound_below_vmap():
    x, y = kernels.array(2, 24, 128), kernels.array(2, 24, 128, seed=1)
    fn = jax.vmap(bounded, in_axes=(None, 0, 0))
    want = np.array(x)
    want[:, :16] = np.array(x[:, :16] * 2 + y[:, :16])
    assert tileproof.assert_equivalent(fn, lambda *_: want, jnp.int32(2), x, y) == 1
    bounds = jnp.array([1, 3], I32)  # JAX makes it a loop of calls
    want[0, 8:], want[1] = np.array(x[0, 8:]), np.array(x[1] * 2 + y[1])
    assert tileproof.assert_equivalent(jax.vmap(bounded), lambda *_: want, bounds, x, y) == 2


def test_a_table_that_is_written_is_refused():
    def call(t, x):
        def kernel(t_ref, x_ref, o_ref, u_ref):
            o_ref[...] = x_ref[...]

        grid_spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(1,), in_specs=[pl.BlockSpec((8, 128), lambda i, t: (0, 0))],
                                                 out_specs=[pl.BlockSpec((8, 128), lambda i, t: (0, 0)), pl.BlockSpec(memory_space=pltpu.SMEM)])
        return pl.pallas_call(kernel, out_shape=(x, t), grid_spec=grid_spec, input_output_aliases={0: 1})(t, x)

    with pytest.raises(tileproof.Unsupported, match="an alias of a prefetched table"):
        tileproof.check(call, jnp.array([1, 2], I32), kernels.array(8, 128), tables=False)
