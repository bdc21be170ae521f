"""Who says what, on the cases of verify: a good kernel, kernels that only
tileproof refuses, and kernels that are right in the first case alone."""

import json
import pathlib

import pytest

from tileproof import binary, command, judge

ROOT = pathlib.Path(__file__).resolve().parents[2]
LATE = str(ROOT / "tests" / "cases" / "bad_guard_at_37.tile.json")
RIGHT = str(ROOT / "tests" / "cases" / "ok_guard_at_37.tile.json")


def says(path, **limits):
    opinions, remarks = judge.judge(str(ROOT / path), **limits)
    return {o.judge: o for o in opinions}, remarks


def test_all_agree():
    opinions, remarks = says("examples/attention/paged_attention.tile.json", most=3)
    assert opinions.pop("TPU compiler").says in ("absent", "accepts")
    assert {k: o.says for k, o in opinions.items()} == {
        "tileproof lint, all sizes": "accepts", "tileproof verify": "accepts", "tileproof run": "runs", "JAX: TPU lowering": "accepts",
        "JAX: interpret=True": "equal", "JAX: pltpu.InterpretParams()": "equal"}
    assert remarks == []


@pytest.mark.parametrize("kernel", ["float8_matmul", "int4_matmul"])
def test_narrow_types_are_read_as_they_are(kernel):
    opinions, _ = says(f"examples/matmul/{kernel}.tile.json", most=2)
    assert opinions["JAX: interpret=True"].says == "equal", opinions


def test_only_we_object():
    opinions, remarks = says("examples/broken/unmasked_k_tail.tile.json", most=1)
    assert opinions["tileproof lint, all sizes"].says == "rejects" and opinions["tileproof run"].says == "traps"
    assert opinions["JAX: interpret=True"].says == "runs" and "machine_padding_reaches_sum" in remarks[0]


def test_raises_are_told():
    opinions, _ = says("examples/broken/index_plus_one.tile.json", most=1)
    assert opinions["JAX: pltpu.InterpretParams()"].says == "raises"


def test_the_cases_are_those_of_verify():
    cases = binary.report("verify", RIGHT)["specs"][0]["equivalence"]
    runs = judge.picked(cases)
    assert [n for n, _ in runs[:len(cases["cases"])]] == list(range(len(cases["cases"])))
    assert sorted(runs) == sorted((n, f) for n, c in enumerate(cases["cases"]) for f in c["inputs"])
    opinions, _ = says(RIGHT, seconds=0.1)
    assert len(runs) > 12 and opinions["tileproof run"].detail == f"{len(cases['cases'])} of {len(cases['cases'])} cases, {len(runs)} runs"


def test_a_kernel_that_is_wrong_in_a_later_case(capsys):
    assert command.main(["judge", LATE, "--seconds", "0.1"]) == 1
    assert "tileproof verify              rejects  TP701" in capsys.readouterr().out


def test_a_trap_in_a_later_case(tmp_path):
    spec = json.loads((ROOT / "examples/broken/unmasked_k_tail.tile.json").read_text())
    spec["cases"] = [{"sizes": {"M": 128, "N": 128, "K": 128, "bk": 128}, "dtypes": {"T": "float32"}}]
    path = tmp_path / "k.tile.json"
    path.write_text(json.dumps(spec))
    assert says(path, most=1, seconds=0.1)[0]["tileproof run"].says == "runs"
    opinion = says(path, most=6, seconds=0.1)[0]["tileproof run"]
    assert opinion.says == "traps" and "at M = 1" in opinion.detail and "of " in opinion.detail.partition("; ")[2]


def test_python_that_differs_in_a_later_case(monkeypatch, capsys):
    """Planted into what was emitted: one is added at one size alone."""
    emitted = judge.emit(RIGHT)
    wrong = judge.Function(emitted.source + f"\ndef wrong(*a, **k):\n    o, = {emitted.name}(*a, **k)\n    return [o + (a[0].shape[0] == 3)]\n", "wrong")
    monkeypatch.setattr(judge, "emit", lambda _: wrong)
    assert says(RIGHT, most=1)[0]["JAX: interpret=True"].says == "equal"
    assert judge.print_matrix(RIGHT, most=4) == 1
    out = capsys.readouterr().out
    assert "differs  at " in out and "N = 3: " in out and "please report" in out


def test_the_budget_is_said():
    assert says(RIGHT, seconds=0.1, most=2)[0]["JAX: interpret=True"].says == "hangs"
    runs = [judge.Run(n, f"M = {n}", [], {}, [], "", "") for n in range(9)]
    opinion = judge._together("j", [("equal", "1e-07"), ("equal", "3e-06")], runs, 9)
    assert opinion.says == "equal" and opinion.detail == "2 of 9 cases, 2 runs; largest difference / rms 3e-06"


@pytest.mark.parametrize("said", ["dies", "hangs", "raises", "differs"])
def test_one_objection_among_many(said):
    runs = [judge.Run(n, f"M = {n}", [], {}, [], "", "") for n in range(3)]
    opinion = judge._together("j", [("equal", "0"), (said, "why"), ("equal", "0")], runs, 3)
    assert opinion.says == said and opinion.detail.startswith("at M = 1: ")


def test_prepared_tables_are_computed_on_both_sides():
    opinions, remarks = says("tests/cases/ok_prepared_group_offsets.tile.json", most=3)
    assert opinions["JAX: interpret=True"].says == "equal" and opinions["tileproof run"].says == "runs", opinions
