"""Kernels that are executed in this process, on the memory of NumPy arrays."""

import concurrent.futures
import pathlib
import subprocess

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import tileproof
from tileproof import binary
from tileproof.library import _as_array

ROOT = pathlib.Path(__file__).resolve().parents[2]
ADD = ROOT / "examples" / "elementwise" / "add_2d.tile.json"


@pytest.fixture(scope="module")
def receipt(tmp_path_factory):
    path = tmp_path_factory.mktemp("receipts") / "add.json"
    subprocess.run([binary.program(), "verify", "-q", "--receipt", path, ADD], check=True, stdout=subprocess.DEVNULL)
    return path


def arrays():
    r = np.random.default_rng(1)
    return [r.standard_normal((300, 700), dtype=np.float32) for _ in range(2)]


def test_a_verified_kernel_runs_where_its_output_lies(receipt):
    x, y = arrays()
    o = np.empty_like(x)
    assert tileproof.compile(ADD, receipt)(x, y, out=o) is o
    assert (o == x + y).all()


@pytest.mark.parametrize("threads", [0, 1, 2, 7, 400])
def test_any_number_of_threads_gives_the_same_bytes(receipt, threads):
    x, y = (np.tile(a, (4, 4)) for a in arrays())  # 15 blocks
    o = np.empty_like(x)
    tileproof.compile(ADD, receipt, threads=threads)(x, y, out=o)
    assert (o == x + y).all()


def test_by_name_and_with_strides(receipt):
    x, y = arrays()
    wide = np.zeros((300, 1400), np.float32)
    tileproof.compile(ADD, receipt)(y=np.asfortranarray(y), x=x, out=wide[:, ::2])
    assert (wide[:, ::2] == x + y).all() and (wide[:, 1::2] == 0).all()


def test_an_output_over_an_input(receipt):
    x, y = arrays()
    want = x + y
    tileproof.compile(ADD, receipt)(x, y, out=x)
    assert (x == want).all()


def test_nothing_runs_unverified_or_unfit(receipt):
    x, y = arrays()
    o = np.full_like(x, 7)
    with pytest.raises(tileproof.TileproofError, match="not verified"):
        tileproof.compile(ADD)(x, y, out=o)
    with pytest.raises(tileproof.TileproofError, match="no array `y`"):
        tileproof.compile(ADD, receipt)(x, out=o)
    with pytest.raises(tileproof.TileproofError, match="takes 2"):
        tileproof.compile(ADD, receipt)(x, y, x, out=o)
    with pytest.raises(tileproof.TileproofError, match="takes no `z`; it takes x, y"):
        tileproof.compile(ADD, receipt)(x, y, z=x, out=o)
    with pytest.raises(tileproof.TileproofError, match="`x` is given twice"):
        tileproof.compile(ADD, receipt)(x, x=x, out=o)
    with pytest.raises(tileproof.TileproofError, match="x"):
        tileproof.compile(ADD, receipt)(x.astype(np.float64), y, out=o)
    assert (o == 7).all()


def test_outputs_are_made_where_none_are_given(receipt):
    x, y = arrays()
    k = tileproof.compile(ADD, receipt)
    o = k(x, y)
    assert o.dtype == np.float32 and (o == x + y).all()
    assert k(x[:1], y[:1]).shape == (1, 700)  # of each call's own shape
    b = k(x.astype(ml_dtypes.bfloat16), y.astype(ml_dtypes.bfloat16))
    assert b.dtype == ml_dtypes.bfloat16 and (b == x.astype(ml_dtypes.bfloat16) + y.astype(ml_dtypes.bfloat16)).all()
    with pytest.raises(tileproof.TileproofError, match="no array `y`"):
        k(x)
    with pytest.raises(tileproof.TileproofError, match="outside the declared domain|has rank"):
        k(x[0], y)


def test_each_call_has_arrays_of_its_own(receipt):
    """Descriptions that are kept say nothing of where arrays lie; arrays of another kind have other ones."""
    k = tileproof.compile(ADD, receipt, threads=1)
    for i in range(300):
        x, y = (np.full((1 + i % 70, 5), v, np.float32) for v in (i, 3 * i))
        o = np.full((2 * x.shape[0], 5), -1, np.float32)
        assert (k(x, np.asfortranarray(y) if i % 3 else y) == 4 * i).all()
        k(x[::-1], y, out=o[::2])
        assert (o[::2] == 4 * i).all() and (o[1::2] == -1).all()
    with pytest.raises(tileproof.TileproofError, match="byte order"):
        k(x.astype(">f4"), y)


def test_memory_of_others_is_read_where_it_lies(receipt):
    x, y = arrays()
    k = tileproof.compile(ADD, receipt)
    assert (k(jnp.asarray(x), jnp.asarray(y)) == x + y).all()
    assert (k(memoryview(x), y) == x + y).all()
    half = [jnp.asarray(a, jnp.bfloat16) for a in (x, y)]  # a dtype that DLPack has and NumPy has not
    assert (k(*half) == np.asarray(half[0] + half[1])).all()
    for a in (jnp.asarray(x), memoryview(x), half[0]):
        assert _as_array(a).ctypes.data == np.asarray(a).ctypes.data and not _as_array(a).flags.owndata


def test_an_output_that_is_read_only(receipt):
    x, y = arrays()
    o = np.full_like(x, 7)
    o.flags.writeable = False
    with pytest.raises(tileproof.TileproofError, match="read-only"):
        tileproof.compile(ADD, receipt)(x, y, out=o)
    assert (o == 7).all()


def test_one_kernel_in_several_threads(receipt):
    x, y = arrays()
    k = tileproof.compile(ADD, receipt, threads=1)

    def call(i):
        if i % 3 == 2:
            with pytest.raises(tileproof.TileproofError, match="no array `y`"):
                k(x, out=np.empty_like(x))
            return True
        return (k(x + np.float32(i), y) == x + np.float32(i) + y).all()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(60)))


def test_tables_that_prepare_computes(tmp_path):
    spec = ROOT / "tests" / "cases" / "ok_prepared_group_offsets.tile.json"
    kernel = tileproof.compile(spec, unchecked=True)
    assert [n for n, _ in kernel.parameters] == ["x", "w", "o", "count"]
    r = np.random.default_rng(2)
    x, w, count = r.standard_normal((48, 128), dtype=np.float32), r.standard_normal((3, 128), dtype=np.float32), np.array([2, 0, 3], np.int32)
    want = np.concatenate([x[:40] * w[[0, 0, 2, 2, 2]].repeat(8, axis=0), np.zeros((8, 128), np.float32)])
    assert (kernel(x, w, count) == want).all()
    emitted = {}
    exec(subprocess.run([binary.program(), "emit", "pallas", spec], check=True, capture_output=True, text=True).stdout, emitted)
    assert (np.asarray(emitted["prepared_group_offsets"](count, x, w, T=6, interpret=True)[0]) == want).all()
    with pytest.raises(tileproof.TileproofError, match="check failed: counts fit"):
        kernel(x, w, np.array([2, 0, 7], np.int32))
