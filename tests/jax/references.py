"""Record or re-check what NumPy makes of the references of tests/references.

    references.py --record     write "x-numpy" into every spec
    references.py              run again, and fail where NumPy no longer gives what is recorded

The text of a reference is Python, and beside a builtin one stands "x-formula", its formula written out: it is executed, with NumPy's functions under their names, on the arrays of "x-test".
Dtypes of floats are float64, as references compute with real numbers; JAX has them, too. Outputs are there, and zero.
"""

import argparse
import ast
import functools
import inspect
import json
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

jax.config.update("jax_enable_x64", True)
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "references"


def total(x, **how):
    return sum(x) if inspect.isgenerator(x) or isinstance(x, list) else np.sum(x, **how)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=axis, keepdims=True)


def logsumexp(x, axis, keepdims=False):
    top = x.max(axis=axis, keepdims=True)
    total = np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top
    return total if keepdims else total.squeeze(axis)


def iota(dtype, shape, dim):
    return np.indices(shape)[dim].astype(dtype)


def names(spec, sizes):
    space = {n: getattr(np, n) for n in (
        "zeros ones zeros_like ones_like full_like where exp log sqrt abs maximum minimum einsum arange repeat argmax "
        "dot tril triu inf floor concatenate stack tanh sin cos full mean prod matmul cumsum argmin flip swapaxes").split()}
    space |= {"np": np, "jax": jax, "jnp": jnp, "lax": jax.lax, "functools": functools, "math": math, "scipy": scipy, "softmax": softmax, "logsumexp": logsumexp, "iota": iota, "max": max, "min": min, "sum": total, "range": range,
              "logistic": lambda x: 1 / (1 + np.exp(-x)), "float32": np.float64, "bfloat16": np.float64, "int32": np.int64, **{n: getattr(np, n) for n in ("int8", "uint8", "uint32")}}
    for name, size in spec.get("sizes", {}).items():
        if name in sizes:
            space[name] = sizes[name]
        elif isinstance(size, int):
            space[name] = size
        elif isinstance(size, str):
            space[name] = eval(size, {}, space)  # noqa: S307  of our own tests
    return space


def values_of(spec):
    test = spec["x-test"]
    space = names(spec, test.get("sizes", {}))
    # JAX's arrays where its functions call those of the text
    array = jnp.asarray if "jax." in "".join(spec["reference"]) else np.asarray
    for given in (test.get("tables", {}), test.get("inputs", {})):
        space |= {n: array(v, dtype=np.float64 if kind(spec, n) else np.int64) for n, v in given.items()}
    shapes = {o["name"]: [eval(str(d), {}, space) for d in o["shape"]] for o in spec["outputs"]}  # noqa: S307
    space |= {n: np.zeros(s) for n, s in shapes.items()}
    with np.errstate(invalid="ignore"):
        exec("\n".join(spec.get("x-formula", spec["reference"])), space)  # noqa: S102  of our own tests
    text = ast.parse("\n".join(spec.get("x-formula", spec["reference"])))
    if all(isinstance(s, ast.FunctionDef) for s in text.body):  # the last function gives the outputs
        made = space[text.body[-1].name](*(space[a.arg] for a in text.body[-1].args.args))
        space |= zip(shapes, made if len(shapes) > 1 else [made])
    return {n: plain(np.broadcast_to(space[n], s).tolist()) for n, s in shapes.items()}


def plain(v):
    """As JSON has it, which has no infinities."""
    if isinstance(v, list):
        return [plain(x) for x in v]
    return v if math.isfinite(v) else str(float(v))


def kind(spec, name):
    return any(i["name"] == name and "float" in i["dtype"] for i in spec.get("inputs", []))


def close(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(map(close, a, b))
    a, b = float(a), float(b)
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    failed = 0
    files = options.files or sorted(FOLDER.glob("*.tile.json"))
    for file in files:
        spec = json.loads(file.read_text())
        if "error" in spec["x-test"] or "fails" in spec["x-test"]:
            continue
        outputs = values_of(spec)
        if options.record:
            spec["x-numpy"] = {"outputs": outputs}
            file.write_text(json.dumps(spec, indent=2, ensure_ascii=False) + "\n")
        elif not all(close(outputs[n], v) for n, v in spec["x-numpy"]["outputs"].items()):
            print(f"{file.name}: NumPy gives {outputs}")
            failed += 1
    print(f"references: {len(files)} programs, {failed} differ")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
