"""Record or re-check what JAX does with the specs of tests/semantics.

    semantics.py --record     write "x-jax" into every spec
    semantics.py              re-run, and fail where JAX no longer does what is recorded

"x-jax" holds, for interpret=True and for pltpu.InterpretParams(), the outputs that JAX
returned or the error it raised, and whether that is what the spec's "x-test" promises.
"""

import argparse
import json
import math
import multiprocessing
import os
import pathlib
import re
import sys

import jax
import numpy as np

jax.config.update("jax_platforms", "cpu")

from jax.experimental.pallas import tpu as pltpu  # noqa: E402

import pallas  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "semantics"


def plain(a):
    """An array as nested lists that JSON can hold."""
    if isinstance(a, list):
        return [plain(v) for v in a]
    if isinstance(a, float) and not math.isfinite(a):
        return "nan" if math.isnan(a) else "inf" if a > 0 else "-inf"
    return a


def gist(e):
    """Type and first line; of a traceback that crossed a callback, its last error."""
    lines = str(e).strip().split("\n")
    errors = [line.strip() for line in lines if re.match(r"\s*[A-Za-z_.]*(Error|Exception): ", line)]
    text = errors[-1] if "Traceback" in lines[0] and errors else f"{type(e).__name__}: {lines[0]}"
    return re.sub(r"/[^ ]*/", "", re.sub(r"0x[0-9a-f]+", "0x…", text))[:200]


def numbers(a):
    """As a type that NumPy itself has."""
    return a if a.dtype.kind in "iub" else a.astype("int64" if "int" in a.dtype.name else "float64")


def values_of(spec, test, interpret):
    call, inputs = pallas.pallas_call(spec, test.get("sizes", {}), interpret=interpret, contents=test.get("tables", {}))
    given = test.get("inputs", {})
    arrays = [pallas.array(given[name], *i) if (name := o.get("array", o["name"])) in given else np.ones(i[1], i[0])
              for o, i in zip(spec.get("inputs", []), inputs)]
    outputs = call(*arrays)
    return {o["name"]: plain(numbers(np.asarray(v)).tolist())
            for o, v in zip(spec["outputs"], outputs) if not o.get("discard")}


def same(want, got):
    if isinstance(want, list):
        return len(want) == len(got) and all(same(w, g) for w, g in zip(want, got))
    w, g = float(want), float(got)
    return (math.isnan(w) and math.isnan(g)) or (w == g and math.copysign(1, w) == math.copysign(1, g))


def observe(spec, interpret):
    test = spec["x-test"]
    try:
        outputs = values_of(spec, test, interpret)
    except Exception as e:  # noqa: BLE001  whatever JAX raises is the record
        return {"raises": gist(e)}
    record = {"outputs": outputs}
    if "outputs" in test:
        record["agrees"] = all(same(test["outputs"][k], v) for k, v in outputs.items())
    return record


def serve(pipe):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # JAX prints what it raises; the record has it
    while True:
        path, tpu = pipe.recv()
        pipe.send(observe(json.loads(path.read_text()), pltpu.InterpretParams() if tpu else True))


def settled(record):
    """JAX prints some sets as they come: the names in a tuple of strings in order."""
    def in_order(m):
        return "(" + ", ".join(sorted(m[1].split(", "))) + ")"

    return {**record, "raises": re.sub(r"\(('[^'()]*'(?:, '[^'()]*')+)\)", in_order, record["raises"])} if "raises" in record else record


class Judge:
    """JAX in a process of its own: some specs make it hang."""

    SECONDS = 30

    def __init__(self):
        self.process = None

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, path, tpu):
        if not self.process:
            self.start()
        self.pipe.send((path, tpu))
        try:
            if self.pipe.poll(self.SECONDS):
                return settled(self.pipe.recv())
            record = {"hangs": f"no answer in {self.SECONDS} s"}
        except EOFError:
            record = {"dies": "the process ended"}
        self.process.kill()
        self.process = None
        return record


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    files = [f for f in options.files or sorted(FOLDER.glob("*.tile.json")) if "_is_later" not in f.name]
    changed = agree = silent = refused = 0
    judge = Judge()
    for path in files:
        spec = json.loads(path.read_text())
        now = {"interpret": judge.ask(path, False), "tpu_interpret": judge.ask(path, True)}
        if now["interpret"] == now["tpu_interpret"]:
            now = {"both": now["interpret"]}
        agree += any(o.get("agrees") for o in now.values())
        silent += "trap" in spec["x-test"] and all("outputs" in o for o in now.values())
        refused += all("raises" in o for o in now.values())
        if options.record:
            path.write_text(json.dumps({**spec, "x-jax": now}, indent=2, ensure_ascii=False) + "\n")
        elif spec.get("x-jax") != now:
            changed += 1
            print(f"{path.name}: recorded {json.dumps(spec.get('x-jax'))}\n    JAX {jax.__version__} now: {json.dumps(now)}", flush=True)
    print(f"{len(files)} specs: JAX agrees with the value of {agree}, runs through {silent} that trap, refuses {refused}; {changed} changed since recorded")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
