"""Who says what about one kernel: tileproof beside JAX's judges.

The spec is emitted as Python and shown to JAX's TPU lowering, to its two
interpreters and, where libtpu is installed, to the TPU compiler. Every judge
works in a child process with a time limit.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import multiprocessing
import os
import pathlib
import tempfile
from typing import Any

import numpy as np

from . import binary
from .errors import TileproofError

SECONDS = 120
ARITHMETIC = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Constant, ast.operator, ast.unaryop,
              ast.boolop, ast.cmpop, ast.expr_context)
# Rules that tileproof traps and JAX's interpreters run through: the example that records it.
KNOWN = {
    "TP101": "machine_window_past_end", "TP102": "slice_out_of_bounds", "TP103": "prefetch_outside_the_table",
    "TP401": "machine_half_written_block", "TP402": "machine_return_to_window", "TP403": "machine_parallel_race",
    "TP404": "machine_scratch_undefined_at_start", "TP405": "machine_alias_read_too_soon", "TP406": "machine_element_outputs_overlap",
    "TP501": "machine_padding_reaches_sum", "TP503": "undefined_float_to_int",
}


@dataclasses.dataclass
class Opinion:
    judge: str
    says: str  # accepts, rejects, equal, differs, traps, raises, hangs, dies, absent
    detail: str = ""


def integer(e: Any, names: dict[str, int]) -> int:
    """Value of an integer expression over sizes."""
    functions = {"cdiv": lambda a, b: -(-a // b), "align_up": lambda a, b: -(-a // b) * b, "next_power_of_2": lambda a: 1 << max(a - 1, 0).bit_length(),
                 "min": min, "max": max}
    if isinstance(e, int):
        return e
    tree = ast.parse(e, mode="eval")
    for node in ast.walk(tree):  # a spec may come from anywhere
        if not isinstance(node, ARITHMETIC):
            raise TileproofError(f"not an integer expression over sizes: {e}")
    return int(eval(compile(tree, "<spec>", "eval"), {"__builtins__": {}}, {**functions, **names}))


def sizes_of(spec: dict[str, Any]) -> dict[str, int]:
    """Sizes of the first case; what it leaves open is small and one past a multiple."""
    case = (spec.get("cases") or [{}])[0].get("sizes", {})
    names = {k: v for k, v in spec.get("sizes", {}).items() if isinstance(v, int)}
    for k, v in spec.get("sizes", {}).items():
        if isinstance(v, dict):
            names[k] = v["in"][0] if "in" in v else min(v.get("multiple_of", 1) * max(1, 130 // v.get("multiple_of", 1)), v.get("max", 1 << 30))
    names.update(case)
    waiting = {k: v for k, v in spec.get("sizes", {}).items() if isinstance(v, str)}
    for _ in range(len(waiting)):
        for k, v in list(waiting.items()):
            try:
                names[k] = integer(v, names)
                del waiting[k]
            except NameError:
                pass
    return names


@dataclasses.dataclass
class Case:
    """One call: the emitted source, its arguments, what tileproof made of it."""

    source: str
    function: str
    arguments: list[np.ndarray]
    dtypes: list[str]
    keywords: dict[str, int]
    want: list[np.ndarray] | None
    kept: list[bool]


def _typed(a: np.ndarray, dtype: str) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(a.astype(jnp.dtype(dtype)))


def _function(case: Case) -> Any:
    scope: dict[str, Any] = {}
    exec(compile(case.source, "<emitted>", "exec"), scope)
    return scope[case.function]


def _child(kind: str, case: Case, pipe: Any) -> None:
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        pipe.send(_ask(kind, case))
    except BaseException as e:  # noqa: BLE001  whatever the judge raises is its opinion
        lines = [line.strip() for line in str(e).splitlines() if line.strip()]
        errors = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception"))]
        text = errors[-1] if errors and "Traceback" in lines[0] else lines[0] if lines else ""
        pipe.send(("raises" if kind.startswith("interpret") else "rejects", f"{type(e).__name__}: {text}"[:300]))


def _ask(kind: str, case: Case) -> tuple[str, str]:
    import jax

    fn = _function(case)
    arguments = [_typed(a, d) for a, d in zip(case.arguments, case.dtypes, strict=True)]
    if kind == "lowering":
        jax.export.export(jax.jit(lambda *a: fn(*a, **case.keywords)), platforms=["tpu"])(*arguments)
        return "accepts", ""
    if kind == "compiler":
        return _compile(fn, arguments, case)
    from jax.experimental.pallas import tpu as pltpu

    got = fn(*arguments, **case.keywords, interpret=True if kind == "interpret" else pltpu.InterpretParams())
    if case.want is None:
        return "runs", ""
    worst = 0.0
    for g, w, kept in zip(got, case.want, case.kept, strict=True):
        if not kept:
            continue
        a, b = np.asarray(g, np.float64), w.astype(np.float64)
        scale = float(np.sqrt(np.nanmean(b ** 2))) or 1.0
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        difference = np.where(same, 0, np.abs(a - b)) / scale
        worst = max(worst, float(np.max(np.where(np.isnan(difference), np.inf, difference), initial=0)))
    return ("equal" if worst < 2e-2 else "differs"), f"largest difference / rms {worst:.0e}"


def _compile(fn: Any, arguments: list[Any], case: Case) -> tuple[str, str]:
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
    jax.jit(lambda *a: fn(*a, **case.keywords), in_shardings=[sharding] * len(shapes)).lower(*shapes).compile()
    return "accepts", "v5e"


def _opinion(name: str, kind: str, case: Case) -> Opinion:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(kind, case, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        says, detail = ours.recv() if ours.poll(SECONDS) else ("hangs", f"no answer in {SECONDS} s")
    except EOFError:
        says, detail = "dies", "the process ended"
    if "Unsupported TPU device kind" in detail:
        says, detail = "absent", "asks the device about blocks of rank 1, and there is none"
    process.kill()
    return Opinion(name, says, detail)


def prepare(path: str, folder: pathlib.Path) -> tuple[Case, list[Opinion], str]:
    """The case to judge, and tileproof's own opinions."""
    spec = json.loads(pathlib.Path(path).read_text())
    emitted = binary.run("emit", "pallas", path)
    if emitted.returncode:
        raise TileproofError(emitted.stderr.strip())
    names = sizes_of(spec)
    case = (spec.get("cases") or [{}])[0]
    dtypes = {k: v[-1] for k, v in spec.get("dtypes", {}).items()}
    rng = np.random.default_rng(0)
    arguments, kinds, flags = [], [], []
    for t in spec.get("scalar_prefetch", []):
        contents = t.get("contents", case.get("tables", {}).get(t["name"]))
        if contents is None:
            raise TileproofError(f"the table `{t['name']}` has no contents: give \"tables\" in the first case of {path}")
        arguments.append(np.array(contents, t["dtype"]))
        kinds.append(t["dtype"])
    for o in spec.get("inputs", []):
        dtype = dtypes.get(o["dtype"], o["dtype"])
        values = rng.standard_normal(tuple(integer(d, names) for d in o["shape"]))
        arguments.append((values * 20).astype(dtype) if dtype.startswith(("int", "uint")) else values.astype("float32"))
        kinds.append(dtype)
    everything = spec.get("scalar_prefetch", []) + spec.get("inputs", [])
    for o, a, d in zip(everything, arguments, kinds, strict=True):
        array = a
        if d == "bfloat16":
            array = (a.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view("V2")
            a[...] = ((a.view(np.uint32) >> 16) << 16).view(np.float32)
        np.save(folder / f"{o['name']}.npy", array)
        flags += ["--input", f"{o['name']}={folder / o['name']}.npy"]
    for k, v in spec.get("sizes", {}).items():
        if isinstance(v, dict):
            flags += ["--size", f"{k}={names[k]}"]
    for k, v in dtypes.items():
        flags += ["--dtype", f"{k}={v}"]
    kept = [not o.get("discard") for o in spec["outputs"]]
    for o, keep in zip(spec["outputs"], kept, strict=True):
        flags += ["--output", f"{o['name']}={folder / o['name']}.out.npy"] if keep else []
    report = binary.report("lint", path)["summary"]
    bad = sorted({f["rule"] for s in binary.report("lint", path)["specs"] for f in s["findings"] if f["verdict"] == "violated"})
    opinions = [Opinion("tileproof lint, all sizes", "rejects" if bad else "accepts",
                        ", ".join(bad) if bad else f"{report['proven']} proven, {report['unknown']} unknown")]
    done = binary.run("run", "--unchecked", path, *flags)
    want, rule = None, ""
    if done.returncode == 0:
        want = []
        for o, keep in zip(spec["outputs"], kept, strict=True):
            a = np.load(folder / f"{o['name']}.out.npy") if keep else np.zeros(0, np.float32)
            want.append((a.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if a.dtype.kind == "V" else a)
        opinions.append(Opinion("tileproof run, this case", "runs"))
    else:
        first = done.stderr.strip().splitlines()[0]
        rule = first[5:10] if first.startswith("trap[") else ""
        opinions.append(Opinion("tileproof run, this case", "traps" if rule else "rejects", first))
    head = emitted.stdout.split("\ndef ", 1)[1]
    keywords = {k: v for k, v in names.items() if f" {k}=" in head.split("\n", 1)[0] or f" {k}," in head.split("\n", 1)[0].split("*", 1)[1]}
    shown = ", ".join(f"{k} = {names[k]}" for k, v in spec.get("sizes", {}).items() if isinstance(v, dict))
    return Case(emitted.stdout, head.split("(", 1)[0], arguments, kinds, keywords, want, kept), opinions, f"{shown}|{rule}"


def judge(path: str) -> tuple[list[Opinion], str, list[str]]:
    """Opinions, the case as text, and remarks on differences that are known."""
    with tempfile.TemporaryDirectory() as folder:
        case, opinions, text = prepare(path, pathlib.Path(folder))
    shown, rule = text.split("|")
    opinions += [_opinion("JAX: TPU lowering", "lowering", case), _opinion("JAX: interpret=True", "interpret", case),
                 _opinion("JAX: pltpu.InterpretParams()", "interpret_tpu", case), _opinion("TPU compiler", "compiler", case)]
    remarks = []
    through = [o.judge for o in opinions[2:] if o.says in ("runs", "equal", "differs", "accepts")]
    if rule and through:
        remarks.append(f"{rule} is said by nobody else: {', '.join(through)} let it pass"
                       + (f"; tests/semantics/{KNOWN[rule]}.tile.json records it" if rule in KNOWN else ""))
    if any(o.says == "differs" for o in opinions):
        remarks.append("results differ although nothing trapped: please report this kernel")
    return opinions, shown, remarks


def print_matrix(path: str) -> int:
    opinions, shown, remarks = judge(path)
    width = max(len(o.judge) for o in opinions)
    print(f"{path}{f'   at {shown}' if shown else ''}")
    for o in opinions:
        print(f"  {o.judge:<{width}}  {o.says:<8} {o.detail}".rstrip())
    for r in remarks:
        print(f"  note: {r}")
    return 1 if any(o.says in ("rejects", "traps") for o in opinions[:2]) else 0
