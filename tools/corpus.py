#!/usr/bin/env python3
"""Public Pallas kernels through tileproof: imported, linted, executed.

    corpus.py [--source NAME…] [--only TEXT…]    run with build/venv-corpus (tools/corpus.sh)

Traces the kernels of jax.experimental.pallas.ops, tokamax, and the packages of
tools/corpus.txt; every pallas_call is imported as a spec, linted, and executed
in the checked engine on the arrays of that call; results are compared with
JAX's interpreters or, where neither runs the kernel, with the reference of its
package. What a case gives is kept in build/corpus/rows under what it follows
from (program, Python package, these files): a run that was stopped goes on
where it was. Once all cases are there, docs/CORPUS.md is written, whole.

Exit 1 when something is new: an accusation that tools/corpus_judged.py does not
judge, a difference, a call that is neither imported nor executed, a case that
cannot be traced, or a judgement that no finding needs any more.
"""

import argparse
import dataclasses
import functools
import hashlib
import importlib
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("TILEPROOF", str(ROOT / "build" / "tileproof"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax._src import dispatch  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402

from tileproof import binary, capture, engine, importer, places  # noqa: E402
from tileproof import jaxpr as jx  # noqa: E402
from tileproof.errors import Unsupported  # noqa: E402

import corpus_gpu  # noqa: E402
import corpus_packages  # noqa: E402
import corpus_page  # noqa: E402
import corpus_pipelines  # noqa: E402
import corpus_serving  # noqa: E402

ROWS = ROOT / "build" / "corpus" / "rows"


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
    yield "gmm", lambda a, b: ragged.gmm(a, b, sizes, precision=jax.lax.DotAlgorithmPreset.DEFAULT, out_dtype=jnp.float32), (normal(0, 256, 256), normal(1, 4, 256, 128)), (
        lambda a, b: jax.lax.ragged_dot(a, b, sizes))
    yield "tgmm", lambda a, b: ragged.tgmm(a, b, sizes, precision=jax.lax.DotAlgorithmPreset.DEFAULT, out_dtype=jnp.float32), (normal(0, 256, 256), normal(1, 256, 128)), (
        lambda a, b: jnp.stack([a[:, lo:lo + n] @ b[lo:lo + n] for lo, n in ((0, 100), (100, 60), (160, 0), (160, 96))]))
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
    """What became of one call."""

    case: str
    kernel: str = ""
    refused: str = ""  # why it is not imported
    kind: str = "blocks"  # or copies, GPU
    statements: int = 0
    verdicts: dict = dataclasses.field(default_factory=dict)
    open: list = dataclasses.field(default_factory=list)  # what is not proven: rule, verdict, operand, place, text, message, reason, replay
    executed: str = ""
    bad: str = ""  # why the comparison fails; "trap": whether it may is a matter of what is accused
    files: list = dataclasses.field(default_factory=list)  # of the kernel and of the call


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
                pltpu.reset_tpu_interpret_mode_state()  # else the next kernel fails, too,
                dispatch.runtime_tokens.clear()  # as it does behind a callback that failed
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
    row.files = sorted({(jx.where(call.equation) or "").partition(":")[0], call.equation.params["jaxpr"].debug_info.func_filename or ""} - {""})
    try:
        spec = importer.from_equation(call.equation, call.operands, call.used)
    except Unsupported as e:
        row.refused = "; ".join(dict.fromkeys(o.what for o in e.obstacles))
        return row
    row.statements = len(spec["kernel"])
    lines = binary.text_of(spec).splitlines()
    for f in binary.report("lint", spec)["specs"][0]["findings"]:
        row.verdicts[f["verdict"]] = row.verdicts.get(f["verdict"], 0) + 1
        if f["verdict"] in ("violated", "vacuous", "unknown"):
            row.open.append(seen(spec, f, lines))
    if failed:
        row.executed = "JAX does not interpret it"
        return row
    worst, why = execute(spec, call, row.kind == "copies")
    row.executed = why if worst is None else f"{worst:.0e}"
    narrow = min(v.dtype.itemsize for v in [*call.operands, *call.results])
    row.bad = "not executed" if worst is None else "" if worst <= {1: 7e-2, 2: 2e-2}.get(narrow, 1e-3) else "differs"  # of one byte: one step of float8
    return row


def seen(spec, f, lines):
    """A finding by what tells it from others of the kernel: its rule, operand, line of Python, and its statement without generated numbers."""
    statement = re.fullmatch(r"/kernel/(\d+)", f["pointer"] or "")
    text = re.sub(r"\b([a-z])\d+\b", r"\1", spec["kernel"][int(statement[1])].strip()) if statement else ""
    place = re.sub(r"^.*(?:site-packages|build/corpus/[^/]*)/", "", places.of_finding(spec, f, lines) or "")
    return {"rule": f["rule"], "verdict": f["verdict"], "operand": f["subject"], "place": place, "text": text[:80], "message": f["message"],
            "reason": f["reason"], "replay": (f["witness"] or {}).get("replay")}


def run(source, cases, only):
    """Every case of a source: what is kept of it, or was just found."""
    made, kept = cases(), []
    while True:
        try:
            case = next(made, None)
        except Exception as e:  # noqa: BLE001  the corpus is not ours
            kept.append({"case": "the cases after these", "untraced": gist(e), "rows": []})
            print(f"{source}: {kept[-1]['case']}: {kept[-1]['untraced']}", flush=True)
            return kept
        if case is None:
            return kept
        if only and not any(w in case[0] for w in only):
            continue
        file = ROWS / source / (re.sub(r"\W+", "-", case[0]) + ".json")
        key = follows_from(cases)
        found = json.loads(file.read_text()) if file.is_file() else {}
        if found.get("key") != key:
            found = {"key": key, "commit": commit(), **judged(source, *case)}
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(found, indent=1))
        kept.append(found)


def judged(source, name, fn, args, *reference):
    """One case: its calls, judged and compared."""
    own = jax.tree_util.tree_map(jnp.array, args)  # some calls donate theirs
    start = time.process_time()
    try:
        interpreters = Interpreters()
        calls = capture.calls(fn, *args, run=interpreters)
        want = reference[0](*own) if reference and interpreters.failed and not interpreters.trapped else None
    except Exception as e:  # noqa: BLE001
        print(f"{source}: {name}: {gist(e)}", flush=True)
        return {"case": name, "untraced": gist(e), "rows": []}
    rows = []
    for call in calls:
        row = judge(name, call, interpreters.failed.get(id(call.equation)))
        if row.executed == "JAX does not interpret it" and want is not None:
            compare(row, calls.value, want)
        rows.append(dataclasses.asdict(row))
        print(f"{source}: {name}: {row.kernel} {row.refused or json.dumps(row.verdicts)} {row.executed} {row.bad} {time.process_time() - start:.0f} s", flush=True)
    return {"case": name, "untraced": "" if rows else "no pallas_call", "rows": rows}


@functools.cache
def follows_from(cases):
    """What the verdicts on a source's cases follow from, as one hash."""
    h = hashlib.sha256()
    for path in [pathlib.Path(binary.program()), *sorted((ROOT / "python" / "tileproof").rglob("*.py")), pathlib.Path(__file__),
                 ROOT / "tools" / "corpus-requirements.txt", ROOT / "tools" / "corpus.txt", pathlib.Path(inspect.getsourcefile(cases))]:
        h.update(path.read_bytes())
    return h.hexdigest()


@functools.cache
def commit():
    return subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True, check=True).stdout.strip()


