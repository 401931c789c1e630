"""How a model falls apart into stages, and what they have in common with running every node by itself."""

import logging
import threading

import numpy as np
import pytest
from onnx import TensorProto, helper

import tilewright.onnx as ort
from tests.support.onnx_models import info, model, node
from tilewright.errors import ShapeError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def run(proto, **feeds):
    session = ort.InferenceSession(proto)
    return session, session.run(None, feeds)


def test_one_stage_without_numpy():
    session, (y,) = run(
        model([node("Double", ["x"], ["a"]), node("Double", ["a"], ["y"])], [info("x", [2, 3])], [info("y", None)]), x=X
    )
    assert np.array_equal(y, 4 * X)
    assert not session.numpy_operators


def test_a_node_in_the_middle_runs_as_numpy(caplog):
    nodes = [node("Double", ["x"], ["a"]), node("Triple", ["a"], ["b"]), node("Half", ["b"], ["c"]), node("Double", ["c"], ["y"])]
    with caplog.at_level(logging.WARNING, "tilewright.onnx"):
        session, (y, a) = run(model(nodes, [info("x", ["n", 3])], [info("y", None), info("a", None)]), x=X)
        session.run(None, {"x": X})
    assert np.array_equal(y, 6 * X)
    assert np.array_equal(a, 2 * X)
    assert sorted(session.numpy_operators) == ["Half", "Triple"]
    assert len([record for record in caplog.records if "Triple" in record.message]) == 1


def test_contents_of_an_input_decide_on_shapes():
    proto = model(
        [node("ReshapeTo", ["x", "s"], ["a"]), node("Double", ["a"], ["y"])],
        [info("x", None), info("s", [None], TensorProto.INT64)],
        [info("y", None)],
    )
    session = ort.InferenceSession(proto)
    for shape in ((3, 2), (6,), (1, 6, 1)):
        (y,) = session.run(None, {"x": X, "s": np.array(shape)})
        assert np.array_equal(y, (2 * X).reshape(shape))
    assert not session.numpy_operators


def test_contents_that_always_differ_run_as_numpy():
    proto = model(
        [node("ReshapeTo", ["x", "s"], ["a"]), node("Double", ["a"], ["y"])],
        [info("x", [None]), info("s", [2], TensorProto.INT64)],
        [info("y", None)],
    )
    session = ort.InferenceSession(proto)
    for columns in range(1, 24):
        x = np.arange(2 * columns, dtype=np.float32)
        assert np.array_equal(session.run(None, {"x": x, "s": np.array([2, columns])})[0], 2 * x.reshape(2, columns))
    assert "ReshapeTo" in session.numpy_operators


def test_computed_contents_begin_a_stage():
    nodes = [node("Triple", ["s"], ["t"]), node("ReshapeTo", ["x", "t"], ["a"]), node("Double", ["a"], ["y"])]
    _, (y,) = run(model(nodes, [info("x", [2, 3]), info("s", [1], TensorProto.INT64)], [info("y", None)]), x=X, s=np.array([2]))
    assert np.array_equal(y, (2 * X).reshape(6))


def test_shapes_are_known_at_import():
    nodes = [helper.make_node("Shape", ["x"], ["s"]), node("ReshapeTo", ["w", "s"], ["a"]), node("Double", ["a"], ["y"])]
    session, (y, s) = run(
        model(nodes, [info("x", [2, 3]), info("w", [6])], [info("y", None), info("s", None, TensorProto.INT64)]),
        x=X,
        w=X.reshape(6),
    )
    assert np.array_equal(y, 2 * X)
    assert s.tolist() == [2, 3]
    assert not session.numpy_operators


@pytest.mark.parametrize("to", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64])
@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "Less", "Equal", "Where"])
def test_numbers_of_extents_meet_fractions(operator, to):
    """Extents are whole numbers where a model is imported: what is cast to floats keeps its fractions."""
    dtype = helper.tensor_dtype_to_np_dtype(to)
    feeds = {"x": np.zeros((3, 5, 4), np.float32)}
    half = np.array([-0.625, 3.0, 7.75]).astype(dtype) + (to == TensorProto.INT64)
    extents = np.array([3, 5, 4], dtype)
    condition = np.array([True, False, True])
    references = {
        "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum,
        "Less": np.less, "Equal": np.equal, "Where": lambda a, b: np.where(condition, a, b),
        "Div": np.divide if to != TensorProto.INT64 else lambda a, b: np.trunc(a / b).astype(dtype),
        "Mod": np.fmod if to != TensorProto.INT64 else np.mod,
    }  # fmt: skip
    half = np.where(half == 0, 2, half).astype(dtype)
    attributes = {"fmod": 1} if operator == "Mod" and to != TensorProto.INT64 else {}
    operands = ["condition", "v", "half"] if operator == "Where" else ["v", "half"]
    proto = model(
        [
            helper.make_node("Shape", ["x"], ["s"]),
            helper.make_node("Cast", ["s"], ["v"], to=to),
            helper.make_node(operator, operands, ["y"], **attributes),
        ],
        [info("x", ["n", "m", 4])],
        [info("y", None, helper.np_dtype_to_tensor_dtype(references[operator](extents, half).dtype))],
        {"half": half, "condition": condition} if operator == "Where" else {"half": half},
    )
    _, (y,) = run(proto, **feeds)
    if (operator, to) == ("Div", TensorProto.FLOAT):  # a product with the reciprocal of a constant
        np.testing.assert_array_max_ulp(y, references[operator](extents, half), 1)
    else:
        assert np.array_equal(y, references[operator](extents, half))


