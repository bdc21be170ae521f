"""`emit pallas` on the gallery and on every example of tests/semantics: the
Python runs under interpret=True with the results of the checked engine, and
comes back through the importer with the same windows and results."""

import importlib.util
import json
import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.pallas.mosaic import tpu_info
from jax.experimental.pallas import tpu as pltpu

import tileproof
from tileproof import binary, importer

ROOT = pathlib.Path(__file__).resolve().parents[2]
GALLERY = sorted(ROOT.glob("examples/**/*.tile.json"))
GALLERY = [p for p in GALLERY if "broken" not in p.parts]
SEMANTICS = [p for p in sorted(ROOT.glob("tests/semantics/*.tile.json"))
             if any(o.get("agrees") for o in json.loads(p.read_text()).get("x-jax", {}).values())]

KEYS = importer.WORDS | {
    "tileproof", "grid", "axis", "steps", "semantics", "parallel", "arbitrary", "inputs", "outputs", "scratch", "name", "dtype", "shape", "block_shape",
    "pipelines", "lookahead", "index_map", "memory_space", "smem", "vmem", "alias", "buffers", "discard", "element", "padding", "kernel", "scalar_prefetch", "contents", "true"}


def emitted(path, folder):
    done = binary.run("emit", "pallas", str(path))
    assert done.returncode == 0, done.stderr
    file = folder / f"{path.name.split('.')[0]}.py"
    file.write_text(done.stdout)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = [v for k, v in vars(module).items() if callable(v) and getattr(v, "__module__", None) == file.stem]
    return functions[-1]


@pytest.fixture(autouse=True)
def chip(monkeypatch):
    """Tracing a pipeline asks which TPU this is."""
    monkeypatch.setitem(tpu_info.registry, "cpu", lambda: tpu_info._get_tpu_info_impl(tpu_info.ChipVersion.TPU_V5E, 1))


def test_a_hostile_description_stays_text(tmp_path):
    spec = {"tileproof": 1, "name": "f", "description": 'a"""\nraise SystemExit("ran")\n"""\\', "inputs": [{"name": "x", "dtype": "float32", "shape": [8, 128]}],
            "outputs": [{"name": "o", "dtype": "float32", "shape": [8, 128]}], "kernel": ["o[...] = x[...]"]}
    path = tmp_path / "f.tile.json"
    path.write_text(json.dumps(spec))
    assert callable(emitted(path, tmp_path))


def test_a_check_alone_under_a_condition_is_a_comment_and_a_statement(tmp_path):
    spec = {"tileproof": 1, "name": "f", "grid": [{"axis": "i", "steps": 1}], "inputs": [{"name": "x", "dtype": "float32", "shape": [8, 128]}],
            "outputs": [{"name": "o", "dtype": "float32", "shape": [8, 128]}], "kernel": ["if i == 0:", "    check(True, 'nothing to do')", "o[...] = x[...]"]}
    path = tmp_path / "f.tile.json"
    path.write_text(json.dumps(spec))
    assert callable(emitted(path, tmp_path))


def values(nested, dtype):
    flat = np.array(nested, dtype=object)
    return jnp.asarray(np.vectorize(lambda v: float(v) if isinstance(v, str) else v, otypes=[object])(flat).astype(dtype) if flat.size else flat.astype(dtype))


