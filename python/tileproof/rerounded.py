"""A function evaluated with results of its floats that are rounded otherwise.

An integer that is decided by floats, as round() of a quotient, may be another one on each machine: XLA multiplies by
the inverse of a constant where a quotient is written. What such a function gives is told from what it may not give.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable

from . import jaxpr as jx

# of other operations many results are exact, and decisions on exact numbers are none of rounding
ROUNDED = {"div", "exp", "exp2", "log", "log1p", "expm1", "tanh", "logistic", "rsqrt", "sqrt", "cbrt", "pow", "erf", "erfc", "sin", "cos", "tan",
           "dot_general", "reduce_sum", "cumsum", "cumlogsumexp"}
TIMES = 8  # the integer at a tie is missed by one of 256


def integers(fn: Callable[..., Any], args: tuple[Any, ...]) -> list[list[Any]]:
    """What the results of fn(*args) may be, as lists of leaves: floats of its operations are moved by two units in the
    last place at most, equal ones alike, so that ties stay. A quotient or root that is exact stays. Loops and branches are
    operations that round nothing."""
    import jax

    from .jaxpr import np

    closed = jx.trace(fn, args)
    found = []
    for turn in range(TIMES):
        random = np.random.default_rng(turn)
        found.append([np.asarray(r) for r in _evaluated(closed.jaxpr, closed.consts, jax.tree_util.tree_leaves(args), random)])
    return found


def _evaluated(jaxpr: Any, consts: Any, args: list[Any], random: Any) -> list[Any]:
    values = dict(itertools.chain(zip(jaxpr.constvars, consts, strict=True), zip(jaxpr.invars, args, strict=True)))

    def read(atom: Any) -> Any:
        return atom.val if jx.is_literal(atom) else values[atom]

    for eqn in jx.equations(jaxpr):
        given, inner = [read(a) for a in eqn.invars], jx.called(eqn)
        if inner is not None:
            results = _evaluated(jx.open_jaxpr(inner), getattr(inner, "consts", ()), given, random)
        else:
            results = jx.bind(eqn, given)
            if eqn.primitive.name in ROUNDED:
                results = [_moved(r, eqn.primitive.name, given, random) for r in results]
        values.update(zip(eqn.outvars, results, strict=True))
    return [read(a) for a in jaxpr.outvars]


def _moved(result: Any, operation: str, given: list[Any], random: Any) -> Any:
    from .jaxpr import np

    other = moved(result, random)
    if other is result:
        return result
    r = np.asarray(result)
    wide = [np.asarray(g, np.float64) for g in given]
    exact = np.zeros(r.shape, bool)
    with np.errstate(all="ignore"):
        if operation == "div":
            exact = wide[0] / wide[1] == r
        elif operation == "sqrt":
            exact = np.sqrt(wide[0]) == r
    return np.where(exact, r, other)


def moved(a: Any, random: Any) -> Any:
    """A float32 array with each number two units away at most, equal ones alike; anything else as it is."""
    from .jaxpr import np

    if getattr(a, "dtype", None) != np.float32:
        return a
    r = np.asarray(a)
    return (r * (1 + _units(r, random) * np.float32(2.0**-23))).astype(np.float32)


def _units(r: Any, random: Any) -> Any:
    """-2 to 2, a random function of the number: a machine gives equal results for equal operands."""
    from .jaxpr import np

    mixed = (r.view(np.uint32) ^ random.integers(1 << 32, dtype=np.uint32)) * np.uint32(0x9E3779B1)
    mixed = (mixed ^ mixed >> np.uint32(15)) * np.uint32(0x85EBCA77)
    return ((mixed >> np.uint32(13)) % np.uint32(5)).astype(np.int32) - 2
