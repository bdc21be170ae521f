"""Kernels of packages on PyPI for tools/corpus.py: which files have a
pallas_call, of which kind, whether their module can be loaded, and calls of
kernels of blocks.

The packages lie unpacked, without what they depend on, in build/corpus/NAME
(tools/corpus.sh). A module is loaded without the __init__ of its package, which
would import a whole framework.
"""

import functools
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import pathlib
import re
import sys
import types
import unittest.mock

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import dtypes
from jax._src.pallas.mosaic import tpu_info
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as plgpu

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "corpus"
KINDS = {  # the first that fits
    "SparseCore": re.compile(r"plsc\.|VectorSubcoreMesh|pl\.kernel\(|sparse_core"),
    "warps of a GPU": re.compile(r"mosaic_gpu|core_map"),
    "GPU": re.compile(r"pallas import triton|plgpu"),
    "several devices": re.compile(r"async_remote_copy"),
    "pipelines": re.compile(r"emit_pipeline"),
    "copies": re.compile(r"async_copy|SemaphoreType|sync_copy|pltpu\.semaphore"),
    "blocks": re.compile(""),
}


def packages():
    """(name, version, import name) of what is unpacked."""
    return [line.split() for line in (ROOT / "tools" / "corpus.txt").read_text().splitlines() if line and not line.startswith("#")]


class _Parents:
    """Finds the packages of the corpus, without their __init__."""

    def find_spec(self, name, path=None, target=None):
        for package, _, top in packages():
            if name.split(".")[0] == top:
                folder = FOLDER / package / pathlib.Path(*name.split("."))
                if folder.is_dir():
                    found = importlib.machinery.ModuleSpec(name, self, is_package=True)
                    found.submodule_search_locations = [str(folder)]
                    return found
                file = folder.with_suffix(".py")
                if file.is_file():
                    return importlib.util.spec_from_file_location(name, file)
        return None

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        """A package in which nothing was executed; a name of it is looked for in its __init__ and the files beside it."""
        folder = pathlib.Path(module.__path__[0])

        def missing(name):
            if name.startswith("__"):
                raise AttributeError(name)
            init = folder / "__init__.py"
            text = init.read_text() if init.is_file() else ""
            for where, names in re.findall(r"^from (\.[\w.]*) import (\([^)]*\)|[^\n]*)", text, re.M):
                if re.search(rf"\b{name}\b", names):
                    return getattr(importlib.import_module(where, module.__name__), name)
            raise AttributeError(f"{module.__name__} has no {name}")

        module.__getattr__ = missing


class _StandIns:
    """Frameworks that modules of kernels import and no kernel computes with: any name of them is there, and does nothing."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in ("vllm", "torch", "torchax") else None

    def create_module(self, spec):
        return unittest.mock.MagicMock(__path__=[])

    def exec_module(self, module):
        pass


def load(ref, idx, *, mask=None, other=None):
    return plgpu.load(ref.at[idx], mask=mask, other=other)


def repeat(x, repeats, axis):
    return jnp.concatenate([x] * repeats, axis)


def store(ref, idx, val, *, mask=None):
    plgpu.store(ref.at[idx], val, mask=mask)


sys.meta_path.insert(0, _Parents())
sys.meta_path.append(_StandIns())
# packages that use names of JAX before 0.10
dtypes.bit_width = dtypes.itemsize_bits
pltpu.ANY = pl.ANY
pl.load, pl.store = load, store
pltpu.repeat = repeat
# kernels ask on which chip they run
tpu_info.get_tpu_info = pltpu.get_tpu_info = lambda: tpu_info.get_tpu_info_for_chip(tpu_info.ChipVersion.TPU_V5E, 1)


def _sources():
    """(name, version, folder below which modules are named, folders that are looked at): the packages, JAX's own kernels, tokamax."""
    for name, top in (("jax", "jax/experimental/pallas/ops"), ("tokamax", "tokamax")):
        site = pathlib.Path(importlib.util.find_spec(name).origin).parent.parent
        yield name, importlib.metadata.version(name), site, site / top
    for package, version, top in packages():
        yield package, version, FOLDER / package, FOLDER / package / top


