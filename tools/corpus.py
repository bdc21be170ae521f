#!/usr/bin/env python3
"""Public Pallas kernels through tileproof: imported, linted, executed.

    corpus.py [--write] [--source NAME…] [--only TEXT…]    run with build/venv-corpus (tools/corpus.sh)

Traces the kernels of jax.experimental.pallas.ops, tokamax, and the packages of
tools/corpus.txt; every pallas_call is imported as a spec, linted, and executed
in the checked engine on the arrays of that call; results are compared with
JAX's interpreters or, where neither runs the kernel, with the reference of its
package. --write updates the tables in docs/CORPUS.md. Exit 1 when a kernel that
is imported is accused or differs.
"""

import argparse
import dataclasses
import fcntl
import functools
import importlib
import json
import os
import pathlib
import re
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("TILEPROOF", str(ROOT / "build" / "tileproof"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402

from tileproof import binary, capture, engine, importer  # noqa: E402
from tileproof import jaxpr as jx  # noqa: E402
from tileproof.errors import Unsupported  # noqa: E402

import corpus_gpu  # noqa: E402
import corpus_packages  # noqa: E402
import corpus_serving  # noqa: E402

PAGE = ROOT / "docs" / "CORPUS.md"
CALLS = ROOT / "build" / "corpus" / "called"  # by source: the files whose kernels were called


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


# Kernels that are accused rightly, and why: docs/CORPUS.md says it, too.
RIGHTLY = {
    "pallas_layer_norm": "it reads `scale` beyond its end (`bounds_check=False`) and drops those lanes: on a GPU other memory is read",
    "pallas_rms_norm": "it reads `scale` beyond its end (`bounds_check=False`) and drops those lanes: on a GPU other memory is read",
    "pallas_layer_norm_fwd_res": "as pallas_layer_norm",
    "pallas_rms_norm_fwd_res": "as pallas_rms_norm",
    "pallas_glu_silu": "with rows or columns that no block divides it reads behind the last ones (`bounds_check=False`) and stores none of them",
    "<unknown>": "it reads rows behind the last one (`bounds_check=False`) and stores none of them; rows of no group are never written, and the groups are data",
    "chunked_prefill_attention_kernel": "the copies of two chunks count on one semaphore, so that a wait for this chunk may end by bytes of the next one",
}


CALLED = set()  # files of the kernels that were called


@dataclasses.dataclass
class Row:
    case: str
    kernel: str = ""
    refused: str = ""  # why it is not imported
    kind: str = "blocks"  # or copies, GPU
    statements: int = 0
    verdicts: dict = dataclasses.field(default_factory=dict)
    open: list = dataclasses.field(default_factory=list)
    executed: str = ""
    bad: bool = False


def kind_of(eqn):
    """blocks, copies (or semaphores), or GPU (compiler parameters of Triton)."""
    params = eqn.params["compiler_params"]
    given = params.values() if isinstance(params, dict) else [params]
    if any(".triton." in type(v).__module__ for v in given):
        return "GPU"
    return "copies" if jx.has_primitive(eqn.params["jaxpr"], ("dma_start", "semaphore_wait", "semaphore_signal")) else "blocks"


class Interpreters:
    """Executes calls by JAX's interpreters; those that none runs, by the engine, and `failed` says why."""

    def __init__(self):
        self.failed, self.trapped = {}, False

    def __call__(self, eqn, operands, used):
        ways = [pltpu.InterpretParams(), True] if kind_of(eqn) == "copies" else [True]
        why = []
        for way in ways:
            try:
                results = eqn.primitive.bind(*operands, **{**eqn.params, "interpret": way})
                return [jax.block_until_ready(r) for r in results]
            except Exception as e:  # noqa: BLE001  what JAX does not interpret is a row, not an end
                why.append(gist(e))
        self.failed[id(eqn)] = why[-1]
        try:
            return engine.run(importer.from_equation(eqn, operands, used), eqn, operands)
        except Exception:  # noqa: BLE001  the row says what is wrong
            self.trapped = True
            return [jnp.zeros(v.aval.shape, v.aval.dtype) for v in eqn.outvars]


def difference(got, want, filled):
    """Of the worst element, relative to the root mean square; `filled`: where `want` is NaN, nothing was written."""
    a, b = np.asarray(got).astype(np.float64), np.asarray(want).astype(np.float64)
    defined = ~np.isnan(b)
    scale = float(np.sqrt(np.mean(b[defined] ** 2))) if defined.any() else 1.0
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (~defined if filled else False)
    return float(np.max(np.where(same, 0, np.abs(a - b)), initial=0)) / (scale or 1.0)


def execute(spec, call, filled):
    """Largest difference from the interpreter, or what the engine says."""
    try:
        got = engine.run(spec, call.equation, call.operands)
    except Exception as e:  # noqa: BLE001
        return None, str(e).splitlines()[0].partition("): ")[2] or gist(e)
    return max((difference(g, w, filled) for g, w, used in zip(got, call.results, call.used) if used), default=0.0), ""


def judge(case, call, failed):
    row = Row(case, jx.function_name(call.equation), kind=kind_of(call.equation))
    CALLED.update([(jx.where(call.equation) or "").partition(":")[0], call.equation.params["jaxpr"].debug_info.func_filename or ""])
    try:
        spec = importer.from_equation(call.equation, call.operands, call.used)
    except Unsupported as e:
        row.refused = "; ".join(dict.fromkeys(o.what for o in e.obstacles))
        return row
    row.statements = len(spec["kernel"])
    report = binary.report("lint", spec)
    for f in report["specs"][0]["findings"]:
        row.verdicts[f["verdict"]] = row.verdicts.get(f["verdict"], 0) + 1
        if f["verdict"] in ("violated", "vacuous", "unknown"):
            row.open.append(f"{f['rule']} {f['verdict']}: {f['message']}")
            row.bad |= f["verdict"] != "unknown"
    row.bad &= row.kernel not in RIGHTLY
    if failed:
        row.executed = "JAX does not interpret it"
        return row
    worst, why = execute(spec, call, row.kind == "copies")
    row.executed = why if worst is None else f"{worst:.0e}"
    narrow = any(v.dtype.itemsize < 4 for v in [*call.operands, *call.results])
    row.bad |= (worst is None and row.kernel not in RIGHTLY) or (worst or 0) > (2e-2 if narrow else 1e-3)
    return row


KINDS = {"blocks": "with blocks alone", "copies": "with copies or semaphores", "GPU": "for GPUs"}


def short(name):
    return name if len(name) <= 48 else name[:47] + "…"


def table(rows):
    lines = ["| case | kernel | statements | proven | violated | unknown | executed: largest difference / rms |", "|---|---|---|---|---|---|---|"]
    for r in rows:
        if r.refused:
            lines.append(f"| {r.case} | `{short(r.kernel)}` | not imported: {r.refused} | | | | |")
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
        name, fn, args, *reference = case
        if only and not any(w in name for w in only):
            continue
        own = jax.tree_util.tree_map(jnp.array, args)  # some calls donate theirs
        try:
            interpreters = Interpreters()
            calls = capture.calls(fn, *args, run=interpreters)
        except Exception as e:  # noqa: BLE001
            untraced.append(f"{name}: {gist(e)}")
            print(f"{source}: {untraced[-1]}", flush=True)
            continue
        want = reference[0](*own) if reference and interpreters.failed and not interpreters.trapped else None
        for call in calls:
            row = judge(name, call, interpreters.failed.get(id(call.equation)))
            if row.executed == "JAX does not interpret it" and want is not None:
                compare(row, calls.value, want)
            rows.append(row)
            print(f"{'BAD ' if row.bad else ''}{source}: {name}: {row.kernel} {row.refused or json.dumps(row.verdicts)} {row.executed} {row.open or ''}", flush=True)
    return rows, untraced


def compare(row, value, want):
    """The first results of the whole function, executed by the engine, beside those of the package's own reference."""
    got = jax.tree_util.tree_leaves(value)
    worst = max(difference(g[tuple(slice(n) for n in w.shape)], w, False) for g, w in zip(got, jax.tree_util.tree_leaves(want)))
    row.executed = f"{worst:.0e} (reference)"
    row.bad |= worst > 5e-2  # references round in other places


def gist(e):
    said = re.sub(r" at 0x\w+|tileproof: /\S+: ", "", (str(e).strip().splitlines() or [""])[0])
    return f"{type(e).__name__}: {said[:160]}"


def summary(rows):
    good = [r for r in rows if not r.refused]
    equal = [r for r in good if re.fullmatch(r"[\d.e+-]+( \(reference\))?", r.executed)]
    accused = [r for r in good if r.verdicts.get("violated") or r.verdicts.get("vacuous")]
    proven, unknown = (sum(r.verdicts.get(k, 0) for r in good) for k in ("proven", "unknown"))
    kinds = ", ".join(f"{sum(r.kind == k for r in rows)} {what}" for k, what in KINDS.items() if any(r.kind == k for r in rows))
    return (f"{len(rows)} calls of {len({r.kernel for r in rows})} kernel functions ({kinds}): {len(good)} import, {len(equal)} were executed, {len(accused)} are accused; "
            f"{proven} obligations proven, {unknown} unknown.")


def denominator():
    """Every file of the packages with a kernel, by kind, and whether a kernel of it is called below."""
    found = list(corpus_packages.files())
    called = {line for path in CALLS.glob("*.txt") for line in path.read_text().splitlines()}
    kinds = list(corpus_packages.KINDS)[::-1]
    lines = ["| package | version | files with a kernel | " + " | ".join(kinds) + " | not loadable | called below |", "|---" * (len(kinds) + 5) + "|"]
    total = [0] * (len(kinds) + 3)
    for package, version in dict.fromkeys((f[0], f[1]) for f in found):
        mine = [f for f in found if f[0] == package]
        counts = [len(mine), *(sum(f[4] == k for f in mine) for k in kinds), sum(bool(f[5]) for f in mine), sum(any(c.endswith(f[2]) for c in called) for f in mine)]
        total = [a + b for a, b in zip(total, counts)]
        lines.append(f"| {package} | {version} | " + " | ".join(map(str, counts)) + " |")
    lines.append("| all | | " + " | ".join(map(str, total)) + " |")
    lines += ["", "Every file, its kind unless it has blocks alone, and `called` where a call of a kernel in it is judged below:", ""]
    for package in dict.fromkeys(f[0] for f in found):
        lines.append(f"- {package}: " + "; ".join(
            f"`{f[2]}`" + "".join(f" ({', '.join(words)})" for words in [[w for w in (f[4] if f[4] != "blocks" else "", "called" if any(c.endswith(f[2]) for c in called) else "", f[5]) if w]] if words)
            for f in found if f[0] == package))
    return "\n".join(lines)


def put(text, marker, body):
    """The page with the part behind a marker replaced."""
    before, found, rest = text.partition(f"<!-- {marker} -->")
    if not found:
        sys.exit(f"{PAGE} has no <!-- {marker} -->")
    return f"{before}<!-- {marker} -->\n\n{body}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"


def write(marker, body):
    """Into the page, which other runs may write, too."""
    with PAGE.open("r+") as page:
        fcntl.flock(page, fcntl.LOCK_EX)
        text = put(page.read(), marker, body)
        page.seek(0)
        page.truncate()
        page.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--source", nargs="*")
    parser.add_argument("--only", nargs="*")
    o = parser.parse_args()
    del sys.argv[1:]  # tokamax reads flags of its own from there
    sources = {"jax": jax_cases, "tokamax": tokamax_cases, **corpus_packages.CASES, **corpus_serving.CASES, **corpus_gpu.CASES}
    bad = False
    for source, cases in sources.items():
        if o.source and source not in o.source:
            continue
        start = time.process_time()
        CALLED.clear()
        rows, untraced = run(source, cases, o.only)
        bad |= any(r.bad for r in rows)
        print(f"{source}: {summary(rows)} {time.process_time() - start:.0f} s", flush=True)
        if o.write:
            notes = [f"- not traced: {u}" for u in untraced]
            CALLS.mkdir(exist_ok=True)
            (CALLS / f"{source}.txt").write_text("\n".join(sorted(CALLED)))
            write(source, "\n".join([summary(rows), "", table(rows), *notes]))
    if o.write and (not o.source or "files" in o.source):
        write("files", denominator())
    sys.exit(bad)


if __name__ == "__main__":
    main()
