"""What is proposed in a report, in the words of Python, and which kernel it is about."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import tileproof
from tileproof import words

F32 = jnp.float32
X = jax.ShapeDtypeStruct((16, 128), F32)


def rows(body, *inputs, out=X, block=(8, 128), steps=2, index=lambda i: (i, 0)):
    """A call that walks over rows."""
    spec = pl.BlockSpec(block, index)
    return pl.pallas_call(body, grid=(steps,), in_specs=[spec] * len(inputs), out_specs=pl.BlockSpec(block, lambda i: (i, 0)), out_shape=jax.ShapeDtypeStruct(out.shape, out.dtype))(*inputs)


def product(x, y, body, semantics=("parallel", "parallel", "arbitrary")):
    n = pl.cdiv(x.shape[1], 128)
    return pl.pallas_call(body, grid=(2, 1, n), in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
                          out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)), out_shape=jax.ShapeDtypeStruct((256, 128), F32),
                          scratch_shapes=[pltpu.VMEM((128, 128), F32)], compiler_params=pltpu.CompilerParams(dimension_semantics=semantics))(x, y)


def body_of(when=lambda k, n: k == n - 1, start=True, mask=None):
    def body(x, y, o, acc):
        k = pl.program_id(2)
        if start:
            pl.when(k == 0)(lambda: acc.__setitem__(..., jnp.zeros_like(acc)))
        a, b = (x[...], y[...]) if mask is None else mask(k, x[...], y[...])
        acc[...] += jnp.dot(a, b, preferred_element_type=F32)
        pl.when(when(k, pl.num_programs(2)))(lambda: o.__setitem__(..., acc[...]))

    return body


def masked(k, a, b):
    """Both by rows, where the first needs columns."""
    at = k * 128 + jax.lax.broadcasted_iota(jnp.int32, (128, 128), 0)
    return jnp.where(at < 300, a, 0), jnp.where(at < 300, b, 0)


def shared(e):
    return e / e.sum(1, keepdims=True)


A, B = (jax.ShapeDtypeStruct(s, F32) for s in ((256, 384), (384, 128)))
SHORT = [jax.ShapeDtypeStruct(s, F32) for s in ((256, 300), (300, 128))]
START = "start with `acc[...] = 0` under `@pl.when(pl.program_id(2) == 0)`, at "
LAST = "write it where `pl.program_id(2) == pl.num_programs(2) - 1`, not where "
COLUMNS = "mask by `pl.program_id(2) * 128 + jax.lax.broadcasted_iota(jnp.int32, (128, 128), 1) < 300`, at "


@pytest.mark.parametrize("rule, help, call", [
    ("TP404", START, lambda: tileproof.check(lambda x, y: product(x, y, body_of(start=False)), A, B)),
    ("TP401", LAST, lambda: tileproof.check(lambda x, y: product(x, y, body_of(lambda k, n: k == n)), A, B)),
    ("TP501", COLUMNS, lambda: tileproof.verify(lambda x, y: product(x, y, body_of(mask=masked)), jnp.matmul, *SHORT)),
    ("TP403", 'declare `k` `"arbitrary"` in dimension_semantics', lambda: tileproof.check(lambda x, y: product(x, y, body_of(), ("parallel",) * 3), A, B)),
    ("TP701", "write `1e-06` in place of `1e-05`", lambda: tileproof.verify(
        lambda x: rows(lambda x, o: o.__setitem__(..., x[...] * jax.lax.rsqrt((x[...] ** 2).mean(1, keepdims=True) + 1e-5)), x),
        lambda x: x * jax.lax.rsqrt((x ** 2).mean(1, keepdims=True) + 1e-6), X)),
    ("TP703", "`jnp.exp(x[...] - jnp.max(x[...], axis=1, keepdims=True))`", lambda: tileproof.verify(
        lambda x: rows(lambda x, o: o.__setitem__(..., shared(jnp.exp(x[...]))), x), lambda x: jax.nn.softmax(x, -1), X)),
])
def test_what_is_proposed_is_python(rule, help, call):
    report = call()
    f = next(f for f in report.findings if f.rule == rule and f.verdict != "proven")
    assert help in f.help, report


@pytest.mark.parametrize("body, said, want", [
    (True, "use `where(k * 128 + iota(int32, (8, 128), 1) < K, x[...], -inf)`",
     "use `jnp.where(pl.program_id(1) * 128 + jax.lax.broadcasted_iota(jnp.int32, (8, 128), 1) < K, x[...], -jnp.inf)`"),
    (False, "use `cdiv(M, 128)`", "use `pl.cdiv(M, 128)`"),
    (False, "use the index_map `(i, k)`", "use the index_map `(i, k)`"),
    (True, "with `k` last", "with `k` last"),
    (False, 'write `"k", "i"` in place of `"i", "k"`', "write `k, i` in place of `i, k`"),
    (False, 'write `"i", 0` in place of `0, "cdiv(i, 2)"`', "write `i, 0` in place of `0, pl.cdiv(i, 2)`"),
    (False, 'write `"i"` in place of `"max(i, k - 1)"`', "write `i` in place of `jnp.maximum(i, k - 1)`"),
    (False, "use `4 - i` (re-checked: then proven)", "use `4 - i` (re-checked: then proven)"),
    (True, "write `max(x[...], axis=1)` in place of `min(x[...])`", "write `jnp.max(x[...], axis=1)` in place of `jnp.min(x[...])`"),
    (True, "write `where(x[...] > 0, max(a, (b + c) * 2), 0)`", "write `jnp.where(x[...] > 0, jnp.maximum(a, (b + c) * 2), 0)`"),
    (True, "`p = p * slice(x, (0, t), (n, t + 1))`", "`p = p * x[0:n, t:t + 1]`"),
    (True, "write `slice(c, (15, 0), (16, 128))`", "write `c[15:16, 0:128]`"),
    (True, "write `bitcast(u, uint32) & 7`", "write `jax.lax.bitcast_convert_type(u, jnp.uint32) & 7`"),
    (True, "write `x[...].astype(int8)`, not `load(x[...], m)`", "write `x[...].astype(jnp.int8)`, not `load(x[...], m)`"),
    (True, "initialise it in the first step on each block: `if k == 0:`", "initialise it in the first step on each block: `@pl.when(pl.program_id(1) == 0)`"),
    (True, "start with `if k == 0: acc[...] = zeros((8, 128), float32)`", "start with `acc[...] = jnp.zeros((8, 128), jnp.float32)` under `@pl.when(pl.program_id(1) == 0)`"),
    (True, "where `k == num_programs(k) - 1`", "where `pl.program_id(1) == pl.num_programs(1) - 1`"),
    (True, "mask the tail of k", "mask the tail of k"),
    (True, "add `other=-inf`", "add `other=-jnp.inf`"),
    (True, 'let `o` stay where it is: `"memory_space": "any"`', "let `o` stay where it is: `memory_space=pl.ANY`"),
    (True, "write `9.999999747378752e-06` in place of `0.1234567890123`", "write `1e-05` in place of `0.1234567890123`"),
    (True, 'declare what `ids` holds: `"values": {"min": 0, "max": "V - 1"}`', "declare what `ids` holds: `values={\"ids\": (0, 'V - 1')}`"),
    (True, 'let `o` share the array of `x`: `"alias": "x"`', "let `o` share the array of `x`: `input_output_aliases={0: 0}`"),
    (False, 'declare `k` `"arbitrary"`', 'declare `k` `"arbitrary"` in dimension_semantics'),
    (False, 'write a block n of the others as `{"element": n}`', "write a block n of the others as `pl.Element(n)`"),
    (True, "what is no code: `a implies b`, `…`, ``", "what is no code: `a implies b`, `…`, ``"),
])
def test_words(body, said, want):
    spec = {"grid": [{"axis": "i"}, {"axis": "k"}], "inputs": [{"name": "x"}], "outputs": [{"name": "o"}]}
    assert words.told(spec, said, body) == want


def test_an_axis_alone_is_a_value_where_a_statement_is_changed():
    said = words.told({"grid": [{"axis": "i"}, {"axis": "k"}]}, "write `k` in place of `i`: then", body=True, names=True)
    assert said == "write `pl.program_id(1)` in place of `pl.program_id(0)`: then"


def test_functions_are_those_of_jax():
    modules = {"jnp": jnp, "jax": jax, "pl": pl}
    for path in words.FUNCTIONS.values():
        module, *names = path.split(".")
        assert callable(functools.reduce(getattr, names, modules[module])), path


def test_a_kernel_with_work_around_it_is_not_held_against_the_reference_of_all():
    """The function adds 1 behind the call: the kernel alone is no function of that reference."""
    def inner(x, o):
        o[...] = jnp.where(jax.lax.broadcasted_iota(jnp.int32, (8, 128), 0) < 4, x[...], 0)

    report = tileproof.verify(lambda x: rows(inner, x) + 1, lambda x: jnp.where(jnp.arange(16)[:, None] < 4, x, 0) + 1, X)
    said = str(report)
    assert not report.ok and "1 violated" in said.splitlines()[0] and "0 violated" not in said, said
    assert "TP701" not in said and "(8, 128), 0) + pl.program_id(0) * 8` in place of" in said, said


def test_what_one_change_mends_is_told_once():
    def f(x):
        spec = pl.BlockSpec((12, 128), lambda i: (i, 0))
        return pl.pallas_call(lambda x, o: o.__setitem__(..., x[...]), grid=(pl.cdiv(x.shape[0], 12),), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, F32))(x)

    said = str(tileproof.verify(f, lambda x: x, lambda M: (jax.ShapeDtypeStruct((M, 128), F32),), sizes={"M": 60}))
    assert said.count("violated[TP201]") == 1 and "use 16 instead of 12 (all rules re-checked)\n  also: `o`" in said, said


def test_a_trap_names_no_command_of_the_shell():
    report = tileproof.verify(lambda x: pl.pallas_call(lambda x, o: o.__setitem__(..., x[...]), grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                                                       out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)), out_shape=jax.ShapeDtypeStruct(X.shape, F32))(x) * 2, lambda x: x * 2, X)
    assert "no step writes o[8, 0]" in str(report) and "tileproof verify" not in str(report), report


def squared(v):
    return v * v + 1.0


@pytest.mark.parametrize("made, reference", [
    (lambda x: jnp.exp(x - 1.0), lambda x: jnp.exp(x - 1.0)),
    (lambda x: squared(x - 1.0), lambda x: squared(x - 1.0)),
    (lambda x: x, lambda x: x),
])
def test_values_have_the_names_of_variables(made, reference):
    """A variable is the last that its statement makes, or what the statement calls."""
    def body(x, y, o):
        scale = made(x[...])
        shifted = y[...] * 2.0
        o[...] = shifted - scale

    report = tileproof.verify(lambda x, y: rows(body, x, y), lambda x, y: reference(x) - y * 2.0, X, X)
    help, = (f.help for f in report.findings if f.rule == "TP701" and f.verdict == "violated")
    assert "write `scale - shifted` in place of `shifted - scale`" in help, report


def test_a_pallas_call_within_a_statement_has_no_variable_of_that():
    """The value that the body makes last is not what the call returns."""
    def body(x, o):
        o[...] = jnp.exp(x[...]) * 2.0 - jnp.exp(x[...])

    def f(x):
        y = rows(body, x)
        return y

    report = tileproof.verify(f, lambda x: jnp.exp(x) - jnp.exp(x) * 2.0, X)
    help = next(f.help for f in report.findings if f.rule == "TP701" and f.verdict == "violated")
    assert "`y" not in help and "y`" not in help, report


def test_what_is_said_of_a_product_works():
    """A product over lanes, slice by slice, as the help of TP204 has it."""
    report = tileproof.check(lambda x: rows(lambda x, o: o.__setitem__(..., x[...] * jnp.prod(x[:, :4], axis=1, keepdims=True)), x), X)
    help, = (f.help for f in report.findings if f.rule == "TP204" and f.verdict == "violated")
    assert "`p = p * x[0:n, t:t + 1]`" in help, report

    def body(x, o):
        p, n = jnp.ones((8, 1), F32), 8
        for t in range(4):
            p = p * x[...][0:n, t:t + 1]
        o[...] = x[...] * p

    assert tileproof.verify(lambda x: rows(body, x), lambda x: x * jnp.prod(x[:, :4], axis=1, keepdims=True), X).ok
