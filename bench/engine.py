"""The checked engine against interpret=True of JAX on the same matmul, and lint against
JAX's own TPU lowering. Ratios and medians of one run; needs build/venv (make test-jax).
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "jax"))

import jax  # noqa: E402
import jax.export  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh  # noqa: E402

jax.config.update("jax_platforms", "cpu")

import pallas  # noqa: E402

PROGRAM = ROOT / "build" / "tileproof"


def median_ms(f, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def matmul(size, block):
    blocks = {"bm": block, "bn": block, "bk": block}
    spec = json.loads((ROOT / "examples" / "matmul" / "matmul.tile.json").read_text())
    spec["sizes"] = {**spec["sizes"], **blocks}
    spec.pop("cases", None)
    x, y = (np.random.default_rng(s).standard_normal((size, size), dtype=np.float32) for s in (1, 2))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "matmul.tile.json").write_text(json.dumps(spec))
        np.save(folder / "x.npy", x)
        np.save(folder / "y.npy", y)
        args = [PROGRAM, "run", folder / "matmul.tile.json", "-q", "--unchecked",  # without verifying first
                 "-i", f"x={folder}/x.npy", "-i", f"y={folder}/y.npy", "-o", f"o={folder}/o.npy"]
        ours = median_ms(lambda: subprocess.run(args, check=True), 5)
        got = np.load(folder / "o.npy")
    call = jax.jit(pallas.pallas_call(spec, {"M": size, "N": size, "K": size}, {"T": "float32"})[0])
    want = np.asarray(call(x, y)[0])
    theirs = median_ms(lambda: jax.block_until_ready(call(x, y)), 5)
    plain = jax.jit(lambda a, b: a @ b)
    jax.block_until_ready(plain(x, y))
    jitted = median_ms(lambda: jax.block_until_ready(plain(x, y)), 5)
    worst = float(np.max(np.abs(got - want)))
    print(f"matmul {size}, {block}-blocks, float32: checked engine {ours:.0f} ms (whole process), interpret=True {theirs:.0f} ms (compiled, warm): "
          f"{theirs / ours:.2f}x; plain jax.jit {jitted:.0f} ms; worst difference {worst:.1e}")


def lint_against_lowering():
    ours, theirs, refused = [], [], []
    for path in sorted(p for p in (ROOT / "examples").glob("*/*.tile.json") if p.parent.name != "broken"):
        spec = json.loads(path.read_text())
        if spec.get("scalar_prefetch"):  # tables would have to be given
            continue
        sizes = {k: 512 for k, v in spec["sizes"].items() if isinstance(v, dict) and "in" not in v}
        dtypes = {k: v[0] for k, v in spec.get("dtypes", {}).items()}
        def lower():
            call, inputs = pallas.pallas_call(spec, sizes, dtypes, interpret=False)
            with use_abstract_mesh(AbstractMesh((1,), ("x",), abstract_device=AbstractDevice("TPU v5 lite", 1, "tpu"))):
                jax.export.export(jax.jit(call), platforms=["tpu"])(*(jax.ShapeDtypeStruct(s, d) for d, s in inputs))

        try:
            lower()
        except Exception:  # JAX's own errors are of many types
            refused.append(spec["name"])
            continue
        theirs.append(median_ms(lower, 5))
        ours.append(median_ms(lambda: subprocess.run([PROGRAM, "lint", "-q", path], check=True, stdout=subprocess.DEVNULL), 9))
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"{len(ours)} gallery kernels{' (JAX does not lower ' + ', '.join(refused) + ')' if refused else ''}, median: lint for all sizes {a:.1f} ms (whole process), JAX's TPU lowering of one size {b:.1f} ms (warm process, no import): {b / a:.1f}x")


if __name__ == "__main__":
    lint_against_lowering()
    for block in (128, 512):
        matmul(1024, block)
