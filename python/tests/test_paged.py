"""Paged attention as JAX ships it: pages named by a table are copied two blocks in turn; which buffer is next, and whether the first
copy is under way, lies in prefetched scalars that the body writes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention_kernel, quantization_utils
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import kernel as ragged_kernel

import kernels
import tileproof
from test_planted import changed
from tileproof.api import judged

LENGTHS, PAGES = jnp.array([13, 27], jnp.int32), jnp.array([[3, 1, 4, 2], [5, 9, 2, 6]], jnp.int32)


def paged(module=paged_attention_kernel, q_heads=8, kv_heads=1, dtype=jnp.float32, quantised=False, lengths=LENGTHS, **how):
    """The call as a function of its arrays, and these."""
    q = kernels.array(2, q_heads, 128).astype(dtype)
    k, v = (kernels.array(kv_heads, 10, 8, 128, seed=n).astype(dtype) for n in (1, 2))
    if quantised:
        k, v = (quantization_utils.QuantizedTensor(*quantization_utils.quantize_to_int8(x)) for x in (k, v))

    def fn(q, k, v, lengths, pages):
        return module.paged_attention(q, k, v, lengths, pages, pages_per_compute_block=2, **how)

    return fn, (q, k, v, lengths, PAGES)


def naive(q, k, v, lengths, pages):
    heads, groups = k.shape[0], q.shape[1] // k.shape[0]
    k, v = (jnp.repeat(x[:, pages].transpose(1, 0, 2, 3, 4).reshape(2, heads, 32, 128), groups, 1) for x in (k, v))
    s = jnp.where(jnp.arange(32)[None, None] < lengths[:, None, None], jnp.einsum("bhd,bhtd->bht", q, k), -jnp.inf)
    return jnp.einsum("bht,bhtd->bhd", jax.nn.softmax(s, -1), v)


WAYS = {
    "inline": {}, "steps for pages": {"inline_seq_dim": False}, "two heads of keys": {"q_heads": 16, "kv_heads": 2}, "groups of four": {"q_heads": 4},
    "bfloat16": {"dtype": jnp.bfloat16}, "int8 with scales": {"quantised": True}, "a soft cap": {"attn_logits_soft_cap": 2.0},
    "an empty sequence behind": {"lengths": jnp.array([13, 0], jnp.int32)},
}


@pytest.mark.parametrize("way", WAYS)
def test_it_is_imported_and_every_rule_is_proven_for_the_call(way):
    fn, args = paged(**WAYS[way])
    report = tileproof.check(fn, *args)
    assert report.ok and not report.of("unknown"), report


@pytest.mark.parametrize("way", ["inline", "steps for pages", "two heads of keys"])
def test_it_computes_what_the_interpreter_for_tpus_does(way):
    fn, args = paged(**WAYS[way])
    with pltpu.force_tpu_interpret_mode(pltpu.InterpretParams()):
        want = np.asarray(jax.jit(lambda *a: fn(*a))(*args))
    jax.clear_caches()
    assert tileproof.assert_equivalent(fn, lambda *_: want, *args, rtol=2e-5, atol=2e-5) == 1


def test_it_equals_the_naive_program():
    """The kernel rounds values to bfloat16 on their way to the product; these are no others."""
    fn, (q, k, v, *tables) = paged()
    k, v = (x.astype(jnp.bfloat16).astype(jnp.float32) for x in (k, v))
    report = tileproof.verify(fn, naive, q, k, v, *tables)
    assert report.ok, report


@pytest.mark.parametrize("mode", ["kv_head", "batch"])
def test_the_second_core_of_a_parallel_axis_has_scalars_of_its_own_or_none(mode):
    """On a chip with one core its steps come behind those of the first: "set this only if megacore is enabled, otherwise the kernel may hang"."""
    fn, args = paged(q_heads=16, kv_heads=2, megacore_mode=mode)
    found = [f for f in tileproof.check(fn, *args).of("violated") if f.rule == "TP404"]
    assert any("`init_flag` can reach a branch condition" in f.message for f in found)


def test_steps_for_pages_never_write_the_row_of_an_empty_sequence():
    """Which the caller has to leave out: JAX's kernel gives what the memory held."""
    fn, args = paged(inline_seq_dim=False, lengths=jnp.array([13, 0], jnp.int32))
    assert "TP401" in [f.rule for f in tileproof.check(fn, *args).of("violated")]


