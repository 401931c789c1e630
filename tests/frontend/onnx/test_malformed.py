"""Every model that means nothing gives one error that names the place; nothing crashes, hangs or takes much memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

import tilewright.onnx as ort
from tests.support.onnx_models import info, model, node
from tilewright.errors import DTypeError, InvalidModel, ShapeError, TilewrightError, UnsupportedOperation

X = np.ones((2, 3), np.float32)


def good() -> onnx.ModelProto:
    nodes = [node("Double", ["x"], ["a"]), node("ReshapeTo", ["a", "s"], ["y"])]
    return model(nodes, [info("x", [2, 3])], [info("y", [3, 2])], {"s": np.array([3, 2])})


def without_graph() -> onnx.ModelProto:
    proto = good()
    proto.ClearField("graph")
    return proto


def cycle() -> onnx.ModelProto:
    return model([node("Double", ["b"], ["a"]), node("Double", ["a"], ["b"])], [info("x", [2])], [info("b", None)])


def missing_tensor() -> onnx.ModelProto:
    return model([node("Double", ["nothing"], ["y"])], [info("x", [2])], [info("y", None)])


def missing_output() -> onnx.ModelProto:
    return model([node("Double", ["x"], ["y"])], [info("x", [2])], [info("z", None)])


def value_made_twice() -> onnx.ModelProto:
    return model([node("Double", ["x"], ["y"]), node("Double", ["x"], ["y"])], [info("x", [2])], [info("y", None)])


def two_inputs_of_one_name() -> onnx.ModelProto:
    return model([node("Double", ["x"], ["y"])], [info("x", [2]), info("x", [2])], [info("y", None)])


def two_initializers_of_one_name() -> onnx.ModelProto:
    proto = good()
    proto.graph.initializer.append(proto.graph.initializer[0])
    return proto


def wrong_shape() -> onnx.ModelProto:
    return model([node("ReshapeTo", ["x", "s"], ["y"])], [info("x", [2, 3])], [info("y", None)], {"s": np.array([5])})


def contents_too_short() -> onnx.ModelProto:
    proto = good()
    proto.graph.initializer[0].raw_data = b"\0" * 9
    return proto


def contents_of_another_field() -> onnx.ModelProto:
    proto = good()
    proto.graph.initializer[0].ClearField("raw_data")
    proto.graph.initializer[0].float_data.extend([1.0, 2.0])
    return proto


def negative_extent() -> onnx.ModelProto:
    proto = good()
    proto.graph.initializer[0].dims[:] = [-2]
    return proto


def enormous_tensor() -> onnx.ModelProto:
    proto = good()
    proto.graph.initializer[0].dims[:] = [1 << 40, 1 << 40]
    return proto


def enormous_extent_without_contents() -> onnx.ModelProto:
    proto = good()
    proto.graph.initializer[0].dims[:] = [1 << 35]
    return proto


def unknown_element_type() -> onnx.ModelProto:
    proto = good()
    proto.graph.initializer[0].data_type = 99
    return proto


def unknown_element_type_of_an_input() -> onnx.ModelProto:
    proto = good()
    proto.graph.input[0].type.tensor_type.elem_type = 77
    return proto


def missing_attribute() -> onnx.ModelProto:
    return model([helper.make_node("Concat", ["x", "x"], ["y"])], [info("x", [2])], [info("y", None)])


def missing_pattern() -> onnx.ModelProto:
    """ONNX's schema does not require the attribute, and gives a node without it no meaning."""
    return model([helper.make_node("RegexFullMatch", ["x"], ["y"])], [info("x", [2], TensorProto.STRING)], [info("y", None)])


def wrong_attribute_type() -> onnx.ModelProto:
    return model([helper.make_node("Concat", ["x", "x"], ["y"], axis="first")], [info("x", [2])], [info("y", None)])


def unknown_attribute() -> onnx.ModelProto:
    return model([helper.make_node("Gelu", ["x"], ["y"], colour=1)], [info("x", [2])], [info("y", None)])


