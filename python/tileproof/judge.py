"""Who says what about one kernel: tileproof beside JAX's judges.

The cases are those of `verify`: sizes, tables and families of inputs, as its
JSON report lists them. tileproof runs each (`run --fill`), and the spec,
emitted as Python, runs on the same arrays in JAX's two interpreters. JAX's TPU
lowering and, where libtpu is installed, the TPU compiler see the first one.
Every judge of JAX's works in a child process with a time limit.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import pathlib
import tempfile
import time
from typing import Any

import numpy as np

from . import binary
from .errors import TileproofError

SECONDS = 120  # for each of JAX's judges, which work at the same time
# Rules that tileproof traps and JAX's interpreters run through: the example that records it.
KNOWN = {
    "TP101": "machine_window_past_end", "TP102": "slice_out_of_bounds", "TP103": "prefetch_outside_the_table",
    "TP401": "machine_half_written_block", "TP402": "machine_return_to_window", "TP403": "machine_parallel_race",
    "TP404": "machine_scratch_undefined_at_start", "TP405": "machine_alias_read_too_soon", "TP406": "machine_element_outputs_overlap",
    "TP501": "machine_padding_reaches_sum", "TP503": "undefined_float_to_int",
}



@dataclasses.dataclass
class Opinion:
    """What one judge says of a spec."""

    judge: str
    says: str  # accepts, rejects, unknown, equal, differs, runs, traps, raises, hangs, dies, absent
    detail: str = ""


@dataclasses.dataclass
class Run:
    """One case on one family of inputs: arguments by file, and what tileproof made of it."""

    case: int  # its number in the report
    text: str  # "M = 300, T=float32, ties"
    arguments: list[tuple[str, str]]  # file, dtype
    keywords: dict[str, Any]  # sizes, and dtypes by name
    want: list[tuple[str, str] | None] | None  # file, dtype; None: discarded; no list: it trapped
    rule: str  # by which it trapped
    message: str


@dataclasses.dataclass
class Function:
    """The emitted source, and the name of the function in it."""

    source: str
    name: str

    def __call__(self) -> Any:
        scope: dict[str, Any] = {}
        exec(compile(self.source, "<emitted>", "exec"), scope)
        return scope[self.name]

    def takes_array(self, name: str) -> bool:
        line = self.source.split(f"\ndef {self.name}(", 1)[1].split("\n", 1)[0].partition("*")[0]
        return name in line.replace(" ", "").split(",")

    def takes(self, keyword: str) -> bool:
        line = self.source.split(f"\ndef {self.name}(", 1)[1].split("\n", 1)[0].partition("*")[2]
        return f" {keyword}=" in line or f" {keyword}," in line


def _load(path: str, dtype: str) -> np.ndarray:
    """The array of a file; what NumPy has no name for lies there as bytes."""
    import jax.numpy as jnp

    a = np.load(path)
    return a.view(jnp.dtype(dtype)) if a.dtype.kind == "V" else a


# ---- in a child process ----

def _child(kind: str, function: Function, runs: list[Run], pipe: Any) -> None:
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for run in runs:
        try:
            pipe.send(_ask(kind, function(), run))
        except BaseException as e:  # noqa: BLE001  whatever the judge raises is its opinion
            lines = [line.strip() for line in str(e).splitlines() if line.strip()]
            errors = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception"))]
            text = errors[-1] if errors and "Traceback" in lines[0] else lines[0] if lines else ""
            pipe.send(("raises" if kind.startswith("interpret") else "rejects", f"{type(e).__name__}: {text}"[:300]))


def _ask(kind: str, fn: Any, run: Run) -> tuple[str, str]:
    import jax
    import jax.numpy as jnp

    arguments = [jnp.asarray(_load(path, dtype).astype(jnp.dtype(dtype))) for path, dtype in run.arguments]
    keywords = {k: jnp.dtype(v) if isinstance(v, str) else v for k, v in run.keywords.items()}
    if kind == "lowering":
        jax.export.export(jax.jit(lambda *a: fn(*a, **keywords)), platforms=["tpu"])(*arguments)
        return "accepts", ""
    if kind == "compiler":
        return _compile(fn, arguments, keywords)
    from jax.experimental.pallas import tpu as pltpu

    got = fn(*arguments, **keywords, interpret=True if kind == "interpret" else pltpu.InterpretParams())
    if run.want is None:
        return "runs", ""
    worst = 0.0
    for g, w in zip(got, run.want, strict=True):
        if w is not None:
            worst = max(worst, _distance(np.asarray(g, np.float64), _load(*w).astype(np.float64)))
    return ("equal" if worst < 2e-2 else "differs"), f"{worst:.0e}"


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference, in units of the root mean square of b."""
    finite = b[np.isfinite(b)]
    scale = float(np.sqrt(np.mean(finite ** 2))) if finite.size else 0.0
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0, np.abs(a - b)) / (scale or 1.0)
    return float(np.max(np.where(np.isnan(difference), np.inf, difference), initial=0))