def files():
    """(package, version, file, module, kind, why not): every file with a kernel, loaded."""
    for package, version, folder, top in _sources():
        for path in sorted(top.rglob("*.py")):
            text = path.read_text()
            if not re.search(r"pallas_call\(|pl\.kernel\(|core_map\(", text) or "test" in path.name:
                continue
            kind = next(k for k, pattern in KINDS.items() if pattern.search(text))
            module = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
            why = ""
            try:
                importlib.import_module(module)
            except Exception as e:  # noqa: BLE001  it is not ours
                why = f"not loadable: {type(e).__name__}: {str(e).strip().splitlines()[0][:120]}"
            yield package, version, str(path.relative_to(folder)), module, kind, why


def normal(seed, *shape, dtype=jnp.float32, scale=1.0):
    return (jax.random.normal(jax.random.PRNGKey(seed), shape, jnp.float32) * scale).astype(dtype)


def total(f, n, out=lambda r: r):
    """Gradients of a weighted sum of the first result."""
    def loss(*a):
        first = jax.tree_util.tree_leaves(out(f(*a)))[0].astype(jnp.float32)
        return jnp.sum(first * jnp.cos(jnp.arange(first.size, dtype=jnp.float32)).reshape(first.shape))

    return jax.grad(loss, argnums=tuple(range(n)))


# ---- one function per package: (case, function, arguments) ----

def recurrentgemma():
    m = importlib.import_module("recurrentgemma.jax.pallas")
    x, a = normal(0, 2, 256, 128), jax.nn.sigmoid(normal(1, 2, 256, 128))
    for block in (16, 32, 64, 256):
        yield f"lru, {block} turns", functools.partial(m.pallas_lru, max_seq_block_size=block), (x, a)
    yield "lru reversed", functools.partial(m.pallas_lru, reverse=True), (x, a)
    yield "lru from a state", lambda x, a, h: m.pallas_lru(x, a, h), (x, a, normal(2, 2, 128))
    yield "lru, gradients", total(lambda x, a: m.pallas_lru(x, a)[0], 2), (x, a)


def deltanet():
    m = importlib.import_module("deltanet_tpu.gdn2")
    q, k, v, g, b, w = (normal(n, 1, 256, 2, 128, scale=0.1) for n in range(6))
    g, b, w = -jnp.abs(g), jax.nn.sigmoid(b), jax.nn.sigmoid(w)
    yield "chunk_gdn2", lambda *a: m.chunk_gdn2(*a, precision="fp32"), (q, k, v, g, b, w)
    yield "chunk_gdn2 bfloat16", lambda *a: m.chunk_gdn2(*a), (q, k, v, g, b, w)
    yield "chunk_gdn2, gradients", total(lambda *a: m.chunk_gdn2(*a, precision="fp32"), 6), (q, k, v, g, b, w)


def atomic():
    m = importlib.import_module("atomic_ops.gdn2_fwd")
    q, k, v, w, b, g = (normal(n, 1, 256, 2, 128, scale=0.1) for n in range(6))
    yield "gdn2 forward", lambda *a: m.gdn2_pallas_forward(*a, 0.1), (q, k, v, jax.nn.sigmoid(w), jax.nn.sigmoid(b), -jnp.abs(g))


