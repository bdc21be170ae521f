"""What can go wrong, each with one sentence that says where and why."""

from __future__ import annotations

from typing import Sequence


class TileproofError(Exception):
    """Base of all errors of this package."""


class NotFound(TileproofError):
    """The tileproof program, JAX, or a function that was named is not there."""


class NoPallasCall(TileproofError):
    """Tracing the function reached no pallas_call."""


class NotExecuted(NoPallasCall, AssertionError):
    """A comparison that did not execute every pallas_call of the function."""


class Unsupported(TileproofError):
    """The kernel uses something that the spec language does not express.

    `obstacles`: all of them where there are several, else the error itself;
    `remedy`: what to write instead, where something is known.
    """

    def __init__(self, what: str, where: str | None = None, remedy: str = "", obstacles: Sequence[Unsupported] = ()):
        text = f"{what} ({where})" if where else what
        super().__init__("\n".join([text + (f"; {remedy}" if remedy else ""), *(f"  {o}" for o in obstacles)]))
        self.what, self.where, self.remedy = what, where, remedy
        self.obstacles: list[Unsupported] = list(obstacles) or [self]


def together(title: str, where: str | None, found: Sequence[Unsupported]) -> Unsupported:
    """One error of several, each said once; one alone stays what it is."""
    obstacles = list({str(o): o for e in found for o in e.obstacles}.values())
    placed = {o.what for o in obstacles if o.where}
    obstacles = [o for o in obstacles if o.where or o.what not in placed]
    if len(obstacles) == 1:
        return obstacles[0]
    return Unsupported(f"{title} has {len(obstacles)} obstacles", where, obstacles=obstacles)
