"""From several traces of one function to one spec with symbolic sizes.

The specs of a few calls have one form, with other numbers in it. Every number
that changes becomes a formula of the sizes that fits all of them; calls that
were not used for fitting must come out the same, or are added, and the fit is
made again. That is an inference, not a
proof, and the spec says so ("x-python": {"inferred": …}).
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from typing import Any, Callable, Iterator

from . import domain
from .errors import TileproofError, Unsupported
from .jaxpr import np

NUMBER = re.compile(r"(?<![\w.])(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d+)(?![\w.])")
MOST_CALLS = 240  # of a function, where sizes move one at a time, shared by its sizes; and before pieces beside a domain are left
ROUNDS = 16  # of a fit that is repeated with a sample more
MOST_PIECES = 5  # domains beside each other
FEWEST = 4  # steps of a size, between sizes at which its numbers are others
MOST_CONSTANTS = 24
MOST_LEFT_OUT = 32
SOME = 4  # of them that a sentence names
Sizes = dict[str, int]


@dataclasses.dataclass(frozen=True)
class Formula:
    """A number of a spec as an expression over sizes: its text, and its value at given sizes."""

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


def generalise(fn: Any, arguments: Callable[..., tuple[Any, ...]], reference: Any = None, *, tables: bool | str = False, **sizes: int) -> list[dict[str, Any]]:
    """Specs with symbolic sizes of the pallas_calls that fn reaches.

    `arguments(**sizes)` gives the arguments of one call (shapes suffice);
    `sizes` are those of a typical one, e.g. M=512, K=256. fn is traced some
    300 times, with one size as with three (MOST_CALLS). Prefetched tables stay open; with tables="inferred"
    for those that satisfy contracts made of the tables of the typical call. The domain of a size
    ends at the largest that was looked at (domain.py), and before the kernel
    becomes another one: then there are specs for the domains beside it, too.

    Raises Unsupported where the form of a kernel changes with a size, or a
    number in it is no simple function of the sizes.
    """
    from . import importer

    return importer.all_of(fn, *read(fn, arguments, reference, tables=tables, **sizes))


def read(fn: Any, arguments: Callable[..., tuple[Any, ...]], reference: Any = None, *, tables: bool | str = False, said: Callable[[str], None] | None = None,
         **sizes: int) -> tuple[list[dict[str, Any]], list[Unsupported]]:
    """generalise() that keeps what can be imported beside what cannot. `said` is told of each call."""
    import jax

    from . import importer

    typical = jax.tree_util.tree_leaves(arguments(**sizes))
    shapes = all(isinstance(a, jax.ShapeDtypeStruct) for a in typical)
    made = any(isinstance(a, np.ndarray) for a in typical)  # NumPy makes them for every sample: none is much larger

    def specs_at(at: Sizes) -> list[dict[str, Any]]:
        calls.append(at)
        if said is not None:
            said(f"call {len(calls)}, at {_text(at)}")
        given = arguments(**at) if shapes else jax.eval_shape(lambda: arguments(**at))
        specs, refused[:] = importer.read(fn, *given, tables=None, reference=reference, reserved=list(sizes))
        return specs

    refused: list[Unsupported] = []
    calls: list[Sizes] = []
    tops = {n: 4 * b if made else max(domain.TOP, 4 * b) for n, b in sizes.items()}
    numbers = domain.numbers_in(fn)
    inference = _Inference(specs_at, sizes, numbers, tops)
    at_base = list(refused)
    if not inference.models:
        return importer.all_of(fn, [], at_base), at_base
    made_of = [inference]

    def infer(base: Sizes) -> _Inference:
        made_of.append(_Inference(specs_at, base, numbers, tops))
        return made_of[-1]

    found = _pieces(infer, inference, tops, lambda: len(calls) < MOST_CALLS)
    out = _left_out(made_of, [s["sizes"] for s in found])
    if out:
        found[0]["x-python"]["inferred"]["left_out"] = out
    _see_tables(found, fn, arguments, sizes, tables == "inferred")
    return found, at_base


def _left_out(inferences: list[_Inference], boxes: list[dict[str, Any]]) -> list[Sizes]:
    """Sizes that were looked at, with a kernel that is that of no domain; the smallest first."""
    refused = set().union(*(i.refused for i in inferences))
    seen = {key for i in inferences for key in i.seen} - refused
    names = list(inferences[0].base)
    out = [at for at in (dict(zip(names, key, strict=True)) for key in sorted(seen, key=math.prod)) if not any(_inside(at, box) for box in boxes)]
    return out[:MOST_LEFT_OUT]


def _inside(at: Sizes, box: dict[str, Any]) -> bool:
    return all(box[n]["min"] <= v <= box[n]["max"] and v % box[n].get("multiple_of", 1) == 0 for n, v in at.items())


def _see_tables(specs: list[dict[str, Any]], fn: Any, arguments: Any, sizes: Sizes, include: bool) -> None:
    """Into the specs whose domain has the typical sizes: which tables are open, and what they held there."""
    from . import contracts, importer
    from . import jaxpr as jx

    here = [s for s in specs if all(b["min"] <= sizes[n] <= b["max"] for n, b in s["sizes"].items())]
    if not any("scalar_prefetch" in s for s in here):
        return
    args = arguments(**sizes)
    closed = jx.trace(fn, args)
    sites = list(jx.sites(closed))
    held = importer.seen(closed, args, sites)
    for spec, site in zip(here, sites, strict=False):
        contracts.see(spec, held.get(site.path) if len(here) == len(sites) else None, include, sizes)


def _pieces(infer: Callable[[Sizes], _Inference], first: _Inference, tops: Sizes, more_calls: Callable[[], bool]) -> list[dict[str, Any]]:
    """The specs around the typical sizes, then those of the pieces beside them:
    where one size alone leads out of a domain, and the kernel is another one. No piece is begun after MOST_CALLS."""
    found = first.specs()
    boxes = [found[0]["sizes"]]
    todo = _beside(first.base, boxes[0], tops)
    while todo and len(boxes) < MOST_PIECES and more_calls():
        base = todo.pop(0)
        if any(_inside(base, box) for box in boxes):
            continue
        try:
            inference = infer(base)
            more = inference.specs() if inference.models else []
        except Exception:  # noqa: BLE001  no kernel there, or none that can be followed
            continue
        if more:
            found += more
            boxes.append(more[0]["sizes"])
            todo += _beside(base, boxes[-1], tops)
    if len(boxes) < MOST_PIECES and any(not any(_inside(at, box) for box in boxes) for at in todo):
        found[0]["x-python"]["inferred"]["bounded"] = True
    return found


def _beside(base: Sizes, box: dict[str, Any], tops: Sizes) -> list[Sizes]:
    """Sizes just outside of a domain, one moved at a time, powers of two where one is near."""
    out = []
    for n, s in box.items():
        d, power = s.get("multiple_of", 1), 1 << s["max"].bit_length()
        up = power if s["max"] < power <= tops[n] and power % d == 0 else s["max"] + d
        if s["max"] + d <= tops[n]:
            out.append({**base, n: up})
        if s["min"] > d:
            out.append({**base, n: max(d, (1 << ((s["min"] - 1) // 3).bit_length() >> 1) // d * d)})  # its triple is still outside
    return out


@dataclasses.dataclass
class _Fit:
    """Formulas, and how far they hold."""

    samples: list[Sizes]
    formulas: list[list[Formula]]
    least: Sizes
    most: Sizes
    fresh: list[Sizes]  # looked at between them
    bad: list[Sizes]  # of these: where they do not hold
    wrong: list[Sizes]  # where the numbers are others, the nearest first

    def extent(self) -> float:
        return sum(math.log(self.most[n] / self.least[n]) for n in self.least)


class _Unfit(Unsupported):
    """No formula; `sizes`: those that the numbers depend on."""

    def __init__(self, what: str, sizes: list[str]):
        super().__init__(what)
        self.sizes = sizes


class _Inference:
    def __init__(self, specs_at: Callable[[Sizes], list[dict[str, Any]]], base: Sizes, numbers: set[int], tops: Sizes):
        self.specs_at, self.base, self.numbers, self.tops = specs_at, base, numbers, tops
        self.seen: dict[tuple[int, ...], list[Form] | None] = {}
        self.refused: set[tuple[int, ...]] = set()  # by fn, in its own way
        self.why = ""  # the last sizes did not do
        self.alone = dict.fromkeys(base, 0)  # calls in which one size was moved to see how far the formulas hold
        self.bounded = False  # more were wanted
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
                self.refused.add(key)
                self.why = f"{_text(at)} is refused: {type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"
        return self.seen[key]

    def step(self, name: str, above: int = 0) -> int | None:
        """The least step above the other in which the size may grow."""
        base = self.base[name]
        for d in sorted({1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, base}):
            if above < d <= base and base % d == 0 and all(self.forms_at({**self.base, name: v}) for v in (base + d, base + 3 * d, 2 * base + d)):
                return d
        if not above:
            raise Unsupported(f"a kernel that is another one when {name} changes ({self.why}); leave {name} a number", None)
        return None

    def specs(self) -> list[dict[str, Any]]:
        """With the least steps for which there are formulas."""
        steps = {name: self.step(name) or 1 for name in self.base}
        while True:
            try:
                return self.attempt(steps)
            except _Unfit as e:
                wider = next(((n, d) for n in e.sizes if (d := self.step(n, steps[n])) is not None), None)
                if wider is None:
                    raise
                steps = {**steps, wider[0]: wider[1]}

    def samples(self, steps: Sizes) -> list[Sizes]:
        """Sizes near the typical ones and around the double and triple, one moved at a time, then together."""
        samples = [self.base]
        for name, d in steps.items():
            b = self.base[name]
            samples += [{**self.base, name: v} for v in (b + d, b + 3 * d, 2 * b + d, 3 * b)]
        for k in (1, 2):
            samples.append({n: b * (k + 1) + steps[n] * (2 * i + k) for i, (n, b) in enumerate(self.base.items())})
        return [s for s in samples if self.forms_at(s)]

    def attempt(self, steps: Sizes) -> list[dict[str, Any]]:
        """With as many of the samples, the nearest ones, as have formulas that hold around them."""
        samples = sorted(self.samples(steps), key=self.distance)
        while True:
            try:
                return self.around(samples, steps)
            except _Unfit:
                if len(samples) <= 1 + 2 * len(self.base):
                    raise
                samples = samples[:-1]

    def around(self, samples: list[Sizes], steps: Sizes) -> list[dict[str, Any]]:
        """Fit, look where the formulas hold, add a sample where they do not, and fit again: as long as the domain grows."""
        best = self.reach(samples, steps)
        hopeless: list[Sizes] = []
        for _ in range(ROUNDS):
            new = next((at for at in best.bad + best.wrong if self.forms_at(at) and at not in best.samples + hopeless), None)
            if new is None:
                break
            try:
                found = self.reach(best.samples + [new], steps)
                better = bool(best.bad) or (not found.bad and found.extent() > best.extent())
            except _Unfit:
                better = False
            if better:
                best = found
            else:
                hopeless.append(new)
        for at in best.fresh:
            self.agree(at, best.formulas)
        narrow = [n for n, d in steps.items() if (best.most[n] - best.least[n]) // d < FEWEST
                  and any(all(at[m] == self.base[m] for m in at if m != n) for at in best.wrong)]
        if narrow:
            raise _Unfit(f"numbers that are no simple function of {', '.join(narrow)}; leave {' and '.join(narrow)} a number", narrow)
        return [self.instance(which, best.formulas[which], steps, (best.least, best.most), best.samples, best.fresh) for which in range(len(self.forms))]

    def reach(self, samples: list[Sizes], steps: Sizes) -> _Fit:
        """Formulas of the samples, and where they hold."""
        formulas = [self.fit(which, samples) for which in range(len(self.forms))]
        written = self.numbers | {abs(n) for f in self.forms for n in f.numbers if isinstance(n, int) and abs(n) > 1}
        self.wrong: list[Sizes] = []
        least, most = domain.infer(lambda at: self.may_look(at) and self.matches(at, formulas), dict(self.base), steps, written, self.tops)
        fresh = domain.mixed(least, most, steps) + self.jumps(formulas, least, most, steps)
        bad = [at for at in fresh if not self.matches(at, formulas)]
        return _Fit(samples, formulas, least, most, fresh, bad, sorted(self.wrong, key=self.distance))

    def may_look(self, at: Sizes) -> bool:
        """Is a call at these sizes known, or one more allowed? A domain ends before what is not looked at."""
        moved = [n for n, v in at.items() if v != self.base[n]]
        if len(moved) != 1 or tuple(at.values()) in self.seen:
            return True
        self.alone[moved[0]] += 1
        allowed = self.alone[moved[0]] <= MOST_CALLS // len(self.base)
        self.bounded |= not allowed
        return allowed

    def jumps(self, formulas: list[list[Formula]], least: Sizes, most: Sizes, steps: Sizes) -> list[Sizes]:
        """Where a number with a quotient in its formula changes, and the size
        before: found by halving, so that a quotient of other rows shows."""
        out: list[Sizes] = []
        done: set[tuple[str, int, int]] = set()
        for which, slot, text in ((w, n, f.text) for w, fs in enumerate(formulas) for n, f in enumerate(fs)):
            for n, c in ((n, int(c)) for n in steps for c in re.findall(rf"\b{n}\b[^,/%]*(?:,|//|%) (\d+)", text)):
                if (n, c, which) in done or c % steps[n] or c == steps[n]:
                    continue
                done.add((n, c, which))
                for low in {self.base[n], max(least[n], (most[n] - c) // steps[n] * steps[n])}:
                    out += self.jump(which, slot, n, low, min(low + c, most[n]), steps[n])
        return out

    def jump(self, which: int, slot: int, n: str, low: int, high: int, step: int) -> list[Sizes]:
        """The sizes on both sides of one change of a number between two sizes."""
        def number(v: int) -> Any:
            forms = self.forms_at({**self.base, n: v})
            return forms[which].numbers[slot] if forms else None

        first = number(low)
        if first == number(high):
            return []
        while high - low > step:
            middle = low + (high - low) // 2 // step * step
            low, high = (middle, high) if number(middle) == first else (low, middle)
        return [{**self.base, n: low}, {**self.base, n: high}]

    def distance(self, at: Sizes) -> float:
        """From the typical sizes."""
        return sum(abs(math.log(v / self.base[n])) for n, v in at.items())

    def matches(self, at: Sizes, formulas: list[list[Formula]]) -> bool:
        found = self.forms_at(at)
        same = bool(found) and all(_same(f.value(at), n) for form, fs in zip(found or [], formulas, strict=True) for f, n in zip(fs, form.numbers, strict=True))
        if found and not same:
            self.wrong.append(at)
        return same

    def agree(self, at: Sizes, formulas: list[list[Formula]]) -> None:
        if not self.matches(at, formulas):
            raise _Unfit(f"a call at {_text(at)} that is not what other calls let expect; leave a size a number", list(self.base))

    def fit(self, which: int, samples: list[Sizes]) -> list[Formula]:
        columns = [[(self.forms_at(s) or [])[which].numbers[slot] for s in samples] for slot in range(len(self.forms[which].numbers))]
        constants = sorted({2, 3, 4, 8} | {int(c[0]) for c in columns if isinstance(c[0], int) and c[0] > 1 and len(set(c)) == 1})
        lines = self.lines(columns, samples)
        out: list[Formula] = []
        for column in columns:
            if len(set(column)) == 1:
                out.append(_constant(column[0]))
                continue
            fitted = next((f for f in self.candidates(column, samples, constants, lines) if all(_same(f.value(s), y) for s, y in zip(samples, column, strict=True))), None)
            if fitted is None:
                raise _Unfit(f"a number ({', '.join(map(str, column[:5]))}, …) that is no simple function of {', '.join(self.base)}",
                             self.depends(column, samples) or list(self.base))
            out.append(fitted)
        return out

    def depends(self, column: list[Any], samples: list[Sizes]) -> list[str]:
        """The sizes that change the number when they alone move."""
        return [n for n in self.base if any(y != column[0] and all(s[m] == self.base[m] for m in s if m != n) for s, y in zip(samples, column, strict=True))]

    def lines(self, columns: list[list[Any]], samples: list[Sizes]) -> dict[str, set[tuple[int, int]]]:
        """(a, b) of each size n for which a number is a n + b: a quotient may be of that."""
        out: dict[str, set[tuple[int, int]]] = {n: set() for n in self.base}
        for column in columns:
            for n in self.depends(column, samples):
                x = [s[n] for s in samples]
                other = next((i for i, v in enumerate(x) if v != x[0]), 0)
                if not other or not all(isinstance(y, int) for y in column) or (column[other] - column[0]) % (x[other] - x[0]):
                    continue
                a = (column[other] - column[0]) // (x[other] - x[0])
                b = column[0] - a * x[0]
                if a > 0 and (a, b) != (1, 0) and all(y == a * v + b for v, y in zip(x, column, strict=True)):
                    out[n].add((a, b))
        return out

    def candidates(self, column: list[Any], samples: list[Sizes], constants: list[int], lines: dict[str, set[tuple[int, int]]]) -> Iterator[Formula]:
        depends = self.depends(column, samples)
        if len(depends) == 1:
            constants = sorted({*constants, *sorted(n for n in self.numbers if n <= domain.TOP)[:MOST_CONSTANTS]})
        terms = {n: list(itertools.chain(_terms(n, constants), _bounded(n, constants) if len(depends) == 1 else ())) for n in depends or self.base}
        if any(isinstance(y, float) for y in column):
            for term in itertools.chain(*terms.values()):
                yield from _reals(term, (0, -1, 1))
            yield from _multiples(_product(tuple(terms[n][0] for n in terms)), column, samples)
            return
        if len(depends) == 1:
            for term in itertools.chain(terms[depends[0]], *(_shifted(depends[0], a, b, constants) for a, b in sorted(lines[depends[0]]))):
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
        python = {**model.get("x-python", {}), "inferred": {"sizes": list(self.base), "from": samples, "checked": fresh, "calls": len(self.seen),
                                                               **({"bounded": True} if self.bounded else {})}}
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


def _shifted(n: str, a: int, b: int, constants: list[int]) -> Iterator[Formula]:
    """Quotients of a n + b."""
    text = (n if a == 1 else f"{a} * {n}") + (f" + {b}" if b > 0 else f" - {-b}" if b else "")
    for c in reversed(constants):
        yield Formula(f"cdiv({text}, {c})", lambda s, c=c: -(-(a * s[n] + b) // c))
        yield Formula(f"({text}) // {c}", lambda s, c=c: (a * s[n] + b) // c, atom=False)


def _bounded(n: str, constants: list[int]) -> Iterator[Formula]:
    def least(c: int) -> Callable[[Sizes], int]:
        return lambda s: min(s[n], c)

    def most(c: int) -> Callable[[Sizes], int]:
        return lambda s: max(s[n], c)

    for c in reversed(constants):
        yield Formula(f"min({n}, {c})", least(c))
        yield Formula(f"max({n}, {c})", most(c))
    yield Formula(f"next_power_of_2({n})", lambda s: 1 << (s[n] - 1).bit_length())


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


REALS: dict[str, tuple[Callable[[int], float], Callable[[float], float]]] = {  # of a count, and the count of it
    "{}": (float, float),  # adopts the dtype of its partner
    "1 / {}": (lambda n: 1 / n if n else math.inf, lambda y: 1 / y),
    "rsqrt({})": (lambda n: n ** -0.5 if n > 0 else math.inf, lambda y: y ** -2),
    "sqrt({})": (lambda n: max(n, 0) ** 0.5, lambda y: y * y),
}


def _reals(term: Formula, offsets: tuple[int, ...]) -> Iterator[Formula]:
    def of(f: Callable[[int], float], b: int) -> Callable[[Sizes], float]:
        return lambda s: f(term.value(s) + b)

    for b in offsets:
        text = term.text if not b else f"{term.inside()} {'-' if b < 0 else '+'} 1"
        atom = term.atom and not b
        for form, (f, _) in REALS.items():
            yield Formula(form.format(f"({text})" if form.startswith("1") and not atom else text), of(f, b), atom=atom if form == "{}" else "(" in form)


def _multiples(term: Formula, column: list[float], samples: list[Sizes]) -> Iterator[Formula]:
    """Floats of a * term. With a second number beside a, any two constants would be some."""
    first = term.value(samples[0])
    for _, count in REALS.values():
        a = round(count(column[0])) // first if 1e-18 < column[0] < 1e18 and first else 0
        if a > 0:
            text = term.text if a == 1 else f"{a} * {term.text}"
            yield from _reals(Formula(text, lambda s, a=a: a * term.value(s), atom=False), (0,))


def told(spec: dict[str, Any]) -> str:
    """One sentence about the domain that was inferred."""
    ranges = ", ".join(f"{s['min']} <= {n} <= {s['max']}" + (f" in steps of {s['multiple_of']}" if "multiple_of" in s else "") for n, s in spec["sizes"].items())
    inferred = spec["x-python"]["inferred"]
    out = inferred.get("left_out", [])
    named = "; ".join(map(_text, out[:SOME])) + (f"; and {len(out) - SOME} more" if len(out) > SOME else "")
    return (f"{spec['name']}: sizes inferred from {inferred['calls']} calls: {ranges}; "
            "others were not looked at, and what is proven says nothing of them" + (", since a function is called some hundred times at most" if inferred.get("bounded") else "") + (f". Left out, with another kernel{' or reference' if spec.get('reference') else ''}: {named}" if out else ""))


def parse(text: str) -> Sizes:
    """M=512,K=256 as sizes."""
    out: Sizes = {}
    for part in text.split(","):
        m = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*(?:=\s*(\d+))?\s*", part)
        if not m or m[1] in out:
            raise TileproofError(f"--sym is a list of names, each with the size of a typical call, such as M=512,K=256; not `{text}`")
        out[m[1]] = int(m[2] or 512)
    return out
