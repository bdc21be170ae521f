"""The wheel of `make wheel`, in a fresh environment without a compiler on the PATH: the commands, the verdicts of the gallery
beside build/tileproof, the README's Python, and what is said where NumPy or Z3 is missing.

    wheel.py           JAX as build/venv has it
    wheel.py clean     in a root that has Python alone (tools/test-wheel.sh): JAX by the extra `[jax]`, no gallery
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = """
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl

def call(body, out, *args, name):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(out, jnp.float32), name=name, interpret=True)(*args)

def kernel(x, y):
    def body(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]
    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(pl.cdiv(x.shape[0], 8),), in_specs=[block, block], out_specs=block,
                          interpret=True)(x, y)

def model(x):
    def body(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], y_ref[...])
    return call(body, (64, 64), x, x.T, name="matmul")

def reference(x, y):
    return x + y

x, y = np.ones((64, 128), np.float32), np.full((64, 128), 2, np.float32)
"""


class Fresh:
    """A virtual environment with the wheel; its PATH has nothing else."""

    def __init__(self, room, wheel):
        self.room, self.bin, self.wheel = room, room / "venv" / "bin", wheel
        subprocess.run([sys.executable, "-m", "venv", str(room / "venv")], check=True)
        self.install()
        self.site = next((room / "venv" / "lib").glob("python*/site-packages"))

    def install(self, extra=""):
        subprocess.run([str(self.bin / "pip"), "install", "-q", "--disable-pip-version-check", f"{self.wheel}{extra}"], check=True)

    def run(self, *command, **environment):
        kept = {k: v for k, v in os.environ.items() if k not in ("TILEPROOF", "TILEPROOF_PYTHON", "TILEPROOF_LIBRARY", "PYTHONPATH", "LD_LIBRARY_PATH")}
        env = {**kept, "PATH": str(self.bin), "JAX_PLATFORMS": "cpu", **environment}
        assert not any(shutil.which(c, path=env["PATH"]) for c in ("cc", "gcc", "clang", "make"))
        return subprocess.run([str(self.bin / command[0]), *command[1:]], cwd=self.room, capture_output=True, text=True, env=env)

    def python(self, text, **environment):
        done = self.run("python", "-c", textwrap.dedent(text), **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def verdicts(text):
    return [(s["name"], f["rule"], f["subject"], f["verdict"]) for s in json.loads(text)["specs"] for f in s["findings"]]


def commands(fresh):
    done = fresh.run("tileproof", "verify", "-q", "softmax_rows")
    assert done.returncode == 0 and "28 proven, 0 unknown, 38 tested" in done.stdout, done.stdout + done.stderr
    done = fresh.run("tileproof", "lint", str(ROOT / "examples" / "broken" / "index_plus_one.tile.json"))
    assert done.returncode == 1 and "error[TP101]" in done.stdout, done.stdout + done.stderr


def gallery(fresh):
    """The Z3 and the compiler are others, the verdicts are not."""
    arguments = ["lint", "--config", "none", "--format", "json", *sorted(map(str, (ROOT / "examples").glob("*/*.tile.json")))]
    ours = subprocess.run([str(ROOT / "build" / "tileproof"), *arguments], capture_output=True, text=True).stdout
    theirs = fresh.run("tileproof", *arguments).stdout
    a, b = collections.Counter(verdicts(ours)), collections.Counter(verdicts(theirs))
    assert a == b, f"only here {list((a - b).elements())[:5]}, only in the wheel {list((b - a).elements())[:5]}"


def without_numpy(fresh):
    said = fresh.python("""
        import tileproof
        try:
            tileproof.check(print)
        except tileproof.NotFound as e:
            print(e)
        """)
    assert "pip install 'tileproof[jax]'" in said and said.count("\n") == 1, said


def without_z3(fresh):
    library = fresh.site / "z3"
    library.rename(fresh.site / "gone")
    try:
        done = fresh.run("tileproof", "--version")
    finally:
        (fresh.site / "gone").rename(library)
    assert done.returncode == 1 and done.stderr == "tileproof: Z3 is not installed: `pip install z3-solver`\n", done.stderr


def z3_elsewhere(fresh):
    away = fresh.room / "away"
    away.mkdir()
    library = fresh.site / "z3"
    library.rename(away / "z3")
    try:
        done = fresh.run("tileproof", "lint", "-q", "matmul_relu", PYTHONPATH=str(away))
    finally:
        (away / "z3").rename(library)
    assert done.returncode == 0 and "49 proven" in done.stdout, done.stdout + done.stderr


def jax_of_venv(fresh):
    """JAX and NumPy as build/venv has them."""
    here = subprocess.run([str(ROOT / "build" / "venv" / "bin" / "python"), "-c", "import jax; print(jax.__file__)"], capture_output=True, text=True, check=True).stdout
    (fresh.site / "jax.pth").write_text(str(pathlib.Path(here.strip()).parents[1]) + "\n")


def jax_by_extra(fresh):
    assert not any(pathlib.Path("/usr/bin", c).exists() for c in ("cc", "gcc", "clang")), "this root has a compiler"
    fresh.install("[jax]")


def readme(fresh):
    section = (ROOT / "README.md").read_text().split("## From Python")[1]
    (fresh.room / "mine.py").write_text(KERNELS + re.search(r"```python\n(.*?)```", section, re.S)[1] + textwrap.dedent(f"""
        import tileproof.binary
        assert tileproof.__file__.startswith({str(fresh.site)!r}) and tileproof.binary.program().startswith({str(fresh.site)!r})
        assert not tileproof.verify(kernel, lambda x, y: x - y, x, y).ok
        add = tileproof.compile({str(ROOT / "examples" / "elementwise" / "add_2d.tile.json")!r}, unchecked=True)
        out = np.zeros((64, 128), np.float32)
        assert (add(x, y, out=out) == 3).all()
        """))
    done = fresh.run("python", "mine.py")
    assert done.returncode == 0, done.stdout + done.stderr
    (fresh.room / "other.py").write_text(KERNELS)
    done = fresh.run("tileproof", "import-jax", "other:kernel", "--arg", "f32[64,128]", "--arg", "f32[64,128]", "--lint")
    assert done.returncode == 0 and "0 violated" in done.stdout, done.stdout + done.stderr


def main():
    wheels = sorted((ROOT / "build" / "dist").glob("tileproof-*.whl"))
    if len(wheels) != 1:
        sys.exit("wheel: build/dist has no wheel: make wheel")
    code = 0
    with tempfile.TemporaryDirectory() as room:
        fresh = Fresh(pathlib.Path(room), wheels[0])
        clean = sys.argv[1:] == ["clean"]
        for use in (commands, *([] if clean else [gallery]), without_numpy, without_z3, z3_elsewhere, jax_by_extra if clean else jax_of_venv, readme):
            try:
                use(fresh)
                print(f"wheel: {use.__name__}: works")
            except AssertionError as e:
                print(f"wheel: {use.__name__}: {e}")
                code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
