"""jnp functions as references: the same calls as in kernels.py, verified."""

import jax
import jax.numpy as jnp
import kernels
import pytest

import tileproof
from tileproof import binary

REFERENCES = {
    "matmul": lambda x, y: x @ y,
    "matmul in bfloat16": lambda x, y: x @ y,
    "mixed dot": lambda x, w: jnp.dot(x.astype(jnp.bfloat16), w, preferred_element_type=jnp.float32),
    "under vmap": jnp.exp,
    "elementwise softmax": lambda x: jax.nn.softmax(x, axis=-1),
    "elementwise logsumexp": lambda x: x - jax.nn.logsumexp(x, axis=-1, keepdims=True),
    "elementwise triangle": jnp.tril,
    "elementwise roll": lambda x: jnp.roll(x, 1, 1),
    **{f"elementwise {n}": kernels.UNARY[n] for n in "var argmax fori while cond_value switch einsum pad any_all remainder".split()},
}


def verified(spec):
    return binary.run("verify", "-q", "--target", "none", "-", text=binary.text_of(spec))


@pytest.mark.parametrize("name", REFERENCES)
def test_verified(name):
    fn, args = kernels.CALLS[name]
    spec, = tileproof.from_pallas(fn, *args, reference=REFERENCES[name])
    done = verified(spec)
    assert done.returncode == 0 and "tested" in done.stdout, done.stdout + done.stderr


def test_a_wrong_reference_is_found():
    fn, args = kernels.CALLS["elementwise exp"]
    done = verified(tileproof.from_pallas(fn, *args, reference=lambda x: jnp.exp(x) * 1.01)[0])
    assert done.returncode == 1 and "TP701" in done.stdout + done.stderr


def test_constants_in_other_words():
    """JAX rounds them to float32 and prints what is left."""
    fn = kernels.body_of(lambda x: x[...] / 0.9 * 0.08838834764831845)
    spec, = tileproof.from_pallas(fn, kernels.array(8, 128), reference=lambda x: x * (1 / 0.9) / jnp.sqrt(128.0))
    done = binary.run("verify", "--target", "none", "-", text=binary.text_of(spec))
    assert done.returncode == 0 and "all sizes  proven" in done.stdout, done.stdout


def test_a_branch_that_bounds_leave_is_not_written():
    """JAX computes `at + 128` in case an index counts from the end."""
    fn = kernels.body_of(lambda at, x: x[...] * at[...].astype(jnp.float32))
    args = jnp.arange(8, dtype=jnp.int32).reshape(8, 1), kernels.array(8, 128)
    report = tileproof.verify(fn, lambda at, x: x * jnp.take_along_axis(x, at, axis=1), *args)
    program = report.specs[0]["reference"]
    assert "iota" in " ".join(program) and "+ 128" not in " ".join(program), program


def test_arguments_in_another_order():
    def fn(b, a):
        return kernels.CALLS["matmul"][0](a, b)

    x, y = kernels.CALLS["matmul"][1]
    assert verified(tileproof.from_pallas(fn, y, x, reference=lambda b, a: a @ b)[0]).returncode == 0


def test_operands_that_are_no_arguments():
    fn = kernels.CALLS["elementwise exp"][0]
    x = kernels.SAMPLE
    spec, = tileproof.from_pallas(lambda x: fn(x * 2), x, reference=jnp.exp)  # the reference of what the call computes
    assert verified(spec).returncode == 0
    with pytest.raises(tileproof.TileproofError, match="cannot take the operands"):
        tileproof.from_pallas(lambda a, b: fn(a * b), x, x, reference=lambda a, b: jnp.exp(a * b))


@pytest.mark.parametrize("name, reference, sentence", [
    ("elementwise exp", lambda x: x[:3], "results"),
    ("elementwise exp", lambda x: kernels.CALLS["elementwise exp"][0](x), "reaches a pallas_call"),
    ("two calls", jnp.exp, "2 pallas_calls"),
])
def test_sentences(name, reference, sentence):
    fn, args = kernels.CALLS[name]
    with pytest.raises(tileproof.TileproofError, match=sentence):
        tileproof.from_pallas(fn, *args, reference=reference)
