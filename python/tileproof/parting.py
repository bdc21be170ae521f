"""Where a function parts from its reference: the one change of one of its kernels that makes the two agree.

`verify` looks for such a change where a kernel has a reference of its own. Here there is one of the whole function
only: several calls, or more around them. So each change is tried by executing the function.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
from typing import Any, Callable

from . import binary, capture, engine, importer, places, words
from . import jaxpr as jx
from .errors import TileproofError
from .rewriting import every_equation

MOST_TRIALS = 400
SECONDS = 4.0  # of processor time; no trial is begun later
MOST_NUMBERS = 16
CHANGED = ("grid", "inputs", "outputs", "pipelines", "kernel")  # the members of a spec that a change is in

Agrees = Callable[..., bool]  # of results, and what is wanted of other arguments (want=)


class _Engine:
    """The function, in the engine: what a change does not reach is not executed again."""

    def __init__(self, fn: Any, args: tuple[Any, ...], room: pathlib.Path):
        self.room, self.saved = room, dict[Any, pathlib.Path]()
        self.closed = jx.trace(lambda *a: jx.leaves(fn(*a)), args)
        self.values = [jx.np.asarray(a, v.aval.dtype) for a, v in zip(jx.leaves(args), jx.open_jaxpr(self.closed).invars, strict=True)]
        self.specs: dict[Any, dict[str, Any]] = {}  # of a call and what its tables hold
        self.calls: dict[int, tuple[Any, dict[str, Any]]] = {}  # by equation: the first of it
        self.done: dict[Any, list[Any]] = {}

    def results(self, change: tuple[int, dict[str, Any]] | None = None, values: list[Any] | None = None) -> list[Any]:
        """Of the function, where the call of that equation has these members in place of its spec's; of other arguments
        where there are `values`."""
        def run(eqn: Any, operands: list[Any], used: list[bool]) -> list[Any]:
            arrays = [jx.np.asarray(o) for o in operands]
            held = [(a.shape, a.tobytes()) for a in arrays]
            if (key := (id(eqn), *(held[n] for n in importer.tables_of(eqn, held)))) not in self.specs:
                self.specs[key] = importer.from_equation(eqn, operands, used)
                self.calls.setdefault(id(eqn), (eqn, self.specs[key]))
            spec, key = self.specs[key], (id(eqn), *held)
            if change is None:
                self.saved[key] = self.room / str(len(self.saved))
                self.saved[key].mkdir()
                engine.save(self.saved[key], spec, operands)
                self.done[key] = engine.run_in(self.saved[key], spec, eqn)
            if change is None or (change[0] != id(eqn) and key in self.done):
                return self.done[key]
            spec = spec | change[1] if change[0] == id(eqn) else spec
            return engine.run_in(self.saved[key], spec, eqn) if key in self.saved else engine.run(spec, eqn, operands)

        return list(capture._Evaluator(capture.Calls(traced=list(jx.sites(self.closed))), run).jaxpr(self.closed, values or self.values))


def change(fn: Callable[..., Any], reference: Callable[..., Any], args: tuple[Any, ...], agrees: Agrees) -> str:
    """Lines that name the change and its place in Python; "": none was found.

    `agrees`: whether these results are what the reference says. Changes come by rank, those of all calls in turn. One
    that agrees has to agree on other numbers, too."""
    with tempfile.TemporaryDirectory() as folder:
        return _found(_Engine(fn, args, pathlib.Path(folder)), _numbers(reference, args), agrees, _others(reference, args))


def _others(reference: Callable[..., Any], args: tuple[Any, ...]) -> tuple[list[Any], list[Any]] | None:
    """The arguments with their floats in another order and smaller, each by another factor, so that no two stay equal; and what the reference
    says of them; None: it says nothing."""
    import jax

    draw = jx.np.random.default_rng(0)
    arrays = [jx.np.asarray(a) for a in jx.leaves(args)]
    values = [(a.reshape(-1)[::-1].reshape(a.shape) * draw.uniform(0.5, 1, a.shape)).astype(a.dtype) if jax.numpy.issubdtype(a.dtype, jax.numpy.floating) else a for a in arrays]
    try:
        return values, jx.leaves(reference(*jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(args), values)))
    except Exception:  # noqa: BLE001  then the change stands on the arguments that were given
        return None


def _found(function: _Engine, numbers: list[str], agrees: Agrees, others: tuple[list[Any], list[Any]] | None) -> str:
    function.results()
    listed = [(r["rank"], n, number, spec, r) for number, (_, spec) in function.calls.items() for n, r in enumerate(_rewrites(spec, numbers))]
    end = _spent() + SECONDS
    for _, _, number, spec, r in sorted(listed, key=lambda l: l[:2])[:MOST_TRIALS]:
        if _spent() > end:
            break
        text = binary.text_of(spec).encode()
        try:
            changed = json.loads(text[:r["start"]] + r["text"].encode() + text[r["end"]:])
            tried = number, {m: changed[m] for m in CHANGED if m in changed}
            if agrees(function.results(tried)) and (others is None or agrees(function.results(tried, others[0]), want=others[1])):
                return _said(spec, text, r)
        except (AssertionError, TileproofError, ValueError):  # it traps, or is no spec
            continue
    return ""


def _rewrites(spec: dict[str, Any], numbers: list[str]) -> list[dict[str, Any]]:
    """Those of the spec; the numbers may take the place of its own."""
    text = binary.text_of({k: v for k, v in spec.items() if k != "reference"} | {"reference": [f"n = {v}" for v in numbers]})
    return json.loads(binary.run("rewrites", "-", text=text).stdout)["rewrites"]


def _numbers(reference: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """What stands in the reference, as text."""
    found: dict[str, None] = {}
    with contextlib.suppress(Exception):  # it need not be one that JAX traces
        for eqn in every_equation(jx.trace(reference, args)):
            for a in eqn.invars:
                if jx.is_literal(a) and jx.np.ndim(a.val) == 0 and jx.np.isfinite(a.val) and jx.np.asarray(a.val).dtype.kind in "if" and a.val >= 0:
                    found[repr(jx.np.asarray(a.val).item())] = None
    return list(found)[:MOST_NUMBERS]


def _spent() -> float:
    """Processor time of this process and its children."""
    return sum(os.times()[:4])


def _said(spec: dict[str, Any], text: bytes, r: dict[str, Any]) -> str:
    before = " ".join(text[r["start"]:r["end"]].decode().split())
    place = places.of_finding(spec, r, text.decode().splitlines())
    said = words.told(spec, f"in {spec['name']}, write `{' '.join(r['text'].split())}` in place of `{before}`: then results agree with these arguments", body="/kernel/" in (r.get("pointer") or ""), names=True)
    return f"\n  at {places.shown(place)}\n  help: {said}"
