#!/usr/bin/env python3
"""Public Pallas kernels through tileproof: imported, linted, executed.

    corpus.py [--write] [--source NAME…] [--only TEXT…]    run with build/venv-corpus (tools/corpus.sh)

Traces the kernels of jax.experimental.pallas.ops, tokamax, and the packages of
tools/corpus.txt; every pallas_call without manual copies is imported as a spec,
linted, and executed in the checked engine on the arrays of that call; results
are compared with interpret=True. --write updates the tables in docs/CORPUS.md.
Exit 1 when a kernel that can be imported is accused or differs.
"""

import argparse
import dataclasses
import functools
import importlib
import json
import os
import pathlib
import re
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("TILEPROOF", str(ROOT / "build" / "tileproof"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from tileproof import binary, capture, importer  # noqa: E402
from tileproof import jaxpr as jx  # noqa: E402
from tileproof.errors import Unsupported  # noqa: E402

import corpus_packages  # noqa: E402

PAGE = ROOT / "docs" / "CORPUS.md"


def normal(seed, *shape, dtype=jnp.float32):
    return jax.random.normal(jax.random.PRNGKey(seed), shape, jnp.float32).astype(dtype)


def grad(f, n):
    return jax.grad(lambda *a: jnp.sum(f(*a).astype(jnp.float32) * jnp.cos(jnp.arange(a[0].size, dtype=jnp.float32)).reshape(a[0].shape)), argnums=tuple(range(n)))


# ---- jax.experimental.pallas.ops.tpu ----

def jax_cases():
    fa = importlib.import_module("jax.experimental.pallas.ops.tpu.flash_attention")
    mm = importlib.import_module("jax.experimental.pallas.ops.tpu.matmul")
    mb = importlib.import_module("jax.experimental.pallas.ops.tpu.megablox.gmm")
    sk = importlib.import_module("jax.experimental.pallas.ops.tpu.splash_attention.splash_attention_kernel")
    sm = importlib.import_module("jax.experimental.pallas.ops.tpu.splash_attention.splash_attention_mask")
    example = importlib.import_module("jax.experimental.pallas.ops.tpu.example_kernel")
    q, k, v = (normal(s, 1, 2, 256, 128) for s in range(3))
    ids = jnp.asarray(np.repeat([[0, 1]], 128, 1).reshape(1, 256), jnp.int32)
    segments = fa.SegmentIds(ids, ids)
    bias = normal(9, 1, 2, 256, 256)
    yield "example double", example.double, (normal(0, 8, 128),)
    yield "matmul", functools.partial(mm.matmul, block_shape=(128, 128), block_k=128), (normal(0, 256, 256), normal(1, 256, 256))
    yield "matmul bfloat16", functools.partial(mm.matmul, block_shape=(128, 256), block_k=128), (normal(0, 256, 256, dtype=jnp.bfloat16), normal(1, 256, 256, dtype=jnp.bfloat16))
    for name, options in {"causal": {"causal": True}, "full": {}, "segments": {"causal": True, "segment_ids": segments}, "scaled": {"sm_scale": 0.1}}.items():
        f = functools.partial(fa.flash_attention, **options)
        yield f"flash {name}", f, (q, k, v)
        yield f"flash {name}, gradients", grad(f, 3), (q, k, v)
    yield "flash bias", lambda a, b, c, d: fa.flash_attention(a, b, c, d), (q, k, v, bias)
    yield "flash short", functools.partial(fa.flash_attention, causal=True), tuple(normal(s, 1, 1, 128, 128) for s in range(3))
    sizes = jnp.array([100, 60, 0, 96], jnp.int32)
    for dtype in (jnp.float32, jnp.bfloat16):
        gmm = functools.partial(mb.gmm, preferred_element_type=jnp.float32, tiling=(128, 128, 128))
        kind = jnp.dtype(dtype).name
        yield f"gmm {kind}", lambda a, b, g=gmm: g(a, b, sizes), (normal(0, 256, 256, dtype=dtype), normal(1, 4, 256, 128, dtype=dtype))
        yield f"gmm {kind}, rhs transposed", lambda a, b, g=gmm: g(a, b, sizes, transpose_rhs=True), (normal(0, 256, 256, dtype=dtype), normal(1, 4, 128, 256, dtype=dtype))
        tgmm = functools.partial(mb.tgmm, preferred_element_type=jnp.float32, tiling=(128, 128, 128))
        yield f"tgmm {kind}", lambda a, b, g=tgmm: g(a, b, sizes), (normal(0, 256, 256, dtype=dtype), normal(1, 256, 128, dtype=dtype))
    yield "gmm, ragged columns", lambda a, b: mb.gmm(a, b, sizes, preferred_element_type=jnp.float32, tiling=(128, 128, 128)), (normal(0, 256, 200), normal(1, 4, 200, 160))
    mask = np.tril(np.ones((256, 256), bool))
    mask[200:, :50] = False
    masks = {"causal": sm.CausalMask((256, 256)), "local": sm.LocalMask((256, 256), (64, 0), 0), "full": sm.FullMask((256, 256)), "array": sm.NumpyMask(mask)}
    blocks = sk.BlockSizes(**{f"block_{b}": 128 for b in ("q", "kv", "kv_compute", "q_dkv", "kv_dkv", "kv_dkv_compute", "q_dq", "kv_dq")})
    h = tuple(normal(s, 2, 256, 128) * 0.3 for s in range(3))
    for name, m in masks.items():
        for mqa in (False, True):
            make = sk.make_splash_mqa if mqa else sk.make_splash_mha
            kernel = make(sm.MultiHeadMask([m, m]), head_shards=1, q_seq_shards=1, block_sizes=blocks)
            arrays = (h[0], h[1][0], h[2][0]) if mqa else h
            yield f"splash {'mqa' if mqa else 'mha'} {name}, gradients", grad(lambda a, b, c, f=kernel: f(a, b, c), 3), arrays
    kernel = sk.make_splash_mha(sm.MultiHeadMask([masks["causal"]] * 2), head_shards=1, q_seq_shards=1, block_sizes=blocks, attn_logits_soft_cap=30.0)
    yield "splash soft cap, gradients", grad(lambda a, b, c: kernel(a, b, c), 3), h
    yield "splash segments", lambda a, b, c: kernel(a, b, c, sk.SegmentIds(ids[0], ids[0])), h
    philox = importlib.import_module("jax.experimental.pallas.ops.tpu.random.philox")
    threefry = importlib.import_module("jax.experimental.pallas.ops.tpu.random.threefry")
    key = jnp.array([7, 11], jnp.uint32)
    yield "philox", lambda k: philox.philox_4x32_kernel(k, (256, 256), (256, 256), (128, 256)), (key,)
    yield "threefry", lambda k: threefry.threefry_2x32_count(k, (256, 256), (256, 256), (128, 256)), (key,)


# ---- tokamax ----

def tokamax_cases():
    ops = "tokamax._src.ops."
    xent = importlib.import_module(ops + "linear_softmax_cross_entropy_loss.pallas_mosaic_tpu_kernel")
    ragged = importlib.import_module(ops + "ragged_dot.pallas_mosaic_tpu_kernel")
    splash = importlib.import_module(ops + "experimental.tpu.splash_attention.splash_attention_kernel")
    sm = importlib.import_module(ops + "experimental.tpu.splash_attention.splash_attention_mask")
    base = importlib.import_module(ops + "experimental.tpu.splash_attention.base")
    x, w, labels = normal(0, 256, 256) * 0.1, normal(1, 256, 512) * 0.1, jnp.arange(256, dtype=jnp.int32)
    blocks = {"b_block_size": 128, "h_block_size": 128, "v_block_size": 128}
    for reduction in ("sum", "mean"):
        yield f"cross entropy {reduction}", functools.partial(xent.linear_softmax_cross_entropy_loss_fwd_pallas_mosaic_tpu, reduction=reduction, **blocks), (x, labels, w)
    yield "cross entropy, gradients", functools.partial(xent.linear_softmax_cross_entropy_loss_bwd_pallas_mosaic_tpu, **blocks), (jnp.float32(1), jnp.full(256, 6.2, jnp.float32), x, labels, w)
    sizes = jnp.array([100, 60, 0, 96], jnp.int32)
    yield "gmm", lambda a, b: ragged.gmm(a, b, sizes, tiling=(128, 128, 128), preferred_element_type=np.dtype("float32")), (normal(0, 256, 256), normal(1, 4, 256, 128))
    yield "tgmm", lambda a, b: ragged.tgmm(a, b, sizes, tiling=(128, 128, 128), preferred_element_type=np.dtype("float32")), (normal(0, 256, 256), normal(1, 256, 128))
    mask = np.tril(np.ones((256, 256), bool))
    mask[200:, :50] = False
    ids = np.repeat([0, 1], 128).astype(np.int32)
    h = tuple(normal(s, 2, 256, 128) * 0.3 for s in range(3))
    config = splash.SplashConfig(block_q=128, block_kv=128, block_kv_compute=128, block_q_dkv=128, block_kv_dkv=128, block_kv_dkv_compute=128)
    masks = {"causal": sm.CausalMask((256, 256)), "local": sm.LocalMask((256, 256), (64, 0), 0), "full": sm.FullMask((256, 256)), "array": sm.NumpyMask(mask)}
    for name, m in masks.items():
        for mqa in (False, True):
            attend = (splash.make_splash_mqa_single_device if mqa else splash.make_splash_mha_single_device)(m, config=config)
            arrays = (h[0], h[1][0], h[2][0]) if mqa else h
            kind = "mqa" if mqa else "mha"
            yield f"splash {kind} {name}", attend, arrays
            yield f"splash {kind} {name}, gradients", grad(lambda a, b, c, f=attend: f(a, b, c), 3), arrays
            if name == "causal":
                segments = base.SegmentIds(ids, ids)
                yield f"splash {kind} segments, gradients", grad(lambda a, b, c, f=attend, s=segments: f(a, b, c, s), 3), arrays


@dataclasses.dataclass
class Row:
    case: str
    kernel: str = ""
    imported: str = "yes"
    statements: int = 0
    verdicts: dict = dataclasses.field(default_factory=dict)
    open: list = dataclasses.field(default_factory=list)
    executed: str = ""
    bad: bool = False


def uses_dma(j):
    return any(e.primitive.name in ("dma_start", "semaphore_wait", "semaphore_signal") or any(map(uses_dma, jx.inner_jaxprs(e)))
               for e in jx.equations(j))


def for_gpus(params):
    """Compiler parameters of Triton, which no spec has."""
    given = params.values() if isinstance(params, dict) else [params]
    return any(".triton." in type(v).__module__ for v in given)


def execute(spec, call, folder):
    """Largest difference from interpret=True, relative to each result's root mean square."""
    arguments = []
    names = [t["name"] for t in spec.get("scalar_prefetch", [])] + [i["name"] for i in spec.get("inputs", [])]
    for name, value in zip(names, call.operands):
        np.save(folder / f"{name}.npy", value.view("V2") if value.dtype.name == "bfloat16" else value)
        arguments += ["--input", f"{name}={folder / name}.npy"]
    kept = [(o, w) for o, w in zip(spec["outputs"], call.results) if not o.get("discard")]
    for o, _ in kept:
        arguments += ["--output", f"{o['name']}={folder / o['name']}.out.npy"]
    path = folder / "kernel.tile.json"
    path.write_text(binary.text_of(spec))
    done = binary.run("run", "--unchecked", str(path), *arguments, "--max-memory", "8192")
    if done.returncode:
        return None, done.stderr.strip().splitlines()[0]
    worst = 0.0
    for o, want in kept:
        got = np.load(folder / f"{o['name']}.out.npy")
        got = got.view(want.dtype) if got.dtype.kind == "V" else got
        a, b = got.astype(np.float64), want.astype(np.float64)
        scale = float(np.sqrt(np.nanmean(b ** 2))) or 1.0
        worst = max(worst, float(np.max(np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b)))) / scale)
    return worst, ""


