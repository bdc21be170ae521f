"""Running a function and keeping every pallas_call that it makes, with the
arrays that went in and came out."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import numpy as np

from . import jaxpr as jx


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
    """The calls, in order, and what the function returned."""

    value: Any = None


def interpreted(eqn: Any, operands: list[Any], used: list[bool]) -> list[Any]:
    """Execute one pallas_call with interpret=True."""
    return list(eqn.primitive.bind(*operands, **{**eqn.params, "interpret": True}))


def calls(fn: Any, *args: Any, run: Runner = interpreted) -> Calls:
    """Evaluate fn(*args), every pallas_call by `run`, one by one."""
    import jax

    made = Calls()
    shapes: list[Any] = []

    def flat(*a: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten(fn(*a))
        shapes.append(tree)
        return leaves

    closed = jx.trace(flat, args)
    used = {id(eqn): results for eqn, results in jx.pallas_calls(closed)}
    results = _Evaluator(made, used, run).jaxpr(closed, jx.leaves(args))
    made.value = jax.tree_util.tree_unflatten(shapes[0], results)
    return made


class _Evaluator:
    def __init__(self, made: Calls, used: dict[int, list[bool]], run: Runner):
        self.made, self.used, self.run = made, used, run

    def jaxpr(self, j: Any, args: list[Any]) -> list[Any]:
        inner = jx.open_jaxpr(j)
        env: dict[Any, Any] = dict(zip(inner.constvars, jx.consts_of(j)))
        env.update(zip(inner.invars, args))

        def read(atom: Any) -> Any:
            return atom.val if jx.is_literal(atom) else env[atom]

        for eqn in inner.eqns:
            env.update(zip(eqn.outvars, self.equation(eqn, [read(a) for a in eqn.invars])))
        return [read(a) for a in inner.outvars]

    def equation(self, eqn: Any, values: list[Any]) -> list[Any]:
        name, p = eqn.primitive.name, eqn.params
        if name == "pallas_call":
            used = self.used.get(id(eqn), [True] * len(eqn.outvars))
            results = self.run(eqn, values, used)
            self.made.append(Call(eqn, [np.asarray(v) for v in values], [np.asarray(v) for v in results], used))
            return results
        if not _reaches(eqn):
            return jx.bind(eqn, values)
        if name in jx.INLINED or name == "shard_map":
            return self.jaxpr(next(jx.inner_jaxprs(eqn)), values)
        if name == "cond":
            return self.jaxpr(p["branches"][int(values[0])], values[1:])
        if name == "while":
            n, m = p["cond_nconsts"], p["body_nconsts"]
            carry = values[n + m:]
            while bool(self.jaxpr(p["cond_jaxpr"], values[:n] + carry)[0]):
                carry = self.jaxpr(p["body_jaxpr"], values[n:n + m] + carry)
            return carry
        if name == "scan":
            return self.scan(p, values)
        return jx.bind(eqn, values)

    def scan(self, p: dict[str, Any], values: list[Any]) -> list[Any]:
        import jax.numpy as jnp

        nc, carried = p["num_consts"], p["num_carry"]
        consts, carry, xs = values[:nc], values[nc:nc + carried], values[nc + carried:]
        stacked = []
        for t in reversed(range(p["length"])) if p["reverse"] else range(p["length"]):
            out = self.jaxpr(p["jaxpr"], consts + carry + [x[t] for x in xs])
            carry, ys = out[:carried], out[carried:]
            stacked.append(ys)
        if p["reverse"]:
            stacked.reverse()
        return carry + [jnp.stack(column) for column in zip(*stacked)]


def _reaches(eqn: Any) -> bool:
    return any(next(jx.pallas_calls(j), None) is not None for j in jx.inner_jaxprs(eqn))
