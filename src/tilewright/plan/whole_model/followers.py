"""What follows an operator in a graph: its only reader, and the maps behind it that become epilogues of its sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from tilewright.graph.types import Graph, Operator, Tensor, planned_extent


@dataclass(slots=True)
class Followers:
    """The readers of a graph's tensors."""

    graph: Graph
    tensors: dict[str, Tensor] = field(default_factory=dict)
    readers: dict[str, list[Operator]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tensors = {tensor.name: tensor for tensor in self.graph.tensors}
        for operator in self.graph.operators:
            for tensor in dict.fromkeys(access.tensor for access in operator.reads):
                self.readers.setdefault(tensor, []).append(operator)

    def only_reader(self, operator: Operator) -> Operator | None:
        """The operator that alone reads a result; None of outputs of the graph."""
        tensor = operator.write.tensor
        readers: Sequence[Operator] = self.readers.get(tensor, ())
        return readers[0] if len(readers) == 1 and tensor not in self.graph.outputs else None

    def maps_behind(self, operator: Operator) -> Iterator[Operator]:
        """The maps that follow an operator, as long as each is the only reader of the result before it, and of as many points.

        A concatenation is not priced with the small part of it that an operator computes.
        """
        points, reader = self.points(operator), self.only_reader(operator)
        while reader is not None and reader.is_map() and self.points(reader) == points:
            yield reader
            reader = self.only_reader(reader)

    def points(self, operator: Operator) -> int:
        """Elements of the tensor that an operator writes to."""
        return prod(map(planned_extent, self.tensors[operator.write.tensor].shape))
