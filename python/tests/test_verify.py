"""verify and verifying: ok means rules and equivalence; what is shown of it."""

import functools
import html.parser
import inspect
import io
import os
import pathlib
import re
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import tileproof
from tileproof import wrapping
from tileproof.progress import Progress

X = np.random.default_rng(0).standard_normal((256, 128)).astype(np.float32)
BLOCK = pl.BlockSpec((64, 128), lambda i: (i, 0))


def double(x, factor=2.0, move=0):
    def twice(x_ref, o_ref):
        o_ref[...] = x_ref[...] * factor

    far = pl.BlockSpec((64, 128), lambda i: (i + move, 0))
    return pl.pallas_call(twice, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(pl.cdiv(x.shape[0], 64),), in_specs=[far], out_specs=BLOCK, interpret=True)(x)


def sine(x):
    def body(x_ref, o_ref):
        o_ref[...] = jnp.sin(x_ref[...])

    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), name="sine", interpret=True)(x)


def reference(x):
    return x * 2


def test_all_tiers_of_one_call():
    report = tileproof.verify(double, reference, X)
    assert report.ok and report.rules and report.equivalence, report
    verdicts = {t.name: t.verdict for t in report.tiers}
    assert verdicts["all sizes"] == "proven" and verdicts["algebra"] == verdicts["rounding"] == verdicts["executed"] == "tested"
    assert str(report).startswith("tileproof, rules and equivalence: 1 kernel, 0 violated")


def test_a_reference_that_is_read_at_no_symbolic_size_is_executed():
    """Halves of an array of any size have no types: the kernel is not accused, and what differs shows by execution."""
    def halves(x):
        return jnp.concatenate([x[:x.shape[0] // 2] * 2, x[x.shape[0] // 2:] * 2])

    report = tileproof.verify(double, halves, "f32[M,128]", sizes={"M": 256})
    assert report.ok and report.compared == {"double()": "tested"} and report.of("proven"), report
    assert not tileproof.verify(functools.partial(double, factor=3.0), halves, "f32[M,128]", sizes={"M": 256}).equivalence


def test_a_reference_may_slice_between_sizes():
    def shifted(x):
        return jnp.pad(x, ((2, 1), (0, 0)))[2:x.shape[0] + 2] * 2

    report = tileproof.verify(double, shifted, "f32[M,128]", sizes={"M": 256})
    assert report.ok and {t.name: t.verdict for t in report.tiers}["all sizes"] == "proven", report


def test_an_epsilon_shows_on_small_inputs():
    def norm(x, eps):
        return x * jax.lax.rsqrt(jnp.mean(x * x, axis=1, keepdims=True) + eps)

    def kernel(x, eps):
        def body(x_ref, o_ref):
            o_ref[...] = norm(x_ref[...], eps)

        y = pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(4,), in_specs=[BLOCK], out_specs=BLOCK, interpret=True)(x)
        return jnp.sort(y, axis=1)  # what the importer does not read: the whole is executed alone

    shape = jax.ShapeDtypeStruct((256, 128), jnp.float32)
    for eps, ok in (1e-5, True), (1e-3, False):
        report = tileproof.verify(lambda x: kernel(x, eps), lambda x: jnp.sort(norm(x, 1e-5), axis=1), shape)
        assert report.ok == ok, report


def test_narrow_results_beside_a_wide_reference():
    def body(x_ref, o_ref):
        o_ref[...] = (x_ref[...] * 1.001).astype(jnp.bfloat16)

    narrow = lambda x: pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, jnp.bfloat16), interpret=True)(x)  # noqa: E731
    report = tileproof.verify(narrow, lambda x: x * 1.001, X)
    assert report.ok and "on the given arrays, within 0.015625 of each element and 0.015625 of the root mean square" in str(report), report
    assert tileproof.assert_equivalent(narrow, lambda x: x * 1.001, X) == 1
    assert "within 0.001 of each element" in str(tileproof.verify(double, reference, X))


def test_a_difference_at_other_values_than_those_given():
    def square(x):
        def body(x_ref, o_ref):
            o_ref[...] = jnp.exp(2 * jnp.log(x_ref[...]))

        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    x = np.abs(X[:8]) + 0.5
    found, = tileproof.verify(square, lambda x: x * x, x).of("violated")
    assert found.rule == "TP701" and "on the given arrays they agree" in found.note
    assert not tileproof.verify(square, lambda x: jnp.where(x > 0, x * x, jnp.nan), x).of("violated")


