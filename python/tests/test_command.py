"""The commands and the pytest plugin, as processes."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tileproof import binary

KERNEL = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl

def add(x, y):
    def body(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]
    block = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(4,),
                          in_specs=[block, block], out_specs=block, interpret=True)(x, y)

def wrong(x):
    return pl.pallas_call(lambda x, o: None, grids=(4,))(x)

def plain(x):
    return x + 1

if __name__ == "__main__":
    add(jnp.ones((256, 128)), jnp.ones((256, 128)))
"""
PYTHON = str(pathlib.Path(__file__).resolve().parents[1])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(KERNEL)
    return tmp_path


def run(folder, *arguments, **environment):
    env = {**os.environ, "PYTHONPATH": PYTHON, "TILEPROOF_PYTHON": sys.executable, "JAX_PLATFORMS": "cpu", **environment}
    return subprocess.run([binary.program(), *arguments], cwd=folder, capture_output=True, text=True, env=env)


def test_import_prints_a_spec(folder):
    done = run(folder, "import-jax", "mine:add", "--arg", "f32[256,128]", "--arg", "f32[256,128]")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kernel"][-1] == "o[...] = v1 + v2"


def test_import_with_symbols_and_a_reference(folder):
    (folder / "naive.py").write_text("def add(x, y):\n    return x + y\n")
    done = run(folder, "import-jax", "mine:add", "--arg", "f32[256,N]", "--arg", "f32[256,N]", "--sym", "N=128", "--reference", "naive:add")
    spec = json.loads(done.stdout)
    assert spec["sizes"] == {"N": {"min": 1, "max": 65536}} and spec["reference"] == ["o = x + y"]


def test_code_that_raises(folder):
    (folder / "raises.py").write_text("def f(x):\n    raise ValueError('not today')\n")
    done = run(folder, "import-jax", "raises:f", "--arg", "f32[8]")
    assert done.returncode == 3 and done.stderr == "tileproof: the code raises ValueError (raises.py:2): not today\n"


def test_import_lint(folder):
    done = run(folder, "import-jax", "mine:add", "--arg", "f32[256,128]", "--arg", "f32[256,128]", "--lint")
    assert done.returncode == 0 and "0 violated" in done.stdout


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (["mine:add", "--arg", "f32[256,128]"], 2, "cannot be called with these arguments"),
    (["mine:sub", "--arg", "f32[256,128]"], 3, "has no `sub`"),
    (["mine:plain", "--arg", "f32[256,128]"], 3, "reaches no pallas_call"),
    (["nowhere:add", "--arg", "f32[256,128]"], 3, "cannot import `nowhere`"),
    (["mine", "--arg", "f32[256,128]"], 3, "pkg.mod:fn"),
    (["mine.py:add", "--arg", "f32[256,128]"], 3, "name the module, `mine:add`, not its file"),
    (["mine:wrong", "--arg", "f32[256,128]"], 3, "the code raises TypeError (mine.py:13): "),
    (["mine:add", "--arg", "f32[256,128]", "--arg", "f32[256,128]", "-o", "mine.py"], 3, "cannot write `mine.py/body.tile.json`: "),
    (["mine:add", "--arg", "f99[2]"], 3, "`f99` in `f99[2]` is no dtype; there are f32, "),
])
def test_sentences(folder, arguments, code, message):
    done = run(folder, "import-jax", *arguments)
    assert done.returncode == code and message in done.stderr and "Traceback" not in done.stderr


def test_trace_of_a_script_with_a_module_beside_it(folder):
    (folder / "scripts").mkdir()
    (folder / "scripts" / "beside.py").write_text(KERNEL)
    (folder / "scripts" / "main.py").write_text("import jax.numpy as jnp, beside\nbeside.add(jnp.ones((256, 128)), jnp.ones((256, 128)))\n")
    done = run(folder, "trace", "scripts/main.py")
    assert done.returncode == 0 and json.loads(done.stdout)["name"] == "body", done.stderr
    assert "listening.py" not in done.stdout and "scripts/beside.py:7" in done.stdout