def attribute_given_twice() -> onnx.ModelProto:
    proto = model([helper.make_node("Gelu", ["x"], ["y"], approximate="tanh")], [info("x", [2])], [info("y", None)])
    proto.graph.node[0].attribute.append(proto.graph.node[0].attribute[0])
    return proto


def attribute_without_type() -> onnx.ModelProto:
    proto = model([helper.make_node("Gelu", ["x"], ["y"])], [info("x", [2])], [info("y", None)])
    proto.graph.node[0].attribute.append(AttributeProto(name="approximate"))
    return proto


def too_many_operands() -> onnx.ModelProto:
    return model([helper.make_node("Gelu", ["x", "x"], ["y"])], [info("x", [2])], [info("y", None)])


def reference_outside_of_a_function() -> onnx.ModelProto:
    proto = model([helper.make_node("Gelu", ["x"], ["y"])], [info("x", [2])], [info("y", None)])
    proto.graph.node[0].attribute.append(AttributeProto(name="approximate", type=AttributeProto.STRING, ref_attr_name="a"))
    return proto


def function_that_calls_itself() -> onnx.ModelProto:
    call = helper.make_node("Again", ["a"], ["b"], domain="own")
    function = helper.make_function("own", "Again", ["a"], ["b"], [call], [helper.make_opsetid("own", 1)])
    proto = model(
        [helper.make_node("Again", ["x"], ["y"], domain="own")], [info("x", [2])], [info("y", None)], functions=[function]
    )
    proto.opset_import.append(helper.make_opsetid("own", 1))
    return proto


def functions_that_mean_billions_of_nodes() -> onnx.ModelProto:
    functions = []
    for level in range(12):
        inner, domain = (f"F{level - 1}", "own") if level else ("Double", "com.example")
        calls = [helper.make_node(inner, [f"v{i}"], [f"v{i + 1}"], domain=domain) for i in range(10)]
        opsets = [helper.make_opsetid("own", 1), helper.make_opsetid("com.example", 1)]
        functions.append(helper.make_function("own", f"F{level}", ["v0"], ["v10"], calls, opsets))
    proto = model([helper.make_node("F11", ["x"], ["y"], domain="own")], [info("x", [2])], [info("y", None)], functions=functions)
    proto.opset_import.append(helper.make_opsetid("own", 1))
    return proto


def external_data_without_a_file() -> onnx.ModelProto:
    proto = good()
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    return proto


