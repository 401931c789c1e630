"""What shows of tensors whose elements may have changed: identity, version, address, some elements; and calls that look at all
of them.

Torch counts no versions where batch norm trains (its running statistics), where quantisation observes, and where optimizers are
fused: elements tell of the first two surely, and of all writes to whole tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import torch

from tilewright.api import torch_internals as internals
from tilewright.errors import TilewrightError
from tilewright.records import record
from tilewright.runtime.native import weights as in_c
from tilewright.runtime.native.weights import Holds, Pieces, State

_VERSION, _ADDRESS = attrgetter("_version"), torch.Tensor.data_ptr
SPOTS = 4
"""Elements of a long tensor that every call looks at."""
WHOLE_BYTES, STATISTICS_BYTES = 32, 1 << 16
"""Tensors of at most so many bytes are compared whole; and buffers of one dimension of so many."""


@record
class Seal:
    """What tensors looked like at a time."""

    states: tuple[State, ...]

    @staticmethod
    def of(tensors: Sequence[torch.Tensor]) -> Seal:
        """Raises `RuntimeError` for a tensor that counts no versions."""
        columns = map(id, tensors), map(_VERSION, tensors), map(_ADDRESS, tensors), map(_pieces, tensors)
        return Seal(tuple(zip(*columns, strict=True)))

    @property
    def ids(self) -> tuple[int, ...]:
        """The identities."""
        return tuple(state[0] for state in self.states)

    def is_over_memory_of(self, other: Seal) -> bool:
        """Whether another tensor stands over the same memory at a place: it has replaced this one, or will."""
        pairs = zip(self.states, other.states, strict=True)
        return any(i != j and p == q and p != 0 for (i, _, p, _), (j, _, q, _) in pairs)

    def holding(self, places: Sequence[int]) -> Holds:
        """What tells whether the tensors at these places of a list are the same, and nothing shows that they have changed."""
        elements = internals.elements_function()
        if elements:
            try:
                return in_c.holding(elements, places, self.states)
            except TilewrightError:  # no compiler, and no library in the cache
                pass
        return self._holding_in_python(places)

    def _holding_in_python(self, places: Sequence[int]) -> Holds:
        def holds(arguments: list[Any]) -> bool:
            try:
                return Seal.of([arguments[place] for place in places]) == self
            except RuntimeError:  # a tensor of inference mode was swapped in
                return False

        return holds


def _pieces(tensor: torch.Tensor) -> Pieces:
    """The elements that are compared."""
    address, count, size = tensor.data_ptr(), tensor.numel(), tensor.element_size()
    if not address or not count:
        return Pieces(0, 0, b"")
    if not tensor.is_contiguous():
        last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride(), strict=True))
        return Pieces.at(address, size, last * size, 2)
    is_statistic = tensor.dim() <= 1 and not isinstance(tensor, torch.nn.Parameter)
    if tensor.nbytes <= (STATISTICS_BYTES if is_statistic else WHOLE_BYTES):
        return Pieces.at(address, tensor.nbytes, 0, 1)
    return Pieces.at(address, size, (count - 1) // (SPOTS - 1) * size, SPOTS)
