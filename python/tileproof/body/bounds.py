"""Between which numbers an int32 of the body lies, as far as the steps of the
grid say: sizes of copies that are written with `minimum` are known where no
step is the last, shorter one."""

from __future__ import annotations

from typing import Callable, Sequence

Bounds = tuple[int, int]

LEAST, MOST = -(2**31), 2**31 - 1


def _corners(f: Callable[[int, int], int], a: Bounds, b: Bounds) -> Bounds:
    at = [f(x, y) for x in a for y in b]
    return min(at), max(at)


def _truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _remainder(a: Bounds, b: Bounds) -> Bounds | None:
    """With a positive divisor: of a number below it the number itself, else what is below it."""
    if a[0] < 0 or b[0] <= 0:
        return None
    return a if a[1] < b[0] else (0, b[1] - 1)


def of(name: str, operands: Sequence[Bounds | None]) -> Bounds | None:
    """Of the result of a JAX primitive, or of `//` and `%`, on int32; None: not known, or it may overflow."""
    if any(o is None for o in operands):
        return None
    given = [o for o in operands if o is not None]
    out: Bounds | None = None
    if name == "add":
        out = given[0][0] + given[1][0], given[0][1] + given[1][1]
    elif name == "sub":
        out = given[0][0] - given[1][1], given[0][1] - given[1][0]
    elif name == "mul":
        out = _corners(lambda x, y: x * y, *given)
    elif name in ("max", "min"):
        best = max if name == "max" else min
        out = best(given[0][0], given[1][0]), best(given[0][1], given[1][1])
    elif name == "neg":
        out = -given[0][1], -given[0][0]
    elif name == "clamp":
        lo, x, hi = given
        out = min(max(x[0], lo[0]), hi[0]), min(max(x[1], lo[1]), hi[1])
    elif name in ("div", "//") and given[1][0] > 0:
        out = _corners(_truncated if name == "div" else lambda x, y: x // y, *given)
    elif name in ("rem", "%"):
        out = _remainder(*given)
    return out if out is not None and LEAST <= out[0] and out[1] <= MOST else None


def decided(name: str, operands: Sequence[Bounds | None]) -> bool | None:
    """What a comparison of such integers says; None: not known."""
    if name not in ("lt", "le", "gt", "ge") or any(o is None for o in operands):
        return None
    a, b = [o for o in operands if o is not None][:: 1 if name in ("lt", "le") else -1]
    below = 1 if name in ("lt", "gt") else 0
    return True if a[1] + below <= b[0] else False if a[0] + below > b[1] else None