def test_equivalence_counts():
    report = tileproof.verify(lambda x: double(x, 2.001), reference, X)
    assert not report.ok and report.rules and not report.equivalence
    assert "TP701" in str(report) and "test_verify.py:" in str(report)


def test_rules_count():
    report = tileproof.verify(lambda x: double(x, move=1), reference, X)
    assert not report.ok and not report.rules and "TP101" in str(report)


def test_an_index_map_is_shown_where_it_is_written():
    far, = (f for f in tileproof.check(lambda x: double(x, move=1), X).findings if f.verdict == "violated")
    line = inspect.getsourcelines(double)[0].index("    far = pl.BlockSpec((64, 128), lambda i: (i + move, 0))\n") + double.__code__.co_firstlineno
    assert far.python.endswith(f"test_verify.py:{line}") and "lambda i: (i + move, 0)" in str(far)
    assert tileproof.from_pallas(sine, X)[0]["x-python"]["index_maps"] == {}


def test_equal_results_are_not_enough():
    def rows(x):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2
        block = pl.BlockSpec((12, 128), lambda i: (i, 0))  # no multiple of 8
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(22,), in_specs=[block], out_specs=block, interpret=True)(x)

    report = tileproof.verify(rows, reference, X, target="tpu-v5e")
    assert not report.ok and not report.rules and report.equivalence and "TP201" in str(report)


def of_two(x, y, aliases=None):
    def body(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]
    block = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(x.shape[0] // 64,), in_specs=[block] * 2, out_specs=block,
                          input_output_aliases=aliases or {})(x, y)


def rows_below(x, move=1, other=None):
    """x[r + 1] - x[r], whose last row of a block is the first one of the next block."""
    M, n = x.shape[0], pl.cdiv(x.shape[0], 64)

    def body(x_ref, below_ref, o_ref):
        v = x_ref[...]
        row = pl.program_id(0) * 64 + jax.lax.broadcasted_iota(jnp.int32, v.shape, 0)
        o_ref[...] = jnp.where(row < M - 1, jnp.concatenate([v[1:], below_ref[:1]]) - v, 0)

    block, below = pl.BlockSpec((64, 128), lambda i: (i, 0)), pl.BlockSpec((64, 128), lambda i: (jnp.minimum(i + move, n - 1), 0))
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(n,), in_specs=[block, below], out_specs=block)(x, x if other is None else other)


def test_one_argument_by_two_blockspecs():
    def differences(x):
        return jnp.concatenate([x[1:], x[-1:]]) - x

    for x, sizes in (X, {}), ("f32[M,128]", {"M": 512}):
        report = tileproof.verify(rows_below, differences, x, **({"sizes": sizes} if sizes else {}))
        assert report.ok and report.tiers[0].verdict == "proven", report
        x_ref, below = report.specs[0]["inputs"]
        assert below["array"] == x_ref["name"] and "array" not in x_ref
    wrong = tileproof.verify(lambda x: rows_below(x, 0), differences, X)
    assert not wrong.equivalence and wrong.of("violated")
    assert tileproof.verify(lambda x, y: rows_below(x, 1, y), lambda x, y: differences(x), X, X).of("violated")
    same = lambda x: of_two(x, x), lambda x: 2 * x  # noqa: E731
    assert tileproof.verify(*same, X).tiers[0].verdict == "proven"
    for values in {"y": (0, 3)}, {"x": (0, 3), "y": (0, 3)}:
        report = tileproof.verify(*same, X.astype(int), values=values)
        assert report.ok and [i.get("values") for i in report.specs[0]["inputs"]] == [{"min": 0, "max": 3}, None], report
    with pytest.raises(tileproof.TileproofError, match="two things of one array"):
        tileproof.verify(*same, X.astype(int), values={"x": (0, 3), "y": (0, 4)})