def test_a_prefetch_behind_the_last_sequence_is_found_by_execution(tmp_path):
    fn, args = paged(changed(paged_attention_kernel, tmp_path, "    @pl.when(next_b < batch_size)", "    @pl.when(next_b <= batch_size)")[0])
    assert tileproof.check(fn, *args).of("unknown")
    assert "trap[TP103]: entry 8 of dimension 0 of the table `page_indices`, which has 8" in str(tileproof.verify(fn, naive, *args))


DEFECTS = [
    ("      async_copy_next_k.start()\n", "", "TP502"), ("      async_copy_next_v.start()\n", "", "TP502"), ("      async_copy_k.start()\n", "", "TP502"),
    ("      buffer_index_ref[0] = next_buffer_index\n", "", "TP504"), ("jnp.where(buffer_index == 0, 1, 0)", "jnp.where(buffer_index == 0, 0, 1)", "TP504"),
    ("    init_flag_ref[0] = 0\n", "", "TP504"),
    ("    @pl.when(next_b < batch_size)", "    @pl.when(next_b + 1 < batch_size)", "TP502"), ("    for async_copy in self._async_copies:\n      async_copy.wait()\n", "", "TP504"),
    ("          next_b, next_h, next_i, next_buffer_index", "          next_b, next_h, next_i, buffer_index", "TP504"),
    ("    v = async_copy_v.wait_and_get_loaded()", "    v = v_vmem_buffer[buffer_index].reshape(-1, 128).astype(jnp.bfloat16)", "TP504"),
    ("self._vmem_buffer.at[i], self._sem\n", "self._vmem_buffer.at[0], self._sem\n", "TP504"), ("next_b, next_h, next_i = compute_block_indices(b, h, i + 1)", "next_b, next_h, next_i = compute_block_indices(b, h, i + 2)", "TP502"),
]


@pytest.mark.parametrize(("old", "new", "rule"), DEFECTS)
def test_a_defect_in_its_copies_is_found(tmp_path, old, new, rule):
    fn, args = paged(changed(paged_attention_kernel, tmp_path, old, new)[0])
    report = tileproof.check(fn, *args)
    assert rule in [f.rule for f in report.of("violated")], report


HELD = {"lengths": {"values": {"min": 1, "max": 32}}, "page_indices": {"values": {"min": 0, "max": 9}}, "buffer_index": {"contents": [0]}, "init_flag": {"contents": [1]}}


def of_any_tables(fn, args):
    """Lengths and pages of a call are any; the slot and the flag are what JAX's wrapper gives."""
    specs = tileproof.from_pallas(fn, *args, tables=False)
    for table in specs[0]["scalar_prefetch"]:
        table |= HELD[table["name"].removesuffix("_given")]
    return judged(specs, [])


@pytest.mark.parametrize("way", [way for way in WAYS if "empty" not in way])
def test_every_rule_is_proven_for_any_lengths_and_pages(way):
    report = of_any_tables(*paged(**WAYS[way]))
    assert report.ok and not report.of("unknown"), report


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize(("old", "new", "rule"), DEFECTS)
def test_a_defect_in_its_copies_is_not_proven_for_any_tables(tmp_path, old, new, rule, inline):
    report = of_any_tables(*paged(changed(paged_attention_kernel, tmp_path, old, new)[0], inline_seq_dim=inline))
    assert rule in [f.rule for f in report.of("violated", "unknown")], report