def test_the_traceback_of_a_block_is_the_callers(folder):
    (folder / "test_block.py").write_text("import jax.numpy as jnp, mine, tileproof\nX = jnp.ones((256, 128))\n\ndef test_add():\n"
                                          "    with tileproof.verifying({'body': jnp.subtract}):\n        mine.add(X, X)\n")
    env = {**os.environ, "PYTHONPATH": PYTHON, "TILEPROOF": binary.program(), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_block.py"], cwd=folder, capture_output=True, text=True, env=env)
    assert done.returncode == 1 and "violated[TP701]" in done.stdout and "contextlib" not in done.stdout and "verification.py" not in done.stdout, done.stdout


def test_trace(folder):
    done = run(folder, "trace", "-o", "specs", "mine.py")
    assert done.returncode == 0, done.stderr
    spec = json.loads((folder / "specs" / "body.tile.json").read_text())
    line = next(n for n, text in enumerate(KERNEL.splitlines(), 1) if "pallas_call" in text)
    assert spec["x-python"]["call"] == f"mine.py:{line}"


@pytest.mark.parametrize("end, code, message", [("raise ValueError('too late')", 3, "raises ValueError (mine.py:"), ("raise SystemExit(7)", 7, "")])
def test_trace_of_a_script_that_does_not_end_well(folder, end, code, message):
    (folder / "mine.py").write_text(KERNEL + f"    {end}\n")
    done = run(folder, "trace", "-o", "specs", "mine.py")
    assert done.returncode == code and message in done.stderr and (folder / "specs" / "body.tile.json").exists()


def test_what_cannot_be_imported_does_not_keep_the_rest(folder):
    (folder / "both.py").write_text(KERNEL.replace("if __name__", """
def sort(x, y):
    def body(x_ref, o_ref):
        o_ref[...] = jnp.sort(x_ref[...], axis=1)
    return add(pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x), y)

if __name__"""))
    done = run(folder, "import-jax", "both:sort", "--arg", "f32[256,128]", "--arg", "f32[256,128]")
    assert done.returncode == 3 and "not imported: sort is not supported (both.py:" in done.stderr and json.loads(done.stdout)["name"] == "body"


def test_without_the_package(folder):
    done = run(folder, "trace", "mine.py", PYTHONPATH="")
    assert done.returncode == 2 and "pip install ./python" in done.stderr and "Traceback" not in done.stderr


def test_the_package_without_jax_and_numpy():
    code = "import sys; sys.modules['jax'] = sys.modules['numpy'] = None; import tileproof; tileproof.from_pallas(print)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PYTHON})
    assert "tileproof.errors.NotFound: JAX and NumPy are needed" in done.stderr and "__init__.py" not in done.stderr, done.stderr


def test_plugin(folder):
    bad = {"tileproof": 1, "name": "bad", "target": "none", "sizes": {"N": {"min": 1}}, "grid": [{"axis": "i", "steps": "N"}],
           "outputs": [{"name": "o", "dtype": "float32", "shape": ["N"], "block_shape": [2], "index_map": ["i"]}], "kernel": ["o[...] = 0"]}
    (folder / "bad.tile.json").write_text(json.dumps(bad))
    good = {**bad, "grid": [{"axis": "i", "steps": "cdiv(N, 2)"}]}
    (folder / "good.tile.json").write_text(json.dumps(good))
    (folder / "test_mine.py").write_text("def test_it(tileproof):\n    assert tileproof.check\n")
    for extra in ([], ["-p", "xdist", "-n", "2"]):
        said = collected(folder, *extra)
        failed = re.findall(r"^FAILED (\S+)", said.split("short test summary")[1], re.M)
        assert failed == ["bad.tile.json::TP101"] and "bad.tile.json:1:" in said and "smallest case: N = 2" in said, said
        assert "plugin.py" not in said, said


def collected(folder, *options):
    env = {**os.environ, "PYTHONPATH": PYTHON, "TILEPROOF": binary.program(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run([sys.executable, "-m", "pytest", "-v", "-rs", "-rf", "-p", "tileproof.pytest_plugin", "-p", "no:cacheprovider", *options], cwd=folder,
                          capture_output=True, text=True, env=env).stdout


def test_plugin_one_item_for_each_rule_and_tier(folder):
    def spec(name, kernel, **more):
        whole = {"dtype": "float32", "shape": ["N"], "block_shape": [128], "index_map": ["i"]}
        text = json.dumps({"tileproof": 1, "name": name, "target": "none", "sizes": {"N": {"min": 1}}, "grid": [{"axis": "i", "steps": "cdiv(N, 128)"}],
                           "inputs": [{"name": "x", **whole}], "outputs": [{"name": "o", **whole}], "kernel": [kernel], "reference": ["o = x * 2"], **more})
        (folder / f"{name}.tile.json").write_text(text)

    spec("good", "o[...] = x[...] * 2")
    spec("wrong", "o[...] = x[...] * 2.1")
    spec("accepted", "o[...] = x[...] * 2.1", allow=[{"rule": "TP701", "reason": "known"}])
    (folder / "broken.tile.json").write_text("{")
    said = collected(folder, "--tileproof=verify")
    outcomes = {tuple(name.split(".tile.json::")): what for name, what in re.findall(r"^(\S+\.tile\.json::.*?) (PASSED|FAILED|SKIPPED)", said, re.M)}
    assert outcomes["good", "TP101"] == outcomes["good", "all sizes"] == outcomes["good", "execution"] == outcomes["wrong", "TP101"] == "PASSED"
    assert outcomes["wrong", "execution"] == outcomes["wrong", "algebra"] == outcomes["broken", "verify"] == "FAILED"
    assert outcomes["wrong", "all sizes"] == "SKIPPED" and outcomes["wrong", "verify"] == "PASSED", said
    assert {n for n, what in outcomes.items() if what == "FAILED" and n[0] in ("good", "accepted")} == set(), said
