#!/usr/bin/env python3
"""Ask the TPU compiler about the kernels of kernels.py: tests/oracle/tpu_kernel_oracle.jsonl.

    build/venv/bin/python tests/oracle/record.py --libtpu FILE [--only REGEX]

FILE is libtpu.so of the package libtpu 0.0.42, which compiles without a TPU. A line has the name of a kernel, its spec
as imported, and by chip "ok" or what was refused. Lines that are not asked about, and the whole kernels that
kernels.py does not have, stay. libtpu may end its process: kernels are compiled in a child, which is started again.
"""

import argparse
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
RECORD = HERE / "tpu_kernel_oracle.jsonl"
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "python")]
CHIPS = {"tpu-v4": ("v4:2x2x1", "TPU v4"), "tpu-v5e": ("v5e:2x2", "TPU v5 lite"), "tpu-v6e": ("v6e:2x2", "TPU v6 lite"), "tpu-v7x": ("tpu7x:2x2x1", "TPU7x")}
SECONDS = 120  # for one kernel on one chip
KINDS = [
    (r"Unimplemented primitive in Pallas TPU lowering for tc: (\w+)", r"primitive \1"),
    (r"E2003|dynamic (load|store) with unaligned", "alignment"), (r"aligned to tiles", "copy"),
    (r"E2002|requires that the last two|requires that rank 1 block|Pallas TPU lowering currently", "block"),
    (r"E1001|Scoped allocation|[Rr]an out of memory in memory space vmem", "vmem"), (r"memory space smem", "smem"),
    (r"Mix int/int|Unsigned integer dtype|unsupported data format for vmatmul", "mixed dot"), (r"Bad lhs type$|Bad lhs type\n", "precision"),
    (r"int acc with|float acc with|acc is int|Bad lhs|Bad rhs|Expected matmul acc|matmul", "dot"), (r"dot precision", "precision"),
    (r"shape cast", "shape cast"), (r"[Ss]trided (load|store)|Stride on|last dim size is not 128", "stride"),
    (r"Only 32-bit scalar|Cannot store scalars", "scalar"),
    (r"[Cc]ast your input|Unsupported element|[Uu]nsupported cast|not supported.*cast|Invalid vector type", "dtype"),
]


def kind(stage, text):
    """ "ok", or the refusal in a word; what has none: its first words."""
    for pattern, word in KINDS if stage != "ok" else []:
        if m := re.search(pattern, text):
            return m.expand(word)
    text = re.sub(r"vector<[^>]*>", "V", re.sub(r"^MosaicError: .*?kernel: ", "", text).split("The MLIR operation")[0])
    return "ok" if stage == "ok" else f"{stage}: {' '.join(text.split())[:100]}"


def load(path):
    scope = {}
    exec(compile(pathlib.Path(path).read_text(), path, "exec"), scope)
    return scope["kernel"], scope["ARGS"]


def child(libtpu):
    """Compile what comes in, a line "PATH CHIP" each; a line of JSON before and after."""
    os.environ.update(TPU_SKIP_MDS_QUERY="1", TPU_LIBRARY_PATH=libtpu, JAX_PLATFORMS="cpu")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import jax
    import numpy as np
    from jax._src.pallas.mosaic import tpu_info
    from jax.experimental import topologies
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    at = {}
    for chip, (topology, _) in CHIPS.items():
        devices = topologies.get_topology_desc(topology, platform="tpu").devices
        at[chip] = NamedSharding(Mesh(np.array(devices[:1]), ("x",)), PartitionSpec())
    for line in sys.stdin:
        path, chip = line.split()
        print(json.dumps([path, chip, "start", ""]), file=out, flush=True)
        tpu_info.get_tpu_info = lambda kind=CHIPS[chip][1]: tpu_info.get_tpu_info_for_chip(tpu_info.chip_version_from_device_kind(kind), 1)
        stage, text = "lowering", ""
        try:
            kernel, args = load(path)
            shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in args]
            lowered = jax.jit(kernel, in_shardings=[at[chip]] * len(shapes)).lower(*shapes)
            stage = "compiler"
            lowered.compile()
            stage = "ok"
        except Exception as e:  # noqa: BLE001  whatever is raised is the answer
            text = f"{type(e).__name__}: {e}"
        print(json.dumps([path, chip, stage, text[:6000]]), file=out, flush=True)


def ask(paths, libtpu):
    """{(path, chip): answer}"""
    answers, todo = {}, [(p, c) for p in paths for c in CHIPS]
    while todo:
        with tempfile.TemporaryFile("w+") as feed:
            feed.writelines(f"{p} {c}\n" for p, c in todo)
            feed.seek(0)
            process = subprocess.Popen([sys.executable, __file__, "--child", "--libtpu", libtpu], stdin=feed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        said, now = queue.Queue(), None
        threading.Thread(target=pump, args=(process, said), daemon=True).start()
        try:
            while line := said.get(timeout=SECONDS):
                path, chip, stage, text = json.loads(line)
                now = (path, chip)
                if stage != "start":
                    answers[now], now = kind(stage, text), None
        except queue.Empty:
            process.kill()
        process.wait()
        if now:
            answers[now] = "compiler: ended, or gave no answer"
        left = [t for t in todo if t not in answers]
        if len(left) == len(todo):
            sys.exit("record: libtpu does not start; is it version 0.0.42?")
        todo = left
    return answers


def pump(process, said):
    for line in process.stdout:
        said.put(line)
    said.put(None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--libtpu", required=True, help="libtpu.so of the package libtpu 0.0.42")
    parser.add_argument("--only", default="", help="kernels whose name matches")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.child:
        return child(o.libtpu)
    os.environ["JAX_PLATFORMS"] = "cpu"
    import kernels
    from tileproof import errors, importer

    lines = {json.loads(line)["name"]: line for line in RECORD.read_text().splitlines()} if RECORD.exists() else {}
    with tempfile.TemporaryDirectory() as room:
        texts = {n: text for n, text in kernels.sources().items() if re.search(o.only, n)}
        wanted = {n: pathlib.Path(room) / f"{n}.py" for n in texts}
        for n, path in wanted.items():
            path.write_text(texts[n])
        answers = ask([str(p) for p in wanted.values()], o.libtpu)
        for n, path in wanted.items():
            try:
                kernel, args = load(str(path))
                spec, = importer.from_pallas(kernel, *args)
            except (errors.TileproofError, TypeError, ValueError) as e:
                print(f"record: {n} is not imported: {str(e).splitlines()[0]}")
                continue
            spec = {k: v for k, v in spec.items() if not k.startswith("x-") and k != "target"}
            said = {c: answers[str(path), c] for c in CHIPS}
            lines[n] = json.dumps({"name": n, "answers": said, "spec": spec}, separators=(",", ":"))
    RECORD.write_text("".join(line + "\n" for line in lines.values()))
    print(f"record: {len(wanted)} kernels asked about, {len(lines)} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
