"""Branches and loops."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import jaxpr as jx
from .values import Ref, Value, add_text, factor, number, shape_text
from .writer import LONGEST_INLINE, Writer

LONGEST_TEST = 1000  # of a loop: what it is made of is read anew in each turn


@dataclasses.dataclass
class Rows:
    """What a scan reads and fills row by row."""

    xs: list[Value]
    ys: list[Value | None]
    first: str  # what it counts from
    backwards: int  # how many rows, where it begins at the last one

    def at(self, t: str) -> str:
        turn = t if self.first == "0" else f"{t} - {factor(self.first)}"
        return f"{self.backwards - 1} - {factor(turn)}" if self.backwards else turn


class Control(Writer):
    """Carried values are names that the arms and turns assign."""

    def do_cond(self, eqn: Any) -> None:
        index, branches = self.read(eqn.invars[0]), eqn.params["branches"]
        values = [v if not isinstance(v, Value) or self.cheap(v) else self.assign(v) for v in (self.read(a) for a in eqn.invars[1:])]
        if index.number is not None:
            self.inline_jaxpr(eqn, branches[min(max(int(index.number), 0), len(branches) - 1)], values)
            return
        results = [None if jx.is_dropped(v) else self.name("r") for v in eqn.outvars]
        if len(branches) == 2:
            test = index.truth or index if index.dtype != "int32" or index.truth else Value(f"{index.operand()} != 0", atom=False)
            arms: list[tuple[Any, Any]] = [(test, branches[1]), (None, branches[0])]
        else:
            index = index if self.cheap(index) else self.assign(index)
            arms = [(Value(f"{index.operand()} == {n}", atom=False), b) for n, b in enumerate(branches[:-1])] + [(None, branches[-1])]
        place = self.place
        for n, (test, branch) in enumerate(arms):
            empty = not jx.equations(branch) and not any(results)
            if test is None and empty:
                break
            self.place = place
            if n == 0 and empty and len(arms) == 2:  # only the other arm does something
                arms[1] = (Value(f"not {test.operand()}", atom=False), arms[1][1])
                self.arm("if", arms[1], values, eqn, results)
                break
            self.arm("if" if n == 0 else "elif" if test is not None else "else", (test, branch), values, eqn, results)
        self.place = place
        for var, name in zip(eqn.outvars, results, strict=True):
            if name:
                self.env[var] = Value(name, tuple(var.aval.shape), jx.dtype_name(var.aval))

    def arm(self, word: str, arm: Any, values: list[Any], eqn: Any, results: list[Any]) -> None:
        test, branch = arm
        self.line(f"{word} {test.text}:" if word != "else" else "else:")
        self.indent += 1
        before = len(self.lines)
        for name, value in zip(results, self.run(branch, values), strict=True):
            if name:
                self.line(f"{name} = {self.typed(value)}")
        if len(self.lines) == before:
            self.line("check(True, 'nothing to do')")
        self.indent -= 1

    def carries(self, avals: list[Any], values: list[Any]) -> list[Any]:
        """Names for what a loop carries, set to the first values."""
        out: list[Any] = []
        for value in values:
            if isinstance(value, Ref):
                out.append(value)
                continue
            name = self.name("c")
            self.line(f"{name} = {self.typed(value)}")
            out.append(Value(name, value.shape, value.dtype))
        return out

    def update(self, carries: list[Any], values: list[Any]) -> None:
        """All at once: what is overwritten and still needed is copied first."""
        changed = [(c, v) for c, v in zip(carries, values, strict=True) if isinstance(c, Value) and v.text != c.text]
        if len(changed) > 1:
            names = [c.text for c, _ in changed]
            changed = [(c, self.assign(v) if any(n in (v.splat or v).text for n in names if n != c.text) else v) for c, v in changed]
            changed.sort(key=lambda each: each[1].atom)  # what is computed first: it may be tried with the others, as they are before
        for c, v in changed:
            self.line(f"{c.text} = {self.typed(v)}")

    def do_scan(self, eqn: Any) -> None:
        p = eqn.params
        consts, carry = p["num_consts"], p["num_carry"]
        values = [self.read(a) for a in eqn.invars]
        body = p["jaxpr"]
        counter = counts_up(body, consts, carry)
        first = values[consts + counter] if counter is not None else None
        lo = first.text if first is not None else "0"
        hi = add_text(lo, str(p["length"]), 1)
        if p["reverse"] or values[consts + carry:] or len(eqn.outvars) > carry:
            self.lacks("lax.scan " + ("from the end" if p["reverse"] else "over an array" if values[consts + carry:] else "with stacked results"),
                       "write lax.fori_loop: read `x_ref[t]` in each turn, and store `o_ref[t] = y`")
        xs = [self.strong(v) if self.cheap(v) and v.splat is None else self.assign(v) for v in values[consts + carry:]]
        rows = Rows(xs, [self.empty(v) for v in eqn.outvars[carry:]], lo, p["length"] if p["reverse"] else 0)
        self.loop(eqn, body, values[:consts], values[consts:consts + carry], counter, f"range({lo}, {hi})", number(int(hi), "int32") if hi.isdigit() else Value(hi), rows=rows)

    def empty(self, var: Any) -> Value | None:
        """The array that a scan fills row by row; None: the output is not used."""
        if jx.is_dropped(var):
            return None
        shape, dtype = tuple(var.aval.shape), jx.dtype_name(var.aval)
        return self.assign(Value(f"full({shape_text(shape)}, {'False' if dtype == 'bool' else '0'}, {dtype})", shape, dtype), "y")

    def loop(self, eqn: Any, body: Any, consts: list[Any], init: list[Any], counter: int | None, bounds: str,
             after: Value | None = None, fixed: int | None = None, rows: Rows | None = None) -> None:
        rows = rows or Rows([], [], "0", 0)
        consts = [v if not isinstance(v, Value) or self.cheap(v) else self.assign(v) for v in consts]
        carries = [Value("", v.shape, v.dtype) if n == counter else v for n, v in enumerate(init)]
        rest = [n for n in range(len(init)) if n not in (counter, fixed)]
        for n, c in zip(rest, self.carries([], [init[n] for n in rest]), strict=True):
            carries[n] = c
        t = self.name("t")
        if counter is not None:
            carries[counter] = Value(t)
        self.line(f"for {t} in {bounds}:")
        self.indent += 1
        before = len(self.lines)
        at = rows.at(t)
        taken = [self.assign(Value(f"take({x.text}, {at}, axis=0)", x.shape[1:], x.dtype)) for x in rows.xs]
        results = self.run(body, consts + carries + taken)
        for y, value in zip(rows.ys, results[len(init):], strict=True):
            if y is not None:
                self.put(y, at, value)
        self.update([carries[n] for n in rest], [results[n] for n in rest])
        if len(self.lines) == before:
            self.line("check(True, 'nothing to do')")
        self.indent -= 1
        for n, var in enumerate(eqn.outvars):
            if not jx.is_dropped(var):
                self.env[var] = (rows.ys[n - len(init)] if n >= len(init) else carries[n] if n != counter else after) or Value("")

    def put(self, y: Value, at: str, value: Value) -> None:
        """y[at] = value, of a value."""
        row = value.splat if value.splat is not None else value
        if row.shape:
            row = Value(f"broadcast_to(reshape({row.text}, {shape_text((1, *row.shape))}), {shape_text(y.shape)})")
        self.line(f"{y.text} = where(iota(int32, {shape_text(y.shape)}, 0) == {at}, {row.text}, {y.text})")

    def do_while(self, eqn: Any) -> None:
        p = eqn.params
        nc, nb = p["cond_nconsts"], p["body_nconsts"]
        values = [self.read(a) for a in eqn.invars]
        test_consts, body_consts, init = values[:nc], values[nc:nc + nb], values[nc + nb:]
        found = counts_to(p["cond_jaxpr"], p["body_jaxpr"], nc, nb, len(init))
        if found:
            counter, upper = found
            lo, hi = init[counter], init[upper] if upper >= 0 else test_consts[nc + upper]
            self.loop(eqn, p["body_jaxpr"], body_consts, init, counter, f"range({lo.text}, {hi.text})",
                      number(max(lo.number, hi.number), "int32") if lo.number is not None and hi.number is not None else Value(f"maximum({lo.text}, {hi.text})"), upper if upper >= 0 else None)
            return
        body_consts = [v if not isinstance(v, Value) or self.cheap(v) else self.assign(v) for v in body_consts]
        test_consts = [v if not isinstance(v, Value) or self.cheap(v) else self.assign(v) for v in test_consts]
        carries = self.carries([], init)
        before = len(self.lines)
        self.longest_inline = LONGEST_TEST
        test = self.run(p["cond_jaxpr"], test_consts + carries)[0]
        self.longest_inline = LONGEST_INLINE
        go = self.name("go") if len(self.lines) > before or test.literal else ""  # statements that each turn needs again
        if go:
            self.line(f"{go} = {self.typed(test)}")
        self.line(f"while {go or test.text}:")
        self.indent += 1
        first = len(self.lines)
        self.update(carries, self.run(p["body_jaxpr"], body_consts + carries))
        if go:
            self.line(f"{go} = {self.typed(self.run(p['cond_jaxpr'], test_consts + carries)[0])}")
        elif len(self.lines) == first:
            self.line("check(True, 'nothing to do')")
        self.indent -= 1
        for var, c in zip(eqn.outvars, carries, strict=True):
            if not jx.is_dropped(var):
                self.env[var] = c

    def do_debug_print(self, eqn: Any) -> None:
        """Printing is no part of a spec."""

    do_debug_callback = do_debug_print

    def do_check(self, eqn: Any) -> None:
        """pl.debug_check: whether it fails, its first operand says."""
        failed = self.read(eqn.invars[0])
        self.line(f"check(not {failed.operand()}, 'debug_check')")


def counts_up(body: Any, consts: int, carry: int) -> int | None:
    """The carried value that is a counter: the next is itself plus one."""
    inner = jx.open_jaxpr(body)
    for n in range(carry):
        var, out = inner.invars[consts + n], inner.outvars[n]
        if jx.is_literal(out) or jx.dtype_name(var.aval) != "int32" or var.aval.shape:
            continue
        for eqn in inner.eqns:
            if eqn.outvars and eqn.outvars[0] is out and eqn.primitive.name == "add":
                a, b = eqn.invars
                if (a is var and jx.is_literal(b) and int(b.val) == 1) or (b is var and jx.is_literal(a) and int(a.val) == 1):
                    return n
    return None


def counts_to(test: Any, body: Any, nc: int, nb: int, carry: int) -> tuple[int, int] | None:
    """(counter, upper) of `while i < upper`: both carried; upper below 0
    counts back from the end of the test's constants."""
    t, b = jx.open_jaxpr(test), jx.open_jaxpr(body)
    if len(t.eqns) != 1 or t.eqns[0].primitive.name != "lt" or t.outvars[0] is not t.eqns[0].outvars[0]:
        return None
    i, upper = t.eqns[0].invars
    params = list(t.invars)
    if jx.is_literal(i) or jx.is_literal(upper) or i not in params or upper not in params:
        return None
    counter, limit = params.index(i) - nc, params.index(upper) - nc
    if counter < 0 or counts_up(body, nb, carry) is None:
        return None
    if limit >= 0 and b.outvars[limit] is not b.invars[nb + limit]:
        return None
    out = b.outvars[counter]
    for eqn in b.eqns:
        if eqn.outvars and eqn.outvars[0] is out and eqn.primitive.name == "add":
            x, y = eqn.invars
            if x is b.invars[nb + counter] and jx.is_literal(y) and int(y.val) == 1:
                return counter, limit
    return None