def judge(case, call):
    row = Row(case, jx.function_name(call.equation))
    if uses_dma(call.equation.params["jaxpr"]):
        row.imported = "DMA"
        return row
    if for_gpus(call.equation.params["compiler_params"]):
        row.imported = "GPU"
        return row
    try:
        spec = importer.from_equation(call.equation, call.operands, call.used)
    except Unsupported as e:
        row.imported, row.bad = f"{e}", True
        return row
    row.statements = len(spec["kernel"])
    report = binary.report("lint", spec)
    for f in report["specs"][0]["findings"]:
        row.verdicts[f["verdict"]] = row.verdicts.get(f["verdict"], 0) + 1
        if f["verdict"] in ("violated", "vacuous", "unknown"):
            row.open.append(f"{f['rule']} {f['verdict']}: {f['message']}")
            row.bad |= f["verdict"] != "unknown"
    with tempfile.TemporaryDirectory() as folder:
        worst, why = execute(spec, call, pathlib.Path(folder))
    row.executed = why if worst is None else f"{worst:.0e}"
    narrow = any(v.dtype.name == "bfloat16" for v in [*call.operands, *call.results])
    row.bad |= worst is None or worst > (2e-2 if narrow else 1e-3)
    return row


def short(name):
    return name if len(name) <= 48 else name[:47] + "…"


