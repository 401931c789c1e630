"""Kernels and libraries made ahead of calls: what `prepare` compiles, and dimensions that options fix."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tilewright as tw
import tilewright.onnx as ort
from tests.support.onnx_models import info, model
from tilewright.api import ahead
from tilewright.api.ahead import prepare_all
from tilewright.errors import ShapeError, TilewrightError

Array = Any
WEIGHTS = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def rows(count: int, columns: int = 4) -> Array:
    return np.random.default_rng(count).standard_normal((count, columns)).astype(np.float32)


def two_inputs(**denotations: str) -> Any:
    """out = a + b, of dimensions that are called batch and length."""
    proto = model(
        [helper.make_node("Add", ["a", "b"], ["out"])],
        [info(name, ["batch", "length"]) for name in "ab"],
        [info("out", ["batch", "length"])],
    )
    for value in proto.graph.input:
        for dimension in value.type.tensor_type.shape.dim:
            dimension.denotation = denotations.get(dimension.dim_param, "")
    return proto


def test_calls_after_preparation_compile_nothing_and_have_the_same_bits() -> None:
    prepared, learned = (tw.jit(lambda x: tw.softmax(x @ WEIGHTS, axis=-1), threads=1) for _ in range(2))
    prepared.prepare(tw.spec((tw.Dim("rows", 1, 300), 4)))
    kernels = prepared.kernels
    assert len(kernels) == 1
    for count in (31, 17, 200, 300, 1, 2):
        found = prepared(rows(count))
        learned(rows(count))
        assert np.array_equal(found, learned(rows(count))) or count == 31  # the first call of a function that learns
        assert found.tobytes() == prepared(rows(count)).tobytes()
    assert prepared.kernels == kernels


def test_all_kernels_of_a_range_are_made() -> None:
    function = tw.jit(lambda x: x * 2 if x.shape[0] > 16 else x * 3)
    function.prepare(tw.spec((tw.Dim("n", 1, 100),)))
    kernels = function.kernels
    assert len(kernels) == 2
    for count in (1, 16, 17, 100):
        factor = 2 if count > 16 else 3
        assert np.array_equal(function(np.ones(count, np.float32)), np.full(count, factor, np.float32))
    assert function.kernels == kernels


def test_equal_names_are_one_dimension() -> None:
    function = tw.jit(lambda x, y: x.T @ y)
    n = tw.Dim("n", 1, 50)
    function.prepare(tw.spec((n, 3)), tw.spec((n, 5)))
    assert len(function.kernels) == 1
    assert function(rows(7, 3), rows(7, 5)).shape == (3, 5)
    assert len(function.kernels) == 1


def test_fixed_shapes_are_prepared_too() -> None:
    function = tw.jit(lambda x: x + 1)
    function.prepare(tw.spec((3, 4)))
    (kernel,) = function.kernels
    assert np.array_equal(function(np.zeros((3, 4), np.float32)), np.ones((3, 4), np.float32))
    assert function.kernels == (kernel,)


def test_ranges_whose_values_are_specialised_are_refused(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "MOST_PREPARED", 3)
    function = tw.jit(lambda x: x * float(sum(range(x.shape[0]))))
    with caplog.at_level(logging.INFO, "tilewright"), pytest.raises(ShapeError, match="more than 3 kernels"):
        function.prepare(tw.spec((tw.Dim("n", 1, 500),)))
    assert function(np.ones(3, np.float32)).tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("values", [range(0), range(1, 10, 2), range(-2, 3)])
def test_ranges_without_neighbouring_extents_are_refused(values: range) -> None:
    with pytest.raises(ShapeError, match=r"dimension 'n' cannot have the values .*\n.*\n  hint: give a range of neighbouring"):
        prepare_all({"n": values}, lambda _: None)


@pytest.mark.parametrize("cuts", [(), (5,), (1, 2, 3), (40, 41, 99)])
def test_every_piece_of_a_range_is_met(cuts: tuple[int, ...]) -> None:
    """Against the literal walk over all values."""
    pieces = [str(number) for number in range(len(cuts) + 1)]

    def piece(values: Any) -> str:
        return pieces[sum(values["n"] >= cut for cut in cuts)]

    met = set()
    prepare_all({"n": range(100)}, lambda values: met.add(piece(values)) or piece(values))
    assert met == {piece({"n": n}) for n in range(100)}


def test_sessions_prepare_ranges() -> None:
    session = ort.InferenceSession(two_inputs())
    assert session.compilation_count == 0
    session.prepare(batch=range(1, 9), length=range(1, 65))
    compiled = session.compilation_count
    for batch, length in ((8, 64), (3, 1), (2, 17)):
        (out,) = session.run(None, {"a": rows(batch, length), "b": rows(batch, length)})
        assert np.array_equal(out, 2 * rows(batch, length))
    assert session.compilation_count == compiled


def test_a_session_prepares_shapes_of_inputs() -> None:
    session = ort.InferenceSession(two_inputs())
    session.prepare(a=(3, 4), b=(3, 4))
    assert session.compilation_count == 1


def test_what_is_missing_is_named() -> None:
    session = ort.InferenceSession(two_inputs())
    with pytest.raises(ShapeError, match=r"the shape of 'a' is not known\n  where: prepare"):
        session.prepare(batch=3)
    with pytest.raises(ShapeError, match=r"no dimension 'lenght'\n  where: prepare\n  why: .*its dimensions batch, length"):
        session.prepare(batch=3, lenght=4)


def test_dimensions_that_options_fix_are_compiled_when_the_session_is_made() -> None:
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("batch", 2)
    options.add_free_dimension_override_by_name("length", 3)
    session = ort.InferenceSession(two_inputs(), options)
    assert session.compilation_count == 1
    assert [value.shape for value in (*session.get_inputs(), *session.get_outputs())] == [[2, 3]] * 3
    assert np.array_equal(session.run(None, {"a": rows(2, 3), "b": rows(2, 3)})[0], 2 * rows(2, 3))
    with pytest.raises(ShapeError, match=r"'a' has shape \(4, 3\)\n  where: run\n  why: the model declares \(2, 3\)"):
        session.run(None, {"a": rows(4, 3), "b": rows(4, 3)})


def test_a_name_counts_before_a_denotation() -> None:
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_denotation("DATA_BATCH", 7)
    options.add_free_dimension_override_by_denotation("TIME", 9)
    options.add_free_dimension_override_by_name("length", 3)
    session = ort.InferenceSession(two_inputs(batch="DATA_BATCH", length="TIME"), options)
    assert session.get_inputs()[0].shape == [7, 3]


@pytest.mark.parametrize("value", [-1, True, 2.0, "4"])
def test_extents_that_are_none_are_refused(value: Any) -> None:
    with pytest.raises(TilewrightError, match="the dimension 'batch' cannot have the extent"):
        ort.SessionOptions().add_free_dimension_override_by_name("batch", value)


def test_values_beside_multiples_are_prepared_too() -> None:
    function = tw.jit(lambda x: x.reshape(-1, 4).sum(axis=1) if x.shape[0] % 4 == 0 else x * 3)
    function.prepare(tw.spec((tw.Dim("n", 4, 12),)))
    kernels = set(function.kernels)
    for count in range(4, 13):
        function(np.ones(count, np.float32))
    assert set(function.kernels) == kernels


def test_what_is_specialised_has_no_ranges() -> None:
    with pytest.raises(TilewrightError, match=r"dimensions cannot vary\n  where: prepare\n  why: dynamic=False"):
        tw.jit(lambda x: x * 2, dynamic=False).prepare(tw.spec((tw.Dim("n", 1, 9),)))


def test_arguments_that_vary_with_a_dimension_join_it() -> None:
    function = tw.jit(lambda x, y: x + y)
    function.prepare(tw.spec((tw.Dim("n", 1, 64), 4)), np.ones((1, 4), np.float32))
    for count in (3, 7, 9, 12, 31):
        function(rows(count), rows(count))
    assert len(function.kernels) <= 4
