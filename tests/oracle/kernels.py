"""Small Pallas kernels as people write them, for record.py: families that vary one thing (accesses, copies, dots,
reductions, shapes), and random ones by seed.

sources() -> {name: text of a module with `kernel` and its arguments `ARGS`}
"""

import random
import re

HEAD = '''import functools, jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

'''
VALUES = HEAD + '''def f({xs}):
    return {expr}

def body(*refs):
    *xs, o_ref = refs
    o_ref[...] = f(*(x[...] for x in xs))

ARGS = ({args},)

def kernel(*args):
    return pl.pallas_call(body, out_shape=jax.eval_shape(f, *args))(*args)
'''
REFS = HEAD + '''def body({xs}, o_ref):
{lines}

ARGS = ({args},)

def kernel(*args):
    return pl.pallas_call(body, {grid}out_shape=jax.ShapeDtypeStruct({out}))(*args)
'''
COPIES = HEAD + '''def body(x_ref, o_ref, buf, sem):
    c = pltpu.make_async_copy({src}, {dst}, sem)
    c.start(); c.wait()
    o_ref[...] = buf[{read}]

ARGS = ({args},)

def kernel(x):
    return pl.pallas_call(body, grid=(4,), in_specs=[pl.BlockSpec(memory_space=pl.ANY)], scratch_shapes=[pltpu.VMEM({buf}, x.dtype), pltpu.SemaphoreType.DMA], out_shape=jax.ShapeDtypeStruct({o}, x.dtype))(x)
'''
TYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "b1": "bool", "f8a": "float8_e4m3fn", "f8b": "float8_e5m2", "i4": "int4", "u4": "uint4"}


def shaped(shape, d):
    return f"jax.ShapeDtypeStruct({tuple(shape)}, jnp.dtype('{TYPES[d]}'))"


