"""A jnp function as the naive program of a spec ("reference")."""

from __future__ import annotations

import ast
from typing import Any

from . import jaxpr as jx
from . import devices, engine, wrapping
from .body import Body, Value, bounds
from .body.values import Lanes, number, shape_text
from .errors import Unsupported
from .jaxpr import np


class Program(Body):
    """Statements over whole arrays; there are no refs."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.joined: dict[Any, list[Value]] = {}  # by array of indices: the columns that it was put together from

    def do_pallas_call(self, eqn: Any) -> None:
        raise Unsupported("a reference that itself reaches a pallas_call", self.place)

    def refusal(self, name: str) -> Unsupported:
        """Nothing has to be lowered for a TPU: such a function is executed."""
        return Unsupported(f"`{name}` of a reference, which the language does not have", self.place, "for a proof, write it in other operations")

    def last(self, x: Value, axis: int) -> str:
        """Its text, the axis last."""
        return x.text if axis == len(x.shape) - 1 else f"swapaxes({x.text}, {axis}, -1)"

    def do_top_k(self, eqn: Any) -> None:
        x, axis = self.strong(self.read(eqn.invars[0])), int(eqn.params["axis"])
        names = [self.name("top"), self.name("place")]
        self.line(f"{', '.join(names)} = top_k({self.last(x, axis)}, {eqn.params['k']})")
        for var, name in zip(eqn.outvars, names, strict=True):
            shape = tuple(var.aval.shape)
            self.env[var] = Value(self.last(Value(name, shape), axis), shape, jx.dtype_name(var.aval), atom=axis == len(shape) - 1)

    def do_sort(self, eqn: Any) -> None:
        """jnp.sort and jnp.argsort."""
        x, axis = self.strong(self.read(eqn.invars[0])), eqn.params["dimension"]
        index = self.read(eqn.invars[1]).text if len(eqn.invars) == 2 else ""
        whole = f"iota(int32, {shape_text(x.shape)}, {axis})"
        if eqn.params["num_keys"] != 1 or (index and index != whole and f"{index} = {whole}" not in self.lines) or len(eqn.invars) > 2:
            raise Unsupported("a sort of several arrays", self.place)
        x = x if self.cheap(x) else self.assign(x)
        for var, function in zip(eqn.outvars, ("sort", "argsort"), strict=False):
            if not jx.is_dropped(var) and self.uses.get(var, 0):
                self.env[var] = self.assign(Value(f"{function}({x.text}, axis={axis})", x.shape, jx.dtype_name(var.aval)))

    def elementwise(self, eqn: Any) -> None:
        """What bounds decide is not asked: JAX looks whether an index of `x[i]` counts from the end."""
        name, out = eqn.primitive.name, eqn.outvars[0]
        values = [self.read(a) for a in eqn.invars]
        scalars = [v.splat if v.splat is not None else v for v in values]
        truth = bounds.decided(name, [s.within() if s.dtype == "int32" else None for s in scalars])
        if truth is not None:
            told = number(truth, "bool")
            self.env[out] = Value("", tuple(out.aval.shape), "bool", splat=told) if out.aval.shape else told
        elif name == "select_n" and scalars[0].text in ("False", "True"):
            self.env[out] = values[1 + (scalars[0].text == "True")]
        else:
            super().elementwise(eqn)

    def do_concatenate(self, eqn: Any) -> None:
        super().do_concatenate(eqn)
        self.joined[eqn.outvars[0]] = [self.read(a) for a in eqn.invars]

    def do_gather(self, eqn: Any) -> None:
        """`x[jnp.arange(n), at]` is one element of each row."""
        d, x = eqn.params["dimension_numbers"], self.strong(self.read(eqn.invars[0]))
        parts = self.joined.get(eqn.invars[1], [])
        shape = tuple(eqn.outvars[0].aval.shape)
        if (tuple(d.start_index_map) != (0, 1) or tuple(d.collapsed_slice_dims) != (0, 1) or d.offset_dims or len(parts) != 2
                or int(np.prod(shape)) != x.shape[0] or parts[0].shape[-1:] != (1,) or parts[0].lanes != Lanes(self.only(parts[0].shape)) or x.dtype == "bool"):
            super().do_gather(eqn)
            return
        at = Value(f"reshape({parts[1].text}, ({x.shape[0]}, 1))", (x.shape[0], 1), "int32", bounds=parts[1].within())
        self.finish(eqn, Value(f"reshape({self.of_lines(eqn, x, at, 1)}, {shape_text(shape)})"))

    def along(self, eqn: Any, x: Value, index: Value, axis: int) -> None:
        shape = tuple(index.shape[:-1])
        if shape[axis] != 1 or x.dtype == "bool":
            super().along(eqn, x, index, axis)
        else:
            self.finish(eqn, Value(self.of_lines(eqn, x, Value(f"reshape({index.text}, {shape_text(shape)})", shape, "int32", bounds=index.within()), axis)))

    def of_lines(self, eqn: Any, x: Value, at: Value, axis: int) -> str:
        """Of each line the element with that number, as labels pick one: the sum over the lanes that have it, which proofs
        follow. JAX clamps an index outside, fills, or was promised that there is none."""
        mode, last, inside = str(eqn.params["mode"]).lower(), x.shape[axis] - 1, at.indexes(x.shape[axis])
        at = self.assign(at)
        held = _held(at.text, last)
        if not inside and not ("clip" in mode or "fill" in mode):
            self.line(f"check(all({held}), 'an index is outside its axis')")
        lane = f"clip({at.text}, 0, {last})" if "clip" in mode and not inside else at.text
        text = f"sum(where({lane} == iota(int32, {shape_text(x.shape)}, {axis}), {x.text}, 0), axis={axis}, keepdims=True)"
        return f"where({held}, {text}, {number(jx.fill_of(eqn), x.dtype).text})" if "fill" in mode and not inside else text

    def picked(self, eqn: Any, x: Value, at: Value, axis: int) -> Value:
        """An index outside is an error of the reference: it says nothing there."""
        return Value(f"take({x.text}, {at.text}, axis={axis})")

    def do_scatter_add(self, eqn: Any) -> None:
        self.scatter(eqn, "+=")

    def do_scatter(self, eqn: Any) -> None:
        self.scatter(eqn, "=")

    def scatter(self, eqn: Any, how: str) -> None:
        """x.at[rows].add(v), .set(v), segment_sum: row by row, in their order."""
        x, index, v = (self.strong(self.read(a)) for a in eqn.invars)
        d, batch = eqn.params["dimension_numbers"], len(index.shape) - 1
        if (tuple(d.inserted_window_dims), tuple(d.scatter_dims_to_operand_dims), tuple(d.update_window_dims), tuple(d.operand_batching_dims)) != (
                (0,), (0,), tuple(range(batch, len(v.shape))), ()) or "clip" in str(eqn.params["mode"]).lower():
            raise Unsupported("a scatter that is not x.at[rows].add(v) or .set(v)", self.place)
        n = int(np.prod(index.shape))
        if not n or not x.shape[0]:
            return self.finish(eqn, x)
        at = self.assign(Value(f"reshape({index.text}, ({n},))", (n,), index.dtype))
        v = self.assign(Value(f"reshape({v.text}, {shape_text((n, *v.shape[batch:]))})", (n, *v.shape[batch:]), v.dtype))
        out, t, last = self.assign(x), self.name("t"), x.shape[0] - 1
        row, held = f"clip({at.text}[{t}], 0, {last})", _held(f"{at.text}[{t}]", last)
        none = number(0, x.dtype).text if how == "+=" else f"{out.text}[{row}]"
        self.line(f"for {t} in range(0, {n}):")
        self.line(f"    {out.text}[{row}] {how} where({held}, {v.text}[{t}], {none})")
        self.finish(eqn, Value(out.text))


def _held(at: str, last: int) -> str:
    """Is the index one of an axis?"""
    return f"({at} >= 0) & ({at} <= {last})"


def attach(spec: dict[str, Any], eqn: Any, closed: Any, reference: Any, args: tuple[Any, ...]) -> None:
    """Add to the spec of eqn, the only pallas_call below `closed`, the program
    of reference(*args). Where the operands of the call are arguments of the
    function as they are, the reference gets that function's arguments; else
    the operands themselves, in their order.

    Raises Unsupported where the two do not fit together.
    """
    names = engine.operands_of(spec)
    flat = jx.leaves(args)
    given: dict[int, str] = {}
    fixed = {t["name"] for t in spec.get("scalar_prefetch", []) if "contents" in t} if _tables_are_constant(closed, eqn) else set()
    for name, origin in zip(names, origins(closed, eqn), strict=True):
        if origin is None and name in fixed:
            continue
        if origin is None or (origin in given and not _share(spec, given[origin], name)):
            given = {}
            break
        given.setdefault(origin, name)
    if given:
        traced = jx.trace(reference, args)
        parameters = [given.get(n) for n in range(len(flat))]
    else:
        for entry in spec.get("inputs", []):
            entry.pop("array", None)
        arrays = {i["name"]: tuple(i["shape"]) for i in spec.get("inputs", [])} if devices.around(eqn) else {}
        avals = [jx.shape_of(a.aval.update(shape=arrays[name]) if name in arrays else a.aval) for a, name in zip(eqn.invars, names, strict=True)]
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
    declared = {i["name"]: (v["min"], v["max"]) for i in spec.get("inputs", [])
                if (v := i.get("values", {})) and isinstance(v.get("min"), int) and isinstance(v.get("max"), int)}
    values = []
    for n, (var, name) in enumerate(zip(inner.invars, parameters, strict=True)):
        if var in used and name is None:
            raise Unsupported(f"a reference that uses argument {n}, which is no operand of the call", jx.where(eqn))
        values.append(Value(name or "", tuple(var.aval.shape), jx.dtype_name(var.aval), bounds=declared.get(name or "")))
    outputs = [o for o in spec["outputs"] if not o.get("discard")]
    shapes = [tuple(v.aval.shape) for v in inner.outvars]
    if shapes != [tuple(o["shape"]) for o in outputs]:
        raise Unsupported(f"a reference with the results {shapes} for the outputs {[tuple(o['shape']) for o in outputs]}", jx.where(eqn))
    writer = Program([], {*names, *(o["name"] for o in spec["outputs"])})
    results = writer.run(traced, values)
    writer.refuse("the reference")
    for output, value in zip(outputs, results, strict=True):
        writer.line(f"{output['name']} = {writer.typed(value)}")
    spec["reference"] = _read_later(writer.lines, {o["name"] for o in outputs})


def _read_later(lines: list[str], results: set[str]) -> list[str]:
    """The program without values that nothing reads: where bounds decide a select, what it would have chosen else."""
    statements, read, dead = ast.parse("\n".join(lines)).body, set(results), set[int]()
    for s in reversed(statements):
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id not in read:
            dead.update(range(s.lineno, (s.end_lineno or s.lineno) + 1))
        else:
            read.update(n.id for n in ast.walk(s) if isinstance(n, ast.Name))
    return [line for n, line in enumerate(lines, 1) if n not in dead]


def _share(spec: dict[str, Any], first: str, name: str) -> bool:
    """Say that the array of the input `name` is that of `first`, of which the call has several blocks; False where a spec cannot say it."""
    both = [i for i in spec.get("inputs", []) if i["name"] in (first, name)]  # in the order of the spec
    if len(both) != 2 or any("shard" in i or any(o.get("alias") == i["name"] for o in spec["outputs"]) for i in both):
        return False
    both[1].pop("values", None)
    both[1]["array"] = both[0]["name"]
    spec["x-python"].get("values", {}).pop(both[1]["name"], None)
    return True


def beside(closed: Any, tables: bool = True) -> str:
    """What the function is beside one pallas_call of its arguments, in words; "" for
    nothing: operands are arguments, and its results the call's, as they are.
    With `tables` the prefetched ones may be made of constants, too."""
    sites = list(jx.sites(closed))
    if len(sites) != 1:
        return f"{len(sites)} pallas_calls"
    call = sites[0].equation
    came_from = origins(closed, call)
    if any(came_from[n] is not None and came_from.count(came_from[n]) > 1 for n in _alone(call)):
        return "one argument is two operands of the pallas_call, a table or an array that is written to among them"
    if tables and call.primitive.name == "pallas_call" and _tables_are_constant(closed, call):
        came_from = [o for n, o in enumerate(came_from) if o is not None or n >= _tables(call)]
    if None in came_from:
        return "operands of the pallas_call are computed before it"
    return "" if _is_result(closed, call) else "results are computed after the pallas_call"


def _alone(call: Any) -> list[int]:
    """Operands of the call whose arrays no other one may have: tables, arrays that become results, and all where they are cut among devices."""
    if call.primitive.name != "pallas_call" or devices.around(call):
        return list(range(len(call.invars)))
    return [*range(_tables(call)), *(given for given, _ in call.params["input_output_aliases"])]


def _tables(call: Any) -> int:
    """How many operands of the call are prefetched: dynamic bounds of the grid, and tables."""
    g = call.params["grid_mapping"]
    return int(g.num_dynamic_grid_bounds + g.num_index_operands)


def _tables_are_constant(closed: Any, call: Any) -> bool:
    """Whether those that are no arguments depend on none."""
    from . import known

    came_from = origins(closed, call)[:_tables(call)]
    held = next(iter(known.operands(closed).values()), [])
    return all(o is not None or (n < len(held) and held[n] is not None) for n, o in enumerate(came_from))


def _is_result(closed: Any, call: Any) -> bool:
    """Whether the results of the function are those of the call, all of them, in their order."""
    inner = jx.open_jaxpr(closed)
    for eqn in inner.eqns:
        if eqn is call or ((below := jx.called(eqn)) is not None and _is_result(below, call)):
            return list(inner.outvars) == list(eqn.outvars)
    return False


# One operand, whose numbers the result has, and no others.
MOVES = {"reshape", "broadcast_in_dim", "squeeze", "expand_dims", "transpose", "rev", "slice", "copy", "copy_p"}


def origins(closed: Any, call: Any, moved: bool = False) -> list[int | None]:
    """For every operand of the call: which argument of the function it is, as it is; `moved`: of which it has numbers and no others."""
    found: list[int | None] = [None] * len(call.invars)

    def walk(j: Any, origin: dict[Any, int], mesh: Any = (), cuts: Any = None) -> None:
        for eqn in jx.equations(j):
            here = [None if jx.is_literal(a) else origin.get(a) for a in eqn.invars]
            if (devices.on_devices(eqn, mesh, cuts.get(id(eqn))) if mesh else eqn) is call:
                cut = call.params[devices.CUTS][0] if devices.around(call) else [None if mesh else ()] * len(here)  # else it is of each device
                found[:] = [n if whole is not None else None for n, whole in zip(here, cut, strict=True)]
            elif (inner := eqn.params["jaxpr"] if eqn.primitive.name == "shard_map" and not mesh else jx.called(eqn)) is not None:
                around = (devices.mesh_of(eqn), devices.cuts_below(eqn)) if eqn.primitive.name == "shard_map" else (mesh, cuts)
                walk(inner, {p: n for p, n in zip(jx.open_jaxpr(inner).invars, here, strict=True) if n is not None}, *around)
            elif moved and eqn.primitive.name in MOVES and here[0] is not None:
                origin[eqn.outvars[0]] = here[0]

    walk(closed, {v: n for n, v in enumerate(jx.open_jaxpr(closed).invars)})
    return found
