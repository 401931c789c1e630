"""What launches do in Triton's interpreter: bytes by tensor, flops of dots, wild addresses, elements not written once.

The interpreter's names that are replaced here are private: they are those of Triton 3.9.0, and of no other version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

VERSION = "3.9.0"


@dataclass
class Watch:
    """The counts of some launches; `tensors` are those that kernels may touch, by name."""

    tensors: Mapping[str, Any]
    moved: dict[str, int] = field(default_factory=dict)
    """Bytes loaded and stored by tensor, lanes that masks leave out not counted."""
    written: dict[str, np.ndarray] = field(default_factory=dict)
    """By tensor that was stored to, how often every element was."""
    flops: int = 0
    wild: int = 0
    """Addresses outside of all tensors."""

    def see(self, pointers: Any, mask: Any, size: int, *, stores: bool) -> None:
        """The addresses of one load or store."""
        addresses, lanes = np.broadcast_arrays(np.asarray(pointers.data), np.asarray(mask.data))
        left = addresses[lanes.astype(bool)].astype(np.int64)
        for name, tensor in self.tensors.items():
            low = tensor.data_ptr()
            inside = (left >= low) & (left + size <= low + tensor.numel() * tensor.element_size())
            if inside.any():
                self.moved[name] = self.moved.get(name, 0) + int(inside.sum()) * size
                if stores:
                    times = self.written.setdefault(name, np.zeros(tensor.numel(), np.int64))
                    np.add.at(times, (left[inside] - low) // size, 1)
                left = left[~inside]
        self.wild += left.size

    def multiplied(self, left: Any, right: Any) -> None:
        """The shapes of one dot."""
        self.flops += 2 * left.data.shape[-2] * left.data.shape[-1] * right.data.shape[-1]

    @property
    def rewritten(self) -> int:
        """Elements of what was stored to that were written never, or more than once."""
        return sum(int((times != 1).sum()) for times in self.written.values())


@contextmanager
def watching(watch: Watch) -> Iterator[Watch]:
    """Inside, launches of this process are counted."""
    from triton.runtime import interpreter

    builder = interpreter.InterpreterBuilder
    load, store, dot = builder.create_masked_load, builder.create_masked_store, builder.create_dot

    def seen_load(self: Any, pointers: Any, mask: Any, *rest: Any) -> Any:
        size = np.dtype(interpreter._get_np_dtype(pointers.get_element_ty())).itemsize
        watch.see(pointers, mask, size, stores=False)
        return load(self, pointers, mask, *rest)

    def seen_store(self: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        watch.see(pointers, mask, value.data.dtype.itemsize, stores=True)
        return store(self, pointers, value, mask, *rest)

    def seen_dot(self: Any, left: Any, right: Any, *rest: Any) -> Any:
        watch.multiplied(left, right)
        return dot(self, left, right, *rest)

    builder.create_masked_load, builder.create_masked_store, builder.create_dot = seen_load, seen_store, seen_dot
    try:
        yield watch
    finally:
        builder.create_masked_load, builder.create_masked_store, builder.create_dot = load, store, dot