def families():
    """{name: text}"""
    found = {}

    def put(name, expr, *args):
        found[name] = VALUES.format(xs=", ".join("xyzw"[:len(args)]), expr=expr, args=", ".join(shaped(*q) for q in args))

    def ref(name, lines, out, *args, grid="grid=(4,), "):
        found[name] = REFS.format(xs=", ".join(f"{c}_ref" for c in "xyzw"[:len(args)]), lines="\n".join("    " + line for line in lines),
                                  args=", ".join(shaped(*q) for q in args), out=f"{tuple(out[0])}, jnp.dtype('{TYPES[out[1]]}')", grid=grid)

    def dma(name, d, s, src, dst, buf, read, o):
        found[name] = COPIES.format(src=src, dst=dst, buf=buf, read=read, o=o, args=shaped(s, d))

    i, M = "pl.program_id(0)", (32, 128)
    for op in ["sum", "max", "min", "argmax", "argmin", "any", "all"]:
        ds = ["f32", "bf16", "i32"] if op in ("sum", "max", "min") else ["f32"] if op.startswith("arg") else ["b1"]
        for d in ds:
            for shape in [(32, 128), (4, 32, 128), (16, 256), (8,8,128)]:
                for ax in range(len(shape)):
                    for keep in (True, False):
                        if shape in [(16,256),(8,8,128)] and (keep or d == "bf16"): continue
                        e = f"jnp.{op}(x, axis={ax}, keepdims={keep}{', dtype=x.dtype' if op == 'sum' else ''})"
                        if d == "b1": e = f"jnp.where({e}, 1, 0)"
                        put(f"red_{op}_{d}_{'x'.join(map(str, shape))}_a{ax}{'k' if keep else ''}", e, (shape, d))
            if op in ("sum", "max", "any"):
                e = f"jnp.{op}(x{', dtype=x.dtype' if op == 'sum' else ''})"
                put(f"red_{op}_{d}_all", f"jnp.broadcast_to({'jnp.where(%s, 1, 0)' % e if d == 'b1' else e}, (8, 128))", (M, d))
                put(f"red_{op}_{d}_two", f"jnp.where(jnp.{op}(x, axis=(0, 2)), 1, 0)" if d == "b1" else f"jnp.{op}(x, axis=(0, 2))", ((4, 32, 128), d))
    dd = ["f32", "bf16", "f16", "i8", "u8", "i16", "i32", "f8a", "f8b", "i4"]
    def dot(x="x", y="y", c="((1,), (0,))", b="((), ())", p=None): return f"lax.dot_general({x}, {y}, ({c}, {b}), preferred_element_type={'None' if not p else 'jnp.' + TYPES[p]})"
    for d in dd:
        for p in [None, "f32", "i32", "bf16"]:
            put(f"dot_{d}_{d}_{p}", dot(p=p), ((128, 128), d), ((128, 128), d))
    for x, y in [("f32", "bf16"), ("bf16", "f32"), ("bf16", "i8"), ("i8", "bf16"), ("f32", "i8"), ("bf16", "f8a"), ("f8a", "bf16"), ("f8a", "f8b"), ("f8b", "f8a"), ("i8", "i4"), ("i4", "i8"), ("u8", "i8"), ("i8", "u8"), ("f32", "f8a"), ("bf16", "i4"), ("bf16","f16"), ("i32","f32")]:
        for p in ["f32", "i32"]:
            put(f"dot_{x}_{y}_{p}", dot(p=p), ((128, 128), x), ((128, 128), y))
    for d, p in [("f32", "f32"), ("bf16", "f32"), ("i8", "i32")]:
        for n, (c, b, s1, s2) in {"nt": ("((1,),(1,))", "((),())", (64, 128), (32, 128)), "tn": ("((0,),(0,))", "((),())", (128, 64), (128, 32)), "tt": ("((0,),(1,))", "((),())", (128, 64), (32, 128)),
                "b": ("((2,),(1,))", "((0,),(0,))", (4, 32, 128), (4, 128, 64)), "bnt": ("((2,),(2,))", "((0,),(0,))", (4, 32, 128), (4, 64, 128)), "bmid": ("((2,),(2,))", "((1,),(1,))", (32, 4, 128), (64, 4, 128)),
                "vm": ("((0,),(0,))", "((),())", (128,), (128, 256)), "mv": ("((1,),(0,))", "((),())", (32, 128), (128,)), "vv": ("((0,),(0,))", "((),())", (128,), (128,)), "32": ("((2,),(0,))", "((),())", (4, 32, 128), (128, 64)),
                "23": ("((1,),(1,))", "((),())", (32, 128), (4, 128, 64)), "bb": ("((3,),(2,))", "((0,1),(0,1))", (2, 2, 32, 128), (2, 2, 128, 64)), "small": ("((1,),(0,))", "((),())", (8, 8), (8, 8)), "odd": ("((1,),(0,))", "((),())", (7, 60), (60, 100)), "two": ("((0,1),(0,1))", "((),())", (4, 32, 128), (4, 32, 64)), "bmv": ("((2,),(1,))", "((0,),(0,))", (4, 32, 128), (4, 128)), "row": ("((1,),(0,))", "((),())", (1, 128), (128, 128)), "outer": ("((1,),(0,))", "((),())", (32, 1), (1, 128)), "outer0": ("((),())", "((),())", (32,), (128,)), "col":("((1,),(0,))", "((),())", (32, 128), (128, 1))}.items():
            e = dot(c=c, b=b, p=p)
            if n == "vv": e = f"jnp.broadcast_to({e}, (8, 128))"
            put(f"dots_{d}_{n}", e, (s1, d), (s2, d))
        for pr in ["HIGHEST", "HIGH", "DEFAULT"]:
            put(f"dotp_{d}_{pr}", f"jnp.dot(x, y, precision=lax.Precision.{pr}, preferred_element_type=jnp.{TYPES[p]})", ((128, 128), d), ((128, 128), d))
    moves = {
     "t2": ("x.T", (32, 128)), "t2b": ("x.T", (128, 256)), "t2s": ("x.T", (8, 16)), "t3_021": ("jnp.transpose(x, (0, 2, 1))", (4, 32, 128)), "t3_102": ("jnp.transpose(x, (1, 0, 2))", (4, 32, 128)), "t3_201": ("jnp.transpose(x, (2, 0, 1))", (4, 32, 128)), "t3_210": ("jnp.transpose(x, (2, 1, 0))", (4, 32, 128)), "t3_120": ("jnp.transpose(x, (1, 2, 0))", (4, 32, 128)),
     "t3_102b": ("jnp.transpose(x, (1, 0, 2))", (8, 8, 128)), "t4_0213": ("jnp.transpose(x, (0, 2, 1, 3))", (2, 8, 4, 128)),
     "r_flat": ("x.reshape(-1)", (32, 128)), "r_half": ("x.reshape(64, 64)", (32, 128)), "r_dbl": ("x.reshape(16, 256)", (32, 128)), "r_3": ("x.reshape(4, 8, 128)", (32, 128)), "r_3b": ("x.reshape(32, 2, 64)", (32, 128)), "r_3c": ("x.reshape(32, 4, 32)", (32, 128)), "r_3d": ("x.reshape(2, 16, 128)", (32, 128)), "r_merge": ("x.reshape(128, 128)", (4, 32, 128)), "r_merge2": ("x.reshape(4, 4096)", (4, 32, 128)), "r_split2": ("x.reshape(32, 2, 128)", (32, 256)), "r_join2": ("x.reshape(32, 256)", (32, 2, 128)), "r_one": ("x.reshape(32, 1, 128)", (32, 128)), "r_onel": ("x.reshape(32, 128, 1)", (32, 128)), "r_64": ("x.reshape(16, 2, 64)", (16, 128)), "r_v": ("x.reshape(1, 1024)", (1024,)), "r_v2": ("x.reshape(8, 128)", (1024,)), "r_vc": ("x.reshape(1024, 1)", (1024,)), "r_odd": ("x.reshape(5, 24)", (15, 8)), "r_unflat": ("x.reshape(32, 128)", (4096,)), "r_head": ("x.reshape(64, 4, 64)", (64, 256)), "r_headj": ("x.reshape(64, 256)", (64, 4, 64)), "r_rows3": ("x.reshape(8, 4, 128)", (32, 128)), "r_rows3j": ("x.reshape(32, 128)", (8, 4, 128)),
     "c0": ("jnp.concatenate([x, x], 0)", (32, 128)), "c1": ("jnp.concatenate([x, x], 1)", (32, 128)), "c1h": ("jnp.concatenate([x, x], 1)", (32, 64)), "c1u": ("jnp.concatenate([x[:, :100], x], 1)", (32, 128)), "c0u": ("jnp.concatenate([x[:5], x], 0)", (32, 128)), "c3": ("jnp.concatenate([x, x], 0)", (4, 32, 128)), "c3b": ("jnp.concatenate([x, x], 2)", (4, 32, 64)), "cv": ("jnp.concatenate([x, x])", (128,)), "rot": ("jnp.concatenate([-x[:, 64:], x[:, :64]], 1)", (32, 128)), "shift": ("jnp.concatenate([jnp.zeros((1, 128), x.dtype), x[:-1]], 0)", (32, 128)),
     "bc_row": ("jnp.broadcast_to(x, (32, 128))", (1, 128)), "bc_col": ("jnp.broadcast_to(x, (32, 128))", (32, 1)), "bc_v": ("jnp.broadcast_to(x, (32, 128))", (128,)), "bc_vc": ("jnp.broadcast_to(x[:, None], (128, 128))", (128,)), "bc_3": ("jnp.broadcast_to(x[:, None, :], (32, 4, 128))", (32, 128)), "bc_3b": ("jnp.broadcast_to(x[None], (4, 32, 128))", (32, 128)), "bc_3c": ("jnp.broadcast_to(x[:, :, None], (4, 32, 128))", (4, 32)), "bc_one": ("jnp.broadcast_to(x, (32, 128))", (1, 1)),
     "roll0": ("pltpu.roll(x, 3, 0)", (32, 128)), "roll1": ("pltpu.roll(x, 3, 1)", (32, 128)), "roll1b": ("pltpu.roll(x, 3, 1)", (32, 256)), "roll1u": ("pltpu.roll(x, 3, 1)", (32, 100)), "roll3": ("pltpu.roll(x, 1, 2)", (4, 32, 128)), "jroll0": ("jnp.roll(x, 3, 0)", (32, 128)), "jroll1": ("jnp.roll(x, 3, 1)", (32, 128)), "jroll1u": ("jnp.roll(x, 1, 1)", (32, 100)),
     "tile0": ("jnp.tile(x, (2, 1))", (32, 128)), "tile1": ("jnp.tile(x, (1, 2))", (32, 128)), "tile1h": ("jnp.tile(x, (1, 2))", (32, 64)), "rep0": ("jnp.repeat(x, 2, 0)", (32, 128)), "rep1": ("jnp.repeat(x, 2, 1)", (32, 128)), "rep0b": ("jnp.repeat(x, 8, 0)", (4, 128)),
     "s0": ("x[8:16]", (32, 128)), "s0u": ("x[3:14]", (32, 128)), "s1": ("x[:, 128:]", (32, 256)), "s1u": ("x[:, 5:100]", (32, 128)), "s1h": ("x[:, 64:]", (32, 128)), "s0s": ("x[::2]", (32, 128)), "s1s": ("x[:, ::2]", (32, 128)), "s3": ("x[1]", (4, 32, 128)), "s3b": ("x[:, 3]", (4, 32, 128)), "s3c": ("x[:, :, 3]", (4, 32, 128)), "row": ("x[3]", (32, 128)), "rowk": ("x[3:4]", (32, 128)), "col": ("x[:, 3]", (32, 128)), "colk": ("x[:, 3:4]", (32, 128)),
     "pad0": ("jnp.pad(x, ((0, 8), (0, 0)))", (32, 128)), "pad1": ("jnp.pad(x, ((0, 0), (0, 28)))", (32, 100)), "pad0l": ("jnp.pad(x, ((1, 0), (0, 0)))", (31, 128)), "stack0": ("jnp.stack([x, x])", (32, 128)), "stack1": ("jnp.stack([x, x], 1)", (32, 128)), "stack2": ("jnp.stack([x, x], -1)", (32, 128)), "sq": ("x[0]", (1, 32, 128)), "sq1": ("jnp.squeeze(x, 1)", (32, 1, 128)), "sq2": ("jnp.squeeze(x, -1)", (4, 32, 1)), "ex_c": ("x[:, None]", (128,)), "ex_r": ("x[None]", (128,)), "ex3": ("x[:, None, :]", (32, 128)), "ex3l": ("x[:, :, None]", (32, 128)), "split": ("sum(jnp.split(x, 2, 1)[1:], jnp.split(x, 2, 1)[0])", (32, 256)), "flip": ("jnp.flip(x, 0)", (32, 128)),
     "take0": ("jnp.take(x, jnp.arange(4), axis=0)", (32, 128)), "tal0": ("jnp.take_along_axis(x, lax.broadcasted_iota(jnp.int32, x.shape, 0), 0)", (8, 128)), "tal1": ("jnp.take_along_axis(x, lax.broadcasted_iota(jnp.int32, x.shape, 1), 1)", (8, 128)), "sort": ("jnp.sort(x, axis=1)", (8, 128)), "cumsum": ("jnp.cumsum(x, axis=1)", (8, 128)), "tril": ("jnp.tril(x)", (128, 128)), "diag": ("jnp.where(jnp.eye(128, dtype=bool), x, 0)", (128, 128)), "onehot": ("jax.nn.one_hot(x[:, 0].astype(jnp.int32), 128, dtype=x.dtype)", (32, 128)), "swap": ("jnp.swapaxes(x, 0, 1)", (16, 8, 128)), "einsum": ("jnp.einsum('hqd,hkd->hqk', x, x, preferred_element_type=jnp.float32)", (4, 32, 128)), "topk": ("lax.top_k(x, 4)[0]", (8, 128)), "softmax": ("jax.nn.softmax(x.astype(jnp.float32), -1)", (8, 128)), "lse": ("jax.nn.logsumexp(x.astype(jnp.float32), -1, keepdims=True)", (8, 128)), "bit32": ("pltpu.bitcast(x, jnp.int32)", (32, 128)), "arange": ("x + jnp.arange(128, dtype=x.dtype)", (8, 128)), "arange2": ("x + jnp.arange(8, dtype=x.dtype)[:, None]", (8, 128)),
    }
    for n, (e, s) in moves.items():
        for d in ["f32", "bf16"]:
            put(f"mv_{n}_{d}", e, (s, d))
    for d in ["f32", "bf16", "i8"]:
        A = (256, 128); B = (256, 256)
        for n, (lines, out, arr) in {
         "ds8": (["o_ref[...] = x_ref[pl.ds(8 * pl.program_id(0), 8), :]"], (8, 128), A), "ds16": (["o_ref[...] = x_ref[pl.ds(16 * pl.program_id(0), 16), :]"], (16, 128), A), "ds32": (["o_ref[...] = x_ref[pl.ds(32 * pl.program_id(0), 32), :]"], (32, 128), A),
         "dsi8": (["o_ref[...] = x_ref[pl.ds(pl.program_id(0), 8), :]"], (8, 128), A), "dsi8w": (["o_ref[...] = x_ref[pl.ds(pl.program_id(0), 8), :]"], (8, 256), B), "dsi1": (["o_ref[...] = x_ref[pl.ds(pl.program_id(0), 1), :]"], (1, 128), A), "dsi1w": (["o_ref[...] = x_ref[pl.ds(pl.program_id(0), 1), :]"], (1, 256), B), "row_i": (["o_ref[0, :] = x_ref[pl.program_id(0), :]"], (1, 256), B),
         "ds4": (["o_ref[...] = x_ref[pl.ds(4 * pl.program_id(0), 8), :]"], (8, 256), B), "mult": (["o_ref[...] = x_ref[pl.ds(pl.multiple_of(pl.program_id(0) << 5, 32), 32), :]"], (32, 256), B),
         "dl128": (["o_ref[...] = x_ref[:, pl.ds(128 * (pl.program_id(0) % 2), 128)]"], (256, 128), B), "dl64": (["o_ref[...] = x_ref[:, pl.ds(64 * (pl.program_id(0) % 2), 64)]"], (256, 64), B), "dli": (["o_ref[...] = x_ref[:, pl.ds(pl.program_id(0), 128)]"], (256, 128), B), "col_i": (["o_ref[:, 0] = x_ref[:, pl.program_id(0)]"], (256, 1), B),
         "st_row": (["o_ref[3:11] = x_ref[0:8]"], (256, 128), A), "st_lane": (["o_ref[:, 5:69] = x_ref[:, 3:67]"], (256, 128), A), "st_ds": (["o_ref[pl.ds(pl.program_id(0), 8), :] = x_ref[0:8]"], (256, 128), A), "st_dsw": (["o_ref[pl.ds(pl.program_id(0), 8), :] = x_ref[0:8]"], (256, 256), B), "st_ds8": (["o_ref[pl.ds(pl.program_id(0) * 32, 32), :] = x_ref[0:32]"], (256, 256), B), "st_dsl": (["o_ref[:, pl.ds(pl.program_id(0) * 64, 64)] = x_ref[:, 0:64]"], (256, 256), B), "st_row1": (["o_ref[pl.program_id(0), :] = x_ref[0]"], (256, 256), B), "st_row1k": (["o_ref[pl.ds(pl.program_id(0), 1), :] = x_ref[0:1]"], (256, 256), B),
         "str": (["o_ref[...] = x_ref[pl.ds(0, 8, stride=2), :]"], (8, 128), A), "strw": (["o_ref[...] = x_ref[pl.ds(0, 8, stride=2), :]"], (8, 256), B), "strl": (["o_ref[...] = x_ref[:, pl.ds(0, 64, stride=2)]"], (256, 64), A), "str_st": (["o_ref[pl.ds(0, 8, stride=2), :] = x_ref[0:8]"], (256, 128), A), "slc2": (["o_ref[...] = x_ref[::2, :]"], (128, 128), A),
         "sc": (["o_ref[...] = jnp.full((8, 128), x_ref[0, 0])"], (8, 128), A), "sci": (["o_ref[...] = jnp.full((8, 128), x_ref[pl.program_id(0), 0])"], (8, 128), A), "sc_st": (["o_ref[0, 0] = x_ref[0, 0]"], (8, 128), A), "at": (["o_ref[...] = x_ref.at[pl.ds(0, 8)][...]"], (8, 128), A), "lead": (["o_ref[...] = x_ref[pl.program_id(0)]"], (8, 128), (4, 8, 128)), "lead_st": (["o_ref[pl.program_id(0)] = x_ref[0]"], (4, 8, 128), (4, 8, 128)), "mid": (["o_ref[...] = x_ref[:, pl.program_id(0)]"], (8, 128), (8, 4, 128)), "midl": (["o_ref[...] = x_ref[:, pl.program_id(0), :]"], (4, 128), (4, 8, 128)), "mids": (["o_ref[:, pl.program_id(0), :] = x_ref[:, 0, :]"], (4, 8, 128), (4, 8, 128)), "lead2": (["o_ref[...] = x_ref[1, 3]"], (128,), (4, 8, 128)), "v_ds": (["o_ref[...] = x_ref[pl.ds(128 * pl.program_id(0), 128)]"], (128,), (1024,)), "v_dsi": (["o_ref[...] = x_ref[pl.ds(pl.program_id(0), 128)]"], (128,), (1024,)), "v_sc": (["o_ref[...] = jnp.full((8, 128), x_ref[pl.program_id(0)])"], (8, 128), (1024,)), "idx": (["o_ref[...] = x_ref[jnp.array([0, 2, 4, 6])]"], (4, 128), A),
         "loop": (["def step(t, c):", "    return c + x_ref[pl.ds(t, 1), :].astype(jnp.float32)", "o_ref[...] = jax.lax.fori_loop(0, 16, step, jnp.zeros((1, 128), jnp.float32)).astype(o_ref.dtype)"], (1, 128), A),
         "loop8": (["def step(t, c):", "    o_ref[pl.ds(t * 8, 8), :] = x_ref[pl.ds(t * 8, 8), :]", "    return c", "jax.lax.fori_loop(0, 16, step, 0)"], A, A), "rloop": (["def step(t, c):", "    o_ref[pl.ds(t, 1), :] = x_ref[pl.ds(t, 1), :]", "    return c", "jax.lax.fori_loop(0, 16, step, 0)"], A, A),
         "vs": (["v = x_ref[...]", "o_ref[...] = jax.lax.dynamic_slice(v, (pl.program_id(0), 0), (8, 128))"], (8, 128), A), "dus": (["o_ref[...] = jax.lax.dynamic_update_slice(x_ref[...], jnp.zeros((8, 128), x_ref.dtype), (8, 0))"], A, A), "ix": (["o_ref[...] = x_ref[...].at[0:8].set(0)"], A, A),
        }.items():
            ref(f"ref_{n}_{d}", lines, (out, d), (arr, d))
    for d in ["f32", "bf16", "i8"]:
        for s in [(4, 256), (8, 256), (16, 256), (12, 256), (24, 256), (64, 256), (64, 64), (5, 256)]:
            ref(f"al_rows_{d}_{s[0]}x{s[1]}", [f"o_ref[...] = x_ref[pl.ds({i}, 2), :]"], ((2, s[1]), d), (s, d))
            if s in [(4, 256), (12, 256), (64, 64)]: ref(f"al_row_{d}_{s[0]}x{s[1]}", [f"o_ref[0, :] = x_ref[{i}, :]"], ((1, s[1]), d), (s, d))
        ref(f"al_lane_{d}_64", [f"o_ref[...] = x_ref[:, pl.ds({i} * 16, 16)]"], ((32, 16), d), ((32, 64), d))
        ref(f"al_lane1_{d}_64", [f"o_ref[...] = x_ref[:, pl.ds({i}, 1)]"], ((32, 1), d), ((32, 64), d))
        ref(f"al_st_lane_{d}", [f"o_ref[:, pl.ds({i} * 64, 64)] = x_ref[:, 0:64]"], ((32, 256), d), ((32, 256), d))
        ref(f"al_min_{d}", [f"o_ref[...] = x_ref[pl.ds(jnp.minimum({i} * 32, 64), 32), :]"], ((32, 256), d), ((96, 256), d))
        ref(f"al_mod_{d}", [f"o_ref[...] = x_ref[pl.ds(({i} % 2) * 32, 32), :]"], ((32, 256), d), ((96, 256), d))
        ref(f"al_rev_{d}", [f"o_ref[...] = x_ref[pl.ds(96 - {i} * 32, 32), :]"], ((32, 256), d), ((128, 256), d))
        ref(f"al_div_{d}", [f"o_ref[...] = x_ref[pl.ds({i} // 2 * 32, 32), :]"], ((32, 256), d), ((128, 256), d))
        ref(f"al_where_{d}", [f"o_ref[...] = x_ref[pl.ds(jnp.where({i} == 0, 0, 32), 32), :]"], ((32, 256), d), ((128, 256), d))
        ref(f"al_sh_{d}", [f"o_ref[...] = x_ref[pl.ds({i} << 5, 32), :]"], ((32, 256), d), ((128, 256), d))
        ref(f"al_shr_{d}", [f"o_ref[...] = x_ref[pl.ds({i} & ~31, 32), :]"], ((32, 256), d), ((128, 256), d))
        ref(f"al_3rows_{d}", [f"o_ref[...] = x_ref[:, pl.ds({i}, 2), :]"], ((4, 2, 128), d), ((4, 32, 128), d))
        ref(f"al_3rowsw_{d}", [f"o_ref[...] = x_ref[:, pl.ds({i}, 2), :]"], ((4, 2, 256), d), ((4, 32, 256), d))
        ref(f"al_lead2_{d}", [f"o_ref[...] = x_ref[pl.ds({i}, 2)]"], ((2, 32, 256), d), ((8, 32, 256), d))
        ref(f"al_both_{d}", [f"o_ref[...] = x_ref[pl.ds({i}, 1), pl.ds({i} % 2 * 128, 128)]"], ((1, 128), d), ((64, 256), d))
        ref(f"al_smem_{d}", [f"o_ref[...] = x_ref[pl.ds(x_ref[0, 0].astype(jnp.int32), 8), :]"], ((8, 256), d), ((64, 256), d))
    for d in ["f32", "bf16", "i8"]:
        for n, (s, src, dst, buf, read, o) in {
          "r8": ((4096, 256), f"x_ref.at[pl.ds({i} * 32, 32)]", "buf", (32, 256), "...", (32, 256)),
          "ri": ((4096, 256), f"x_ref.at[pl.ds({i}, 8)]", "buf", (8, 256), "...", (8, 256)),
          "ri128": ((4096, 128), f"x_ref.at[pl.ds({i}, 8)]", "buf", (8, 128), "...", (8, 128)),
          "r1": ((4096, 256), f"x_ref.at[pl.ds({i}, 1)]", "buf", (1, 256), "...", (1, 256)),
          "r1b": ((4096, 256), f"x_ref.at[pl.ds({i}, 1)]", f"buf.at[pl.ds({i}, 1)]", (8, 256), "...", (8, 256)),
          "r1c": ((4096, 128), f"x_ref.at[pl.ds({i}, 1)]", f"buf.at[pl.ds({i}, 1)]", (8, 128), "...", (8, 128)),
          "rs": ((4096, 256), f"x_ref.at[pl.ds(3, 8)]", "buf", (8, 256), "...", (8, 256)),
          "r5": ((4096, 256), f"x_ref.at[pl.ds({i} * 32, 5)]", "buf.at[pl.ds(0, 5)]", (8, 256), "...", (8, 256)),
          "lead": ((64, 32, 256), f"x_ref.at[{i}]", "buf", (32, 256), "...", (32, 256)),
          "slot": ((64, 32, 256), f"x_ref.at[{i}]", f"buf.at[{i} % 2]", (2, 32, 256), "0", (32, 256)),
          "lane": ((4096, 256), f"x_ref.at[pl.ds(0, 32), pl.ds({i} % 2 * 128, 128)]", "buf", (32, 128), "...", (32, 128)),
          "lanes": ((4096, 256), f"x_ref.at[pl.ds(0, 32), pl.ds({i} % 2 * 64, 64)]", "buf", (32, 64), "...", (32, 64)),
          "narrow": ((4096, 64), f"x_ref.at[pl.ds({i} * 32, 32)]", "buf", (32, 64), "...", (32, 64)),
          "vec": ((4096 * 128,), f"x_ref.at[pl.ds({i} * 1024, 1024)]", "buf", (1024,), "...", (1024,)),
          "veci": ((4096 * 128,), f"x_ref.at[pl.ds({i}, 1024)]", "buf", (1024,), "...", (1024,)),
          "row3": ((4096, 4, 256), f"x_ref.at[pl.ds({i}, 8)]", "buf", (8, 4, 256), "...", (8, 4, 256)),
        }.items():
            dma(f"dma_{n}_{d}", d, s, src, dst, buf, read, o)
    for d in ["f32", "bf16", "i8"]:
        for w in (128, 256):
            dma(f"dmb_size5_{w}_{d}", d, (4096, w), f"x_ref.at[pl.ds({i} * 32, 5)]", "buf.at[pl.ds(0, 5)]", (32, w), "...", (32, w))
            dma(f"dmb_size5s_{w}_{d}", d, (4096, w), f"x_ref.at[pl.ds(0, 5)]", "buf.at[pl.ds(0, 5)]", (32, w), "...", (32, w))
            dma(f"dmb_size5b_{w}_{d}", d, (4096, w), f"x_ref.at[pl.ds(0, 5)]", "buf", (5, w), "...", (5, w))
            dma(f"dmb_static3_{w}_{d}", d, (4096, w), f"x_ref.at[pl.ds(3, 8)]", "buf", (8, w), "...", (8, w))
            dma(f"dmb_one3_{w}_{d}", d, (4096, w), f"x_ref.at[pl.ds(3, 1)]", "buf", (1, w), "...", (1, w))
            dma(f"dmb_int_{w}_{d}", d, (4096, w), f"x_ref.at[{i}]", "buf", (w,), "...", (w,))
            dma(f"dmb_int_row_{w}_{d}", d, (4096, w), f"x_ref.at[{i}]", f"buf.at[{i}]", (8, w), "...", (8, w))
            dma(f"dmb_r8_{w}_{d}", d, (4096, w), f"x_ref.at[pl.ds({i} * 8, 8)]", "buf", (8, w), "...", (8, w))
            dma(f"dmb_r16_{w}_{d}", d, (4096, w), f"x_ref.at[pl.ds({i} * 16, 16)]", "buf", (16, w), "...", (16, w))
            dma(f"dmb_dstoff_{w}_{d}", d, (4096, w), f"x_ref.at[pl.ds({i} * 32, 32)]", "buf.at[pl.ds(3, 32)]", (64, w), "...", (64, w))
            dma(f"dmb_whole12_{w}_{d}", d, (4, 12, w), f"x_ref.at[{i}]", "buf", (12, w), "...", (12, w))
            dma(f"dmb_three_{w}_{d}", d, (64, 32, w), f"x_ref.at[{i}, pl.ds(0, 8)]", "buf", (8, w), "...", (8, w))
            dma(f"dmb_heads_{w}_{d}", d, (64, 8, w), f"x_ref.at[pl.ds({i}, 4), 3]", "buf", (4, w), "...", (4, w))
        dma(f"dmb_lane64_{d}", d, (4096, 256), "x_ref.at[pl.ds(0, 32), pl.ds(0, 64)]", "buf", (32, 64), "...", (32, 64))
        dma(f"dmb_narrowrow_{d}", d, (4096, 64), f"x_ref.at[pl.ds({i}, 1)]", "buf", (1, 64), "...", (1, 64))
        dma(f"dmb_narrow8_{d}", d, (4096, 64), f"x_ref.at[pl.ds({i}, 8)]", "buf", (8, 64), "...", (8, 64))
        dma(f"dmb_lead64_{d}", d, (64, 32, 64), f"x_ref.at[{i}]", "buf", (32, 64), "...", (32, 64))
        dma(f"dmb_vec128_{d}", d, (65536,), f"x_ref.at[pl.ds({i} * 128, 128)]", "buf", (128,), "...", (128,))
        dma(f"dmb_vec256_{d}", d, (65536,), f"x_ref.at[pl.ds({i} * 256, 256)]", "buf", (256,), "...", (256,))
        dma(f"dmb_vec512_{d}", d, (65536,), f"x_ref.at[pl.ds({i} * 512, 512)]", "buf", (512,), "...", (512,))
    return found


