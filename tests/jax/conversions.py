"""Record or re-check what ml_dtypes makes of every number of the narrow types.

    conversions.py --record     write tests/conversions.txt
    conversions.py              fail where ml_dtypes no longer does what is recorded

A line is "SOURCE TARGET COUNT DIGEST": COUNT numbers of SOURCE, converted to TARGET, and the
first 16 digits of the SHA-256 of what lies in memory then. The numbers are all codes of a
type of at most 16 bits; of int32, powers of two and their neighbours; of float32 see
float32(). A float that TARGET, of integers, cannot hold counts as 0. ml_dtypes has no
conversion between float8_e8m0fnu and the others, nor between int4 and uint4: float32 and
int8 stand between them.
tests/unit/test_conversions.c executes the same in the machine.
"""

import hashlib
import pathlib
import sys

import ml_dtypes
import numpy as np

FILE = pathlib.Path(__file__).resolve().parent.parent / "conversions.txt"
FLOATS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e8m0fnu"]
NARROW = [*FLOATS, "int4", "uint4"]
WIDE = ["float32", "bfloat16", "float16", "int8", "int16", "int32", "uint8", "uint16"]


def float32():
    """Upper halves of all kinds with lower halves at, just below and just above every sixteenth: with them every number of
    a narrow type, every middle between two, and their neighbours. Of NaN the two that have no payload."""
    high = np.arange(1 << 16, dtype=np.uint32)[:, None] << 16
    low = (np.arange(16, dtype=np.uint32)[:, None] * 0x1000 + np.array([0, 1, 0xFFF], np.uint32)).ravel()
    bits = (high + low).ravel()
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    bits[nan] = (bits[nan] & 0xFF800000) | 0x400000
    return bits.view(np.float32)


def numbers(name):
    if name == "float32":
        return float32()
    if name == "int32":
        one = np.int64(1) << np.arange(31)
        return np.concatenate([one - 1, one, one + 1, 3 * one // 2, -one, -one - 1]).astype(np.int32)
    if name in ("int4", "uint4"):
        return np.arange(16, dtype=np.uint8).view(name)
    d = np.dtype(name)
    return np.arange(1 << 8 * d.itemsize, dtype=f"u{d.itemsize}").view(d)


def converted(x, name):
    """x as numbers of `name`."""
    source, target = x.dtype.name, np.dtype(name)
    if source in FLOATS or source in ("float32", "bfloat16", "float16"):
        wide = x.astype(np.float32)
        if name not in FLOATS and target.name not in ("float32", "bfloat16", "float16"):
            low, high = (0, 15) if name == "uint4" else (-8, 7) if name == "int4" else (np.iinfo(target).min, np.iinfo(target).max)
            cut = np.trunc(wide.astype(np.float64))
            return np.where((cut >= low) & (cut <= high), cut, 0).astype(np.int64).astype(target)
        x = wide if "float8_e8m0fnu" in (source, name) else x
    elif "float8_e8m0fnu" == name:
        x = x.astype(np.float32)
    elif {source, name} == {"int4", "uint4"}:
        x = x.astype(np.int8)
    return x if x.dtype == target else x.astype(target)


def lines():
    pairs = [(s, t) for s in NARROW for t in [*NARROW, *WIDE] if s != t] + [(s, t) for s in WIDE for t in NARROW]
    with np.errstate(all="ignore"):
        for source, target in pairs:
            x = numbers(source)
            yield f"{source} {target} {x.size} {hashlib.sha256(converted(x, target).tobytes()).hexdigest()[:16]}"


def main():
    now = "".join(f"{line}\n" for line in lines())
    if "--record" in sys.argv:
        FILE.write_text(now)
        return 0
    known = FILE.read_text().splitlines()
    changed = [(k, n) for k, n in zip(known, now.splitlines(), strict=True) if k != n]
    for k, n in changed:
        print(f"recorded {k}\n    ml_dtypes {ml_dtypes.__version__} now: {n}")
    print(f"{len(known)} pairs of types: {len(changed)} changed since recorded")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
