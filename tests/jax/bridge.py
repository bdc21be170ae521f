"""Random Pallas functions, imported and executed in the checked engine beside
both interpreters of JAX (interpret=True, pltpu.InterpretParams()).

    bridge.py [--count 40] [--seed 1] [--log FILE] [--shard 250]

The functions are correct by construction and exact: integers, also those held
by float32, so that results are equal or a defect of somebody. What varies:
grids, blocks, index maps (bit operations, quotients, tables), scratch carried
along an axis, aliases, prefetched tables, dynamic grid bounds, semantics, and
around the call vmap (nested, shared operands), jit, checkpoint, scan, cond,
custom_vjp. Each seed is one function; one that differs is named by its seed.

interpret=True of JAX 0.10.2 is not asked about dynamic bounds below vmap: it
differs there from itself on the single members of the batch.

With --log, every finished shard is one line of FILE: a second start goes on
behind them.
"""

import argparse
import json
import os
import pathlib
import random
import sys
import time
import traceback

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # every function is compiled once and run once
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tileproof import binary, capture, engine, importer
from tileproof import jaxpr as jx

F32, I32 = jnp.float32, jnp.int32
BLOCKS = [(2, 8), (4, 16), (8, 128)]


class Kernel:
    """One random pallas_call: call(interpret)(*args) and its arguments. The
    axes are those of the output's blocks, then perhaps one that is summed over."""

    def __init__(self, rng):
        self.rng = rng
        self.dtype = rng.choice([F32, F32, I32])
        self.block = rng.choice(BLOCKS)
        self.counts = [rng.randint(1, 3) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]
        self.sums = bool(self.counts) and rng.random() < 0.35
        self.steps = rng.randint(1, 3)
        self.grid = [*self.counts, *([self.steps] if self.sums else [])]
        self.squeezed = len(self.counts) == 3 or (len(self.counts) > 0 and rng.random() < 0.3)
        self.tables = [rng.choice([(4,), (6,), (2, 3)]) for _ in range(rng.choice([0, 0, 0, 1, 2]))] if self.grid else []
        self.dynamic = rng.randrange(len(self.grid)) if self.grid and rng.random() < 0.25 else None
        self.partial = self.dynamic is not None and self.dynamic < len(self.counts) and rng.random() < 0.7
        self.aliased = not self.sums and (self.partial or rng.random() < 0.3)
        if self.partial and not self.aliased:
            self.partial = False
        self.outputs = 1 if self.aliased or rng.random() < 0.7 else 2
        self.flips = [rng.choice(["", "", "reversed", "paired"]) for _ in self.counts]
        self.scratch = self.sums and rng.random() < 0.6
        self.vmapped = False  # InterpretParams() counts the semantics of a batched grid wrongly and stops
        self.semantics = rng.choice([None, "arbitrary", "parallel"])
        self.views = [self.view() for _ in range(rng.choice([1, 1, 2, 3]))]
        self.recipe = [(rng.randrange(8), rng.randint(1, 5), rng.randrange(8)) for _ in range(rng.randint(1, 4))]

    # ---- arrays ----

    def array_shape(self):
        rows, cols = self.block
        n = [*self.counts, 1, 1, 1]
        if self.squeezed:
            return (n[0], n[1] * rows, n[2] * cols)
        return (n[0] * rows, n[1] * cols)

    def view(self):
        """How one input is cut: the output's way, one row of blocks, or as a whole."""
        rng = self.rng
        kind = rng.choice(["same", "blocks", "blocks", "whole"])
        return {"kind": kind, "blocks": rng.randint(1, 4), "weights": [rng.randint(0, 3) for _ in self.grid], "add": rng.randint(0, 3),
                "form": rng.randrange(6), "table": rng.randrange(len(self.tables)) if self.tables and rng.random() < 0.6 else None}

    def input_shape(self, v):
        rows, cols = self.block
        return {"same": self.array_shape(), "blocks": (v["blocks"] * rows, cols), "whole": (rows + 6, cols)}[v["kind"]]

    def place(self, ids, n):
        """The output's block along axis n; every block once."""
        i, count = ids[n], self.counts[n]
        if self.flips[n] == "reversed" and not (self.partial and self.dynamic == n):
            return count - 1 - i
        if self.flips[n] == "paired" and count == 2:
            return i ^ 1
        return i

    def output_map(self, *ids):
        at = [self.place(ids, n) for n in range(len(self.counts))] + [0, 0, 0]
        return (at[0], at[1], at[2]) if self.squeezed else (at[0], at[1])

    def entry(self, table, number, shape):
        return table[number % shape[0]] if len(shape) == 1 else table[number % shape[0], number % shape[1]]

    def number(self, v, ids, tables):
        """Some non-negative integer of the ids and a table."""
        total = v["add"]
        for w, i in zip(v["weights"], ids, strict=True):
            total = total + w * i
        if v["table"] is not None:
            total = self.entry(tables[v["table"]], total, self.tables[v["table"]]) + v["add"]
        return total

    def block_of(self, v, ids, tables):
        n, total = v["blocks"], self.number(v, ids, tables)
        return [lambda: total % n, lambda: jnp.minimum(total, n - 1), lambda: lax.rem(total, n) if not isinstance(total, int) else total % n,
                lambda: jnp.where(total > n - 1, 0, total), lambda: (total ^ 1) % n, lambda: (total // 2) % n][v["form"]]()

    def specs(self):
        rows, cols = self.block
        out = pl.BlockSpec((None, rows, cols) if self.squeezed else (rows, cols), lambda *a: self.output_map(*a[:len(self.grid)]))
        inputs = []
        for v in self.views:
            if v["kind"] == "same":
                inputs.append(out)
            elif v["kind"] == "whole":
                inputs.append(pl.BlockSpec(self.input_shape(v), lambda *a: (0, 0)))
            else:
                inputs.append(pl.BlockSpec((rows, cols), lambda *a, v=v: (self.block_of(v, a[:len(self.grid)], a[len(self.grid):]), 0)))
        return inputs, [out] * self.outputs

    # ---- the body ----

    def mixed(self, value, ids, tables):
        """Exact operations that keep numbers small."""
        for kind, c, which in self.recipe:
            i = ids[which % len(ids)] if ids else 1
            n = pl.num_programs(which % len(ids)) if ids else 2
            if kind == 0:
                value = value + (i * c).astype(self.dtype) if ids else value + c
            elif kind == 1:
                value = jnp.where(value > c, value - c, value * 2)
            elif kind == 2:
                value = jnp.maximum(value, -value) - jnp.asarray(n, self.dtype)
            elif kind == 3:
                value = lax.fori_loop(0, c, lambda t, v: v + t.astype(self.dtype), value)
            elif kind == 4:
                value = jax.jit(lambda v: jnp.minimum(v, 50) + c)(value)
            elif kind == 5:
                value = lax.cond(jnp.asarray(i) % 2 == 0, lambda v: v + c, lambda v: -v, value)
            elif kind == 6:
                value = jax.checkpoint(lambda v: v * 2 - c)(value)
            elif tables:
                value = value + self.entry(tables[which % len(tables)], jnp.asarray(i) + c, self.tables[which % len(tables)]).astype(self.dtype)
        return jnp.clip(value, -99, 99)

    def kernel(self, *refs):
        tables, refs = refs[:len(self.tables)], refs[len(self.tables):]
        inputs, outs = refs[:len(self.views)], refs[len(self.views):len(self.views) + self.outputs]
        rows = self.block[0]
        ids = [pl.program_id(n) for n in range(len(self.grid))]
        value = jnp.zeros(self.block, self.dtype)
        for v, ref in zip(self.views, inputs, strict=True):
            if v["kind"] == "whole":
                start = self.number(v, ids, tables) & 3
                part = ref.at[pl.ds(v["add"], rows + 3), :][pl.ds(start, rows), :] if v["form"] % 2 else ref[pl.ds(start, rows), :]
            else:
                part = ref[...]
            value = value + part * (v["add"] + 1)
        value = self.mixed(value, ids, tables)
        for n, out in enumerate(outs):
            self.store(out, value + n, refs[-1] if self.scratch else out, ids)

    def store(self, out, value, room, ids):
        if not self.sums:
            out[...] = value
            return
        axis = len(self.grid) - 1

        @pl.when(ids[axis] == 0)
        def _():
            room[...] = jnp.zeros_like(room)

        room[...] += value
        if room is not out:
            @pl.when(ids[axis] == pl.num_programs(axis) - 1)
            def _():
                out[...] = jnp.clip(room[...], -500, 500)

    # ---- the call ----

    def call(self, interpret):
        """A function of (bound, tables, inputs), those that there are."""
        inputs, outs = self.specs()
        if self.aliased:
            self.views[0]["kind"] = "same"
            inputs[0] = outs[0]
        scratch = [pltpu.VMEM(self.block, self.dtype)] if self.scratch else []
        words = None
        if self.semantics and self.grid and (interpret in (True, False) or not self.vmapped):
            # InterpretParams() shuffles parallel axes: it wants their bounds at once and them in front
            first = min(len(self.counts), len(self.grid) if self.dynamic is None else self.dynamic)
            words = tuple(self.semantics if n < first else "arbitrary" for n in range(len(self.grid)))
        out = jax.ShapeDtypeStruct(self.array_shape(), self.dtype)

        def fn(*args):
            args = list(args)
            grid = list(self.grid)
            if self.dynamic is not None:
                grid[self.dynamic] = args.pop(0)
            made = pl.pallas_call(
                self.kernel, out_shape=[out] * self.outputs, interpret=interpret,
                grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=len(self.tables), grid=tuple(grid), in_specs=inputs, out_specs=outs,
                                                       scratch_shapes=scratch),
                input_output_aliases={len(self.tables): 0} if self.aliased else {},
                compiler_params=pltpu.CompilerParams(dimension_semantics=words))
            return tuple(made(*args))
        return fn

    def arguments(self, numbers):
        """Shapes first: an aliased input is cut as the output is."""
        if self.aliased:
            self.views[0]["kind"] = "same"
        out = []
        if self.dynamic is not None:
            full = self.grid[self.dynamic]
            out.append(np.int32(numbers.integers(1, full + 1) if self.partial or self.dynamic >= len(self.counts) else full))
        out += [numbers.integers(0, 4, s).astype(np.int32) for s in self.tables]
        return out + [numbers.integers(-9, 10, self.input_shape(v)).astype(self.dtype) for v in self.views]


# ---- what may stand around a call ----

def plain(fn, args, rng):
    return fn, args


def vmapped(fn, args, rng):
    """Each operand mapped along its first or its last axis, or shared."""
    size = rng.choice([1, 2, 3])
    axes = [rng.choice([0, 0, 0, None, a.ndim]) if a.ndim else None for a in args]
    if all(a is None for a in axes):
        axes[-1] = 0
    new = [a if axis is None else np.stack([a if a.dtype == np.int32 and a.ndim < 2 and n == 0 else np.roll(a, n) for n in range(size)], axis)
           for a, axis in zip(args, axes, strict=True)]
    return jax.vmap(fn, in_axes=tuple(axes)), new


def jitted(fn, args, rng):
    return jax.jit(fn), args


def checkpointed(fn, args, rng):
    return jax.checkpoint(fn), args


def scanned(fn, args, rng):
    reverse = rng.random() < 0.5
    stacked = [np.stack([a, a]) for a in args]
    return lambda *xs: lax.scan(lambda c, x: (c + 1, fn(*x)), 0, xs, reverse=reverse)[1], stacked


def looped(fn, args, rng):
    turns = rng.randint(1, 2)

    def again(*a):
        a = [jnp.asarray(x) for x in a]  # JAX 0.10.2 takes no NumPy array into a custom rule inside of a loop
        shapes = jax.eval_shape(fn, *a)
        start = tuple(jnp.zeros(s.shape, s.dtype) for s in shapes)
        return lax.while_loop(lambda c: c[0] < turns, lambda c: (c[0] + 1, fn(*a)), (0, start))[1]
    return again, args


def branched(fn, args, rng):
    def choose(*a):
        other = jax.eval_shape(fn, *a)
        return lax.cond(jnp.sum(a[-1]) > -1e9, fn, lambda *_: tuple(jnp.zeros(s.shape, s.dtype) for s in other), *a)
    return choose, args


def with_rule(fn, args, rng):
    f = jax.custom_vjp(fn)
    f.defvjp(lambda *a: (fn(*a), None), lambda r, ct: None)
    return f, args


def with_tangent(fn, args, rng):
    f = jax.custom_jvp(fn)
    f.defjvp(lambda p, t: (fn(*p), fn(*p)))
    return f, args


AROUND = [plain, plain, vmapped, vmapped, vmapped, jitted, checkpointed, scanned, looped, branched, with_rule, with_tangent]


def made(seed, interpret):
    """The function of a seed and its arguments; the same for every `interpret`."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    kernel = Kernel(rng)
    args = kernel.arguments(numbers)
    words, around = [], rng.choices(AROUND, k=rng.choice([1, 2, 2, 3]))
    if kernel.dynamic is not None and kernel.tables:  # JAX 0.10.2 loses the bounds where it makes a loop of the tables
        around = [plain if wrap is vmapped else wrap for wrap in around]
    kernel.vmapped = vmapped in around
    fn = kernel.call(interpret)
    for wrap in around:
        if wrap in (scanned, vmapped) and sum(np.size(a) for a in args) > 20000:
            continue
        fn, args = wrap(fn, args, rng)
        words.append(wrap.__name__)
    kinds = [w for w in words if w != "plain"]
    kinds += [name for name in ("sums", "aliased", "partial", "squeezed", "scratch") if getattr(kernel, name)]
    kinds += ["tables"] * bool(kernel.tables) + ["dynamic"] * (kernel.dynamic is not None)
    return fn, args, kinds


# InterpretParams() works by ordered callbacks, which JAX does not batch inside of loops and branches.
EFFECTS = ("IO effect not supported in vmap", "Ordered IO effects not supported in vmap", "ordered effects are not supported", "Effects not supported")


def executed_and_linted(accused):
    """Executes as assert_equivalent does, and lints what was imported."""
    def run(eqn, operands, used):
        spec = importer.from_equation(eqn, operands, used)
        report = binary.report("lint", spec, "--target", "none")
        accused.extend(f"{f['rule']}: {f['message']}" for f in report["specs"][0]["findings"] if f["verdict"] in ("violated", "vacuous"))
        return engine.run(spec, eqn, operands)
    return run


def differs(a, b):
    a, b = jax.tree_util.tree_leaves(a), jax.tree_util.tree_leaves(b)
    return len(a) != len(b) or any(np.shape(x) != np.shape(y) or not np.array_equal(np.asarray(x), np.asarray(y)) for x, y in zip(a, b, strict=True))


def attempt(seed):
    """(kinds, calls, finding): finding is None where all agree."""
    fn, args, kinds = made(seed, False)
    accused = []
    calls = capture.calls(fn, *args, run=executed_and_linted(accused))
    if calls.missed or not calls:
        return kinds, len(calls), f"{len(calls.missed)} of {len(calls.traced)} calls did not run"
    for name, interpret in (("interpret=True", True), ("InterpretParams()", pltpu.InterpretParams())):
        if interpret is True and {"vmapped", "dynamic"} <= set(kinds):
            continue  # see the module's docstring
        try:
            want = made(seed, interpret)[0](*args)
        except Exception as e:  # noqa: BLE001
            if name == "InterpretParams()" and any(w in str(e) for w in EFFECTS):
                return [*kinds, "one interpreter"], len(calls), f"accused: {accused[0]}" if accused else None
            raise
        if differs(calls.value, want):
            return kinds, len(calls), f"differs from {name}"
    return kinds, len(calls), f"accused: {accused[0]}" if accused else None


def shard(seeds):
    """Counts over some seeds, and their findings."""
    begin, kinds, calls, findings = time.time(), {}, 0, []
    for seed in seeds:
        try:
            found, n, finding = attempt(seed)
        except Exception as e:  # noqa: BLE001  whatever stops is a finding
            found, n, finding = [], 0, f"{type(e).__name__}: {(str(e).strip() or traceback.format_exc()).splitlines()[0]}"
        calls += n
        for kind in set(found):
            kinds[kind] = kinds.get(kind, 0) + 1
        if finding:
            findings.append(f"seed {seed}: {finding} ({' '.join(found)})")
            print(f"bridge: {findings[-1]}", flush=True)
        if seed % 20 == 0:
            jax.clear_caches()
    return {"seeds": [seeds[0], seeds[-1]], "functions": len(seeds), "calls": calls, "differences": len(findings), "findings": findings,
            "kinds": dict(sorted(kinds.items())), "seconds": round(time.time() - begin)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1, help="the first; every function has the next")
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--shard", type=int, default=100)
    o = parser.parse_args()
    done = [json.loads(line) for line in o.log.read_text().splitlines() if line.startswith("{")] if o.log and o.log.exists() else []
    at, last = o.seed + sum(s["functions"] for s in done), o.seed + o.count
    while at < last:
        seeds = range(at, min(at + o.shard, last))
        done.append({**shard(seeds), "jax": jx.VERSION, "tileproof": binary.run("--version").stdout.split("\n")[0].strip()})
        at = seeds[-1] + 1
        if o.log:
            with o.log.open("a") as f:
                f.write(json.dumps(done[-1]) + "\n")
    total = {k: sum(s[k] for s in done) for k in ("functions", "calls", "differences", "seconds")}
    print(f"bridge: {total['functions']} functions from seed {o.seed}, {total['calls']} calls, {total['differences']} differences ({total['seconds']} s)")
    return 1 if total["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
