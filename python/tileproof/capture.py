"""Running a function and keeping every pallas_call that it makes, with the
arrays that went in and came out."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Callable

from . import devices
from . import jaxpr as jx
from .errors import Unsupported
from .jaxpr import np
from .refusals import other_kernel


@dataclasses.dataclass
class Call:
    """One executed pallas_call; arrays as NumPy, in the order of the equation."""

    equation: Any
    operands: list[np.ndarray]
    results: list[np.ndarray]
    used: list[bool]  # which results anybody uses


Runner = Callable[[Any, list[Any], list[bool]], list[Any]]


@dataclasses.dataclass
class Calls(list):  # type: ignore[type-arg]
    """The calls, in order, what the function returned, and which of its
    pallas_calls did not run with these arguments (also where one raised)."""

    value: Any = None
    closed: Any = None  # the function as it was traced
    traced: list[jx.Site] = dataclasses.field(default_factory=list)
    missed: list[jx.Site] = dataclasses.field(default_factory=list)


def interpreted(eqn: Any, operands: list[Any], used: list[bool]) -> list[Any]:
    """Execute one pallas_call with interpret=True. Raises Unsupported for one that reaches other devices."""
    if devices.around(eqn):
        raise Unsupported("a kernel that reaches other devices, which interpret=True does not execute, is not supported here", jx.where(eqn))
    return list(eqn.primitive.bind(*operands, **{**eqn.params, "interpret": True}))


def calls(fn: Any, *args: Any, run: Runner = interpreted, made: Calls | None = None) -> Calls:
    """Evaluate fn(*args), every pallas_call by `run`, one by one. `args` are
    arrays; they get the dtypes that JAX gives them. What is known so far is in `made`.

    Raises Unsupported for a pallas_call below a primitive that is not entered.
    """
    import jax
    import jax.numpy as jnp

    made = Calls() if made is None else made
    shapes: list[Any] = []

    def flat(*a: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten(fn(*a))
        shapes.append(tree)
        return leaves

    closed = jx.trace(flat, args)
    made.closed, made.traced = closed, list(jx.sites(closed))
    made.missed = list(made.traced)
    values = [jnp.asarray(a, v.aval.dtype) for a, v in zip(jx.leaves(args), jx.open_jaxpr(closed).invars, strict=True)]
    results = _Evaluator(made, run).jaxpr(closed, values)
    made.value = jax.tree_util.tree_unflatten(shapes[0], results)
    return made


NAMED = ("pallas_call", *jx.OTHER_KERNELS)


@functools.lru_cache(maxsize=256)
def _between(inner: Any, at: int, end: int, mesh: devices.Mesh) -> tuple[list[Any], list[Any], Any]:
    """Equations that reach no kernel: what they are given, what of theirs is used later, and their function."""
    eqns = inner.eqns[at:end]
    made = dict.fromkeys(v for eqn in eqns for v in eqn.outvars)
    given = list(dict.fromkeys(a for eqn in eqns for a in eqn.invars if not jx.is_literal(a) and a not in made))
    later = {a for eqn in inner.eqns[end:] for a in eqn.invars if not jx.is_literal(a)} | {a for a in inner.outvars if not jx.is_literal(a)}
    used = [v for v in made if v in later]

    def run(*values: Any) -> list[Any]:
        env = dict(zip(given, values, strict=True))
        for eqn in eqns:
            env.update(zip(eqn.outvars, jx.bind(eqn, [a.val if jx.is_literal(a) else env[a] for a in eqn.invars]), strict=True))
        return [env[v] for v in used]

    return given, used, jx.quick(devices.on_each(run, mesh))


class _Evaluator:
    def __init__(self, made: Calls, run: Runner):
        self.made, self.run = made, run
        self.used = {s.path: s.used for s in made.traced}
        self.path: tuple[tuple[int, int], ...] = ()
        self.mesh: devices.Mesh = ()  # of a shard_map: values have a dimension of devices in front
        self.cuts: dict[int, Any] = {}  # of the calls below it

    def everywhere(self, value: Any) -> Any:
        """What is the same on all devices."""
        return np.broadcast_to(value, (devices.count(self.mesh), *np.shape(value))) if self.mesh else value

    def enter(self, eqn: Any, inner: Any, args: list[Any]) -> list[Any]:
        """Evaluate one of the jaxprs of an equation."""
        before, self.path = self.path, (*self.path, jx.step_into(eqn, inner))
        results = self.jaxpr(inner, args)
        self.path = before
        return results

    def jaxpr(self, j: Any, args: list[Any]) -> list[Any]:
        inner = jx.open_jaxpr(j)
        env: dict[Any, Any] = dict(zip(inner.constvars, map(self.everywhere, jx.consts_of(j)), strict=True))
        env.update(zip(inner.invars, args, strict=True))

        def read(atom: Any) -> Any:
            return self.everywhere(atom.val) if jx.is_literal(atom) else env[atom]

        at = 0
        while at < len(inner.eqns):
            end = next((n for n, eqn in enumerate(inner.eqns[at:], at) if eqn.primitive.name in NAMED or _reaches(eqn)), len(inner.eqns))
            if end > at:
                given, made, run = _between(inner, at, end, self.mesh)
                env.update(zip(made, run(*map(read, given)), strict=True))
            else:
                eqn = inner.eqns[at]
                env.update(zip(eqn.outvars, self.equation(eqn, [read(a) for a in eqn.invars]), strict=True))
            at = max(end, at + (end == at))
        return [read(a) for a in inner.outvars]

    def equation(self, eqn: Any, values: list[Any]) -> list[Any]:
        name, p = eqn.primitive.name, eqn.params
        if name == "pallas_call":
            site = (*self.path, jx.step_into(eqn, None))
            used = self.used[site]
            self.made.missed = [s for s in self.made.missed if s.path != site]
            return self.call(eqn, values, used)
        if name in jx.OTHER_KERNELS:
            raise other_kernel(eqn)
        inner = jx.called(eqn)
        if inner is not None:
            return self.enter(eqn, inner, values)
        if name == "shard_map" and not self.mesh:
            return self.sharded(eqn, values)
        if self.mesh:
            raise Unsupported(f"a pallas_call below the primitive `{name}` inside of shard_map, which is not entered", jx.where(eqn))
        if name == "cond":
            return self.enter(eqn, p["branches"][min(max(int(values[0]), 0), len(p["branches"]) - 1)], values[1:])
        if name == "while":
            n, m = p["cond_nconsts"], p["body_nconsts"]
            carry = values[n + m:]
            while bool(self.enter(eqn, p["cond_jaxpr"], values[:n] + carry)[0]):
                carry = self.enter(eqn, p["body_jaxpr"], values[n:n + m] + carry)
            return carry
        if name == "scan":
            return self.scan(eqn, values)
        raise Unsupported(f"a pallas_call below the primitive `{name}`, which is not entered", jx.where(eqn))

    def call(self, eqn: Any, values: list[Any], used: list[bool]) -> list[Any]:
        """A pallas_call; on several devices at once where it knows of them, else on one after the other."""
        on = devices.on_devices(eqn, self.mesh, self.cuts.get(id(eqn))) if self.mesh else eqn
        if not self.mesh or devices.around(on):
            given = [devices.laid_out(v, cut, self.mesh) for v, cut in zip(values, on.params[devices.CUTS][0], strict=True)] if self.mesh else [np.reshape(v, np.shape(v)) for v in values]
            results = [np.asarray(v) for v in self.run(on, given, used)]
            self.made.append(Call(on, given, results, used))
            return [devices.by_device(r, cut, self.mesh) for r, cut in zip(results, on.params[devices.CUTS][1], strict=True)] if self.mesh else results
        mesh, self.mesh = self.mesh, ()
        each = [self.call(eqn, [v[d] for v in values], used) for d in range(devices.count(mesh))]
        self.mesh = mesh
        return [np.stack(column) for column in zip(*each, strict=True)]

    def sharded(self, eqn: Any, values: list[Any]) -> list[Any]:
        p, self.mesh, self.cuts = eqn.params, devices.mesh_of(eqn), devices.cuts_below(eqn)
        mesh = self.mesh
        parts = self.enter(eqn, p["jaxpr"], [devices.shards(v, spec, mesh) for v, spec in zip(values, p["in_specs"], strict=True)])
        self.mesh = ()
        return [devices.whole(v, spec, mesh, tuple(var.aval.shape)) for v, spec, var in zip(parts, p["out_specs"], eqn.outvars, strict=True)]

    def scan(self, eqn: Any, values: list[Any]) -> list[Any]:
        import jax.numpy as jnp

        p = eqn.params
        nc, carried = p["num_consts"], p["num_carry"]
        consts, carry, xs = values[:nc], values[nc:nc + carried], values[nc + carried:]
        stacked = []
        for t in reversed(range(p["length"])) if p["reverse"] else range(p["length"]):
            out = self.enter(eqn, p["jaxpr"], consts + carry + [x[t] for x in xs])
            carry, ys = out[:carried], out[carried:]
            stacked.append(ys)
        if p["reverse"]:
            stacked.reverse()
        if not stacked:
            return carry + [jnp.zeros(v.aval.shape, v.aval.dtype) for v in eqn.outvars[carried:]]
        return carry + [jnp.stack(column) for column in zip(*stacked, strict=True)]


def _reaches(eqn: Any) -> bool:
    return any(next(jx.sites(j), None) is not None for j in jx.inner_jaxprs(eqn))
