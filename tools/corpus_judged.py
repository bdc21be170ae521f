"""What was judged of the corpus, finding by finding: tools/corpus.py fails on
everything else. A judgement names the rule, the operand, the kernel, the line of
Python and the statement there, so that another accusation at the same kernel is
new. `right` needs a replay in the machine."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Known:
    rule: str
    operand: str
    kernel: str
    place: str  # file of its package, and line
    text: str  # how the statement begins, as tools/corpus.py writes it; empty: the finding is about the operand
    why: str
    evidence: str
    right: bool = True  # False: open

    def of(self, row, finding):
        """Is it about this finding? What is right was seen in the machine: by a replay of lint's, or in the execution of the call."""
        seen = finding["replay"] == "executed" or row["executed"].startswith(f"trap[{self.rule}]")
        return ((self.rule, self.operand, self.kernel, self.place) == (finding["rule"], finding["operand"], row["kernel"], finding["place"])
                and finding["text"].startswith(self.text) and bool(self.text) == bool(finding["text"]) and (seen or not self.right))


BLOCK = "tokamax/_src/pallas/block.py:323"  # where BlockRef.load() loads
_NORM = ("it takes a block of 256 of the 200 elements of `scale`, unmasked, and drops the lanes behind them: on a GPU other memory is read",
         "`normalization/pallas_triton.py:76`: `scale_ref.load(bounds_check=False)`")
_GLU = ("with rows or columns that no block divides it reads behind the last ones and stores none of them: on a GPU other memory is read",
        "`gated_linear_unit/pallas_triton.py:56-58`: `bounds_check=(False, True)` for `x`, `(True, False)` for both weights")

_SWA = "tpu_inference/kernels/experimental/deepseek_v4/core_attention/mla_swa.py"

KNOWN = [
    Known("TP101", "x5", "_flash_mla_kernel", "ejkernel/kernels/_pallas/tpu/flash_mla/_pallas_impl_fwd.py:408", "",
          "every head but the first reads its bias behind the end of an array that has one for all heads",
          "`deepseek_attn/_pallas_impl_fwd.py:74` makes the bias `sparse_mask[:, None, :, :]`; `bias_index_map` returns the number of the head"),
    *[Known("TP102", "scale", kernel, BLOCK, "v = scale[ds(0, 256), :]", *_NORM)
      for kernel in ("pallas_layer_norm", "pallas_rms_norm", "pallas_layer_norm_fwd_res", "pallas_rms_norm_fwd_res")],
    Known("TP102", "x", "pallas_glu_silu", BLOCK, "v = load(x[ds(32 * v, 32), ds(v, 32)]", *_GLU),
    Known("TP102", "weights", "pallas_glu_silu", BLOCK, "v = load(weights[ds(v, 32), 0, ds(64 * v, 64)]", *_GLU, right=False),  # the machine stops at `x`
    Known("TP102", "weights", "pallas_glu_silu", BLOCK, "v = load(weights[ds(v, 32), 1, ds(64 * v, 64)]", *_GLU, right=False),  # the machine stops at `x`
    Known("TP102", "a", "<unknown>", BLOCK, "v = a[ds(v, 32), ds(v, 32)]",
          "a group's last block reads the rows behind it, also behind the last row of all, and stores none of them: on a GPU other memory is read",
          "`ragged_dot/pallas_triton.py:82`: `bounds_check=(False, True)`; the rule is unknown, since groups are data, and the execution of this call traps"),
    Known("TP401", "out", "<unknown>", "tokamax/_src/pallas/block.py:341", "", "rows of no group are never written, and the groups are data",
          "`ragged_dot/pallas_triton.py:74`: the store is below `pl.when(start_m < hi)`, under the mask `< hi`; groups may add up to fewer rows"),
    *[Known("TP102", "out_window29", f"gmm_v{n}-g_4-m_256-k_256-act_None-n_128-tm_64-tk_128-tn_128", f"{file}:{line}", "v = out_window29[0, v // 8, :, :]",
            "where a group fills its tile, the row of tiles behind the last one is read, and not used: in VMEM other memory is read",
            f"`{file}:{line}`: `tiled_out_ref[last_row]` stands in a `jnp.where`, whose arms are both computed")
      for n, file, line in ((2, "maxtext/kernels/megablox/pallas_mosaic_tpu_v2_gmm_kernel.py", 621), (3, "ejkernel/kernels/_pallas/tpu/grouped_matmulv3/_pallas_impl.py", 580))],
    *[Known("TP504", kernel, kernel, f"tpu_inference/kernels/gdn/{file}:{line}", f"copy_start(state_hbm[ds({at}, 1), :, :, :], h_bufs[",
            "the state of the next block is fetched into a buffer whose own state, of the block before, may still be on its way out",
            f"`{file}:{line}` starts the copy into the other buffer, the wait for what left that buffer comes at the end of the step, line {wait}")
      for kernel, file, line, wait, at in (("decoding_gdn-bt_1", "v1/fused_gdn_decode_kernel.py", 209, 314, "state_indices[v + 0]"),
                                           ("decoding_gdn-bt_1", "v2/gdn_decode_kernel.py", 292, 397, "state_indices[v + 0]"),
                                           ("recurrent_gdn-bt_4096", "v1/fused_gdn_recurrent_kernel.py", 300, 412, "v"))],
    Known("TP404", "l_hbm", "SWA-m-bq_8-bkvp_2", f"{_SWA}:240", "copy_start(bl_x2[", "the lanes behind those of the heads are never written and go out; the caller drops them",
          "`mla_swa.py:742` stores the lanes `:num_q_heads` of 128, line 240 copies all of them"),
    Known("TP504", "chunked_prefill_attention_kernel", "chunked_prefill_attention_kernel", "ejkernel/kernels/_pallas/tpu/prefill_page_attention/_pallas_impl_fwd.py:227",
          "v = k_vmem_buffer[v, :, :, :]",
          "the copies of two chunks count on one semaphore, so that a wait for this chunk may end by bytes of the next one",
          "`_pallas_impl_fwd.py:341-345` starts the copies of the next chunk on `sem`, line 225 then waits for those of this one on `sem`, line 227 reads them"),
]


@dataclasses.dataclass(frozen=True)
class Open:
    """A case that cannot be traced, or a call in it that is not imported, and why that is so."""

    case: str
    says: str  # how the error or the obstacles begin
    why: str

    def of(self, case, said):
        return self.case == case and said.startswith(self.says)


OPEN = [
    Open("blockwise quantised matmul", "ValueError: Invalid dtype for `swap`", "the kernel stores int32 in a ref of bfloat16, which this JAX refuses"),
    Open("latent attention", "a copy through a reshape of `cache_kv_hbm`", "pages of bytes are copied through another shape"),
]
