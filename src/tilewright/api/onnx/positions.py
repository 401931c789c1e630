"""Positions that data gives (token ids): whether those of a call lie inside what they are positions in.

Generated code keeps every position inside; it does not tell. What calls bring is looked at before they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.errors import TilewrightError
from tilewright.frontend.onnx.model import Array
from tilewright.graph.scalar import Load
from tilewright.graph.types import Graph, Operator


@dataclass(frozen=True, slots=True)
class Positions:
    """An input that holds positions along a dimension of so many elements; negative ones count from the end."""

    input: int
    name: str
    extent: int
    operator: str

    def check(self, inputs: Sequence[Array]) -> None:
        """Raise `TilewrightError` for positions outside of the dimension."""
        array = inputs[self.input]
        if array.size and (array.min() < -self.extent or array.max() >= self.extent):
            why = f"{self.operator} looks up {self.extent} elements; it is given {array.min()} to {array.max()}"
            raise TilewrightError(f"the input {self.name!r} has positions out of range", where=self.operator, why=why)


def positions_of(graph: Graph) -> tuple[Positions, ...]:
    """All inputs that are looked up as they are, or behind changes of index and type alone."""
    writers = {operator.write.tensor: operator for operator in graph.operators}
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    numbers = {name: number for number, name in enumerate(graph.inputs)}
    found = []
    for operator, tensor, dimension, by in _lookups(graph.operators):
        name, extent = _origin(by, writers), tensors[tensor].shape[dimension]
        if name in numbers and isinstance(extent, int):
            found.append(Positions(numbers[name], name, extent, operator.name))
    return tuple(dict.fromkeys(found))


def _lookups(operators: Iterable[Operator]) -> Iterable[tuple[Operator, str, int, str]]:
    for operator in operators:
        for access in operator.reads:
            for dimension, number in access.lookups:
                yield operator, access.tensor, dimension, operator.reads[number].tensor


def _origin(name: str, writers: dict[str, Operator]) -> str:
    """The tensor whose elements these are."""
    while name in writers and writers[name].is_map() and writers[name].body == Load(0) and len(writers[name].reads) == 1:
        name = writers[name].reads[0].tensor
    return name
