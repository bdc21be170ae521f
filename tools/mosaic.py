#!/usr/bin/env python3
"""What JAX's lowering for TPUs (Mosaic) makes of the primitives of spec/prims.def.

    mosaic.py --libtpu FILE --write   write spec/mosaic.def (with the Python of build/venv)
    mosaic.py                         exit 1 where the table and this JAX differ
    --part NAME                       primitives or casts alone

Each primitive is written as its row says, traced, and its kernel lowered for TPUs and
for each dtype, without a TPU. JAX's registry of lowering rules says which JAX
primitives there is no rule for. The compiler is asked with --libtpu.
"""

import argparse
import itertools
import os
import pathlib
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax._src.pallas.mosaic import lowering, tpu_info  # noqa: E402
from jax.experimental import pallas as pl  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402

from tileproof import jaxpr as jx  # noqa: E402

TABLE = ROOT / "spec" / "mosaic.def"
FLOATS, INTEGERS = ["F32", "BF16", "F16", "F8E4M3FN", "F8E5M2", "F8E4M3B11", "F8E8M0"], ["I4", "I8", "I16", "I32", "U4", "U8", "U16", "U32"]
NAMES = dict(re.findall(r'^X\((\w+), "(\w+)"', (ROOT / "base" / "dtypes.def").read_text(), re.M))
CLASSES = {"FLOATS": FLOATS, "INTS": INTEGERS, "NUMBERS": FLOATS + INTEGERS, "LOGICAL": [*INTEGERS, "BOOL"], "ANY": [*FLOATS, *INTEGERS, "BOOL"]}
# as libtpu names them; it ends itself when asked about v5p in the same process
TOPOLOGIES = {"tpu-v2": "v2:2x2", "tpu-v3": "v3:2x2", "tpu-v4": "v4:2x2x1", "tpu-v5e": "v5e:2x2", "tpu-v6e": "v6e:2x2", "tpu-v7x": "tpu7x:2x2x1"}
ROW = re.compile(r'^(UNARY|BINARY|IMMEDIATE|SELECT|CONVERT|FOLD|RUNNING|CONTRACT|MOVE|SOURCE|SUGAR)\((\w+), "[^"]*",(.*?)"[^"]*", "([^"]*)"\)$', re.M | re.S)
# the parameters that a row's Pallas text names, and rows that name none
PARAMETERS = {"a": 1, "n": 3, "axis": 1, "axes": (1, 0), "shape": (32, 128), "value": 0, "reps": (2, 1), "shift": 1, "dim": 1, "starts": (0, 0),
              "limits": (8, 128), "strides": None, "lo": 0, "hi": 1}
TEXTS = {"DOT": "jax.lax.dot_general(x, y.T, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32 if jnp.issubdtype(x.dtype, jnp.floating) else jnp.int32)",
         "PAD": "jax.lax.pad(x, jnp.zeros((), x.dtype), ((0, 8, 0), (0, 0, 0)))", "BROADCAST": "jnp.broadcast_to(x[:1], shape)",
         "SQUEEZE": "jnp.squeeze(jnp.expand_dims(x, 0), 0)", "EXPAND_DIMS": "jnp.expand_dims(x, 0)", "RESHAPE": "jnp.reshape(x, (16, 256))",
         "CLIP": "jnp.clip(x, x, y)", "CONCATENATE": "jnp.concatenate([x, y], axis=0)", "STACK": "jnp.stack([x, y], axis=0)",
         "ROLL": "pltpu.roll(x, 1, axis=1)", "FULL": "jnp.full(shape, 3, dtype)", "TILE": "jnp.tile(x, reps)", "CAST": "x.astype(jnp.float32)",
         "BITCAST": "jax.lax.bitcast_convert_type(x, jnp.dtype('int4' if '4' in x.dtype.name[-2:] else f'int{8 * x.dtype.itemsize}'))", "LITERAL": None, "MULTIPLE_OF": None, "DYNAMIC_SLICE": "jax.lax.dynamic_slice(x, (8, 0), (8, 128))", "DYNAMIC_UPDATE": "jax.lax.dynamic_update_slice(x, y[:8], (8, 0))", "PROGRAM_ID": None, "NUM_PROGRAMS": None,
         "WHERE": "jnp.where(jax.lax.broadcasted_iota(jnp.int32, shape, 1) > 3, x, y)", "TAKE": "jnp.take(x, jax.lax.broadcasted_iota(jnp.int32, (32, 1), 0)[:, 0], axis=0)",
         "REPEAT": "jnp.repeat(x, n, axis=0)", "SUM": "jnp.sum(x, axis=a, keepdims=True, dtype=x.dtype)", **{f: f"jnp.{f.lower()}(x, axis=a, keepdims=True)" for f in ("PROD", "MAX", "MIN", "ANY", "ALL", "ARGMAX", "ARGMIN")}}


