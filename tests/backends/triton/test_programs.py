"""A fixed dozen of programs in Triton's interpreter: results, bytes by tensor, flops, addresses; faults that the checks find."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.support.triton_process import MUTATIONS, ran
from tests.support.triton_programs import KINDS

TARGETS = {kind: ("a100", "h100")[number % 2] for number, kind in enumerate(KINDS)}
FOUND_BY = {"padding condition dropped": ("conv", 3), "rescaling dropped": ("attention", 1), "load visited twice": ("gemm", 0)}


@pytest.mark.parametrize("kind", KINDS)
def test_programs_of_every_kind(interpreter: ProcessPoolExecutor, kind: str) -> None:
    assert not interpreter.submit(ran, kind, 0, TARGETS[kind]).result().faults()


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_faults_of_the_renderer_are_found(interpreter: ProcessPoolExecutor, mutation: str) -> None:
    kind, seed = FOUND_BY[mutation]
    assert not interpreter.submit(ran, kind, seed, "a100").result().faults()
    assert interpreter.submit(ran, kind, seed, "a100", mutation).result().faults()