@pytest.mark.parametrize(("around", "same", "why"), [
    (lambda x: double(x) + 1, lambda x: x * 2 + 1, "results are computed after the pallas_call"),
    (lambda x: double(jnp.pad(x, ((0, 64), (0, 0))))[:256], reference, "operands of the pallas_call are computed before it"),
    (lambda x: double(double(x)), lambda x: x * 4, "2 pallas_calls"), (lambda x: double(x).T, lambda x: 2 * x.T, "results are computed after the pallas_call"),
    (lambda x: of_two(x, x, {0: 0}), lambda x: x + x, "one argument is two operands of the pallas_call, a table or an array that is written to"),
    (double, lambda x: x + jnp.linalg.det(x[:128, :128] * 0) + x, "`lu`")])  # what no spec's reference can say
def test_what_is_around_the_call_is_compared_too(around, same, why):
    report = tileproof.verify(around, same, X)
    assert report.ok and [t.name for t in report.tiers] == ["all sizes", "executed"], report
    assert report.tiers[0].verdict == "unknown" and why in report.tiers[0].text, report
    wrong = tileproof.verify(around, lambda x: same(x) + 0.01, X)
    assert wrong.rules and not wrong.equivalence and "the worst is" in str(wrong)


def test_sizes_with_another_kernel_are_executed():
    odd = lambda x: double(x, 3.0 if x.shape[0] == 123 else 2.0)  # noqa: E731
    report = tileproof.verify(odd, reference, "f32[M,128]", sizes={"M": 512})
    assert not report.ok and "Left out, with another kernel or reference: M = 123" in str(report) and "left out: violated, at M = 123: result 0 differs" in str(report), report
    same = lambda x: double(x) if x.shape[0] != 123 else double(x / 2, 4.0)  # noqa: E731
    report = tileproof.verify(same, reference, "f32[M,128]", sizes={"M": 512})
    assert report.ok and "left out: tested, executed at M = 123 of 1 sizes" in str(report), report


def test_a_function_that_only_looks_like_its_call():
    assert not tileproof.verify(lambda x: double(x) * 3, reference, X).ok  # the call alone is the reference
    assert not tileproof.verify(lambda x: double(x * 3), reference, jax.ShapeDtypeStruct((256, 128), jnp.float32)).ok


def test_sizes():
    report = tileproof.verify(double, reference, "f32[M,128]", sizes={"M": 512})
    assert report.ok and "M" in report.specs[0]["sizes"], report
    assert not tileproof.verify(lambda x: double(x, 2.001), reference, "f32[M,128]", sizes={"M": 512}).ok
    assert "note: twice: sizes inferred from" in str(report) and "<= M <= 65536" in str(report) and "Left out" not in str(report.assumed)
    with pytest.raises(tileproof.TileproofError, match="name them in the arguments"):
        tileproof.verify(double, reference, X, sizes={"M": 512})


def test_half_types_have_their_tolerance():
    around, exact = lambda x: double(x, 1.1) * 1, lambda x: (x.astype(jnp.float32) * 1.1).astype(x.dtype)
    assert tileproof.verify(around, exact, X.astype(jnp.bfloat16)).ok
    assert not tileproof.verify(around, exact, X.astype(jnp.bfloat16), rtol=1e-4, atol=1e-4).ok


def test_what_rounding_may_cost_is_told_in_python():
    def body(x_ref, o_ref):
        o_ref[...] = pl.reciprocal(x_ref[...], approx=True)

    def approximate(x):
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)

    x = jnp.abs(X) + 1
    report = tileproof.verify(approximate, lambda x: 1 / x, x)
    assert not report.ok and "note: rtol= is the \"tolerance\"" in str(report), report
    assert tileproof.verify(approximate, lambda x: 1 / x, x, rtol=2e-2).ok


def masked(x, row=0.0):
    """A row of finite masks as large as floats are."""
    def body(x_ref, o_ref):
        mask = jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 1) <= jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
        s = x_ref[...] + jnp.where(mask, row, -0.7 * float(jnp.finfo(jnp.float32).max))
        p = jnp.exp(s - jnp.max(s, axis=1, keepdims=True))
        o_ref[...] = p / jnp.sum(p, axis=1, keepdims=True)

    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), name="masked", interpret=True)(x)


def test_masks_as_large_as_floats_are_compared():
    def same(x):
        return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(x.shape, bool)), x, -jnp.inf), axis=1)

    report = tileproof.verify(masked, same, X[:128])
    assert report.compared == {"masked": "tested", "masked()": "tested"} and report.ok, report
    assert not tileproof.verify(masked, lambda x: same(x) * 1.01, X[:128]).ok


