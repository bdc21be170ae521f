"""Index maps as integer expressions of the spec language."""

from __future__ import annotations

import re
from typing import Any, Mapping

from . import jaxpr as jx
from .body import Body, Ref, Value, number
from .errors import Unsupported
from .wrapping import range_of


# What stays within the type of its operands.
WITHIN = {"max", "min", "rem", "select_n", "and", "or", "xor", "not", "clamp", "sign", "shift_right_arithmetic"}

ARITHMETIC = WITHIN | {"add", "sub", "mul", "div", "neg", "abs", "integer_pow", "eq", "ne", "lt", "le", "gt", "ge", "shift_left", "convert_element_type"}
# What else an index map may hold: what is read, and what makes a scalar of one.
READ = {"get", "cond", "program_id", "num_programs", "axis_index", "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "multiple_of", "copy", "stop_gradient"}

MOST_FACTORS = 4  # of a power


class IndexMap(Body):
    """Index maps: integer expressions, never statements. Those of the language are exact, except that int32 is proven to hold what is computed: what
    another type may not hold is wrapped by the expression."""

    def __init__(self, axes: list[str], taken: set[str], place: str | None, counts: Mapping[str, int | str] | None = None):
        super().__init__(axes, taken)
        self.place, self.counts = place, counts or {}
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
        dtype = jx.dtype_name(var.aval)
        if var.aval.shape:
            raise Unsupported("an array in an index map", self.place)
        if not dtype.startswith(("int", "uint", "bool")):
            raise Unsupported(f"a number of {dtype} in an index map", self.place)
        value = self.wrapped(eqn, value, dtype)
        value.shape, value.dtype = (), dtype
        self.env[var] = value

    def equation(self, eqn: Any) -> None:
        name = eqn.primitive.name
        if name not in READ and name not in ARITHMETIC and jx.called(eqn) is None:
            raise Unsupported(f"the primitive `{name}` in an index map", self.place)
        super().equation(eqn)

    def wrapped(self, eqn: Any, value: Value, dtype: str) -> Value:
        """The value as its type holds it. That int32 does is a rule, and what is less than nothing in a wide type without a sign is none of its numbers."""
        name = eqn.primitive.name
        if dtype == "bool" or value.number is not None:
            return value
        least, most = range_of(dtype)
        numbers = most - least + 1
        kept = name in WITHIN
        if name == "convert_element_type":
            lowest, highest = range_of(jx.dtype_name(eqn.invars[0].aval))
            kept = least <= lowest and highest <= most or numbers >= 2**32 and self.is_counted(value)
        if numbers >= 2**32:
            if least == 0 and (name in ("sub", "neg", "not") or name == "convert_element_type" and not kept):
                raise Unsupported(f"{dtype} that may wrap around in an index map", self.place, "compute it in int32")
            return value
        exact = f"({value.operand()} + {-least}) % {numbers} - {-least}" if least else f"{value.operand()} % {numbers}"
        return value if kept else Value(exact, atom=False)

    @staticmethod
    def cheap(v: Value) -> bool:
        return True

    def strong(self, value: Value) -> Value:
        return value  # numbers have no type here: wrapped() sees to that

    def do_get(self, eqn: Any) -> None:
        ref, text, _ = self.subscript(eqn, 1)
        if not ref.table:
            raise Unsupported(f"an index map reads the prefetched `{ref.name}`, which the body writes", self.place,
                              "pass two tables: index maps are evaluated ahead of the step, so nothing says which contents they see")
        self.env[eqn.outvars[0]] = Value(text, (), jx.dtype_name(eqn.outvars[0].aval))

    def do_num_programs(self, eqn: Any) -> None:
        if self.inner_axes is not None:
            super().do_num_programs(eqn)
            return
        steps = self.counts[self.axes[eqn.params["axis"]]]
        self.env[eqn.outvars[0]] = number(steps, "int32") if isinstance(steps, int) else Value(steps)

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
        if name == "xor" and jx.dtype_name(eqn.outvars[0].aval) == "bool":
            return Value(f"({a.operand()} and not {b.operand()}) or ({b.operand()} and not {a.operand()})", atom=False)
        if name == "not":
            dtype = jx.dtype_name(eqn.outvars[0].aval)
            if dtype == "bool":
                return Value(f"not {a.operand()}", (), "bool", atom=False)
            return Value(f"{sum(range_of(dtype))} - {a.operand()}", atom=False)
        if name == "convert_element_type" and a.dtype == "bool":
            return Value(f"1 if {a.operand()} else 0", atom=False, truth=a)
        if name == "convert_element_type" and not jx.dtype_name(eqn.outvars[0].aval).startswith(("float", "bfloat", "bool")):
            return Value(a.text, atom=a.atom)
        if name == "clamp":
            return Value(f"max({a.text}, min({b.text}, {values[2].text}))")
        if name == "integer_pow":
            power = eqn.params["y"]
            if not 1 <= power <= MOST_FACTORS:
                raise Unsupported(f"a power of {power} in an index map", self.place)
            return Value(" * ".join([a.operand()] * power), atom=False)
        if name == "sign":
            return Value(f"1 if {a.operand()} > 0 else -1 if {a.operand()} < 0 else 0", atom=False)
        if name == "abs":
            return Value(f"max({a.text}, -{a.operand()})")
        return super().operation(eqn, values)

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
