"""`tileproof run` on arrays made by NumPy, against NumPy in float64 and against JAX.

Prints one line per comparison; the error is in ulps of the output dtype at the
magnitude of the value (of the row's root mean square, where the value is smaller).
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import jax
import ml_dtypes
import numpy as np

jax.config.update("jax_platforms", "cpu")

import pallas  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build" / "tileproof"
BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.dtype(np.float32)


def run(kernel, inputs, outputs, sizes=()):
    """Outputs by name, from .npy files through the program."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        args = [PROGRAM, "run", kernel, "--quiet"]
        for name, a in inputs.items():
            np.save(folder / f"{name}.npy", a)
            args += ["--input", f"{name}={folder}/{name}.npy"]
        for name in outputs:
            args += ["--output", f"{name}={folder}/out_{name}.npy"]
        for name, v in dict(sizes).items():
            args += ["--size", f"{name}={v}"]
        subprocess.run(args, cwd=ROOT, check=True)
        found = {}
        for name, dtype in outputs.items():
            a = np.load(folder / f"out_{name}.npy")
            found[name] = a.view(dtype) if a.dtype.kind == "V" else a
            assert found[name].dtype == dtype, (kernel, name, found[name].dtype)
        return found


def ulps(got, want):
    """Worst error in ulps at max(|want|, rms(want))."""
    bits = {F32: 24, BF16: 8}[got.dtype]
    scale = np.maximum(np.abs(want), np.sqrt(np.mean(np.square(want))))
    unit = np.exp2(np.floor(np.log2(np.maximum(scale, 1e-300))) - (bits - 1))
    return float(np.max(np.abs(got.astype(np.float64) - want) / unit))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def layernorm(x, g, b, eps=1e-5):
    m = x.mean(-1, keepdims=True)
    return (x - m) / np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + eps) * g + b


def attention(q, k, v):
    k, v = (np.repeat(a, q.shape[0] // a.shape[0], axis=0) for a in (k, v))
    s = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    return softmax(np.where(np.tri(q.shape[1], dtype=bool), s, -np.inf)) @ v


# kernel: shapes of the inputs, the function in float64
GALLERY = {
    "add_vectors": ({"x": (2500,), "y": (2500,)}, lambda x, y: x + y),
    "add_2d": ({"x": (300, 700), "y": (300, 700)}, lambda x, y: x + y),
    "matmul": ({"x": (200, 300), "y": (300, 130)}, lambda x, y: x @ y),
    "matmul_relu": ({"x": (200, 700), "y": (700, 130)}, lambda x, y: np.maximum(x @ y, 0)),
    "batched_matmul": ({"x": (3, 130, 140), "y": (3, 140, 150)}, lambda x, y: x @ y),
    "transpose": ({"x": (300, 270)}, lambda x: x.T),
    "softmax_rows": ({"x": (37, 300)}, softmax),
    "rmsnorm": ({"x": (37, 300), "g": (300,)}, lambda x, g: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * g),
    "layernorm": ({"x": (37, 300), "g": (300,), "b": (300,)}, layernorm),
    "flash_attention": ({"q": (4, 300, 128), "k": (2, 300, 128), "v": (2, 300, 128)}, attention),
    "bias_gelu": ({"x": (300, 700), "b": (700,)}, lambda x, b: gelu(x + b)),
    "reduce_sum": ({"x": (700, 300)}, lambda x: x.sum(0)),
    "column_scale": ({"x": (300, 700), "s": (700,)}, lambda x, s: x * s),
}
LIMIT = {F32: 64, BF16: 1.01}  # bfloat16: one rounding of a float32 result
WIDER = {("flash_attention", BF16): 4}  # which rounds the probabilities, too, before they weigh the values


def check(label, value, limit):
    print(f"{label:52s} {value:8.3f} ulp (limit {limit:g})")
    return value <= limit


def gallery(rng):
    good = True
    for kernel, (shapes, function) in GALLERY.items():
        spec = json.loads(next((ROOT / "examples").glob(f"*/{kernel}.tile.json")).read_text())
        for dtype in (F32, BF16):
            if dtype.name not in spec["dtypes"]["T"]:
                continue
            names = [o["name"] for o in spec["inputs"]]
            arrays = {n: rng.standard_normal(tuple(reshape(spec, n, s))).astype(o["dtype"] if o["dtype"] != "T" else dtype)
                      for (n, s), o in zip(zip(names, shapes.values()), spec["inputs"])}
            out = spec["outputs"][0]
            out_dtype = dtype if out["dtype"] == "T" else np.dtype(out["dtype"])
            got = run(kernel, arrays, {out["name"]: out_dtype})[out["name"]]
            flat = [a.astype(np.float64).reshape(s) for a, s in zip(arrays.values(), shapes.values())]
            want = function(*flat).reshape(got.shape)
            good &= check(f"{kernel} {dtype.name} against NumPy float64", ulps(got, want), WIDER.get((kernel, got.dtype), LIMIT[got.dtype]))
            call, _ = pallas.pallas_call(spec, sizes_of(spec, arrays), {"T": dtype.name})
            jax_out = np.asarray(call(*arrays.values())[0])
            good &= check(f"{kernel} {dtype.name} against interpret=True", ulps(got, jax_out.astype(np.float64)), LIMIT[got.dtype])
    return good


def reshape(spec, name, shape):
    """Vectors that the spec keeps as a row [1, N]."""
    rank = len(next(o for o in spec["inputs"] if o["name"] == name)["shape"])
    return (1,) * (rank - len(shape)) + tuple(shape)


def sizes_of(spec, arrays):
    return {d: n for o in spec["inputs"] for d, n in zip(o["shape"], arrays[o["name"]].shape) if isinstance(d, str) and d.isidentifier()}


def matmul_of_the_readme(rng):
    good = True
    for dtype in (F32, BF16):
        x, y = rng.standard_normal((1000, 700)).astype(dtype), rng.standard_normal((700, 513)).astype(dtype)
        got = run("matmul", {"x": x, "y": y}, {"o": dtype})["o"]
        good &= check(f"matmul 1000x700 @ 700x513 {dtype.name} against NumPy", ulps(got, x.astype(np.float64) @ y.astype(np.float64)), LIMIT[dtype])
    return good


if __name__ == "__main__":
    rng = np.random.default_rng(20)
    sys.exit(0 if matmul_of_the_readme(rng) & gallery(rng) else 1)