@pytest.mark.parametrize("taken", [True, False])
def test_the_branch_that_is_taken_is_compiled(taken):
    branches = {
        name: helper.make_graph([node(operator, ["x"], ["r"])], name, [], [info("r", None)])
        for name, operator in (("then_branch", "Double"), ("else_branch", "Half"))
    }
    proto = model(
        [helper.make_node("If", ["c"], ["y"], **branches)],
        [info("x", [2, 3]), info("c", [], TensorProto.BOOL)],
        [info("y", None)],
    )
    session, (y,) = run(proto, x=X, c=np.array(taken))
    assert np.array_equal(y, X * 2 if taken else X / 2)
    assert ("Half" in session.numpy_operators) is not taken


def test_bodies_are_compiled_and_see_outer_values():
    body = helper.make_graph(
        [node("Double", ["v"], ["d"]), node("ReshapeTo", ["d", "s"], ["r"])], "b", [info("v", None)], [info("r", None)]
    )
    proto = model(
        [node("Repeat", ["x"], ["y"], times=3, body=body)],
        [info("x", [2, 3]), info("s", [2], TensorProto.INT64)],
        [info("y", None)],
    )
    session, (y,) = run(proto, x=X, s=np.array([2, 3]))
    assert np.array_equal(y, 8 * X)
    assert list(session.numpy_operators) == ["Repeat"]


def test_lengths_share_compilations():
    proto = model([node("Double", ["x"], ["y"])], [info("x", ["n", 3])], [info("y", ["n", 3])])
    session = ort.InferenceSession(proto)
    for length in range(1, 65):
        x = np.ones((length, 3), np.float32)
        assert np.array_equal(session.run(None, {"x": x})[0], 2 * x)
    assert session.compilation_count <= 5


def test_a_growing_cache_needs_few_compilations():
    nodes = [
        node("Double", ["new"], ["d"]),
        helper.make_node("Concat", ["past", "d"], ["all"], axis=0),
        node("Double", ["all"], ["y"]),
    ]
    proto = model(nodes, [info("past", ["p", 3]), info("new", [1, 3])], [info("y", None), info("all", None)])
    session = ort.InferenceSession(proto)
    past, new = np.zeros((2, 3), np.float32), np.ones((1, 3), np.float32)
    for step in range(20):
        y, past = session.run(None, {"past": past, "new": new})
        assert np.array_equal(y, 2 * past)
        assert past.shape == (step + 3, 3)
    assert session.compilation_count <= 4


def test_inputs_and_constants_may_be_outputs():
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Identity", ["w"], ["z"])]
    _, (y, z) = run(model(nodes, [info("x", [2, 3])], [info("y", None), info("z", None)], {"w": X}), x=X)
    assert np.array_equal(y, X)
    assert np.array_equal(z, X)
    assert not np.shares_memory(y, X)


def test_a_default_may_be_overridden():
    proto = model(
        [node("ReshapeTo", ["x", "s"], ["y"])],
        [info("x", [2, 3]), info("s", [1], TensorProto.INT64)],
        [info("y", None)],
        {"s": np.array([6])},
    )
    session = ort.InferenceSession(proto)
    assert [one.name for one in session.get_inputs()] == ["x"]
    assert [one.name for one in session.get_overridable_initializers()] == ["s"]
    assert session.run(None, {"x": X})[0].shape == (6,)
    assert session.run(None, {"x": X, "s": np.array([-1])})[0].shape == (6,)


def test_functions_of_the_model_are_inlined():
    function = helper.make_function(
        "own",
        "Quadruple",
        ["a"],
        ["b"],
        [node("Double", ["a"], ["t"]), node("Double", ["t"], ["b"])],
        [helper.make_opsetid("com.example", 1)],
    )
    proto = model(
        [helper.make_node("Quadruple", ["x"], ["t"], domain="own"), helper.make_node("Quadruple", ["t"], ["y"], domain="own")],
        [info("x", [2, 3])],
        [info("y", None)],
        functions=[function],
    )
    proto.opset_import.append(helper.make_opsetid("own", 1))
    _, (y,) = run(proto, x=X)
    assert np.array_equal(y, 16 * X)


def test_several_results_are_counted():
    proto = model([node("Parts", ["x"], ["a", "b"])], [info("x", [2, 3])], [info("b", None), info("a", None)])
    _, (b, a) = run(proto, x=X)
    assert np.array_equal(np.concatenate([a, b]), X)


def test_many_threads_share_a_session():
    session = ort.InferenceSession(model([node("Double", ["x"], ["y"])], [info("x", ["n", 3])], [info("y", None)]))
    results = {}

    def work(length):
        x = np.full((length, 3), length, np.float32)
        results[length] = session.run(None, {"x": x})[0]

    threads = [threading.Thread(target=work, args=(length,)) for length in (2, 3, 5, 9, 17, 30)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(np.array_equal(y, np.full((length, 3), 2 * length)) for length, y in results.items())
    assert len(results) == 6


def test_impossible_shapes_of_a_call_name_the_node():
    proto = model(
        [node("ReshapeTo", ["x", "s"], ["y"])], [info("x", ["n"]), info("s", [1], TensorProto.INT64)], [info("y", None)]
    )
    session = ort.InferenceSession(proto)
    with pytest.raises(ShapeError, match="ReshapeTo node"):
        session.run(None, {"x": np.ones(3, np.float32), "s": np.array([5])})
