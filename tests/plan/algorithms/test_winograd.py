"""Winograd: where it applies, how far results are from exact sums, and that nobody gets it who did not ask for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

import tilewright as tw
import tilewright.onnx as ort
from tests.oracles.winograd_errors import error_constant
from tests.plan.algorithms.test_algorithms import CASES, computed, convolved, names
from tests.support.algorithms import computed_by, forced
from tests.support.onnx_models import info, model
from tests.support.recipes import made_of
from tilewright import compiler
from tilewright.backends.c_cpu import BACKEND
from tilewright.errors import NotFiniteError
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import Layouts, convolution
from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify
from tilewright.machine import Machine
from tilewright.plan.algorithms.winograd.tiles import F2, F2_ROWS, F4
from tilewright.plan.algorithms.winograd.toom_cook import toom_cook
from tilewright.plan.decisions.long_sums import additions
from tilewright.plan.planner import forget_plans
from tilewright.plan.reasons import OtherAlgorithm
from tilewright.precision import Precision

ALGORITHMS = {F2: 2, F2_ROWS: 2, F4: 4}
"""With the side of their tiles."""
NAMES = [algorithm.name for algorithm in ALGORITHMS]
APPLIES = {"padded", "dilated", "one point", "groups", "a volume", "an empty batch"}
"""Of the cases of all algorithms."""
SAME = {"pads": (1, 1, 1, 1)}


@pytest.mark.parametrize("name", CASES)
def test_filters_of_three_by_three_neighbours(name: str) -> None:
    shapes, attributes, _ = CASES[name]
    found = [name for name in names(convolved(*shapes, **attributes)) if name in NAMES]
    assert found == (NAMES if name in APPLIES else [])


@pytest.mark.parametrize(
    ("shapes", "attributes"),
    [
        (((1, 8, 9, 9), (4, 8, 3, 3)), {**SAME, "strides": (1, 2)}),
        (((1, 8, 9, 9), (4, 8, 3, 3)), {"pads": (5,) * 4, "dilations": (5, 5)}),
        (((1, 8, 9, 9), (4, 8, 3, 2)), SAME),
        (((1, 8, 9, 9), (8, 1, 3, 3)), {**SAME, "group": 8}),
        (((1, 1, 9, 9), (8, 1, 3, 3)), SAME),
        (((1, 8, 9, 9), (4, 8, 3, 3)), {**SAME, "dtype": "int32"}),
        (((1, 8, 9), (4, 8, 3)), {"pads": (1, 1)}),
        (((1, 8, 4, 9, 9), (4, 8, 3, 3, 3)), {"pads": (1,) * 6, "strides": (1, 2, 1)}),
    ],
    ids=["steps", "short phases", "two taps", "by channel", "one channel", "integers", "one dimension", "a volume with steps"],
)
def test_an_assumption_fails(shapes: tuple[tuple[int, ...], tuple[int, ...]], attributes: dict[str, Any]) -> None:
    assert not set(NAMES) & set(names(convolved(*shapes, **attributes)))


def limits(x: np.ndarray, w: np.ndarray, pads: tuple[int, ...], outputs: int, terms: int) -> np.ndarray:
    """c u |d|_max |w|_1 for every result of a convolution without groups: the bound of `error_constant`."""
    c = float(error_constant(toom_cook(outputs), additions(terms))) * 2.0**-24
    height, width = (x.shape[2 + d] + pads[d] + pads[2 + d] - 2 for d in range(2))
    padded = np.pad(np.abs(x), ((0, 0), (0, 0), (pads[0], pads[2] + outputs), (pads[1], pads[3] + outputs)))
    largest = np.zeros((x.shape[0], 1, height, width))
    for i in range(0, height, outputs):
        for j in range(0, width, outputs):
            tile = padded[:, :, i : i + outputs + 2, j : j + outputs + 2].max((1, 2, 3))
            largest[:, 0, i : i + outputs, j : j + outputs] = tile[:, None, None]
    return c * largest * np.abs(w).sum((1, 2, 3))[None, :, None, None]


def check(graph: Graph, x: np.ndarray, w: np.ndarray, pads: tuple[int, ...]) -> None:
    """All of them, as they are expanded and with index changes folded, against exact sums."""
    with np.errstate(all="ignore"):
        (exact,) = evaluate(graph, {"x": x, "w": w}, dtype="float64").values()
    for algorithm, outputs in ALGORITHMS.items():
        for by_it in computed(graph, algorithm):
            verify(by_it)
            (found,) = evaluate(by_it, {"x": x, "w": w}).values()
            assert found.dtype == np.float32
            assert (np.abs(found - exact) <= limits(x, w, pads, outputs, x.shape[1])).all()


@given(st.data())
def test_errors_stay_within_the_bound(data: st.DataObject) -> None:
    """Of images of any size with any borders, and with outliers of 10^3 to 10^8."""
    batch, channels, filters = (data.draw(st.integers(low, high)) for low, high in ((1, 2), (2, 9), (2, 9)))
    pads = data.draw(st.tuples(*[st.integers(0, 2)] * 4))
    size = data.draw(st.tuples(*[st.integers(3, 11)] * 2))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, w = (random.standard_normal(shape).astype(np.float32) for shape in ((batch, channels, *size), (filters, channels, 3, 3)))
    place = tuple(random.integers(0, extent) for extent in x.shape)
    x[place] *= np.float32(10.0 ** data.draw(st.sampled_from([0, 3, 4, 6, 8])))
    check(convolved(x.shape, w.shape, pads=pads), x, w, pads)


@pytest.mark.parametrize("image", [(0, 3, 1, 2), (3, 0, 2, 1)], ids=["channels last", "channels first of all"])
def test_any_layout(image: tuple[int, ...]) -> None:
    """Of the image, the filters and the result: dimension d of N C H W lies at place image[d]."""
    random, builder = np.random.default_rng(0), Builder("layouts")
    shape, taps = (2, 5, 9, 6), (4, 5, 3, 3)
    x = builder.input("x", [shape[image.index(place)] for place in range(4)], "float32")
    w = builder.input("w", [taps[image.index(place)] for place in range(4)], "float32")
    window, layouts = window_of(shape[2:], taps[2:], where="Conv", **SAME), Layouts(image, image, image)
    graph = builder.graph((builder.record(convolution, x, w, window, 1, layouts, kind="conv").name,))
    inputs = {name: random.standard_normal(graph.tensor(name).shape).astype(np.float32) for name in "xw"}
    (exact,) = evaluate(graph, inputs, dtype="float64").values()
    assert set(NAMES) <= set(names(graph))
    for algorithm in ALGORITHMS:
        for by_it in computed(graph, algorithm):
            (found,) = evaluate(by_it, inputs).values()
            np.testing.assert_allclose(found, exact, atol=1e-4)


@pytest.mark.parametrize(
    "graph",
    [
        convolved((2, 12, 7, 10), (6, 4, 3, 3), group=3, **SAME),
        convolved((1, 4, 5, 6, 7), (4, 2, 3, 3, 3), pads=(1, 1, 0, 1, 1, 2), strides=(2, 1, 1), group=2),
        convolved((2, 3, 4, 5, 4), (4, 3, 2, 3, 3), pads=(1, 1, 1, 1, 1, 1), dilations=(2, 1, 1)),
        convolved((2, 4, 13, 12), (3, 4, 3, 3), pads=(2, 1, 3, 0), dilations=(3, 2)),
        convolved((1, 4, 3, 12, 9), (6, 2, 2, 3, 3), pads=(0, 2, 1, 1, 2, 1), dilations=(1, 2, 1), group=2),
    ],
    ids=["groups", "groups of a volume, with steps", "a volume, dilated", "phases", "phases of groups of a volume"],
)
def test_groups_and_volumes(graph: Graph) -> None:
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(graph.tensor(name).shape).astype(np.float32) for name in "xw")
    (exact,) = evaluate(graph, {"x": x, "w": w}, dtype="float64").values()
    for algorithm in ALGORITHMS:
        for by_it in computed(graph, algorithm):
            (found,) = evaluate(by_it, {"x": x, "w": w}).values()
            np.testing.assert_allclose(found, exact, atol=1e-4)


def test_small_integers_are_exact_with_tiles_of_two() -> None:
    """B and A have 0, 1 and -1 alone, and G halves."""
    random = np.random.default_rng(0)
    graph = convolved((1, 5, 6, 9), (3, 5, 3, 3), **SAME)
    inputs = {name: random.integers(-8, 9, graph.tensor(name).shape).astype(np.float32) for name in "xw"}
    (exact,) = evaluate(graph, inputs).values()
    (found,) = evaluate(computed_by(graph, NAMES[0]), inputs).values()
    np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_values_spread_over_their_tiles_alone(name: str, special: float) -> None:
    """The reason for `Licence.RANGE`: sums of nine taps would keep them to nine results."""
    random = np.random.default_rng(0)
    graph = convolved((1, 3, 12, 12), (2, 3, 3, 3), **SAME)
    inputs = {name: random.standard_normal(graph.tensor(name).shape).astype(np.float32) for name in "xw"}
    by_it = computed_by(graph, name)
    outputs = {algorithm.name: outputs for algorithm, outputs in ALGORITHMS.items()}[name]
    with np.errstate(invalid="ignore"):
        (plain,) = evaluate(by_it, inputs).values()
        inputs["x"][0, 1, 5, 6] = special
        (found,) = evaluate(by_it, inputs).values()
    reached = np.zeros((12, 12), bool)
    for i in range(0, 12, outputs):
        for j in range(0, 12, outputs):
            reached[i : i + outputs, j : j + outputs] = i <= 5 + 1 < i + outputs + 2 and j <= 6 + 1 < j + outputs + 2
    assert not np.isfinite(found[:, :, reached]).any()
    np.testing.assert_array_equal(found[:, :, ~reached], plain[:, :, ~reached])


def layer(batch: Any = 1, *, is_constant: bool = True) -> Graph:
    """relu(conv(x, w) + bias) of a shape for which Winograd has the least price."""
    random, builder = np.random.default_rng(0), Builder("layer")
    x = builder.input("x", (batch, 64, 30, 31), "float32")
    taps = (random.standard_normal((64, 64, 3, 3)) / 24).astype(np.float32)
    w = builder.constant(taps) if is_constant else builder.input("w", taps.shape, "float32")
    window = window_of(x.shape[2:], w.shape[2:], where="Conv", **SAME)
    y = builder.record(convolution, x, w, window, 1, kind="conv")
    y = builder.map("add", y, builder.constant(random.standard_normal((1, 64, 1, 1)).astype(np.float32)))
    return builder.graph((builder.map("relu", y).name,))


def is_winograd(graph: Graph, precision: Precision) -> bool:
    plans = compiler.plan(graph, Machine.named("zen4"), precision=precision).plans
    lost = {one.alternative.algorithm for plan in plans for one in plan.rejected if isinstance(one.alternative, OtherAlgorithm)}
    allowed = {algorithm.name for algorithm in ALGORITHMS if precision.allows(algorithm.precision)}
    assert not (lost & set(NAMES)) - allowed
    return sum(operator.is_contraction() for plan in plans for operator in plan.chain.operators) > 1


def test_it_is_chosen_by_whoever_allows_it() -> None:
    assert [precision for precision in BACKEND.precisions if not is_winograd(layer(), precision)] == [Precision.STRICT]


def test_tiles_of_four_are_asked_for() -> None:
    applied = {precision: set(names(layer(), precision)) & set(NAMES) for precision in BACKEND.precisions}
    small = {NAMES[0], NAMES[1]}
    assert applied == {Precision.STRICT: set(), Precision.FLOAT32: small, Precision.FAST: set(NAMES), Precision.BF16: small}


@pytest.mark.parametrize("around", [None, "relu", "sigmoid"])
def test_results_that_are_not_finite_are_computed_again(around: str | None) -> None:
    """NaN and infinities stand where sums over the taps have them, bit for bit, and what follows does not hide them."""
    random = np.random.default_rng(0)
    w, image = (random.standard_normal(shape).astype(np.float32) for shape in ((9, 6, 3, 3), (2, 6, 13, 10)))

    def layer(x: Any) -> Any:
        y = tw.conv2d(x, w, padding=1)
        return y if around is None else getattr(tw, around)(y)

    with forced(NAMES[0]):
        kernel = tw.jit(layer).lower(image).compile()
    strict = tw.jit(layer, precision="strict")
    for special in (np.nan, np.inf, -np.inf, 3e38, 1e-45):
        x = image.copy()
        x[0, 1, 5, 6], x[1, 0, 0, 9] = special, special
        with np.errstate(all="ignore"):
            exact, found = strict(x), kernel(x)
        if abs(special) > 1e30 or np.isnan(special):
            np.testing.assert_array_equal(found, exact, f"{special}")
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-4, err_msg=f"{special}")
        x[...] = 1.0
        np.testing.assert_allclose(kernel(x), strict(x), atol=1e-4, err_msg=f"{special}")


def test_a_library_without_its_graph_refuses_what_it_cannot_know() -> None:
    graph = computed_by(layer(), NAMES[0])
    executable = compiler.build(compiler.plan(graph, Machine.detect()), threads=2)
    assert executable.origin.artifact.reports_not_finite
    values = {"x": np.full((1, 64, 30, 31), np.inf, np.float32)} | made_of(executable.origin.artifact.recipe, graph.constants)
    given = [values[slot.name] for slot in executable.signature.inputs]
    out = executable.new_outputs(given)
    for call in (executable.run, lambda *arrays: executable.run_repeatedly(2, *arrays), executable.profile):
        with pytest.raises(NotFiniteError, match='precision="strict"'):
            call(given, out)


def test_a_model_is_computed_again_as_a_whole(tmp_path: Path) -> None:
    """Two convolutions: the second one sees what the first one would have spread."""
    random = np.random.default_rng(0)
    w, v, x = (random.standard_normal(shape).astype(np.float32) for shape in ((8, 4, 3, 3), (4, 8, 3, 3), (1, 4, 12, 12)))
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["y"], ["r"]),
        helper.make_node("Conv", ["r", "v"], ["z"], pads=[1, 1, 1, 1]),
    ]
    proto = model(nodes, [info("x", [1, 4, 12, 12])], [info("z", None)], {"w": w, "v": v})
    x[0, 2, 3, 3] = np.inf
    (exact,) = ort.InferenceSession(proto, precision="strict").run(None, {"x": x})
    with forced(NAMES[0]):
        session = ort.InferenceSession(proto)
    (found,) = session.run(None, {"x": x})
    np.testing.assert_array_equal(found, exact)
    assert np.isfinite(found).any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_constant", [True, False])
def test_generated_code(name: str, is_constant: bool) -> None:
    graph = computed_by(layer(is_constant=is_constant), name)
    random = np.random.default_rng(1)
    inputs = [random.standard_normal(graph.tensor(given).shape).astype(np.float32) for given in graph.inputs]
    if not is_constant:
        inputs[1] /= 24
    (exact,) = evaluate(layer(is_constant=is_constant), dict(zip(graph.inputs, inputs, strict=True)), dtype="float64").values()
    executable = compiler.build(compiler.plan(graph, Machine.detect()), threads=1)
    values = dict(zip(graph.inputs, inputs, strict=True)) | made_of(executable.origin.artifact.recipe, graph.constants)
    given = [values[slot.name] for slot in executable.signature.inputs]
    out = executable.new_outputs(given)
    executable.run(given, out)
    np.testing.assert_allclose(out[0], exact, atol=2e-5)


def test_batches_that_are_known_at_run_time() -> None:
    graph = layer(SymbolicExtent("s0", 1, 64, 4))
    inputs = {"x": np.random.default_rng(1).standard_normal((3, 64, 30, 31)).astype(np.float32)}
    (exact,) = evaluate(graph, inputs, dtype="float64").values()
    for algorithm in ALGORITHMS:
        (found,) = evaluate(computed_by(graph, algorithm.name), inputs).values()
        np.testing.assert_allclose(found, exact, atol=2e-5)


@pytest.mark.parametrize("verify", ["0", "1"])
def test_a_session_computes_it_from_its_cache_too(verify: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrices are in the recipe of the constants, the filters are not."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_VERIFY", verify)
    random = np.random.default_rng(0)
    w, x = (random.standard_normal(shape).astype(np.float32) for shape in ((40, 24, 3, 3), (1, 24, 28, 28)))
    conv = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    proto = model([conv], [info("x", [1, 24, 28, 28])], [info("y", None)], {"w": w})
    results = []
    for _ in range(2):
        session = ort.InferenceSession(proto, precision="fast")
        results += session.run(None, {"x": x})
        forget_plans()
    (exact,) = ort.InferenceSession(proto, precision="strict").run(None, {"x": x})
    np.testing.assert_array_equal(results[0], results[1])
    assert 0 < np.abs(results[0] - exact).max() < 1e-5 * np.abs(exact).max()


def test_what_lost_is_told_of_the_operator() -> None:
    """Its name is that of the product, which an expansion of many sums has among them."""
    plans = compiler.plan(layer(), Machine.named("zen4"), precision=Precision.FAST).plans
    lost = {one.alternative.algorithm for plan in plans for one in plan.rejected if isinstance(one.alternative, OtherAlgorithm)}
    assert "im2col" in lost
    assert len(set(NAMES) & lost) == len(NAMES) - 1