def maxtext():
    r = importlib.import_module("maxtext.kernels.attention.ragged_attention")
    lengths = jnp.array([100, 256], jnp.int32)
    yield "ragged mqa", functools.partial(r.ragged_mqa, block_size=128), (normal(0, 2, 8, 128), normal(1, 2, 256, 128), normal(2, 2, 256, 128), lengths)
    yield "ragged mha", functools.partial(r.ragged_mha, block_size=128), (normal(0, 2, 1, 8, 128), normal(1, 2, 256, 8, 128), normal(2, 2, 256, 8, 128), lengths)
    yield "ragged gqa", functools.partial(r.ragged_gqa, block_size=128), (normal(0, 2, 1, 8, 128), normal(1, 2, 256, 2, 128), normal(2, 2, 256, 2, 128), lengths)
    c = importlib.import_module("maxtext.kernels.attention.csa_streamindex")
    yield "streamindex", functools.partial(c.csa_streamindex_score, softmax_scale=0.1), (normal(0, 1, 4, 256, 128), normal(1, 1, 256, 128), normal(2, 1, 256, 4))
    yield from _splash("maxtext.kernels.attention.splash_attention_kernel")
    mb = importlib.import_module("maxtext.kernels.megablox.backend")
    sizes = jnp.array([100, 60, 0, 96], jnp.int32)
    yield "gmm", lambda a, b: mb.gmm(a, b, sizes, preferred_element_type=jnp.float32, tiling=(128, 128, 128)), (normal(0, 256, 256), normal(1, 4, 256, 128))
    yield "tgmm", lambda a, b: mb.tgmm(a, b, sizes, preferred_element_type=jnp.float32, tiling=(128, 128, 128)), (normal(0, 256, 256), normal(1, 256, 128))


def _splash(kernels):
    sk = importlib.import_module(kernels)
    sm = sk.mask_lib
    blocks = sk.BlockSizes(**{f"block_{b}": 128 for b in ("q", "kv", "kv_compute", "q_dkv", "kv_dkv", "kv_dkv_compute", "q_dq", "kv_dq")})
    h = tuple(normal(s, 2, 256, 128, scale=0.3) for s in range(3))
    for name, mask in {"causal": sm.CausalMask((256, 256)), "local": sm.LocalMask((256, 256), (64, 0), 0)}.items():
        kernel = sk.make_splash_mha(sm.MultiHeadMask([mask, mask]), head_shards=1, q_seq_shards=1, block_sizes=blocks)
        yield f"splash {name}, gradients", total(lambda a, b, c, f=kernel: f(a, b, c), 3), h


def tpu_inference():
    base = "tpu_inference.kernels."
    t = importlib.import_module(base + "gdn.triangle_solver")
    lower = jnp.tril(normal(0, 2, 64, 64, scale=0.1), -1) + jnp.eye(64)
    yield "newton schulz inverse", t.newton_schulz_inverse_pallas, (lower,)
    yield "triangular inverse", t.decompose_triangular_matrix_inverse_pallas, (lower,)
    fa = importlib.import_module(base + "flash_attention.kernel")
    q, k, v = (normal(n, 1, 2, 256, 128, scale=0.3) for n in range(3))
    blocks = fa.BlockSizes(block_b=1, block_q=128, block_k_major=128, block_k=128)
    for causal in (False, True):
        yield f"flash {'causal' if causal else 'full'}", functools.partial(fa.flash_attention, causal=causal, block_sizes=blocks), (q, k, v)
    gm = importlib.import_module(base + "megablox.gmm")
    sizes = jnp.array([100, 60, 0, 96], jnp.int32)
    yield "gmm", lambda a, b: gm.gmm(a, b, sizes, tiling=(128, 128, 128)), (normal(0, 256, 256), normal(1, 4, 256, 128))
    yield "gmm bias", lambda a, b, c: gm.gmm(a, b, sizes, rhs_bias=c, tiling=(128, 128, 128)), (normal(0, 256, 256), normal(1, 4, 256, 128), normal(2, 4, 1, 128))
    d = base + "experimental.deepseek_v4.mhc."
    pre, post, fused = (importlib.import_module(d + n) for n in ("pre_kernel", "post_kernel", "fused_post_pre_kernel"))
    hc, tokens, hidden = 4, 128, 256
    mixes = (2 + hc) * hc
    x2d, fn = normal(0, tokens, hc * hidden), normal(1, mixes, hc * hidden, scale=0.05)
    scale, bias = normal(2, 3), normal(3, mixes)
    yield "mhc pre mixes", pre.mhc_pre_mixes, (x2d.astype(jnp.bfloat16), fn)
    yield "mhc pre", lambda *a: pre.mhc_pre(*a, 1e-6, 1e-6, 1e-6, 2.0, 4), (normal(0, tokens, hc, hidden, dtype=jnp.bfloat16), fn, scale, bias)
    yield "mhc post", post.mhc_post, (normal(0, tokens, hidden, dtype=jnp.bfloat16), normal(1, tokens, hc, hidden, dtype=jnp.bfloat16), normal(2, tokens, hc, 1), normal(3, tokens, hc, hc))
    yield "mhc fused", lambda *a: fused.mhc_fused_post_pre(*a, 1e-6, 1e-6, 1e-6, 2.0, 4), (
        normal(0, tokens, hidden, dtype=jnp.bfloat16), normal(1, tokens, hc, hidden, dtype=jnp.bfloat16), normal(2, tokens, hc, 1), normal(3, tokens, hc, hc), fn, scale, bias)
    qm = importlib.import_module(base + "quantized_matmul.kernel")
    yield "quantized matmul", functools.partial(qm.quantized_matmul_kernel, x_q_dtype=jnp.int8), (
        normal(0, 128, 256, dtype=jnp.bfloat16), jnp.asarray(np.random.default_rng(0).integers(-127, 127, (256, 256)), jnp.int8), jnp.abs(normal(2, 256)))


