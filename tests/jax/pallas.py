"""A spec as the pallas_call that it describes, for comparison with JAX.

Deliberately small and independent of the C program: expressions are evaluated by
Python, the body is rewritten as Python with jax.numpy under the language's names.
"""

import ast
import functools
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.pallas import primitives
from jax._src.pallas.mosaic import tpu_info
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

DTYPES = {name: jnp.dtype(name) for name in (
    "float32", "float64", "bfloat16", "float16", "int8", "int16", "int32", "uint8", "uint16", "uint32", "bool",
    "int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e8m0fnu")}


def is_static(*values):
    return all(isinstance(v, (int, bool)) for v in values)


def cdiv(a, b):
    return -(-a // b)


def least(*values):
    return min(values) if is_static(*values) else functools.reduce(jnp.minimum, values)


def greatest(*values):
    return max(values) if is_static(*values) else functools.reduce(jnp.maximum, values)


def align_up(a, b):
    return cdiv(a, b) * b


def next_power_of_2(a):
    return 1 << max(a - 1, 0).bit_length()


INTEGER = {"cdiv": cdiv, "min": least, "max": greatest, "align_up": align_up, "next_power_of_2": next_power_of_2}


class Lazy(ast.NodeTransformer):
    """`a if c else b` on traced values becomes where; exact for index maps."""

    def visit_IfExp(self, node):
        self.generic_visit(node)
        return ast.Call(ast.Name("choose", ast.Load()), [node.test, node.body, node.orelse], [])


def part(lower, upper, width, *names):
    """lower:upper; of traced bounds, whose distance is the same for all of their values, JAX wants that."""
    if is_static(lower, upper):
        return slice(lower, upper)
    return pl.ds(lower, width(*(n if callable(n) or is_static(n) else 0 for n in names)))


def choose(c, a, b):
    return (a if c else b) if is_static(c) else jnp.where(c, a, b)


@functools.cache
def compiled(text):
    return compile(ast.fix_missing_locations(Lazy().visit(ast.parse(text, mode="eval"))), text, "eval")


def integer(e, names):
    """Value of an integer expression, Python int or traced."""
    if isinstance(e, int):
        return e
    return eval(compiled(e), {**INTEGER, "choose": choose, **names})


class Table:
    """A prefetched table: entries are read as int32."""

    def __init__(self, ref):
        self.ref = ref

    def __getitem__(self, index):
        return self.ref[index].astype(jnp.int32)

    def __setitem__(self, index, value):
        self.ref[index] = value


def entries(table, ref):
    """What the name of a table means: itself, or its only entry."""
    return Table(ref) if table["shape"] else ref[0].astype(jnp.int32)


def dimension(b, sizes):
    """Blocked, squeezed, or Element with its padding."""
    if isinstance(b, dict):
        return pl.Element(integer(b["element"], sizes), tuple(integer(p, sizes) for p in b.get("padding", (0, 0))))
    return None if b is None else integer(b, sizes)


# ---- the body ----

def reduction(f):
    def g(x, axis=None, keepdims=False):
        return f(x, axis=axis, keepdims=keepdims)
    return g


def dot(a, b, contract=None, batch=((), ()), preferred_element_type=None, precision=None):
    contract = contract or ((a.ndim - 1,), (0,))
    wide = preferred_element_type or (jnp.float32 if a.dtype in (jnp.bfloat16, jnp.float16) else a.dtype)
    out = lax.dot_general(a, b, (contract, batch), preferred_element_type=wide, precision=lax.Precision.HIGHEST)
    return out.astype(preferred_element_type or a.dtype)


def gelu(x):
    return jax.nn.gelu(x, approximate=True)


MOVES = {
    "copy": pltpu.sync_copy,
    "copy_start": lambda x, y, sem: pltpu.make_async_copy(x, y, sem).start(),
    "copy_wait": lambda x, y, sem: pltpu.make_async_copy(x, y, sem).wait(),
    "semaphore_signal": lambda sem, n=1: pl.semaphore_signal(sem, n),
    "semaphore_wait": lambda sem, n=1: pl.semaphore_wait(sem, n),
}

FUNCTIONS = {
    **MOVES,
    **{n: getattr(jnp, n) for n in (
        "where maximum minimum abs sign exp exp2 log log1p log2 sqrt tanh sin cos floor ceil round clip square "
        "reshape transpose expand_dims squeeze broadcast_to concatenate stack tile repeat roll flip expm1 tan").split()},
    **{name: getattr(lax, name) for name in "erfc cumsum cumprod cummax cummin slice shift_right_logical".split()},
    "pad": lambda x, value, widths: lax.pad(x, jnp.asarray(value, x.dtype), [(lo, hi, 0) for lo, hi in widths]),
    "bitcast": lax.bitcast_convert_type, "take": lambda x, index, axis=0: jnp.take(x, index, axis=axis),
    "rsqrt": lax.rsqrt, "erf": lax.erf, "logistic": lax.logistic, "pow": lax.pow, "is_finite": jnp.isfinite,
    "silu": jax.nn.silu, "gelu": gelu, "relu": jax.nn.relu,
    "sum": reduction(jnp.sum), "prod": reduction(jnp.prod), "any": reduction(jnp.any), "all": reduction(jnp.all),
    "argmax": reduction(jnp.argmax), "argmin": reduction(jnp.argmin),
    "dot": dot,
    "iota": lambda dtype, shape, dim: lax.broadcasted_iota(dtype, shape, dim),
    "zeros": lambda shape, dtype: jnp.zeros(shape, dtype),
    "full": lambda shape, value, dtype: jnp.full(shape, value, dtype),
    "lax_div": lax.div, "lax_rem": lax.rem,
    "ds": lambda start, size, stride=None: pl.ds(start, size, stride),
    "check": lambda c, text: None,
    "cdiv": cdiv, "multiple_of": pl.multiple_of, "align_up": align_up, "next_power_of_2": next_power_of_2,
}


def extreme(reduce, pair):
    def f(x, *rest, **kwargs):
        if rest and not kwargs:
            return pair(x, rest[0])
        return reduce(x, **kwargs)
    return f


FUNCTIONS["max"] = extreme(jnp.max, greatest)
FUNCTIONS["min"] = extreme(jnp.min, least)


def store(ref, index, value):
    old = ref[index]
    value = value if hasattr(value, "dtype") else jnp.asarray(value, old.dtype)
    ref[index] = jnp.broadcast_to(value, old.shape)


def traced(index):
    """Python integers as arrays: the interpreter of 0.10 wants a shape of each."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(jnp.int32(i) if isinstance(i, int) else i for i in parts)


def masked_load(ref, index, mask, other=None):
    other = other if other is None or hasattr(other, "dtype") else jnp.asarray(other, ref.dtype)
    return primitives.load(ref, traced(index), mask=mask, other=other)


def masked_store(ref, index, value, mask):
    primitives.store(ref, traced(index), value, mask=mask)


def branch(condition, then, orelse, values):
    """`if`: both arms take and return the values that live on."""
    return lax.cond(condition, then, orelse, values)


def loop(bounds, turn, values):
    """`for`: unrolled where the bounds are known, else as JAX loops."""
    lo, hi, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if all(isinstance(b, int) for b in (lo, hi, step)):
        for t in range(lo, hi, step):
            values = turn(jnp.int32(t), values)
        return values
    return lax.fori_loop(lo, hi, turn, values)


def scratch(shape, kind, space=pltpu.VMEM):
    """A buffer, or semaphores, as JAX names it."""
    return kind(shape) if kind in (pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR) else space(shape, kind)


def run_scoped(body, values, *types):
    return pl.run_scoped(functools.partial(body, values), *types)


def function(name, args, statements):
    f = ast.parse(f"def {name}({', '.join(args)}): pass").body[0]
    f.body = statements
    return f


def assigned(statements):
    names = []
    for s in statements:
        for n in ast.walk(s):
            if isinstance(n, (ast.Assign, ast.AugAssign)):
                t = n.targets[0] if isinstance(n, ast.Assign) else n.target
                for one in t.elts if isinstance(t, ast.Tuple) else [t]:
                    if isinstance(one, ast.Name) and one.id not in names:
                        names.append(one.id)
    return names


class Body(ast.NodeTransformer):
    """Statements of the language as Python that JAX can trace."""

    def __init__(self, refs, pipelines=()):
        self.refs, self.known, self.count, self.pipelines, self.steps = refs, [], 0, {p["name"]: p for p in pipelines}, {}

    def block(self, statements):
        out = []
        for s in statements:
            new = self.visit(s)
            out += new if isinstance(new, list) else [new]
        return out

    def visit_Assign(self, node):
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            call = ast.Call(ast.Name("store", ast.Load()), [target.value, target.slice, node.value], [])
            return ast.Expr(call)
        self.known += [t.id for t in target.elts] if isinstance(target, ast.Tuple) else [target.id]
        return node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        return ast.Call(ast.Name("choose", ast.Load()), [node.test, node.body, node.orelse], [])

    def visit_AugAssign(self, node):
        load = ast.Subscript(node.target.value, node.target.slice, ast.Load()) if isinstance(node.target, ast.Subscript) else ast.Name(node.target.id, ast.Load())
        return self.visit(ast.Assign([node.target], ast.BinOp(load, node.op, node.value)))

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        out = node.values[0]
        for v in node.values[1:]:
            out = ast.Call(ast.Attribute(ast.Name("jnp", ast.Load()), name, ast.Load()), [out, v], [])
        return out

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return ast.Call(ast.Attribute(ast.Name("jnp", ast.Load()), "logical_not", ast.Load()), [node.operand], [])
        return node

    def visit_If(self, node):
        test = self.visit(node.test)
        both = [n for n in assigned(node.body) if n in assigned(node.orelse)]
        live = [n for n in assigned(node.body + node.orelse) if n in self.known]
        before = list(live)
        live += [n for n in both if n not in live]
        self.count += 1
        names = []
        functions = []
        for arm, statements in (("then", node.body), ("orelse", node.orelse)):
            known = list(self.known)
            name = f"_{arm}_{self.count}"
            inner = self.block(statements)
            self.known = known
            unpack = [ast.parse(f"({', '.join(before)},) = _values").body[0]] if before else []
            ret = ast.parse(f"({', '.join(live)},)" if live else "()", mode="eval").body
            functions.append(function(name, ["_values"], unpack + inner + [ast.Return(ret)]))
            names.append(ast.Name(name, ast.Load()))
        self.known += both
        values = ast.parse(f"({', '.join(before)},)" if before else "()", mode="eval").body
        call = ast.Call(ast.Name("branch", ast.Load()), [test, *names, values], [])
        target = ast.parse(f"({', '.join(live)},) = 0" if live else "_ = 0").body[0].targets
        return functions + [ast.Assign(target, call)]

    def visit_For(self, node):
        if isinstance(node.iter, ast.Tuple):
            node.iter = self.visit(node.iter)
            node.body = self.block(node.body)
            return node
        live = [n for n in assigned(node.body) if n in self.known]
        self.count += 1
        names = f"({', '.join(live)},)" if live else "()"
        known = list(self.known)
        self.known.append(node.target.id)
        unpack = [ast.parse(f"{names} = _values").body[0]] if live else []
        pack = ast.parse(names, mode="eval").body
        turn = function(f"_turn_{self.count}", [node.target.id, "_values"], unpack + self.block(node.body) + [ast.Return(pack)])
        self.known = known
        bounds = ast.Tuple([self.visit(a) for a in node.iter.args], ast.Load())
        call = ast.Call(ast.Name("loop", ast.Load()), [bounds, ast.Name(turn.name, ast.Load()), pack], [])
        return [turn, ast.Assign(ast.parse(f"{names} = 0" if live else "_ = 0").body[0].targets, call)]

    def visit_While(self, node):
        live = [n for n in assigned(node.body) if n in self.known]
        self.count += 1
        names = ", ".join(live)
        unpack = [ast.parse(f"({names},) = _values").body[0]] if live else []
        pack = ast.parse(f"({names},)" if live else "()", mode="eval").body
        known = list(self.known)
        test = function(f"_test_{self.count}", ["_values"], unpack + [ast.Return(self.visit(node.test))])
        turn = function(f"_turn_{self.count}", ["_values"], unpack + self.block(node.body) + [ast.Return(pack)])
        self.known = known
        call = ast.Call(ast.Name("while_loop", ast.Load()), [ast.Name(test.name, ast.Load()), ast.Name(turn.name, ast.Load()), pack], [])
        return [test, turn, ast.Assign(ast.parse(f"({names},) = 0" if live else "_ = 0").body[0].targets, call)]

    def visit_With(self, node):
        live = [n for s in node.body for n in assigned([s]) if n in self.known or isinstance(s, (ast.Assign, ast.AugAssign, ast.With))]
        before = [n for n in live if n in self.known]
        self.count += 1
        values, result = (ast.parse(f"({', '.join(names)},)" if names else "()", mode="eval").body for names in (before, live))
        unpack = [ast.parse(f"({', '.join(before)},) = _values").body[0]] if before else []
        scope = function(f"_scope_{self.count}", ["_values", *(i.optional_vars.id for i in node.items)], unpack + self.block(node.body) + [ast.Return(result)])
        self.known += live
        call = ast.Call(ast.Name("run_scoped", ast.Load()), [ast.Name(scope.name, ast.Load()), values, *(i.context_expr for i in node.items)], [])
        return [scope, ast.Assign(ast.parse(f"({', '.join(live)},) = 0" if live else "_ = 0").body[0].targets, call)]

    def visit_FunctionDef(self, node):
        known = self.known
        self.known = [a.arg for a in node.args.args]
        node.body = self.block(node.body)
        self.known = known
        return node

    def visit_Expr(self, node):
        pipeline = self.pipelines.get(node.value.func.id) if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) else None
        return self.pipeline(pipeline, node.value.args) if pipeline else self.generic_visit(node)

    def pipeline(self, p, refs):
        """The step, a function of its windows, and pltpu.emit_pipeline over it."""
        axes, windows = [a["axis"] for a in p.get("grid", [])], p.get("inputs", []) + p.get("outputs", [])
        self.count += 1
        known, steps = list(self.known), self.steps
        self.known += axes
        self.steps = {**self.grid, **steps, **{a["axis"]: str(a["steps"]) for a in p.get("grid", [])}}  # pl.num_programs is that of the innermost
        text = p["kernel"] if isinstance(p["kernel"], str) else "\n".join(p["kernel"])
        start = [ast.parse(f"{a} = program_id({i})").body[0] for i, a in enumerate(axes)]
        step = function(f"_step_{self.count}", [w["name"] for w in windows], start + self.block(ast.parse(textwrap.dedent(text)).body))
        self.known, around = known, steps
        maps = ", ".join(f"(lambda {', '.join(axes)}: ({''.join(f'{i}, ' for i in w['index_map'])}))" if "index_map" in w else "None" for w in windows)
        steps = ", ".join(str(a["steps"]) for a in p.get("grid", []))
        given = [ast.Subscript(ast.Attribute(a.value, "at", ast.Load()), a.slice, ast.Load()) if isinstance(a, ast.Subscript) else a for a in refs]
        call = ast.parse(f"run_pipeline({p['name']!r}, {step.name}, [{steps}], [{maps}], [])").body[0]
        call.value = self.visit_Call(call.value)
        self.steps = around
        call.value.args[-1].elts = given
        return [step, call]

    def visit_Slice(self, node):
        self.generic_visit(node)
        if node.lower is None or node.upper is None or node.step is not None:
            return node
        names = sorted({n.id for n in (*ast.walk(node.lower), *ast.walk(node.upper)) if isinstance(n, ast.Name)})
        width = ast.parse(f"lambda {', '.join(names)}: 0", mode="eval").body
        width.body = ast.BinOp(node.upper, ast.Sub(), node.lower)
        return ast.Call(ast.Name("part", ast.Load()), [node.lower, node.upper, width, *(ast.Name(n, ast.Load()) for n in names)], [])

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "num_programs":
            if node.args[0].id in self.steps:
                return self.visit(ast.parse(self.steps[node.args[0].id], mode="eval").body)
            return ast.Call(ast.Name("num_programs", ast.Load()), [ast.Constant(node.args[0].id)], [])
        if isinstance(node.func, ast.Name) and node.func.id in ("load", "store"):  # x[...] is a place here, not a read
            place = node.args.pop(0)
            node.args[:0] = [place.value, place.slice]
            node.func.id = "masked_" + node.func.id
        if isinstance(node.func, ast.Name) and node.func.id in MOVES:  # and here a part of a ref
            node.args = [ast.Subscript(ast.Attribute(a.value, "at", ast.Load()), a.slice, ast.Load()) if isinstance(a, ast.Subscript) else a for a in node.args]
        self.generic_visit(node)
        return node


def run_pipeline(p, sizes, step, steps, maps, refs):
    """The refs are those of its inputs, then those of its outputs."""
    tpu_info.registry.setdefault("cpu", lambda: tpu_info._get_tpu_info_impl(tpu_info.ChipVersion.TPU_V5E, 1))
    blocks = []
    for w, index_map, ref in zip(p.get("inputs", []) + p.get("outputs", []), maps, refs, strict=True):
        block = tuple(dimension(b, sizes) for b in w["block_shape"]) if "block_shape" in w else tuple(ref.shape)
        mode = {"pipeline_mode": pl.Buffered(w.get("buffers", 2), use_lookahead=w.get("lookahead", False))} if "buffers" in w or "lookahead" in w else {}
        mode |= {"memory_space": pltpu.SMEM} if w.get("memory_space") == "smem" else {}
        blocks.append(pl.BlockSpec(block, index_map or (lambda *_, rank=len(block): (0,) * rank), **mode))
    n = len(p.get("inputs", []))
    pltpu.emit_pipeline(step, grid=tuple(steps), in_specs=blocks[:n], out_specs=blocks[n:])(*refs)


def body_function(spec, sizes, dtypes):
    refs = [o["name"] for k in ("inputs", "outputs", "scratch") for o in spec.get(k, [])]
    axes = [a["axis"] for a in spec.get("grid", [])]
    tables = spec.get("scalar_prefetch", [])
    text = spec["kernel"] if isinstance(spec["kernel"], str) else "\n".join(spec["kernel"])
    tree = ast.parse(textwrap.dedent(text))
    constants = {}
    for name, value in spec.get("constants", {}).items():
        constants[name] = eval(value, {}, {**sizes, **constants}) if isinstance(value, str) else value
    rewriter = Body(refs, spec.get("pipelines", []))
    rewriter.grid = {a["axis"]: str(a["steps"]) for a in spec.get("grid", [])}
    statements = rewriter.block(tree.body)
    start = [ast.parse(f"{a} = program_id({i})").body[0] for i, a in enumerate(axes)]
    start += [ast.parse(f"{t['name']} = entries({t['name']!r}, _{t['name']})").body[0] for t in tables]
    parameters = ["_" + t["name"] for t in tables] + refs
    module = ast.fix_missing_locations(ast.Module([function("kernel", parameters, start + statements)], []))
    names = {**FUNCTIONS, "prng_seed": pltpu.prng_seed, "prng_random_bits": pltpu.prng_random_bits, **DTYPES, **dtypes, **sizes, **constants, "jnp": jnp, "store": store, "masked_load": masked_load, "masked_store": masked_store, "branch": branch, "entries": lambda name, ref: entries(next(t for t in tables if t["name"] == name), ref), "while_loop": lax.while_loop, "loop": loop, "choose": choose, "part": part, "scratch": scratch, "run_scoped": run_scoped, "smem": pltpu.SMEM, "vmem": pltpu.VMEM,
             "dma_semaphore": pltpu.SemaphoreType.DMA, "semaphore": pltpu.SemaphoreType.REGULAR, "inf": jnp.inf, "nan": jnp.nan,
             "run_pipeline": lambda name, *how: run_pipeline(next(p for p in spec["pipelines"] if p["name"] == name), sizes, *how),
             "program_id": pl.program_id, "num_programs": lambda axis: pl.num_programs(axes.index(axis))}
    exec(compile(module, spec["name"], "exec"), names)
    return names["kernel"]


# ---- the call ----

def resolve_sizes(spec, given):
    sizes, derived = dict(given), {}
    for name, v in spec.get("sizes", {}).items():
        if isinstance(v, int):
            sizes[name] = v
        elif isinstance(v, str):
            derived[name] = v
        elif name not in sizes:
            sizes[name] = v["in"][-1] if "in" in v else max(v.get("min", 1), 2)
    for _ in derived:
        for name, v in derived.items():
            try:
                sizes[name] = integer(v, sizes)
            except NameError:
                pass
    return sizes


def prepared(spec, sizes, contents):
    """`contents` with the tables that the program of "prepare" computes: it is Python, and runs as that."""
    if "prepare" not in spec:
        return contents
    given = {t["name"]: int(v) if np.ndim(v) == 0 else np.array(v) for t in spec["prepare"].get("inputs", []) for v in [contents[t["name"]]]}
    room = {t["name"]: np.zeros([integer(d, sizes) for d in t["shape"]], np.int64) if t["shape"] else 0 for t in spec["scalar_prefetch"] if t["name"] not in contents}

    def check(holds, text):
        assert holds, text

    space = {**sizes, **given, **{k: np.array(v) for k, v in contents.items() if k not in given}, **room,
             "cdiv": lambda a, b: -(-a // b), "align_up": lambda a, b: -(-a // b) * b, "check": check}
    exec("\n".join(spec["prepare"]["program"]), space)  # noqa: S102  of our own tests
    return {**contents, **{name: np.asarray(space[name]).tolist() for name in room}}


def pallas_call(spec, given_sizes=(), dtypes=(), interpret=True, contents=()):
    """(call, input dtypes and shapes): call(*arrays) returns a list of outputs."""
    sizes = resolve_sizes(spec, dict(given_sizes))
    contents = prepared(spec, sizes, dict(contents))
    dtypes = {k: DTYPES[v] for k, v in dict(dtypes).items()}
    axes = [a["axis"] for a in spec.get("grid", [])]
    numbers = {t["name"]: Table(np.array(dict(contents)[t["name"]])) if t["shape"] else int(dict(contents)[t["name"]])
               for t in spec.get("scalar_prefetch", [])}
    grid = tuple(int(integer(a["steps"], {**sizes, **numbers})) for a in spec.get("grid", []))
    semantics = tuple(a.get("semantics", "arbitrary") for a in spec.get("grid", []))

    def dtype_of(o):
        return dtypes.get(o["dtype"]) or DTYPES[o["dtype"]]

    def shape_of(o):
        return tuple(integer(d, sizes) for d in o["shape"])

    def block_of(o):
        if "block_shape" not in o:
            return pl.BlockSpec(memory_space={"any": pl.ANY, "hbm": pltpu.HBM, "smem": pltpu.SMEM}.get(o.get("memory_space"), pltpu.VMEM))
        block = tuple(dimension(b, sizes) for b in o["block_shape"])
        mode = {}
        if "buffers" in o or "revisit" in o:
            revisit = {"revisit": pl.RevisitMode(o["revisit"])} if "revisit" in o else {}
            mode = {"pipeline_mode": pl.Buffered(o.get("buffers", 2), **revisit)}
        return pl.BlockSpec(block, lambda *ids: tuple(integer(e, names_at(ids)) for e in o["index_map"]), **mode)

    def names_at(ids):
        refs = {t["name"]: entries(t, r) for t, r in zip(tables, ids[len(axes):])}
        return {**sizes, **dict(zip(axes, ids)), **refs}

    def scratch_of(o):
        space = {"dma_semaphore": pltpu.SemaphoreType.DMA, "semaphore": pltpu.SemaphoreType.REGULAR}.get(o.get("memory_space"))
        return space(shape_of(o)) if space else pltpu.VMEM(shape_of(o), dtype_of(o))

    inputs, outputs, scratch = spec.get("inputs", []), spec["outputs"], spec.get("scratch", [])
    names = [o["name"] for o in inputs]
    tables = spec.get("scalar_prefetch", [])
    params = {"compiler_params": pltpu.CompilerParams(dimension_semantics=semantics)} if grid and interpret is not True else {}
    call = pl.pallas_call(
        body_function(spec, sizes, dtypes),
        out_shape=[jax.ShapeDtypeStruct(shape_of(o), dtype_of(o)) for o in outputs],
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=len(tables),
            grid=grid,
            in_specs=[block_of(o) for o in inputs],
            out_specs=[block_of(o) for o in outputs],
            scratch_shapes=[scratch_of(o) for o in scratch],
        ),
        input_output_aliases={len(tables) + names.index(o["alias"]): i for i, o in enumerate(outputs) if "alias" in o},
        interpret=interpret,
        **params,
    )
    filled = [array(contents[t["name"]], dtype_of(t), shape_of(t) or (1,)) for t in tables]
    return functools.partial(call, *filled), [(dtype_of(o), shape_of(o)) for o in inputs]


def array(values, dtype, shape):
    """Nested lists with "nan", "inf", "-inf" as an array."""
    flat = np.array(values, dtype=object).reshape(-1)
    return jnp.asarray(np.array([float(v) if isinstance(v, str) else v for v in flat]).astype(dtype).reshape(shape))
