"""Maps of constants that are stored: who reads their results in every call does not compute them again."""

from __future__ import annotations

from functools import cached_property
from math import prod

import numpy as np

from tilewright.graph.rewrites.constants.constant_part import constant_tensors
from tilewright.graph.scalar import AxisValue
from tilewright.graph.scalar_functions import FUNCTIONS
from tilewright.graph.types import Access, Graph, Operator, largest_extent

COSTLY = frozenset(name for name, function in FUNCTIONS.items() if function.is_real) - {"divide", "reciprocal", "sqrt"} | {"pow"}
"""Functions that take longer than to load an element, wherever that lies."""


class StoredParts:
    """Maps of constants that stay apart from readers which are computed in every call: evaluated once, their results are read.

    They do so where reading a result takes no longer than computing it again: where they apply an exponential or the like, and
    where they read as many bytes as they write. Short numbers, outer products, numbers and positions stay in the reader.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @cached_property
    def _constants(self) -> set[str]:
        return constant_tensors(self._graph)

    def keep_apart(self, producer: Operator, reader: Operator) -> bool:
        """Whether a map is not to be computed inside of a reader."""
        is_end = producer.write.tensor in self._constants and reader.write.tensor not in self._constants
        return is_end and (_is_costly(producer) or not (_has_positions(producer) or self._lengthens(producer)))

    def _lengthens(self, operator: Operator) -> bool:
        """Whether an operator writes more bytes than it reads."""
        return sum(self._bytes(access, operator) for access in operator.reads) < self._bytes(operator.write, operator)

    def _bytes(self, access: Access, operator: Operator) -> int:
        """Of the elements that an access addresses: no more than the tensor has, nor than there are points."""
        tensor = self._graph.tensor(access.tensor)
        points = prod(largest_extent(axis.extent) for axis in operator.axes if axis.name in access.axes())
        elements = prod(map(largest_extent, tensor.shape))
        return (elements if access.lookups else min(points, elements)) * np.dtype(tensor.dtype).itemsize


def _is_costly(operator: Operator) -> bool:
    return not COSTLY.isdisjoint(operator.functions())


def _has_positions(operator: Operator) -> bool:
    return any(isinstance(node, AxisValue) for node in operator.scalars())
