"""A jnp function as the naive program of a spec ("reference")."""

from __future__ import annotations

from typing import Any

from . import jaxpr as jx
from . import wrapping
from .body import Body, Value
from .errors import Unsupported


class Program(Body):
    """Statements over whole arrays; there are no refs."""

    def do_pallas_call(self, eqn: Any) -> None:
        raise Unsupported("a reference that itself reaches a pallas_call", self.place)


def attach(spec: dict[str, Any], eqn: Any, closed: Any, reference: Any, args: tuple[Any, ...]) -> None:
    """Add to the spec of eqn, the only pallas_call below `closed`, the program
    of reference(*args). Where the operands of the call are arguments of the
    function as they are, the reference gets that function's arguments; else
    the operands themselves, in their order.

    Raises Unsupported where the two do not fit together.
    """
    tables = [t["name"] for t in spec.get("scalar_prefetch", [])]
    names = tables + [i["name"] for i in spec.get("inputs", [])]
    flat = jx.leaves(args)
    given: dict[int, str] = {}
    fixed = {t["name"] for t in spec.get("scalar_prefetch", []) if "contents" in t} if _tables_are_constant(closed, eqn) else set()
    for name, origin in zip(names, _origins(closed, eqn), strict=True):
        if origin is None and name in fixed:
            continue
        if origin is None or origin in given:
            given = {}
            break
        given[origin] = name
    if given:
        traced = jx.trace(reference, args)
        parameters = [given.get(n) for n in range(len(flat))]
    else:
        avals = [jx.shape_of(a.aval) for a in eqn.invars]
        try:
            traced = jx.trace(reference, tuple(avals))
        except TypeError as e:
            raise Unsupported(f"operands of the call that are no arguments of the function as they are; the reference cannot take the "
                              f"operands {', '.join(names)} in their place ({e})", jx.where(eqn)) from None
        parameters = list(names)
    if (wraps := wrapping.place(traced)) is not None:
        raise Unsupported("integers of a reference that wrap around", wraps or jx.where(eqn))
    inner = jx.open_jaxpr(traced)
    used = {a for e in inner.eqns for a in e.invars if not jx.is_literal(a)} | {a for a in inner.outvars if not jx.is_literal(a)}
    values = []
    for n, (var, name) in enumerate(zip(inner.invars, parameters, strict=True)):
        if var in used and name is None:
            raise Unsupported(f"a reference that uses argument {n}, which is no operand of the call", jx.where(eqn))
        values.append(Value(name or "", tuple(var.aval.shape), jx.dtype_name(var.aval)))
    outputs = [o for o in spec["outputs"] if not o.get("discard")]
    shapes = [tuple(v.aval.shape) for v in inner.outvars]
    if shapes != [tuple(o["shape"]) for o in outputs]:
        raise Unsupported(f"a reference with the results {shapes} for the outputs {[tuple(o['shape']) for o in outputs]}", jx.where(eqn))
    writer = Program([], {*names, *(o["name"] for o in spec["outputs"])})
    results = writer.run(traced, values)
    writer.refuse("the reference")
    for output, value in zip(outputs, results, strict=True):
        writer.line(f"{output['name']} = {writer.typed(value)}")
    spec["reference"] = writer.lines


def says_all(closed: Any, tables: bool = True) -> bool:
    """Whether the function is one pallas_call of its arguments and nothing
    around it: operands are arguments, and its results the call's, as they are.
    With `tables` the prefetched ones may be made of constants, too."""
    sites = list(jx.sites(closed))
    if len(sites) != 1:
        return False
    call = sites[0].equation
    origins = _origins(closed, call)
    if tables and call.primitive.name == "pallas_call" and _tables_are_constant(closed, call):
        origins = [o for n, o in enumerate(origins) if o is not None or n >= _tables(call)]
    return None not in origins and len(set(origins)) == len(origins) and _is_result(closed, call)


def _tables(call: Any) -> int:
    """How many operands of the call are prefetched: dynamic bounds of the grid, and tables."""
    g = call.params["grid_mapping"]
    return int(g.num_dynamic_grid_bounds + g.num_index_operands)


def _tables_are_constant(closed: Any, call: Any) -> bool:
    """Whether those that are no arguments depend on none."""
    from . import known

    origins = _origins(closed, call)[:_tables(call)]
    held = next(iter(known.operands(closed).values()), [])
    return all(o is not None or (n < len(held) and held[n] is not None) for n, o in enumerate(origins))


def _is_result(closed: Any, call: Any) -> bool:
    """Whether the results of the function are those of the call, all of them, in their order."""
    inner = jx.open_jaxpr(closed)
    for eqn in inner.eqns:
        if eqn is call or ((below := jx.called(eqn)) is not None and _is_result(below, call)):
            return list(inner.outvars) == list(eqn.outvars)
    return False


def _origins(closed: Any, call: Any) -> list[int | None]:
    """For every operand of the call: which argument of the function it is, as it is."""
    found: list[int | None] = [None] * len(call.invars)

    def walk(j: Any, origin: dict[Any, int]) -> None:
        for eqn in jx.equations(j):
            here = [None if jx.is_literal(a) else origin.get(a) for a in eqn.invars]
            if eqn is call:
                found[:] = here
            elif (inner := jx.called(eqn)) is not None:
                walk(inner, {p: n for p, n in zip(jx.open_jaxpr(inner).invars, here, strict=True) if n is not None})

    walk(closed, {v: n for n, v in enumerate(jx.open_jaxpr(closed).invars)})
    return found
