"""What torch shows of tensors whose elements may have changed: identity, version, address; and calls that look at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, TypeAlias

import torch

from tilewright.api import torch_internals as internals
from tilewright.errors import TilewrightError
from tilewright.records import record
from tilewright.runtime.native import weights as in_c
from tilewright.runtime.native.weights import Holds

State: TypeAlias = tuple[int, int, int]
"""Identity, version and address of a tensor."""
_VERSION, _ADDRESS = attrgetter("_version"), torch.Tensor.data_ptr


@record
class Seal:
    """What tensors looked like at a time."""

    states: tuple[State, ...]

    @staticmethod
    def of(tensors: Sequence[torch.Tensor]) -> Seal:
        """Raises `RuntimeError` for a tensor that counts no versions."""
        return Seal(tuple(zip(map(id, tensors), map(_VERSION, tensors), map(_ADDRESS, tensors), strict=True)))

    @property
    def ids(self) -> tuple[int, ...]:
        """The identities."""
        return tuple(state[0] for state in self.states)

    def is_over_memory_of(self, other: Seal) -> bool:
        """Whether another tensor stands over the same memory at a place: it has replaced this one, or will."""
        pairs = zip(self.states, other.states, strict=True)
        return any(i != j and p == q and p != 0 for (i, _, p), (j, _, q) in pairs)

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
        marks = [number for part in zip(*self.states, strict=True) for number in part]

        def holds(arguments: list[Any]) -> bool:
            tensors = [arguments[place] for place in places]
            try:
                return [*map(id, tensors), *map(_VERSION, tensors), *map(_ADDRESS, tensors)] == marks
            except RuntimeError:  # a tensor of inference mode was swapped in
                return False

        return holds
