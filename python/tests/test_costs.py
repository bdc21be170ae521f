"""Costs and sweeps from Python: numbers that follow from the shapes, legal and forbidden blocks."""

import json
import pathlib
import subprocess

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl

import tileproof
from tileproof import binary

ROOT = pathlib.Path(__file__).resolve().parents[2]
F32 = jnp.float32


def scaled(x, bm=8, bn=128):
    """o = 2 x; each block is moved once."""
    spec = pl.BlockSpec((bm, bn), lambda i, j: (i, j))

    def scale(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    return pl.pallas_call(scale, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(pl.cdiv(x.shape[0], bm), pl.cdiv(x.shape[1], bn)),
                          in_specs=[spec], out_specs=spec)(x)


def test_cost_of_a_report():
    x = jax.ShapeDtypeStruct((300, 512), F32)
    one, = tileproof.check(scaled, x).cost
    assert one.counts["bytes_in"] == one.counts["bytes_out"] == 300 * 512 * 4
    assert one.counts["steps"] == 38 * 4 and one.counts["flops"] == 38 * 8 * 512  # whole blocks are computed
    assert one.models["tpu-v5e"]["bound"] == "memory" and "bytes in" in str(one) and "<pre>" in one._repr_html_()


def test_cost_of_a_spec():
    c = tileproof.cost(ROOT / "examples" / "matmul" / "matmul.tile.json", dtypes={"T": "float32"}, M=4096, N=4096, K=4096, bk=256)
    assert c.counts["bytes_in"] == 2 * 32 * 4096 * 4096 * 4
    assert c.operands["x"] == {"fetches": 32 * 32 * 16, "bytes_in": 32 * 4096 * 4096 * 4, "writes": 0, "bytes_out": 0, "array_bytes": 4096 * 4096 * 4}
    assert [m["buffers"] for m in c.vmem] == [["x", "y", "o", "acc"]] and c.vmem[0]["bytes"] == c.counts["vmem_bytes"] and "over time" not in str(c)
    with pytest.raises(tileproof.TileproofError, match="sizes are missing"):
        tileproof.cost(ROOT / "examples" / "matmul" / "matmul.tile.json", M=4096)


def test_sweep_of_a_function():
    x = jax.ShapeDtypeStruct((4096, 4096), F32)
    found = tileproof.sweep(scaled, (x,), over={"bm": [7, 8, 256, 4096], "bn": [128, 4096]})
    said = {(s.at["bm"], s.at["bn"]): s for s in found.shapes}
    assert said[7, 128].verdict == "forbidden" and said[7, 128].rules == ["TP201"]
    assert said[4096, 4096].verdict == "forbidden" and "TP301" in said[4096, 4096].rules
    assert said[8, 128].verdict == said[256, 4096].verdict == "legal"
    assert said[8, 128].traffic_bytes == 2 * 4096 * 4096 * 4 and said[256, 128].vmem_bytes == 2 * 2 * 256 * 128 * 4
    assert found.best in found.legal and found.space[0] == found.best.at and found.shapes[-1].verdict == "forbidden"
    assert "TP201" in str(found) and "<table>" in found._repr_html_()


def test_sweep_of_a_spec():
    found = tileproof.sweep(ROOT / "examples" / "matmul" / "matmul.tile.json", over={"bk": [128, 256, 100]})
    assert [s.verdict for s in found.shapes] == ["legal", "legal", "forbidden"] and found.best.at == {"bk": 128}
    assert found.shapes[2].rules and found.shapes[2].seconds is None


def test_what_cannot_be_imported_is_listed():
    def refused(x, bm):
        def kernel(x_ref, o_ref):
            o_ref[...] = jax.lax.linalg.cholesky(x_ref[...])

        return pl.pallas_call(kernel, out_shape=x, grid=(bm,))(x)

    found = tileproof.sweep(refused, (jax.ShapeDtypeStruct((8, 8), F32),), over={"bm": [1]})
    assert found.shapes[0].verdict == "not imported" and found.shapes[0].reason and found.best is None


def test_the_page():
    report = tileproof.check(scaled, jax.ShapeDtypeStruct((64, 512), F32))
    assert "<h3>Cost</h3>" in report.page() and report.plot()._repr_html_().startswith("<iframe sandbox")


def test_assess_a_function():
    x = jnp.ones((512, 512), F32)
    a = tileproof.assess(lambda x: scaled(x, 128, 512), x, reference=lambda x: x * 2, runs=2)
    # one operation, so that there is nothing to gain, whatever this machine says
    assert a.advice in ("experimental", "drop") and any("nothing to fuse" in r for r in a.reasons)
    assert a.here["kernel"].engine == "machine" and "for exp" in a.here["kernel"].detail
    assert a.here["reference"].engine == "XLA" and jax.__version__ in a.here["reference"].detail and "on cpu" in a.here["reference"].detail
    assert a.here["kernel"].seconds > 0 and a.here["reference"].seconds > 0 and "here, reference" in str(a) and "<pre>" in a._repr_html_()
    quiet = tileproof.assess(lambda x: scaled(x, 128, 512), x, reference=lambda x: x * 2, runs=0)
    assert not quiet.here and not quiet.not_measured and (quiet.advice, quiet.reasons) == (a.advice, a.reasons)


def test_assess_a_spec():
    spec = ROOT / "tests" / "assess" / "keep_fused_matmul_relu.tile.json"
    a = tileproof.assess(spec, runs=1, sizes={"M": 256, "N": 256})
    assert a.here["reference"].engine == "evaluator" and a.at[0]["here"]["decides"] is False and a.at[0]["sizes"]["M"] == 256
    assert tileproof.assess(spec, runs=0).advice == "keep" and tileproof.assess(spec, runs=0, gain=40).advice == "experimental"
    wrong = tileproof.assess(ROOT / "tests" / "assess" / "drop_wrong_window.tile.json", runs=1)
    assert wrong.advice == "drop" and not wrong.here and wrong.not_measured == "a rule is violated"


def test_what_cannot_be_assessed():
    x = jax.ShapeDtypeStruct((256, 256), F32)
    with pytest.raises(tileproof.TileproofError, match="needs a reference"):
        tileproof.assess(scaled, x)
    with pytest.raises(tileproof.TileproofError, match="more than one pallas_call"):
        tileproof.assess(lambda x: scaled(x) + 1, x, reference=lambda x: x * 2 + 1)


def test_memory_of_a_pipeline_within_a_kernel():
    """Buffers of the inner pipeline are there while it runs, beside what the kernel has in all steps."""
    from jax.experimental.pallas import tpu as pltpu

    x = jax.ShapeDtypeStruct((1024, 512), F32)
    block = pl.BlockSpec((128, 512), lambda i: (i, 0))

    def kernel(x_hbm, o_hbm):
        def twice(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2

        pltpu.emit_pipeline(twice, grid=(4,), in_specs=[block], out_specs=[block])(x_hbm, o_hbm)
        half = pl.BlockSpec((64, 512), lambda i: (i + 8, 0))
        pltpu.emit_pipeline(twice, grid=(8,), in_specs=[half], out_specs=[half])(x_hbm, o_hbm)

    far = pl.BlockSpec(memory_space=pl.ANY)
    spec, = tileproof.from_pallas(pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), in_specs=[far], out_specs=far), x)
    told = tileproof.cost(spec)
    assert told.vmem[1] == {"line": told.vmem[1]["line"], "ends": False, "buffers": told.vmem[1]["buffers"], "bytes": 2 * 2 * 128 * 512 * 4}
    assert len(told.vmem[1]["buffers"]) == 2 and not told.vmem[-1]["buffers"] and "VMEM over time" in str(told)
    counts = json.loads(subprocess.run([binary.program(), "cost", "--format", "json", "-"], input=binary.text_of(spec), capture_output=True, text=True).stdout)
    counts = counts["kernels"][0]["cases"][0]["counts"]
    sizes = [m["bytes"]["exact"] for m in counts["vmem_moments"]]
    assert sizes == [0, 2 * 2 * 128 * 512 * 4, 0, 2 * 2 * 64 * 512 * 4, 0]  # in and out, two slots each; first one pipeline, then the other
    assert counts["vmem_bytes"]["exact"] == sizes[counts["vmem_peak"]] == max(sizes)