INVALID: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "no graph": (without_graph, "no graph"),
    "a cycle": (cycle, "cycle"),
    "a missing tensor": (missing_tensor, "reads 'nothing', which nothing defines"),
    "a missing output": (missing_output, "reads 'z', which nothing defines"),
    "a value made twice": (value_made_twice, "two values are named 'y'"),
    "two inputs of one name": (two_inputs_of_one_name, "two values are named 'x'"),
    "two initializers of one name": (two_initializers_of_one_name, "two initializers are named 's'"),
    "a wrong shape": (wrong_shape, "ReshapeTo node"),
    "contents too short": (contents_too_short, "initializer 's'"),
    "contents of another field": (contents_of_another_field, "initializer 's'"),
    "a negative extent": (negative_extent, "negative extent"),
    "an enormous tensor": (enormous_tensor, "does not fit into memory"),
    "an enormous extent without contents": (enormous_extent_without_contents, "initializer 's'"),
    "an unknown element type": (unknown_element_type, "no element type 99"),
    "an unknown element type of an input": (unknown_element_type_of_an_input, "no element type 77"),
    "a missing attribute": (missing_attribute, "lacks the attribute 'axis'"),
    "a missing pattern": (missing_pattern, "RegexFullMatch lacks the attribute 'pattern'"),
    "a wrong attribute type": (wrong_attribute_type, "attribute 'axis' has the wrong type"),
    "an unknown attribute": (unknown_attribute, "has no attribute 'colour'"),
    "an attribute given twice": (attribute_given_twice, "given twice"),
    "an attribute without a type": (attribute_without_type, "has no type"),
    "too many operands": (too_many_operands, "2 inputs are wrong"),
    "a reference outside of a function": (reference_outside_of_a_function, "outside of one"),
    "a function that calls itself": (function_that_calls_itself, "calls itself"),
    "functions that mean billions of nodes": (functions_that_mean_billions_of_nodes, "more than"),
    "external data without a file": (external_data_without_a_file, "did not come from a file"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_models_say_where(name, monkeypatch):
    monkeypatch.setattr("tilewright.frontend.onnx.reading.MOST_NODES", 5_000)
    make, text = INVALID[name]
    with pytest.raises(InvalidModel, match=text) as caught:
        ort.InferenceSession(make().SerializeToString())
    assert caught.value.where


@pytest.mark.parametrize("length", [0, 1, 7, 50, 90])
def test_truncated_files(length):
    with pytest.raises(TilewrightError):
        ort.InferenceSession(good().SerializeToString()[:length])


def test_what_is_no_model(tmp_path):
    with pytest.raises(InvalidModel, match="no ONNX model"):
        ort.InferenceSession(b"this is no model")
    with pytest.raises(InvalidModel, match="cannot be read"):
        ort.InferenceSession(tmp_path / "nothing.onnx")
    with pytest.raises(TilewrightError, match="cannot be a int"):
        ort.InferenceSession(7)


def test_all_unknown_operators_are_listed_at_once():
    body = helper.make_graph([helper.make_node("Inner", ["x"], ["r"], domain="odd")], "b", [], [info("r", None)])
    nodes = [
        helper.make_node("Strange", ["x"], ["a"], domain="odd"),
        helper.make_node("NoSuchThing", ["a"], ["b"]),
        helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body),
    ]
    proto = model(nodes, [info("x", [2]), info("c", [], TensorProto.BOOL)], [info("y", None)])
    proto.opset_import.append(helper.make_opsetid("odd", 1))
    with pytest.raises(UnsupportedOperation, match=r"not known: NoSuchThing, odd\.Inner, odd\.Strange"):
        ort.InferenceSession(proto)


@pytest.mark.parametrize("operator", ["Adagrad", "Adam", "Gradient", "Momentum"])
def test_operators_of_training_are_refused_by_name(operator):
    operands = [info(name, [1]) for name in ("r", "x", "g")]
    node = helper.make_node(operator, ["r", "x", "g"], ["y"], domain="ai.onnx.preview.training", **TRAINING[operator])
    proto = model([node], operands, [info("y", None)])
    proto.opset_import.append(helper.make_opsetid("ai.onnx.preview.training", 1))
    with pytest.raises(UnsupportedOperation, match=rf"not known: ai\.onnx\.preview\.training\.{operator}") as caught:
        ort.InferenceSession(proto)
    assert "export the model for inference" in str(caught.value)


TRAINING: dict[str, dict[str, Any]] = {
    "Adagrad": {},
    "Adam": {},
    "Gradient": {"xs": ["x"], "y": "g"},
    "Momentum": {"alpha": 0.9, "beta": 1.0, "mode": "standard", "norm_coefficient": 0.0},
}


def external(tmp_path: Any, location: str, **entries: str) -> str:
    proto = external_data_without_a_file()
    tensor = proto.graph.initializer[0]
    tensor.external_data[0].value = location
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    path = tmp_path / "models" / "model.onnx"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(proto.SerializeToString())
    return str(path)


def test_external_data_beside_the_model(tmp_path):
    path = external(tmp_path, "data/weights.bin", offset="8", length="16")
    (tmp_path / "models/data").mkdir()
    (tmp_path / "models/data/weights.bin").write_bytes(b"\0" * 8 + np.array([3, 2]).tobytes())
    assert ort.InferenceSession(path).run(None, {"x": X})[0].shape == (3, 2)