def newton(x):
    """A reciprocal by more steps than it takes: each of them doubles the bound on rounding."""
    def body(x_ref, o_ref):
        a = 1 + jnp.abs(jnp.sin(x_ref[...]))
        y = jnp.full(a.shape, 0.5, a.dtype)
        for _ in range(48):
            y = y * (2 - a * y)
        o_ref[...] = y

    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), name="newton", interpret=True)(x)


def test_what_the_tiers_leave_open_is_executed():
    def same(x):
        return 1 / (1 + jnp.abs(jnp.sin(x)))

    report = tileproof.verify(newton, same, X[:128])
    assert report.compared == {"newton": "inconclusive", "newton()": "tested"} and report.ok, report
    assert not tileproof.verify(newton, lambda x: same(x) * 1.01, X[:128]).ok


def test_numbers_that_no_bound_judges_accuse_nobody():
    """A chain of layers in which the order of a sum decides the last numbers: the cases say nothing, and count as nothing."""
    def chain(x, u):
        def body(x_ref, u_ref, o_ref):
            s = x_ref[...]
            for _ in range(40):
                s = jnp.tanh(s @ u_ref[...])
            o_ref[...] = s

        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), name="chain", interpret=True)(x, u)

    def same(x, u):
        for _ in range(40):
            x = jnp.tanh(x[:, ::-1] @ u[::-1])
        return x

    x, u = (jax.random.normal(jax.random.key(n), (n, 32)) for n in (8, 32))
    report = tileproof.verify(chain, same, x, u * 0.2)
    assert report.compared == {"chain": "inconclusive", "chain()": "tested"} and not report.of("violated") and report.ok, report


def test_what_is_not_imported_is_not_ok():
    def sort(x):
        def body(x_ref, o_ref):
            o_ref[...] = jnp.sort(x_ref[...], axis=1)
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(double(x))

    report = tileproof.verify(sort, lambda x: jnp.sort(2 * x, axis=1), X)
    assert not report.ok and report.refused and report.compared == {"sort()": "unknown"}


def test_check_names_itself():
    assert str(tileproof.check(double, X)).startswith("tileproof, rules only: 1 kernel")


def test_a_block_of_calls():
    with tileproof.verifying({"twice": reference}) as seen:
        jax.jit(lambda x: double(x) + sine(x))(X[:128])
    assert not seen.report.ok and seen.report.compared == {"twice": "tested", "sine": "no reference"}
    with tileproof.verifying({"twice": reference}) as seen:
        double(X)
    assert seen.report.ok, seen.report


def test_a_block_with_a_wrong_call():
    with pytest.raises(AssertionError, match="TP701"), tileproof.verifying({"twice": reference}):
        double(X, 2.5)
    with pytest.raises(AssertionError, match="TP101"), tileproof.verifying():
        double(X, move=1)
    with tileproof.verifying(fail=False) as seen:
        double(X, move=1)
    assert not seen.report.rules
    with pytest.raises(tileproof.NoPallasCall), tileproof.verifying():
        pass
    with pytest.raises(tileproof.TileproofError, match="a reference for `twise`"), tileproof.verifying({"twise": reference}):
        double(X)
    with pytest.raises(ZeroDivisionError), tileproof.verifying() as seen:  # what was heard is kept
        double(X)
        1 / 0  # noqa: B018
    assert seen.report.rules


