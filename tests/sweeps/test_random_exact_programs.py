"""Thousands of programs of casts and of positions: `pytest -m sweep -s tests/sweeps/test_random_exact_programs.py`.

Seeds begin at TILEWRIGHT_SWEEP_SEED, for TILEWRIGHT_SWEEP_COUNT programs; of failures the smallest programs are printed.
"""

from __future__ import annotations

import pytest

from tests.support.sweeps import run_module, seeds


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["casts", "positions"])
def test_rewritten_programs_keep_every_bit(kind: str) -> None:
    told = run_module("tests.support.random.exact", seeds(4000), "--kind", kind)
    print(f"\n{told}")
    assert told.endswith(" 0 failures\n")


@pytest.mark.sweep
@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("kind", ["casts", "positions"])
@pytest.mark.parametrize("target", ["x86-64-v2", pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma"))])
def test_compiled_programs_keep_every_bit(kind: str, target: str) -> None:
    told = run_module("tests.support.random.exact", seeds(1000), "--kind", kind, "--target", target)
    print(f"\n{told}")
    assert told.endswith(" 0 failures\n")
