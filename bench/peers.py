"""The others that bench/gallery.py measures beside the engine: NumPy by the functions that jax.jit compiles, and the two
interpreters of Pallas on the very spec."""

import contextlib
import json
import re
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import tpu as pltpu

# ---- NumPy ----


def einsum(pattern, *xs, preferred_element_type=None):
    """Products of two by np.matmul, which calls BLAS; np.einsum would loop."""
    (a, b), out = (p := pattern.replace(" ", "").split("->"))[0].split(","), p[1]
    batch = [c for c in a if c in b and c in out]
    summed = [c for c in a if c in b and c not in out]
    left, right = ([c for c in t if c not in batch and c not in summed] for t in (a, b))
    x = xs[0].transpose([a.index(c) for c in [*batch, *left, *summed]])
    y = xs[1].transpose([b.index(c) for c in [*batch, *summed, *right]])
    of = [*batch, *left, *right]
    return np.matmul(x, y).transpose([of.index(c) for c in out])


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def logsumexp(x, axis, keepdims=False):
    m = x.max(axis, keepdims=True)
    r = m + np.log(np.exp(x - m).sum(axis, keepdims=True))
    return r if keepdims else r.squeeze(axis)


def gelu(x, approximate):
    return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi, dtype=x.dtype) * (x + np.float32(0.044715) * x * x * x)))


def ragged_dot(x, w, sizes):
    ends = np.cumsum(sizes)
    return np.concatenate([x[e - n:e] @ w[i] for i, (e, n) in enumerate(zip(ends, sizes))])


def segment_sum(parts, segments, n):
    r = np.zeros((n, *parts.shape[1:]), parts.dtype)
    np.add.at(r, segments, parts)
    return r


def matmul(a, b, preferred_element_type=None):
    return np.matmul(a, b, dtype=preferred_element_type) if preferred_element_type == np.int32 else np.matmul(a, b)


NUMPY = types.SimpleNamespace(**{n: getattr(np, n) for n in (
    "add", "multiply", "transpose", "maximum", "where", "exp", "log", "tanh", "arange", "repeat", "concatenate", "cumsum", "mean", "inf",
    "float32", "int32", "sqrt", "zeros_like", "take_along_axis")}, einsum=einsum, matmul=matmul)
FUNCTIONS = types.SimpleNamespace(
    nn=types.SimpleNamespace(softmax=softmax, gelu=gelu, logsumexp=logsumexp, silu=lambda x: x / (1 + np.exp(-x)),
                             log_sigmoid=lambda x: -np.logaddexp(np.float32(0), -x)),
    lax=types.SimpleNamespace(rsqrt=lambda x: 1 / np.sqrt(x), ragged_dot=ragged_dot),
    ops=types.SimpleNamespace(segment_sum=segment_sum))


@contextlib.contextmanager
def numpy_for_jax(module):
    """While it lasts, the functions of `module` mean NumPy where they say jnp and jax."""
    was = module.jnp, module.jax
    module.jnp, module.jax = NUMPY, FUNCTIONS
    try:
        yield
    finally:
        module.jnp, module.jax = was


def by_numpy(module, function, inputs):
    """function(*inputs) by NumPy, which fails with an AttributeError where it needs what only JAX has. What is jnp.add itself is
    np.add; bfloat16, which NumPy lacks, is computed in float32."""
    inputs = [x.astype(np.float32) if x.dtype.name == "bfloat16" else x for x in inputs]
    name = getattr(function, "__name__", "")
    plain = getattr(NUMPY, name, None) if function in (jnp.add, jnp.multiply, jnp.transpose, jnp.matmul) else None

    def call():
        with numpy_for_jax(module), np.errstate(all="ignore"):
            out = (plain or function)(*inputs)
            return out if isinstance(out, tuple) else np.ascontiguousarray(out)  # a transpose is a view until then

    return call


# ---- the interpreters of Pallas ----


def sizes_of(spec, given, arrays):
    """Those that are given, and those that shapes `S` and `S + n` tell."""
    sizes = dict(given)
    operands = [*spec.get("inputs", []), *spec.get("scalar_prefetch", [])]
    for o, x in zip(operands, arrays):
        for e, n in zip(o["shape"], x.shape):
            if m := re.fullmatch(r"([A-Za-z]\w*)(?: \+ (\d+))?", e) if isinstance(e, str) else None:
                if m[1] in spec["sizes"] and not (isinstance(spec["sizes"][m[1]], (int, str))):
                    sizes.setdefault(m[1], n - int(m[2] or 0))
    return sizes


def interpreters(path, given, arrays, pallas):
    """{"interpret=True": f, "InterpretParams()": f}: f() compiles, and returns the call."""
    spec = json.loads(path.read_text())
    n = len(spec.get("inputs", []))
    dtypes = {o["dtype"]: x.dtype.name for o, x in zip(spec["inputs"], arrays) if o["dtype"] in spec.get("dtypes", {})}
    tables = {t["name"]: np.asarray(x).tolist() for t, x in zip(spec.get("scalar_prefetch", []), arrays[n:])}
    on_device = [jnp.asarray(x) for x in arrays[:n]]

    def compiled(interpret):
        call = pallas.pallas_call(spec, sizes_of(spec, given, arrays), dtypes, interpret, tables)[0]
        program = jax.jit(call).lower(*on_device).compile()
        return lambda: jax.block_until_ready(program(*on_device))

    return {"interpret=True": lambda: compiled(True), "InterpretParams()": lambda: compiled(pltpu.InterpretParams())}


if __name__ == "__main__":
    sys.exit("bench/gallery.py measures")
