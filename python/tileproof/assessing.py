"""Is a kernel worth its code? `tileproof assess`, and what kernel and reference take on this machine."""

from __future__ import annotations

import dataclasses
import html
import os
import time
from typing import Any, Callable, Mapping

from . import binary
from .errors import TileproofError, together


@dataclasses.dataclass(frozen=True)
class Timed:
    """What ran on this machine, and the least time of several runs. It says nothing of a chip."""

    engine: str  # machine: tileproof's, of kernels; XLA or evaluator: of references
    detail: str  # instruction set, version, threads
    fallbacks: list[str]  # what it did without
    seconds: float

    def __str__(self) -> str:
        return f"{self.seconds * 1e3:.3f} ms: {self.engine}, {self.detail}" + "".join(f"; {f}" for f in self.fallbacks)


@dataclasses.dataclass(frozen=True)
class Assessment:
    """Advice on one kernel. Times of this machine are shown, and are no reason."""

    kernel: str
    target: str
    advice: str  # keep, experimental, drop
    reasons: list[str]
    at: list[dict[str, Any]]  # docs/COST.md: sizes, and times in the model
    here: dict[str, Timed]  # "kernel", "reference"; of what was not measured nothing
    not_measured: str  # why

    def __str__(self) -> str:
        lines = [f"{self.kernel}, {self.target}: {self.advice}", *(f"  because {r}" for r in self.reasons)]
        for a in self.at:
            where = ", ".join(f"{n} = {v}" for n, v in {**a["sizes"], **a["dtypes"]}.items()) or "its only sizes"
            lines.append(f"  model, at {where}: " + (f"unknown: {a['unknown']}" if "unknown" in a else
                                                    f"kernel {a['kernel_seconds'] * 1e6:.2f} us, reference {a['reference_seconds'] * 1e6:.2f} us, gain {a['gain']:.3g}"))
        lines += [f"  here, {name} {timed}" for name, timed in self.here.items()]
        return "\n".join(lines + ([f"  here: not measured: {self.not_measured}"] if self.not_measured else []))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def assess(kernel: Callable[..., Any] | dict[str, Any] | str | os.PathLike[str], *args: Any, reference: Callable[..., Any] | None = None,
           target: str | None = None, gain: int | None = None, runs: int = 5, sizes: Mapping[str, int] | None = None) -> Assessment:
    """Keep, experimental or drop, with reasons: rules, equality, and the gain on the reference in the model of the target.

    `kernel`: a function that is one pallas_call of `args` (arrays or
    jax.ShapeDtypeStruct), with `reference`, the same in jnp; or a spec with its
    reference, an object or a file, at `sizes`. `gain`: percent from which on it
    is kept (default 10, or that of the settings).

    With `runs`, kernel and reference are executed here so often: the kernel by
    tileproof's machine, a function's reference by XLA on the CPU, that of a
    spec by tileproof's evaluator. The times decide nothing.
    Raises TileproofError, Unsupported, NoPallasCall, NotFound.
    """
    spec = _imported(kernel, args, reference) if callable(kernel) else kernel
    options = ["--runs", str(runs), *(["--target", target] if target else []), *(["--gain", str(gain)] if gain is not None else [])]
    options += [a for name, value in (sizes or {}).items() for a in ("--size", f"{name}={value}")]
    path, text = binary.given(spec)
    said = binary.parsed("assess", binary.run("assess", "--format", "json", *options, path, text=text))
    measured = said["at"][0].get("here", {})
    here = {name: _timed(measured[name]) for name in ("kernel", "reference") if name in measured}
    if runs and reference is not None:
        here["reference"] = _by_xla(reference, args, runs)
    return Assessment(said["name"], said["target"], said["advice"], said["reasons"], said["at"], here, measured.get("unknown", ""))


def _imported(fn: Callable[..., Any], args: tuple[Any, ...], reference: Callable[..., Any] | None) -> dict[str, Any]:
    from . import importer
    from . import jaxpr as jx
    from .reference import beside

    name = getattr(getattr(fn, "func", fn), "__name__", "function")
    if reference is None:
        raise TileproofError(f"assess: {name} needs a reference: the same in jnp")
    specs, refused = importer.read(fn, *args, tables=True, reference=reference)
    if refused or not specs:
        raise together(name, None, refused)
    if len(specs) != 1 or beside(jx.trace(fn, args)):
        raise TileproofError(f"assess: {name} is more than one pallas_call of its arguments: assess each kernel by itself")
    return specs[0]


def _timed(path: dict[str, Any]) -> Timed:
    threads = f"{path['threads']} thread{'s' if path['threads'] != 1 else ''}"
    kind = f"{path['instruction_set']}, {path['elementary_functions']} for exp" if path["instruction_set"] else "float64"
    return Timed(path["engine"], f"{kind}, {threads}", path["fallbacks"], path["seconds"])


def _by_xla(reference: Callable[..., Any], args: tuple[Any, ...], runs: int) -> Timed:
    """The reference, compiled, without the time to compile it."""
    import jax

    from . import everywhere

    cpu = jax.devices("cpu")[0]
    arrays = jax.device_put(everywhere.given(args, "normal", 0), cpu)
    compiled = jax.jit(reference)
    jax.block_until_ready(compiled(*arrays))
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arrays))
        times.append(time.perf_counter() - start)
    return Timed("XLA", f"jax {jax.__version__} on {cpu.platform}", [], min(times))
