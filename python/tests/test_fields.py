"""The closed list of fields: JAX's are all on it, what it calls read is read,
what it refuses is refused."""

import dataclasses
import types

import jax
import jax.numpy as jnp
import kernels
import pytest
from jax._src.pallas import core
from jax._src.pallas.mosaic import core as mosaic
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import tileproof
from tileproof import devices, fields, importer
from tileproof import jaxpr as jx

LISTED = [(core.GridMapping, fields.GRID_MAPPING), (core.BlockMapping, fields.BLOCK_MAPPING), (pl.Buffered, fields.BUFFERED),
          (mosaic.CompilerParams, fields.COMPILER_PARAMS), (pl.Element, fields.ELEMENT), (pl.Blocked, fields.BLOCKED)]


def equation(fn, *args):
    return next(jx.pallas_calls(jx.trace(fn, args)))[0]


def call(x, block=((8, 128), lambda i: (i, 0)), out=((8, 128), lambda i: (i, 0)), grid=(2,), mode=None, out_mode=None, body=None, space=None, **kwargs):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    return pl.pallas_call(body or kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=grid,
                          in_specs=[pl.BlockSpec(*block, pipeline_mode=mode, memory_space=space)], out_specs=pl.BlockSpec(*out, pipeline_mode=out_mode), **kwargs)(x)


X = kernels.array(16, 128)


@pytest.mark.parametrize("kind, table", LISTED, ids=[k.__name__ for k, _ in LISTED])
def test_every_field_is_listed(kind, table):
    assert {f.name for f in dataclasses.fields(kind)} <= set(table)


def test_every_parameter_is_listed():
    assert set(equation(call, X).params) <= set(fields.PALLAS_CALL)


class Recorder:
    """Stands for a record or a dict and notes what is asked of it."""

    def __init__(self, of, seen, wrap=None):
        self.__dict__.update(_of=of, _seen=seen, _wrap=wrap or {})

    def __getattr__(self, name):
        self._seen.add(name)
        return self._wrap.get(name, getattr(self._of, name))


