"""Recording of ATen graphs: what is refused, extents at run time, constants, outputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.torch.equal import check
from tests.support.torch.tracing import outputs_of, traced
from tilewright.errors import UnsupportedOperation
from tilewright.frontend.torch.program import Computed, Given, Recording
from tilewright.graph.interpreter import evaluate


def placeholders(module):
    return [node.name for node in module.graph.nodes if node.op == "placeholder"]


def test_a_program_computes_what_torch_computes():
    x, w, b = torch.randn(4, 3), torch.randn(5, 3), torch.randn(5)
    module = traced(lambda x, w, b: torch.relu(torch.addmm(b, x, w.t())), x, w, b)
    recording = Recording.of(module, {}, "f")
    program = recording.program(outputs_of(module))
    values = dict(zip(placeholders(module), (x, w, b), strict=True))
    found = evaluate(
        program.graph, {name: values[given].numpy() for name, given in zip(program.graph.inputs, program.inputs, strict=True)}
    )
    expected = torch.relu(x @ w.t() + b)
    np.testing.assert_allclose(found[program.graph.outputs[0]], expected.numpy(), rtol=1e-5, atol=1e-6)


def test_frozen_placeholders_are_constants_whose_elements_can_be_replaced():
    x, w = torch.randn(4, 3), torch.randn(3, 5)
    module = traced(lambda x, w: x @ w, x, w)
    first, second = placeholders(module)
    program = Recording.of(module, {second: w}, "f").program(outputs_of(module))
    assert program.inputs == (first,)
    assert list(program.constants.values()) == [second]
    graph = program.with_constants({second: 2 * w.numpy()})
    found = evaluate(graph, {graph.inputs[0]: x.numpy()})[graph.outputs[0]]
    np.testing.assert_allclose(found, (2 * x @ w).numpy(), rtol=1e-5, atol=1e-6)


def test_what_has_no_lowering_is_refused_and_what_follows_is_tried():
    x = torch.randn(4, 3)
    module = traced(lambda x: torch.relu(torch.linalg.pinv(x)) + 1, x)
    recording = Recording.of(module, {}, "f")
    assert recording.refused
    assert all("relu" not in node.name and "add" not in node.name for node in recording.refused)
    with pytest.raises(UnsupportedOperation, match="a program that needs"):
        recording.program(outputs_of(module))


def test_outputs_have_memory_of_their_own():
    x = torch.randn(4)
    module = traced(lambda x: (y := x + 1, y.clone(), x, y), x)
    recording = Recording.of(module, {}, "f")
    first, copy, given, again = recording.program(outputs_of(module)).results
    assert isinstance(first, Computed)
    assert isinstance(copy, Computed)
    assert first.number != copy.number
    assert isinstance(given, Given)
    assert given.value == placeholders(module)[0]
    assert again is first


def test_extents_at_run_time_are_dimensions():
    module = traced(lambda x, y: torch.relu(x) + y, torch.randn(4, 3), torch.randn(4, 3), mode="symbolic")
    program = Recording.of(module, {}, "f").program(outputs_of(module))
    rows, columns = program.graph.tensor(program.graph.inputs[0]).shape
    assert str(rows) != str(columns)
    assert not isinstance(rows, int)


def test_numbers_that_follow_from_extents():
    def scaled(x):
        rows, columns = x.shape
        return x * (rows / columns), x / columns**0.5, x.half() * (2 / (rows / 3)), torch.nn.functional.pad(x, (rows, 0))

    check(scaled, torch.randn(5, 7), mode="symbolic")
