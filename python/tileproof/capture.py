"""Running a function and keeping every pallas_call that it makes, with the
arrays that went in and came out."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from . import jaxpr as jx


@dataclasses.dataclass
class Call:
    """One executed pallas_call; arrays as NumPy, in the order of the equation."""

    equation: Any
    operands: list[np.ndarray]
    results: list[np.ndarray]
    used: list[bool]  # which results anybody uses


def calls(fn: Any, *args: Any, interpret: Any = True) -> list[Call]:
    """Evaluate fn(*args), every pallas_call with `interpret`, one by one."""
    import jax

    made: list[Call] = []
    flat = jax.tree_util.tree_leaves(args)
    closed = jx.trace(fn, args)
    used = {id(eqn): results for eqn, results in jx.pallas_calls(closed)}
    _evaluate(closed, flat, made, interpret)
    for call in made:
        call.used = used.get(id(call.equation), call.used)
    return made


def _evaluate(j: Any, args: list[Any], made: list[Call], interpret: Any) -> list[Any]:
    inner = jx.open_jaxpr(j)
    env: dict[Any, Any] = dict(zip(inner.constvars, jx.consts_of(j)))
    env.update(zip(inner.invars, args))

    def read(atom: Any) -> Any:
        return atom.val if jx.is_literal(atom) else env[atom]

    for eqn in inner.eqns:
        values = [read(a) for a in eqn.invars]
        results = _equation(eqn, values, made, interpret)
        env.update(zip(eqn.outvars, results))
    return [read(a) for a in inner.outvars]


def _reaches(eqn: Any) -> bool:
    return any(next(jx.pallas_calls(j), None) is not None for j in jx.inner_jaxprs(eqn))


def _equation(eqn: Any, values: list[Any], made: list[Call], interpret: Any) -> list[Any]:
    import jax.numpy as jnp

    name = eqn.primitive.name
    if name == "pallas_call":
        results = eqn.primitive.bind(*values, **{**eqn.params, "interpret": interpret})
        made.append(Call(eqn, [np.asarray(v) for v in values], [np.asarray(v) for v in results], [True] * len(results)))
        return list(results)
    if _reaches(eqn):
        if name in jx.INLINED or name == "shard_map":
            return _evaluate(next(jx.inner_jaxprs(eqn)), values, made, interpret)
        if name == "cond":
            return _evaluate(eqn.params["branches"][int(values[0])], values[1:], made, interpret)
        if name == "while":
            n, m = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
            carry = values[n + m:]
            while bool(_evaluate(eqn.params["cond_jaxpr"], values[:n] + carry, made, interpret)[0]):
                carry = _evaluate(eqn.params["body_jaxpr"], values[n:n + m] + carry, made, interpret)
            return carry
        if name == "scan":
            p = eqn.params
            consts, carry = values[: p["num_consts"]], values[p["num_consts"]: p["num_consts"] + p["num_carry"]]
            xs, stacked = values[p["num_consts"] + p["num_carry"]:], []
            order = range(p["length"])
            for t in reversed(order) if p["reverse"] else order:
                out = _evaluate(p["jaxpr"], consts + carry + [x[t] for x in xs], made, interpret)
                carry, ys = out[: p["num_carry"]], out[p["num_carry"]:]
                stacked.append(ys)
            if p["reverse"]:
                stacked.reverse()
            return carry + [jnp.stack(column) for column in zip(*stacked)]
    return jx.bind(eqn, values)