class Params(dict):
    def __init__(self, of, seen):
        super().__init__(of)
        self.seen = seen

    def __getitem__(self, key):
        self.seen.add(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.seen.add(key)
        return super().get(key, default)


def test_what_is_called_read_is_read(monkeypatch):
    eqn = equation(lambda x: call(x, mode=pl.Buffered(1), compiler_params=pltpu.CompilerParams(vmem_limit_bytes=1 << 20)), X)
    monkeypatch.setattr(fields, "check", lambda *_: None)  # it asks for every field
    of_call, of_grid, of_block = set(), set(), set()
    grid = eqn.params["grid_mapping"]
    blocks = tuple(Recorder(b, of_block) for b in grid.block_mappings)
    params = {**eqn.params, "grid_mapping": Recorder(grid, of_grid, {"block_mappings": blocks})}
    importer.from_equation(types.SimpleNamespace(params=Params(params, of_call), invars=eqn.invars, outvars=eqn.outvars, source_info=eqn.source_info, primitive=eqn.primitive))
    # how shard_map cuts arrays is read of calls on several devices alone: test_devices.py
    for seen, table in ((of_call, fields.PALLAS_CALL), (of_grid, fields.GRID_MAPPING), (of_block, fields.BLOCK_MAPPING)):
        assert {name for name, rule in table.items() if rule == fields.READ} - {"name_and_src_info", devices.CUTS} <= seen | {"transformed_block_aval"}


def test_a_field_of_a_newer_jax_is_refused():
    eqn = equation(call, X)
    with pytest.raises(tileproof.Unsupported, match="the field `swizzle` of pallas_call, which this importer does not know"):
        fields.check_call(types.SimpleNamespace(params={**eqn.params, "swizzle": None}), None)
    newer = dataclasses.make_dataclass("Buffered", [("buffer_count", int, 2), ("swizzle", int, 0)])
    with pytest.raises(tileproof.Unsupported, match="the field `swizzle` of Buffered"):
        fields.buffers(newer(), None)


REFUSED = {
    "compiler flags": (lambda x: call(x, compiler_params=pltpu.CompilerParams(flags={"xla_tpu_x": 1})), "compiler flags of its own"),
    "internal scratch": (lambda x: call(x, compiler_params=pltpu.CompilerParams(internal_scratch_in_bytes=1 << 22)), "share of VMEM"),
    "lookahead": (lambda x: call(x, mode=pl.Buffered(3, use_lookahead=True)), "looks ahead"),
    "three buffers": (lambda x: call(x, mode=pl.Buffered(3)), "3 buffers of a block of a pallas_call, which TPU lowering refuses"),
    "blocks in HBM": (lambda x: call(x, space=pltpu.HBM), "blocks of `x`, which stays in hbm"),
    "blocks in ANY": (lambda x: call(x, space=pl.ANY), "blocks of `x`, which stays in any"),
}


def test_another_chip():
    with pytest.raises(tileproof.Unsupported, match="for another chip"):
        fields.tpu_params({"compiler_params": types.SimpleNamespace(num_warps=4)})


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    fn, words = REFUSED[name]
    with pytest.raises(tileproof.Unsupported, match=words):
        tileproof.from_pallas(fn, X)


def test_neutral_fields_change_nothing():
    plain = tileproof.from_pallas(call, X)[0]
    params = pltpu.CompilerParams(has_side_effects=True, disable_bounds_checks=True, skip_device_barrier=True, flags={"XLA_TPU_FORCE_LP_LLO_SCHEDULER": False})
    rich = tileproof.from_pallas(lambda x: call(x, compiler_params=params, cost_estimate=pl.CostEstimate(1, 2, 3), debug=True, interpret=True,
                                                metadata={"a": "b"}), X)[0]
    assert {k: v for k, v in plain.items() if k != "x-python"} == {k: v for k, v in rich.items() if k != "x-python"}


def test_buffers_and_revisits_come_along():
    spec, = tileproof.from_pallas(lambda x: call(x, mode=pl.Buffered(1), out_mode=pl.Buffered(1, revisit=pl.RevisitMode.ANY)), X)
    assert spec["inputs"][0]["buffers"] == 1
    assert spec["outputs"][0]["buffers"] == 1 and spec["outputs"][0]["revisit"] == "any"


def test_a_window_that_is_returned_to():
    def returns(mode):
        def kernel(x_ref, o_ref):
            @pl.when(pl.program_id(0) < 2)
            def _():
                o_ref[...] = jnp.zeros_like(o_ref)

            o_ref[...] += x_ref[...]
        return lambda x: call(x, grid=(4,), block=((8, 128), lambda i: (i % 2, 0)), out=((8, 128), lambda i: (i % 2, 0)), out_mode=mode, body=kernel)

    assert "TP402" in {f.rule for f in tileproof.check(returns(None), X, target="none").of("violated")}
    assert tileproof.check(returns(pl.Buffered(1, revisit=pl.RevisitMode.ANY)), X, target="none").ok


def test_a_function_that_is_called_like_one_of_jnp():
    """jit names its equation: `remainder` of the user is not jnp.remainder."""
    @jax.jit
    def remainder(a, b):
        return a - b

    @jax.jit
    def floor_divide(a, b):
        return a * b + 1

    def body(x_ref, o_ref):
        i = jax.lax.broadcasted_iota(jnp.int32, (8, 128), 0)
        o_ref[...] = x_ref[...] * (remainder(i, 3) + floor_divide(i, 2) + i % 3 + i // 2).astype(jnp.float32)

    i = jnp.arange(16)[:, None] % 8
    assert tileproof.assert_equivalent(lambda x: call(x, body=body), lambda x: x * ((i - 3) + (i * 2 + 1) + i % 3 + i // 2), X) == 1
    text = "\n".join(tileproof.from_pallas(lambda x: call(x, body=body), X)[0]["kernel"])
    assert "% 3" in text and "// 2" in text


def test_parameters_of_primitives_are_listed():
    from tileproof.body import parameters

    eqn = types.SimpleNamespace(primitive=types.SimpleNamespace(name="roll"), params={"axis": 0, "wrap": False})
    with pytest.raises(tileproof.Unsupported, match="the parameter `wrap` of the primitive `roll`"):
        parameters.check(eqn, None)
    with pytest.raises(tileproof.Unsupported, match="the parameter `x` of the primitive `add`"):
        parameters.check(types.SimpleNamespace(primitive=types.SimpleNamespace(name="add"), params={"x": 1}), None)


def test_the_dtype_of_an_argmax():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + jax.lax.argmax(x_ref[...], 1, jnp.int16).astype(jnp.float32)[:, None]

    assert tileproof.assert_equivalent(lambda x: call(x, body=body), lambda x: x + jnp.argmax(x, 1)[:, None], X) == 1
