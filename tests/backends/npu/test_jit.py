"""`tw.jit(f, target="ascend910")`: results and reports of the simulator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw
from tilewright.backends.npu_simulator.program import Program
from tilewright.errors import TilewrightError
from tilewright.plan.reasons import Unplannable

RANDOM = np.random.default_rng(0)


def half(*shape: int) -> np.ndarray:
    return (RANDOM.standard_normal(shape) * 0.3).astype(np.float16)


def gemm_chain(a, b, d):
    return (a @ b) @ d


def attention(a, b, d):
    return tw.softmax(a @ b, axis=-1) @ d


def causal(a, b, d):
    rows, columns = tw.arange(a.shape[0])[:, None], tw.arange(b.shape[1])
    return tw.softmax(tw.where(columns <= rows, a @ b, np.float16(-1e4)), axis=-1) @ d


def mlp(x, first, bias, second, other):
    return tw.gelu(x @ first + bias) @ second + other


CASES: tuple[tuple[Callable[..., object], tuple[np.ndarray, ...], int], ...] = (
    (gemm_chain, (half(65, 40), half(40, 90), half(90, 48)), 1),
    (attention, (half(2, 33, 16), half(2, 16, 50), half(2, 50, 24)), 1),
    (causal, (half(40, 16), half(16, 50), half(50, 24)), 1),
    (mlp, (half(50, 64), half(64, 96), half(96), half(96, 32), half(32)), 1),
    (lambda x: tw.softmax(x * 2, axis=-1), (half(40, 70),), 1),
    (lambda x, y: (x @ y).T, (half(20, 30), half(30, 40)), 1),
    (lambda x, y: (x @ y).transpose(1, 2, 0), (half(3, 20, 30), half(3, 30, 40)), 1),
    (lambda x, y: x.reshape(50, 4, 16).transpose(1, 0, 2) @ y, (half(50, 64), half(4, 16, 8)), 1),
    (lambda x, y: x @ y + (x @ y).T, (half(20, 30), half(30, 20)), 2),
    (lambda x, y: x @ y, (half(40, 80)[::2, ::2], half(40, 50)[:, ::-1]), 1),
    (lambda x, y: x @ y, (half(40), half(40)), 1),
    (lambda x: x @ x, (half(37, 37),), 1),
    (lambda x: tw.softmax(x @ x.T, axis=-1) @ x, (half(49, 20),), 1),
    (lambda x: (x * 2).sum(), (half(5, 70),), 1),
)


@pytest.mark.parametrize(("function", "arguments", "launches"), CASES)
def test_results_are_those_of_the_interpreter(
    function: Callable[..., object], arguments: tuple[np.ndarray, ...], launches: int
) -> None:
    jitted = tw.jit(function, target="ascend910")
    found, wanted = np.asarray(jitted(*arguments)), np.asarray(jitted(*arguments, interpret=True)).astype(np.float64)
    assert np.linalg.norm(found.astype(np.float64) - wanted) < 1e-3 * np.linalg.norm(wanted)
    assert found.dtype == np.float16
    report = jitted.kernels[0].report()
    assert len(report.launches) == launches
    assert sum(one.way("UB>memory") for one in report.launches) == launches * found.nbytes
    assert str(report).count("us predicted") == launches


def test_a_chain_that_is_cut_passes_through_memory() -> None:
    arguments = (half(64, 32), half(32, 64), half(64, 32))
    jitted = tw.jit(gemm_chain, target="ascend910", fuse=False)
    jitted(*arguments)
    report = jitted.kernels[0].report()
    assert [one.way("UB>memory") for one in report.launches] == [64 * 64 * 2, 64 * 32 * 2]
    assert report.predicted_seconds > 2 * 5e-6


def test_artifacts_are_data() -> None:
    lowered = tw.jit(gemm_chain, target="ascend910").lower(
        *(tw.spec(shape, "float16") for shape in ((64, 32), (32, 64), (64, 32)))
    )
    text = lowered.source
    assert "transfer" in text
    assert Program.of(text).text() == text
    kernel = lowered.compile()
    with pytest.raises(TilewrightError, match="nothing was counted yet"):
        kernel.report()


def test_every_time_in_an_explanation_is_predicted() -> None:
    lowered = tw.jit(gemm_chain, target="ascend910").lower(
        *(tw.spec(shape, "float16") for shape in ((64, 32), (32, 64), (64, 32)))
    )
    text = lowered.explain()
    assert "npu_mad" in text
    assert text.count("us predicted") > 3


def test_what_cannot_run_is_one_clear_error() -> None:
    floats = np.ones((8, 8), np.float32)
    with pytest.raises(Unplannable, match="multiplies float32") as caught:
        tw.jit(lambda x, y: x @ y, target="ascend910")(floats, floats)
    assert "astype('float16')" in caught.value.hint
    with pytest.raises(Unplannable, match="no kernel") as caught:
        tw.jit(lambda x, y: x @ y, target="ascend910")(half(0, 8), half(8, 8))
    assert "m is empty" in caught.value.why
    with pytest.raises(TilewrightError, match="nothing counts what this kernel does"):
        tw.jit(lambda x: x * 2).lower(tw.spec((3,))).compile().report()


def transformer_block(x, q, k, v, o, first, second):
    """One of 48 positions, 64 channels, 4 heads."""
    heads = [(x @ w).reshape(48, 4, 16).transpose(1, 0, 2) for w in (q, k, v)]
    mixed = tw.softmax(heads[0] @ heads[1].transpose(0, 2, 1) * 0.25, axis=-1) @ heads[2]
    y = mixed.transpose(1, 0, 2).reshape(48, 64) @ o + x
    return tw.gelu(y @ first) @ second + y


def test_a_transformer_block_has_attention_as_one_kernel_and_its_mlp_as_another() -> None:
    arguments = (half(48, 64), *(half(64, 64) for _ in range(4)), half(64, 256), half(256, 64))
    jitted = tw.jit(transformer_block, target="ascend910")
    found, wanted = jitted(*arguments), np.asarray(jitted(*arguments, interpret=True)).astype(np.float64)
    assert np.linalg.norm(found.astype(np.float64) - wanted) < 1e-3 * np.linalg.norm(wanted)
    names = [launch.name for launch in jitted.kernels[0].report().launches]
    assert len(names) == 6
    assert sum("softmax" in name and name.count("matmul") == 2 for name in names) == 1
    assert sum("gelu" in name and name.count("matmul") == 2 for name in names) == 1


@pytest.mark.parametrize(("side", "kernels"), [(1024, 1), (2048, 1), (4096, 2), (8192, 2)])
def test_prices_fuse_small_chains_and_cut_large_ones(side: int, kernels: int) -> None:
    """Figure 7: the gain crosses 1 between 2048 and 4096 rows."""
    shapes = (side, side // 8), (side // 8, side), (side, side // 8)
    lowered = tw.jit(gemm_chain, target="ascend910").lower(*(tw.spec(shape, "float16") for shape in shapes))
    assert len(lowered.model_plan.plans) == kernels
