"""Who says what, on a good kernel and on one that only tileproof refuses."""

import pathlib

import pytest

from tileproof import judge
from tileproof.errors import TileproofError

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def says(path):
    opinions, _, remarks = judge.judge(str(EXAMPLES / path))
    return {o.judge: o.says for o in opinions}, remarks


def test_sizes_are_arithmetic():
    assert judge.integer("cdiv(M, 8) * 2 if M > 3 else 0", {"M": 9}) == 4
    with pytest.raises(TileproofError, match="not an integer expression"):
        judge.integer("().__class__", {})


def test_all_agree():
    opinions, remarks = says("attention/paged_attention.tile.json")
    assert opinions.pop("TPU compiler") in ("absent", "accepts")
    assert opinions == {"tileproof lint, all sizes": "accepts", "tileproof run, this case": "runs", "JAX: TPU lowering": "accepts",
                        "JAX: interpret=True": "equal", "JAX: pltpu.InterpretParams()": "equal"}
    assert remarks == []


def test_only_we_object():
    opinions, remarks = says("broken/unmasked_k_tail.tile.json")
    assert opinions["tileproof lint, all sizes"] == "rejects" and opinions["tileproof run, this case"] == "traps"
    assert opinions["JAX: interpret=True"] == "runs" and "machine_padding_reaches_sum" in remarks[0]


def test_raises_are_told():
    opinions, _ = says("broken/index_plus_one.tile.json")
    assert opinions["JAX: pltpu.InterpretParams()"] == "raises"
