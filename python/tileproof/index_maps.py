"""Index maps as integer expressions of the spec language."""

from __future__ import annotations

import re
from typing import Any

from . import jaxpr as jx
from .body import Body, Ref, Value
from .errors import Unsupported


class IndexMap(Body):
    """Index maps: integer expressions, never statements."""

    def __init__(self, axes: list[str], taken: set[str], place: str | None):
        super().__init__(axes, taken)
        self.place = place
        self.grid: list[str] = []  # every axis of the grid, and what else is never negative

    def expressions(self, j: Any, axes: list[str], tables: list[Ref]) -> list[Any]:
        """Of every grid axis, also those that program_id does not count."""
        self.grid = axes
        results = self.run(j, [Value(a) for a in axes] + list(tables))
        self.refuse("an index map")
        return [int(v.text) if v.literal else v.text for v in results]

    def of_pipeline_window(self, j: Any, captured: list[Any], turns: list[tuple[Value, Value]], counted: list[str]) -> list[Value]:
        """Of the axes of a pipeline, each with the number of its steps, and of what the index map captures. `counted`: names that are never negative."""
        self.grid, self.inner_axes = counted, turns
        self.bind(j.constvars, captured)
        self.bind(j.invars, [axis for axis, _ in turns])
        self.count_uses(j)
        results: list[Value] = self.statements(j)
        self.refuse("an index map")
        return results

    def assign(self, value: Value, stem: str = "v") -> Value:
        return value  # in place, however often

    def finish(self, eqn: Any, value: Value) -> None:
        var = eqn.outvars[0]
        value.shape, value.dtype = tuple(var.aval.shape), jx.dtype_name(var.aval)
        if value.shape:
            raise Unsupported("an array in an index map", self.place)
        self.env[var] = value

    @staticmethod
    def cheap(v: Value) -> bool:
        return True

    def do_get(self, eqn: Any) -> None:
        ref, text, _ = self.subscript(eqn, 1)
        if not ref.table:
            raise Unsupported(f"an index map reads the prefetched `{ref.name}`, which the body writes", self.place,
                              "pass two tables: index maps are evaluated ahead of the step, so nothing says which contents they see")
        self.env[eqn.outvars[0]] = Value(text)

    def operation(self, eqn: Any, values: list[Value]) -> Value:
        name = eqn.primitive.name
        a, b = (values + values)[:2]
        if name in ("max", "min"):
            return Value(f"{name}({a.text}, {b.text})")
        if name in ("div", "rem"):
            return self.quotient(name, a, b)
        if name == "select_n":
            c, no, yes = values
            return Value(f"{yes.operand()} if {c.operand()} else {no.operand()}", atom=False)
        if name in ("and", "or") and jx.dtype_name(eqn.outvars[0].aval) == "bool":
            return Value(f"{a.operand()} {name} {b.operand()}", atom=False)
        if name == "not":
            return Value(f"not {a.operand()}", (), "bool", atom=False)
        if name == "convert_element_type" and a.dtype == "bool":
            return Value(f"1 if {a.operand()} else 0", atom=False, truth=a)
        if name == "convert_element_type" and not jx.dtype_name(eqn.outvars[0].aval).startswith(("float", "bfloat", "bool")):
            return Value(a.text, atom=a.atom)
        if name == "clamp":
            return Value(f"max({a.text}, min({b.text}, {values[2].text}))")
        if name == "sign":
            return Value(f"1 if {a.operand()} > 0 else -1 if {a.operand()} < 0 else 0", atom=False)
        if name == "abs":
            return Value(f"max({a.text}, -{a.operand()})")
        if name in ("add", "sub", "mul", "eq", "ne", "lt", "le", "gt", "ge", "neg", "shift_left", "shift_right_arithmetic", "and", "or", "xor",
                    "convert_element_type"):
            return super().operation(eqn, values)
        raise Unsupported(f"the primitive `{name}` in an index map", self.place)

    def quotient(self, name: str, a: Value, b: Value) -> Value:
        """lax.div and lax.rem truncate; // and % floor. Equal where both
        operands have one sign: program ids and what is added from them."""
        op = "//" if name == "div" else "%"
        floor = f"{a.operand()} {op} {b.operand()}"
        negative = f"-((-{a.operand()}) {op} {b.operand()})"
        if b.number is not None and b.number > 0 or b.text.startswith("num_programs("):
            if self.is_counted(a):
                return Value(floor, atom=False)
            return Value(f"{floor} if {a.operand()} >= 0 else {negative}", atom=False)
        one_sign = f"{b.operand()} > 0" if self.is_counted(a) else f"({a.operand()} >= 0 and {b.operand()} > 0) or ({a.operand()} < 0 and {b.operand()} < 0)"
        return Value(f"{floor} if {one_sign} else {negative}", atom=False)

    def is_counted(self, a: Value) -> bool:
        """Made of program ids without a subtraction: never negative."""
        return "-" not in a.text and "~" not in a.text and set(re.findall(r"[A-Za-z_]\w*", a.text)) <= {*self.grid, "num_programs", "max", "min", "cdiv"}

    def do_cond(self, eqn: Any) -> None:
        index, branches = self.read(eqn.invars[0]), eqn.params["branches"]
        values = [self.read(a) for a in eqn.invars[1:]]
        if len(branches) != 2:
            raise Unsupported("a switch in an index map", self.place)
        test = index.truth or Value(f"{index.operand()} != 0", atom=False)
        no, yes = self.run(branches[0], values), self.run(branches[1], values)
        for var, a, b in zip(eqn.outvars, yes, no, strict=True):
            if not jx.is_dropped(var):
                self.env[var] = Value(f"{a.operand()} if {test.operand()} else {b.operand()}", atom=False)
