"""The dialects of x86, each with every compiler, for tests of what all dialects have."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.kernel_build import COMPILERS, command
from tilewright.kernels import dialect_for

FEATURES = ({"avx512f", "avx512dq"}, {"avx2", "fma"}, {"avx"}, set())
DIALECTS = tuple(dialect_for("x86_64", frozenset(names)) for names in FEATURES)

every_dialect = pytest.mark.parametrize(
    ("dialect", "compiler"),
    [
        pytest.param(
            dialect,
            compiler,
            marks=[
                pytest.mark.needs(*sorted(dialect.features)),
                pytest.mark.skipif(command(compiler) is None, reason=f"{compiler} is missing"),
            ],
            id=f"{dialect.name}-{compiler}",
        )
        for dialect, compiler in product(DIALECTS, COMPILERS)
    ],
)
