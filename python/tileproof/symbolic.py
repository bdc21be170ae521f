"""From several traces of one function to one spec with symbolic sizes.

The specs of a few calls have one form, with other numbers in it. Every number
that changes becomes a formula of the sizes that fits all of them; calls that
were not used for fitting must come out the same. That is an inference, not a
proof, and the spec says so ("x-python": {"inferred": …}).
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from typing import Any, Callable, Iterator

import numpy as np

from . import domain
from .errors import TileproofError, Unsupported

NUMBER = re.compile(r"(?<![\w.])(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d+)(?![\w.])")
Sizes = dict[str, int]


@dataclasses.dataclass(frozen=True)
class Formula:
    text: str
    value: Callable[[Sizes], Any]
    atom: bool = True

    def inside(self) -> str:
        return self.text if self.atom else f"({self.text})"


@dataclasses.dataclass
class Form:
    """A spec as text without its numbers, and the numbers."""

    skeleton: str
    numbers: list[Any]  # int or float

    @staticmethod
    def of(spec: dict[str, Any]) -> Form:
        numbers: list[Any] = []

        def slot(value: Any, inside: bool) -> str:
            numbers.append(value)
            return "\\0" if inside else "\0"

        def strip(v: Any, key: str = "") -> Any:
            if isinstance(v, dict):
                return {k: strip(v[k], k) for k in v}
            if isinstance(v, list):
                return [strip(x, key) for x in v]
            if isinstance(v, int) and not isinstance(v, bool) and key != "tileproof":
                return slot(v, False)
            if isinstance(v, str) and key in ("index_map", "kernel", "reference", "steps", "block_shape", "shape"):
                return NUMBER.sub(lambda m: slot(float(m[0]) if set(m[0]) & set(".e") else int(m[0]), True), v)
            return v

        return Form(json.dumps(strip({k: v for k, v in spec.items() if k not in ("name", "x-python")})), numbers)


def generalise(fn: Any, arguments: Callable[..., tuple[Any, ...]], reference: Any = None, **sizes: int) -> list[dict[str, Any]]:
    """Specs with symbolic sizes of the pallas_calls that fn reaches.

    `arguments(**sizes)` gives the arguments of one call (shapes suffice);
    `sizes` are those of a typical one, e.g. M=512, K=256. fn is traced some
    hundred times per size. Prefetched tables stay open. The domain of a size
    ends at the largest that was looked at (domain.py).

    Raises Unsupported where the form of a kernel changes with a size, or a
    number in it is no simple function of the sizes.
    """
    from . import importer

    return importer.all_of(fn, *read(fn, arguments, reference, **sizes))


def read(fn: Any, arguments: Callable[..., tuple[Any, ...]], reference: Any = None, **sizes: int) -> tuple[list[dict[str, Any]], list[Unsupported]]:
    """generalise() that keeps what can be imported beside what cannot."""
    import jax

    from . import importer

    typical = jax.tree_util.tree_leaves(arguments(**sizes))
    shapes = all(isinstance(a, jax.ShapeDtypeStruct) for a in typical)
    made = any(isinstance(a, np.ndarray) for a in typical)  # NumPy makes them for every sample: none is much larger

    def specs_at(at: Sizes) -> list[dict[str, Any]]:
        given = arguments(**at) if shapes else jax.eval_shape(lambda: arguments(**at))
        specs, refused[:] = importer.read(fn, *given, tables=False, reference=reference)
        return specs

    refused: list[Unsupported] = []
    tops = {n: 4 * b if made else max(domain.TOP, 4 * b) for n, b in sizes.items()}
    inference = _Inference(specs_at, sizes, domain.numbers_in(fn), tops)
    at_base = list(refused)
    return inference.specs() if inference.models else importer.all_of(fn, [], at_base), at_base


class _Inference:
    def __init__(self, specs_at: Callable[[Sizes], list[dict[str, Any]]], base: Sizes, numbers: set[int], tops: Sizes):
        self.specs_at, self.base, self.numbers, self.tops = specs_at, base, numbers, tops
        self.seen: dict[tuple[int, ...], list[Form] | None] = {}
        self.why = ""  # the last sizes did not do
        self.models = specs_at(base)
        self.forms = [Form.of(s) for s in self.models]
        self.seen[tuple(base.values())] = self.forms

    def forms_at(self, at: Sizes) -> list[Form] | None:
        """The forms at these sizes; None where fn refuses or the form is another."""
        key = tuple(at.values())
        if key not in self.seen:
            try:
                found = [Form.of(s) for s in self.specs_at(at)]
                same = [f.skeleton for f in found] == [f.skeleton for f in self.forms]
                self.seen[key] = found if same else None
                self.why = f"at {_text(at)} the kernel has another form" if not same else ""
            except Unsupported:
                raise
            except Exception as e:  # noqa: BLE001  fn refuses these sizes in its own way
                self.seen[key] = None
                self.why = f"{_text(at)} is refused: {type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"
        return self.seen[key]

    def step(self, name: str) -> int:
        """The least step in which the size may grow."""
        base = self.base[name]
        for d in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, base):
            if d <= base and base % d == 0 and all(self.forms_at({**self.base, name: v}) for v in (base + d, base + 3 * d, 2 * base + d)):
                return d
        raise Unsupported(f"a kernel that is another one when {name} changes ({self.why}); leave {name} a number", None)

    def specs(self) -> list[dict[str, Any]]:
        steps = {name: self.step(name) for name in self.base}
        samples = [self.base]
        for name, d in steps.items():
            b = self.base[name]
            samples += [{**self.base, name: v} for v in (b + d, b + 3 * d, 2 * b + d, 3 * b)]
        for k in (1, 2):
            samples.append({n: b * (k + 1) + steps[n] * (2 * i + k) for i, (n, b) in enumerate(self.base.items())})
        samples = [s for s in samples if self.forms_at(s)]
        formulas = [self.fit(which, samples) for which in range(len(self.forms))]
        written = self.numbers | {abs(n) for f in self.forms for n in f.numbers if isinstance(n, int) and abs(n) > 1}
        least, most = domain.infer(lambda at: self.matches(at, formulas), dict(self.base), steps, written, self.tops)
        fresh = domain.mixed(least, most, steps)
        for at in fresh:
            self.agree(at, formulas)
        return [self.instance(which, formulas[which], steps, (least, most), samples, fresh) for which in range(len(self.forms))]

    def matches(self, at: Sizes, formulas: list[list[Formula]]) -> bool:
        found = self.forms_at(at)
        return bool(found) and all(_same(f.value(at), n) for form, fs in zip(found or [], formulas, strict=True) for f, n in zip(fs, form.numbers, strict=True))

    def agree(self, at: Sizes, formulas: list[list[Formula]]) -> None:
        if not self.matches(at, formulas):
            raise Unsupported(f"a call at {_text(at)} that is not what other calls let expect; leave a size a number", None)

    def fit(self, which: int, samples: list[Sizes]) -> list[Formula]:
        columns = [[(self.forms_at(s) or [])[which].numbers[slot] for s in samples] for slot in range(len(self.forms[which].numbers))]
        constants = sorted({2, 3, 4, 8} | {int(c[0]) for c in columns if isinstance(c[0], int) and c[0] > 1 and len(set(c)) == 1})
        out: list[Formula] = []
        for column in columns:
            if len(set(column)) == 1:
                out.append(_constant(column[0]))
                continue
            fitted = next((f for f in self.candidates(column, samples, constants) if all(_same(f.value(s), y) for s, y in zip(samples, column, strict=True))), None)
            if fitted is None:
                raise Unsupported(f"a number ({', '.join(map(str, column[:5]))}, …) that is no simple function of {', '.join(self.base)}", None)
            out.append(fitted)
        return out

    def candidates(self, column: list[Any], samples: list[Sizes], constants: list[int]) -> Iterator[Formula]:
        depends = [n for n in self.base if any(y != column[0] and all(s[m] == self.base[m] for m in s if m != n) for s, y in zip(samples, column, strict=True))]
        terms = {n: list(_terms(n, constants)) for n in depends or self.base}
        if any(isinstance(y, float) for y in column):
            for term in itertools.chain(*terms.values()):
                yield from _reals(term)
            return
        if len(depends) == 1:
            for term in terms[depends[0]]:
                yield from _linear(term, column, samples)
            return
        for parts in itertools.product(*terms.values()):
            yield from _linear(_product(parts), column, samples)
        for parts in itertools.product(*terms.values()):
            yield from _linear(_sum(parts), column, samples)

    def instance(self, which: int, formulas: list[Formula], steps: Sizes, ends: tuple[Sizes, Sizes], samples: list[Sizes],
                 fresh: list[Sizes]) -> dict[str, Any]:
        form, slots = self.forms[which], iter(formulas)
        numbers = iter(form.numbers)

        def fill(v: Any) -> Any:
            if isinstance(v, dict):
                return {k: fill(v[k]) for k in v}
            if isinstance(v, list):
                return [fill(x) for x in v]
            if v == "\0":
                f, n = next(slots), next(numbers)
                return f.text or n
            if isinstance(v, str):
                return re.sub(r"\\0", lambda _: (lambda f, n: f.inside() if f.text else _number(n))(next(slots), next(numbers)), v)
            return v

        spec: dict[str, Any] = fill(json.loads(form.skeleton))
        least, most = ends
        sizes = {n: {"min": least[n], "max": most[n], **({"multiple_of": d} if d > 1 else {})} for n, d in steps.items()}
        model = self.models[which]  # its name may hold sizes: any will do
        python = {**model.get("x-python", {}), "inferred": {"sizes": list(self.base), "from": samples, "checked": fresh, "calls": len(self.seen)}}
        return {"tileproof": spec.pop("tileproof"), "name": model["name"], "x-python": python, "sizes": sizes, **spec}


def _constant(value: Any) -> Formula:
    """A number that stays as it is."""
    return Formula("", lambda _: value)


def _number(n: Any) -> str:
    from .body.values import number

    return str(n) if isinstance(n, int) else number(n, "float64").text


def _same(a: Any, b: Any) -> bool:
    if isinstance(b, float):
        return bool(np.isclose(np.float32(a), np.float32(b), rtol=3e-7, atol=0))
    return isinstance(a, int) and a == b


def _text(at: Sizes) -> str:
    return ", ".join(f"{n} = {v}" for n, v in at.items())


def _terms(n: str, constants: list[int]) -> Iterator[Formula]:
    def size(s: Sizes) -> int:
        return s[n]

    def cdiv(c: int) -> Callable[[Sizes], int]:
        return lambda s: -(-s[n] // c)

    def floor(c: int) -> Callable[[Sizes], int]:
        return lambda s: s[n] // c

    def rest(c: int) -> Callable[[Sizes], int]:
        return lambda s: s[n] % c

    yield Formula(n, size)
    for c in reversed(constants):
        yield Formula(f"cdiv({n}, {c})", cdiv(c))
        yield Formula(f"{n} // {c}", floor(c), atom=False)
    for c in reversed(constants):
        yield Formula(f"{n} % {c}", rest(c), atom=False)


def _product(parts: tuple[Formula, ...]) -> Formula:
    return Formula(" * ".join(p.inside() for p in parts), lambda s: math.prod(p.value(s) for p in parts), atom=len(parts) == 1 and parts[0].atom)


def _sum(parts: tuple[Formula, ...]) -> Formula:
    return Formula(" + ".join(p.inside() for p in parts), lambda s: sum(p.value(s) for p in parts), atom=len(parts) == 1 and parts[0].atom)


def _linear(term: Formula, column: list[Any], samples: list[Sizes]) -> Iterator[Formula]:
    """a * term + b through two of the samples."""
    x = [term.value(s) for s in samples]
    other = next((i for i, v in enumerate(x) if v != x[0]), None)
    if other is None or (column[other] - column[0]) % (x[other] - x[0]):
        return
    a = (column[other] - column[0]) // (x[other] - x[0])
    b = column[0] - a * x[0]
    if a == 0:
        return
    text = term.text if a == 1 else f"{a} * {term.inside()}"
    text += f" + {b}" if b > 0 else f" - {-b}" if b < 0 else ""
    yield Formula(text, lambda s: a * int(term.value(s)) + b, atom=term.atom and a == 1 and b == 0)


REALS: dict[str, Callable[[int], float]] = {
    "{}": float,  # adopts the dtype of its partner
    "1 / {}": lambda v: 1 / v if v else math.inf,
    "rsqrt({})": lambda v: v ** -0.5 if v > 0 else math.inf,
    "sqrt({})": lambda v: max(v, 0) ** 0.5,
}


def _reals(term: Formula) -> Iterator[Formula]:
    def of(f: Callable[[int], float], b: int) -> Callable[[Sizes], float]:
        return lambda s: f(term.value(s) + b)

    for b in (0, -1, 1):
        text = term.text if not b else f"{term.inside()} {'-' if b < 0 else '+'} 1"
        atom = term.atom and not b
        for form, f in REALS.items():
            yield Formula(form.format(f"({text})" if form.startswith("1") and not atom else text), of(f, b), atom=atom if form == "{}" else "(" in form)


def told(spec: dict[str, Any]) -> str:
    """One sentence about the domain that was inferred."""
    ranges = ", ".join(f"{s['min']} <= {n} <= {s['max']}" for n, s in spec["sizes"].items())
    return (f"{spec['name']}: sizes inferred from {spec['x-python']['inferred']['calls']} calls: {ranges}; "
            "others were not looked at, and what is proven says nothing of them")


def parse(text: str) -> Sizes:
    """M=512,K=256 as sizes."""
    out: Sizes = {}
    for part in text.split(","):
        m = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*(?:=\s*(\d+))?\s*", part)
        if not m or m[1] in out:
            raise TileproofError(f"--sym is a list of names, each with the size of a typical call, such as M=512,K=256; not `{text}`")
        out[m[1]] = int(m[2] or 512)
    return out