def compare(row, value, want):
    """The first results of the whole function, executed by the engine, beside those of the package's own reference."""
    got = jax.tree_util.tree_leaves(value)
    worst = max(difference(g[tuple(slice(n) for n in w.shape)], w, False) for g, w in zip(got, jax.tree_util.tree_leaves(want)))
    row.executed = f"{worst:.0e} (reference)"
    row.bad = "" if worst <= 5e-2 else "differs"  # references round in other places


def gist(e):
    said = re.sub(r" at 0x\w+|tileproof: /\S+: ", "", (str(e).strip().splitlines() or [""])[0])
    return f"{type(e).__name__}: {said[:160]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", nargs="*")
    parser.add_argument("--only", nargs="*")
    o = parser.parse_args()
    del sys.argv[1:]  # tokamax reads flags of its own from there
    sources = {"jax": jax_cases, "tokamax": tokamax_cases, **corpus_packages.CASES, **corpus_serving.CASES, **corpus_gpu.CASES, **corpus_pipelines.CASES}
    found = {source: run(source, cases, o.only) for source, cases in sources.items() if not o.source or source in o.source}
    new = corpus_page.new(found, whole=not (o.source or o.only))
    print("\n".join(f"NEW {line}" for line in new) or "nothing new", flush=True)
    if not (o.source or o.only):
        corpus_page.write(found)
    sys.exit(bool(new))


if __name__ == "__main__":
    main()
