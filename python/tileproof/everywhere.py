"""assert_equivalent at the sizes and inputs that `verify` picks."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
import time
from typing import Any, Callable, Mapping

from . import binary
from .errors import TileproofError


UNKIND = ("wide", "cancelling", "large")  # exp overflows and sums cancel on them, in the reference, too


@dataclasses.dataclass(frozen=True)
class Used:
    """How much of what was picked was compared."""

    cases: int  # sizes
    picked: int  # by verify
    runs: int  # cases, each on one family of inputs
    calls: int  # pallas_calls that ran in the engine
    refused: str = ""  # the first sizes at which the reference raises, and what

    def __str__(self) -> str:
        return (f"{self.cases} of {self.picked} cases, {self.runs} runs, {self.calls} calls in the engine"
                + f"; not where the reference raises, as {self.refused}" * bool(self.refused))


def picks(specs: list[dict[str, Any]]) -> list[tuple[dict[str, int], str, int]]:
    """Sizes, family of inputs and seed of what verify picks for these kernels:
    each sizes on its first inputs, then the other families."""
    first: dict[tuple[int, ...], tuple[dict[str, int], str, int]] = {}
    others: dict[tuple[tuple[int, ...], str], tuple[dict[str, int], str, int]] = {}
    for spec in specs:
        report = binary.report("verify", {k: v for k, v in spec.items() if k != "reference"})["specs"][0]
        for case in (report["equivalence"] or {"cases": []})["cases"]:
            key = tuple(case["sizes"].values())
            for family in (f for f in case["inputs"] if f not in UNKIND):
                if key not in first:
                    first[key] = (case["sizes"], family, case["seed"])
                elif family != first[key][1]:
                    others.setdefault((key, family), (case["sizes"], family, case["seed"]))
    return [*first.values(), *others.values()]


def filled(shapes: list[Any], family: str, seed: int, values: list[dict[str, Any] | None] | None = None) -> list[Any]:
    """Arrays of these shapes and dtypes, as verify fills the inputs of a case; between the ends of `values`, where there are any."""
    import numpy as np

    def operand(name: str, dtype: str, shape: tuple[int, ...]) -> dict[str, Any]:
        dims = list(shape) or [1]
        return {"name": name, "dtype": dtype, "shape": dims, "block_shape": dims, "index_map": ["0"] * len(dims)}

    names = [f"a{n}" for n in range(len(shapes))]
    spec = {"tileproof": 1, "name": "arguments", "target": "none", "grid": [],
            "inputs": [operand(n, s.dtype.name, s.shape) | ({"values": v} if v else {}) for n, s, v in zip(names, shapes, values or [None] * len(shapes), strict=True)],
            "outputs": [operand("o", "float32", (1,))], "kernel": ["o[...] = zeros((1,), float32)"]}
    with tempfile.TemporaryDirectory() as folder:
        room = pathlib.Path(folder)
        (room / "arguments.tile.json").write_text(json.dumps(spec))
        flags = [f for n in names for f in ("--output", f"{n}={room / n}.npy")]
        done = binary.run("run", "--unchecked", str(room / "arguments.tile.json"), "--fill", family, "--seed", str(seed), *flags)
        if done.returncode:
            raise TileproofError(f"the arguments cannot be made: {done.stderr.strip()}")
        arrays = [np.load(room / f"{n}.npy") for n in names]
    return [a.view(s.dtype).reshape(s.shape) if a.dtype.kind == "V" else a.reshape(s.shape) for a, s in zip(arrays, shapes, strict=True)]


def given(args: Any, family: str, seed: int, scale: float = 1, values: Mapping[int, dict[str, Any]] | None = None) -> Any:
    """`args` with arrays for the shapes among them, filled as verify does;
    floats times `scale`, but for those between the ends of `values` (ranges.of_arguments)."""
    import jax
    import jax.numpy as jnp

    leaves, tree = jax.tree_util.tree_flatten(args)
    shapes = [a for a in leaves if isinstance(a, jax.ShapeDtypeStruct)]
    ends = [(values or {}).get(n) for n, a in enumerate(leaves) if isinstance(a, jax.ShapeDtypeStruct)]
    arrays = filled(shapes, family, seed, ends) if shapes else []
    made = iter([(a * scale).astype(a.dtype) if scale != 1 and v is None and jnp.issubdtype(a.dtype, jnp.floating) else a
                 for a, v in zip(arrays, ends, strict=True)])
    return jax.tree_util.tree_unflatten(tree, [next(made) if isinstance(a, jax.ShapeDtypeStruct) else a for a in leaves])


def assert_equivalent_at_sizes(fn: Callable[..., Any], reference: Callable[..., Any], arguments: Callable[..., tuple[Any, ...]], *,
                               rtol: float | None = None, atol: float | None = None, seconds: float = 60, **sizes: int) -> Used:
    """assert_equivalent(fn, reference, *arguments(**at)) at all sizes that
    `verify` picks for the kernels of fn: at block edges, around constants that
    sizes are compared with, in pairs.

    `arguments` and `sizes` are those of generalise(). Where arguments are
    shapes, they get the families of inputs that the case runs on, without those
    of magnitudes that overflow; arrays stay as they are. After `seconds` no other case is begun; one always runs.
    AssertionError names the sizes; the result says how much was compared.
    """
    from . import api

    __tracebackhide__ = True
    return at_sizes(fn, reference, arguments, api.generalise(fn, arguments, **sizes), rtol, atol, seconds)


def at_sizes(fn: Callable[..., Any], reference: Callable[..., Any], arguments: Callable[..., tuple[Any, ...]], specs: list[dict[str, Any]],
             rtol: float | None, atol: float | None, seconds: float) -> Used:
    """The same, where the specs of fn are known."""
    import jax

    from . import api, ranges

    __tracebackhide__ = True
    end, runs = time.monotonic() + seconds, picks(specs)
    if not runs:
        raise TileproofError("verify picks no case for the kernels of this function")
    at: set[tuple[int, ...]] = set()
    done, calls, refused = 0, 0, ""
    for case, family, seed in runs:
        args = arguments(**case)
        shapes = any(isinstance(a, jax.ShapeDtypeStruct) for a in jax.tree_util.tree_leaves(args))
        text = ", ".join(f"{k} = {v}" for k, v in case.items())
        if done and (time.monotonic() > end or (not shapes and tuple(case.values()) in at)):
            continue
        try:
            values = ranges.of_arguments(fn, args, specs, case) if any("values" in i for s in specs for i in s.get("inputs", [])) else None
            calls += api.assert_equivalent(fn, reference, *given(args, family, seed, values=values), rtol=rtol, atol=atol)
        except TileproofError:
            raise
        except AssertionError as e:
            raise AssertionError(f"at {text}{f', {family} inputs' if shapes else ''}: {e}") from None
        except Exception as e:  # noqa: BLE001  fn was traced at these sizes: it is the reference's own
            refused = refused or f"at {text}: {type(e).__name__}: {(str(e).strip().splitlines() or [''])[0]}"
            continue
        at.add(tuple(case.values()))
        done += 1
    if not done:
        raise TileproofError(f"the reference raises {refused}")
    return Used(len(at), len({tuple(c.values()) for c, _, _ in runs}), done, calls, refused)
