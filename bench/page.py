"""What bench/gallery.py measured, as lines, as docs/PERFORMANCE.md and as a picture. Losses are listed by the bars below."""

import statistics

# Ratios of CPU time to the other's, at most. A row misses a bar when its whole spread does.
JIT, NUMPY, INTERPRET = 1.3, 1.2, 1.0
WORK = {"matmul": 2 * 1024**3, "matmul:bf16": 2 * 1024**3, "int8_matmul": 2 * 1024**3}  # multiplications and additions


def cpu(r, side):
    times = r["ms"].get(side)
    return [t[0] for t in times] if isinstance(times, list) else None


def ratios(r, side, other):
    """Of one round each, sorted; where one of them ran less often, against its median."""
    a, b = cpu(r, side), cpu(r, other)
    if not a or not b:
        return None
    if len(a) != len(b):
        b = [statistics.median(b)] * len(a)
    return sorted(x / y for x, y in zip(a, b))


def middle(r, side, other):
    q = ratios(r, side, other)
    return statistics.median(q) if q else None


def mean(rows, side, other):
    q = [m for r in rows if (m := middle(r, side, other))]
    return statistics.geometric_mean(q) if q else None


def with_spread(q):
    return f"{statistics.median(q):.2f} [{q[0]:.2f}, {q[-1]:.2f}]" if q else "–"


def short(v):
    return "–" if v is None else f"{v:.2g}" if v < 0.1 else f"{v:.2f}" if v < 10 else f"{v:.0f}"


def line(r):
    others = "  ".join(f"{o} {short(middle(r, 'reused', o))}" for o in ("numpy", "interpret=True", "InterpretParams()") if o in r["ms"])
    return (f"{r['kernel']:24} jit {statistics.median(cpu(r, 'jit')):8.2f} ms  ours {statistics.median(cpu(r, 'fresh')):8.2f}  "
            f"of jit: {with_spread(ratios(r, 'fresh', 'jit'))}, reused {with_spread(ratios(r, 'reused', 'jit'))}  of {others}  "
            f"off by {r['worst']:.1e}")


def rate(record, name, side="reused"):
    r = next((r for r in record["rows"] if r["kernel"] == name), None)
    return WORK[name] / statistics.median(cpu(r, side)) * 1e3 if r else None


def peaks_line(record):
    p = record["peaks"]
    return (f"One core: {p['flops_per_second'] / 1e9:.0f} GFLOP/s of float32 multiply-adds ({p['instruction_set']}), "
            f"{p['bytes_per_second'] / 1e9:.0f} GB/s read and written by a copy.")


def steps_line(record):
    return "A step that adds 1024 numbers: " + ", ".join(f"{us:.2f} µs of {int(n):,}" for n, us in record["steps_us"].items()) + " steps."


def shares(record):
    p, out = record["peaks"], []
    for name in WORK:
        if (v := rate(record, name)) is not None:
            out.append(f"`{name}` {v / p['flops_per_second']:.0%} of the peak of float32 multiply-adds")
    add = next((r for r in record["rows"] if r["kernel"] == "add_2d"), None)
    if add:
        moved = 3 * 4 * 4096 * 4096 / statistics.median(cpu(add, "reused")) * 1e3
        out.append(f"`add_2d` {moved / p['bytes_per_second']:.0%} of the copy's rate")
    return "; ".join(out)


def summary(record):
    rows = record["rows"]
    parts = [f"{mean(rows, 'fresh', 'jit'):.2f} of jit with new outputs, {mean(rows, 'reused', 'jit'):.2f} with used ones"]
    parts += [f"{m:.3f} of {o}" for o in ("numpy", "interpret=True", "InterpretParams()") if (m := mean(rows, "reused", o))]
    return f"geometric means of {len(rows)} cases: " + ", ".join(parts) + f"; load {record['load'][0]:.1f} to {record['load'][-1]:.1f}"


def over(rows, side, other, bar):
    """Rows whose median is over the bar; those whose whole spread is, in bold."""
    names = []
    for r in rows:
        q = ratios(r, side, other)
        if q and statistics.median(q) > bar:
            names.append(f"**{r['kernel']}**" if q[0] > bar else r["kernel"])
    return ", ".join(names) or "none"


