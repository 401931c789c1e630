"""`explain` shows the names that a model's file gives, of equal layers those of each."""

from __future__ import annotations

import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tilewright.onnx import InferenceSession

FIRST = ("encoder.0/k", "encoder.0/slower", "encoder.0/by")
SECOND = ("encoder.1/k by 64", "alone", "m")
"""Names with words of sentences, and with those of axes."""


def layers(*names: tuple[str, str, str], outputs: bool = True) -> onnx.ModelProto:
    """Equal layers (product, sum, tanh); the result of each is an output, so that no two are fused."""
    nodes, constants, results, value = [], [], [], "x"
    for number, (product, total, activation) in enumerate(names):
        constants += [
            numpy_helper.from_array(np.full(shape, 0.1, np.float32), f"{kind}{number}")
            for kind, shape in (("w", (64, 64)), ("b", (64,)))
        ]
        nodes += [
            helper.make_node("MatMul", [value, f"w{number}"], [f"p{number}"], name=product),
            helper.make_node("Add", [f"p{number}", f"b{number}"], [f"s{number}"], name=total),
            helper.make_node("Tanh", [f"s{number}"], [f"layer.{number}/out"], name=activation),
        ]
        value = f"layer.{number}/out"
        results.append(value)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [512, 64]) for name in ("x", *results)]
    graph = helper.make_graph(nodes, "two", infos[:1], infos[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def explained(model: onnx.ModelProto) -> str:
    return InferenceSession(model, target="zen4", prepare=False).explain()


def test_the_second_of_two_equal_layers_is_explained_in_its_names() -> None:
    text = explained(layers(FIRST, SECOND))
    first, second = re.split(r"\n(?=\S+ on zen4)", text)[1:]
    assert first.count("encoder.1") == second.count("encoder.0") == 0
    assert "layer.1/out[m,n] = tanh(" in second
    assert "for encoder.1/k by 64: " in second, "a reason against another micro kernel"
    assert "encoder.1/k by 64: traffic into L1" in second
    renamed = second.replace(SECOND[0], FIRST[0]).replace("layer.1/out", "layer.0/out").replace("w1", "w0").replace("b1", "b0")
    assert "edges and rate" in renamed
    assert "every operator alone: " in renamed
    assert "layer.0/out: cannot be fused (unfused " in text
    assert "it is an output of the graph" in text


def test_names_of_layers_change_no_figure_and_no_sentence() -> None:
    """Names of equal length, so that columns and line ends are the same."""
    plain = tuple("node.0/" + kind for kind in "abc")
    words = tuple("node.0/" + kind for kind in "kmn")
    one, other = (explained(layers(names)) for names in (plain, words))
    for old, new in zip(plain, words, strict=True):
        one = one.replace(old, new)
    assert one == other


def test_a_name_that_is_given_twice_gets_a_number() -> None:
    text = explained(layers(("same", "same", "same"), ("same", "same", "same")))
    assert "for same: " in text
    assert "for same@2: " in text or "for same@3: " in text


def test_nodes_without_names_are_called_by_what_they_do() -> None:
    text = explained(layers(("", "", ""), ("", "", "")))
    assert "for matmul: " in text
    assert "for matmul_2: " in text


def test_no_text_has_a_canonical_number() -> None:
    text = explained(layers(FIRST, SECOND, ("", "", ""), ("q", "r", "s")))
    assert not re.search(r"%(a|t|op)\d", text)


def test_tensors_of_algorithms_have_no_name_of_the_file() -> None:
    """Reshape and Transpose leave no operator: algorithms of the convolution take the names that become free."""
    shapes = {"w": (32, 32, 3, 3), "v": (32, 32), "u": (32, 32)}
    constants = [numpy_helper.from_array(np.full(shape, 0.1, np.float32), name) for name, shape in shapes.items()]
    constants.append(numpy_helper.from_array(np.array([0, -1, 4, 8]), "heads"))
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["image"], pads=[1] * 4),
        helper.make_node("MatMul", ["rows", "v"], ["product"]),
        helper.make_node("Reshape", ["product", "heads"], ["reshaped"]),
        helper.make_node("Transpose", ["reshaped"], ["permuted"], perm=[0, 2, 1, 3]),
        helper.make_node("Softmax", ["permuted"], ["probabilities"], axis=-1),
    ]
    given = {"x": [1, 32, 16, 16], "rows": [1, 64, 32], "image": [1, 32, 16, 16], "probabilities": [1, 4, 64, 8]}
    x, rows, *results = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in given.items())
    graph = helper.make_graph(nodes, "both", [x, rows], results, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    text = InferenceSession(model, target="x86-64-v3", prepare=False).explain(full=True)
    assert "reshaped" not in text
    assert "permuted" not in text
    assert re.search(r" image(\[|: )", text)
