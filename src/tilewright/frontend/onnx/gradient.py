"""Gradient (ai.onnx.preview.training): the nodes that compute derivatives stand in its place.

Reverse accumulation (Griewank and Walther, "Evaluating Derivatives", 2008, chapter 3): from the result backwards, every node
hands the adjoint of its output on to its operands, times its derivative; adjoints that meet are added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tilewright.errors import InvalidModel, UnsupportedOperation
from tilewright.frontend.onnx.definition import INTERNAL_DOMAIN, definition
from tilewright.frontend.onnx.model import Node
from tilewright.frontend.onnx.scope import Names, Scope

DOMAIN = "ai.onnx.preview.training"
VERSION = 21
"""Of the standard operators that derivatives are made of."""


def is_gradient(node: Node) -> bool:
    """Whether a node asks for derivatives."""
    return node.operator == "Gradient" and node.domain == DOMAIN


def without_gradients(nodes: Sequence[Node], names: Names, scope: Scope) -> tuple[Node, ...]:
    """The same nodes, with arithmetic in the place of every Gradient. Raises `UnsupportedOperation` for what has no rule here."""
    result: list[Node] = []
    for node in nodes:
        result += _Derivation(node, names, scope).nodes(result) if is_gradient(node) else [node]
    return tuple(result)


class _Derivation:
    def __init__(self, node: Node, names: Names, scope: Scope) -> None:
        self._node, self._names = node, names
        self._xs = [scope.find(name, node.label) for name in node.attributes.get("xs", ())]
        self._y = scope.find(node.attributes.get("y", ""), node.label)
        self._made: list[Node] = []
        self._adjoints: dict[str, str] = {}
        if not self._y or list(node.inputs[: len(self._xs)]) != self._xs:
            why = "derivatives are taken at the values that the graph has"
            raise UnsupportedOperation("a Gradient at other values than those of its xs", where=node.label, why=why)
        if len(node.outputs) != len(self._xs):
            raise InvalidModel(f"{len(self._xs)} derivatives in {len(node.outputs)} outputs", where=node.label)

    def nodes(self, before: Sequence[Node]) -> list[Node]:
        """The nodes that compute the derivatives, from those before."""
        seed = self._new("ConstantOfShape", [self._new("Shape", [self._y])], value=np.ones(1, np.float32))
        self._adjoints[self._y] = self._new("CastLike", [seed, self._y])
        for node in reversed(before):
            if node.outputs and node.outputs[0] in self._adjoints:
                for operand, share in self._shares(node, self._adjoints[node.outputs[0]]):
                    self._add(operand, share)
        for x, output in zip(self._xs, self._node.outputs, strict=True):
            self._made += self._result(x, output)
        return self._made

    def _shares(self, node: Node, adjoint: str) -> Iterator[tuple[str, str]]:
        rule = _RULES.get(node.operator) if node.domain == "" else None
        if rule is None:
            raise UnsupportedOperation(f"the derivative of {node.operator}", where=self._node.label, why="it has no rule here")
        yield from rule(self, node, adjoint)

    def _add(self, operand: str, share: str) -> None:
        reduced = self._new("SumTo", [share, operand], domain=INTERNAL_DOMAIN)
        known = self._adjoints.get(operand)
        self._adjoints[operand] = reduced if known is None else self._new("Add", [known, reduced])

    def _result(self, x: str, output: str) -> list[Node]:
        if not output:
            return []
        found = self._adjoints.get(x)
        source = self._new("Sub", [x, x]) if found is None else found
        return [Node(self._node.name, "Identity", "", None, (source,), (output,))]

    def _new(self, operator: str, inputs: Sequence[str], domain: str = "", **attributes: object) -> str:
        """A node, and the name of its result."""
        output = self._names.unique(f"{self._node.name}_{operator}")
        found = None if operator == "Shape" else definition(operator, VERSION, domain)
        self._made.append(Node(self._node.name, operator, domain, found, tuple(inputs), (output,), attributes))
        return output

    def of_sum(self, node: Node, adjoint: str) -> Iterator[tuple[str, str]]:
        yield from ((operand, adjoint) for operand in node.inputs)

    def of_difference(self, node: Node, adjoint: str) -> Iterator[tuple[str, str]]:
        yield node.inputs[0], adjoint
        yield node.inputs[1], self._new("Neg", [adjoint])

    def of_product(self, node: Node, adjoint: str) -> Iterator[tuple[str, str]]:
        yield node.inputs[0], self._new("Mul", [adjoint, node.inputs[1]])
        yield node.inputs[1], self._new("Mul", [adjoint, node.inputs[0]])

    def of_quotient(self, node: Node, adjoint: str) -> Iterator[tuple[str, str]]:
        share = self._new("Div", [adjoint, node.inputs[1]])
        yield node.inputs[0], share
        yield node.inputs[1], self._new("Neg", [self._new("Mul", [share, node.outputs[0]])])

    def of_negative(self, node: Node, adjoint: str) -> Iterator[tuple[str, str]]:
        yield node.inputs[0], self._new("Neg", [adjoint])

    def of_exponential(self, node: Node, adjoint: str) -> Iterator[tuple[str, str]]:
        yield node.inputs[0], self._new("Mul", [adjoint, node.outputs[0]])


_RULES: Mapping[str, Callable[[_Derivation, Node, str], Iterator[tuple[str, str]]]] = {
    "Identity": _Derivation.of_sum,
    "Add": _Derivation.of_sum,
    "Sum": _Derivation.of_sum,
    "Sub": _Derivation.of_difference,
    "Mul": _Derivation.of_product,
    "Div": _Derivation.of_quotient,
    "Neg": _Derivation.of_negative,
    "Exp": _Derivation.of_exponential,
}