@pytest.mark.parametrize("path", SEMANTICS, ids=lambda p: p.name.split(".")[0])
def test_semantics(path, tmp_path):
    spec = json.loads(path.read_text())
    test = spec["x-test"]
    fn = emitted(path, tmp_path)
    given = [*spec.get("scalar_prefetch", []), *spec.get("prepare", {}).get("inputs", [])]  # what is prepared is computed
    tables = [values(test["tables"][t["name"]], t["dtype"]) for t in given if t["name"] in test.get("tables", {})]
    names = {k: v for k, v in spec.get("sizes", {}).items() if isinstance(v, int)} | test.get("sizes", {})
    names |= {k: eval(v, {"cdiv": lambda a, b: -(-a // b)}, names) for k, v in spec.get("sizes", {}).items() if isinstance(v, str)}
    inputs = [values(test["inputs"][i["name"]], i["dtype"]).reshape([eval(str(d), {}, names) for d in i["shape"]]) for i in spec.get("inputs", []) if "array" not in i]
    try:
        got = fn(*tables, *inputs, **{k: v for k, v in test.get("sizes", {}).items() if k in fn.__kwdefaults__ or k in needed(fn)}, interpret=True)
    except Exception as e:
        if spec["x-jax"].get("interpret", {}).get("raises"):
            pytest.skip("interpret=True refuses this one")
        raise e
    scratch = any(t.get("mutable") for t in spec.get("scalar_prefetch", []))  # where the record is of prefetched refs, which interpret=True forgets
    if not scratch and "interpret" in spec["x-jax"] and not spec["x-jax"]["interpret"].get("agrees"):
        pytest.skip("interpret=True disagrees, as recorded")
    for o, g in zip(spec["outputs"], got):
        if o.get("discard"):
            continue
        want = np.asarray(values(test["outputs"][o["name"]], "float64"))
        np.testing.assert_allclose(np.asarray(g, np.float64), want, rtol=1e-6, err_msg=o["name"])


def needed(fn):
    return [n for n, p in __import__("inspect").signature(fn).parameters.items() if p.default is p.empty]


def up_to_names(spec):
    """Text of a spec whose own names are numbered as they appear."""
    names = {}
    text = json.dumps({k: v for k, v in spec.items() if k not in ("x-python", "name")})
    return re.sub(r"[A-Za-z_]\w*", lambda m: m[0] if m[0] in KEYS else names.setdefault(m[0], f"n{len(names)}"), text)


def run_here(path, spec, arrays, tables, sizes, folder, *flags):
    arguments = [*flags]
    for name, a in {**tables, **arrays}.items():
        np.save(folder / f"{name}.npy", a if a.dtype.isbuiltin == 1 else a.view(f"V{a.dtype.itemsize}"))
        arguments += ["--input", f"{name}={folder / name}.npy"]
    for name, v in sizes.items():
        arguments += ["--size", f"{name}={v}"]
    for o in spec["outputs"]:
        arguments += ["--output", f"{o['name']}={folder / o['name']}.out.npy"]
    done = binary.run("run", str(path), *arguments)
    assert done.returncode == 0, done.stderr
    return [np.load(folder / f"{o['name']}.out.npy") for o in spec["outputs"]]


@pytest.mark.parametrize("path", GALLERY, ids=lambda p: p.name.split(".")[0])
def test_gallery(path, tmp_path):
    spec = json.loads(path.read_text())
    case = spec.get("cases", [{}])[0]
    sizes = {k: v for k, v in spec["sizes"].items() if isinstance(v, int)}
    sizes |= {k: v["in"][-1] for k, v in spec["sizes"].items() if isinstance(v, dict) and "in" in v}
    sizes |= {k: v.get("multiple_of", 1) * 100 + v.get("min", 1) - v.get("min", 1) % v.get("multiple_of", 1) for k, v in spec["sizes"].items() if isinstance(v, dict) and "in" not in v}
    sizes |= case.get("sizes", {})
    dtypes = {name: "float32" if "float32" in choices else choices[0] for name, choices in spec.get("dtypes", {}).items()}
    names = {**sizes, "cdiv": lambda a, b: -(-a // b)}
    for _ in spec["sizes"]:  # derived ones may wait for each other
        for k, v in spec["sizes"].items():
            if isinstance(v, str):
                try:
                    names[k] = eval(v, names)
                except NameError:
                    pass
    rng = np.random.default_rng(0)

    def shape(o):
        return tuple(eval(str(d), names) for d in o["shape"])

    def dtype(o):
        return np.dtype(jnp.dtype(dtypes.get(o["dtype"], o["dtype"])))

    tables = {t["name"]: np.array(case["tables"][t["name"]], t["dtype"]) for t in spec.get("scalar_prefetch", [])}
    arrays = {o["name"]: (rng.standard_normal(shape(o)) * (20 if dtype(o).kind in "iu" else 1)).astype(dtype(o)) for o in spec["inputs"]}
    choices = {k: v for k, v in sizes.items() if isinstance(spec["sizes"].get(k), dict)}
    want = [w.view(dtype(o)) if w.dtype.kind == "V" else w for o, w in zip(spec["outputs"], run_here(path, spec, arrays, tables, choices, tmp_path))]
    fn = emitted(path, tmp_path)
    keywords = {k: v for k, v in choices.items() if k in (fn.__kwdefaults__ or {}) or k in needed(fn)}
    # interpret=True does not trace the blocks at the edge of a pipeline, whose sizes are computed
    interpret = pltpu.InterpretParams(out_of_bounds_reads="uninitialized") if spec.get("pipelines") else True
    got = fn(*map(jnp.asarray, tables.values()), *map(jnp.asarray, arrays.values()), **keywords, interpret=interpret)
    for o, g, w in zip(spec["outputs"], got, want):
        if not o.get("discard"):
            scale = float(np.sqrt(np.nanmean(np.square(w.astype(np.float64))))) or 1.0
            valid = np.isfinite(w.astype(np.float64)) if o.get("valid") else np.ones(w.shape, bool)
            digits = 2e-4 if w.dtype.name != "bfloat16" else 2**-7
            np.testing.assert_allclose(np.asarray(g, np.float64)[valid], w.astype(np.float64)[valid], rtol=digits, atol=2e-4 * scale, err_msg=o["name"])
    back = lambda *a: fn(*a, **keywords)  # noqa: E731
    report = tileproof.check(back, *map(jnp.asarray, tables.values()), *map(jnp.asarray, arrays.values()), target=spec.get("target"))
    assert report.ok, report
    again = report.specs[0]
    for key in ("inputs", "outputs"):
        for o, i in zip(spec.get(key, []), again[key]):
            assert i["shape"] == list(shape(o)), o["name"]
    round_trips = [again]  # what was imported comes back as it was; once more, since helpers like silu are spelled out first
    for n in (1, 2):
        copy = tmp_path / f"again{n}.tile.json"
        copy.write_text(binary.text_of(round_trips[-1]))
        round_trips += tileproof.from_pallas(emitted(copy, tmp_path), *map(jnp.asarray, tables.values()), *map(jnp.asarray, arrays.values()))
    assert up_to_names(round_trips[2]) == up_to_names(round_trips[1])
    if not any(o.get("valid") for o in spec["outputs"]):
        tileproof.assert_equivalent(back, lambda *_: [jnp.asarray(w.astype(np.float32)) for w in want], *map(jnp.asarray, tables.values()), *map(jnp.asarray, arrays.values()), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("path", GALLERY, ids=lambda p: p.name.split(".")[0])
def test_gallery_lowers_for_tpu(path, tmp_path):
    """Legal by TP2xx, so JAX's TPU lowering accepts it."""
    spec = json.loads(path.read_text())
    if spec.get("x-lowering"):
        pytest.skip(spec["x-lowering"])
    fn = emitted(path, tmp_path)
    shapes = {k: v["in"][-1] if isinstance(v, dict) and "in" in v else v for k, v in spec["sizes"].items()}
    names = {k: v if isinstance(v, int) else 512 for k, v in shapes.items()}
    names["cdiv"] = lambda a, b: -(-a // b)
    for _ in spec["sizes"]:
        for k, v in spec["sizes"].items():
            if isinstance(v, str):
                names[k] = eval(v, names)
    dtypes = {name: choices[-1] for name, choices in spec.get("dtypes", {}).items()}
    arguments = [jax.ShapeDtypeStruct(tuple(eval(str(d), names) for d in o["shape"]), jnp.dtype(dtypes.get(o["dtype"], o["dtype"])))
                 for o in spec.get("scalar_prefetch", []) + spec["inputs"]]
    keywords = {k: names[k] for k in names if k in (fn.__kwdefaults__ or {}) or k in needed(fn)}
    try:
        jax.export.export(jax.jit(lambda *a: fn(*a, **keywords)), platforms=["tpu"])(*arguments)
    except ValueError as e:
        if "Unsupported TPU device kind" in str(e):
            pytest.skip("the lowering of blocks of rank 1 asks the device, and there is none")
        raise
