"""Index maps: integers of every type, as JAX computes with them."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import tileproof


def rows_by(index):
    """Of (table, x): eight blocks of rows, by the step and a table."""
    def body(_, x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def call(t, x):
        grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(8,), in_specs=[pl.BlockSpec((8, 128), lambda i, t: (index(i, t), 0))],
                                            out_specs=pl.BlockSpec((8, 128), lambda i, t: (i, 0)))
        return pl.pallas_call(body, grid_spec=grid, out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32))(t, x)

    return call


I8, U8, I16, U16, U32, I32 = jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.uint32, jnp.int32
# Index maps of a step and of a table of bytes, some of which leave the eight blocks.
MAPS = {
    "a narrowing cast": (lambda i, t: (i * 20).astype(I8).astype(I32) // 20, I8), "one that wraps": (lambda i, t: (i * 100).astype(U8).astype(I32) // 32, I8),
    "of a shift": (lambda i, t: (i << 13).astype(I16).astype(I32) // 4096 + 4, I8), "of a table": (lambda i, t: (t[i] * I8(2)).astype(I32) // 32, I8),
    "sums of bytes": (lambda i, t: ((t[i] + t[i]).astype(I32) + 128) // 32, I8), "of unsigned bytes": (lambda i, t: (t[i] + U8(160)).astype(I32) // 32, U8),
    "less than none": (lambda i, t: jnp.minimum((t[i] - U8(16)).astype(I32), 112) // 16, U8), "negated": (lambda i, t: (-t[i]).astype(I32) // 32, U8),
    "widened first": (lambda i, t: t[i].astype(I32) * 2 // 32, I8), "bits": (lambda i, t: ~i & 7, I8), "bits of bytes": (lambda i, t: (~t[i]).astype(I32) // 32, U8),
    "one or the other": (lambda i, t: jnp.where((i > 2) ^ (i < 6), i, 0), I8), "a square": (lambda i, t: jnp.minimum(i**2, 7), I8),
    "more of bits": (lambda i, t: (t[i].astype(U16) * U16(1024)).astype(I32) // 8192, U8), "unsigned": (lambda i, t: (i.astype(U32) * U32(3) % U32(8)).astype(I32), I8),
    "absolute": (lambda i, t: abs(t[i] - I8(100)).astype(I32) // 16, I8),
}


@pytest.mark.parametrize("name", MAPS)
def test_integers_of_index_maps_are_those_of_their_types(name):
    """A map whose blocks JAX finds within the array passes, and computes what JAX does; another is accused."""
    index, dtype = MAPS[name]
    table, x = jnp.arange(8, dtype=dtype) * 16, jnp.arange(64 * 128, dtype=jnp.float32).reshape(64, 128)

    call = rows_by(index)
    blocks = [int(index(jnp.int32(i), table)) for i in range(8)]
    report = tileproof.check(call, table, x)
    assert report.ok == all(0 <= b < 8 for b in blocks), (blocks, str(report))
    if report.ok:
        want = jnp.concatenate([x[8 * b:8 * b + 8] for b in blocks])
        tileproof.assert_equivalent(call, lambda *_: want, table, x)


@pytest.mark.parametrize("index", [lambda i: jax.lax.fori_loop(0, 3, lambda k, a: (a + k) % 8, i), lambda i: jax.lax.while_loop(lambda a: a > 3, lambda a: a - 4, i),
                                   lambda i: jax.lax.clz(i + 1) & 7, lambda i: (i.astype(jnp.float32) * 0.5).astype(I32),
                                   lambda i: jnp.minimum(i.astype(U32) - U32(1), U32(3)).astype(I32)])
def test_what_no_index_map_can_say_is_refused(index):
    with pytest.raises(tileproof.Unsupported, match="in an index map"):
        tileproof.check(rows_by(lambda i, _: index(i)), jnp.zeros(8, I32), jnp.zeros((64, 128)))

TYPES = [I8, U8, I16, U16, I32, U32]
OPERATIONS = [
    lambda x, y, k: x + y, lambda x, y, k: x - y, lambda x, y, k: x * y, lambda x, y, k: jnp.minimum(x, y), lambda x, y, k: jnp.maximum(x, y), lambda x, y, k: x & y,
    lambda x, y, k: x | y, lambda x, y, k: x ^ y, lambda x, y, k: ~x, lambda x, y, k: -x, lambda x, y, k: x << (k & 3), lambda x, y, k: x >> (k & 3), lambda x, y, k: jnp.where(x > y, x, y - k),
    lambda x, y, k: x // k, lambda x, y, k: x % k, lambda x, y, k: jax.lax.div(x, k), lambda x, y, k: jax.lax.rem(x, k), lambda x, y, k: abs(x), lambda x, y, k: x**2,
    lambda x, y, k: jnp.sign(x), lambda x, y, k: jnp.clip(x, k, k + k),
]


def drawn(r, depth, dtype):
    """A random function of a step and a table's entry, of the type."""
    kind = r.randrange(10) if depth else r.randrange(2)
    if kind < 2:
        number = r.choice([0, 1, 2, 3, 7, 100, 127])
        return [lambda i, t: i.astype(dtype), lambda i, t: t.astype(dtype), lambda i, t: jnp.asarray(number, dtype)][r.randrange(3)]
    if kind < 4:
        other = drawn(r, depth - 1, r.choice(TYPES))
        return lambda i, t: other(i, t).astype(dtype)
    f, x, y, k = r.choice(OPERATIONS), drawn(r, depth - 1, dtype), drawn(r, depth - 1, dtype), r.choice([1, 2, 3, 7, 16])
    return lambda i, t: f(x(i, t), y(i, t), jnp.asarray(k, dtype))


