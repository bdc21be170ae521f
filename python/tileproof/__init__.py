"""Check Pallas kernels with tileproof, from Python.

    import tileproof
    report = tileproof.verify(kernel, reference, x, y)      # x, y: arrays or jax.ShapeDtypeStruct
    assert report.ok, report                                # rules and equivalence
    tileproof.verify(kernel, reference, "f32[M,128]", "f32[M,128]", sizes={"M": 512})
    with tileproof.verifying({"matmul": jnp.matmul}): ...   # every pallas_call that is made in the block

    tileproof.check(kernel, x, y)                           # rules only
    tileproof.assert_safe(kernel, x, y)
    tileproof.assert_equivalent(kernel, reference, x, y)
    tileproof.assert_equivalent_at_sizes(kernel, reference, lambda M: (jax.ShapeDtypeStruct((M, 128), "float32"),), M=512)

    tileproof.sweep(kernel, (x, y), over={"bm": [64, 128], "bn": [128, 256]})   # legal shapes of blocks, best first in the model

    tileproof.assess(kernel, x, y, reference=reference)     # keep, experimental or drop; what XLA takes here, beside it

    kernel = tileproof.compile("matmul.tile.json", receipt="matmul.receipt.json")
    o = kernel(x, y)                            # executed here, on the memory of these arrays; out=o: to that of o

Every `pallas_call` that the function reaches by tracing is imported as a spec
and judged by the program `tileproof`: no TPU is needed. Sizes are those of the
arguments; tables of a scalar prefetch are fixed at what they hold in this call.
"""

from .api import Finding, Report, assert_equivalent, assert_safe, check, checked, from_pallas, generalise
from .assessing import Assessment, Timed, assess
from .costs import Cost, Shape, Sweep, cost, sweep
from .errors import NoPallasCall, NotExecuted, NotFound, TileproofError, Unsupported
from .everywhere import Used, assert_equivalent_at_sizes
from .library import Compiled, compile  # noqa: A004
from .verification import Tier, Verification, verify, verifying

__version__ = "0.1.0"
__all__ = [
    "Assessment", "Compiled", "Cost", "Finding", "NoPallasCall", "NotExecuted", "NotFound", "Report", "Shape", "Sweep", "Tier", "TileproofError", "Timed", "Unsupported", "Used",
    "Verification", "assert_equivalent", "assert_equivalent_at_sizes", "assert_safe", "assess", "check", "checked", "compile", "cost", "from_pallas", "generalise",
    "sweep", "verify", "verifying",
]
