"""What the program says of a kernel, in the words of Python. In its texts code of the spec stands in backquotes; each piece is parsed, and its tree said
again: values by the variables that have them, primitives by their functions in JAX, members of the spec by arguments of the call."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import re
import struct
from typing import Any, Iterator, Mapping

from . import places
from .vocabulary import DTYPES, PRIMITIVES

CODE = re.compile(r"`([^`\n]*)`")
LINE = re.compile(r"\bline (\d+)(?= started| of the kernel)")
FOLLOWS = re.compile(r" in line \d+(?= removes this, too)")  # of the spec, which nobody wrote
VALUE = re.compile(r"[vc]\d+")  # what the importer calls values, and those that loops carry
OTHERWISE = {"bitcast": "jax.lax.bitcast_convert_type", "cummax": "jax.lax.cummax", "cummin": "jax.lax.cummin", "erf": "jax.lax.erf", "erfc": "jax.lax.erfc",
             "gelu": "jax.nn.gelu", "iota": "jax.lax.broadcasted_iota", "is_finite": "jnp.isfinite", "lax_div": "jax.lax.div", "lax_rem": "jax.lax.rem",
             "logistic": "jax.nn.sigmoid", "multiple_of": "pl.multiple_of", "neg": "jnp.negative", "relu": "jax.nn.relu", "rsqrt": "jax.lax.rsqrt",
             "shift_right_logical": "jax.lax.shift_right_logical", "silu": "jax.nn.silu", "slice": "jax.lax.slice"}  # what is no function of jnp by the same name
FUNCTIONS = {name: OTHERWISE.get(name, f"jnp.{name}") for name, (kind, _) in PRIMITIVES.items()
             if name.isidentifier() and kind not in ("memory", "control") and name not in ("astype", "program_id", "num_programs")} | {"cdiv": "pl.cdiv", "full": "jnp.full"}
NAMES = {"inf": "jnp.inf", "nan": "jnp.nan"} | {name: f"jnp.{name}" for name in DTYPES.values() if name != "bool"}
SEMANTICS = ("parallel", "arbitrary", "core_parallel")


def told(spec: dict[str, Any], said: str, body: bool = False, names: bool = False) -> str:
    """The text in the words of Python; whole statements of the kernel by their lines. A value without a name is told by its line, at the end.

    `body`: the code is of the kernel function, where an axis is told by pl.program_id; `names`: also where it stands alone, which mostly is its name.
    """
    said = LINE.sub(lambda m: places.of_pointer(spec, f"/kernel/{int(m[1]) - 1}") or m[0], FOLLOWS.sub("", said))
    pieces = CODE.split(said)
    speaker = _Speaker(spec, body, names)
    pieces[1::2] = [speaker.piece(code, pieces[1]) for code in pieces[1::2]]
    return "".join(pieces) + "".join(f"; `{v}` is made at {places.shown(at)}" for v, at in speaker.nameless.items())


class _Speaker:
    """Says pieces of code of one spec; `nameless`: values in them that no variable has, and where they are made."""

    def __init__(self, spec: dict[str, Any], body: bool, names: bool):
        self.spec, self.body, self.names = spec, body, names
        self.axes = {axis["axis"]: n for n, axis in enumerate(spec.get("grid", []))}
        self.nameless = dict[str, str]()

    @functools.cached_property
    def lines(self) -> dict[str, str]:
        """Statements of the kernel, and the pointer to the first of each."""
        return {line.strip(): f"{b.pointer}/{n}" for b in reversed(places.bodies(self.spec)) for n, line in reversed([*enumerate(b.lines)])}

    @functools.cached_property
    def values(self) -> dict[str, tuple[str, str]]:
        """What values are called, and where they are made."""
        return _values(self.spec, _variables(self.spec))

    @functools.cached_property
    def variables(self) -> dict[str, str]:
        """Variables by the trees of what they hold."""
        return {ast.dump(tree): name for text, name in _variables(self.spec).items() if isinstance(tree := _parsed(text), ast.expr)}

    def piece(self, code: str, first: str) -> str:
        """The piece with its quotes; `first` of the text is what a member is of."""
        if (at := self.lines.get(code.strip())) and (line := places.shown(places.of_pointer(self.spec, at))):
            return line
        tree = _parsed(code)
        if self.variables and tree and (named := _Named(self.variables, tree)).visit(tree) and ast.dump(tree) != named.whole:
            code = ast.unparse(tree)
            tree = _parsed(code)
        text = _Text(self, code)
        match tree:
            case ast.Dict():
                return f"`{self._member(tree, first) or code}`"
            case ast.Constant(value) if value in SEMANTICS:
                return f"`{code}` in dimension_semantics"
            case ast.If(test, [ast.Pass()], []):
                return f"`@pl.when({text.of(test)})`"
            case ast.If(test, [statement], []):
                return f"`{text.of(statement)}` under `@pl.when({text.of(test)})`"
            case ast.Name(name) if name in self.axes and not self.names:
                return f"`{code}`"
        return f"`{text.of(tree, alone=True)}`" if tree else f"`{code}`"

    def axis(self, name: str) -> str:
        """What a grid axis is in the function that the code is of."""
        return f"pl.program_id({self.axes[name]})" if self.body else name

    def value(self, name: str) -> str:
        """What Python calls a value; one without a name is noted."""
        called, made_at = self.values.get(name, (name, ""))
        if called == name and made_at:
            self.nameless[name] = made_at
        return called

    def _member(self, tree: ast.Dict, of: str) -> str | None:
        """A member of the spec as an argument in Python; None: there is none."""
        key = tree.keys[0].value if len(tree.keys) == 1 and isinstance(tree.keys[0], ast.Constant) else None
        if key == "element":
            return f"pl.Element({ast.unparse(tree.values[0])})"
        with contextlib.suppress(ValueError):  # it is none, or names nothing of the spec
            value = ast.literal_eval(tree.values[0])
            if key == "alias":
                return f"input_output_aliases={{{self._operands().index(value)}: {_names(self.spec, 'outputs').index(of)}}}"
            if key == "values":
                return f'values={{"{of}": ({value["min"]}, {value["max"] if str(value["max"]).isdecimal() else repr(value["max"])})}}'
            return {"buffers": f"pipeline_mode=pl.Buffered({value})", "memory_space": "memory_space=pl.ANY", "vmem_limit_bytes": f"vmem_limit_bytes={value}"}.get(str(key))
        return None

    def _operands(self) -> list[str]:
        """The operands of the call."""
        return self.spec.get("x-python", {}).get("operands") or [*_names(self.spec, "scalar_prefetch"), *_names(self.spec, "inputs")]


class _Named(ast.NodeTransformer):
    """Puts names of variables in the place of what they hold, but for the whole."""

    def __init__(self, variables: dict[str, str], whole: ast.AST):
        self.variables, self.whole = variables, ast.dump(whole)

    def visit(self, node: ast.AST) -> ast.AST:
        text = ast.dump(node)
        name = self.variables.get(text) if text != self.whole else None
        return ast.Name(name, ast.Load()) if name else self.generic_visit(node)


@dataclasses.dataclass
class _Text:
    """Says trees of one piece of code, a line; what stays as it is keeps its spelling."""

    speaker: _Speaker
    code: str

    def of(self, node: ast.AST, alone: bool = False) -> str:
        """The node; `alone`: it is the whole piece."""
        own = self._otherwise(node, alone)
        return self._spelled(node) if own is None else own

    def _otherwise(self, node: ast.AST, alone: bool) -> str | None:
        """What is not said by its parts alone."""
        match node:
            case ast.Name(name) if VALUE.fullmatch(name):
                return self.speaker.value(name)
            case ast.Name(name) if name in self.speaker.axes:
                return self.speaker.axis(name)
            case ast.Name(name) if not alone:
                return NAMES.get(name)
            case ast.Call(ast.Name("num_programs"), [ast.Name(axis)]) if axis in self.speaker.axes:
                return f"pl.num_programs({self.speaker.axes[axis]})"
            case ast.Call(ast.Name("slice"), [of, ast.Tuple(first), ast.Tuple(end)]) if len(first) == len(end):
                return f"{self.of(of)}[{', '.join(f'{self.of(a)}:{self.of(b)}' for a, b in zip(first, end, strict=True))}]"
            case ast.Call(ast.Name(("max" | "min") as name) as called, [_, _], []):  # of two scalars
                return self._spelled(node, {called: f"jnp.{name}imum"})
            case ast.Call(ast.Name(name) as called, args, keywords) if name in FUNCTIONS and (args or keywords):
                return self._spelled(node, {called: FUNCTIONS[name]})
            case ast.Constant(float(number)):
                return min(self._spelled(node), _short(number), key=len)
            case ast.Constant(str(text)) if alone:
                return self._quoted(text)
            case ast.Tuple(items) | ast.List(items) if alone and any(isinstance(i, ast.Constant) and isinstance(i.value, str) for i in items):
                return ", ".join(self.of(i, alone=isinstance(i, ast.Constant)) for i in items)
        return None

    def _quoted(self, text: str) -> str:
        """An index of an index map, as the spec quotes it."""
        tree = _parsed(text)
        return _Text(self.speaker, text).of(tree) if tree else text

    def _spelled(self, node: ast.AST, said: Mapping[ast.AST, str] = {}) -> str:
        """The node as it is spelled, with its parts as they are said."""
        (start, end), out = self._span(node), ""
        for part in sorted(_parts(node), key=self._span):
            first, last = self._span(part)
            out, start = out + self.code[start:first] + (said.get(part) or self.of(part)), last
        return out + self.code[start:end]

    def _span(self, node: Any) -> tuple[int, int]:
        """Where the node stands, in characters."""
        line = self.code.encode()
        return len(line[:node.col_offset].decode()), len(line[:node.end_col_offset].decode())


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes directly below that have a place."""
    for child in ast.iter_child_nodes(node):
        yield from [child] if hasattr(child, "col_offset") else _parts(child)