def ejkernel():
    base = "ejkernel.kernels._pallas.tpu."
    fa = importlib.import_module(base + "flash_attention._pallas_impl_fwd")
    q, k, v = (normal(n, 1, 2, 256, 128, scale=0.3) for n in range(3))
    for causal in (False, True):
        for window in (None, (64, 64)):
            yield f"flash {'causal' if causal else 'full'}{', window' if window else ''}", (
                lambda q, k, v, c=causal, w=window: fa._flash_attention_impl(q, k, v, None, None, False, c, 0.1, w, None, 1, 128, 128, 128)), (q, k, v)
    gm = importlib.import_module(base + "grouped_matmul._pallas_impl")
    sizes = jnp.array([100, 60, 0, 96], jnp.int32)
    yield "grouped matmul", lambda a, b: gm.grouped_matmul(a, b, sizes), (normal(0, 256, 256), normal(1, 4, 256, 128))
    yield "grouped matmul, rhs transposed", lambda a, b: gm.grouped_matmul(a, b, sizes, transpose_rhs=True), (normal(0, 256, 256), normal(1, 4, 128, 256))
    yield "transposed grouped matmul", lambda a, b: gm.transposed_grouped_matmul(a, b, sizes), (normal(0, 256, 256), normal(1, 256, 128))
    g2 = importlib.import_module(base + "grouped_matmulv2._pallas_impl")
    yield "grouped matmul v2", lambda a, b: g2.grouped_matmul(a, b, sizes, jnp.float32), (normal(0, 256, 256), normal(1, 4, 256, 128)), (
        lambda a, b: jax.lax.ragged_dot(a, b, sizes))
    qm = importlib.import_module(base + "quantized_matmul._pallas_impl_core")
    for transposed in (False, True):
        yield f"dense matmul{', rhs transposed' if transposed else ''}", functools.partial(qm.pallas_dense_matmul, transpose_rhs=transposed, block_m=128, block_n=128, block_k=128), (
            normal(0, 256, 256), normal(1, 256, 256))
    rd = importlib.import_module(base + "ragged_decode_attention._pallas_impl_fwd")
    yield "ragged decode", functools.partial(rd.ragged_decode_mqa, block_size=128), (
        normal(0, 2, 8, 128), normal(1, 2, 256, 128), normal(2, 2, 256, 128), jnp.array([0, 10], jnp.int32), jnp.array([100, 256], jnp.int32))
    ml = importlib.import_module(base + "flash_mla._pallas_impl_fwd")
    yield "flash mla", lambda *a: ml._flash_mla_fwd(*a, None, None, None, ml.ROPE_NONE, True, 0.1, None, None, 1, 128, 128)[0], (
        normal(0, 1, 2, 256, 128, scale=0.3), normal(1, 1, 256, 128, scale=0.3), normal(2, 2, 128, 128, scale=0.1), normal(3, 2, 128, 128, scale=0.1))
    gd = importlib.import_module(base + "ragged_gated_delta_rule._pallas_impl_fwd")
    yield "gated delta decode", gd.run_ragged_gdr_decode_pallas, (
        normal(0, 8, 2, 128), normal(1, 8, 2, 128), normal(2, 8, 2, 128), jax.nn.sigmoid(normal(3, 8, 2)), -jnp.abs(normal(4, 8, 2)), normal(5, 8, 2, 128, 128))