def carried(x, table, at=lambda i, t: (i, 0)):
    """A prefetched scalar counts the steps."""

    def kernel(count, x_ref, o_ref):
        o_ref[...] = x_ref[...] * count[0].astype(jnp.float32)
        count[0] = count[0] + 1

    rows = pl.BlockSpec((8, 128), at)
    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), in_specs=[rows], out_specs=pl.BlockSpec((8, 128), lambda i, t: (i, 0)))
    return pl.pallas_call(kernel, grid_spec=grid, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(table, x)


@pytest.mark.parametrize("dtype", [jnp.int32, jnp.int16])
def test_a_prefetched_scalar_that_the_body_writes(dtype):
    x, table = kernels.array(32, 128), jnp.array([3], dtype)
    fn = lambda x, t: carried(x, t)  # noqa: E731
    report = tileproof.verify(fn, lambda x, t: x * jnp.repeat(jnp.arange(3.0, 7.0), 8)[:, None], x, table)
    assert report.ok and not report.of("unknown"), report


def test_an_index_map_may_not_read_what_the_body_writes():
    with pytest.raises(tileproof.Unsupported, match="an index map reads the prefetched `count`, which the body writes.*pass two tables"):
        tileproof.from_pallas(lambda x, t: carried(x, t, lambda i, t: (t[0], 0)), kernels.array(32, 128), jnp.array([3], jnp.int32))


RAGGED = {"float32": {}, "bfloat16": {"dtype": jnp.bfloat16}, "a window and a soft cap": {"sliding_window": 5, "soft_cap": 3.0}}
ROWS = 13  # of both sequences; JAX's program says nothing of the others


def ragged(module=ragged_kernel, dtype=jnp.float32, **how):
    q, pages = kernels.array(16, 4, 128).astype(dtype), kernels.array(10, 8, 2, 128, seed=1).astype(dtype)
    table = jnp.concatenate([PAGES, jnp.zeros((1, 4), jnp.int32)])
    tables = jnp.array([13, 27, 0], jnp.int32), table, jnp.array([0, 5, ROWS, ROWS], jnp.int32), jnp.array([2], jnp.int32)
    return lambda *a: module.ragged_paged_attention(*a, num_kv_pages_per_block=2, num_queries_per_block=8, **how), (q, pages, *tables)


@pytest.mark.parametrize("way", RAGGED)
def test_ragged_paged_attention_is_proven_for_the_call_and_computes_what_jax_says(way):
    """No interpreter of jax 0.10.2 runs it."""
    fn, args = ragged(**RAGGED[way])
    report = tileproof.check(fn, *args)
    assert report.ok and not report.of("unknown"), report
    want = ragged_kernel.ref_ragged_paged_attention(*args, **{key: value for key, value in RAGGED[way].items() if key != "dtype"})
    near = 3e-2 if way == "bfloat16" else 1e-5
    assert tileproof.assert_equivalent(lambda *a: fn(*a)[:ROWS], lambda *_: want, *args, rtol=near, atol=near) == 1


def test_three_sequences_that_fill_the_tables_are_proven():
    """More than what the walk over the body can follow at 200 million comparisons."""
    q, pages = kernels.array(16, 8, 128), kernels.array(12, 8, 4, 128, seed=1)
    tables = jnp.array([18, 9, 20], jnp.int32), jnp.array([[3, 1, 4], [5, 9, 2], [6, 7, 8]], jnp.int32), jnp.array([0, 5, 6, 15], jnp.int32), jnp.array([3], jnp.int32)
    report = tileproof.check(lambda *a: ragged_kernel.ragged_paged_attention(*a, num_kv_pages_per_block=2, num_queries_per_block=8), q, pages, *tables)
    assert report.ok and not report.of("unknown"), report


RAGGED_DEFECTS = [
    ("        next_async_copy_kv.start()\n", "        pass\n", "TP502"), ("          heads_blk_idx, cur_seq_idx, kv_blk_idx, cur_buf_idx\n      )\n      kv_ref", "          heads_blk_idx, cur_seq_idx, kv_blk_idx, 0\n      )\n      kv_ref", "TP504"),
    ("  @pl.when(heads_blk_idx + q_blk_idx == 0)", "  @pl.when(heads_blk_idx + q_blk_idx == 1)", "TP502"), ("  seq_buf_idx_ref[1] = buf_idx\n", "", "TP504"),
    ("      @pl.when(next_heads_blk_idx < num_heads_blks)", "      @pl.when(next_heads_blk_idx <= num_heads_blks)", None),
    ("    for async_copy in self._async_copies:\n      async_copy.wait()\n", "", "TP504"),
]


@pytest.mark.parametrize(("old", "new", "rule"), RAGGED_DEFECTS)
def test_a_defect_in_the_copies_of_ragged_attention_is_found(tmp_path, old, new, rule):
    fn, args = ragged(changed(ragged_kernel, tmp_path, old, new)[0])
    report = tileproof.check(fn, *args)
    assert rule in [f.rule for f in report.of("violated")] if rule else report.of("unknown"), report


# What the wrapper of JAX's kernel asks of its tables (`dynamic_validate_inputs`), and that each row of q belongs to a sequence.
RAGGED_HELD = {
    "kv_lens": {"values": {"min": 1, "max": 32}}, "page_indices": {"values": {"min": 0, "max": 9}}, "num_seqs": {"values": {"min": 1, "max": 3}},
    "cu_q_lens": {"values": {"min": 0, "max": 16}, "sorted": True}, "seq_buf_idx": {"contents": [0, 0]},
}
RAGGED_CONTRACTS = [
    {"id": "C1", "fact": "cu_q_lens[0] == 0"}, {"id": "C2", "fact": "forall s < 3: cu_q_lens[s + 1] - cu_q_lens[s] <= kv_lens[s]"},
    {"id": "C3", "fact": "forall s < 3: cu_q_lens[s] < cu_q_lens[s + 1]"}, {"id": "C4", "fact": "cu_q_lens[num_seqs[0]] == 16"},
]


def ragged_of_any_tables(contracts, module=ragged_kernel):
    fn, args = ragged(module)
    specs = tileproof.from_pallas(fn, *args, tables=False)
    for table in specs[0]["scalar_prefetch"]:
        table |= RAGGED_HELD[table["name"].removesuffix("_given")]
    specs[0]["contracts"] = contracts
    return judged(specs, [])


def test_ragged_paged_attention_is_proven_for_any_tables():
    """Which sequence is next SMEM keeps, and a loop that ends by a flag. What rows of scratch the sequences of a step wrote stays unknown."""
    report = ragged_of_any_tables(RAGGED_CONTRACTS)
    assert not report.of("violated"), report
    assert {f.rule for f in report.of("unknown")} <= {"TP404"} and len(report.of("unknown")) <= 3, report
    assert {f.rule for f in report.of("proven")} >= {"TP102", "TP103", "TP502", "TP504"} and all(f.reason for f in report.of("unknown")), report


RAGGED_DEFECTS_OF_ANY_TABLES = [
    ("        next_async_copy_kv.start()\n", "        pass\n"), ("  seq_buf_idx_ref[1] = buf_idx\n", ""),
    ("    for async_copy in self._async_copies:\n      async_copy.wait()\n", ""),
    ("      @pl.when(next_heads_blk_idx < num_heads_blks)", "      @pl.when(next_heads_blk_idx <= num_heads_blks)"),
    ("  @pl.when(heads_blk_idx + q_blk_idx == 0)", "  @pl.when(heads_blk_idx + q_blk_idx <= 1)"),
]


@pytest.mark.parametrize(("old", "new"), RAGGED_DEFECTS_OF_ANY_TABLES)
def test_a_defect_in_the_copies_of_ragged_attention_is_not_proven_for_any_tables(tmp_path, old, new):
    report = ragged_of_any_tables(RAGGED_CONTRACTS, changed(ragged_kernel, tmp_path, old, new)[0])
    assert {f.rule for f in report.of("violated", "unknown")} & {"TP502", "TP504"}, report


@pytest.mark.parametrize(("without", "proven"), [("C3", set()), ("C4", {"TP502", "TP504"})])
def test_the_copies_of_ragged_attention_rest_on_sequences_that_are_not_empty(without, proven):
    """Where the last one ends does not matter to them: by hand, all 456,960 tables of few lengths agree."""
    report = ragged_of_any_tables([c for c in RAGGED_CONTRACTS if c["id"] != without])
    assert {f.rule for f in report.of("proven")} & {"TP502", "TP504"} == proven, report


def test_a_sequence_too_far_is_not_proven_for_any_tables(tmp_path):
    old = "next_seq_idx = lax.select(q_end <= q_len_end, cur_seq_idx + 1, cur_seq_idx)"
    report = ragged_of_any_tables(RAGGED_CONTRACTS, changed(ragged_kernel, tmp_path, old, old.replace("+ 1", "+ 2"))[0])
    assert {f.rule for f in report.of("violated", "unknown")} & {"TP102", "TP103", "TP502"}, report


def test_rows_of_no_sequence_are_what_scratch_held():
    """The rows behind the last sequence, of which JAX's program says nothing."""
    found = ragged_of_any_tables(RAGGED_CONTRACTS[:3]).of("violated")
    assert [f.rule for f in found] == ["TP404"] and "`acc` can reach output `o`" in found[0].message, found
