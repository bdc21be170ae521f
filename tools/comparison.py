#!/usr/bin/env python3
"""Writes docs/COMPARISON.md: who says what about the broken kernels, by `judge` (build/venv, from make test-jax)."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import jax  # noqa: E402

from tileproof import judge  # noqa: E402

HEAD = f"""# Beside JAX's own checkers

Made by `make comparison` on a machine without a TPU, JAX {jax.__version__}: each kernel of [examples/broken](../examples/broken) is
emitted as Python and shown to the checkers of JAX, on the first case of `verify`. `lint` judges all sizes, `verify` all of its cases, the
others the first case. A kernel that `lint` accepts satisfies every rule: only `verify` rejects it, because it differs from its reference.

| verdict | means |
|---|---|
| rejects, raises, traps | the checker finds a defect |
| accepts | the checker has no objection, although the kernel is wrong |
| equal | the kernel ran to its end, with the numbers of tileproof's machine |
| runs | the kernel ran to its end, where tileproof's machine traps |
| absent | the checker was not there, or does not take such a kernel |

"""


def main():
    rows, judges = [], []
    for path in sorted((ROOT / "examples" / "broken").glob("*.tile.json")):
        opinions, _ = judge.judge(str(path), most=1)
        judges = judges or [o.judge for o in opinions]
        said = {o.judge: o.says for o in opinions}
        rows.append((path.name.removesuffix(".tile.json"), [said.get(j, "") for j in judges]))
        print(rows[-1], flush=True)
    lines = ["| kernel | " + " | ".join(judges) + " |", "|---|" + "---|" * len(judges)]
    lines += [f"| [{n}](../examples/broken/{n}.tile.json) | " + " | ".join(cells) + " |" for n, cells in rows]
    (ROOT / "docs" / "COMPARISON.md").write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
