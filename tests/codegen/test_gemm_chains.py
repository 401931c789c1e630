"""GEMM chains through lowering, emission and the C compiler, against float64."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.chains import artifact_of, attention_plan, gemm_chain, random_inputs
from tests.support.expected import gemm_chain64, gemm_chain_with_bound
from tests.support.guarded import GuardedMemory
from tilewright.artifact import Artifact
from tilewright.graph.types import SymbolicExtent
from tilewright.plan.types import Plan
from tilewright.runtime.executable import Executable, load

TARGETS = [
    pytest.param("x86-64-v2", marks=pytest.mark.needs("ssse3")),
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512f")),
]
MIDDLES = ("", "softmax", "relu")
SYMBOLS = {name: SymbolicExtent(name, 1, 4096, 64) for name in "bmkln"}
SIZES = st.sampled_from([1, 2, 3, 5, 8, 13, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 65, 97])


def ordered(artifact: Artifact, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    return [inputs[slot.name] for slot in artifact.signature.inputs]


def check(executable: Executable, plan: Plan, middle: str, inputs: dict[str, np.ndarray], out: np.ndarray) -> None:
    out[...] = np.nan
    executable.run(ordered(executable.origin.artifact, inputs), [out])
    exact, bound = gemm_chain_with_bound(inputs, middle)
    error = np.abs(out - exact)
    assert (error <= bound).all(), f"{plan.chain.name} {middle}: off by {error.max()}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("middle", MIDDLES)
def test_one_library_serves_every_size(target: str, middle: str) -> None:
    plan = attention_plan(target, middle, dict(SYMBOLS))
    executable = load(artifact_of([plan]), threads=2)

    @given(sizes=st.fixed_dictionaries({"b": st.integers(1, 3), "m": SIZES, "k": SIZES, "l": SIZES, "n": SIZES}), data=st.data())
    def every_size(sizes: dict[str, int], data: st.DataObject) -> None:
        inputs = random_inputs(plan.chain, sizes, seed=data.draw(st.integers(0, 9)))
        shape = tuple(sizes[axis] for axis in "bmn")
        check(executable, plan, middle, inputs, np.empty(shape, np.float32))

    every_size()


@pytest.mark.needs("avx2", "fma")
def test_any_strides_and_alignment() -> None:
    plan = attention_plan("x86-64-v3", "softmax", dict(SYMBOLS))
    executable = load(artifact_of([plan]), threads=1)
    sizes = {"b": 2, "m": 19, "k": 7, "l": 21, "n": 10}
    inputs = random_inputs(plan.chain, sizes)
    forms = (transposed, reversed_rows, every_second, unaligned)
    for form, name in product(forms, inputs):
        check(executable, plan, "softmax", {**inputs, name: form(inputs[name])}, np.empty((2, 19, 10), np.float32))
    for form in forms:
        check(executable, plan, "softmax", inputs, form(np.empty((2, 19, 10), np.float32)))


def transposed(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)


def reversed_rows(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array[..., ::-1, ::-1])[..., ::-1, ::-1]


def every_second(array: np.ndarray) -> np.ndarray:
    return np.repeat(array, 2, axis=-1)[..., ::2]


def unaligned(array: np.ndarray) -> np.ndarray:
    raw = np.empty(array.nbytes + 1, np.uint8)
    result = np.frombuffer(raw.data, np.float32, array.size, 1).reshape(array.shape)
    result[...] = array
    return result


def guarded(values: np.ndarray, *, at_end: bool) -> np.ndarray:
    """A copy that touches a page without permission."""
    memory = GuardedMemory(values.nbytes)
    result = memory.place(values.size, at_end=at_end).reshape(values.shape)
    result[...] = values
    return result


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_outside_the_arrays_is_touched(target: str) -> None:
    plan = attention_plan(target, "softmax", dict(SYMBOLS), row_tile=7)
    executable = load(artifact_of([plan]), threads=1)
    for at_end, extra in product((False, True), (0, 1, 5)):
        inputs = random_inputs(plan.chain, {"b": 2, "m": 13 + extra, "k": 9 + extra, "l": 33 + extra, "n": 18 + extra})
        protected = {name: guarded(value, at_end=at_end) for name, value in inputs.items()}
        out = guarded(np.zeros((2, 13 + extra, 18 + extra), np.float32), at_end=at_end)
        check(executable, plan, "softmax", protected, out)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("middle", MIDDLES)
def test_bits_do_not_depend_on_the_number_of_threads(middle: str) -> None:
    artifact = artifact_of([attention_plan("x86-64-v3", middle, dict(SYMBOLS))])
    chain = gemm_chain(SYMBOLS, batch=True, middle=middle)
    inputs = random_inputs(chain, {"b": 3, "m": 101, "k": 33, "l": 65, "n": 40})
    results = []
    for threads in (1, 2, 3, 5):
        out = np.full((3, 101, 40), np.nan, np.float32)
        load(artifact, threads=threads).run(ordered(artifact, inputs), [out])
        results.append(out.tobytes())
    assert len(set(results)) == 1


@pytest.mark.needs("avx2", "fma")
def test_static_edges_need_only_the_variants_that_occur() -> None:
    """Row and column edges of every width, each chain with extents of its own, in one library."""
    sizes = [(1, 1, 1, 1), (1, 17, 3, 8), (6, 16, 4, 16), (7, 15, 5, 17), (13, 33, 1, 31), (25, 8, 40, 9), (48, 64, 16, 48)]
    plans = []
    for number, (m, n, k, length) in enumerate(sizes):
        extents = {"b": 2, "m": m, "n": n, "k": k, "l": length}
        plans.append(attention_plan("x86-64-v3", "softmax", dict(extents), suffix=f"_{number}"))
    for plan in plans:
        executable = load(artifact_of([plan]), threads=1)
        out = np.empty([int(e) for e in plan.chain.tensor(plan.chain.output).shape], np.float32)  # type: ignore[arg-type]
        check(executable, plan, "softmax", random_inputs(plan.chain), out)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("zero", "bmkln")
def test_zero_size_arrays(zero: str) -> None:
    """Empty results stay empty; an empty sum is 0."""
    extents = {"b": 2, "m": 5, "k": 3, "l": 4, "n": 6} | {zero: 0}
    plan = attention_plan("x86-64-v3", "", dict(extents))
    out = np.full((extents["b"], extents["m"], extents["n"]), np.nan, np.float32)
    executable = load(artifact_of([plan]), threads=2)
    executable.run(ordered(executable.origin.artifact, random_inputs(plan.chain)), [out])
    np.testing.assert_array_equal(out, gemm_chain64(random_inputs(plan.chain)))


@pytest.mark.needs("avx2", "fma")
def test_softmax_of_extreme_scores() -> None:
    """Scores up to 1e4, columns and rows of -inf, and NaN: as the definition says."""
    plan = attention_plan("x86-64-v3", "softmax", dict(SYMBOLS))
    executable = load(artifact_of([plan]), threads=1)
    sizes = {"b": 1, "m": 12, "k": 1, "l": 37, "n": 5}
    inputs = random_inputs(plan.chain, sizes)
    inputs["A"][...] = 1.0
    inputs["A"][0, 1] = 1e4
    inputs["B"][0, 0, 3] = -np.inf
    inputs["A"][0, 2] = np.nan
    inputs["A"][0, 3] = -1e4
    inputs["B"][0, 0, 5] = 1.0
    out = np.empty((1, 12, 5), np.float32)
    with np.errstate(invalid="ignore"):
        executable.run(ordered(executable.origin.artifact, inputs), [out])
        expected = gemm_chain64(inputs, "softmax")
    np.testing.assert_allclose(out, expected, rtol=2e-5, atol=2e-6)
    assert np.isnan(out[0, 2]).all()
    assert np.isfinite(out[0, 1]).all()


@pytest.mark.needs("avx2", "fma")
def test_a_huge_batch_count() -> None:
    plan = attention_plan("x86-64-v3", "softmax", dict(SYMBOLS | {"b": SymbolicExtent("b", 1, 1 << 20, 64)}))
    executable = load(artifact_of([plan]), threads=2)
    inputs = random_inputs(plan.chain, {"b": 50_000, "m": 2, "k": 3, "l": 2, "n": 1})
    check(executable, plan, "softmax", inputs, np.empty((50_000, 2, 1), np.float32))
