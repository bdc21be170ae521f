"""From pallas_call equations to specs (`*.tile.json`)."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from . import capture, fields
from . import jaxpr as jx
from .body import Body, Ref, Value
from .errors import NoPallasCall, Unsupported
from .reference import attach
from .vocabulary import PRIMITIVES

WORDS = {
    "and", "or", "not", "implies", "if", "else", "elif", "for", "in", "range", "while", "def", "return", "with", "True", "False", "cdiv",
    "next_power_of_2", "align_up", "inf", "nan", "ds", "load", "store", "check", "forall", "matmul", "softmax", "logsumexp", "mean",
    "len", "d0", "take", "as", "is", "lambda", "import", "break", "continue", "pass",
    "literal", "variable", "bool", "float32", "float64", "bfloat16", "float16", "int8", "int16", "int32", "uint8", "uint16", "uint32", "int4", "uint4",
} | set(PRIMITIVES)

SEMANTICS = {"arbitrary": "arbitrary", "parallel": "parallel", "core_parallel": "core_parallel", "subcore_parallel": "parallel"}


class Names:
    """Names of one spec: unique, and no word of the language."""

    def __init__(self) -> None:
        self.taken: set[str] = set(WORDS)

    def take(self, wanted: str, otherwise: str) -> str:
        if "[" in wanted:  # one of *args: the position says nothing
            wanted = ""
        name = "".join(c if c.isalnum() and c.isascii() else "_" for c in wanted).strip("_") or otherwise
        name = name.removesuffix("_ref")[:40]
        if name[:1].isdigit() or not name:
            name = otherwise
        unique, n = name, 2
        while unique in self.taken:
            unique, n = f"{name}_{n}" if name not in WORDS else f"{name}_ref" if n == 2 else f"{name}_{n}", n + 1
        self.taken.add(unique)
        return unique


def from_equation(eqn: Any, operands: list[Any] | None = None, used: list[bool] | None = None) -> dict[str, Any]:
    """The spec of one pallas_call equation. Sizes are the traced ones. With
    `operands`, the values of its inputs in one run, prefetched tables and
    dynamic grid bounds are fixed at these; results that are not `used` become
    scratch by another name ("discard").

    Raises Unsupported, with the Python line, for what the language lacks.
    """
    return _Import(eqn, operands, used).spec()


def from_pallas(fn: Any, *args: Any, tables: bool = True, reference: Any = None) -> list[dict[str, Any]]:
    """Specs of every pallas_call that fn(*args) reaches: under jit, vmap,
    grad, scan, cond. `args` are arrays or jax.ShapeDtypeStruct.

    Where a call has prefetched tables and all of `args` are arrays, fn is run
    once (interpreted) and the tables are fixed at what they held; tables=False
    leaves them open, for any contents.

    `reference`: a jnp function of the same arguments; its program becomes the
    "reference" of the spec. fn reaches one pallas_call then.
    """
    closed = jx.trace(fn, args)
    equations = list(jx.pallas_calls(closed))
    if not equations:
        raise NoPallasCall(f"{getattr(fn, '__name__', fn)} reaches no pallas_call with these arguments")
    if reference is not None and len(equations) > 1:
        raise Unsupported(f"a reference for {len(equations)} pallas_calls; import the calls one by one", jx.where(equations[1][0]))
    if tables and any(_reads_tables(e) for e, _ in equations) and all(hasattr(a, "__array__") for a in jx.leaves(args)):
        specs = [from_equation(c.equation, c.operands, c.used) for c in capture.calls(fn, *args)]
    else:
        specs = [from_equation(e, used=used) for e, used in equations]
    if reference is not None:
        attach(specs[0], equations[0][0], closed, reference, args)
    return specs


def _reads_tables(eqn: Any) -> bool:
    g = eqn.params["grid_mapping"]
    return bool(g.num_index_operands or g.num_dynamic_grid_bounds)


class _Import:
    def __init__(self, eqn: Any, operands: list[Any] | None, used: list[bool] | None):
        self.operands, self.used = operands, used
        self.eqn, self.p = eqn, eqn.params
        self.mapping = self.p["grid_mapping"]
        self.body = self.p["jaxpr"]
        self.names = Names()
        self.place = jx.where(eqn)

    def spec(self) -> dict[str, Any]:
        g = self.mapping
        fields.check_call(self.eqn, self.place)
        given = jx.argument_names(self.body)
        avals = [v.aval for v in self.body.invars]
        n_tables, n_in, n_out = g.num_index_operands, g.num_inputs, g.num_outputs
        given += [""] * (len(avals) - len(given))
        roles = ["table"] * n_tables + ["in"] * n_in + ["out"] * n_out + ["scratch"] * (len(avals) - n_tables - n_in - n_out)
        counts: dict[str, int] = {}
        operands = []
        for name, role in zip(given, roles, strict=True):
            counts[role] = counts.get(role, 0) + 1
            operands.append(self.names.take(name, {"table": "table", "in": "x", "out": "o", "scratch": "s"}[role] + str(counts[role])))
        axes = self.axis_names()
        tables, steps = self.grid_steps(axes)
        refs = []
        for name, role, aval in zip(operands, roles, avals, strict=True):
            refs.append(Ref(name, tuple(aval.shape), jx.dtype_name(aval), role == "table"))
        out: dict[str, Any] = {"tileproof": 1, "name": self.name(), "x-python": {"call": self.place}}
        for ref in refs[:n_tables]:
            tables.append(self.table(ref))
        if self.operands is not None:
            for table, values in zip(tables, self.operands[:len(tables)], strict=True):
                table["contents"] = np.asarray(values).astype(np.int64).tolist()
        if tables:
            out["scalar_prefetch"] = tables
        if axes:
            out["grid"] = [{"axis": a, "steps": s, **({"semantics": m} if m != "arbitrary" else {})}
                           for a, s, m in zip(axes, steps, self.semantics(), strict=True)]
        limit = fields.compiler_param(self.p, "vmem_limit_bytes")
        if limit:
            out["vmem_limit_bytes"] = int(limit)
        table_refs = refs[:n_tables]
        blocks = list(g.block_mappings)
        for key, lo, n in (("inputs", n_tables, n_in), ("outputs", n_tables + n_in, n_out)):
            entries = [self.operand(refs[lo + i], blocks[lo - n_tables + i], axes, table_refs) for i in range(n)]
            if entries:
                out[key] = entries
        for entry, used in zip(out["outputs"], self.used if self.used is not None else [True] * n_out, strict=True):
            if not used:
                entry["discard"] = True
        for source, target in self.p["input_output_aliases"]:
            self.alias(out, source - n_tables, target)  # JAX counts tables and inputs, not dynamic grid bounds
        scratch = [self.scratch(r, a) for r, a in list(zip(refs, avals, strict=True))[n_tables + n_in + n_out:]]
        if scratch:
            out["scratch"] = scratch
        writer = Body(self.own(axes), self.names.taken)
        writer.place = self.place
        writer.run(self.body, refs)
        out["kernel"] = writer.lines
        out["x-python"]["statements"] = writer.places
        return out

    def name(self) -> str:
        return jx.function_name(self.eqn)

    def axis_names(self) -> list[str]:
        """One name per grid axis: i, j, k, ... for the kernel's own, batch for those that vmap put in front."""
        own = iter([*"ijklmnpq", *(f"axis{n}" for n in range(len(self.mapping.grid)))])
        wanted = ["batch" if n in self.mapping.vmapped_dims else next(own) for n in range(len(self.mapping.grid))]
        return [self.names.take(w, f"axis{n}") for n, w in enumerate(wanted)]

    def own(self, axes: list[str]) -> list[str]:
        """The axes that program_id counts: those of vmap are not the kernel's."""
        return [a for n, a in enumerate(axes) if n not in self.mapping.vmapped_dims]

    def alias(self, out: dict[str, Any], source: int, target: int) -> None:
        if not 0 <= source < len(out.get("inputs", [])):
            raise Unsupported(f"an alias of a prefetched table with the output `{out['outputs'][target]['name']}`", self.place)
        given = out["inputs"][source]
        entry = out["outputs"][target]
        if "alias" in entry or any(o.get("alias") == given["name"] for o in out["outputs"]):
            raise Unsupported(f"two aliases of `{given['name']}` or of `{entry['name']}`", self.place)
        entry["alias"] = given["name"]

    def table(self, ref: Ref) -> dict[str, Any]:
        if len(ref.shape) > 3:
            raise Unsupported(f"the prefetched `{ref.name}` of rank {len(ref.shape)}", self.place)
        if ref.dtype not in ("int8", "int16", "int32", "uint8", "uint16", "bool"):
            raise Unsupported(f"the prefetched `{ref.name}` of {ref.dtype}", self.place)
        return {"name": ref.name, "dtype": ref.dtype, "shape": list(ref.shape)}

    def grid_steps(self, axes: list[str]) -> tuple[list[dict[str, Any]], list[Any]]:
        """Steps per axis; a bound that is known only at run time is a table of one entry."""
        tables: list[dict[str, Any]] = []
        steps: list[Any] = []
        for axis, n in zip(axes, self.mapping.grid, strict=True):
            if isinstance(n, (int, np.integer)):
                steps.append(int(n))
                continue
            name = self.names.take(f"steps_{axis}", f"steps_{axis}")
            tables.append({"name": name, "dtype": "int32", "shape": []})
            steps.append(name)
        return tables, steps

    def semantics(self) -> list[str]:
        """One word per grid axis. The kernel declares its own axes; those of vmap are parallel, as in JAX's lowering."""
        vmapped = self.mapping.vmapped_dims
        n = len(self.mapping.grid) - len(vmapped)
        declared = fields.compiler_param(self.p, "dimension_semantics")
        words = [jx.word(s) for s in declared] if declared is not None else ["arbitrary"] * n
        if len(words) != n:
            raise Unsupported(f"dimension_semantics of {len(words)} words for a grid of {n} axes", self.place)
        for w in words:
            if w not in SEMANTICS:
                raise Unsupported(f"the dimension semantics `{w}`", self.place)
        own = iter(words)
        return ["parallel" if axis in vmapped else SEMANTICS[next(own)] for axis in range(len(self.mapping.grid))]

    def operand(self, ref: Ref, block: Any, axes: list[str], tables: list[Ref]) -> dict[str, Any]:
        aval = block.array_aval
        entry: dict[str, Any] = {"name": ref.name, "dtype": jx.dtype_name(aval), "shape": [int(d) for d in aval.shape]}
        space = jx.memory_space(block.block_aval if hasattr(block, "block_aval") else block.ref_aval)
        if space not in ("vmem", "smem", "any", "hbm"):
            raise Unsupported(f"`{ref.name}` in {space}", self.place)
        if space != "vmem":
            entry["memory_space"] = space
        if entry["dtype"] != ref.dtype:
            raise Unsupported(f"`{ref.name}`: blocks of {ref.dtype} of an array of {entry['dtype']}", self.place)
        index = self.index_map(block, axes, tables, ref)
        shape = [self.dimension(d, ref) for d in block.block_shape]
        whole = shape == entry["shape"] and all(i == 0 for i in index)
        if not whole and space in ("any", "hbm"):
            raise Unsupported(f"blocks of `{ref.name}`, which stays in {space}", self.place)
        if not whole:
            entry["block_shape"], entry["index_map"] = shape, index
        if block.pipeline_mode is not None:
            entry |= fields.buffers(block.pipeline_mode, self.place)
        return entry

    def dimension(self, d: Any, ref: Ref) -> Any:
        kind = type(d).__name__
        if d is None or kind == "Squeezed":
            return None
        if isinstance(d, (int, np.integer)):
            return int(d)
        if kind == "Blocked":
            return int(d.block_size)
        if kind == "Element":
            padding = [int(v) for v in d.padding]
            return {"element": int(d.block_size), **({"padding": padding} if any(padding) else {})}
        raise Unsupported(f"a dimension of kind {kind} in the block of `{ref.name}`", self.place)

    def index_map(self, block: Any, axes: list[str], tables: list[Ref], ref: Ref) -> list[Any]:
        return IndexMap(self.own(axes), self.names.taken, self.place).expressions(block.index_map_jaxpr, axes, tables)

    def scratch(self, ref: Ref, aval: Any) -> dict[str, Any]:
        space = jx.memory_space(aval)
        if space not in ("vmem", "smem") or not ref.dtype.startswith(("float", "bfloat", "int", "uint", "bool")):
            raise Unsupported(f"scratch `{ref.name}` in {space}", self.place)
        entry: dict[str, Any] = {"name": ref.name, "dtype": ref.dtype, "shape": [int(d) for d in ref.shape]}
        if space != "vmem":
            entry["memory_space"] = space
        return entry