FLOATS, INTS = ["float32", "float32", "float32", "bfloat16", "bfloat16", "float16", "float8_e4m3fn"], ["int32", "int32", "int8", "int8", "int16", "uint8", "uint32", "bool_"]
W = {"float8_e4m3fn": 8, "int8": 8, "uint8": 8, "bfloat16": 16, "float16": 16, "int16": 16}



def randomly(seed):
    """A kernel of a few operations, some of which no TPU has."""
    r = random.Random(seed)
    rank = r.choice([1, 2, 2, 2, 2, 2, 3, 3])
    steps = [r.choice([1, 2, 4]), r.choice([1, 2, 3])]
    legal = r.random() < 0.85
    n_in = r.choice([1, 1, 2])
    dts = [r.choice(FLOATS + INTS) if r.random() < 0.5 else "float32" for _ in range(n_in)]
    narrow = min(W.get(d, 32) for d in dts)
    if rank == 1:
        block = (r.choice([1024, 2048, 512, 256]) if legal else r.choice([96, 384, 100, 64]),)
        if r.random() < 0.2: steps = [1, 1]
    else:
        rows = r.choice([32, 64, 128, 256]) if legal else r.choice([8, 12, 16, 4, 1, 20])
        cols = r.choice([128, 128, 256, 512]) if legal else r.choice([64, 128, 192, 96])
        block = ((r.choice([1, 2, 4]),) if rank == 3 else ()) + (rows, cols)
    shape = list(block)
    shape[0] *= steps[0]
    if rank > 1 and r.random() < 0.5: shape[-1] *= steps[1]
    else: steps[1] = 1
    if rank > 1 and r.random() < 0.1: shape[-2] += r.choice([1, 7, 8]) if rank == 2 else 0
    full = r.random() < 0.15 and rank > 1
    index = ["i"] + ["0"] * (rank - 1)
    if steps[1] > 1: index[-1] = "j"
    squeeze = rank == 3 and block[0] == 1 and r.random() < 0.5
    bs = list(map(str, block))
    if squeeze: bs[0] = "None"
    vshape = block[1:] if squeeze else block
    scratch = r.random() < 0.3
    prefetch = r.random() < 0.2
    sem = r.choice([None, '("parallel", "arbitrary")', '("arbitrary", "arbitrary")', '("parallel", "parallel")'])
    lines, vals = [], []
    for n, d in enumerate(dts):
        lines.append(f"v{n} = x{n}_ref[...]")
        vals.append((f"v{n}", d, vshape))
    k = [len(vals)]
    def new(expr, d, s):
        name = f"v{k[0]}"; k[0] += 1
        lines.append(f"{name} = {expr}"); vals.append((name, d, s))
    isf = lambda d: d.startswith(("float", "bf"))
    def step():
        x, d, s = r.choice(vals[-3:])
        c = r.random()
        if c < 0.25:
            t = r.choice(["float32"] * 4 + ["bfloat16", "bfloat16", "int32", "int32", "int8", "float16", "uint8", "int16", "bool_", "float8_e5m2"])
            if t != d: new(f"{x}.astype(jnp.{t})", t, s)
        elif c < 0.5:
            if isf(d): new(r.choice([f"jnp.exp({x})", f"jnp.tanh({x})", f"{x} * 2", f"{x} + {x}", f"jnp.maximum({x}, 0)", f"lax.rsqrt({x})", f"jnp.sin({x})", f"jax.nn.gelu({x})", f"jax.nn.silu({x})", f"jnp.abs({x})", f"{x} / 3", f"jnp.floor({x})", f"jnp.log1p({x})", f"-{x}", f"jnp.square({x})", f"jnp.expm1({x})", f"lax.erf({x})"]), d, s)
            elif d != "bool_": new(r.choice([f"{x} * 2", f"{x} + {x}", f"{x} & 3", f"{x} >> 1", f"jnp.maximum({x}, 1)", f"{x} // 3", f"{x} % 5", f"-{x}", f"jnp.abs({x})", f"{x} ^ 1", f"jnp.minimum({x}, 7)"]), d, s)
        elif c < 0.58 and d != "bool_":
            new(f"jnp.where({x} {r.choice(['>', '<', '==', '>=', '!='])} {r.choice([0, 1])}, {x}, {r.choice(['0', '1'])})", d, s)
        elif c < 0.66 and len(s) >= 2:
            ax = r.randrange(len(s))
            op = r.choice(["sum", "max", "min", "mean", "argmax", "prod", "any"] if isf(d) else ["sum", "max", "min", "argmin"] if d != "bool_" else ["any", "all"])
            e = f"jnp.{op}({x}, axis={ax}, keepdims=True)"
            o = "int32" if op.startswith("arg") else "bool_" if op in ("any", "all") else d
            if op == "any" and isf(d): e = f"jnp.any({x} > 0, axis={ax}, keepdims=True)"
            if op == "sum" and not isf(d): e = f"jnp.sum({x}, axis={ax}, keepdims=True, dtype=jnp.{d})"
            t = list(s); t[ax] = 1
            new(e, o, tuple(t))
            if o == "bool_": new(f"jnp.where({vals[-1][0]}, 1.0, 0.0)", "float32", tuple(t))
            new(f"jnp.broadcast_to({vals[-1][0]}, {tuple(s)})", vals[-1][1], s)
        elif c < 0.76 and len(s) == 2 and d != "bool_":
            p = r.choice(["float32"] * 5 + ["None", "int32"]) if isf(d) else r.choice(["int32", "int32", "int32", "float32", "None"])
            how = r.choice(["nt", "nt", "tn"])
            pe = "" if p == "None" else f", preferred_element_type=jnp.{p}"
            other = r.choice([q for q in vals if q[2] == s])
            od = other[1]
            if od != d or od == "bool_": return
            out = p if p != "None" else (d if d == od else "float32")
            if how == "nt": new(f"lax.dot_general({x}, {other[0]}, (((1,), (1,)), ((), ())){pe})", out, (s[0], s[0]))
            else: new(f"lax.dot_general({x}, {other[0]}, (((0,), (0,)), ((), ())){pe})", out, (s[1], s[1]))
        elif c < 0.9 and len(s) >= 2:
            a_, b_ = s[-2:]
            lead = s[:-2]
            opts = [(f"jnp.swapaxes({x}, -1, -2)", lead + (b_, a_)), (f"jnp.concatenate([{x}, {x}], axis=-1)", lead + (a_, 2 * b_)), (f"jnp.concatenate([{x}, {x}], axis=-2)", lead + (2 * a_, b_)),
                    (f"{x}[..., :{max(1, b_ // 2)}]", lead + (a_, max(1, b_ // 2))), (f"jnp.roll({x}, 1, axis={len(s) - 1})", s), (f"jnp.tile({x}, {(1,) * (len(s) - 1) + (2,)})", lead + (a_, 2 * b_)), (f"jnp.repeat({x}, 2, axis={len(s) - 2})", lead + (2 * a_, b_)), (f"pltpu.roll({x}, 1, {len(s) - 1})", s), (f"pltpu.roll({x}, 3, {len(s) - 2})", s)]
            if b_ % 128 == 0 and len(s) == 2: opts += [(f"{x}.reshape({a_}, {b_ // 64}, 64)", (a_, b_ // 64, 64)), (f"{x}.reshape({a_ * 2}, {b_ // 2})", (a_ * 2, b_ // 2))]
            if len(s) == 3: opts += [(f"{x}.reshape({s[0] * s[1]}, {s[2]})", (s[0] * s[1], s[2])), (f"jnp.transpose({x}, (1, 0, 2))", (s[1], s[0], s[2]))]
            if len(s) == 2: opts += [(f"{x} + lax.broadcasted_iota(jnp.int32, {tuple(s)}, {r.randrange(2)}).astype({x}.dtype)", s), (f"{x}[:, None, :]", (s[0], 1, s[1])), (f"{x}[0:{max(1, a_ // 2)}]", (max(1, a_ // 2), b_)), (f"{x}[::2]", ((a_ + 1) // 2, b_))]
            e, t = r.choice(opts)
            if d == "bool_" and " + " in e: return
            new(e, d, t)
        else:
            if prefetch and d != "bool_": new(f"{x} * t_ref[i].astype({x}.dtype)", d, s)
            elif vshape and len(vshape) == 2 and not squeeze and rank == 2:
                n = r.choice([1, 8, 8, 16, 32])
                if n <= vshape[0]:
                    start = r.choice([f"{n} * (i % {max(1, vshape[0] // n)})", f"i % {vshape[0] - n + 1}", f"pl.multiple_of({n} * (i % {max(1, vshape[0] // n)}), {n})", "0", str((vshape[0] - n) // 2)])
                    new(f"x0_ref[pl.ds({start}, {n}), :]", dts[0], (n, vshape[1]))
    for _ in range(r.randint(1, 6)): step()
    x, d, s = vals[-1]
    if d == "bool_": new(f"{x}.astype(jnp.int32)", "int32", s); x, d, s = vals[-1]
    if len(s) == len(vshape) + 1 or len(s) != len(vshape): pass
    out_full = tuple(s)
    outs = list(s)
    oindex = ["0"] * len(s)
    outs[0] *= steps[0]; oindex[0] = "i"
    if steps[1] > 1: outs[-1] *= steps[1]; oindex[-1] = "j" if len(s) > 1 else "i * %d + j" % steps[1]
    body = []
    names = (["t_ref"] if prefetch else []) + [f"x{n}_ref" for n in range(n_in)] + ["o_ref"] + (["acc_ref"] if scratch else [])
    body.append(f"def body({', '.join(names)}):")
    body.append("    i, j = pl.program_id(0), pl.program_id(1)")
    body += ["    " + l for l in lines]
    if scratch:
        body += [f"    @pl.when(j == 0)", f"    def _():", f"        acc_ref[...] = jnp.zeros_like(acc_ref)", f"    acc_ref[...] += {x}.astype(acc_ref.dtype)", f"    o_ref[...] = acc_ref[...].astype(o_ref.dtype)"]
    else: body.append(f"    o_ref[...] = {x}")
    big = r.random() < 0.06
    args = [f"jax.ShapeDtypeStruct({tuple(shape)}, jnp.{d_})" for d_ in dts]
    first = "np.arange(8, dtype=np.int32) % 4" if prefetch else None
    ins = f"pl.BlockSpec(({', '.join(bs)}{',' if rank == 1 else ''}), lambda i, j{', t' if prefetch else ''}: ({', '.join(index)}{',' if rank == 1 else ''}))"
    if prefetch and rank == 2 and steps[0] > 1 and r.random() < 0.5: ins = ins.replace("(i, ", f"(t[i] % {steps[0]}, ")
    out_spec = f"pl.BlockSpec({out_full}, lambda i, j{', t' if prefetch else ''}: ({', '.join(oindex)}{',' if len(s) == 1 else ''}))"
    sc = f"[pltpu.VMEM({out_full}, jnp.float32{') , pltpu.VMEM((4096, 2048), jnp.float32' if False else ''})]" if scratch else "[]"
    text = HEAD + "\n".join(body) + f'''

ARGS = [{', '.join(([first] if first else []) + args)}]

def kernel(*args):
    return pl.pallas_call(
        body,
        grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch={int(prefetch)}, grid={tuple(steps)}, in_specs=[{ins}] * {n_in}, out_specs={out_spec}, scratch_shapes={sc}),
        out_shape=jax.ShapeDtypeStruct({tuple(outs)}, jnp.{d}),
        {f'compiler_params=pltpu.CompilerParams(dimension_semantics={sem}),' if sem else ''}
    )(*args)
'''
    return text


def sources(seeds=420):
    """{name: text of a module}"""
    return {**families(), **{f"r{n:04}": randomly(n) for n in range(seeds)}}