def _parsed(code: str) -> ast.AST | None:
    """The statement or expression, the head of a statement, or the members of an object of the spec; None: something else."""
    for text in (code, f"{code} pass", f"{{{code}}}"):
        with contextlib.suppress(SyntaxError, ValueError):
            made = ast.parse(text).body
            tree = made[0].value if len(made) == 1 and isinstance(made[0], ast.Expr) else made[0] if len(made) == 1 else None
            if not text.startswith("{") or isinstance(tree, ast.Dict):
                return tree
    return None


def _variables(spec: dict[str, Any]) -> dict[str, str]:
    """Values of the body, and texts of those that stand where they are used, by which variable of Python has them: one that a single statement assigns."""
    made = dict[tuple[str, int, str], str]()
    for line, value in spec.get("x-python", {}).get("results", {}).items():
        if target := places.assigned(line):
            made[target] = value
    names, axes = [name for *_, name in made], {a["axis"] for a in spec.get("grid", [])}
    return {value: name for (*_, name), value in made.items() if names.count(name) == 1 and name not in axes}


def _values(spec: dict[str, Any], variables: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Of each value of the body, what it is called, and its line in Python: the variable that has it; else what is read, where it is just read; else
    its own name."""
    made = dict[str, tuple[str, str]]()
    for body in places.bodies(spec):
        for line, at in zip(body.lines, body.places, strict=False):
            v, _, text = line.strip().partition(" = ")
            if at and VALUE.fullmatch(v):
                made[v] = variables.get(v) or (text if _reads(_parsed(text)) else v), at
    return made


def _reads(tree: ast.AST | None) -> bool:
    """Is it a read of a ref, at no place that a value says?"""
    return isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Name) and not any(isinstance(n, ast.Name) and VALUE.fullmatch(n.id) for n in ast.walk(tree))


def _names(spec: dict[str, Any], member: str) -> list[str]:
    return [o["name"] for o in spec.get(member, [])]


def _short(number: float) -> str:
    """A number of float32 in its fewest digits, where it is one."""
    def narrow(text: str) -> float:
        return struct.unpack("f", struct.pack("f", float(text)))[0]

    with contextlib.suppress(OverflowError):
        if narrow(repr(number)) == number:
            return next((repr(float(t)) for digits in range(1, 10) if narrow(t := f"{number:.{digits}g}") == number), repr(number))
    return repr(number)
