"""From pallas_call equations to specs (`*.tile.json`)."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from typing import Any, Collection, Iterator

from . import capture, contracts, devices, engine, fields, known, pipelines, places, ranges, rewriting
from . import jaxpr as jx
from .body import Body, Ref, Value
from .body.values import add_text
from .errors import NoPallasCall, Unsupported, together
from .index_maps import IndexMap
from .jaxpr import np
from .reference import attach
from .refusals import other_kernel
from .unnested import prefetched, unnested
from .vocabulary import DTYPES, PRIMITIVES
from .words import VALUE

WORDS = {
    "and", "or", "not", "implies", "if", "else", "elif", "for", "in", "range", "while", "def", "return", "with", "True", "False", "cdiv",
    "next_power_of_2", "align_up", "inf", "nan", "ds", "load", "store", "check", "forall", "matmul", "softmax", "logsumexp", "mean",
    "len", "d0", "take", "as", "is", "lambda", "import", "break", "continue", "pass",
    "literal", "variable", "None",
} | set(PRIMITIVES) | set(DTYPES) | set(DTYPES.values())

SEMANTICS = {"arbitrary": "arbitrary", "parallel": "parallel", "core_parallel": "core_parallel", "subcore_parallel": "parallel"}


class Names:
    """Names of one spec: unique, and no word of the language."""

    def __init__(self, reserved: Collection[str] = ()) -> None:
        self.taken: set[str] = WORDS | set(reserved)

    @staticmethod
    def spelled(wanted: str, otherwise: str) -> str:
        """As a spec may have it."""
        if "[" in wanted:  # one of *args: the position says nothing
            wanted = ""
        name = "".join(c if c.isalnum() and c.isascii() else "_" for c in wanted).strip("_") or otherwise
        name = name.removesuffix("_ref")[:40]
        return otherwise if name[:1].isdigit() or not name else name

    def take(self, wanted: str, otherwise: str) -> str:
        name = self.spelled(wanted, otherwise)
        unique, n = name, 2
        while unique in self.taken:
            unique, n = f"{name}_{n}" if name not in WORDS else f"{name}_ref" if n == 2 else f"{name}_{n}", n + 1
        self.taken.add(unique)
        return unique


def from_equation(eqn: Any, operands: list[Any] | None = None, used: list[bool] | None = None, reserved: Collection[str] = ()) -> dict[str, Any]:
    """The spec of one pallas_call equation. Sizes are the traced ones. With
    `operands`, the values of its inputs in one run (None: not known), prefetched
    tables and dynamic grid bounds are fixed at these; results that are not `used` become
    scratch by another name ("discard"). Nothing gets a `reserved` name.

    Raises Unsupported, with the Python line, for what the language lacks.
    """
    if eqn.primitive.name != "pallas_call":
        raise other_kernel(eqn)
    if not fields.for_triton(eqn.params):
        fields.check_buffers(eqn)
    eqn, order = prefetched(eqn, operands)
    spec = _imported(eqn, operands and [operands[n] for n in order], used, reserved)
    names = engine.operands_of(spec)
    if order != sorted(order):
        spec["x-python"]["operands"] = [names[order.index(n)] for n in range(len(order))]
    return spec


def _imported(eqn: Any, operands: list[Any] | None, used: list[bool] | None, reserved: Collection[str]) -> dict[str, Any]:
    """The spec of an equation whose operands are in the order of the spec."""
    with contextlib.suppress(Unsupported):  # then the kernel as it is says why
        flat = unnested(eqn)
        if flat is not None:
            spec = _Import(flat, operands, used, reserved).spec()
            spec["x-python"]["grid"] = next((jx.where(e) for e in rewriting.every_equation(eqn.params["jaxpr"]) if pipelines.is_pipeline(e)), None)
            return spec
    return _Import(eqn, operands, used, reserved).spec()


def from_pallas(fn: Any, *args: Any, tables: bool | str = True, reference: Any = None) -> list[dict[str, Any]]:
    """Specs of every pallas_call that fn(*args) reaches: under jit, vmap,
    grad, scan, cond. `args` are arrays or jax.ShapeDtypeStruct.

    Where a call has prefetched tables and all of `args` are arrays, fn is run
    once (interpreted) and the tables are fixed at what they held. Of shapes,
    tables that no argument changes are fixed. The others, and with tables=False
    all, are left open, for any contents; with tables="inferred" for those that
    satisfy contracts made of what the tables of this call hold (contracts.py).

    `reference`: a jnp function of the same arguments; its program becomes the
    "reference" of the spec. fn reaches one pallas_call then.

    Raises Unsupported, with all obstacles, where a call cannot be imported.
    """
    return all_of(fn, *read(fn, *args, tables=tables, reference=reference))


def all_of(fn: Any, specs: list[dict[str, Any]], refused: list[Unsupported]) -> list[dict[str, Any]]:
    """The specs of what read() found, where nothing is refused."""
    if refused:
        raise together(f"`{getattr(fn, '__name__', fn)}`", None, refused)
    return specs


def read(fn: Any, *args: Any, tables: bool | str | None = True, reference: Any = None, values: bool = False, reserved: Collection[str] = ()) -> tuple[list[dict[str, Any]], list[Unsupported]]:
    """from_pallas() that keeps what can be imported beside what cannot. tables=None: open, and not looked at.
    `values`: integers of inputs lie between what the arrays of this call hold, as far as these are known. `reserved`: names of sizes, which nothing
    else gets."""
    closed = jx.trace(fn, args)
    sites = list(jx.sites(closed))
    if not sites:
        raise NoPallasCall(f"{getattr(fn, '__name__', fn)} reaches no pallas_call with these arguments")
    if reference is not None and len(sites) > 1:
        raise Unsupported(f"a reference for {len(sites)} pallas_calls", jx.where(sites[1].equation), "import the calls one by one")
    found = _Found(reserved)
    if tables is True and any(_reads_tables(s.equation) for s in sites) and all(known.is_given(a) for a in jx.leaves(args)):
        _executed(found, fn, args, values)
    else:
        held = seen(closed, args, sites, values) if tables is not None else {}
        for s in sites:
            contents = held.get(s.path)

            def note(spec: dict[str, Any], c: Any = contents) -> None:
                contracts.see(spec, c, tables == "inferred")
                ranges.see(spec, c if values else None)

            found.add(s.equation, contents if tables is True and _reads_tables(s.equation) else None, s.used, note)
    if reference is not None and found.specs:
        attach(found.specs[0], sites[0].equation, closed, reference, args)
    return found.specs, found.refused


def seen(closed: Any, args: tuple[Any, ...], sites: list[Any], always: bool = False) -> dict[Any, list[Any]]:
    """The operands of each site that are known without running a kernel; where none has tables, only with `always`."""
    if not always and not any(_reads_tables(s.equation) for s in sites):
        return {}
    given = jx.leaves(args)
    return known.operands(closed, [np.asarray(a, v.aval.dtype) if known.is_given(a) else None
                                   for a, v in zip(given, jx.open_jaxpr(closed).invars, strict=True)])


class _Found:
    """What was imported, and what could not be."""

    def __init__(self, reserved: Collection[str]) -> None:
        self.reserved = reserved
        self.specs: list[dict[str, Any]] = []
        self.refused: list[Unsupported] = []

    def add(self, eqn: Any, operands: list[Any] | None, used: list[bool], then: Any = None) -> dict[str, Any] | None:
        """The spec, if it can be imported."""
        try:
            spec = from_equation(eqn, operands, used, self.reserved)
            if then is not None:
                then(spec)
        except Unsupported as e:
            self.refused.append(e)
            return None
        self.specs.append(spec)
        return spec


def _executed(found: _Found, fn: Any, args: tuple[Any, ...], values: bool) -> None:
    """Import the calls of one run, with the tables that they hold there."""
    ran: list[Any] = []

    def run(eqn: Any, operands: list[Any], used: list[bool]) -> list[Any]:
        held = [np.asarray(v) for v in operands]
        spec = found.add(eqn, held, used, lambda made: ranges.see(made, held if values else None))
        ran.append(eqn)
        try:
            return capture.interpreted(eqn, operands, used)
        except Exception:  # noqa: BLE001  what JAX does not interpret, the engine may execute
            if spec is None:
                raise
            return engine.run(spec, eqn, operands)

    made, why, held = capture.Calls(), "did not run with these arguments", {}
    try:
        capture.calls(fn, *args, run=run, made=made)
    except Exception as e:  # noqa: BLE001  a kernel that nobody executes ends the run, not the import
        if not ran:
            raise
        why = f"does not run behind `{jx.function_name(ran[-1])}`, which JAX does not interpret ({type(e).__name__})"
        held = seen(made.closed, args, made.missed)
    for s in made.missed:
        operands = held.get(s.path)
        if operands is None and tables_of(s.equation) or any(operands[n] is None for n in tables_of(s.equation)):
            found.refused.append(Unsupported(f"the prefetched tables of `{jx.function_name(s.equation)}` are not known: it {why}", jx.where(s.equation)))
        else:
            found.add(s.equation, operands, s.used)


def tables_of(eqn: Any, known: list[Any] | None = None) -> list[int]:
    """Which of its operands are dynamic grid bounds and tables, where these operands are `known`."""
    if eqn.primitive.name != "pallas_call":
        return []
    same, order = prefetched(eqn, known)
    g = same.params["grid_mapping"]
    return order[:int(g.num_index_operands + g.num_dynamic_grid_bounds)]


def _reads_tables(eqn: Any) -> bool:
    """Has it tables, or what would be one if it were known?"""
    return bool(tables_of(eqn, [True] * len(eqn.invars)))


class _Import:
    def __init__(self, eqn: Any, operands: list[Any] | None, used: list[bool] | None, reserved: Collection[str]):
        self.operands, self.used = operands, used
        self.eqn, self.p = eqn, eqn.params
        self.mapping = self.p["grid_mapping"]
        self.body = self.p["jaxpr"]
        self.names = Names(reserved)
        self.place = jx.where(eqn)
        self.found: list[Unsupported] = []
        self.index_maps: dict[str, str] = {}  # of operands: where they are written
        self.counts: dict[str, int | str] = {}  # steps of each axis
        self.mesh = devices.around(eqn)
        self.here = [self.names.take("d" if len(self.mesh) == 1 else axis, "device") for axis, _ in self.mesh]

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """An obstacle is noted and reading goes on: all are said at once."""
        try:
            yield
        except Unsupported as e:
            self.found += e.obstacles
        except Exception:
            if not self.found:
                raise

    def spec(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        with self.noting():
            fields.check_call(self.eqn, self.place)
        with self.noting():
            out = self.written()
        if self.found:
            raise together(f"the kernel `{self.name()}`", self.place, self.found)
        return out

    def written(self) -> dict[str, Any]:
        g = self.mapping
        axes, refs = self.axis_names(), self.refs()
        n_in, n_out = g.num_inputs, g.num_outputs
        table_refs, rest = refs[:g.num_index_operands], refs[g.num_index_operands:]
        tables, steps = self.grid_steps(axes, table_refs)
        self.counts = dict(zip(axes, steps, strict=True))
        given = {ref.name: self.given(ref) for ref in table_refs if not ref.table}
        out: dict[str, Any] = {"tileproof": 1, "name": self.name(), "x-python": {"call": self.place}}
        if fields.for_triton(self.p):
            out["target"] = "none"
            with self.noting():
                self.fits_triton()
        if not n_out:
            self.found.append(Unsupported("a kernel without outputs is not supported", self.place, "return what it computes by out_shape"))
        for ref in self.written_inputs(refs):
            with self.noting():
                raise Unsupported(f"the kernel writes to the block of its input `{ref.name}`, which is not supported", self.place, "copy the block into scratch, and write there")
        tables += self.entries(self.table, [given.get(ref.name, ref) for ref in table_refs])
        if self.operands is not None and not self.found:
            for table, values in zip(tables, self.operands[:len(tables)], strict=True):
                if values is not None:
                    table["contents"] = np.asarray(values).astype(np.int64).tolist()
        blocks = list(zip(rest, g.block_mappings, strict=False))
        scratch = list(zip(rest, [v.aval for v in self.body.invars][len(table_refs):], strict=True))[n_in + n_out:]
        limit = None
        with self.noting():
            limit = fields.compiler_param(self.p, "vmem_limit_bytes")
        members: dict[str, Any] = {"scalar_prefetch": tables, "grid": self.grid(axes, steps), "vmem_limit_bytes": int(limit or 0),
                   "inputs": self.entries(lambda b: self.operand(*b, axes, table_refs), blocks[:n_in]),
                   "outputs": self.entries(lambda b: self.unblocked(self.operand(*b, axes, table_refs)), blocks[n_in:]),
                   "scratch": self.entries(lambda s: self.scratch(*s), scratch)
                   + self.entries(lambda s: self.scratch(*s), [(r, v.aval) for r, v in zip(table_refs, self.body.invars) if r.name in given])}
        writer = Body(self.own(axes), self.names.taken)
        writer.mesh, writer.here = self.mesh, self.here
        writer.named_axes = {str(name): axis for name, axis in zip(g.grid_names or [], self.own(axes), strict=bool(g.grid_names))}
        writer.place = self.place
        writer.steps = {axis: n for axis, n in zip(axes, steps, strict=True) if isinstance(n, int)}
        for ref in table_refs:
            if ref.name in given:
                writer.fill_at_the_start([axis["axis"] for axis in members["grid"] if axis.get("semantics") != "core_parallel"], ref, given[ref.name])
        if fields.for_triton(self.p) and not self.found:
            aliased = {pair[0] - len(table_refs) for pair in self.p["input_output_aliases"]}
            refs[len(table_refs):] = self.entries(lambda b: self.addressed(writer, *b[:2], b[2], axes, table_refs, b[3]), [
                (entry, ref, block, n >= n_in or n in aliased)
                for n, (entry, (ref, block)) in enumerate(zip([*members["inputs"], *members["outputs"]], blocks, strict=True))])
        with self.noting():
            writer.run(self.body, self.in_place(refs, members, len(table_refs)))
        self.found += writer.obstacles
        members["scratch"] += self.entries(lambda s: self.scratch(*s), writer.allocated)
        if self.mesh:
            with self.noting():
                self.spread(members, writer)
        out |= {key: value for key, value in members.items() if value}
        if not self.found:
            self.results(out, len(table_refs))
        out |= {"pipelines": writer.declared} if writer.declared else {}
        out["kernel"] = writer.lines or ["pass"]
        out["x-python"] |= {"statements": writer.places, "parts": writer.parts, "results": writer.results, "index_maps": self.index_maps, **({"pipelines": writer.notes} if writer.notes else {}),
                             **({"not_lowered": writer.not_lowered} if writer.not_lowered else {})}
        return out

    def spread(self, members: dict[str, Any], writer: Body) -> None:
        """The spec of one device becomes that of all: each operand is the whole array that shard_map cuts, else it has its shards in dimensions in front,
        one for each axis of the mesh."""
        if members["scalar_prefetch"]:
            raise Unsupported("prefetched tables of a kernel that reaches other devices are not supported", self.place, "pass them as inputs in SMEM")
        for entry in members["outputs"]:
            if entry["name"] in writer.reached and "memory_space" not in entry:
                self.at_the_end(entry, members, writer)
        ins, outs = self.p[devices.CUTS]
        name = dict(zip([axis for axis, _ in self.mesh], self.here, strict=True))
        for entry, cut in zip([*members["inputs"], *members["outputs"]], [*ins[len(ins) - len(members["inputs"]):], *outs], strict=True):
            whole = entry["shape"]
            if cut is not None:  # an array of shard_map's own, with its PartitionSpec
                entry["shape"] = list(devices.extents(whole, cut, self.mesh))
                along = [[name[axis] for axis in axes] for axes in cut]
                entry |= {"shard": [axes if len(axes) > 1 else axes[0] if axes else None for axes in along]} if any(along) else {}
                continue
            entry |= {"shape": [*devices.sizes(self.mesh), *whole], "block_shape": [*[None] * len(self.mesh), *entry.get("block_shape", whole)],
                      "index_map": [*self.here, *entry.get("index_map", [0] * len(whole))]}
        members["grid"][:0] = [{"axis": axis, "steps": n, "semantics": "device"} for axis, n in zip(self.here, devices.sizes(self.mesh), strict=True)]

    def at_the_end(self, entry: dict[str, Any], members: dict[str, Any], writer: Body) -> None:
        """An output in VMEM that others write to: its buffer is there all the time, and goes out when the kernel ends."""
        name = entry["name"]
        if "block_shape" in entry:
            raise Unsupported(f"blocks of `{name}`, to which other devices write, are not supported", self.place, "give it no blocks")
        members["scratch"].append({key: entry[key] for key in ("name", "dtype", "shape")})
        entry |= {"name": self.names.take(f"{name}_out", "out"), "memory_space": "any"}
        steps = [f"{axis['axis']} == num_programs({axis['axis']}) - 1" for axis in members["grid"]]
        with writer.inside(f"if {' and '.join(steps)}:" if steps else None):
            writer.line(f"copy({name}[...], {entry['name']}[...])")

    def fits_triton(self) -> None:
        g = self.mapping
        if len(self.body.invars) != g.num_index_operands + g.num_inputs + g.num_outputs:
            raise Unsupported("scratch of a kernel for GPUs", self.place)

    def addressed(self, writer: Body, entry: dict[str, Any], ref: Ref, block: Any, axes: list[str], tables: list[Ref], written: bool) -> Ref:
        """Blocks on GPUs are addresses: what hangs over an array is other memory, and programs may share a block that they
        write. There the ref is a part of the whole array."""
        if "block_shape" not in entry:
            return ref
        shape, maps = entry["block_shape"], entry["index_map"]
        hangs = any(isinstance(b, int) and n % b for b, n in zip(shape, entry["shape"], strict=True))
        used = set(re.findall(r"[A-Za-z_]\w*", " ".join(map(str, maps))))
        shared = written and any(n != 1 and axis not in used for axis, n in zip(axes, self.mapping.grid, strict=True))
        if not hangs and not shared:
            return ref
        if not all(isinstance(b, int) or b is None for b in shape):
            raise Unsupported(f"the block of `{ref.name}` that starts at an element", self.place, "pass the whole array, and load and store under a mask")
        at = [writer.assign(v) if not writer.cheap(v) else v for v in writer.run(block.index_map_jaxpr, [Value(a) for a in axes] + tables)]
        del entry["block_shape"], entry["index_map"]
        if written:
            entry["memory_space"] = "any"
        parts = [("int", v.text) if b is None else ("full", n) if b == n and v.number == 0 else ("slice", add_text("0", v.operand(), b), b, 1)
                 for v, b, n in zip(at, shape, entry["shape"], strict=True)]
        return Ref(ref.name, ref.shape, ref.dtype, slot=tuple(parts))

    def in_place(self, given: list[Ref], members: dict[str, Any], tables: int) -> list[Ref]:
        """The refs as the body names them: an array that stays where it is and is an output's, too, by that one."""
        refs, n_in = list(given), self.mapping.num_inputs
        for source, target in self.p["input_output_aliases"]:
            pair = [source - tables, n_in + target]
            entries = [*members["inputs"], *members["outputs"]]
            if len(entries) == n_in + self.mapping.num_outputs and pair[0] >= 0 and all(entries[n].get("memory_space") in ("any", "hbm") for n in pair):
                refs[source] = dataclasses.replace(refs[source], name=refs[tables + pair[1]].name)
        return refs

    def entries(self, make: Any, of: list[Any]) -> list[Any]:
        """One entry for each; what is refused is noted."""
        out = []
        for x in of:
            with self.noting():
                out.append(make(x))
        return out

    def refs(self) -> list[Ref]:
        """The parameters of the body under names of the spec."""
        g, avals = self.mapping, [v.aval for v in self.body.invars]
        given = jx.argument_names(self.body)
        given += [""] * (len(avals) - len(given))
        counted = [("table", g.num_index_operands), ("x", g.num_inputs), ("o", g.num_outputs), ("s", len(avals))]
        roles = [f"{role}{n + 1}" for role, count in counted for n in range(count)][:len(avals)]
        written = jx.written_refs(self.body)
        return [Ref(self.names.take(name, role), tuple(aval.shape), jx.dtype_name(aval), role.startswith("table") and n not in written)
                for n, (name, role, aval) in enumerate(zip(given, roles, avals, strict=True))]

    def written_inputs(self, refs: list[Ref]) -> list[Ref]:
        """Inputs that the body writes to, of which no output takes the place. JAX says of what is sent to another device that it is written."""
        if self.mesh:
            return []
        first, aliased = self.mapping.num_index_operands, {source for source, _ in self.p["input_output_aliases"]}
        return [refs[n] for n in sorted(jx.written_refs(self.body) - aliased) if first <= n < first + self.mapping.num_inputs]

    def given(self, ref: Ref) -> Ref:
        """The table that says what a prefetched ref holds at the start, where the body writes to the ref: that is scratch, then."""
        return Ref(self.names.take(f"{ref.name}_given", "given"), ref.shape, ref.dtype, True)

    def grid(self, axes: list[str], steps: list[Any]) -> list[Any]:
        semantics = ["arbitrary"] * len(axes)
        with self.noting():
            semantics = self.semantics()
        return [{"axis": a, "steps": s, **({"semantics": m} if m != "arbitrary" else {})} for a, s, m in zip(axes, steps, semantics, strict=True)]

    def results(self, out: dict[str, Any], n_tables: int) -> None:
        """What becomes of the outputs: dropped, or over an input."""
        outputs = out.get("outputs", [])
        for entry, used in zip(outputs, self.used if self.used is not None else [True] * len(outputs), strict=True):
            if not used:
                entry["discard"] = True
        for source, target in self.p["input_output_aliases"]:
            with self.noting():
                self.alias(out, source - n_tables, target)  # JAX counts tables and inputs, not dynamic grid bounds

    def name(self) -> str:
        return jx.function_name(self.eqn)

    def axis_names(self) -> list[str]:
        """One name per grid axis: that of the parameters of index maps, else i, j, k, ... by its place; batch for those that vmap put in front."""
        count, given = len(self.mapping.grid), self.parameters()
        letters = [*"ijklmnpq", *(f"axis{n}" for n in range(count))]
        own, out = 0, []
        for n in range(count):
            if n in self.mapping.vmapped_dims:
                wanted = "batch"
            else:
                wanted = given.get(n) or next(c for c in letters[own:] if c not in {*given.values(), *self.names.taken})
                own += 1
            out.append(self.names.take(wanted, f"axis{n}"))
        return out

    def parameters(self) -> dict[int, str]:
        """By axis of the grid, what all index maps that name it call it, where that is no name of an operand or of the language."""
        count, called = len(self.mapping.grid), dict[int, set[str]]()
        for block in self.mapping.block_mappings:
            names = jx.argument_names(block.index_map_jaxpr)
            for n, name in enumerate(names[:count] if len(names) == len(jx.open_jaxpr(block.index_map_jaxpr).invars) else []):
                if name.isidentifier() and not name.startswith("_"):
                    called.setdefault(n, set()).add(name)
        taken = self.names.taken | {Names.spelled(name, "") for name in jx.argument_names(self.body)}
        agreed = {n: next(iter(names)) for n, names in called.items() if len(names) == 1 and n not in self.mapping.vmapped_dims}
        return {n: name for n, name in agreed.items() if name not in taken and not VALUE.fullmatch(name) and list(agreed.values()).count(name) == 1}

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
        if "smem" in (given.get("memory_space"), entry.get("memory_space")):
            raise Unsupported(f"an alias of `{given['name']}` with `{entry['name']}` in SMEM is not supported", self.place, "drop it from input_output_aliases, and write every element of the output")
        far = [e.get("memory_space", "vmem") in ("any", "hbm") for e in (given, entry)]
        unseen = far[0] and entry.get("memory_space", "vmem") == "vmem" and not jx.uses(self.body, self.mapping.num_index_operands + source)
        if far[0] != far[1] and not unseen:
            stays, moves = (given, entry) if far[0] else (entry, given)
            raise Unsupported(f"an alias of `{stays['name']}`, which stays where it is, with the blocks of `{moves['name']}` is not supported", self.place,
                              f"give `{stays['name']}` the BlockSpec of `{moves['name']}`")
        entry["alias"] = given["name"]

    def table(self, ref: Ref) -> dict[str, Any]:
        if len(ref.shape) > 3:
            raise Unsupported(f"the prefetched `{ref.name}` of rank {len(ref.shape)}", self.place, "reshape it to at most three dimensions")
        if ref.dtype not in ("int8", "int16", "int32", "uint8", "uint16", "bool"):
            raise Unsupported(f"the prefetched `{ref.name}` of {ref.dtype}", self.place, "pass it as an input, pl.BlockSpec(memory_space=pltpu.SMEM): what is prefetched steers index maps, by integers")
        return {"name": ref.name, "dtype": ref.dtype, "shape": list(ref.shape)}

    def grid_steps(self, axes: list[str], table_refs: list[Ref]) -> tuple[list[dict[str, Any]], list[Any]]:
        """Steps per axis; a bound that is known only at run time is a table of one entry."""
        tables: list[dict[str, Any]] = []
        steps: list[Any] = []
        bounds = iter(self.eqn.invars)
        for axis, n in zip(axes, self.mapping.grid, strict=True):
            if isinstance(n, (int, np.integer)):
                steps.append(int(n))
                continue
            if hasattr(n, "jaxpr"):  # of a pipeline, by the tables
                [bound] = IndexMap(self.own(axes), self.names.taken, self.place).expressions(n, axes, table_refs)
                if set(re.findall(r"[A-Za-z_]\w*", str(bound))) & set(axes):
                    raise Unsupported(f"steps of the axis `{axis}` that another axis decides", self.place)
                steps.append(bound)
                continue
            shape = next(bounds).aval.shape
            if shape:
                raise Unsupported(f"a number of steps of the axis `{axis}` that is an array of shape {shape}", self.place, "give one element of it: `n[0]`")
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
        if fields.for_triton(self.p):
            return ["parallel"] * len(self.mapping.grid)
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
            if written := jx.written(block.index_map_jaxpr):
                self.index_maps[ref.name] = written
        if block.pipeline_mode is not None:
            entry |= fields.buffers(block.pipeline_mode, self.place)
        return entry

    def unblocked(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An output of a kernel for GPUs: programs write parts of an array that none of them owns as a whole."""
        shared = fields.for_triton(self.p) and "block_shape" not in entry and any(n != 1 for n in self.mapping.grid)
        return entry | {"memory_space": "any"} if shared and not self.p["input_output_aliases"] else entry

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
        remedy = "where blocks start at multiples of its size, give the size as a number: the last block may leave the array" if kind == "BoundedSlice" else ""
        raise Unsupported(f"a dimension of kind {kind} in the block of `{ref.name}`", self.place, remedy)

    def index_map(self, block: Any, axes: list[str], tables: list[Ref], ref: Ref) -> list[Any]:
        return IndexMap(self.own(axes), self.names.taken, self.place, self.counts).expressions(block.index_map_jaxpr, axes, tables)

    def scratch(self, ref: Ref, aval: Any) -> dict[str, Any]:
        kind = jx.scratch_kind(ref.dtype, aval)
        if kind is None:
            raise Unsupported(f"scratch `{ref.name}` in {jx.memory_space(aval)} is not supported", self.place,
                              "make it an output that the caller drops" if jx.memory_space(aval) in ("hbm", "any") else "")
        dtype, space = kind
        typed = {} if dtype == space else {"dtype": dtype}
        placed = {} if space == "vmem" else {"memory_space": space}
        return {"name": ref.name, **typed, "shape": [int(d) for d in ref.shape], **placed}