class IndexMap(Body):
    """Index maps: integer expressions, never statements."""

    def __init__(self, axes: list[str], taken: set[str], place: str | None):
        super().__init__(axes, taken)
        self.place = place
        self.grid: list[str] = []  # every axis of the grid

    def expressions(self, j: Any, axes: list[str], tables: list[Ref]) -> list[Any]:
        """Of every grid axis, also those that program_id does not count."""
        self.grid = axes
        results = self.run(j, [Value(a) for a in axes] + list(tables))
        return [int(v.text) if v.literal else v.text for v in results]

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
            raise Unsupported(f"the index map reads `{ref.name}`", self.place)
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
            if self.counted(a):
                return Value(floor, atom=False)
            return Value(f"{floor} if {a.operand()} >= 0 else {negative}", atom=False)
        one_sign = f"{b.operand()} > 0" if self.counted(a) else f"({a.operand()} >= 0 and {b.operand()} > 0) or ({a.operand()} < 0 and {b.operand()} < 0)"
        return Value(f"{floor} if {one_sign} else {negative}", atom=False)

    def counted(self, a: Value) -> bool:
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


def text_of(spec: dict[str, Any]) -> str:
    """The spec as a file's text; `tileproof fmt` gives it its final form."""
    return json.dumps(spec, indent=2, ensure_ascii=False) + "\n"