def test_random_index_maps():
    """What a map says in the language of specs, evaluated as Python, is what JAX computes, wherever all of it fits int32, which is a rule; few are refused."""
    same, refused = 0, 0
    for seed in range(120):
        r = random.Random(seed)
        f, dtype = drawn(r, r.randrange(2, 5), I32), r.choice(TYPES[:4])
        table = np.asarray([r.randrange(-128, 128) & (255 if dtype in (U8, U16) else -1) for _ in range(8)], dtype)
        try:
            [spec] = tileproof.from_pallas(rows_by(lambda i, t: f(i, t[i])), jnp.asarray(table), jnp.zeros((64, 128)))  # noqa: B023
        except tileproof.Unsupported:
            refused += 1
            continue
        text, axis, name = str(spec["inputs"][0]["index_map"][0]), spec["grid"][0]["axis"], spec["scalar_prefetch"][0]["name"]
        for i in range(8):
            said = eval(text, {"__builtins__": {}, "min": min, "max": max, axis: i, name: table.tolist()})  # noqa: S307
            if -2**31 <= said < 2**31:
                assert said == int(f(jnp.int32(i), jnp.asarray(table)[i])), f"seed {seed}, step {i}: {text}"
                same += 1
    assert same > 700 and refused < 40, (same, refused)


@pytest.mark.parametrize("steps", [4, jnp.int32(4)], ids=["fixed", "known when it runs"])
def test_a_map_may_ask_how_many_steps_there_are(steps):
    def backwards(x, n, first=1):
        given, made = pl.BlockSpec((8, 128), lambda i: (pl.num_programs(0) - first - i, 0)), pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), grid=(n,), in_specs=[given], out_specs=made, out_shape=x)(x)

    def reversed_blocks(x, *_):
        return x.reshape(4, 8, 128)[::-1].reshape(32, 128)

    x = jnp.arange(32 * 128, dtype=jnp.float32).reshape(32, 128)
    fn, args = (lambda x: backwards(x, 4), (x,)) if isinstance(steps, int) else (backwards, (x, steps))
    report = tileproof.verify(fn, reversed_blocks, *args)
    assert report.ok and set(report.compared.values()) == {"tested"}, report
    assert [f.rule for f in tileproof.check(lambda x, n=steps: backwards(x, n, 0), *args).of("violated")] == ["TP101"]
    assert tileproof.assert_equivalent(jax.vmap(fn, (0, *[None] * len(args[1:]))), jax.vmap(reversed_blocks, (0, *[None] * len(args[1:]))), jnp.stack([x, x + 1]), *args[1:]) == 1