def table(rows):
    lines = ["| case | kernel | statements | proven | violated | unknown | executed: largest difference / rms |", "|---|---|---|---|---|---|---|"]
    for r in rows:
        if r.imported != "yes":
            why = {"DMA": "copies by hand", "GPU": "for GPUs (Triton)"}.get(r.imported, r.imported)
            lines.append(f"| {r.case} | `{short(r.kernel)}` | not imported: {why} | | | | |")
            continue
        v = r.verdicts
        lines.append(f"| {r.case} | `{short(r.kernel)}` | {r.statements} | {v.get('proven', 0)} | {v.get('violated', 0) + v.get('vacuous', 0)} | {v.get('unknown', 0)} | {r.executed} |")
    notes = sorted({(r.kernel, o) for r in rows for o in r.open})
    return "\n".join(lines + ["", *[f"- `{k}`: {o}" for k, o in notes]])


def run(source, cases, only):
    """The rows of one source, and the cases that could not be traced."""
    rows, untraced = [], []
    made = cases()
    while True:
        try:
            case = next(made, None)
        except Exception as e:  # noqa: BLE001  the corpus is not ours
            untraced.append(f"the cases after these: {gist(e)}")
            break
        if case is None:
            break
        name, fn, args = case
        if only and not any(w in name for w in only):
            continue
        try:
            calls = capture.calls(fn, *args)
        except Exception as e:  # noqa: BLE001
            untraced.append(f"{name}: {gist(e)}")
            print(f"{source}: {untraced[-1]}", flush=True)
            continue
        for call in calls:
            row = judge(name, call)
            rows.append(row)
            print(f"{'BAD ' if row.bad else ''}{source}: {name}: {row.kernel} {row.imported} {json.dumps(row.verdicts)} {row.executed} {row.open or ''}", flush=True)
    return rows, untraced