def _compile(fn: Any, arguments: list[Any], keywords: dict[str, Any]) -> tuple[str, str]:
    import importlib.util

    import jax

    found = importlib.util.find_spec("libtpu")
    if not found or not found.submodule_search_locations:
        return "absent", "pip install libtpu to ask it"
    os.environ["TPU_SKIP_MDS_QUERY"] = "1"
    os.environ["TPU_LIBRARY_PATH"] = str(pathlib.Path(found.submodule_search_locations[0]) / "libtpu.so")
    from jax.experimental import topologies
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    devices = topologies.get_topology_desc("v5e:2x2", platform="tpu").devices
    sharding = NamedSharding(Mesh(np.array(devices[:1]), ("x",)), PartitionSpec())
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding) for a in arguments]
    jax.jit(lambda *a: fn(*a, **keywords), in_shardings=[sharding] * len(shapes)).lower(*shapes).compile()
    return "accepts", "v5e"



# ---- the judges ----

KINDS = {"JAX: TPU lowering": "lowering", "JAX: interpret=True": "interpret", "JAX: pltpu.InterpretParams()": "interpret_tpu", "TPU compiler": "compiler"}
INTERPRETERS = ("JAX: interpret=True", "JAX: pltpu.InterpretParams()")


def _answers(kind: str, function: Function, runs: list[Run], seconds: float) -> list[tuple[str, str]]:
    """What a judge says of the runs, in their order, as far as its time goes."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(kind, function, runs, theirs), daemon=True)
    process.start()
    theirs.close()
    answers: list[tuple[str, str]] = []
    end = time.monotonic() + seconds
    try:
        while len(answers) < len(runs) and ours.poll(max(0.0, end - time.monotonic())):
            answers.append(ours.recv())
    except EOFError:
        answers.append(("dies", "the process ended"))
    process.kill()
    return answers or [("hangs", f"no answer in {seconds:g} s")]


def _used(runs: list[Run], total: int) -> str:
    cases = len({r.case for r in runs})
    return f"{cases} of {total} cases, {len(runs)} run{'s' if len(runs) != 1 else ''}"


def _together(name: str, answers: list[tuple[str, str]], runs: list[Run], total: int) -> Opinion:
    """One opinion of many: the first one that objects, with its case."""
    seen = _used(runs[:len(answers)], total)
    for says in ("dies", "hangs", "raises", "differs"):
        for (said, detail), run in zip(answers, runs, strict=False):
            if said == says:
                about = f"by {detail} of the rms" if says == "differs" else detail
                return Opinion(name, says, f"at {run.text}: {about}; {seen}")
    distances = [detail for said, detail in answers if said == "equal"]
    if not distances:
        return Opinion(name, "runs", seen)
    return Opinion(name, "equal", f"{seen}; largest difference / rms {max(distances, key=float)}")


def _compiled(name: str, says: str, detail: str) -> Opinion:
    if "Unsupported TPU device kind" in detail:
        says, detail = "absent", "asks the device about blocks of rank 1, and there is none"
    return Opinion(name, says, detail)


# ---- tileproof ----

def emit(path: str) -> Function:
    """The Python that the program emits for the spec. Raises TileproofError."""
    emitted = binary.run("emit", "pallas", path)
    if emitted.returncode:
        raise TileproofError(emitted.stderr.strip())
    return Function(emitted.stdout, emitted.stdout.split("\ndef ", 1)[1].split("(", 1)[0])


def picked(report: dict[str, Any]) -> list[tuple[int, str]]:
    """Number and family of inputs of every run of the report's cases: each case
    on its first inputs, then the other families."""
    cases = [(n, c["inputs"]) for n, c in enumerate(report["cases"])]
    return [(n, f[0]) for n, f in cases if f] + [(n, family) for n, f in cases for family in f[1:]]


def execute(spec: dict[str, Any], path: str, function: Function, number: int, case: dict[str, Any], family: str,
            folder: pathlib.Path) -> Run | str:
    """Run a case of the report in the engine; the reason, when that is not possible."""
    dtypes = dict(part.split("=") for part in (case["dtypes"] or "").split(", ") if part)
    tables = [t for t in [*spec.get("scalar_prefetch", []), *spec.get("prepare", {}).get("inputs", [])] if function.takes_array(t["name"])]
    inputs = [i for i in spec.get("inputs", []) if "array" not in i]
    flags = ["--fill", family, "--seed", str(case["seed"])]
    flags += [f for k, v in case["sizes"].items() for f in ("--size", f"{k}={v}")] + [f for k, v in dtypes.items() for f in ("--dtype", f"{k}={v}")]
    if tables and case["tables"] is None:
        return "its tables are too large for the report"
    for t in tables:
        np.save(folder / f"{t['name']}.npy", np.array(case["tables"][t["name"]], t["dtype"]))
        flags += ["--input", f"{t['name']}={folder / t['name']}.npy"]
    given = spec["cases"][case["entry"]].get("inputs", {}) if case["entry"] is not None and family == "normal" else {}
    for name, file in given.items():
        flags += ["--input", f"{name}={pathlib.Path(path).parent / file}"]
    kept = [None if o.get("discard") else str(folder / f"{o['name']}.npy") for o in spec["outputs"]]
    for o, file in zip(inputs + spec["outputs"], [str(folder / f"{i['name']}.npy") for i in inputs] + kept, strict=True):
        flags += ["--output", f"{o['name']}={file}"] if file else []
    done = binary.run("run", "--unchecked", path, *flags)
    first = (done.stderr.strip().splitlines() or [""])[0]
    rule = first[5:10] if first.startswith("trap[") else ""
    if done.returncode and not rule:
        return first
    text = ", ".join([f"{k} = {v}" for k, v in case["sizes"].items()] + [f"{k}={v}" for k, v in dtypes.items()])
    keywords = {k: v for k, v in {**case["sizes"], **dtypes}.items() if function.takes(k)}
    arguments = [(str(folder / f"{o['name']}.npy"), dtypes.get(o["dtype"], o["dtype"])) for o in tables + inputs]
    want = [file and (file, dtypes.get(o["dtype"], o["dtype"])) for o, file in zip(spec["outputs"], kept, strict=True)]
    return Run(number, text + ("" if family == "normal" else f"{', ' if text else ''}{family} inputs"), arguments, keywords, None if rule else want, rule, first)


def _verified(report: dict[str, Any]) -> Opinion:
    """verify against the reference, on all of its cases."""
    e = report["equivalence"]
    bad = sorted({f["rule"] for f in report["findings"] if f["verdict"] == "violated"})
    count = f"{e['tested']} of {len(e['cases'])} cases equal to the reference"
    if e["verdict"] == "violated":
        return Opinion("tileproof verify", "rejects", f"{', '.join(bad)}; {count}")
    return Opinion("tileproof verify", "accepts" if e["tested"] else "unknown", count)


def _ran(runs: list[Run], reasons: list[str], total: int) -> Opinion:
    trapped = [r for r in runs if r.want is None]
    left = f"; left out: {reasons[0]}" if reasons else ""
    if trapped:
        return Opinion("tileproof run", "traps", f"at {trapped[0].text}: {trapped[0].message}; {_used(runs, total)}{left}")
    return Opinion("tileproof run", "runs", _used(runs, total) + left)


def judge(path: str, seconds: float = SECONDS, most: int = 1 << 30) -> tuple[list[Opinion], list[str]]:
    """Opinions, and remarks on differences that are known. `seconds`: for each
    of JAX's judges, whatever that leaves is not judged; `most`: runs at most."""
    lint, spec = binary.report("lint", path), json.loads(pathlib.Path(path).read_text())
    bad = sorted({f["rule"] for s in lint["specs"] for f in s["findings"] if f["verdict"] == "violated"})
    opinions = [Opinion("tileproof lint, all sizes", "rejects" if bad else "accepts",
                        ", ".join(bad) if bad else f"{lint['summary']['proven']} proven, {lint['summary']['unknown']} unknown")]
    function, report = emit(path), binary.report("verify", path)["specs"][0]
    if not report["equivalence"] or not report["equivalence"]["cases"]:
        return opinions, ["no case was picked: `tileproof verify` says why"]
    opinions.append(_verified(report))
    cases = report["equivalence"]["cases"]
    runs: list[Run] = []
    reasons: list[str] = []
    with tempfile.TemporaryDirectory() as room:
        for n, (number, family) in enumerate(picked(report["equivalence"])[:most]):
            folder = pathlib.Path(room) / str(n)
            folder.mkdir()
            run = execute(spec, path, function, number, cases[number], family, folder)
            if isinstance(run, Run):
                runs.append(run)
            else:
                reasons.append(run)
        if not runs:
            raise TileproofError(f"{path}: no case could be run: {reasons[0]}")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asked = {name: pool.submit(_answers, kind, function, runs if name in INTERPRETERS else runs[:1], seconds) for name, kind in KINDS.items()}
            answers = {name: future.result() for name, future in asked.items()}
    opinions.append(_ran(runs, reasons, len(cases)))
    for name, said in answers.items():
        opinions.append(_together(name, said, runs, len(cases)) if name in INTERPRETERS else _compiled(name, *said[0]))
    return opinions, _remarks(opinions, answers, runs)


