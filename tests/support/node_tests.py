"""ONNX's own tests of single operators, run without an importer: reference implementations, interpreter and generated code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx

from tests.conformance.cases import DRAWN, cases
from tilewright import compiler
from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import Definition, definition
from tilewright.graph.builders.builder import Builder, NotKnown
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, Tensor
from tilewright.graph.verifier import verify
from tilewright.machine import Machine
from tilewright.plan.supported import obstacle


@dataclass(frozen=True, slots=True, eq=False)
class NodeTest:
    """One node, its operands (None where left out), and what should come out (None for results that nobody wants)."""

    name: str
    definition: Definition
    attributes: dict[str, Any]
    operands: tuple[Any, ...]
    expected: tuple[Any, ...]
    rtol: float
    atol: float

    def __str__(self) -> str:
        return self.name

    def is_plain(self) -> bool:
        """Whether there are no strings, sequences and graphs in it."""
        values = [one for one in (*self.operands, *self.expected) if one is not None]
        arrays = all(isinstance(one, np.ndarray) and one.dtype.kind not in "OUS" for one in values)
        return arrays and not any(isinstance(one, onnx.GraphProto) for one in self.attributes.values())

    def operator(self) -> Any:
        """The operator with the attributes of the node."""
        return self.definition.operator(output_count=len(self.expected), **self.attributes)

    def referenced(self) -> tuple[Any, ...]:
        """The results by the reference implementation."""
        return _tuple(self.operator().reference(*self.operands))

    def lowered(self) -> tuple[Graph, dict[str, Any]]:
        """The graph that the lowering records, with the values of its inputs; what has to be known while it is built is.

        Raises `UnsupportedOperation` for what only the reference implementation can compute.
        """
        if not self.definition.has_lowering or any(_is_foreign(one) for one in self.operands):
            raise UnsupportedOperation(f"{self.definition.name} has no lowering for this")
        known: set[int] = set()
        while True:
            builder = Builder("node")
            operands = [self._operand(builder, number, known) for number in range(len(self.operands))]
            try:
                results = _tuple(self.operator().lower(builder, *operands))
                break
            except NotKnown as needed:
                known.add(next(n for n, one in enumerate(operands) if one is not None and one.name == needed.tensor))
        wanted = [result for result, one in zip(results, self.expected, strict=False) if one is not None]
        graph = builder.graph([_copied(builder, result).name for result in wanted])
        verify(graph)
        return graph, {tensor.name: self.operands[n] for n, tensor in enumerate(operands) if n not in known and tensor}

    def interpreted(self) -> tuple[Any, ...]:
        """The results by interpretation of the lowering."""
        graph, values = self.lowered()
        return self._results(list(evaluate(graph, values).values()))

    def compiled(self) -> tuple[Any, ...]:
        """The results by generated code on this machine."""
        graph, values = self.lowered()
        tensors = {tensor.name: tensor for tensor in graph.tensors}
        for problem in filter(None, (obstacle(operator, tensors) for operator in graph.operators)):
            raise UnsupportedOperation(f"{self.definition.name} is not compiled", why=problem)
        executable = compiler.build(compiler.plan(graph, Machine.detect()), threads=1)
        constants = {name: constant.array for name, constant in graph.constants}
        inputs = [{**values, **constants}[slot.name] for slot in executable.signature.inputs]
        outputs = executable.new_outputs(inputs)
        executable.run(inputs, outputs)
        return self._results(outputs)

    def check(self, results: Sequence[Any]) -> None:
        """Fails unless the results are as expected, in type, shape and value: bfloat16 within two units in the last place."""
        for result, expected in zip(results, self.expected, strict=False):
            if expected is None:
                continue
            assert np.shape(result) == expected.shape, f"{np.shape(result)} is not {expected.shape}"
            assert np.asarray(result).dtype == expected.dtype, f"{np.asarray(result).dtype} is not {expected.dtype}"
            if expected.dtype == object or expected.dtype.kind in "biu":
                np.testing.assert_array_equal(result, expected)
            else:
                pair = [np.asarray(one, np.float64) for one in (result, expected)]
                rtol = max(self.rtol, 2.0**-6) if expected.dtype.name == "bfloat16" else self.rtol
                np.testing.assert_allclose(*pair, rtol=rtol, atol=self.atol)

    def _operand(self, builder: Builder, number: int, known: Collection[int]) -> Tensor | None:
        operand = self.operands[number]
        if operand is None:
            return None
        if number in known:
            return builder.constant(operand, f"known{number}")
        return builder.input(f"in{number}", operand.shape, operand.dtype.name)

    def _results(self, wanted: Sequence[Any]) -> tuple[Any, ...]:
        left = iter(wanted)
        return tuple(None if one is None else next(left) for one in self.expected)


@cache
def node_tests() -> tuple[NodeTest, ...]:
    """All tests of one node whose operator is defined, and whose operands, attributes and results are arrays and numbers."""
    tests = (_node_test(case.test) for case in cases() if case.kind == "node" and not DRAWN.match(case.name))
    return tuple(test for test in tests if test is not None and test.is_plain())


def of_operators(*operators: str) -> list[NodeTest]:
    """The tests of these operators."""
    return [test for test in node_tests() if test.definition.name in operators]


def _node_test(case: Any) -> NodeTest | None:
    nodes, versions = case.model.graph.node, {one.domain: one.version for one in case.model.opset_import}
    if len(nodes) != 1 or not case.data_sets:
        return None
    (node,) = nodes
    found = definition(node.op_type, versions.get(node.domain, 1), node.domain)
    if found is None:
        return None
    attributes = {one.name: _attribute(one) for one in node.attribute}
    inputs, outputs = ([_array(one) for one in side] for side in case.data_sets[0])
    given = iter(inputs)
    operands = tuple(next(given) if name else None for name in node.input)
    wanted = iter(outputs)
    expected = tuple(next(wanted) if name else None for name in node.output)
    return NodeTest(case.name, found, attributes, operands, expected, case.rtol, case.atol)


def _attribute(attribute: Any) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    value = onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
    return value.decode() if isinstance(value, bytes) else value


def _array(value: Any) -> Any:
    return (
        onnx.numpy_helper.to_array(value)
        if isinstance(value, onnx.TensorProto)
        else np.asarray(value)
        if isinstance(value, np.generic)
        else value
    )


def _is_foreign(operand: Any) -> bool:
    """Whether an operand is no tensor of a type that graphs have."""
    names = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
    return operand is not None and not (
        isinstance(operand, np.ndarray) and (operand.dtype.kind in "fiub" or operand.dtype.name in names)
    )


def _copied(builder: Builder, result: Tensor) -> Tensor:
    """A result that is an input or a constant as a tensor of its own."""
    written = {operator.write.tensor for operator in builder.operators}
    return result if result.name in written else builder.body(Load(0), result, kind="identity")


def _tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)