REFUSED = {
    "outside": ("../secret.bin", {}, "is refused"),
    "absolute": ("/etc/passwd", {}, "is refused"),
    "nowhere": ("", {}, "is refused"),
    "missing": ("missing.bin", {}, "no file"),
    "a directory": (".", {}, "no file"),
    "a link": ("link.bin", {}, "a link leads out"),
    "too short": ("short.bin", {}, "too short"),
    "beyond": ("weights.bin", {"offset": "9"}, "too short"),
    "a negative offset": ("weights.bin", {"offset": "-1"}, "cannot be"),
    "an enormous offset": ("weights.bin", {"offset": "9" * 30}, "cannot be"),
    "another length": ("weights.bin", {"length": "8"}, "8 bytes of external data"),
    "no number": ("weights.bin", {"length": "many"}, "cannot be"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_external_data_that_is_refused(tmp_path, name):
    location, entries, text = REFUSED[name]
    path = external(tmp_path, location, **entries)
    (tmp_path / "secret.bin").write_bytes(b"\0" * 16)
    (tmp_path / "models/weights.bin").write_bytes(b"\0" * 16)
    (tmp_path / "models/short.bin").write_bytes(b"\0" * 15)
    os.symlink(tmp_path / "secret.bin", tmp_path / "models/link.bin")
    with pytest.raises(InvalidModel, match=text) as caught:
        ort.InferenceSession(path)
    assert caught.value.where == "initializer 's'"


def session() -> ort.InferenceSession:
    return ort.InferenceSession(good())


def test_wrong_feeds_name_the_input():
    with pytest.raises(TilewrightError, match="the input 'x' is missing"):
        session().run(None, {})
    with pytest.raises(TilewrightError, match="no input 'z'"):
        session().run(None, {"x": X, "z": X})
    with pytest.raises(DTypeError, match=r"the input 'x' has type tensor\(double\)"):
        session().run(None, {"x": X.astype("f8")})
    with pytest.raises(ShapeError, match=r"the input 'x' has shape \(3, 3\)"):
        session().run(None, {"x": np.ones((3, 3), np.float32)})
    with pytest.raises(ShapeError, match=r"the input 'x' has shape \(6,\)"):
        session().run(None, {"x": np.ones(6, np.float32)})
    with pytest.raises(TilewrightError, match="no output 'z'"):
        session().run(["z"], {"x": X})


ELEMENTS = [
    *("float16", "bfloat16", "float8_e4m3fn", "int4", "uint4", "float4_e2m1fn", "int8", "uint16", "bool", "complex64", "uint64")
]


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("raw", [True, False])
def test_tensors_of_every_type_are_read(name, raw):
    import ml_dtypes

    array = np.array([0, 1, 1, 0, 1]).astype(getattr(ml_dtypes, name, name))
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    values = numpy_helper.from_array(array).raw_data if raw else [*map(complex if name == "complex64" else float, array)]
    tensor = helper.make_tensor("w", kind, [5], values, raw=raw)
    proto = model([helper.make_node("Identity", ["w"], ["y"])], [], [info("y", None, kind)])
    proto.graph.initializer.append(tensor)
    (result,) = ort.InferenceSession(proto).run(None, {})
    assert result.dtype == array.dtype
    assert np.array_equal(result.astype("c8"), array.astype("c8"))


@pytest.mark.parametrize("places", [[1, 5], [[0, 1], [1, 2]]], ids=["flat", "by dimension"])
def test_sparse_initializers_are_read(places: list[Any]):
    values, indices = numpy_helper.from_array(np.array([5.0, 7.0], np.float32), "w"), numpy_helper.from_array(np.array(places))
    proto = model([helper.make_node("Identity", ["w"], ["y"])], [], [info("y", None)])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 3]))
    assert ort.InferenceSession(proto).run(None, {})[0].tolist() == [[0, 5, 0], [0, 0, 7]]
    proto.graph.sparse_initializer[0].dims[:] = [2, 2]
    with pytest.raises(InvalidModel, match="lies outside"):
        ort.InferenceSession(proto)
