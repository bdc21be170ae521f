"""Who says what, on a good kernel and on one that only tileproof refuses."""

import pathlib

from tileproof import judge

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def says(path):
    opinions, _, remarks = judge.judge(str(EXAMPLES / path))
    return {o.judge: o.says for o in opinions}, remarks


def test_all_agree():
    opinions, remarks = says("paged_attention.tile.json")
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