class Cells(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, _attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_notebooks():
    for report, ok, row in ((tileproof.verify(double, reference, X), "ok", "all sizes"), (tileproof.check(lambda x: double(x, move=1), X), "not ok", "TP101 block-out-of-bounds")):
        cells = Cells()
        cells.feed(report._repr_html_())
        assert not cells.open and cells.text[0] == ok and row in cells.text


def test_progress():
    said = []
    tileproof.verify(double, reference, X, progress=lambda *what: said.append(what))
    assert said == [(0, 0, "importing double"), (0, 2, "verify twice"), (1, 2, "executing double")]


@pytest.mark.parametrize("how", [True, None])
def test_progress_on_a_stream(monkeypatch, how):
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # no terminal
    end = time.monotonic() + (20 if how else 0.8)
    with Progress(how) as said:
        said(1, 3, "lint matmul")
        while time.monotonic() < end and not sys.stderr.getvalue():
            time.sleep(0.05)
    text = sys.stderr.getvalue()
    assert "\r\x1b[Ktileproof: 2/3 lint matmul, " in text and text.endswith("\r\x1b[K") if how else not text


def test_tracebacks_are_short(tmp_path):
    here = pathlib.Path(__file__).resolve().parent
    (tmp_path / "test_mine.py").write_text(f"""
import sys
sys.path.insert(0, {str(here)!r})
import tileproof
from test_verify import X, double, reference

def test_rules():
    tileproof.assert_safe(lambda x: double(x, move=1), X)

def test_results():
    tileproof.assert_equivalent(lambda x: double(x, 2.1), reference, X)

def test_trap():
    tileproof.assert_equivalent(lambda x: double(x, move=1), reference, X)
""")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(here.parent)})
    assert "3 failed" in done.stdout, done.stdout
    body = done.stdout.split("short test summary")[0]
    assert "test_mine.py:8: " in body and "api.py:" not in body and "capture.py:" not in body, body


