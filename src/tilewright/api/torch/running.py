"""What a call of a compiled graph does: it takes tensors as arrays, lets kernels write to tensors, and gives these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from tilewright.api.torch.calls import Generated
from tilewright.api.torch.memory import borrowed
from tilewright.frontend.torch.element_types import numpy_view
from tilewright.frontend.torch.extents import LARGEST
from tilewright.records import record
from tilewright.runtime import pool

if TYPE_CHECKING:
    from tilewright.backends.checked import Loaded

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Reader: TypeAlias = Callable[[Any], Array]
_LENGTHS = np.zeros(LARGEST, np.bool_)  # memory that nobody touches is not there


@record(eq=False)
class Reads:
    """The arguments that are inputs of the graph, by their places, each with what makes it an array."""

    pairs: tuple[tuple[int, Reader], ...]

    def arrays(self, given: Sequence[Any]) -> list[Array]:
        """The inputs of a call."""
        return [read(given[place]) for place, read in self.pairs]


def reader_for(example: Any) -> Reader:
    """What makes arrays of arguments like an example of torch's compiler."""
    if not isinstance(example, torch.Tensor):
        return length
    return resolved if example.is_conj() or example.is_neg() else borrowed


def length(number: Any) -> Array:
    """An array of so many elements, which tells kernels an extent. Raises `ValueError` for a negative number."""
    count = int(number)
    return _LENGTHS[:count] if 0 <= count <= LARGEST else np.zeros(count, np.bool_)


def resolved(argument: torch.Tensor) -> Array:
    """An array of a view that conjugates or negates."""
    return numpy_view(argument.detach().resolve_conj().resolve_neg())


class Running:
    """A compiled graph with its constants: called with the list of its arguments, which it clears.

    Safe from several threads at once. Kernels run on as many threads as torch has at the time of the call, unless told.
    """

    _boxed_call = True
    __slots__ = ("_allocate", "_arrange", "_borrow", "_constants", "_loaded", "_on", "_reads", "_threads")

    def __init__(self, loaded: Loaded, threads: int | None, reads: Reads, call: Generated) -> None:
        """`threads` of None follows torch."""
        self._loaded: Any = loaded[0]
        self._constants = loaded[1]
        self._threads, self._reads = threads, reads
        self._allocate, self._borrow, self._arrange = call.allocate, call.borrow, call.arrange
        self._on: dict[int, Callable[..., None]] = {}

    def __call__(self, arguments: list[Any]) -> list[Any]:
        """The outputs. Raises `PositionError` for positions out of range."""
        given = arguments[:]  # weights that kernels read live on through the call, whoever replaces them meanwhile
        arguments.clear()
        inputs, written = self._reads.arrays(given), self._allocate(given)
        threads = self._threads or torch.get_num_threads()
        run = self._on.get(threads) or self._with(threads)
        run((*inputs, *self._constants), [borrow(tensor) for borrow, tensor in zip(self._borrow, written, strict=True)])
        return written if self._arrange is None else self._arrange(given, written)

    @property
    def packed_bytes(self) -> int:
        """Of constants that kernels read in an order of their own."""
        count: int = self._loaded.memory_stats().constant_bytes
        return count

    def _with(self, threads: int) -> Callable[..., None]:
        """The kernels on so many threads."""
        run: Callable[..., None] = self._loaded.on(pool.get(threads)).run
        self._on[threads] = run
        return run
