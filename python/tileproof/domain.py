"""For which sizes an inference holds: those between the least and the largest
that were looked at.

One size moves while the others stay: powers of two, the numbers written in the
function and their neighbours. Where a call is not what the formulas say, the
domain ends before it. Then sizes move together: the corners, and some at random.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import types
from typing import Any, Callable, Iterator

TOP = 1 << 16  # nothing above is looked at, but for four times a larger typical size
MOST_NUMBERS = 32
MIXED = 12
Sizes = dict[str, int]


def numbers_in(fn: Any) -> set[int]:
    """Integers that the function writes: in its code and that of functions it
    names or closes over, below the same package. A threshold is one of them."""
    found: set[int] = set()
    seen: set[int] = set()

    def constant(c: Any) -> None:
        if isinstance(c, types.CodeType):
            code(c)
        elif isinstance(c, int) and not isinstance(c, bool):
            found.add(abs(c))
        elif isinstance(c, (tuple, frozenset)):
            for x in c:
                constant(x)

    def code(c: types.CodeType) -> None:
        for x in c.co_consts:
            constant(x)

    def names(c: types.CodeType) -> Iterator[str]:
        yield from c.co_names
        for x in c.co_consts:
            if isinstance(x, types.CodeType):
                yield from names(x)

    def function(f: Any, package: str) -> None:
        if id(f) in seen or len(seen) > 200:
            return
        seen.add(id(f))
        if isinstance(f, functools.partial):
            for v in (f.func, *f.args, *f.keywords.values()):
                value(v, package)
            return
        f = getattr(f, "__func__", f)
        if hasattr(f, "__wrapped__"):
            value(f.__wrapped__, package)
        body = getattr(f, "__code__", None)
        if body is None:
            return
        code(body)
        for v in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            value(v, package)
        for cell in f.__closure__ or ():
            try:
                value(cell.cell_contents, package)
            except ValueError:  # not yet set
                pass
        for name in names(body):
            if name in f.__globals__:
                value(f.__globals__[name], package)

    def value(v: Any, package: str) -> None:
        if callable(v):
            module = str(getattr(v, "__module__", "") or "")
            if module.partition(".")[0] == package or getattr(v, "__wrapped__", None) is not None or isinstance(v, functools.partial):
                function(v, package)
        else:
            constant(v)

    inner = fn
    while not hasattr(inner, "__code__") and (isinstance(inner, functools.partial) or hasattr(inner, "__wrapped__")):
        inner = inner.func if isinstance(inner, functools.partial) else inner.__wrapped__
    function(fn, str(getattr(inner, "__module__", "") or "").partition(".")[0])
    return {n for n in found if n > 1}


def probes(base: int, step: int, numbers: set[int], top: int) -> list[int]:
    """Values of one size to look at, multiples of its step."""
    near = sorted(n for n in numbers if n <= top)
    if len(near) > MOST_NUMBERS:  # the smallest and the largest; powers of two stand for those between
        near = near[:MOST_NUMBERS // 2] + near[-MOST_NUMBERS // 2:]
    values = {step * n for n in range(1, 9)} | {base // 2 ** n // step * step for n in range(1, 31)}
    for n in [*near, *(2 ** k for k in range(1, top.bit_length()))]:
        at = n // step * step
        values |= {at - step, at, at + step} if n in numbers else {at, at + step}
    for n in near:
        multiple = math.lcm(n, step)
        if base % multiple:  # a branch on what it divides
            values |= {base // multiple * multiple, (base // multiple + 1) * multiple}
    return sorted(v for v in values | {top // step * step} if step <= v <= top)


def search(holds: Callable[[int], bool], base: int, step: int, values: list[int]) -> tuple[int, int]:
    """The least and the largest value around `base` with which it holds, for
    all of `values` between; where one does not, halving finds the last that does."""
    def last(outwards: list[int]) -> int:
        good = base
        for v in outwards:
            if holds(v):
                good = v
                continue
            while abs(v - good) > step:
                middle = (good + v) // 2 // step * step
                if middle in (good, v):
                    break
                good, v = (middle, v) if holds(middle) else (good, middle)
            return good
        return good

    return last([v for v in reversed(values) if v < base]), last([v for v in values if v > base])


def infer(holds: Callable[[Sizes], bool], base: Sizes, steps: Sizes, numbers: set[int], tops: Sizes) -> tuple[Sizes, Sizes]:
    """(least, largest) of each size; none above `tops` is looked at."""
    least, most = {}, {}
    for n, b in base.items():
        least[n], most[n] = search(lambda v, n=n: holds({**base, n: v}), b, steps[n], probes(b, steps[n], numbers, tops[n]))
    for bound in (least, most):  # each alone may do where all together are too small, or too much
        while bound != base and not holds(bound):
            for n, b in base.items():
                nearer = (bound[n] + b) // 2 if bound is least else max(b, bound[n] // 2)
                bound[n] = b if abs(bound[n] - b) <= steps[n] else nearer // steps[n] * steps[n]
    return least, most


def mixed(least: Sizes, most: Sizes, steps: Sizes) -> list[Sizes]:
    """Sizes that move together: one at its end while the others are at the other, and at random, small ones as likely as large ones."""
    rng = random.Random(1)
    out = [{n: (most if n == one else least)[n] for n in least} for one in least] if len(least) > 1 else []
    for _ in range(MIXED):
        at = {}
        for n, d in steps.items():
            lo, hi = least[n] // d, most[n] // d
            at[n] = d * min(hi, max(lo, int(lo * (hi / lo) ** rng.random()) + rng.randint(0, 1)))
        out.append(at)
    return [s for s, _ in itertools.groupby(out)]
