"""custom_vjp end to end: a Keras layer on the JAX backend whose three kernels are Pallas. The forward kernel is verified
against a naive function, the backward kernels against the gradient of that function, as training calls them."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

import tileproof

os.environ["KERAS_BACKEND"] = "jax"
keras = pytest.importorskip("keras")

ROWS, BLOCK, K, N = 256, 128, 128, 128
X = np.random.default_rng(3).standard_normal((ROWS, K)).astype(np.float32)


def naive(x, w):
    return jax.nn.relu(x @ w)


def call(body, name, inputs, out, out_spec):
    specs = {ROWS: lambda a: pl.BlockSpec((BLOCK, a.shape[1]), lambda i: (i, 0)), K: lambda a: pl.BlockSpec(a.shape, lambda i: (0, 0))}
    return pl.pallas_call(body, name=name, grid=(ROWS // BLOCK,), in_specs=[specs[a.shape[0]](a) for a in inputs], out_specs=out_spec,
                          out_shape=jax.ShapeDtypeStruct(out, jnp.float32), interpret=True)(*inputs)


def forward_body(x, w, o):
    o[...] = jnp.maximum(jnp.dot(x[...], w[...], preferred_element_type=jnp.float32), 0)


def of_active(x, w, g, mask):
    z = jnp.dot(x[...], w[...], preferred_element_type=jnp.float32)
    return jnp.where(z > 0, g[...], 0) if mask else g[...]


def layer_of(mask):
    def dx_body(x, w, g, o):
        o[...] = jax.lax.dot_general(of_active(x, w, g, mask), w[...], (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)

    def dw_body(x, w, g, o):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o[...] = jnp.zeros_like(o)

        o[...] += jax.lax.dot_general(x[...], of_active(x, w, g, True), (((0,), (0,)), ((), ())), preferred_element_type=jnp.float32)

    @jax.custom_vjp
    def product(x, w):
        return call(forward_body, "forward", (x, w), (ROWS, N), pl.BlockSpec((BLOCK, N), lambda i: (i, 0)))

    def backward(kept, g):
        x, w = kept
        return (call(dx_body, "dx", (x, w, g), (ROWS, K), pl.BlockSpec((BLOCK, K), lambda i: (i, 0))),
                call(dw_body, "dw", (x, w, g), (K, N), pl.BlockSpec((K, N), lambda i: (0, 0))))

    product.defvjp(lambda x, w: (product(x, w), (x, w)), backward)

    class ReluDense(keras.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(shape[-1], N), initializer=keras.initializers.RandomNormal(stddev=0.1, seed=5))

        def call(self, x):
            return product(x, self.w.value)

    layer = ReluDense()
    layer.build(X.shape)
    return layer


REFERENCES = {
    "forward": naive,
    "dx": lambda x, w, g: jax.vjp(naive, x, w)[1](g)[0],
    "dw": lambda x, w, g: jax.vjp(naive, x, w)[1](g)[1],
}


def gradient(layer, weights):
    def loss(weights, x):
        y, _ = layer.stateless_call(weights, [], x)
        return (y * y).sum()

    return jax.grad(loss, argnums=(0, 1))(weights, jnp.asarray(X))


def test_backward_kernels_are_the_gradient():
    layer = layer_of(mask=True)
    weights = [v.value for v in layer.trainable_variables]
    with tileproof.verifying(REFERENCES) as seen:
        (dw,), dx = gradient(layer, weights)
    report = seen.report
    assert report.ok, report
    assert len(report.compared) == 3, report.compared
    assert all(t.verdict == "proven" for t in report.tiers if t.name == "all sizes"), report
    want_w, want_x = jax.grad(lambda w, x: (naive(x, w) ** 2).sum(), argnums=(0, 1))(weights[0], jnp.asarray(X))
    np.testing.assert_allclose(dw, want_w, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(dx, want_x, rtol=1e-4, atol=1e-4)


def test_a_backward_kernel_without_its_mask_is_found():
    layer = layer_of(mask=False)
    with tileproof.verifying(REFERENCES, fail=False) as seen:
        gradient(layer, [v.value for v in layer.trainable_variables])
    assert not seen.report.ok and "TP701" in str(seen.report) and "dx" in str(seen.report), seen.report
