"""The AVX-512 dialect: 16 lanes, 32 registers, masks in mask registers."""

from __future__ import annotations

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.vector_functions import horner
from tilewright.kernels.dialects.vocabulary import vector_dialect

TEXTS = CTexts(__file__)


# 2^floor(x) * 2^(x - floor(x)), where one instruction gives x - floor(x), 0 for -inf, and tw_scale takes the floor itself: two
# steps less than EXP2_DOWN in general, and a polynomial for 0 to 1. Its largest relative error is 1.4e-7.
EXP2_DOWN = f"""\
$n = tw_fraction($x);
{horner("e", "n", (0.00186712993, 0.00901703071, 0.0557999052, 0.240164489, 0.693151295, 1.0))}\
$x = tw_scale($e, $x);
"""

FEATURES = frozenset({"avx512f", "avx512dq"})
DIALECT = vector_dialect("avx512", 512, 32, FEATURES, "x86_64", TEXTS["instructions"], exp2_down=EXP2_DOWN)