def threads(rows):
    q = [m for r in rows if (m := middle(r, "two threads", "reused"))]
    return statistics.geometric_mean(q)


def markdown(record):
    rows, load = record["rows"], sorted([*record["load"], *(r["load"] for r in record["rows"])])
    text = [
        "# Performance", "",
        "Made by `make bench`: every kernel of the gallery by receipt, beside `jax.jit` of a function that says the same, NumPy by that function,",
        "and the two interpreters of Pallas on the same spec. All of them run in one process on one core, interleaved. Figures are ratios of CPU time, medians of "
        f"{record['rounds']}", "rounds with their spread (of the interpreters: one to three calls). Below 1 tileproof is faster.", "",
        f"{record['processor']}, JAX {record['jax']}, NumPy {record['numpy']}. Load of the machine while it was measured: {load[0]:.1f} to {load[-1]:.1f}"
        + (", so other work ran on its cores and in its caches." if max(load) > 1.5 else "."),
        "Memory-bound rows move by 30 to 60 % from run to run; `jax.jit` of `stencil_2d`, `causal_conv1d` and `row_gather` takes one of two times.", "",
        f"- {peaks_line(record)}", f"- {shares(record)}.", f"- {steps_line(record)}",
        f"- Two threads take {threads(rows):.2f} of the CPU time of one (geometric mean).", "",
        f"**Geometric means of {len(rows)} cases, against `jax.jit`: {mean(rows, 'fresh', 'jit'):.2f} with outputs that are made in each call, as `jax.jit` does, "
        f"{mean(rows, 'reused', 'jit'):.2f} with outputs that are used again.**", "",
        "![Time of each kernel, as a share of that of jax.jit](performance.svg)", "",
        "| kernel | jit, ms | ours, ms | of jit: new outputs | of jit: used again | of NumPy | of `interpret=True` | of `InterpretParams()` |", "|---|---|---|---|---|---|---|---|"]
    for r in rows:
        text.append(f"| {r['kernel']} | {statistics.median(cpu(r, 'jit')):.1f} | {statistics.median(cpu(r, 'fresh')):.1f} | {with_spread(ratios(r, 'fresh', 'jit'))} | "
                    f"{with_spread(ratios(r, 'reused', 'jit'))} | {short(middle(r, 'reused', 'numpy'))} | "
                    + " | ".join(r["ms"][o] if isinstance(r["ms"].get(o), str) else f"{m:.4f}" if (m := middle(r, "reused", o)) else "–"
                                 for o in ("interpret=True", "InterpretParams()")) + " |")
    text += ["", "Losses (bold: the whole spread is over the bar):", "",
             f"- more than {JIT} times as long as `jax.jit`: {over(rows, 'fresh', 'jit', JIT)}",
             f"- more than {NUMPY} times as long as NumPy: {over(rows, 'reused', 'numpy', NUMPY)}",
             f"- longer than `interpret=True`: {over(rows, 'reused', 'interpret=True', INTERPRET)}", "",
             "NumPy has no bfloat16: those rows compute in float32 there. The engine is the checked machine of [SPEC.md](SPEC.md): every access is checked, and sums",
             "keep their order. Sizes are those of `bench/gallery.py`; blocks are those of the specs, which were chosen for TPUs.", ""]
    return "\n".join(text)


def draw(record, path):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "tileproof", "svg.fonttype": "none", "font.size": 8})
    import matplotlib.pyplot as plt

    rows = sorted(record["rows"], key=lambda r: middle(r, "fresh", "jit"))
    figure, axes = plt.subplots(figsize=(7, 0.22 * len(rows) + 1))
    for at, r in enumerate(rows):
        for side, color, shift in (("fresh", "#30638e", 0.18), ("reused", "#edae49", -0.18)):
            q = ratios(r, side, "jit")
            axes.plot([q[0], q[-1]], [at + shift] * 2, color=color, linewidth=1)
            axes.plot(statistics.median(q), at + shift, "o", color=color, markersize=3.5,
                      label={"fresh": "new outputs", "reused": "outputs used again"}[side] if at == 0 else None)
    axes.axvline(1, color="gray", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
    axes.set_yticks(range(len(rows)), [r["kernel"] for r in rows])
    axes.set_xlabel("CPU time as a share of that of jax.jit: median and spread of the rounds")
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