def rows():
    """(id, text, operands) of every primitive that computes."""
    for kind, name, middle, pallas in ROW.findall((ROOT / "spec" / "prims.def").read_text()):
        text = TEXTS.get(name, pallas)
        if text is not None:
            operands = middle.split(",")[0].strip() if kind in ("UNARY", "BINARY") else "NUMBERS" if kind in ("IMMEDIATE", "FOLD", "RUNNING", "CONTRACT") else "ANY"
            yield name, text, CLASSES["LOGICAL" if name in ("ANY", "ALL") else operands]


def function(text):
    def f(x, y):
        scope = {"jnp": jnp, "jax": jax, "pltpu": pltpu, "x": x, "y": y, "dtype": x.dtype, **PARAMETERS}
        return eval(text, scope)  # noqa: S307  a row of our own table

    return f


def primitives(text, dtype):
    """Of JAX, in the order in which they are traced, calls entered."""
    found = {}

    def walk(j):
        for e in jx.equations(j):
            inner = list(jx.inner_jaxprs(e))
            if not inner:
                found[e.primitive.name] = True
            for i in inner:
                walk(i)

    shape = jax.ShapeDtypeStruct((32, 128), dtype)
    walk(jax.make_jaxpr(function(text))(shape, shape))
    return list(found)


def uses(f, x, y):
    """The result, stored: a mask in each of three ways, of which one has to do."""
    r = f(x, y)
    return [r] if r.dtype != bool or r.shape != x.shape else [jnp.where(r, x, y), jnp.where(r, 1.0, 0.0), r.astype(jnp.int32)]


def accepted(f, shapes, device, topology):
    """Does the lowering accept f of operands of these two shapes, and the compiler, where there is one?"""
    tpu_info.get_tpu_info = lambda: tpu_info.get_tpu_info_for_chip(tpu_info.chip_version_from_device_kind(device), 1)
    try:
        results = jax.eval_shape(lambda x, y: uses(f, x, y), *shapes)
    except (TypeError, ValueError):  # JAX has no such operation of this dtype
        return False

    def works(n):
        def kernel(x_ref, y_ref, o_ref):
            o_ref[...] = uses(f, x_ref[...], y_ref[...])[n]

        def call(x, y):
            return pl.pallas_call(kernel, out_shape=results[n])(x, y)

        try:
            if topology:
                jax.jit(call, in_shardings=[topology] * 2).lower(*shapes).compile()
            else:
                jax.export.export(jax.jit(call), platforms=["tpu"])(*shapes)
        except Exception:  # noqa: BLE001  whatever it raises, it does not accept
            return False
        return True

    return any(map(works, range(len(results))))


def registered():
    """The JAX primitives that have a rule, for kernels of a TensorCore."""
    return {p.name for kind, rules in lowering.lowering_rules.items() if kind.name == "TC" for p in rules}


def chips(libtpu):
    """(generation, device kind, how the compiler is asked) of every TPU that can be asked."""
    rows = re.findall(r'^X\("([^"]*)", "[^"]*?(TPU[^",]*)", (\d+)', (ROOT / "spec" / "targets.def").read_text(), re.M)
    if not libtpu:
        return [(int(generation), kind, None) for _, kind, generation in rows]
    os.environ["TPU_SKIP_MDS_QUERY"], os.environ["TPU_LIBRARY_PATH"] = "1", libtpu
    from jax.experimental import topologies
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    found = []
    for name, kind, generation in rows:
        if name in TOPOLOGIES:
            devices = topologies.get_topology_desc(TOPOLOGIES[name], platform="tpu").devices
            found.append((int(generation), kind, NamedSharding(Mesh(np.array(devices[:1]), ("x",)), PartitionSpec())))
    return found


def interval(f, shapes, asked):
    """(the first generation from which on every chip accepts it, the first that no longer does or 0); None: no chip does."""
    answers = sorted((g, accepted(f, shapes, kind, topology)) for g, kind, topology in asked)
    yes = [g for g, accepts in answers if accepts]
    no = [g for g, accepts in answers if not accepts]
    first = [g for g in yes if all(other < g for other in no if other < max(yes))]
    lost = [g for g in no if yes and g > max(yes)]
    return (first[0], lost[0] if lost else 0) if first else None


def primitives_measured(asked):
    """id -> (becomes, missing, {dtype: interval})"""
    known, out = registered(), {}
    for name, text, dtypes in rows():
        becomes = primitives(text, NAMES[dtypes[0]])
        shapes = {d: [jax.ShapeDtypeStruct((32, 128), NAMES[d])] * 2 for d in dtypes}
        since = {d: i for d in dtypes if (i := interval(function(text), shapes[d], asked))}
        out[name] = (becomes, [p for p in becomes if p not in known], since)
    return out


def casts_measured(asked):
    """(from, to) -> interval"""
    out = {}
    for a, b in itertools.permutations(CLASSES["ANY"], 2):
        shapes = [jax.ShapeDtypeStruct((32, 128), NAMES[a])] * 2
        if i := interval(lambda x, y, b=b: x.astype(NAMES[b]), shapes, asked):
            out[a, b] = i
    return out


