"""Small Pallas kernels, one per thing that the importer must know, with the
arguments of one call. Random numbers are from a fixed key."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.pallas import primitives
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F32, I32, BF16 = jnp.float32, jnp.int32, jnp.bfloat16


def array(*shape, dtype=F32, seed=0):
    values = jax.random.normal(jax.random.PRNGKey(seed), shape)
    return (values * 8).astype(dtype) if jnp.issubdtype(dtype, jnp.integer) else values.astype(dtype)


def whole(body, *args, out=None, **kwargs):
    """A kernel without a grid: whole arrays in VMEM."""
    shape, dtype = out or (args[0].shape, args[0].dtype)
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(shape, dtype), **kwargs)(*args)


def elementwise(f):
    def call(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = f(x_ref[...])
        return whole(kernel, x)
    return call


UNARY = {name: getattr(jnp, name) for name in
         "abs exp exp2 log1p sqrt tanh sin cos floor ceil square sign".split()}
UNARY |= {"rsqrt": lambda x: lax.rsqrt(jnp.abs(x) + 1), "erf": lax.erf, "logistic": jax.nn.sigmoid, "silu": jax.nn.silu,
          "relu": jax.nn.relu, "gelu": jax.nn.gelu, "softplus": jax.nn.softplus, "power": lambda x: x ** 3, "negate": lambda x: -x,
          "clip": lambda x: jnp.clip(x, -0.5, 0.5), "where": lambda x: jnp.where(x > 0, x, 0.1 * x), "leaky": jax.nn.leaky_relu,
          "is_finite": lambda x: jnp.isfinite(x).astype(F32), "bfloat16": lambda x: x.astype(BF16).astype(F32), "round": jnp.round,
          "softmax": lambda x: jax.nn.softmax(x, axis=-1), "logsumexp": lambda x: x - jax.nn.logsumexp(x, axis=-1, keepdims=True),
          "mean": lambda x: x - x.mean(axis=-1, keepdims=True), "var": lambda x: x / (1 + x.var(axis=-1, keepdims=True)),
          "transpose": lambda x: x.T.T, "flip": lambda x: jnp.flip(x, 1), "roll": lambda x: pltpu.roll(x, 1, 1),
          "tile": lambda x: jnp.tile(x[:, :64], (1, 2)), "repeat": lambda x: jnp.repeat(x[:, :64], 2, axis=1),
          "concatenate": lambda x: jnp.concatenate([x[:, 64:], x[:, :64]], axis=1), "pad": lambda x: jnp.pad(x[:, :100], ((0, 0), (3, 25))),
          "stack": lambda x: jnp.stack([x[:, :64], x[:, 64:]], axis=1).reshape(x.shape), "strided": lambda x: jnp.tile(x[:, ::2], (1, 2)),
          "split": lambda x: jnp.concatenate(jnp.split(x, 2, axis=1)[::-1], axis=1), "argmax": lambda x: x + jnp.argmax(x, axis=1)[:, None],
          "bits": lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, I32) & ~1, F32), "triangle": lambda x: jnp.where(lax.broadcasted_iota(I32, x.shape, 0) >= lax.broadcasted_iota(I32, x.shape, 1), x, 0),
          "dot": lambda x: jnp.dot(x, x.T, preferred_element_type=F32) @ x, "einsum": lambda x: jnp.einsum("ij,kj->ik", x, x) @ x,
          "any_all": lambda x: x * (jnp.any(x > 2, axis=1, keepdims=True) | jnp.all(x < 1, axis=0, keepdims=True)),
          "remainder": lambda x: x * ((lax.broadcasted_iota(I32, x.shape, 1) // 3) % 2), "shifts": lambda x: x + ((lax.broadcasted_iota(I32, x.shape, 1) << 2) >> 1).astype(F32),
          "switch": lambda x: lax.switch(jnp.int32(1), [lambda v: v, lambda v: -v, lambda v: v * 2], x),
          "cond_value": lambda x: lax.cond(x[0, 0] > 0, lambda v: v + 1, lambda v: v - 1, x),
          "fori": lambda x: lax.fori_loop(0, 5, lambda i, v: v * 0.5 + i, x), "fori_two": lambda x: sum(lax.fori_loop(2, 6, lambda i, c: (c[1], c[0] + i), (x, -x))),
          "reciprocal": lambda x: pl.reciprocal(x), "select of three": lambda x: lax.select_n(lax.broadcasted_iota(I32, x.shape, 1) % 3, x, x * 2, x + 7),
          "select by a scalar": lambda x: lax.select_n(jnp.sum(x > 0) % 4, x, x * 2, x + 7, x - 1),
          "jnp.select": lambda x: jnp.select([x > 1, x < -1], [x * 2, x * 3], x), "round away": lambda x: lax.round(x * 4) + x // 0.3,
          "to bfloat16": lambda x: lax.reduce_precision(x, 8, 7), "to its own precision": lambda x: lax.reduce_precision(x, 8, 23),
          "population count": lambda x: lax.population_count(lax.bitcast_convert_type(x, I32)).astype(F32),
          "population count of int8": lambda x: lax.population_count((x * 30).astype(jnp.int8)).astype(F32),
          "leading zeros": lambda x: lax.clz(lax.bitcast_convert_type(x, I32)).astype(F32), "leading zeros of int16": lambda x: lax.clz(x.astype(jnp.int16)).astype(F32),
          "strided roll": lambda x: pltpu.roll(x, 3, 1, stride=2, stride_axis=0), "strided roll of rows": lambda x: pltpu.roll(x, 1, 0, stride=5, stride_axis=1),
          "unstack": lambda x: jnp.stack(jnp.unstack(x)[::-1]), "platform": lambda x: lax.platform_dependent(x, tpu=jnp.sin, default=jnp.sin),
          "interior padding": lambda x: lax.pad(x, 2.0, ((-1, 1, 1), (2, -1, 0)))[:16, :128], "prefix": lambda x: lax.associative_scan(jnp.add, x, axis=0),
          "lax.reduce": lambda x: x + lax.reduce(x, jnp.float32(0.5), lax.max, (1,))[:, None] + lax.reduce(x, 2.0, lax.mul, (0,)),
          "lax.reduce of bools": lambda x: x + lax.reduce(x > 2, False, lax.bitwise_or, (1,))[:, None],
          "bools compared": lambda x: jnp.where(((x > 0) < (x > 1)) | ((x > 2) >= (x < 3)), x, 0) + jnp.where(((x < -1) <= (x > 1)) & ((x < 0) > (x < -2)), x, 0),
          "bools, the larger": lambda x: x * jnp.maximum(x > 1, x < 0) * jnp.minimum(x > -1, x < 3) + jnp.max(x > 2, axis=1, keepdims=True) + jnp.min(x < 4, axis=0),
          "checkpoint": jax.checkpoint(lambda x: jnp.sin(x) * 2), "erf_inv": lambda x: lax.erf_inv(x * 0.2), "nextafter": lambda x: jnp.nextafter(x, x + 1),
          "take along": lambda x: jnp.take_along_axis(x, jnp.broadcast_to(jnp.arange(128)[None, ::-1], x.shape), axis=1),
          "take along, outside": lambda x: jnp.nan_to_num(jnp.take_along_axis(x, lax.broadcasted_iota(I32, x.shape, 1) * 2, axis=1), nan=7.0),
          "take along, clipped": lambda x: jnp.take_along_axis(x, lax.broadcasted_iota(I32, x.shape, 1), axis=0, mode="clip"),
          "scan, stacked": lambda x: lax.scan(lambda c, v: (c + v, c * 2 + v), jnp.zeros(128), x)[1],
          "scan, reversed": lambda x: sum(lax.scan(lambda c, v: (c * 0.5 + v, c), jnp.zeros(128), x, reverse=True)),
          "scan, stacked scalars": lambda x: x + lax.scan(lambda c, _: (c + 1, c * c), jnp.int32(0), None, length=16)[1][:, None].astype(F32),
          "scan, stacked bools": lambda x: jnp.where(lax.scan(lambda c, v: (c, v > 0), 0, x)[1], x, 0), "map": lambda x: lax.map(lambda v: v * 2 + 1, x),
          "rows packed": lambda x: pltpu.bitcast(x.astype(BF16), I32).astype(F32).repeat(2, axis=0), "rows unpacked": lambda x: pltpu.bitcast(x, jnp.int8)[3:19].astype(F32),
          "lanes of one number beside a column": lambda x: jnp.maximum(jnp.full_like(x, 0.5), x[:, :1]),
          "bytes packed": lambda x: pltpu.bitcast(jnp.clip(x * 40, -128, 127).astype(jnp.int8), jnp.int16).astype(F32).repeat(2, axis=0), "bytes unpacked": lambda x: pltpu.bitcast(x.astype(BF16), jnp.uint8)[3:19].astype(F32),
          "while": lambda x: lax.while_loop(lambda c: jnp.sum(jnp.abs(c)) > 10.0, lambda c: c * 0.5, x)}


def matmul(x, y, steps=pl.cdiv):
    def kernel(x_ref, y_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = acc_ref[...].astype(o_ref.dtype)

    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), x.dtype),
        grid=(steps(x.shape[0], 128), steps(y.shape[1], 128), x.shape[1] // 128),
        in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)), scratch_shapes=[pltpu.VMEM((128, 128), F32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")))(x, y)


def masked_load(x):
    lane = lax.broadcasted_iota(I32, (8, 128), 1)
    kept = jnp.where(lane < 50, pltpu.load(x, mask=lane < 60), 0)
    return kept + primitives.load(x, (slice(None), slice(None)), mask=lane[:1] > 100, other=2.0)


def masked_store(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        pltpu.store(o_ref.at[pl.ds(2, 4), :], jnp.zeros((4, 128)), mask=x_ref[pl.ds(0, 4), :] > 0)

    return whole(kernel, x)


def gather(ids, x, index=lambda v: v):
    def kernel(ids_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * (index(ids_ref[pl.program_id(0)]) + 1)

    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct((ids.shape[0], 1, x.shape[2]), x.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(ids.shape[0],), in_specs=[pl.BlockSpec((1, 1, x.shape[2]), lambda i, ids: (index(ids[i]), 0, 0))],
            out_specs=pl.BlockSpec((1, 1, x.shape[2]), lambda i, ids: (i, 0, 0))))(ids, x)


def dynamic_loop(n, x):
    def kernel(n_ref, x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        def body(i, total):
            row = x_ref[pl.ds(i, 1), :]
            o_ref[pl.ds(i, 1), :] = row + total
            return total + jnp.sum(row)

        lax.fori_loop(0, n_ref[0], body, jnp.float32(0))

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                          grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(1,), in_specs=[pl.BlockSpec(x.shape, lambda i, n: (0, 0))],
                                                                 out_specs=pl.BlockSpec(x.shape, lambda i, n: (0, 0))))(n, x)


def swizzled(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(4,),
                          in_specs=[pl.BlockSpec((None, 8, 128), lambda i: (i // 2, i % 2, 0))],
                          out_specs=pl.BlockSpec((None, 8, 128), lambda i: (i // 2, lax.rem(i, 2), 0)))(x)


def ragged(x):
    def kernel(x_ref, o_ref):
        rows = pl.program_id(0) * 64 + lax.broadcasted_iota(I32, (64, 128), 0)
        o_ref[...] = jnp.where(rows < 100, x_ref[...], 0).sum(axis=0, keepdims=True)

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((2, 1, 128), F32), grid=(2,), in_specs=[pl.BlockSpec((64, 128), lambda i: (i, 0))],
                          out_specs=pl.BlockSpec((None, 1, 128), lambda i: (i, 0, 0)))(x)


def in_place(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                          out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)), input_output_aliases={0: 0})(x)


def views(x):
    def kernel(x_ref, o_ref):
        part = x_ref.at[pl.ds(8, 16), :]
        o_ref[...] = part[pl.ds(4, 8), :] + x_ref[pl.ds(0, 8, 2), :]

    return whole(kernel, x, out=((8, 128), F32))


def stores_through_views(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)
        o_ref.bitcast(I32)[pl.ds(0, 8), :] = lax.bitcast_convert_type(x_ref[pl.ds(8, 8), :], I32)
        o_ref.at[pl.ds(8, 8), :].reshape(2, 4, 128)[...] = x_ref.reshape(4, 4, 128)[pl.ds(1, 2)]

    return whole(kernel, x)


def smem_scalar(x):
    def kernel(s_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * s_ref[0, 1]

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                          in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)])(x[:1, :2], x)


def body_of(f, out=(8, 128)):
    """A kernel of one statement over the refs of its inputs."""
    def call(x, *more):
        def kernel(*refs):
            refs[-1][...] = f(*refs[:-1])
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(out, F32))(x, *more)
    return call


def asks_for_vmem(x):
    params = pltpu.CompilerParams(vmem_limit_bytes=64 << 20, dimension_semantics=("parallel",))
    block = pl.BlockSpec((8, 128), lambda i: (i, 0))

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    return pl.pallas_call(kernel, out_shape=x, grid=(2,), in_specs=[block], out_specs=block, compiler_params=params)(x)


def dropped_result(x):
    def kernel(x_ref, o_ref, s_ref):
        s_ref[...] = x_ref[...]
        o_ref[...] = s_ref[...] + 1

    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(kernel, out_shape=(out, out))(x)[0]


def scoped(x, first=True):
    """A buffer of a part of the body, made anew in every turn of a loop."""
    def kernel(x_ref, o_ref):
        def turn(i, total):
            def part(acc_ref):
                if first:
                    acc_ref[...] = jnp.full_like(acc_ref, i.astype(F32))
                acc_ref[...] += x_ref[...]
                return total + acc_ref[...]

            return pl.run_scoped(part, pltpu.VMEM(x.shape, F32))

        o_ref[...] = lax.fori_loop(0, 3, turn, jnp.zeros_like(x_ref))

    return whole(kernel, x)


SAMPLE = array(16, 128)
CALLS = {f"elementwise {name}": (elementwise(f), (SAMPLE,)) for name, f in UNARY.items()}
CALLS |= {
    "matmul": (matmul, (array(256, 256), array(256, 256, seed=1))),
    "matmul in bfloat16": (matmul, (array(256, 256, dtype=BF16), array(256, 256, dtype=BF16, seed=1))),
    "gather by ids": (gather, (jnp.array([2, 0, 2], I32), array(3, 1, 128))),
    "gather by narrow ids": (lambda ids, x: gather(ids, x, lambda v: v.astype(I32)), (jnp.array([2, 0, 2], jnp.int8), array(3, 1, 128))),
    "dynamic loop": (dynamic_loop, (jnp.array([3], I32), array(8, 128))),
    "swizzled map": (swizzled, (array(2, 16, 128),)),
    "ragged rows": (ragged, (array(100, 128),)),
    "in place": (in_place, (array(16, 128),)),
    "views of refs": (views, (array(32, 128),)),
    "scalar in SMEM": (smem_scalar, (array(8, 128),)),
    "dropped result": (dropped_result, (array(8, 128),)),
    "dynamic slice": (body_of(lambda x, n: lax.dynamic_slice(x[...], (n[0], 0), (8, 128))), (array(16, 128), jnp.array([5], I32))),
    "dynamic slice, clamped": (body_of(lambda x, n: lax.dynamic_slice(x[...], (n[0], 0), (8, 128))), (array(16, 128), jnp.array([99], I32))),
    "dynamic update": (body_of(lambda x, n: lax.dynamic_update_slice(x[pl.ds(0, 8), :], x[pl.ds(8, 2), :] * 2, (n[0], 0))), (array(16, 128), jnp.array([3], I32))),
    "take rows": (body_of(lambda x, n: jnp.take(x[...], n[...], axis=0)), (array(16, 128), jnp.array([3, 0, 15, 3, 1, 1, 2, 9], I32))),
    "take rows, outside": (body_of(lambda x, n: jnp.nan_to_num(jnp.take(x[...], n[...], axis=0), nan=7.0)), (array(16, 128), jnp.array([3, 0, 15, 16, -1, -17, 2, 9], I32))),
    "take rows, clipped": (body_of(lambda x, n: jnp.take(x[...], n[...], axis=0, mode="clip")), (array(16, 128), jnp.array([3, 0, 15, 99, -1, -17, 2, 9], I32))),
    "take columns, outside": (body_of(lambda x, n: jnp.take(x[...], n[...], axis=1, fill_value=2.0)), (array(8, 256), jnp.arange(128, dtype=I32) * 5 - 300)),
    "ref by an array": (body_of(lambda x, n: x[n[...]]), (array(16, 128), jnp.array([3, 0, 15, 3, 1, 1, 2, 9], I32))),
    "claimed start": (body_of(lambda x, n: x[pl.ds(pl.multiple_of(n[0] * 4, 8), 8), :]), (array(16, 128), jnp.array([2], I32))),
    "reshaped view": (body_of(lambda x: x.reshape(8, 2, 128)[:, 1, :]), (array(16, 128),)),
    "scan over an array": (body_of(lambda x: lax.scan(lambda c, v: (c * 0.5 + v, None), jnp.zeros((8, 128)), x[...].reshape(2, 8, 128))[0]), (array(16, 128),)),
    "run_scoped": (scoped, (array(8, 128),)),
    "bitcast view": (body_of(lambda x: (x.bitcast(I32)[pl.ds(2, 8), :] & 255).astype(F32)), (array(16, 128),)),
    "view of narrower elements": (body_of(lambda x: x.bitcast(jnp.int16)[pl.ds(3, 8), :].astype(F32)), (array(16, 128),)),
    "view of wider elements": (body_of(lambda x: (x.bitcast(jnp.uint32)[...] & 255).astype(F32)), (array(16, 128, dtype=BF16),)),
    "part, of wider elements": (body_of(lambda x: (x.at[1].bitcast(jnp.uint32)[pl.ds(2, 4), :] >> 20).astype(F32), (4, 128)), (array(2, 16, 128, dtype=BF16),)),
    "part, bitcast": (body_of(lambda x: x.at[pl.ds(8, 8)].bitcast(I32)[...].astype(F32)), (array(16, 128),)),
    "part, reshaped": (body_of(lambda x: x.at[pl.ds(8, 8)].reshape(2, 4, 128)[1], (4, 128)), (array(16, 128),)),
    "masked load": (body_of(masked_load), (array(8, 128),)),
    "masked store": (masked_store, (array(8, 128),)),
    "asks for VMEM": (asks_for_vmem, (array(16, 128),)),
    "mixed dot": (body_of(lambda x, w: jnp.dot(x[...].astype(jnp.bfloat16), w[...], preferred_element_type=F32)), (array(8, 128), array(128, 128, dtype=jnp.int8))),
    "under jit": (jax.jit(elementwise(jnp.exp)), (SAMPLE,)),
    "under vmap": (jax.vmap(elementwise(jnp.exp)), (array(3, 16, 128),)),
    "under scan": (lambda x: lax.scan(lambda c, _: (elementwise(jnp.tanh)(c), None), x, None, length=2)[0], (SAMPLE,)),
    "two calls": (lambda x: elementwise(jnp.exp)(elementwise(jnp.sin)(x)), (SAMPLE,)),
    "float8 with scales": (body_of(lambda x, w, s: jnp.dot(x[...], w[...], preferred_element_type=F32) * s[...].astype(F32), (16, 128)),
                           (array(16, 128, dtype=jnp.float8_e4m3fn), array(128, 128, dtype=jnp.float8_e4m3fn, seed=1), jnp.abs(array(1, 128)).astype(jnp.float8_e8m0fnu))),
    "to float8": (functools.partial(elementwise(lambda v: (jnp.clip(v, -3, 3) * 100).astype(jnp.float8_e4m3fn).astype(F32))), (array(32, 128),)),
    "in float8": (functools.partial(elementwise(lambda v: jnp.maximum(v + v, jnp.float8_e5m2(0.3)))), (array(32, 128).astype(jnp.float8_e5m2),)),
    "int4 weights": (body_of(lambda x, w: jnp.dot(x[...], w[...].astype(F32), preferred_element_type=F32), (16, 128)), (array(16, 128), array(128, 128, dtype=jnp.int4))),
    "in int4": (functools.partial(elementwise(lambda v: (v * v + jnp.int4(3)) & jnp.int4(7))), (array(32, 128, dtype=jnp.int4),)),
    "int8": (functools.partial(elementwise(lambda v: (v.astype(I32) * 3 // 2).astype(jnp.int8))), (array(32, 128, dtype=jnp.int8),)),
}
