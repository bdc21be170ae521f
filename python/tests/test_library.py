"""Kernels that are executed in this process, on the memory of NumPy arrays."""

import pathlib
import subprocess

import numpy as np
import pytest

import tileproof
from tileproof import binary

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
    with pytest.raises(tileproof.TileproofError, match="x"):
        tileproof.compile(ADD, receipt)(x.astype(np.float64), y, out=o)
    assert (o == 7).all()