HEAD = """/* What JAX 0.10.2 makes of the primitives of prims.def in a kernel for a TPU, and the dtypes of which libtpu 0.0.42
 * compiles the result. Written by `build/venv/bin/python tools/mosaic.py --libtpu FILE --write`.
 * LOWERED(id, becomes, missing, since...)
 *   becomes  the JAX primitives, in order
 *   missing  the first of them without a rule in the registry of jax._src.pallas.mosaic.lowering, or ""
 *   since    [dtype] = the first generation from which on every chip compiles it; the others: none does
 * LOST(id, dtype, until): chips from generation `until` on do not compile it any more
 * CASTS(from, to, since, until): the pairs that are converted, from one generation up to another; 0: up to the newest
 * Whoever includes this defines the rows that it needs. Chips: v2, v3, v4, v5e, v6e, v7x; v5p compiled the same where
 * it was asked. */
""" + "".join(f"#ifndef {k}\n#define {k}(...)\n#endif\n" for k in ("LOWERED", "LOST", "CASTS"))


def table(found, casts):
    lines, lost = [], []
    for name, (becomes, missing, since) in found.items():
        cells = "".join(f", [TP_{d}] = {g}" for d, (g, _) in since.items())
        lines.append(f'LOWERED({name}, "{" ".join(becomes)}", "{(missing or [""])[0]}"{cells or ", 0"})\n')
        lost += [f"LOST({name}, TP_{d}, {until})\n" for d, (_, until) in since.items() if until]
    pairs = [f"CASTS(TP_{a}, TP_{b}, {since}, {until})\n" for (a, b), (since, until) in casts.items()]
    return HEAD + "".join(lines + lost + pairs) + "".join(f"#undef {k}\n" for k in ("LOWERED", "LOST", "CASTS"))


def read():
    """The table as it would be measured: primitives, casts."""
    found, text = {}, TABLE.read_text()
    lost = {(name, d): int(until) for name, d, until in re.findall(r"^LOST\((\w+), TP_(\w+), (\d+)\)$", text, re.M)}
    for name, becomes, missing, cells in re.findall(r'^LOWERED\((\w+), "([^"]*)", "([^"]*)"(.*)\)$', text, re.M):
        since = {d: (int(g), lost.get((name, d), 0)) for d, g in re.findall(r"\[TP_(\w+)\] = (\d+)", cells)}
        found[name] = (becomes.split(), [missing] if missing else [], since)
    casts = re.findall(r"^CASTS\(TP_(\w+), TP_(\w+), (\d+), (\d+)\)$", text, re.M)
    return found, {(a, b): (int(since), int(until)) for a, b, since, until in casts}


def differences(found, compiled):
    """Of the table and what was measured; without a compiler, what it accepted has to be lowered."""
    recorded = read()[0]
    for name in recorded.keys() | found.keys():
        if name not in found or name not in recorded:
            yield f"{name}: {'no longer' if name in recorded else 'not yet'} a primitive"
            continue
        (becomes, missing, since), (was, lacked, before) = found[name], recorded[name]
        if becomes != was or missing[:1] != lacked:
            yield f"{name}: becomes {' '.join(becomes)}, without a rule: {' '.join(missing) or 'none'}; the table says {' '.join(was)}, {' '.join(lacked) or 'none'}"
        if since != before if compiled else any(d not in since for d in before):
            yield f"{name}: {since}; the table says {before}"


def casts_differ(found, recorded, compiled):
    """The same of casts."""
    for key in sorted(recorded.keys() | found.keys()):
        if found.get(key) != recorded.get(key) if compiled else key in recorded and key not in found:
            yield f"cast {' '.join(key)}: {found.get(key)}; the table says {recorded.get(key)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--libtpu", help="libtpu.so of the package libtpu 0.0.42: ask the compiler, too")
    parser.add_argument("--part", choices=["primitives", "casts"], help="measure these alone, the others as they are written")
    o = parser.parse_args()
    asked = chips(o.libtpu)
    if not o.libtpu:  # the lowering makes one difference between chips, before and after v4
        asked = [c for c in asked if c[1] in ("TPU v3", "TPU v5 lite")]
    recorded, compiled = read(), bool(o.libtpu)
    parts = {"primitives": primitives_measured, "casts": casts_measured}
    found = [measure(asked) if o.part in (None, name) else was for (name, measure), was in zip(parts.items(), recorded, strict=True)]
    if o.write:
        if not o.libtpu:
            sys.exit("--write needs --libtpu: the table has what the compiler says")
        TABLE.write_text(table(*found))
        return 0
    wrong = [*differences(found[0], compiled), *casts_differ(found[1], recorded[1], compiled)]
    for w in wrong:
        print(f"mosaic: {w}")
    print(f"mosaic: {len(found[0])} primitives, {len(found[1])} casts, {len(wrong)} differ from spec/mosaic.def")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