def _remarks(opinions: list[Opinion], answers: dict[str, list[tuple[str, str]]], runs: list[Run]) -> list[str]:
    remarks = []
    for rule in sorted({r.rule for r in runs if r.rule}):
        where = [n for n, r in enumerate(runs) if r.rule == rule]
        through = [name for name, said in answers.items() if any(n < len(said) and said[n][0] in ("runs", "accepts") for n in where)]
        if through:
            remarks.append(f"{rule} is said by nobody else: {', '.join(through)} let it pass"
                           + (f"; tests/semantics/{KNOWN[rule]}.tile.json records it" if rule in KNOWN else ""))
    if any(o.says == "differs" for o in opinions):
        remarks.append("results differ although nothing trapped: please report this kernel")
    return remarks


def print_matrix(path: str, seconds: float = SECONDS, most: int = 1 << 30) -> int:
    """Print what each judge says of the spec. Returns the exit code."""
    opinions, remarks = judge(path, seconds, most)
    width = max(len(o.judge) for o in opinions)
    print(path)
    for o in opinions:
        print(f"  {o.judge:<{width}}  {o.says:<8} {o.detail}".rstrip())
    for r in remarks:
        print(f"  note: {r}")
    objects = any(o.says in ("rejects", "traps") for o in opinions if o.judge.startswith("tileproof"))
    return 1 if objects or any(o.says == "differs" for o in opinions) else 0