def piped(x, y, short=0):
    def kernel(x_hbm, y_hbm, o_hbm):
        rows = pl.BlockSpec((16, 128), lambda i: (i, 0))
        pltpu.emit_pipeline(lambda a, b, o: o.__setitem__(..., a[...] + b[...]), grid=(x.shape[0] // 16 - short,), in_specs=[rows, rows], out_specs=[rows])(x_hbm, y_hbm, o_hbm)

    far = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(kernel, in_specs=[far, far], out_specs=far, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)


def test_a_pipeline_is_verified_where_there_is_no_tpu():
    """JAX asks the device which TPU it is; a partial is named by its function."""
    x = X[:64]
    assert tileproof.verify(piped, lambda x, y: x + y, x, x).ok
    report = tileproof.verify(functools.partial(piped, short=1), lambda x, y: x + y, x, x)
    assert not report.ok and "piped()" in report.compared, report


def one_slot(x):
    """A pipeline of copies by hand, with one buffer where it needs two."""
    def kernel(x_hbm, o_ref, buf, sem):
        i = pl.program_id(0)

        def copy(t):
            return pltpu.make_async_copy(x_hbm.at[pl.ds(t * 64, 64)], buf.at[t % 1], sem.at[t % 1])

        pl.when(i == 0)(lambda: copy(0).start())
        pl.when(i + 1 < 4)(lambda: copy(i + 1).start())
        copy(i).wait()
        o_ref[...] = buf[i % 1]

    return pl.pallas_call(kernel, grid=(4,), in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_specs=BLOCK, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                          scratch_shapes=[pltpu.VMEM((2, 64, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))])(x)


def test_a_trap_names_the_line_of_python_that_started_the_copy():
    [said] = [t.text for t in tileproof.verify(one_slot, lambda x: x, X).tiers if t.name == "executed"]
    assert re.search(r"that \S*test_verify\.py:\d+ started", said), said


def unturned(x):
    square = pl.BlockSpec((128, 128), lambda i, j: (i, j))
    return pl.pallas_call(lambda x, o: o.__setitem__(..., x[...].T), grid=(2, 2), in_specs=[square], out_specs=square, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def test_a_proposal_is_one_line():
    [found] = tileproof.verify(unturned, jnp.transpose, jnp.asarray(np.tile(X, (1, 2)))).of("violated")
    assert 'write `j, i` in place of `i, j`' in found.help, found.help


@pytest.mark.parametrize(("dtype", "step"), [(jnp.int32, lambda x: x * 1103515245 + 12345), (jnp.uint32, lambda x: (x ^ (x >> 5)) * jnp.uint32(0x85EBCA6B)),
                                             (jnp.int32, lambda x: (x << 28) >> 28), (jnp.uint32, lambda x: (x - jnp.uint32(9)) >> 3)])
def test_integers_of_a_reference_that_wrap_around(dtype, step):
    """They do in jnp, and not in a spec: the function is executed, and the kernel is not accused."""
    def call(x, step=step):
        def body(x_ref, o_ref):
            o_ref[...] = step(x_ref[...])
        return pl.pallas_call(body, grid=(4,), in_specs=[BLOCK], out_specs=BLOCK, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    x = jnp.arange(256 * 128, dtype=dtype).reshape(256, 128)
    report = tileproof.verify(call, step, x)
    assert report.ok and report.compared == {"call()": "tested"}, report
    assert not tileproof.verify(lambda x: call(x, lambda x: step(x) + 1), step, x).equivalence


def test_small_integers_of_a_reference_do_not_wrap():
    def call(x):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...].astype(jnp.int32) * 1000 + 7
        return pl.pallas_call(body, grid=(4,), in_specs=[BLOCK], out_specs=BLOCK, out_shape=jax.ShapeDtypeStruct(x.shape, jnp.int32))(x)

    report = tileproof.verify(call, lambda x: x.astype(jnp.int32) * 1000 + 7, jnp.arange(256 * 128).reshape(256, 128).astype(jnp.int8))
    assert report.ok and "algebra" in {t.name for t in report.tiers}, report


def test_integers_have_to_be_equal():
    """Token 30000 is not token 30001, though it is within a thousandth of it; a tolerance that is given holds for integers, too."""
    def call(x, more=0):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] + more
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x) + 0

    def naive(x):
        return x

    tokens = jnp.arange(30000, 31024, dtype=jnp.int32).reshape(8, 128)
    assert tileproof.verify(call, naive, tokens).ok
    off = functools.partial(call, more=1)
    assert not tileproof.verify(off, naive, tokens).equivalence
    assert tileproof.verify(off, naive, tokens, rtol=1e-3, atol=0).equivalence
    with pytest.raises(AssertionError, match="1024 of 1024 elements"):
        tileproof.assert_equivalent(off, naive, tokens)


def test_a_reference_that_uses_the_prefetched_table():
    """Embedding rows by a table: all tiers, and the statement of a wrong one; a copy by the table, too."""
    def call(ids, x, at=lambda i, ids: (ids[i], 0, 0)):
        def body(ids_ref, x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2
        spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(6,), in_specs=[pl.BlockSpec((None, 8, 128), at)], out_specs=pl.BlockSpec((None, 8, 128), lambda i, ids: (i, 0, 0)))
        return pl.pallas_call(body, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((6, 8, 128), x.dtype))(ids, x)

    def naive(ids, x):
        return x[ids] * 2

    ids, x = jnp.array([3, 1, 1, 0, 2, 2], jnp.int32), X.reshape(32, 8, 128)
    report = tileproof.verify(call, naive, ids, x)
    assert report.ok and {t.name: t.verdict for t in report.tiers}["algebra"] == "tested", report
    report = tileproof.verify(lambda ids, x: call(ids, x, lambda i, ids: (i, 0, 0)), naive, ids, x)
    wrong, = [f for f in report.of("violated") if f.rule == "TP701"]
    assert "lambda i, ids: (i, 0, 0)" in str(wrong), report


SAME = {  # as kernel and as reference
    "sums of bytes": (lambda x, y: x + y, jnp.uint8, jnp.uint8), "differences of bytes": (lambda x, y: x - y, jnp.uint8, jnp.uint8),
    "bytes of int32": (lambda x, y: (x + y).astype(jnp.uint8), jnp.int32, jnp.uint8), "int32 as uint32": (lambda x, y: (x * y).astype(jnp.uint32) >> 28, jnp.int32, jnp.uint32),
    "bits of bytes": (lambda x, y: ~x & y, jnp.uint8, jnp.uint8), "a generator in a loop": (lambda x, y: jax.lax.fori_loop(0, 3, lambda i, v: v * 1664525 + y, x), jnp.int32, jnp.int32),
    "small int32": (lambda x, y: jnp.clip(x * y, -100, 100), jnp.int32, jnp.int32), "widened bytes": (lambda x, y: x.astype(jnp.int32) * y.astype(jnp.int32), jnp.int8, jnp.int32),
    "quantised floats": (lambda x, y: jnp.clip(jnp.round(x * 20 + y), -127, 127).astype(jnp.int8), jnp.float32, jnp.int8),
}


@pytest.mark.parametrize("name", SAME)
def test_a_reference_that_is_the_body_is_not_accused(name):
    f, dtype, out = SAME[name]

    def call(x, y):
        def body(x_ref, y_ref, o_ref):
            o_ref[...] = f(x_ref[...], y_ref[...])
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((32, 128), out))(x, y)

    x, y = (jnp.asarray(np.random.default_rng(seed).integers(0, 100, (32, 128)), dtype) for seed in (1, 2))
    report = tileproof.verify(call, f, x, y)
    assert report.equivalence, report
    assert (len(report.compared) == 2) == (name in ("small int32", "widened bytes", "quantised floats"))