def around():
    """Three of JAX's kernels below two levels of vmap, below scan, checkpoint and grad."""
    mm = importlib.import_module("jax.experimental.pallas.ops.tpu.matmul")
    fa = importlib.import_module("jax.experimental.pallas.ops.tpu.flash_attention")
    lru = importlib.import_module("recurrentgemma.jax.pallas")
    kernels = {
        "matmul": (functools.partial(mm.matmul, block_shape=(128, 128), block_k=128), (normal(0, 128, 128), normal(1, 128, 128)), False),
        "flash": (functools.partial(fa.flash_attention, causal=True), tuple(normal(n, 1, 1, 128, 128) for n in range(3)), True),
        "lru": (lambda x, a: lru.pallas_lru(x, a)[0], (normal(0, 1, 64, 128), jax.nn.sigmoid(normal(1, 1, 64, 128))), True),
    }
    for name, (f, args, differentiable) in kernels.items():
        def stacked(n, args=args):
            return tuple(jnp.stack([a * (1 + k / 8) for k in range(n)]) for a in args)

        yield f"vmap of {name}", jax.vmap(f), stacked(2)
        yield f"vmap of vmap of {name}", jax.vmap(jax.vmap(f)), tuple(jnp.stack([a, a / 2]) for a in stacked(2))
        yield f"vmap of {name}, one operand shared", jax.vmap(f, in_axes=(0, *[None] * (len(args) - 1))), (stacked(2)[0], *args[1:])
        yield f"scan of {name}", lambda *a, f=f: jax.lax.scan(lambda c, x: (c, f(*x)), 0.0, a)[1], stacked(2)
        yield f"checkpoint of {name}", jax.checkpoint(f), args
        yield f"scan of checkpoint of vmap of {name}", lambda *a, f=f: jax.lax.scan(lambda c, x: (c, jax.checkpoint(jax.vmap(f))(*x)), 0.0, a)[1], tuple(
            jnp.stack([a, a / 2]) for a in stacked(2))
        if differentiable:
            yield f"gradients of {name}", total(f, len(args)), args
            yield f"gradients of checkpoint of {name}", total(jax.checkpoint(f), len(args)), args
            yield f"vmap of gradients of {name}", jax.vmap(total(f, len(args))), stacked(2)
            yield f"gradients of vmap of {name}", total(jax.vmap(f), len(args)), stacked(2)
            yield f"gradients of scan of {name}", total(lambda *a, f=f: jax.lax.scan(lambda c, x: (c, f(*x)), 0.0, a)[1], len(args)), stacked(2)


CASES = {"around": around, "recurrentgemma": recurrentgemma, "deltanet-tpu": deltanet, "gdn2-pallas": atomic, "maxtext": maxtext, "tpu-inference": tpu_inference, "ejkernel": ejkernel}
