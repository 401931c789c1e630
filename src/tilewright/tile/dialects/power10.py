"""VSX of POWER10: 128 bits in C's operators, with multiply-adds, and the accumulators of MMA: 4 x 4 floats."""

from __future__ import annotations

from tilewright.tile.dialects import operators
from tilewright.tile.dialects.description import Dialect, Entry
from tilewright.tile.operations import Operation

TABLE = {
    **operators.table(),
    (Operation.FMA, "float32"): Entry("{fma}({0}, {1}, {2})", "xvmaddasp", "", 6),
    (Operation.FMA, "float64"): Entry("{fma}({0}, {1}, {2})", "xvmaddadp", "", 6),
    ("tile zero",): Entry("__builtin_mma_xxsetaccz(&{0})", "xxsetaccz", "", 4),
    ("tile outer", "float32"): Entry("__builtin_mma_xvf32gerpp(&{0}, {1}, {2})", "xvf32gerpp", "", 8),
}
DIALECT = Dialect("power10", "ppc64le", frozenset({"mma"}), 128, 64, register_tiles=8, table=TABLE)