INTEGERS = [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: -x, lambda x, y: abs(x), lambda x, y: ~x, lambda x, y: x ** 3, lambda x, y: x << 2,
            lambda x, y: x.sum(1), lambda x, y: x.cumsum(0), lambda x, y: x @ y, lambda x, y: (x & y) + (x | y) - (x ^ y), lambda x, y: x.max(1) * y.min(1), lambda x, y: x.clip(-3, 3) * y.clip(0, 5),
            lambda x, y: (x + y).astype("uint8"), lambda x, y: x.astype("int8"), lambda x, y: (x * y).clip(-8, 7).astype("int8"), lambda x, y: x.astype("int16") + y.astype("int16"), lambda x, y: x.astype("int32") * y.astype("int32") * 2, lambda x, y: x.prod(1), lambda x, y: (x >> 1) + (y >> 3), lambda x, y: x * 3 - y * 100]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
def test_where_integers_do_not_wrap(dtype):
    """Against arithmetic of 64 bits, on what is given at most: where no operation is named, results are the same. Each type has both kinds."""
    lo, hi = wrapping._given(jax.ShapeDtypeStruct((), dtype))
    hi = min(hi, np.iinfo(dtype).max)
    x, y = (np.random.default_rng(seed).choice([lo, hi, lo + 1, hi - 1, (lo + hi) // 2, 0, 1, 3], (6, 6)) for seed in (1, 2))
    seen = set()
    with np.errstate(over="ignore"):
        for f in INTEGERS:
            wraps = wrapping.place(jax.make_jaxpr(f)(x.astype(dtype), y.astype(dtype))) is not None
            wide = f(x.astype(np.int64), y.astype(np.int64))
            seen.add(wraps)
            assert wraps or np.array_equal(np.asarray(f(jnp.asarray(x, dtype), jnp.asarray(y, dtype))).astype(np.int64), wide), (inspect.getsource(f), dtype)
    assert seen == {True, False}


@pytest.mark.parametrize("shapes", [True, False])
@pytest.mark.parametrize("name", ["int4", "int8", "logical shift"])
def test_a_reference_that_narrows_is_executed(name, shapes):
    """Casts to fewer bits are not exact, nor is a shift that may leave a negative number as it is: of a reference with them nothing is proven, a kernel that
    forgets it is caught by what it is given, and the same kernel is not accused."""
    of, narrow = {"int4": (jnp.int8, lambda x: x.astype(jnp.int4).astype(jnp.float32)), "int8": (jnp.int32, lambda x: x.astype(jnp.int8).astype(jnp.float32)),
                  "logical shift": (jnp.int32, lambda x: jax.lax.shift_right_logical(x, x & 7).astype(jnp.float32))}[name]

    def call(f):
        def body(x_ref, o_ref):
            o_ref[...] = f(x_ref[...])
        return lambda x: pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32))(x)

    x = jax.ShapeDtypeStruct((32, 128), of) if shapes else jnp.asarray(np.random.default_rng(3).integers(-100, 100, (32, 128)) * (1 if of == jnp.int8 else 5), of)
    forgets = tileproof.verify(call(lambda v: v.astype(jnp.float32)), narrow, x)
    assert "proven" not in forgets.compared.values() and forgets.ok == (shapes and name == "int8"), forgets  # int32 that is filled in is small
    report = tileproof.verify(call(narrow), narrow, x)
    assert report.ok and "proven" not in report.compared.values(), report


def gather(t, x):
    def body(t_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...]

    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=t.shape, in_specs=[pl.BlockSpec((1, 1, 128), lambda i, t: (t[i], 0, 0))],
                                        out_specs=pl.BlockSpec((1, 1, 128), lambda i, t: (i, 0, 0)))
    return pl.pallas_call(body, grid_spec=grid, out_shape=jax.ShapeDtypeStruct((t.shape[0], 1, 128), x.dtype))(t, x)