def gist(e):
    return f"{type(e).__name__}: {(str(e).strip().splitlines() or [''])[0][:160]}"


def summary(rows):
    plain = [r for r in rows if r.imported not in ("DMA", "GPU")]
    good = [r for r in plain if r.imported == "yes"]
    equal = [r for r in good if re.fullmatch(r"[\d.e+-]+", r.executed)]
    accused = [r for r in good if r.verdicts.get("violated") or r.verdicts.get("vacuous")]
    proven, unknown = (sum(r.verdicts.get(k, 0) for r in good) for k in ("proven", "unknown"))
    return (f"{len(rows)} calls of {len({r.kernel for r in rows})} kernel functions; {sum(r.imported == 'DMA' for r in rows)} copy by hand, {sum(r.imported == 'GPU' for r in rows)} are for GPUs; of the other {len(plain)}, "
            f"{len(good)} import, {len(equal)} were executed, {len(accused)} are accused; {proven} obligations proven, {unknown} unknown.")


def denominator():
    """Every file of the packages with a pallas_call, and what became of it."""
    found = list(corpus_packages.files())
    lines = ["| package | version | files with a kernel | blocks alone: loaded | not loadable | manual copies | other kernels |", "|---|---|---|---|---|---|---|"]
    total = [0] * 5
    for package, version in dict.fromkeys((f[0], f[1]) for f in found):
        mine = [f for f in found if f[0] == package]
        blocks = [f for f in mine if f[4] == "blocks"]
        bad = sum(bool(f[5]) for f in blocks)
        counts = [len(mine), len(blocks) - bad, bad, sum(f[4] == "copies" for f in mine), sum(f[4] == "other" for f in mine)]
        total = [a + b for a, b in zip(total, counts)]
        lines.append(f"| {package} | {version} | " + " | ".join(map(str, counts)) + " |")
    lines.append("| all | | " + " | ".join(map(str, total)) + " |")
    lines += ["", "Every file, and why it was not loaded:", ""]
    for package in dict.fromkeys(f[0] for f in found):
        lines.append(f"- {package}: " + "; ".join(f"`{f[2]}`" + (f" ({f[5]})" if f[5] else "") for f in found if f[0] == package))
    return "\n".join(lines)


def put(text, marker, body):
    """The page with the part behind a marker replaced."""
    before, found, rest = text.partition(f"<!-- {marker} -->")
    if not found:
        sys.exit(f"{PAGE} has no <!-- {marker} -->")
    return f"{before}<!-- {marker} -->\n\n{body}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--source", nargs="*")
    parser.add_argument("--only", nargs="*")
    o = parser.parse_args()
    sources = {"jax": jax_cases, "tokamax": tokamax_cases, **corpus_packages.CASES}
    bad = False
    for source, cases in sources.items():
        if o.source and source not in o.source:
            continue
        start = time.process_time()
        rows, untraced = run(source, cases, o.only)
        bad |= any(r.bad for r in rows)
        print(f"{source}: {summary(rows)} {time.process_time() - start:.0f} s", flush=True)
        if o.write:
            notes = [f"- not traced: {u}" for u in untraced]
            PAGE.write_text(put(PAGE.read_text(), source, "\n".join([summary(rows), "", table(rows), *notes])))
    if o.write and (not o.source or "files" in o.source):
        PAGE.write_text(put(PAGE.read_text(), "files", denominator()))
    sys.exit(bad)


if __name__ == "__main__":
    main()