@pytest.mark.parametrize("given", [dict(sizes={"N": 8}), {}])
def test_contracts_of_the_tables_of_a_call(given):
    """As check() has them; a table of which they speak is not called open."""
    def arguments(N=8):
        return np.arange(N, dtype=np.int32) % 4, X[:4, None, :]

    args = (arguments,) if given else arguments()
    report = tileproof.verify(gather, lambda t, x: x[t], *args, tables="inferred", **given)
    assert report.ok and "contracts inferred from one call" in str(report) and "is open" not in str(report), report
    assert not tileproof.verify(gather, lambda t, x: x[t], *args, tables=False, **given).rules


@pytest.mark.parametrize(("factor", "same"), [(1, True), (1.00003, False)])
def test_sums_that_cancel_are_compared_beside_their_own_rounding(factor, same):
    """0.1 + 0.2 - 0.3 is 0 or a unit of the last place, in all elements: their root mean square is no scale."""
    def body(x_ref, o_ref):
        o_ref[...] = (x_ref[0] + x_ref[1]) + x_ref[2] * factor

    def total(x):
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape[1:], x.dtype), interpret=True)(x) * 1

    x = jnp.stack([jnp.full((8, 128), v, jnp.float32) for v in (0.1, 0.2, -0.3)])
    report = tileproof.verify(total, lambda x: x[0] + (x[1] + x[2]), x)
    assert report.ok is same, report
    assert not tileproof.verify(total, lambda x: x[0] + (x[1] + x[2]), x, atol=1e-3).ok


@pytest.mark.parametrize(("wrong", "same"), [(0, True), (1, False)])
def test_a_decision_is_no_rounding(wrong, same):
    """Integers as floats: floor decides otherwise next to each of them."""
    def body(x_ref, o_ref):
        o_ref[...] = jnp.floor(x_ref[...]) + wrong * (x_ref[...] == 3)

    def floored(x):
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x) * 1

    x = jnp.arange(1024, dtype=jnp.float32).reshape(8, 128) % 7
    assert tileproof.verify(floored, jnp.floor, x).ok is same


@pytest.mark.parametrize(("left_out", "same"), [(0, True), (1, False), (16, False)])
def test_what_many_decisions_make_is_no_rounding(left_out, same):
    """Labels as floats: next to each of them none is equal, and the share of equal ones moves by all of itself."""
    def body(x_ref, y_ref, o_ref):
        equal = x_ref[left_out:] == y_ref[left_out:]
        o_ref[...] = jnp.full(o_ref.shape, jnp.sum(jnp.where(equal, 1.0, 0.0)) / x_ref.size)

    def share(x, y):
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype), interpret=True)(x, y) * 1

    x = jnp.arange(128 * 128, dtype=jnp.float32).reshape(128, 128) % 5
    y = jnp.where(x == 3, 1, x)
    assert tileproof.verify(share, lambda x, y: jnp.full((8, 128), jnp.mean(x == y)), x, y).ok is same


@pytest.mark.parametrize("mask, ok", [(0x7FFFFFFF, True), (0x7FFFFFFE, False)])
def test_bits_of_floats_that_come_back_as_floats(mask, ok):
    """What integers hide of the data is outside of the algebra; the bits decide."""
    def body(x_ref, o_ref):
        bits = jax.lax.bitcast_convert_type(x_ref[...], jnp.uint32) & jnp.uint32(mask)
        o_ref[...] = jax.lax.bitcast_convert_type(bits, jnp.float32)

    report = tileproof.verify(lambda x: pl.pallas_call(body, grid=(4,), in_specs=[BLOCK], out_specs=BLOCK, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x), jnp.abs, X)
    assert report.ok is ok and bool(report.of("violated")) is not ok and not report.of("unknown"), report


@pytest.mark.parametrize("reference, ok", [(lambda x: 2.0 ** x, True), (lambda x: 2.0 ** -x, False), (lambda x: 3.0 ** x, False)])
def test_powers_of_two(reference, ok):
    """2.0 ** x, as slopes by heads are written, is exp2(x) for all sizes."""
    def body(x_ref, o_ref):
        o_ref[...] = jnp.exp2(x_ref[...])

    report = tileproof.verify(lambda x: pl.pallas_call(body, grid=(4,), in_specs=[BLOCK], out_specs=BLOCK, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x), reference, X)
    assert report.ok is ok and bool(report.of("violated")) is not ok, report
    assert not ok or any(t.name == "all sizes" and t.verdict == "proven" for t in report.tiers), report
